/* The call classes that testprograms/wildcard.c does not have, each with its own check; the racing ones go into the order hash. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderhash.h"

static int rank, ranks, failed;
static struct order order = ORDER_INIT;

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "calls: rank %d: wrong: %s\n", rank, what);
  failed = 1;
}

/* Persistent requests with exact arguments, inactive ones among those that are waited for, MPI_PROC_NULL. */
static void persistent(void) {
  int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  int out = rank, in[2] = {-1, -1};
  MPI_Request r[4];
  MPI_Status st[4];
  MPI_Send_init(&out, 1, MPI_INT, right, 10, MPI_COMM_WORLD, &r[0]);
  MPI_Recv_init(&in[0], 1, MPI_INT, left, 10, MPI_COMM_WORLD, &r[1]);
  MPI_Recv_init(&in[1], 1, MPI_INT, MPI_PROC_NULL, 10, MPI_COMM_WORLD, &r[2]);
  r[3] = MPI_REQUEST_NULL;
  MPI_Waitall(4, r, st); /* nothing is active */
  for (int i = 0; i < 3; i++) {
    in[0] = -1;
    MPI_Startall(2, r);
    MPI_Waitall(4, r, st);
    check(in[0] == left && st[1].MPI_SOURCE == left, "persistent receive");
    MPI_Start(&r[2]);
    MPI_Wait(&r[2], &st[2]); /* its status is not checked: MPICH 4.0 leaves the source 0 */
  }
  int index, flag = 0, n;
  int indices[4];
  MPI_Waitany(4, r, &index, st);
  check(index == MPI_UNDEFINED, "Waitany of inactive requests");
  MPI_Testany(4, r, &index, &flag, st);
  check(flag && index == MPI_UNDEFINED, "Testany of inactive requests");
  MPI_Waitsome(4, r, &n, indices, st);
  check(n == MPI_UNDEFINED, "Waitsome of inactive requests");
  MPI_Testsome(4, r, &n, indices, st);
  check(n == MPI_UNDEFINED, "Testsome of inactive requests");
  MPI_Testall(4, r, &flag, st);
  check(flag, "Testall of inactive requests");
  for (int i = 0; i < 3; i++) MPI_Request_free(&r[i]);
  MPI_Wait(&r[3], MPI_STATUS_IGNORE);
  MPI_Test(&r[3], &flag, MPI_STATUS_IGNORE);
  check(flag, "Test of a null request");
}

/* ANY_TAG from an exact source is a wildcard too; MPI_PROC_NULL with ANY_TAG is not. */
static void any_tag(void) {
  int peer = rank ^ 1, x;
  MPI_Status st;
  MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
  check(st.MPI_SOURCE == MPI_PROC_NULL && st.MPI_TAG == MPI_ANY_TAG, "receive from MPI_PROC_NULL");
  if (peer >= ranks) return;
  for (int i = 0; i < 4; i++) MPI_Send(&i, 1, MPI_INT, peer, 20 + i, MPI_COMM_WORLD);
  for (int i = 0; i < 4; i++) {
    MPI_Recv(&x, 1, MPI_INT, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
    check(st.MPI_TAG == 20 + i && x == i, "messages do not overtake");
    order_taken(&order, st.MPI_SOURCE, st.MPI_TAG);
  }
}

/* Many sends at once: an MPI hands out one handle to several of them. Completed by one Waitall, with the racing receives. */
static void many(void) {
  enum { EACH = 2000 };
  int n = (ranks - 1) * EACH, k = 0;
  MPI_Request *r = malloc(2 * (size_t)n * sizeof *r);
  MPI_Status *st = malloc(2 * (size_t)n * sizeof *st);
  int *in = malloc((size_t)n * sizeof *in);
  for (int i = 0; i < n; i++) MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &r[k++]);
  for (int i = 0; i < EACH; i++)
    for (int to = 0; to < ranks; to++)
      if (to != rank) MPI_Isend(&rank, 1, MPI_INT, to, 30, MPI_COMM_WORLD, &r[k++]);
  MPI_Waitall(k, r, st);
  for (int i = 0; i < n; i++) {
    check(in[i] == st[i].MPI_SOURCE, "many receives");
    order_taken(&order, st[i].MPI_SOURCE, st[i].MPI_TAG);
  }
  free(r);
  free(st);
  free(in);
}

/* Test, Testall and Request_get_status until they succeed. */
static void polls(void) {
  for (int receiver = 0; receiver < ranks; receiver++) {
    if (receiver != rank) {
      for (int i = 0; i < 3; i++) MPI_Send(&rank, 1, MPI_INT, receiver, 40 + i, MPI_COMM_WORLD);
      continue;
    }
    for (int k = 1; k < ranks; k++) {
      int x, flag;
      MPI_Request r, pair[2];
      MPI_Status st;
      MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &r);
      for (flag = 0; !flag; MPI_Test(&r, &flag, &st))
        if (!flag) order_failed(&order);
      order_taken(&order, st.MPI_SOURCE, st.MPI_TAG);
      MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 41, MPI_COMM_WORLD, &r);
      for (flag = 0; !flag; MPI_Request_get_status(r, &flag, &st))
        if (!flag) order_failed(&order);
      int source = st.MPI_SOURCE;
      MPI_Wait(&r, &st);
      check(st.MPI_SOURCE == source && x == source, "Request_get_status");
      order_taken(&order, st.MPI_SOURCE, st.MPI_TAG);
      MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 42, MPI_COMM_WORLD, &pair[0]);
      pair[1] = MPI_REQUEST_NULL;
      MPI_Status sts[2];
      for (flag = 0; !flag; MPI_Testall(2, pair, &flag, sts))
        if (!flag) order_failed(&order);
      check(sts[0].MPI_SOURCE == x, "Testall");
      order_taken(&order, x, 42);
    }
  }
}

/* Collectives, blocking and not, in place and not, over several communicators; MPI_COMM_NULL as the result of a split. */
static void collectives(void) {
  MPI_Comm odd, dup, cart, none;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &odd);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &none);
  check((none == MPI_COMM_NULL) == (rank == 0), "MPI_Comm_split with MPI_UNDEFINED");
  MPI_Comm_dup(odd, &dup);
  int dims[1] = {ranks}, periods[1] = {1};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
  MPI_Comm_set_name(cart, "ring of calls");
  double x = 1.0 / (rank + 3), sum = x, all = 0;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce(&x, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  order_data(&order, &sum, sizeof sum);
  int *one = malloc((size_t)ranks * sizeof *one), *two = malloc((size_t)ranks * sizeof *two);
  MPI_Request r[2];
  int index, bit = 1 << rank, bits = 0;
  MPI_Iallgather(&rank, 1, MPI_INT, one, 1, MPI_INT, MPI_COMM_WORLD, &r[0]);
  MPI_Iallreduce(&bit, &bits, 1, MPI_INT, MPI_BOR, cart, &r[1]);
  for (int i = 0; i < 2; i++) {
    MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
    order_taken(&order, index, -7);
  }
  check(bits == (1 << ranks) - 1, "Iallreduce");
  MPI_Alltoall(one, 1, MPI_INT, two, 1, MPI_INT, cart);
  for (int i = 0; i < ranks; i++) check(one[i] == i && two[i] == rank, "Iallgather and Alltoall");
  one[0] = rank == 0 ? 99 : 0;
  MPI_Bcast(one, 1, MPI_INT, 0, MPI_COMM_WORLD);
  check(one[0] == 99, "Bcast");
  MPI_Gather(rank == 0 ? MPI_IN_PLACE : (void *)&rank, 1, MPI_INT, two, 1, MPI_INT, 0, MPI_COMM_WORLD);
  int neighbours[2];
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, neighbours, 1, MPI_INT, cart);
  check(neighbours[1] == (rank + 1) % ranks, "Neighbor_allgather");
  MPI_Sendrecv_replace(&bits, 1, MPI_INT, (rank + 1) % ranks, 50, (rank + ranks - 1) % ranks, MPI_ANY_TAG, cart, MPI_STATUS_IGNORE);
  MPI_Barrier(dup);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&odd);
  MPI_Comm_free(&cart);
  if (none != MPI_COMM_NULL) MPI_Comm_free(&none);
  free(one);
  free(two);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int unmatched;
  MPI_Request never;
  MPI_Irecv(&unmatched, 1, MPI_INT, MPI_ANY_SOURCE, 60, MPI_COMM_WORLD, &never);
  persistent();
  any_tag();
  collectives();
  many();
  polls();
  int flag;
  MPI_Test(&never, &flag, MPI_STATUS_IGNORE);
  check(!flag, "a receive that nobody sends to");
  order_failed(&order);
  report_order("calls", rank, &order);
  MPI_Finalize();
  return failed;
}
