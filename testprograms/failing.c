/* Calls that fail, where the program has asked for errors to be returned: what each returned and received is a line of output. The first argument is the kind:
 *   cut     a message is longer than the receive's buffer, in each call that can receive one
 *   wrong   arguments that MPI refuses, where the call has no wildcard
 *   wild    likewise, of a receive with a wildcard
 *   one     one of two receives of a MPI_Waitall fails, early or late: the sender that is slow depends on PERTURB
 *   left    likewise; the other message is sent only when MPI_Waitall has given up, as both MPIs do */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONG = 50, SHORT = 40, TAG = 3 };

static int rank, ranks;
static char in[LONG], out[LONG];

static void say(const char *what, int rc, const MPI_Status *st) {
  int class = -1;
  MPI_Error_class(rc, &class);
  const char *error = class == MPI_SUCCESS ? "success" : class == MPI_ERR_TRUNCATE ? "truncated" : class == MPI_ERR_IN_STATUS ? "in status" : "refused";
  printf("failing: %d %s: %s", rank, what, error);
  if (st != NULL) printf(", from %d with tag %d", st->MPI_SOURCE, st->MPI_TAG);
  printf("\n");
}

/* The others send to rank 0, in any order. */
static void give(int n) {
  for (int i = 0; rank != 0 && i < n; i++) MPI_Send(out, LONG, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
}

static void cut(void) {
  MPI_Status st, sts[2];
  MPI_Request r[2];
  MPI_Message m;
  int flag, n, indices[2];
  const int any = MPI_ANY_SOURCE;
  if (rank == 0) {
    for (int k = 1; k < ranks; k++) { /* as many rounds as there are senders, so that all are taken */
      say("Recv", MPI_Recv(in, SHORT, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &st), &st);
      say("Sendrecv", MPI_Sendrecv(out, 1, MPI_CHAR, MPI_PROC_NULL, 0, in, SHORT, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &st), &st);
      say("Sendrecv_replace", MPI_Sendrecv_replace(in, SHORT, MPI_CHAR, MPI_PROC_NULL, 0, any, TAG, MPI_COMM_WORLD, &st), &st);
      MPI_Irecv(in, SHORT, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &r[0]);
      say("Wait", MPI_Wait(&r[0], &st), &st);
      MPI_Irecv(in, SHORT, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &r[0]);
      say("Waitany", MPI_Waitany(1, r, &n, &st), &st);
      MPI_Irecv(in, SHORT, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &r[0]);
      say("Waitall", MPI_Waitall(1, r, sts), &sts[0]);
      MPI_Irecv(in, SHORT, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &r[0]);
      say("Waitsome", MPI_Waitsome(1, r, &n, indices, sts), &sts[0]);
      MPI_Irecv(in, SHORT, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &r[0]);
      int rc;
      do rc = MPI_Test(&r[0], &flag, &st);
      while (rc == MPI_SUCCESS && !flag);
      say("Test", rc, &st);
      MPI_Recv_init(in, SHORT, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &r[0]);
      MPI_Start(&r[0]);
      say("Start", MPI_Wait(&r[0], &st), &st);
      MPI_Request_free(&r[0]);
      MPI_Mprobe(any, TAG, MPI_COMM_WORLD, &m, &st);
      say("Mrecv", MPI_Mrecv(in, SHORT, MPI_CHAR, &m, &st), &st);
      /* One that is open while a later one is cut. */
      MPI_Irecv(in, LONG, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &r[0]);
      say("Recv after Irecv", MPI_Recv(out, SHORT, MPI_CHAR, any, TAG, MPI_COMM_WORLD, &st), &st);
      say("Irecv", MPI_Wait(&r[0], &st), &st);
    }
  }
  give(12);
}

static void wrong(void) {
  MPI_Request r;
  MPI_Status st;
  int flag;
  const int nobody = ranks + 5;
  say("Send to nobody", MPI_Send(out, 1, MPI_CHAR, nobody, TAG, MPI_COMM_WORLD), NULL);
  say("Isend of -1", MPI_Isend(out, -1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &r), NULL);
  say("Ssend with tag -7", MPI_Ssend(out, 1, MPI_CHAR, 0, -7, MPI_COMM_WORLD), NULL);
  say("Send of no type", MPI_Send(out, 1, MPI_DATATYPE_NULL, 0, TAG, MPI_COMM_WORLD), NULL);
  say("Send_init to nobody", MPI_Send_init(out, 1, MPI_CHAR, nobody, TAG, MPI_COMM_WORLD, &r), NULL);
  say("Recv from nobody", MPI_Recv(in, 1, MPI_CHAR, nobody, TAG, MPI_COMM_WORLD, &st), NULL);
  say("Recv of -1", MPI_Recv(in, -1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &st), NULL);
  say("Irecv from nobody", MPI_Irecv(in, 1, MPI_CHAR, nobody, TAG, MPI_COMM_WORLD, &r), NULL);
  say("Recv_init of -1", MPI_Recv_init(in, -1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &r), NULL);
  say("Sendrecv to nobody", MPI_Sendrecv(out, 1, MPI_CHAR, nobody, TAG, in, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &st), NULL);
  say("Probe of nobody", MPI_Probe(nobody, TAG, MPI_COMM_WORLD, &st), NULL);
  say("Iprobe of nobody", MPI_Iprobe(nobody, TAG, MPI_COMM_WORLD, &flag, &st), NULL);
  say("Bcast from nobody", MPI_Bcast(in, 1, MPI_CHAR, nobody, MPI_COMM_WORLD), NULL);
  give(1);
  for (int k = 1; rank == 0 && k < ranks; k++) say("Recv", MPI_Recv(in, LONG, MPI_CHAR, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &st), &st);
}

static void wild(void) {
  MPI_Request r;
  MPI_Status st;
  int flag;
  say("Recv of -1", MPI_Recv(in, -1, MPI_CHAR, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &st), NULL);
  say("Irecv of -1", MPI_Irecv(in, -1, MPI_CHAR, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r), NULL);
  say("Iprobe with tag -7", MPI_Iprobe(MPI_ANY_SOURCE, -7, MPI_COMM_WORLD, &flag, &st), NULL);
}

/* Rank 1 sends what is cut, rank 2 what is not. */
static void one_of_two(int left) {
  MPI_Request r[2];
  MPI_Status sts[2] = {{0}};
  int rc, done, gives_up = left;
  const char *seed = getenv("PERTURB");
  if (!left && rank == (seed != NULL && atoi(seed) % 2 == 1 ? 1 : 2)) nanosleep(&(struct timespec){0, 30000000}, NULL);
  for (int round = 0; round < 2; round++) {
    if (rank == 2 && gives_up) MPI_Recv(in, 1, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1 || rank == 2) MPI_Send(out, LONG, MPI_CHAR, 0, rank, MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Irecv(in, SHORT, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[0]);
      MPI_Irecv(out, LONG, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &r[1]);
      if (round == 0) rc = MPI_Waitall(2, r, sts);
      else
        for (done = 0; (rc = MPI_Testall(2, r, &done, sts)) == MPI_SUCCESS && !done;) {}
      say(round == 0 ? "Waitall" : "Testall", rc, NULL);
      for (int i = 0; i < 2; i++) printf("failing: %d %s\n", i, sts[i].MPI_ERROR == MPI_ERR_PENDING ? "pending" : r[i] == MPI_REQUEST_NULL ? "done" : "there");
      if (gives_up) MPI_Send(out, 1, MPI_CHAR, 2, 9, MPI_COMM_WORLD);
      MPI_Waitall(2, r, sts);
    }
    gives_up = 0;
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const char *kind = argc > 1 ? argv[1] : "cut";
  if (strcmp(kind, "cut") == 0) cut();
  if (strcmp(kind, "wrong") == 0) wrong();
  if (strcmp(kind, "wild") == 0) wild();
  if (strcmp(kind, "one") == 0) one_of_two(0);
  if (strcmp(kind, "left") == 0) one_of_two(1);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
