/* Control flow that depends on MPI_Wtime: every rank does something until a time has passed, how often is printed, with a hash of all times that it saw. Also times asked for
 * by a second thread, and within a reduction operation, while the rank is inside MPI. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#include "orderhash.h"

static struct order order = ORDER_INIT;
static uint64_t in_thread = 14695981039346656037u, in_operation = 14695981039346656037u;

static double now(uint64_t *hash) {
  double t = MPI_Wtime();
  *hash = hash_bytes(*hash, &t, sizeof t);
  return t;
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
  now(&in_operation);
}

static void *other_thread(void *nothing) {
  double from = now(&in_thread);
  while (now(&in_thread) - from < 0.002) {
  }
  return nothing;
}

int main(int argc, char **argv) {
  int rank, ranks, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  pthread_t thread;
  pthread_create(&thread, NULL, other_thread, NULL);
  const double tick = MPI_Wtick();
  order_data(&order, &tick, sizeof tick);
  const double from = now(&order.data_hash);
  long rounds = 0, sent = 0;
  while (now(&order.data_hash) - from < 0.005) {
    if (++rounds % 256 != 0 || rank == 0) continue;
    MPI_Send(&rounds, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    sent++;
  }
  order_data(&order, &rounds, sizeof rounds);
  if (rank != 0) MPI_Send(&sent, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD);
  for (int left = rank == 0 ? ranks - 1 : 0; left > 0;) {
    MPI_Status status;
    long got;
    MPI_Recv(&got, 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
    order_data(&order, &got, sizeof got);
    order.tasks++;
    left -= status.MPI_TAG == 2;
  }
  MPI_Op op;
  int one = 1, all = 0;
  MPI_Op_create(add, 1, &op);
  MPI_Reduce(&one, &all, 1, MPI_INT, op, 0, MPI_COMM_WORLD);
  MPI_Op_free(&op);
  pthread_join(thread, NULL);
  order_data(&order, &in_thread, sizeof in_thread);
  order_data(&order, &in_operation, sizeof in_operation);
  order.failed_polls = rounds;
  report_order("wtime", rank, &order);
  MPI_Finalize();
  return 0;
}
