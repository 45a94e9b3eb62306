/* Each rank seeds its random numbers with the time, as hpcc does, and asks the kernel for some more. */
#include <mpi.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

int main(int argc, char **argv) {
    unsigned more = 0;
    MPI_Init(&argc, &argv);
    srand((unsigned)time(NULL));
    if (getrandom(&more, sizeof more, 0) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
