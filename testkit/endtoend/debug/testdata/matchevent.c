/* One message after another, each with a tag of its own, of types that fit each other more or less: what mpipp --match of recorded events is tested with. 4 ranks. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct particle { int id; char name[8]; double mass; };

static int rank;
static MPI_Datatype particle, column;

static void make_types(void) {
  int lengths[] = {1, 8, 1};
  MPI_Aint at[] = {offsetof(struct particle, id), offsetof(struct particle, name), offsetof(struct particle, mass)};
  MPI_Datatype types[] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
  MPI_Type_create_struct(3, lengths, at, types, &particle);
  MPI_Type_commit(&particle);
  MPI_Type_vector(4, 1, 10, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
}

static double doubles[4096];
static int ints[64];

/* 1, 2: the same types; fewer than the receive would take. */
static void blocking(void) {
  struct particle p = {rank, "p", 1.5}, q;
  if (rank == 0) MPI_Send(&p, 1, particle, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&q, 1, particle, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Bsend(doubles, 1, column, 0, 2, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(doubles, 8, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* 3, 4: as many bytes, of another type; more than the receive takes. */
static void wrong(void) {
  if (rank == 2) MPI_Send(doubles, 3, MPI_DOUBLE, 3, 3, MPI_COMM_WORLD);
  if (rank == 3) MPI_Recv(ints, 6, MPI_INT, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 3) MPI_Send(ints, 8, MPI_INT, 2, 4, MPI_COMM_WORLD);
  if (rank == 2) MPI_Recv(ints, 4, MPI_INT, 3, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* 5: taken with wildcards: 1, 2 and 3 send as many integers as their ranks are. */
static void wildcards(void) {
  if (rank > 0) MPI_Ssend(ints, rank, MPI_INT, 0, 5, MPI_COMM_WORLD);
  for (int i = 1; i < 4 && rank == 0; i++) MPI_Recv(ints, 3, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* 6: the receives are posted long before anything is sent. */
static void posted(void) {
  MPI_Request r[4];
  for (int i = 1; i < 4 && rank == 0; i++) MPI_Irecv(doubles + 64 * i, i, column, i, 6, MPI_COMM_WORLD, &r[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank > 0) {
    MPI_Isend(doubles, 4, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  }
  if (rank == 0) MPI_Waitall(3, r + 1, MPI_STATUSES_IGNORE);
}

/* 7, 8: two persistent requests started at once. */
static void persistent(void) {
  MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (rank != 1 && rank != 2) return;
  if (rank == 1) {
    MPI_Send_init(ints, 7, MPI_INT, 2, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Ssend_init(doubles, 2, MPI_DOUBLE, 2, 8, MPI_COMM_WORLD, &r[1]);
  } else {
    MPI_Recv_init(doubles, 2, MPI_DOUBLE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(ints, 8, MPI_INT, 1, 7, MPI_COMM_WORLD, &r[1]);
  }
  MPI_Startall(2, r);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_Start(&r[1 - (rank == 2)]); /* 8 once more */
  MPI_Wait(&r[1 - (rank == 2)], MPI_STATUS_IGNORE);
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

/* 9: around a ring. */
static void ring(void) {
  MPI_Sendrecv(doubles, 2, MPI_DOUBLE, (rank + 1) % 4, 9, ints, 2, MPI_LONG, (rank + 3) % 4, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* 10, 11: matched probes. */
static void matched(void) {
  MPI_Message message;
  MPI_Request r;
  if (rank == 3) {
    MPI_Send(ints, 5, MPI_INT, 0, 10, MPI_COMM_WORLD);
    MPI_Send(ints, 6, MPI_INT, 0, 11, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    MPI_Mprobe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(ints, 5, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Mprobe(3, 11, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(ints, 8, MPI_FLOAT, &message, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
}

/* 12: sent before 13, and received after it: the sender is beyond its send when the receive is called. */
static void late(void) {
  MPI_Request r;
  if (rank == 2) {
    MPI_Isend(ints, 3, MPI_INT, 1, 12, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Send(ints, 1, MPI_INT, 1, 13, MPI_COMM_WORLD);
  }
  if (rank == 1) {
    MPI_Recv(ints, 1, MPI_INT, 2, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(ints, 3, MPI_INT, 2, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* 14: a large message, and 15: to oneself. */
static void others(void) {
  MPI_Request r;
  if (rank == 0) MPI_Send(doubles, 4096, MPI_DOUBLE, 2, 14, MPI_COMM_WORLD);
  if (rank == 2) MPI_Recv(doubles, 4096, MPI_DOUBLE, 0, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 3) {
    MPI_Irecv(ints, 4, MPI_INT, 3, 15, MPI_COMM_WORLD, &r);
    MPI_Send(doubles, 2, MPI_DOUBLE, 3, 15, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
}

static void collectives(void) {
  int parts[4] = {1, 2, 3, 4}, at[4] = {0, 1, 3, 6};
  if (rank == 2)
    MPI_Bcast(doubles, 1, column, 2, MPI_COMM_WORLD);
  else
    MPI_Bcast(doubles, 4, MPI_DOUBLE, 2, MPI_COMM_WORLD);
  MPI_Gather(ints, 3, MPI_INT, ints + 16, 3, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Gatherv(ints, rank + 1, MPI_INT, ints + 16, parts, at, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, doubles, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  static char buffer[4096 + MPI_BSEND_OVERHEAD];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Buffer_attach(buffer, sizeof buffer);
  make_types();
  blocking();
  wrong();
  wildcards();
  posted();
  persistent();
  ring();
  matched();
  late();
  others();
  collectives();
  void *b;
  int n;
  MPI_Buffer_detach(&b, &n);
  MPI_Type_free(&particle);
  MPI_Type_free(&column);
  MPI_Finalize();
  if (rank == 0) printf("matchevent: done\n");
  return 0;
}
