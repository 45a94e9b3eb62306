/* One-sided communication with a window above 64 KiB: halos under a fence, which no order decides; then one more thing, as the argument says. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 20000 };

int main(int argc, char **argv) {
  int rank, ranks;
  double *mine, halo[100], fetched = 0, one = 1.5;
  long counter = 1, found = 0, sum = 0;
  MPI_Win win;
  const char *extra = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Win_allocate(CELLS * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
  for (int i = 0; i < CELLS; i++) mine[i] = rank + i / 1000.0;
  for (int step = 0; step < 5; step++) {
    MPI_Win_fence(0, win);
    MPI_Get(halo, 100, MPI_DOUBLE, (rank + 1) % ranks, 100, 100, MPI_DOUBLE, win);
    MPI_Put(mine + 300, 100, MPI_DOUBLE, (rank + 1) % ranks, 500, 100, MPI_DOUBLE, win);
    MPI_Accumulate(&counter, 1, MPI_LONG, 0, 1000, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 100; i++) mine[300 + i] = halo[i] + mine[500 + i];
  }
  if (strcmp(extra, "lock") == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Win_unlock(0, win);
  } else if (strcmp(extra, "lock_all") == 0) {
    MPI_Win_lock_all(0, win);
    MPI_Win_unlock_all(win);
  } else if (strcmp(extra, "sum") == 0) {
    MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, MPI_SUM, win);
  } else if (strcmp(extra, "replace") == 0) {
    MPI_Accumulate(&counter, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_REPLACE, win);
  } else if (strcmp(extra, "fetch") == 0) {
    MPI_Fetch_and_op(&one, &fetched, MPI_DOUBLE, 0, 1, MPI_NO_OP, win);
  } else if (strcmp(extra, "swap") == 0) {
    MPI_Compare_and_swap(&counter, &counter, &found, MPI_LONG, 0, 1, win);
  } else if (strcmp(extra, "get_accumulate") == 0) {
    MPI_Get_accumulate(&one, 1, MPI_DOUBLE, &fetched, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, MPI_NO_OP, win);
  } else if (strcmp(extra, "rput") == 0) {
    MPI_Request request;
    MPI_Win_lock_all(0, win);
    MPI_Rput(&one, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
  }
  MPI_Win_fence(0, win);
  memcpy(&sum, mine + 1000, sizeof sum);
  printf("rmalarge: rank %d: %.6f %ld\n", rank, mine[350], sum);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
