/* Calls that record/replay does not cover, one for each argument. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef OPEN_MPI
static int query(void *state, MPI_Status *st) {
  (void)state;
  MPI_Status_set_elements(st, MPI_BYTE, 0);
  MPI_Status_set_cancelled(st, 0);
  return MPI_SUCCESS;
}
static int release(void *state) { return state == NULL; }
static int withdraw(void *state, int complete) { return state == NULL && complete; }
static int ask(void *state, MPI_Status *st) {
  (void)st;
  return MPI_Grequest_complete(*(MPI_Request *)state);
}
static int wait_for(int n, void **states, double timeout, MPI_Status *st) {
  (void)timeout;
  for (int i = 0; i < n; i++) ask(states[i], st);
  return MPI_SUCCESS;
}
#endif

int main(int argc, char **argv) {
  int rank, x[2] = {0, 0};
  MPI_Request r;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "freed-pending") == 0) { /* erroneous: nobody sends what is received */
    MPI_Irecv(x, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &r);
    MPI_Request_free(&r);
  } else if (strcmp(what, "freed-killed") == 0) {
    MPI_Irecv(x, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &r);
    MPI_Request_free(&r);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
  } else if (strcmp(what, "freed-known-killed") == 0) { /* its message came: nothing is left open */
    MPI_Irecv(x, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &r);
    MPI_Request_free(&r);
    MPI_Send(x + 1, 1, MPI_INT, 0, 9, MPI_COMM_SELF);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
  } else if (strcmp(what, "comm-free") == 0) {
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Recv_init(x, 1, MPI_INT, MPI_ANY_SOURCE, 9, dup, &r);
    MPI_Comm_free(&dup);
    MPI_Request_free(&r);
  } else if (strcmp(what, "spawn") == 0) {
    MPI_Comm parent, child;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
      MPI_Comm_spawn(argv[0], (char *[]){"spawn", NULL}, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
    else
      child = parent;
    MPI_Barrier(child);
    MPI_Comm_disconnect(&child);
#ifndef OPEN_MPI
  } else if (strcmp(what, "agree") == 0) {
    int flag = 1;
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
  } else if (strcmp(what, "grequest") == 0) {
    static MPI_Request itself;
    MPIX_Grequest_start(query, release, withdraw, ask, wait_for, &itself, &itself);
    r = itself;
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  } else if (strcmp(what, "partitioned") == 0) {
    MPI_Psend_init(x, 1, 1, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Request_free(&r);
#endif
  } else {
    fprintf(stderr, "refused: no case %s\n", what);
    return 2;
  }
  MPI_Finalize();
  return 0;
}
