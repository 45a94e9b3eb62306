/* The calls of one-sided communication that are refused, one after the other, on one rank. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  long cells[64] = {0}, one = 1, got = 0, *memory;
  MPI_Win win, shared, dynamic;
  MPI_Request request;
  MPI_Group group;
  int done = 0;
  MPI_Init(&argc, &argv);
  MPI_Win_create(cells, sizeof cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  MPI_Rput(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Rget(&got, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Raccumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Rget_accumulate(&one, 1, MPI_LONG, &got, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(win);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Win_post(group, 0, win);
  MPI_Win_start(group, 0, win);
  MPI_Win_complete(win);
  while (!done) MPI_Win_test(win, &done);
  MPI_Win_free(&win);
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &shared);
  MPI_Win_free(&shared);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_free(&dynamic);
  MPI_Group_free(&group);
  printf("rmarefused: %ld\n", cells[1]);
  MPI_Finalize();
  return 0;
}
