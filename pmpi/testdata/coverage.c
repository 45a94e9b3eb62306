/* What testprograms/callclasses.c does not have: requests that are freed while they are active, generalized requests, persistent requests whose datatype is freed,
 * matched probes that several are held of, and communicators that not all make together. Each part checks its own answers; what races
 * goes into the order hash. PERTURB=SEED delays the senders, in another way for each seed. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orderhash.h"

enum { MAX_RANKS = 16, LARGE = 100000 };

static int rank, ranks, failed;
static struct order order = ORDER_INIT;
static unsigned long seed;

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "coverage: rank %d: wrong: %s\n", rank, what);
  failed = 1;
}

static void poll_failed(void) {
  order_failed(&order);
  sched_yield();
}

static void perturb(int part) {
  if (seed == 0) return;
  unsigned long x = (seed * 1000003u + (unsigned long)part) * 1009u + (unsigned long)rank;
  x = (x ^ x >> 15) * 0x9E3779B97F4A7C15u;
  const struct timespec t = {0, (long)(x >> 33) % 4 * 300000};
  nanosleep(&t, NULL);
}

/* Each other rank sends `each` ints to rank 0: its rank and a count. */
static void send_to_first(int tag, int each) {
  for (int i = 0; i < each; i++) {
    int x[2] = {rank, i};
    perturb(tag + i);
    MPI_Send(x, 2, MPI_INT, 0, tag, MPI_COMM_WORLD);
  }
}

static void took(const int *x, const MPI_Status *st, const char *what) {
  check(x[0] == st->MPI_SOURCE, what);
  order_taken(&order, st->MPI_SOURCE, st->MPI_TAG);
  order_data(&order, x, 2 * sizeof *x);
}

/* ------------------------------------------------------------------ requests freed while active */

/* Two receives with a wildcard are freed at once; the first two messages are theirs, though nobody is told. A third waits for the rest. The
 * buffers may be looked at after a barrier that follows receives of later messages of each sender: not portable, but so are all
 * uses of MPI_Request_free on receives. */
static void freed_receives(void) {
  enum { TAG = 100, EACH = 4 };
  int total = (ranks - 1) * EACH;
  int hidden[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
  if (rank == 0) {
    MPI_Request r[3];
    MPI_Irecv(hidden[0], 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(hidden[1], 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r[1]);
    MPI_Start(&r[1]);
    MPI_Recv_init(hidden[2], 2, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD, &r[2]); /* exact */
    MPI_Startall(1, &r[2]);
    for (int i = 0; i < 3; i++) {
      MPI_Request_free(&r[i]);
      check(r[i] == MPI_REQUEST_NULL, "MPI_Request_free");
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Send((int[]){1, 77}, 2, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD);
  if (rank != 0) {
    send_to_first(TAG, EACH);
  } else {
    for (int k = 0; k < total - 2; k++) {
      int x[2];
      MPI_Status st;
      MPI_Recv(x, 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &st);
      took(x, &st, "the message of a receive posted after freed ones");
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < 3; i++) {
      check(hidden[i][0] > 0, "a freed receive takes its message");
      order_data(&order, hidden[i], sizeof hidden[i]);
      order_taken(&order, hidden[i][0], hidden[i][1]);
    }
  }
}

/* Cancelled and then freed: whether they took a message shows only in what is left for the others. */
static void freed_cancelled(void) {
  enum { TAG = 110 };
  int sent = ranks - 1, x[2], got = 0, mark = 0;
  static int hidden[4][2];
  memset(hidden, 0, sizeof hidden);
  if (rank != 0) {
    perturb(TAG);
    MPI_Send((int[]){rank, 0}, 2, MPI_INT, 0, TAG, MPI_COMM_WORLD);
  } else {
    MPI_Request r[4];
    perturb(TAG);
    MPI_Irecv(hidden[0], 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(hidden[1], 2, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r[1]);
    MPI_Recv_init(hidden[2], 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r[2]);
    MPI_Recv_init(hidden[3], 2, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r[3]);
    MPI_Startall(2, &r[2]);
    for (int i = 0; i < 4; i++) {
      MPI_Cancel(&r[i]);
      MPI_Request_free(&r[i]);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int flag = 1; flag;) {
      MPI_Status st;
      struct timespec t = {0, 20000000};
      MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &st);
      if (!flag && mark++ == 0) { /* the last of them may be on its way still */
        nanosleep(&t, NULL);
        MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &st);
        mark = !flag;
      }
      if (!flag) break;
      MPI_Recv(x, 2, MPI_INT, st.MPI_SOURCE, TAG, MPI_COMM_WORLD, &st);
      took(x, &st, "a message that cancelled receives left");
      got++;
    }
    for (int i = 0; i < 4; i++) {
      got += hidden[i][0] != 0;
      order_taken(&order, hidden[i][0], i);
    }
    check(got == sent, "every message is received once, whoever was cancelled");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* An exact receive that is cancelled, or not, before a second one for the same messages. */
static void cancel_exact(void) {
  enum { TAG = 120, EACH = 6 };
  if (rank == 1) {
    send_to_first(TAG, EACH);
  } else if (rank == 0) {
    for (int k = 0; k < EACH;) {
      int x[2], y[2], cancelled;
      MPI_Request r, p;
      MPI_Status st;
      MPI_Irecv(x, 2, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r);
      MPI_Recv_init(y, 2, MPI_INT, 1, TAG, MPI_COMM_WORLD, &p);
      MPI_Startall(1, &p);
      perturb(TAG + 20 + k);
      MPI_Cancel(&p);
      MPI_Cancel(&r);
      for (int i = 0; i < 2; i++) {
        int *z = i == 0 ? y : x, flag = 0;
        if (k % 2 == 0)
          MPI_Wait(i == 0 ? &p : &r, &st);
        else
          while (!flag) MPI_Test(i == 0 ? &p : &r, &flag, &st);
        MPI_Test_cancelled(&st, &cancelled);
        order_taken(&order, cancelled, -5);
        if (!cancelled) {
          check(z[0] == 1 && st.MPI_SOURCE == 1, "an exact receive that was not cancelled");
          order_data(&order, z, 2 * sizeof *z);
          order_taken(&order, z[1], -6);
          k++;
        }
      }
      MPI_Request_free(&p);
      if (k < EACH) {
        MPI_Recv(x, 2, MPI_INT, 1, TAG, MPI_COMM_WORLD, &st);
        order_taken(&order, x[1], -7);
        k++;
      }
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Sends that are freed, of all kinds; the receivers see them all the same. */
static void freed_sends(void) {
  enum { TAG = 130 };
  static char buffer[1 << 16];
  static int out[4][2];
  int right = (rank + 1) % ranks, x[2];
  MPI_Request r[4];
  MPI_Status st;
  MPI_Buffer_attach(buffer, sizeof buffer);
  for (int i = 0; i < 4; i++) out[i][0] = rank, out[i][1] = i;
  MPI_Isend(out[0], 2, MPI_INT, right, TAG, MPI_COMM_WORLD, &r[0]);
  MPI_Ibsend(out[1], 2, MPI_INT, right, TAG, MPI_COMM_WORLD, &r[1]);
  MPI_Issend(out[2], 2, MPI_INT, right, TAG, MPI_COMM_WORLD, &r[2]);
  MPI_Send_init(out[3], 2, MPI_INT, right, TAG, MPI_COMM_WORLD, &r[3]);
  MPI_Start(&r[3]);
  for (int i = 0; i < 4; i++) MPI_Request_free(&r[i]);
  for (int i = 0; i < 4; i++) {
    MPI_Recv(x, 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &st);
    check(x[0] == st.MPI_SOURCE && x[1] == i, "freed sends do not overtake");
  }
  void *detached;
  int size;
  MPI_Buffer_detach(&detached, &size);
  MPI_Bsend_init(out[3], 2, MPI_INT, right, TAG, MPI_COMM_WORLD, &r[3]);
  MPI_Request_free(&r[3]); /* was never active */
  MPI_Barrier(MPI_COMM_WORLD);
}

/* ------------------------------------------------------------------ persistent receives */

static MPI_Request from_nobody = MPI_REQUEST_NULL; /* once one from MPI_PROC_NULL has been freed, persistent collectives of MPICH 4.0.2 stand still */

/* The datatype is freed while the request lives; Startall of exact and wildcard receives and sends together; completion by
 * Waitany, Testsome and Request_get_status; some are cancelled while others take messages. */
static void persistent(void) {
  enum { TAG = 140, ROUNDS = 6, N = 5 };
  int in[N][4], out[2] = {rank, 0}, index;
  MPI_Request r[N + 1];
  MPI_Status st, sts[N + 1];
  MPI_Datatype pair;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  if (rank == 0) {
    MPI_Recv_init(in[0], 1, pair, MPI_ANY_SOURCE, TAG, comm, &r[0]);
    MPI_Recv_init(in[1], 1, pair, 1, TAG + 1, comm, &r[1]);
    MPI_Recv_init(in[2], 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r[2]);
    MPI_Recv_init(in[3], 2, MPI_INT, MPI_PROC_NULL, TAG, comm, &r[3]);
    MPI_Recv_init(in[4], 2, MPI_INT, MPI_ANY_SOURCE, TAG + 9, comm, &r[4]); /* nobody sends that */
    r[5] = MPI_REQUEST_NULL;
    MPI_Type_free(&pair);
    for (int round = 0; round < ROUNDS; round++) {
      int flag, cancelled, n, indices[N + 1], left = 2 + (ranks - 1) - 2;
      (void)left;
      MPI_Startall(3, r);
      MPI_Start(&r[3]);
      MPI_Start(&r[4]);
      MPI_Request_get_status(r[4], &flag, &st);
      check(!flag, "a receive that nobody sends to");
      MPI_Wait(&r[3], &st);
      int mine = 0;
      if (round % 3 == 0) {
        for (int k = 0; k < 3; k++) {
          MPI_Waitany(4, r, &index, &st);
          check(index >= 0 && index < 3 && in[index][0] == st.MPI_SOURCE, "Waitany of persistent receives");
          order_taken(&order, st.MPI_SOURCE, index);
        }
      } else if (round % 3 == 1) {
        for (int k = 0; k < 3;) {
          MPI_Testsome(3, r, &n, indices, sts);
          if (n == 0) poll_failed();
          for (int i = 0; i < n; i++, k++) {
            check(in[indices[i]][0] == sts[i].MPI_SOURCE, "Testsome of persistent receives");
            order_taken(&order, sts[i].MPI_SOURCE, indices[i]);
          }
        }
      } else {
        for (flag = 0; !flag; MPI_Request_get_status(r[2], &flag, &st))
          if (!flag) poll_failed();
        mine = st.MPI_SOURCE;
        MPI_Waitall(3, r, sts);
        check(sts[2].MPI_SOURCE == mine, "Request_get_status of a persistent receive");
        for (int i = 0; i < 3; i++) {
          check(in[i][0] == sts[i].MPI_SOURCE, "Waitall of persistent receives");
          order_taken(&order, sts[i].MPI_SOURCE, sts[i].MPI_TAG);
        }
      }
      MPI_Testany(3, r, &index, &flag, &st);
      check(flag && index == MPI_UNDEFINED, "Testany of persistent receives that are inactive again");
      MPI_Cancel(&r[4]);
      MPI_Waitall(6, r, sts);
      MPI_Test_cancelled(&sts[4], &cancelled);
      check(cancelled, "a persistent receive that nobody sends to is cancelled");
      for (int k = 0; k < ranks - 3; k++) { /* the rest */
        int x[2];
        MPI_Recv(x, 2, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &st);
        order_taken(&order, st.MPI_SOURCE, TAG);
      }
      MPI_Barrier(comm);
    }
    from_nobody = r[3];
    r[3] = r[4];
    for (int i = 0; i < 4; i++) MPI_Request_free(&r[i]);
  } else {
    MPI_Type_free(&pair);
    for (int round = 0; round < ROUNDS; round++) {
      perturb(TAG + round);
      MPI_Send(out, 2, MPI_INT, 0, TAG, comm);
      if (rank == 1) MPI_Send(out, 2, MPI_INT, 0, TAG + 1, comm);
      if (ranks == 2) MPI_Send(out, 2, MPI_INT, 0, TAG, comm);
      MPI_Barrier(comm);
    }
  }
  MPI_Comm_free(&comm);
}

/* ------------------------------------------------------------------ matched probes */

/* Several messages of one channel are held at once, and received in another order; large ones too. */
static void matched(void) {
  enum { TAG = 160, EACH = 4 };
  static char large[LARGE], in[MAX_RANKS * EACH][LARGE];
  int total = (ranks - 1) * EACH;
  MPI_Message m[MAX_RANKS * EACH];
  MPI_Request r[MAX_RANKS * EACH];
  MPI_Status st[MAX_RANKS * EACH], one;
  if (rank != 0) {
    MPI_Request out[EACH];
    for (int i = 0; i < EACH; i++) {
      memset(large, rank, sizeof large);
      perturb(TAG + i);
      MPI_Isend(large, i % 2 == 0 ? 100 + i : LARGE, MPI_BYTE, 0, TAG + i % 2, MPI_COMM_WORLD, &out[i]);
    }
    MPI_Waitall(EACH, out, MPI_STATUSES_IGNORE);
  } else {
    for (int k = 0; k < total; k++) {
      int flag = k % 2;
      if (flag)
        MPI_Mprobe(MPI_ANY_SOURCE, k % 3 == 0 ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &m[k], &st[k]);
      while (!flag) {
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m[k], &st[k]);
        if (!flag) poll_failed();
      }
      order_taken(&order, st[k].MPI_SOURCE, st[k].MPI_TAG);
      if (k % 3 != 0 && k % 2) { /* then TAG is all gone some day: take what is there */
        int left;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &left, MPI_STATUS_IGNORE);
        order_taken(&order, left, -3);
      }
      if (k >= total / 2) break;
    }
    int held = total / 2 + 1 < total ? total / 2 + 1 : total;
    for (int k = held - 1; k >= 0; k--) { /* the last first */
      int bytes, got;
      MPI_Get_count(&st[k], MPI_BYTE, &bytes);
      if (k % 2) {
        MPI_Mrecv(in[k], bytes, MPI_BYTE, &m[k], &one);
        MPI_Get_count(&one, MPI_BYTE, &got);
        check(got == bytes && one.MPI_SOURCE == st[k].MPI_SOURCE, "Mrecv");
        r[k] = MPI_REQUEST_NULL;
      } else {
        MPI_Imrecv(in[k], bytes, MPI_BYTE, &m[k], &r[k]);
      }
      check(m[k] == MPI_MESSAGE_NULL, "the message is gone");
    }
    MPI_Waitall(held, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < held; k++) check(in[k][0] == st[k].MPI_SOURCE, "the data of a matched message");
    for (int k = held; k < total; k++) {
      MPI_Recv(in[0], LARGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &one);
      order_taken(&order, one.MPI_SOURCE, one.MPI_TAG);
    }
  }
  int flag = 0;
  MPI_Mprobe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &m[0], &one);
  check(m[0] == MPI_MESSAGE_NO_PROC && one.MPI_SOURCE == MPI_PROC_NULL, "Mprobe of MPI_PROC_NULL");
  MPI_Mrecv(in[0], 1, MPI_BYTE, &m[0], &one);
  check(m[0] == MPI_MESSAGE_NULL && one.MPI_SOURCE == MPI_PROC_NULL, "Mrecv from MPI_PROC_NULL");
  MPI_Improbe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m[0], MPI_STATUS_IGNORE);
  check(flag && m[0] == MPI_MESSAGE_NO_PROC, "Improbe of MPI_PROC_NULL");
  MPI_Imrecv(in[0], 1, MPI_BYTE, &m[0], &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* ------------------------------------------------------------------ generalized requests */

static int grequest_cancelled;
static int g_query(void *state, MPI_Status *st) {
  MPI_Status_set_elements(st, MPI_BYTE, *(int *)state);
  MPI_Status_set_cancelled(st, grequest_cancelled);
  st->MPI_SOURCE = st->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int g_free(void *state) {
  *(int *)state = -1;
  return MPI_SUCCESS;
}
static MPI_Request the_grequest;
static int g_cancel(void *state, int complete) {
  (void)state;
  if (complete) return MPI_SUCCESS;
  grequest_cancelled = 1;
  return MPI_Grequest_complete(the_grequest);
}

static void generalized(void) {
  enum { TAG = 180 };
  int bytes = 7, x[2], index, flag, cancelled, n, indices[2];
  MPI_Request r[2];
  MPI_Status st, sts[2];
  if (rank != 0) {
    send_to_first(TAG, 3);
  } else {
    MPI_Grequest_start(g_query, g_free, g_cancel, &bytes, &r[0]);
    the_grequest = r[0];
    for (int k = 0; k < 3 * (ranks - 1); k++) {
      MPI_Irecv(x, 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r[1]);
      if (k == 1) MPI_Grequest_complete(the_grequest);
      MPI_Test(&r[0], &flag, &st);
      check(flag == (k > 0), "Test of a generalized request");
      if (k == 1) check(bytes == -1, "a generalized request is freed");
      if (k % 2) {
        do {
          MPI_Testsome(2, r, &n, indices, sts);
          if (n == 0) poll_failed();
        } while (n == 0);
        st = sts[0], index = indices[0];
      } else {
        MPI_Waitany(2, r, &index, &st);
      }
      check(index == 1, "a generalized request among receives");
      took(x, &st, "a receive beside a generalized request");
    }
  }
  bytes = 3;
  grequest_cancelled = 0;
  MPI_Grequest_start(g_query, g_free, g_cancel, &bytes, &r[0]);
  the_grequest = r[0];
  MPI_Cancel(&r[0]);
  MPI_Wait(&r[0], &st);
  MPI_Test_cancelled(&st, &cancelled);
  check(cancelled, "a generalized request is cancelled");
  /* An ordinary receive with the handle of a generalized request that is gone. */
  if (rank == 1) {
    MPI_Irecv(x, 2, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, &r[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Cancel(&r[0]);
    MPI_Wait(&r[0], &st);
    MPI_Test_cancelled(&st, &cancelled);
    order_taken(&order, cancelled, -4);
    if (cancelled) MPI_Recv(x, 2, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, &st);
  } else {
    if (rank == 0) MPI_Send((int[]){0, 0}, 2, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* ------------------------------------------------------------------ communicators */

/* All members of a communicator race to its rank 0. */
static void race_in(MPI_Comm comm, int tag) {
  int me, n, inter, x[2];
  MPI_Comm_test_inter(comm, &inter);
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  if (inter) {
    int remote;
    MPI_Comm_remote_size(comm, &remote);
    for (int k = 0; k < remote; k++) { /* each of one group with each of the other */
      MPI_Request r;
      MPI_Status st;
      perturb(tag + k);
      MPI_Isend((int[]){me, k}, 2, MPI_INT, (me + k) % remote, tag, comm, &r);
      MPI_Recv(x, 2, MPI_INT, MPI_ANY_SOURCE, k % 2 ? tag : MPI_ANY_TAG, comm, &st);
      took(x, &st, "a message from the other group");
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    return;
  }
  perturb(tag);
  if (me != 0) {
    MPI_Send((int[]){me, 0}, 2, MPI_INT, 0, tag, comm);
    return;
  }
  for (int k = 1; k < n; k++) {
    MPI_Status st;
    MPI_Recv(x, 2, MPI_INT, MPI_ANY_SOURCE, tag, comm, &st);
    took(x, &st, "a message in a communicator of some");
  }
}

/* MPI_Comm_create_group is called by the members alone: twice for one group, and for groups that overlap, at the same time. */
static void groups(void) {
  enum { TAG = 200 };
  MPI_Group world, some;
  MPI_Comm comm[3];
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < 3; i++) {
    int range[1][3] = {{i == 2 ? 1 : 0, ranks - 1, i == 2 ? 1 : 2}};
    MPI_Group_range_incl(world, 1, range, &some);
    int me;
    MPI_Group_rank(some, &me);
    comm[i] = MPI_COMM_NULL;
    if (me != MPI_UNDEFINED) MPI_Comm_create_group(MPI_COMM_WORLD, some, i, &comm[i]);
    MPI_Group_free(&some);
  }
  for (int i = 0; i < 3; i++) {
    if (comm[i] == MPI_COMM_NULL) continue;
    MPI_Comm deeper;
    race_in(comm[i], TAG + i);
    MPI_Barrier(comm[i]);
    MPI_Comm_split(comm[i], 0, -rank, &deeper);
    race_in(deeper, TAG + i);
    MPI_Comm_free(&deeper);
    MPI_Comm_free(&comm[i]);
  }
  MPI_Group_free(&world);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void inter_collectives(MPI_Comm inter, int low) {
  int mine = rank + 1, theirs = 0, remote, local, me, all[MAX_RANKS] = {0};
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_size(inter, &local);
  MPI_Comm_rank(inter, &me);
  MPI_Barrier(inter);
  MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, inter);
  order_data(&order, &theirs, sizeof theirs);
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, inter);
  int sum = 0;
  for (int i = 0; i < remote; i++) sum += all[i];
  check(sum == theirs, "Allgather and Allreduce between groups");
  int root = low ? me == 0 ? MPI_ROOT : MPI_PROC_NULL : 0, x = me == 0 && low ? 42 : 0;
  MPI_Bcast(&x, 1, MPI_INT, root, inter);
  check(x == (low && me != 0 ? 0 : 42), "Bcast between groups");
  /* The root's send arguments mean nothing, and may be anything. */
  MPI_Gather(low ? NULL : &mine, low ? -1 : 1, low ? MPI_DATATYPE_NULL : MPI_INT, all, 1, MPI_INT, root, inter);
  MPI_Reduce(&mine, &theirs, 1, MPI_INT, MPI_MAX, root, inter);
  if (low && me == 0) order_data(&order, &theirs, sizeof theirs);
  int out[MAX_RANKS], in[MAX_RANKS];
  for (int i = 0; i < remote; i++) out[i] = 100 * me + i;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, inter);
  for (int i = 0; i < remote; i++) check(in[i] == 100 * i + me, "Alltoall between groups");
  MPI_Request r;
  int flag = 0;
  MPI_Ibarrier(inter, &r);
  while (!flag) {
    MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    if (!flag) poll_failed();
  }
  order_taken(&order, 0, -8);
}

static void intercommunicators(void) {
  enum { TAG = 220 };
  MPI_Comm half, inter[2], dup, merged, part, idup, created;
  MPI_Request r;
  MPI_Group group;
  int low = rank < ranks / 2, members, position;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  for (int i = 0; i < 2; i++) MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? ranks / 2 : 0, TAG + i, &inter[i]);
  race_in(inter[0], TAG);
  race_in(inter[1], TAG);
  inter_collectives(inter[0], low);
  MPI_Comm_dup(inter[0], &dup);
  race_in(dup, TAG);
  MPI_Comm_idup(inter[1], &idup, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  race_in(idup, TAG);
  MPI_Intercomm_merge(dup, low, &merged);
  MPI_Comm_rank(merged, &position);
  race_in(merged, TAG);
  MPI_Barrier(merged);
  MPI_Comm_group(inter[1], &group);
  MPI_Comm_create(inter[1], group, &created);
  race_in(created, TAG);
  /* Those whose place in their group has the same parity. */
  MPI_Comm_rank(inter[0], &position);
  MPI_Comm_size(inter[0], &members);
  MPI_Comm_split(inter[0], ranks >= 4 ? position % 2 : 0, 0, &part);
  if (part != MPI_COMM_NULL) race_in(part, TAG);
  MPI_Message m;
  MPI_Status st;
  int x[2], remote;
  MPI_Comm_remote_size(created, &remote);
  for (int k = 0; k < remote; k++) {
    MPI_Isend((int[]){position, k}, 2, MPI_INT, k, TAG, created, &r);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, created, &m, &st);
    MPI_Mrecv(x, 2, MPI_INT, &m, &st);
    took(x, &st, "a matched message from the other group");
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  MPI_Group_free(&group);
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
  MPI_Comm_free(&created);
  MPI_Comm_disconnect(&merged);
  MPI_Comm_free(&idup);
  MPI_Comm_disconnect(&dup);
  MPI_Comm_free(&inter[0]);
  MPI_Comm_free(&inter[1]);
  MPI_Comm_free(&half);
}

/* ------------------------------------------------------------------ nonblocking collectives */

/* How often a test fails, and which of several is complete first, is recorded and enforced. */
static void icollectives(void) {
  enum { TAG = 240, N = 3 };
  MPI_Request r[N + 1];
  int sum = 0, index, x[2], n, indices[N + 1];
  MPI_Status sts[N + 1];
  for (int round = 0; round < 3; round++) {
    perturb(TAG + round);
    MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[1]);
    MPI_Ibcast(x, 2, MPI_INT, 0, MPI_COMM_WORLD, &r[2]);
    MPI_Irecv(x, 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_SELF, &r[3]);
    MPI_Send((int[]){0, 0}, 2, MPI_INT, 0, TAG, MPI_COMM_SELF);
    for (int left = N + 1; left > 0;) {
      if (round == 0) {
        MPI_Waitany(N + 1, r, &index, MPI_STATUS_IGNORE);
        order_taken(&order, index, -9);
        left--;
      } else {
        if (round == 1)
          MPI_Testsome(N + 1, r, &n, indices, sts);
        else
          MPI_Waitsome(N + 1, r, &n, indices, MPI_STATUSES_IGNORE);
        if (n == 0) poll_failed();
        for (int i = 0; i < n; i++) order_taken(&order, indices[i], -9);
        left -= n;
      }
    }
    check(sum == ranks * (ranks - 1) / 2, "Iallreduce");
  }
}

/* ------------------------------------------------------------------ persistent collectives */

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

/* Started again and again together with a persistent receive. */
static void persistent_collectives(void) {
  enum { TAG = 260, N = 4 };
  MPI_Request r[N];
  int mine = 0, sum = 0, data[2] = {0, 0}, x[2], flag;
  MPI_Status sts[N];
  INIT(Allreduce)(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  INIT(Bcast)(data, 2, MPI_INT, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  INIT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &r[2]);
  MPI_Recv_init(x, 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r[3]);
  for (int round = 0; round < 3; round++) {
    perturb(TAG + round);
    mine = rank + round;
    if (rank == ranks - 1) data[0] = data[1] = 100 + round;
    MPI_Startall(N, r);
    MPI_Send((int[]){rank, round}, 2, MPI_INT, (rank + 1) % ranks, TAG, MPI_COMM_WORLD);
    if (round % 2) { /* MPICH 4.0 takes a persistent collective in Waitany or Testany for complete that is not */
      MPI_Waitall(N, r, sts);
    } else {
      for (int i = N - 1; i >= 0; i--) {
        for (flag = 0; !flag;) {
          MPI_Test(&r[i], &flag, &sts[i]);
          if (!flag) poll_failed();
        }
        order_taken(&order, i, round);
      }
    }
    took(x, &sts[3], "a persistent receive beside collectives");
    check(sum == ranks * (ranks - 1) / 2 + ranks * round, "a persistent Allreduce");
    check(data[0] == 100 + round && data[1] == 100 + round, "a persistent Bcast");
    MPI_Start(&r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < N; i++) MPI_Request_free(&r[i]);
}

int main(int argc, char **argv) {
  static const struct { const char *name; void (*run)(void); } parts[] = {
      {"freed-receives", freed_receives}, {"freed-cancelled", freed_cancelled}, {"cancel-exact", cancel_exact},
      {"freed-sends", freed_sends},       {"persistent", persistent},           {"matched", matched},
      {"generalized", generalized},       {"groups", groups},                   {"intercommunicators", intercommunicators},
      {"icollectives", icollectives},     {"persistent-collectives", persistent_collectives},
  };
  static char text[2048];
  int length = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (getenv("PERTURB") != NULL) seed = strtoul(getenv("PERTURB"), NULL, 10);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    int wanted = argc < 2;
    for (int k = 1; k < argc; k++) wanted = wanted || strcmp(argv[k], parts[i].name) == 0;
    if (!wanted) continue;
    order = (struct order)ORDER_INIT;
    parts[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    order_taken(&order, -1, -1);
    length += snprintf(text + length, sizeof text - (size_t)length, "coverage: rank %d %s order %016llx data %016llx polls %ld\n", rank,
                       parts[i].name, (unsigned long long)order.order_hash, (unsigned long long)order.data_hash, order.failed_polls);
  }
  if (from_nobody != MPI_REQUEST_NULL) MPI_Request_free(&from_nobody);
  /* One process writes, so that lines do not mix. */
  static char all[MAX_RANKS * sizeof text];
  MPI_Gather(text, sizeof text, MPI_CHAR, all, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; i++) fputs(all + (size_t)i * sizeof text, stdout);
  MPI_Finalize();
  return failed;
}
