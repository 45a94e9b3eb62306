/* A message that MPI sends by rendezvous lies in the past of an event of a third rank.
 *
 *     mpiexec -n 3 ./largesend [bytes]
 *
 * Rank 0 sends a large message to rank 2, and then a small one to rank 1. When rank 1 has that, rank 0 has left its first send, for which rank 2
 * must have begun to receive, although no message tells rank 1 of it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int receive_news(void) {
    int news = 0;
    MPI_Recv(&news, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return news; /* breakpoint: news received */
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, status = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int bytes = argc > 1 ? atoi(argv[1]) : 1 << 20;
    char *data = calloc((size_t)bytes, 1);
    if (ranks != 3 || bytes < 1 || data == NULL) {
        fprintf(stderr, "largesend: needs 3 ranks, and a number of bytes above 0\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0) {
        int news = 42;
        data[bytes - 1] = 7;
        MPI_Send(data, bytes, MPI_CHAR, 2, 1, MPI_COMM_WORLD);
        MPI_Send(&news, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
        status = receive_news() != 42;
    } else {
        MPI_Recv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        status = data[bytes - 1] != 7;
    }
    free(data);
    MPI_Finalize();
    return status;
}
