/* Buffers that are too large to be read whole, to be looked at under gdb: an indexed type of 10^5 blocks that selects 10^8 doubles, and a column of 10^6. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BLOCKS = 100000, LENGTH = 1000, ROWS = 1000000, COLUMNS = 10 };

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double *buffer = mmap(NULL, (size_t)BLOCKS * 2 * LENGTH * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  double *matrix = malloc((size_t)ROWS * COLUMNS * sizeof(double));
  if (buffer == MAP_FAILED || matrix == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < ROWS * COLUMNS; i++) matrix[i] = i * 0.5;
  for (int i = 0; i < 2 * LENGTH; i++) buffer[i] = i;
  int *lengths = malloc(BLOCKS * sizeof(int)), *places = malloc(BLOCKS * sizeof(int));
  for (int i = 0; i < BLOCKS; i++) {
    lengths[i] = LENGTH;
    places[i] = 2 * LENGTH * i;
  }
  MPI_Datatype indexed, column;
  MPI_Type_indexed(BLOCKS, lengths, places, MPI_DOUBLE, &indexed);
  MPI_Type_commit(&indexed);
  MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  printf("%p %p\n", (void *)buffer, (void *)matrix); /* breakpoint: handles */
  MPI_Type_free(&indexed);
  MPI_Type_free(&column);
  MPI_Finalize();
  return 0;
}
