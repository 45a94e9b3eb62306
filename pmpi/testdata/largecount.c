/* Large counts. Without an argument the calls of MPI 4 that take an MPI_Count, with small ones, in every class; "null" with great ones, to MPI_PROC_NULL; "above" what an int form cannot do;
 * "message" (any MPI) one message of more than 2^31 bytes, from and to 1 MiB of memory. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderhash.h"

enum { PIECES = 2049, MIB = 1 << 20 };

static struct order order = ORDER_INIT;
static int rank, ranks;

static void message(void) {
  MPI_Datatype block, again;
  char *memory = malloc(MIB), *into = malloc(MIB);
  MPI_Request request;
  MPI_Status status;
  MPI_Count bytes;
  memset(memory, 1, MIB);
  MPI_Type_contiguous(MIB, MPI_CHAR, &block);
  MPI_Type_create_resized(block, 0, 0, &again);
  MPI_Type_commit(&again);
  MPI_Isend(memory, PIECES, again, 0, 5, MPI_COMM_SELF, &request);
  MPI_Recv(into, PIECES, again, MPI_ANY_SOURCE, 5, MPI_COMM_SELF, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Get_elements_x(&status, MPI_CHAR, &bytes);
  printf("largecount: %lld bytes\n", (long long)bytes);
  MPI_Type_free(&again);
  MPI_Type_free(&block);
}

#if !defined(OPEN_MPI) && MPI_VERSION >= 4
static void saw(const void *bytes, size_t n) { order_data(&order, bytes, n); }

static void point_to_point(int round) {
  const int next = (rank + 1) % ranks;
  int sent = rank + 10 * round, got[4] = {0};
  MPI_Status status;
  MPI_Request requests[2];
  if (rank != 0) {
    MPI_Send_c(&sent, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Ssend_c(&sent, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    MPI_Isend_c(&sent, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
  }
  for (int i = 1; rank == 0 && i < ranks; i++) {
    MPI_Recv_c(got, 4, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    order_taken(&order, status.MPI_SOURCE, 1);
    MPI_Irecv_c(got + 1, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, requests);
    MPI_Wait(requests, &status);
    order_taken(&order, status.MPI_SOURCE, 2);
    MPI_Message m;
    MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &m, &status);
    MPI_Mrecv_c(got + 2, 1, MPI_INT, &m, &status);
    order_taken(&order, status.MPI_SOURCE, 3);
    saw(got, sizeof got);
  }
  MPI_Sendrecv_c(&sent, 1, MPI_INT, next, 4, got, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status);
  order_taken(&order, status.MPI_SOURCE, 4);
  MPI_Sendrecv_replace_c(got, 2, MPI_INT, next, 5, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
  MPI_Send_init_c(&sent, 1, MPI_INT, next, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init_c(got + 3, 1, MPI_INT, (rank + ranks - 1) % ranks, 6, MPI_COMM_WORLD, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  saw(got, sizeof got);
}

static void collectives(void) {
  enum { MOST = 8 };
  int mine[MOST], all[MOST * MOST];
  MPI_Count ones[MOST];
  MPI_Aint places[MOST], bytes[MOST];
  MPI_Datatype types[MOST];
  MPI_Request request;
  for (int i = 0; i < MOST; i++) {
    mine[i] = rank * 100 + i;
    ones[i] = 1;
    places[i] = i;
    bytes[i] = i * (MPI_Aint)sizeof(int);
    types[i] = MPI_INT;
  }
  memset(all, 0, sizeof all);
  MPI_Bcast_c(mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gather_c(mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gatherv_c(mine, 1, MPI_INT, all, rank == 0 ? ones : NULL, rank == 0 ? places : NULL, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatterv_c(all, rank == 0 ? ones : NULL, rank == 0 ? places : NULL, MPI_INT, mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allgatherv_c(mine, 1, MPI_INT, all, ones, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall_c(mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallv_c(mine, ones, places, MPI_INT, all, ones, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallv_c(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, ones, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallw_c(mine, ones, bytes, types, all, ones, bytes, types, MPI_COMM_WORLD);
  MPI_Allreduce_c(mine, all, MOST, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_c(mine, all, MOST, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce_scatter_c(mine, all, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan_c(mine, all, MOST, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Ibcast_c(mine, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iallreduce_c(mine, all, MOST, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  saw(all, sizeof all);
}

static void one_sided(void) {
  int *cells, got[2] = {0};
  MPI_Win win;
  MPI_Win_allocate_c(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &win);
  cells[0] = rank;
  MPI_Win_fence(0, win);
  MPI_Put_c(&rank, 1, MPI_INT, (rank + 1) % ranks, 1, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Get_c(got, 2, MPI_INT, (rank + 1) % ranks, 0, 2, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  saw(got, sizeof got);
}

static void to_nobody(void) {
  const MPI_Count many = ((MPI_Count)1 << 31) + 8;
  char byte = 0;
  MPI_Request request;
  MPI_Send_c(&byte, many, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Isend_c(&byte, many, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Recv_c(&byte, many, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void above(void) {
  const MPI_Count none[1] = {0};
  const MPI_Aint far[1] = {(MPI_Aint)1 << 31};
  char byte = 0;
  MPI_Gatherv_c(&byte, 0, MPI_BYTE, &byte, none, far, MPI_BYTE, 0, MPI_COMM_SELF);
}
#endif

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(what, "message") == 0) {
    message();
  } else {
#if !defined(OPEN_MPI) && MPI_VERSION >= 4
    if (strcmp(what, "null") == 0) to_nobody();
    if (strcmp(what, "above") == 0) above();
    for (int i = 0; *what == 0 && i < 5; i++) {
      point_to_point(i);
      collectives();
      one_sided();
    }
#endif
    report_order("largecount", rank, &order);
  }
  MPI_Finalize();
  return 0;
}
