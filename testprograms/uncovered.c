/* A call that record/replay does not cover: every rank reads a value from memory that the ranks of a host share. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, ranks, unit, *mine, *theirs;
    MPI_Aint size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win window;
    MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
    *mine = 100 + rank;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_shared_query(window, (rank + 1) % ranks, &size, &unit, &theirs);
    printf("uncovered: rank %d: read %d: %s\n", rank, *theirs, *theirs == 100 + (rank + 1) % ranks ? "right" : "WRONG");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
