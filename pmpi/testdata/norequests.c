/* Posts receives with a wildcard while the process can have no more memory: MPI has what it needs from the first round. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { N = 300 };

int main(int argc, char **argv) {
  struct rlimit before, none;
  MPI_Request requests[N];
  int got[N], persistent = argc > 1 && strcmp(argv[1], "persistent") == 0;
  MPI_Init(&argc, &argv);
  for (int round = 0; round < 2; round++) {
    int source = round == 0 ? 0 : MPI_ANY_SOURCE;
    getrlimit(RLIMIT_AS, &before);
    none = before;
    none.rlim_cur = 4096;
    if (round == 1) setrlimit(RLIMIT_AS, &none);
    for (int i = 0; i < N; i++) {
      if (persistent)
        MPI_Recv_init(&got[i], 1, MPI_INT, source, round, MPI_COMM_SELF, &requests[i]);
      else
        MPI_Irecv(&got[i], 1, MPI_INT, source, round, MPI_COMM_SELF, &requests[i]);
    }
    setrlimit(RLIMIT_AS, &before);
    if (persistent) MPI_Startall(N, requests);
    for (int i = 0; i < N; i++) MPI_Send(&i, 1, MPI_INT, 0, round, MPI_COMM_SELF);
    MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
    if (persistent)
      for (int i = 0; i < N; i++) MPI_Request_free(&requests[i]);
  }
  printf("norequests: %d\n", got[N - 1]);
  MPI_Finalize();
  return 0;
}
