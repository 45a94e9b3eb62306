// Throws what the C++ library has, and a type of its own; ends with the status that its first argument is.
#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

namespace mine {
struct trouble { int code; };
}

static void fail(int kind) {
  if (kind == 0) throw std::out_of_range("no such cell");
  throw mine::trouble{kind}; // line 12
}

int main(int argc, char **argv) {
  for (int kind = 0; kind < 2; kind++) {
    try {
      fail(kind);
    } catch (const std::exception &) {
    } catch (const mine::trouble &) { // line 20
    }
  }
  if (argc > 2) _exit(atoi(argv[1]));
  exit(atoi(argv[1]));
}
