/* Gaussian elimination with partial pivoting of an N x N matrix whose columns are dealt out to the ranks like cards: what det.c
 * and sys.c share.
 *
 * In step k the owner of column k finds the pivot and sends its row, with the multipliers, to every other rank. They receive
 * it from MPI_ANY_SOURCE with the tag k, as programs of the time of the paper did (a receive of the iPSC/2 named a type, never
 * a source). Only one message has that tag: such a receive is a wildcard, and its message does not race.
 */
#ifndef ELIMINATION_H
#define ELIMINATION_H

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderhash.h"

enum { LARGEST_MATRIX = 20000 }; /* the steps are tags, and MPI promises 32767 of them */

struct elimination {
    int rank, ranks;
    int n;
    int columns;     /* of this rank */
    double **column; /* its c-th one is column rank + c * ranks of the matrix */
    double *step;    /* a message: the pivot's row, then the multipliers of rows k + 1 to n - 1 */
    int exchanges;   /* of rows, in all steps so far */
    struct order *order;
};

static inline void *allocate(size_t bytes) {
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
        exit(3);
    }
    return memory;
}

static inline void elimination_begin(struct elimination *e, int rank, int ranks, int n, struct order *order) {
    *e = (struct elimination){.rank = rank, .ranks = ranks, .n = n, .order = order};
    e->columns = (n - rank + ranks - 1) / ranks;
    e->column = allocate((size_t)e->columns * sizeof *e->column);
    for (int c = 0; c < e->columns; c++) {
        e->column[c] = allocate((size_t)n * sizeof(double));
    }
    e->step = allocate((size_t)n * sizeof(double));
}

static inline void elimination_end(struct elimination *e) {
    for (int c = 0; c < e->columns; c++) {
        free(e->column[c]);
    }
    free(e->column);
    free(e->step);
}

static inline int owner(const struct elimination *e, int k) {
    return k % e->ranks;
}

/* The first of this rank's columns that is column k of the matrix or stands right of it. */
static inline int first_from(const struct elimination *e, int k) {
    return k <= e->rank ? 0 : (k - e->rank + e->ranks - 1) / e->ranks;
}

/* The owner of column k makes the message of step k. */
static inline void make_step(struct elimination *e, int k) {
    const double *column = e->column[first_from(e, k)];
    int pivot = k;
    for (int i = k + 1; i < e->n; i++) {
        if (fabs(column[i]) > fabs(column[pivot])) {
            pivot = i;
        }
    }
    e->step[0] = pivot;
    for (int i = k + 1; i < e->n; i++) {
        e->step[i - k] = (i == pivot ? column[k] : column[i]) / column[pivot];
    }
}

static inline void exchange_step(struct elimination *e, int k) {
    const int length = e->n - k;
    if (owner(e, k) == e->rank) {
        make_step(e, k);
        for (int to = 0; to < e->ranks; to++) {
            if (to != e->rank) {
                MPI_Send(e->step, length, MPI_DOUBLE, to, k, MPI_COMM_WORLD);
            }
        }
        return;
    }
    MPI_Status status;
    MPI_Recv(e->step, length, MPI_DOUBLE, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, &status);
    order_taken(e->order, status.MPI_SOURCE, status.MPI_TAG);
    order_data(e->order, e->step, sizeof(double));
    e->order->tasks++;
}

/* Applies the step to one column: exchanges two rows, and subtracts. */
static inline void apply_step(const struct elimination *e, int k, double *column) {
    const int pivot = (int)e->step[0];
    const double value = column[pivot];
    column[pivot] = column[k];
    column[k] = value;
    for (int i = k + 1; i < e->n; i++) {
        column[i] -= e->step[i - k] * value;
    }
}

/* Step k of the elimination; all ranks together. */
static inline void eliminate(struct elimination *e, int k) {
    exchange_step(e, k);
    e->exchanges += (int)e->step[0] != k;
    for (int c = first_from(e, k); c < e->columns; c++) {
        apply_step(e, k, e->column[c]);
    }
}

#endif
