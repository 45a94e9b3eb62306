/* farmworker [TASKS]: a worker of the farm of gompi, in C, so that a job can have ranks of both languages:
   mpiexec -n 2 gompi : -n 2 farmworker */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { TASK = 1, ANSWER, STOP, COLUMN, ROWS = 4, COLUMNS = 10 };

static void exchange(MPI_Comm comm, int rank, int size) {
    double matrix[ROWS][COLUMNS], halo[ROWS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) matrix[i][j] = 100 * rank + 10 * i + j;
    MPI_Datatype column;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Sendrecv(&matrix[0][1], 1, column, (rank + 1) % size, COLUMN, halo, ROWS, MPI_DOUBLE, (rank + size - 1) % size,
                 COLUMN, comm, MPI_STATUS_IGNORE);
    MPI_Barrier(comm); /* breakpoint: exchanged */
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    exchange(comm, rank, size);
    for (;;) {
        int64_t number, square;
        MPI_Status status;
        MPI_Recv(&number, 1, MPI_INT64_T, 0, MPI_ANY_TAG, comm, &status);
        if (status.MPI_TAG == STOP) break;
        square = number * number; /* breakpoint: task */
        MPI_Send(&square, 1, MPI_INT64_T, 0, ANSWER, comm);
    }
    int64_t mine = 0, total = 0;
    MPI_Allreduce(&mine, &total, 1, MPI_INT64_T, MPI_SUM, comm);
    MPI_Bcast(&total, 1, MPI_INT64_T, 0, comm);
    MPI_Finalize();
    return 0;
}
