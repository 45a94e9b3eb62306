/* Messages that MPI refuses, thousands of each kind: what Cohort has mapped does not grow with them. */
#include <mpi.h>
#include <stdio.h>

#include "cohort_abi.h"

extern struct cohort_registry cohort_registry __attribute__((weak));

enum { MANY = 2000, BYTES = 4000, LARGE = 100000 };

static char buffer[LARGE];

static void refused(int rc) {
  if (rc == MPI_SUCCESS) printf("refusedmessages: not refused\n");
}

int main(int argc, char **argv) {
  int bytes[] = {BYTES, LARGE};
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  uint64_t before = cohort_registry.memory;
  for (int i = 0; i < 2 * MANY; i++) {
    MPI_Request r;
    int n = bytes[i % 2], nowhere = 1000000;
    refused(MPI_Irecv(buffer, n, MPI_BYTE, nowhere, 0, MPI_COMM_WORLD, &r));
    refused(MPI_Recv_init(buffer, n, MPI_BYTE, nowhere, 0, MPI_COMM_WORLD, &r));
    refused(MPI_Isend(buffer, n, MPI_BYTE, 0, -5, MPI_COMM_WORLD, &r));
    refused(MPI_Send_init(buffer, n, MPI_BYTE, 0, -5, MPI_COMM_WORLD, &r));
  }
  printf("refusedmessages: %llu MiB more\n", (unsigned long long)(cohort_registry.memory - before) >> 20);
  MPI_Finalize();
  return 0;
}
