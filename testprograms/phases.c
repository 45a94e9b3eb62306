/* Hangs sometimes: the program of docs/tutorial.md.
 *
 *   phases [SLOW]    in the first phase every worker sends rank 0 the sums of its columns; in the second, a row of a matrix.
 *                    Rank SLOW computes longer than the others (as on a busy host), so that the hang need not be waited for;
 *                    without it, which rank is slow is up to the machine.
 *
 * The bug: rank 0 receives the sums with MPI_ANY_TAG, so it may take a fast worker's row for a slow worker's sum. Then it
 * waits for that row for ever. MPI_Recv with TAG_SUM in collect_sums is right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG_SUM = 1, TAG_ROW = 2, COLUMNS = 6, STEPS = 1000000 };

/* Some arithmetic that takes a while. */
static double compute(int rank, long steps) {
  double x = rank;
  for (long i = 0; i < steps; i++) x = x * 0.999999 + 1e-6 * rank;
  return x;
}

static double collect_sums(int workers) {
  double total = 0;
  for (int i = 0; i < workers; i++) {
    double sums[COLUMNS];
    MPI_Status status;
    MPI_Recv(sums, COLUMNS, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    for (int c = 0; c < COLUMNS; c++) total += sums[c]; /* breakpoint: sums received */
  }
  return total;
}

/* Rows of the matrix are columns of the workers' memory. */
static void collect_rows(int workers, double (*rows)[COLUMNS]) {
  for (int w = 1; w <= workers; w++)
    MPI_Recv(rows[w], COLUMNS, MPI_DOUBLE, w, TAG_ROW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int slow = argc > 1 ? atoi(argv[1]) : -1;
  if (rank > 0) {
    double sums[COLUMNS] = {compute(rank, rank == slow ? 500 * STEPS : STEPS)};
    MPI_Send(sums, COLUMNS, MPI_DOUBLE, 0, TAG_SUM, MPI_COMM_WORLD);
    double field[COLUMNS][4] = {{compute(rank, 50 * STEPS)}};
    for (int c = 0; c < COLUMNS; c++) field[c][1] = 10 * rank + c;
    MPI_Datatype column;
    MPI_Type_vector(COLUMNS, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Send(&field[0][1], 1, column, 0, TAG_ROW, MPI_COMM_WORLD); /* breakpoint: row sent */
    MPI_Type_free(&column);
    printf("phases: rank %d has sent its sums and its row\n", rank);
  } else {
    double rows[ranks][COLUMNS];
    printf("phases: rank 0 has the sum %g\n", collect_sums(ranks - 1));
    fflush(stdout);
    collect_rows(ranks - 1, rows);
    printf("phases: the last row begins with %g\n", rows[ranks - 1][0]);
  }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
