/* Calls of MPI whose buffers the debugger shows among the locals: a rank alone, that sends to itself. */
#include <mpi.h>
#include <string.h>

#define N 4
#define TAG (N + 3)

struct particle { int id; char name[4]; double x; };

static int called; /* a function that a debugger must not call */
static int count(void) { return ++called; }

static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
  for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i]; /* breakpoint: operation */
  (void)type;
}

static void exchange(double (*u)[10], double *ghost, MPI_Datatype column, MPI_Comm comm) {
  MPI_Request request;
  MPI_Irecv(ghost, N, MPI_DOUBLE, 0, TAG, comm, &request); /* breakpoint: irecv */
  MPI_Send(&u[0][2], 1, column, /* to myself */
           0, TAG, comm); /* the end of the send */
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* breakpoint: wait */
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double u[4][10], ghost[N] = {-1, -1, -1, -1};
  for (int i = 0; i < 40; i++) u[i / 10][i % 10] = i;
  MPI_Datatype column, particle;
  MPI_Type_vector(4, 1, 10, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  int lengths[3] = {1, 4, 1};
  MPI_Aint offsets[3] = {0, 4, 8};
  MPI_Datatype types[3] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
  MPI_Type_create_struct(3, lengths, offsets, types, &particle);
  MPI_Type_commit(&particle);
  struct particle p[2] = {{7, "one", 0.5}, {8, "two", 1.5}}, q[2] = {{0}};
  exchange(u, ghost, column, MPI_COMM_WORLD);
  MPI_Sendrecv(p, 2, particle, 0, 1, q, 2, particle, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* breakpoint: sendrecv */
  int sum = 5, counts[1] = {2}, displs[1] = {0}, all[3] = {1, 2, 3}, mine[2] = {10, 20};
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* breakpoint: inplace */
  MPI_Allgatherv(mine, 2, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD); /* breakpoint: gatherv */
  MPI_Bcast(all, 3, MPI_INT, 0, MPI_COMM_WORLD); /* breakpoint: bcast */
  MPI_Bcast(mine, count(), MPI_INT, 0, MPI_COMM_WORLD); /* breakpoint: called */
  char packed[64];
  int position = 0;
  MPI_Pack(p, 1, particle, packed, sizeof packed, &position, MPI_COMM_SELF); /* breakpoint: pack */
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  MPI_Reduce_local(mine, all, 2, MPI_INT, op); /* the call that the rank is in */
  MPI_Op_free(&op);
  int *nowhere = (int *)16;
  if (called < 0) MPI_Send(nowhere, 3, MPI_INT, 5, 1, MPI_COMM_WORLD); /* breakpoint: nowhere */
  MPI_Type_free(&column);
  MPI_Type_free(&particle);
  MPI_Finalize();
  return called != 1;
}
