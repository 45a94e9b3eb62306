#include <map>
#include <string>
#include <vector>
template <class T> T twice(T x) {
  T y = x + x;
  return y;           // line 6: a breakpoint with three locations
}
class Base { protected: int id = 5; };
class Box : public Base {
 public:
  std::vector<int> sizes{10, 20, 30};
  std::map<std::string, int> names{{"a", 1}, {"b", 2}};
  int area() const { return sizes[0] * sizes[1]; }
 private:
  std::string label = "box";
};
int main() {
  Box box;
  int n = twice(1) + (int)twice(2.0) + (int)twice(3L);
  return box.area() - 200 + n - 12;   // line 20
}
