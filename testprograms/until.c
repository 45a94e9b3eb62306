/* Runs until a file is there, each rank by itself: a job to attach to, and to see that it runs on.
 *
 *     until FILE */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int turns;

static void turn(int rank) {
    turns += rank + 1; /* breakpoint: turn */
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("until: all run\n");
        fflush(stdout);
    }
    while (access(argv[1], F_OK) != 0) {
        turn(rank);
        usleep(2000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("until: rank %d ends\n", rank);
    MPI_Finalize();
    return 0;
}
