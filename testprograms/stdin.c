/* Rank 0 echoes what it reads, line by line, until the end of its input; the others learn how many lines there were. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, lines = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        char line[4096];
        printf("stdin: ready\n");
        fflush(stdout);
        while (fgets(line, sizeof line, stdin) != NULL) {
            line[strcspn(line, "\n")] = '\0';
            printf("stdin: line %d: %s\n", ++lines, line);
            fflush(stdout);
        }
    }
    MPI_Bcast(&lines, 1, MPI_INT, 0, MPI_COMM_WORLD);
    printf("stdin: rank %d: %d lines\n", rank, lines);
    MPI_Finalize();
    return 0;
}
