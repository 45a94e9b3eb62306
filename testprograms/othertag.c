/* Rank 1 sends with the tag that is in OTHER_TAG, or 1; rank 0 takes whatever comes, and both meet. With another tag than when it was recorded no call differs, but the message for
 * which rank 0 waits in the replay is never sent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, message = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *tag = getenv("OTHER_TAG");
  if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 0, tag != NULL ? atoi(tag) : 1, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Status status;
    MPI_Recv(&message, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    printf("othertag: tag %d\n", status.MPI_TAG);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
