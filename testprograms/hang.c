/* hang KIND: 3 ranks that hang, each kind in its own way.
 *
 *   tag        a message with another tag than the one that is waited for
 *   comm       in another communicator
 *   nosend     a message that nobody sends, after others that were
 *   noreceive  a synchronous send that nobody receives
 *   rendezvous sends of large messages round in a circle
 *   mismatch   different collectives
 *   wildcard   every rank waits for any other
 *   waitall    one of several requests is never complete
 *   waitany    none of several
 *   probe      for a message that nobody sends
 *   ended      for a rank that has ended without MPI_Finalize
 *   compute    for a rank that computes for ever: no deadlock
 *   lock       for a window's lock that is never given back */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, x, many[1 << 18];

static void receive(int source, int tag) {
  MPI_Recv(&x, 1, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(int to, int tag) { MPI_Send(&x, 1, MPI_INT, to, tag, MPI_COMM_WORLD); }

/* Messages of many kinds that are received, which must not count as there. */
static void warm_up(void) {
  MPI_Request q[4];
  MPI_Status statuses[4];
  MPI_Message message;
  int right = (rank + 1) % size, left = (rank + size - 1) % size, flag = 0, from[4];
  MPI_Isend(&rank, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &q[0]);
  MPI_Irecv(&x, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &q[1]);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  MPI_Send_init(&rank, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &q[0]);
  MPI_Recv_init(&x, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &q[1]);
  for (int i = 0; i < 2; i++) {
    MPI_Startall(2, q);
    MPI_Waitall(2, q, statuses);
  }
  MPI_Request_free(&q[0]);
  MPI_Request_free(&q[1]);
  MPI_Sendrecv(&rank, 1, MPI_INT, right, 7, &x, 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  send(right, 7);
  MPI_Mprobe(left, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&x, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  for (int i = 0; i < 3; i++) MPI_Isend(&rank, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &q[i]);
  for (int i = 0; i < 3; i++) receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
  for (int n = 0, done = 0; done < 3; done += n) MPI_Waitsome(3, q, &n, from, MPI_STATUSES_IGNORE);
  MPI_Irecv(&x, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &q[0]);
  send(right, 7);
  while (!flag) MPI_Test(q, &flag, MPI_STATUS_IGNORE);
  MPI_Irecv(&x, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &q[0]);
  MPI_Cancel(&q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  MPI_Bcast(&x, 1, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Ibarrier(MPI_COMM_WORLD, &q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2 || size != 3) {
    fprintf(stderr, "usage: mpiexec -n 3 hang KIND\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const char *kind = argv[1];
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request q[3];
  MPI_Comm other;
  MPI_Win window;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_name(other, "other");
  warm_up();
  if (strcmp(kind, "tag") == 0) {
    if (rank == 1) send(0, 6);
    if (rank == 0) receive(1, 7);
  } else if (strcmp(kind, "comm") == 0) {
    if (rank == 1) MPI_Send(&x, 1, MPI_INT, 0, 5, other);
    if (rank == 0) receive(1, 5);
  } else if (strcmp(kind, "nosend") == 0) {
    for (int i = 0; i < 2; i++)
      if (rank == 1) send(0, 5);
    for (int i = 0; i < 3; i++)
      if (rank == 0) receive(1, 5);
  } else if (strcmp(kind, "noreceive") == 0) {
    if (rank == 2) MPI_Ssend(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  } else if (strcmp(kind, "rendezvous") == 0) {
    MPI_Send(many, 1 << 18, MPI_INT, right, 5, MPI_COMM_WORLD);
    MPI_Recv(many, 1 << 18, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(kind, "mismatch") == 0) {
    if (rank == 0)
      MPI_Bcast(&x, 1, MPI_INT, 1, MPI_COMM_WORLD); /* hangs */
    else
      MPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(kind, "wildcard") == 0) {
    receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
  } else if (strcmp(kind, "waitall") == 0 || strcmp(kind, "waitany") == 0) {
    MPI_Irecv(&many[0], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &q[0]);
    MPI_Irecv(&many[1], 1, MPI_INT, right, 6, other, &q[1]);
    if (strcmp(kind, "waitall") == 0) {
      send(right, 5);
      if (rank != 2) MPI_Send(&x, 1, MPI_INT, left, 6, other);
      MPI_Waitall(2, q, MPI_STATUSES_IGNORE); /* hangs */
    } else {
      MPI_Waitany(2, q, &x, MPI_STATUS_IGNORE);
    }
  } else if (strcmp(kind, "probe") == 0) {
    if (rank == 1) MPI_Probe(0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(kind, "ended") == 0) {
    if (rank == 1) _Exit(0);
    if (rank == 0) receive(1, 7);
  } else if (strcmp(kind, "compute") == 0) {
    if (rank == 2)
      for (volatile long i = 0;;) i++;
  } else if (strcmp(kind, "lock") == 0) {
    MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /* hangs */
      MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
      MPI_Win_unlock(0, window);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD); /* the last */
  MPI_Finalize();
  return 0;
}
