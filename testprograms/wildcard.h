/* What the ways to receive (wildcard_blocking.h, wildcard_requests.h) share. */
#ifndef WILDCARD_H
#define WILDCARD_H

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

/* A poll found nothing. */
static void failed(void) {
    order_failed(&order);
    sched_yield();
}

#endif
