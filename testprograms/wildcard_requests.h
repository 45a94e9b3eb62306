/* Ways to receive with a wildcard that post receives and complete them later: each function takes the messages of all other ranks. */
#ifndef WILDCARD_REQUESTS_H
#define WILDCARD_REQUESTS_H

#include "wildcard.h"

/* The nonblocking modes post all receives and differ in how they complete them. */
static int values[MAX_RANKS + 1];
static MPI_Request requests[MAX_RANKS + 1];
static int indices[MAX_RANKS + 1];
static MPI_Status statuses[MAX_RANKS + 1];

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

/* One after the other, so that each takes what comes next. */
static void receive_wait(void) {
    for (int k = 1; k < ranks; k++) {
        MPI_Status status;
        MPI_Irecv(values, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, requests);
        MPI_Wait(requests, &status);
        completed(0, &status);
    }
}

static void receive_test(void) {
    for (int k = 1; k < ranks; k++) {
        MPI_Irecv(values, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, requests);
        for (int done = 0; !done;) {
            MPI_Status status;
            MPI_Test(requests, &done, &status);
            if (done) {
                completed(0, &status);
            } else {
                failed();
            }
        }
    }
}

static void receive_get_status(void) {
    for (int k = 1; k < ranks; k++) {
        MPI_Status status;
        MPI_Irecv(values, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, requests);
        for (int done = 0; !done;) {
            MPI_Request_get_status(requests[0], &done, &status);
            if (!done) {
                failed();
            }
        }
        MPI_Wait(requests, &status);
        completed(0, &status);
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
            failed();
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
            failed();
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

static void receive_testall(void) {
    post_receives();
    for (int done = 0; !done;) {
        MPI_Testall(ranks - 1, requests, &done, statuses);
        if (!done) {
            failed();
        }
    }
    for (int k = 0; k < ranks - 1; k++) {
        completed(k, &statuses[k]);
    }
}

/* Persistent requests are made once, and started again and again. */
static int n_persistent;
static MPI_Request persistent[MAX_RANKS];

static void make_persistent(int n) {
    for (; n_persistent < n; n_persistent++) {
        MPI_Recv_init(&values[n_persistent], 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &persistent[n_persistent]);
    }
}

static void free_persistent(void) {
    while (n_persistent > 0) {
        MPI_Request_free(&persistent[--n_persistent]);
    }
}

static void receive_persistent(void) {
    make_persistent(1);
    for (int k = 1; k < ranks; k++) {
        MPI_Status status;
        MPI_Start(persistent);
        MPI_Wait(persistent, &status);
        completed(0, &status);
    }
}

static void receive_startall(void) {
    make_persistent(ranks - 1);
    MPI_Startall(ranks - 1, persistent);
    for (int k = 1; k < ranks; k++) {
        int index;
        MPI_Status status;
        MPI_Waitany(ranks - 1, persistent, &index, &status);
        completed(index, &status);
    }
}

/* One receive more is posted than messages are to come, and cancelled in the end. It may have got a message of the next time
 * around by then: whether the cancellation comes in time is a race, too. */
static void receive_cancel(void) {
    static int ahead; /* messages of this time around that were taken the last time */
    const int wanted = ranks - 1 - ahead, posted = wanted + 1;
    int index, cancelled = 0;
    MPI_Status status;
    for (int k = 0; k < posted; k++) {
        MPI_Irecv(&values[k], 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &requests[k]);
    }
    for (int k = 0; k < wanted; k++) {
        MPI_Waitany(posted, requests, &index, &status);
        completed(index, &status);
    }
    for (index = 0; requests[index] == MPI_REQUEST_NULL;) {
        index++;
    }
    MPI_Cancel(&requests[index]);
    MPI_Wait(&requests[index], &status);
    MPI_Test_cancelled(&status, &cancelled);
    order_data(&order, &cancelled, sizeof cancelled);
    ahead = !cancelled;
    if (!cancelled) {
        completed(index, &status);
    }
}

#endif
