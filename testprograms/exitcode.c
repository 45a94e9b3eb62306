/* One rank exits with a status: ./exitcode RANK STATUS [HOW], HOW one of
 *     return  (default) after MPI_Finalize
 *     early   without MPI_Finalize, while the others wait for it
 *     abort   by MPI_Abort
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3) {
        if (rank == 0) {
            fprintf(stderr, "usage: exitcode RANK STATUS [return|early|abort]\n");
        }
        MPI_Finalize();
        return 2;
    }
    const char *how = argc > 3 ? argv[3] : "return";
    const int status = rank == atoi(argv[1]) ? atoi(argv[2]) : 0;
    if (status != 0 && strcmp(how, "early") == 0) {
        _Exit(status);
    }
    if (status != 0 && strcmp(how, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, status);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
