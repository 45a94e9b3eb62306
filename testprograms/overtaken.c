/* Rank 0 has a receive with a wildcard open that has taken the first message when a later call is given the second; then it is killed. What it printed must
 * be what a replay prints. The first argument is the call (recv, irecv, probe, mprobe, sendrecv), the second the size of the first message in bytes.
 *
 * Rank 2, if there is one, sends a message too that the open receive could have taken. OVERTAKEN_FILE names files by which it is kept from being there in time, without a message: when they
 * are there already, as in a replay, rank 1 is late instead. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int file(const char *name, char *path, size_t room) {
  const char *prefix = getenv("OVERTAKEN_FILE");
  return prefix != NULL && (size_t)snprintf(path, room, "%s-%s", prefix, name) < room;
}

static void wait_for(const char *name) {
  char path[4096];
  const struct timespec t = {0, 1000000};
  while (file(name, path, sizeof path) && access(path, F_OK) != 0) nanosleep(&t, NULL);
}

static void make(const char *name) {
  char path[4096];
  FILE *f = file(name, path, sizeof path) ? fopen(path, "w") : NULL;
  if (f != NULL) fclose(f);
}

int main(int argc, char **argv) {
  int rank, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *call = argc > 1 ? argv[1] : "recv";
  int size = argc > 2 ? atoi(argv[2]) : 4;
  int *first = calloc(1, (size_t)size);
  if (rank == 1) {
    MPI_Request sending;
    int go = 0;
    char path[4096];
    const struct timespec late = {0, 200000000};
    MPI_Recv(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (file("sent", path, sizeof path) && access(path, F_OK) == 0) nanosleep(&late, NULL);
    first[0] = 1;
    MPI_Isend(first, size, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &sending);
    value = 2;
    MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Recv(&go, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* never */
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
  }
  if (rank == 2) {
    value = 3;
    MPI_Request sending;
    int never;
    wait_for("taken");
    MPI_Isend(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &sending); /* rank 0 gives no progress while it waits */
    make("sent");
    MPI_Recv(&never, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
  }
  if (rank == 0) {
    MPI_Request open, later;
    MPI_Message message;
    MPI_Status status;
    MPI_Irecv(first, size, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &open);
    if (strcmp(call, "irecv") == 0) MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &later);
    MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    if (strcmp(call, "recv") == 0) MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(call, "irecv") == 0) MPI_Wait(&later, MPI_STATUS_IGNORE);
    if (strcmp(call, "probe") == 0) {
      MPI_Probe(1, 5, MPI_COMM_WORLD, &status);
      MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &status);
    }
    if (strcmp(call, "mprobe") == 0) {
      MPI_Mprobe(1, 5, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    }
    if (strcmp(call, "sendrecv") == 0)
      MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, &value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("overtaken: %s was given %d\n", call, value);
    fflush(stdout);
    make("taken");
    wait_for("sent");
    kill(getpid(), SIGKILL);
  }
  MPI_Finalize();
  return 0;
}
