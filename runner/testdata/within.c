/* Rank 0 takes what another rank has sent from within a call that never ends, and then kills itself: that message was sent in the recorded run although the call
 * that sent it was not complete. One round per way to send so; rank 1, 2, ... are in the first, second, ... */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE = 1 << 20, TAG = 3, NEVER = 4 };

static char big[LARGE], other[LARGE];

int main(int argc, char **argv) {
    int rank, value = 7;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    switch (rank) {
        case 0:
            MPI_Recv(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&value, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(big, LARGE, MPI_CHAR, 3, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            kill(getpid(), SIGKILL);
            break;
        case 1: /* a wildcard: it is not known what it would have taken */
            MPI_Sendrecv(&rank, 1, MPI_INT, 0, TAG, &value, 1, MPI_INT, MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            break;
        case 2:
            MPI_Sendrecv_replace(&value, 1, MPI_INT, 0, TAG, 0, NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            break;
        default:
            MPI_Sendrecv(big, LARGE, MPI_CHAR, 0, TAG, other, LARGE, MPI_CHAR, 0, NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
