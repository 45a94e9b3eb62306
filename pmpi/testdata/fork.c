/* A rank that forks: the child must leave the trace and the control block alone, and so must an MPI program that the rank starts. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int x = 0, status = -1;
  MPI_Request r;
  MPI_Init(&argc, &argv);
  pid_t child = fork();
  if (child == 0) {
    int size;
    MPI_Datatype t;
    MPI_Type_contiguous(2, MPI_INT, &t); /* wrapped calls that need no other rank */
    MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &r);
    MPI_Type_size(t, &size);
    _exit(size == 8 ? 0 : 1);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    fprintf(stderr, "fork: the child failed: %d\n", status);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
