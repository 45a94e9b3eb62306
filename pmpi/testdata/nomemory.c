/* Is given random bytes, recorded with --record-time, while the process can have no more memory. */
#include <mpi.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/resource.h>

static unsigned char bytes[200000];

int main(int argc, char **argv) {
  struct rlimit before, none;
  MPI_Init(&argc, &argv);
  if (getrandom(bytes, 8, 0) != 8) return 1; /* what is made once is made now */
  getrlimit(RLIMIT_AS, &before);
  none = before;
  none.rlim_cur = 4096;
  setrlimit(RLIMIT_AS, &none);
  long n = getrandom(bytes, sizeof bytes, 0);
  setrlimit(RLIMIT_AS, &before);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("nomemory: %ld\n", n);
  MPI_Finalize();
  return 0;
}
