/* Ranks 0 and 1 each wait for a message of the other before they send theirs, for ever; the others wait in a barrier. */
#include <mpi.h>
#include <stdio.h>

static void exchange(int rank, int other) {
    int received, sent = rank;
    MPI_Recv(&received, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* deadlock: here */
    MPI_Send(&sent, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) {
        fprintf(stderr, "deadlock: it needs at least 2 ranks\n");
        MPI_Finalize();
        return 2;
    }
    printf("deadlock: rank %d waits\n", rank);
    fflush(stdout);
    if (rank < 2) {
        exchange(rank, 1 - rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
