/* RECEIVEBENCHMARK (Fig. 1 of Clemencon et al., "An Implementation of Race Detection and Deterministic Replay with MPI"):
 * each rank in turn is the receiver; all others send to it at once, and it takes their messages with wildcards.
 *
 *     mpiexec -n 4 ./wildcard MODE [N]
 *
 * runs it N times (100 by default). MODE says how the receiver takes a message: one row of the table `modes` below each.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderhash.h"

enum { TAG = 7, TAG_ACKNOWLEDGE = 8 };
enum { MAX_RANKS = 256 };

static MPI_Comm comm;
static int rank, ranks;
static struct order order = ORDER_INIT;
static long sum;

static void taken(int value, const MPI_Status *status) {
    order_taken(&order, status->MPI_SOURCE, status->MPI_TAG);
    order_data(&order, &value, sizeof value);
    order.tasks++;
    sum += value;
}

static void receive_blocking(void) {
    for (int k = 1; k < ranks; k++) {
        int x;
        MPI_Status status;
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &status);
        taken(x, &status);
    }
}

/* EMULATEDRECV (Fig. 3). */
static void emulated_receive(int *x, int source, int tag, MPI_Status *status) {
    int arrived;
    for (;;) {
        MPI_Iprobe(source, tag, comm, &arrived, status);
        if (arrived) {
            break;
        }
        order_failed(&order);
        sched_yield();
    }
    int true_source = status->MPI_SOURCE;
    MPI_Recv(x, 1, MPI_INT, true_source, tag, comm, status);
}

static void receive_iprobe(void) {
    for (int k = 1; k < ranks; k++) {
        int x;
        MPI_Status status;
        emulated_receive(&x, MPI_ANY_SOURCE, TAG, &status);
        taken(x, &status);
    }
}

static void receive_probe(void) {
    for (int k = 1; k < ranks; k++) {
        int x;
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        MPI_Recv(&x, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
        taken(x, &status);
    }
}

/* Each receive also acknowledges the message taken before it, so that whom it sends to depends on the race. */
static void receive_sendrecv(void) {
    int previous = MPI_PROC_NULL;
    for (int k = 1; k < ranks; k++) {
        int x;
        MPI_Status status;
        MPI_Sendrecv(&k, 1, MPI_INT, previous, TAG_ACKNOWLEDGE, &x, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &status);
        taken(x, &status);
        previous = status.MPI_SOURCE;
    }
    MPI_Send(&ranks, 1, MPI_INT, previous, TAG_ACKNOWLEDGE, comm);
}

static void send_plain(int receiver) {
    MPI_Send(&rank, 1, MPI_INT, receiver, TAG, comm);
}

static void send_sendrecv(int receiver) {
    int acknowledged;
    MPI_Sendrecv(&rank, 1, MPI_INT, receiver, TAG, &acknowledged, 1, MPI_INT, receiver, TAG_ACKNOWLEDGE, comm,
                 MPI_STATUS_IGNORE);
    order_data(&order, &acknowledged, sizeof acknowledged);
}

/* The nonblocking modes post all receives and differ in how they complete them. */
static int values[MAX_RANKS];
static MPI_Request requests[MAX_RANKS];
static int indices[MAX_RANKS];
static MPI_Status statuses[MAX_RANKS];

/* The messages are matched to the requests in some order, and the requests complete in some order: both race. */
static void completed(int index, const MPI_Status *status) {
    order_data(&order, &index, sizeof index);
    taken(values[index], status);
}

static void post_receives(void) {
    for (int k = 0; k < ranks - 1; k++) {
        MPI_Irecv(&values[k], 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &requests[k]);
    }
}

static void receive_waitany(void) {
    post_receives();
    for (int k = 1; k < ranks; k++) {
        int index;
        MPI_Status status;
        MPI_Waitany(ranks - 1, requests, &index, &status);
        completed(index, &status);
    }
}

static void receive_testany(void) {
    post_receives();
    for (int k = 1; k < ranks;) {
        int index, done;
        MPI_Status status;
        MPI_Testany(ranks - 1, requests, &index, &done, &status);
        if (done) {
            completed(index, &status);
            k++;
        } else {
            order_failed(&order);
            sched_yield();
        }
    }
}

static void receive_waitsome(void) {
    post_receives();
    for (int left = ranks - 1; left > 0;) {
        int count;
        MPI_Waitsome(ranks - 1, requests, &count, indices, statuses);
        for (int i = 0; i < count; i++) {
            completed(indices[i], &statuses[i]);
        }
        order_data(&order, &count, sizeof count);
        left -= count;
    }
}

static void receive_testsome(void) {
    post_receives();
    for (int left = ranks - 1; left > 0;) {
        int count;
        MPI_Testsome(ranks - 1, requests, &count, indices, statuses);
        for (int i = 0; i < count; i++) {
            completed(indices[i], &statuses[i]);
        }
        if (count == 0) {
            order_failed(&order);
            sched_yield();
        } else {
            order_data(&order, &count, sizeof count);
        }
        left -= count;
    }
}

/* The receives complete in the order in which they were posted; only what they were matched to races. */
static void receive_waitall(void) {
    post_receives();
    MPI_Waitall(ranks - 1, requests, statuses);
    for (int k = 0; k < ranks - 1; k++) {
        completed(k, &statuses[k]);
    }
}

static const struct mode {
    const char *name;
    void (*receive)(void);
    void (*send)(int receiver);
} modes[] = {
    {"recv", receive_blocking, send_plain},       /* MPI_Recv */
    {"iprobe", receive_iprobe, send_plain},       /* MPI_Iprobe until a message is there, MPI_Recv */
    {"probe", receive_probe, send_plain},         /* MPI_Probe, MPI_Recv */
    {"sendrecv", receive_sendrecv, send_sendrecv}, /* MPI_Sendrecv on both sides */
    {"irecv", receive_waitany, send_plain},       /* MPI_Irecv, MPI_Waitany */
    {"waitany", receive_waitany, send_plain},     /* another name of it */
    {"waitsome", receive_waitsome, send_plain},   /* MPI_Irecv, MPI_Waitsome */
    {"waitall", receive_waitall, send_plain},     /* MPI_Irecv, MPI_Waitall */
    {"testany", receive_testany, send_plain},     /* MPI_Irecv, MPI_Testany */
    {"testsome", receive_testsome, send_plain},   /* MPI_Irecv, MPI_Testsome */
};

static const struct mode *find_mode(const char *name) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(modes[i].name, name) == 0) {
            return &modes[i];
        }
    }
    return NULL;
}

static void receive_benchmark(const struct mode *mode, int n) {
    for (int i = 0; i < n; i++) {
        for (int receiver = 0; receiver < ranks; receiver++) {
            if (receiver == rank) {
                mode->receive();
            } else {
                mode->send(receiver);
            }
        }
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const struct mode *mode = argc > 1 ? find_mode(argv[1]) : NULL;
    const int n = argc > 2 ? atoi(argv[2]) : 100;
    int status = 0;
    if (mode == NULL || n <= 0 || ranks < 2 || ranks > MAX_RANKS) {
        if (rank == 0) {
            fprintf(stderr, "usage: wildcard MODE [N], on 2 to %d ranks, N at least 1, MODE one of", MAX_RANKS);
            for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
                fprintf(stderr, " %s", modes[i].name);
            }
            fprintf(stderr, "\n");
        }
        status = 2;
    } else {
        receive_benchmark(mode, n);
        report_order("wildcard", rank, &order);
        const long wanted = (long)n * (ranks * (ranks - 1) / 2 - rank);
        if (sum != wanted) {
            fprintf(stderr, "wildcard: wrong: rank %d received values that sum to %ld, not %ld\n", rank, sum, wanted);
            status = 1;
        }
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return status;
}
