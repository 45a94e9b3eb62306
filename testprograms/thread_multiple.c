/* Asks for MPI_THREAD_MULTIPLE; where it is provided, two threads of each rank communicate at once, each on a communicator
 * of its own. They wait for a message that the main thread sends a while later, so their calls overlap for certain. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 2, ROUNDS = 20, GO = 99 };

struct ring {
    MPI_Comm comm;
    int token;
};

static void *pass_token(void *argument) {
    struct ring *ring = argument;
    int rank, ranks;
    MPI_Comm_rank(ring->comm, &rank);
    MPI_Comm_size(ring->comm, &ranks);
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    MPI_Recv(NULL, 0, MPI_INT, previous, GO, ring->comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROUNDS; i++) {
        int sent = ring->token + 1;
        MPI_Sendrecv(&sent, 1, MPI_INT, next, i, &ring->token, 1, MPI_INT, previous, i, ring->comm, MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, rank, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < MPI_THREAD_MULTIPLE) {
        printf("thread_multiple: rank %d: provided %d, less than MPI_THREAD_MULTIPLE\n", rank, provided);
        MPI_Finalize();
        return 0;
    }
    pthread_t threads[THREADS];
    struct ring rings[THREADS];
    int status = 0;
    for (int i = 0; i < THREADS; i++) {
        rings[i].token = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &rings[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, pass_token, &rings[i]) != 0) {
            fprintf(stderr, "thread_multiple: rank %d cannot create a thread\n", rank);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    usleep(100000);
    for (int i = 0; i < THREADS; i++) {
        MPI_Send(NULL, 0, MPI_INT, (rank + 1) % ranks, GO, rings[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        status |= rings[i].token != ROUNDS;
        MPI_Comm_free(&rings[i].comm);
    }
    printf("thread_multiple: rank %d: %s\n", rank, status ? "WRONG" : "right");
    MPI_Finalize();
    return status;
}
