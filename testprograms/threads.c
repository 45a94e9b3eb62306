/* Ranks with a second thread, which computes while the first one communicates (MPI_THREAD_FUNNELED). Rank 0 has none, so
 * that ranks differ in their number of threads. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

struct computation {
    int rank;
    long result;
};

static void *compute(void *argument) {
    struct computation *computation = argument;
    long result = 0;
    for (long i = 1; i <= 1000000; i++) {
        result = (result + i * computation->rank) % 1000003;
    }
    computation->result = result; /* breakpoint: second thread */
    return NULL;
}

int main(int argc, char **argv) {
    int provided, rank, ranks, token = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < MPI_THREAD_FUNNELED) {
        fprintf(stderr, "threads: this MPI does not provide MPI_THREAD_FUNNELED\n");
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    pthread_t thread;
    struct computation computation = {rank, 0};
    if (rank != 0 && pthread_create(&thread, NULL, compute, &computation) != 0) {
        fprintf(stderr, "threads: rank %d cannot create a thread\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int i = 0; i < 10; i++) {
        int sent = token + rank;
        MPI_Allreduce(&sent, &token, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        token %= 1000;
    }
    if (rank != 0) {
        pthread_join(thread, NULL);
    }
    printf("threads: rank %d: token %d, result %ld\n", rank, token, computation.result);
    MPI_Finalize();
    return 0;
}
