/* Handles of every kind that mpipp is asked about, at one line. */
#include <mpi.h>
#include <stdio.h>

struct particle { int id[2]; char name[8]; double x, y; };

static MPI_Datatype never; /* not initialised by anybody */

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double matrix[4][10];
  for (int i = 0; i < 40; i++) matrix[i / 10][i % 10] = i;
  MPI_Datatype column, particle, row, gone, null = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 10, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Type_set_name(column, "column");
  int lengths[3] = {2, 8, 2};
  MPI_Aint offsets[3] = {0, 8, 16};
  MPI_Datatype types[3] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
  MPI_Type_create_struct(3, lengths, offsets, types, &particle);
  MPI_Type_commit(&particle);
  MPI_Type_contiguous(4, MPI_DOUBLE, &row);
  MPI_Type_contiguous(3, MPI_INT, &gone);
  MPI_Datatype freed = gone;
  MPI_Type_free(&gone);
  struct particle p = {{7, -8}, "cohort", 0.5, -2.25};
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, "copy");
  void *nowhere = (void *)16;
  printf("%p %p %p %d\n", (void *)matrix, (void *)&p, nowhere, freed == row); /* breakpoint: handles */
  MPI_Comm_free(&copy);
  MPI_Type_free(&column);
  MPI_Type_free(&particle);
  MPI_Type_free(&row);
  MPI_Finalize();
  return null == never;
}
