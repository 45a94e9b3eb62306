/* Every rank prints LINES numbered lines as fast as it can, and writes into PROGRESS.RANK how many it has printed. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    char name[4096], filler[301];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int lines = atoi(argv[1]);
    snprintf(name, sizeof name, "%s.%d", argv[2], rank);
    const int file = open(name, O_CREAT | O_WRONLY, 0600);
    memset(filler, '.', sizeof filler - 1);
    filler[sizeof filler - 1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < lines; i++) { /* mark: printing */
        printf("%d %d %s\n", rank, i, filler);
        if (pwrite(file, &i, sizeof i, 0) != sizeof i) abort();
    }
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
