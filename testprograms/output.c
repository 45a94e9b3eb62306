/* Lines on standard output and standard error, equal on all ranks and different, and one without an end: ./output [LINES].
 * The barriers keep the parts in order, as far as a launcher keeps order at all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void say(FILE *stream, const char *name, int rank, int lines) {
    for (int i = 1; i <= lines; i++) {
        fprintf(stream, "output: %s line %d, the same on every rank\n", name, i);
    }
    fprintf(stream, "output: %s of rank %d\n", name, rank);
    fprintf(stream, "output: %s of an %s rank\n", name, rank % 2 ? "odd" : "even");
    fflush(stream);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank;
    const int lines = argc > 1 ? atoi(argv[1]) : 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say(stdout, "stdout", rank, lines);
    say(stderr, "stderr", rank, lines);
    if (rank == 0) {
        printf("output: a last line that does not end");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
