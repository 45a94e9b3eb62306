/* A deterministic program for steering: each rank makes N steps; step i sends to the right and receives from the left. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
  int rank, ranks, in;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int steps = argc > 1 ? atoi(argv[1]) : 10;
  const char *end = argc > 2 ? argv[2] : "";
  if (getenv("STEPS_FILE_LIMIT") != NULL) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = (rlim_t)atol(getenv("STEPS_FILE_LIMIT"));
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int times = getenv("STEPS_TIMES") != NULL ? atoi(getenv("STEPS_TIMES")) : 0;
  for (int i = 0; i < steps; i++) {
    for (int k = 0; k < times; k++) MPI_Wtime();
    if (strcmp(end, "killed") == 0 && rank == 1 && i == steps / 2) raise(SIGKILL);
    if (strcmp(end, "more") == 0 && rank == 1 && i == steps / 2) MPI_Barrier(MPI_COMM_SELF);
    MPI_Request r;
    MPI_Isend(&i, 1, MPI_INT, (rank + 1) % ranks, i, MPI_COMM_WORLD, &r);
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  if (strcmp(end, "file") == 0) {
    MPI_File file;
    int rc = MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    if (rc != MPI_SUCCESS || MPI_File_close(&file) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (strcmp(end, "unmatched") == 0) {
    MPI_Request r;
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &r);
  }
  printf("rank %d done\n", rank);
  MPI_Finalize();
  return 0;
}
