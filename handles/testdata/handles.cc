// Handles as C++ programs hold them: in classes, behind references and names of the program's own, in containers.
#include <mpi.h>

#include <array>
#include <utility>
#include <vector>

using comm_t = MPI_Comm;

class Column {
  MPI_Datatype type_;

 public:
  explicit Column(int n) {
    MPI_Type_vector(n, 1, 3, MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
  }
  ~Column() { MPI_Type_free(&type_); }
  const MPI_Datatype &get() const { return type_; }
};

struct Halo {
  Column column;
  std::vector<MPI_Request> requests;
  std::array<MPI_Datatype, 2> types;
};

static void exchange(Halo &halo, const MPI_Datatype &type, MPI_Datatype &&moved, std::vector<double> &v) {
  comm_t world = MPI_COMM_WORLD;
  MPI_Request *first = halo.requests.data(), *second = first + 1;
  MPI_Barrier(world);  // breakpoint: handles
  MPI_Recv(&v[0], 1, type, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);
  (void)moved;
  (void)second;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  {
    std::vector<double> v(12);
    for (int i = 0; i < 12; i++) v[i] = i;
    Halo halo{Column(4), {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, {MPI_INT, MPI_CHAR}};
    MPI_Datatype given = halo.column.get();
    exchange(halo, halo.column.get(), std::move(given), v);
  }
  MPI_Finalize();
}
