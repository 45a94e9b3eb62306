/* What the end-to-end tests look at that ask for memory and code. */
#include <mpi.h>
#include <stdio.h>

struct inner {
    int count;
    double weight;
};

struct sample {
    int id;
    double values[4];
    struct inner inner;
};

static int rank, total;
static double grid[8];
static struct sample sample = {7, {0.5, 1.5, 2.5, 3.5}, {3, 0.25}};

static int add(int x) {
    total += x; /* mark: add */
    return total;
}

static int twice(int x) { return 2 * x; } /* mark: twice */

static double fill(double *where, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        where[i] = i + rank; /* mark: fill */
        sum += where[i];
    }
    return sum; /* mark: filled */
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct sample *chosen = &sample;
    int (*function)(int) = twice;
    double sum = fill(grid, 8); /* mark: begin */
    for (int round = 1; round <= 3; round++) {
        add(twice(round)); /* mark: round */
        sum += function(round) + chosen->id;
    }
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* mark: allreduce */
    printf("rank %d: %d %g\n", rank, total, sum);
    MPI_Finalize();
    return 0;
}
