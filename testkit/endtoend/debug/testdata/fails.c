/* Rank 1 makes a call that MPI refuses, and has asked to be told so; then rank 0 gives up. */
#include <mpi.h>

static void greet(int whom) {
  MPI_Send(&whom, 1, MPI_INT, whom, 0, MPI_COMM_WORLD); /* mark: refused */
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 1) greet(17);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 5); /* mark: abort */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
