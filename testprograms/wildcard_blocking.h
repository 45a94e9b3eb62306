/* Ways to receive with a wildcard that leave no request open: each function takes the messages of all other ranks. */
#ifndef WILDCARD_BLOCKING_H
#define WILDCARD_BLOCKING_H

#include "wildcard.h"

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
        failed();
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

/* The same with one buffer for both. */
static void receive_sendrecv_replace(void) {
    int previous = MPI_PROC_NULL;
    for (int k = 1; k < ranks; k++) {
        int x = k;
        MPI_Status status;
        MPI_Sendrecv_replace(&x, 1, MPI_INT, previous, TAG_ACKNOWLEDGE, MPI_ANY_SOURCE, TAG, comm, &status);
        taken(x, &status);
        previous = status.MPI_SOURCE;
    }
    MPI_Send(&ranks, 1, MPI_INT, previous, TAG_ACKNOWLEDGE, comm);
}

/* A matched probe takes the message out of the queue: no other receive can get it. */
static void receive_mprobe(void) {
    for (int k = 1; k < ranks; k++) {
        int x;
        MPI_Message message;
        MPI_Status status;
        MPI_Mprobe(MPI_ANY_SOURCE, TAG, comm, &message, &status);
        order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
        MPI_Mrecv(&x, 1, MPI_INT, &message, &status);
        taken(x, &status);
    }
}

static MPI_Message improbe(MPI_Status *status) {
    for (;;) {
        int arrived;
        MPI_Message message;
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &arrived, &message, status);
        if (arrived) {
            return message;
        }
        failed();
    }
}

static void receive_improbe(void) {
    for (int k = 1; k < ranks; k++) {
        int x;
        MPI_Status status;
        MPI_Message message = improbe(&status);
        MPI_Mrecv(&x, 1, MPI_INT, &message, &status);
        taken(x, &status);
    }
}

/* All messages are probed for before the first is received, and received in the opposite order. */
static void receive_imrecv(void) {
    static int x[MAX_RANKS];
    static MPI_Message message[MAX_RANKS];
    MPI_Status status;
    for (int k = 1; k < ranks; k++) {
        message[k] = improbe(&status);
        order_data(&order, &status.MPI_SOURCE, sizeof status.MPI_SOURCE);
    }
    for (int k = ranks - 1; k > 0; k--) {
        MPI_Request request;
        MPI_Imrecv(&x[k], 1, MPI_INT, &message[k], &request);
        MPI_Wait(&request, &status);
        taken(x[k], &status);
    }
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

static void send_sendrecv_replace(int receiver) {
    int x = rank;
    MPI_Sendrecv_replace(&x, 1, MPI_INT, receiver, TAG, receiver, TAG_ACKNOWLEDGE, comm, MPI_STATUS_IGNORE);
    order_data(&order, &x, sizeof x);
}

#endif
