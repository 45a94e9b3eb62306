/* One rank writes through a null pointer while the others wait for it: ./crash [RANK], 0 by default. */
#include <mpi.h>
#include <stdlib.h>

static void store(int *where, int value) {
    *where = value; /* crash: here */
}

int main(int argc, char **argv) {
    int rank, kept = 0;
    const int victim = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    store(rank == victim ? NULL : &kept, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
