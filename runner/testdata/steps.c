/* Every other rank sends ROUNDS messages to rank 0, which takes them with a wildcard and answers each. The environment makes it misbehave:
 *   DIE=R        rank R kills itself in the middle
 *   DIVERGE=1    rank 0 probes before one receive
 *   OTHER=R      rank R makes another last call, one that has no outcome to record
 *   ABORT=R      rank R calls MPI_Abort(7) in the middle
 *   STATUS=N     all ranks exit with N
 *   WAIT=1       rank 0 reads its standard input in the middle */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 20 };

static int wanted(const char *name, int rank) {
    const char *v = getenv(name);
    return v != NULL && atoi(v) == rank;
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned hash = 5381;
    const int mine = rank == 0 ? ROUNDS * (ranks - 1) : ROUNDS;
    for (int i = 0; i < mine; i++) {
        MPI_Status status;
        int value = rank * 1000 + i;
        if (i == mine / 2) {
            if (wanted("DIE", rank)) kill(getpid(), SIGKILL);
            if (wanted("ABORT", rank)) MPI_Abort(MPI_COMM_WORLD, 7);
            if (rank == 0 && getenv("WAIT") != NULL) {
                printf("steps: waiting\n");
                fflush(stdout);
                getchar();
            }
        }
        if (rank == 0) {
            if (i == 7 && getenv("DIVERGE") != NULL) {
                MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status); /* diverges here */
            }
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            hash = hash * 33 + (unsigned)value;
            MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
        } else {
            MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, wanted("OTHER", rank) ? 9 : 8, MPI_COMM_WORLD);
    if (rank == 0) printf("steps: hash %u\n", hash);
    MPI_Finalize();
    return getenv("STATUS") != NULL ? atoi(getenv("STATUS")) : 0;
}
