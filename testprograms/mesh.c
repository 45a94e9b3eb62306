/* A differential equation by finite differences: the program of that name in Table 1 of Netzer and Miller, "Optimal Tracing and
 * Replay for Debugging Message-Passing Parallel Programs" (there on a grid of 300 x 300; 10210 messages, 14 % of them racing).
 *
 *     mpiexec -n 4 ./mesh [N [SWEEPS]]
 *
 * relaxes Bratu's equation, u_xx + u_yy + exp(u) = 0 with u = 0 on the frame of the unit square, on N x N points (by default
 * 40 sweeps on 60 x 60), after Jacobi. Rank 0 holds the grid and deals strips of it out to the others, first come first served.
 * What it shows: which worker gets which strip is a race, and the answer does not depend on it. Of seven messages per strip only
 * the one that says "done" is received with a wildcard.
 *
 * The equation has the symmetries of the square, and so has, bit by bit, its relaxation: that is the check, and on small grids
 * that one process alone gets the same.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderhash.h"
#include "times.h"

enum message_tag { TAG_STRIP = 1, TAG_ABOVE, TAG_BELOW, TAG_ROWS, TAG_DONE, TAG_RELAXED, TAG_CHANGE, TAG_STOP };
enum { STRIP_ROWS = 15, LARGEST = 10000 };
enum { MOST_CHECKED = 2000000 }; /* up to so many points times sweeps the result is computed again, alone */

static int rank, ranks, n, sweeps;
static int stride; /* from one row of the grid to the next, which has n + 2 points: the frame belongs to it */
static struct order order = ORDER_INIT;

static double *rows_of_grid(int rows) {
    double *points = calloc((size_t)rows * (size_t)stride, sizeof *points);
    if (points == NULL) {
        fprintf(stderr, "mesh: no memory for %d rows\n", rows);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return points;
}

/* Relaxes rows of which the one above and the one below are there too. The sums are such that a mirrored grid gets the mirrored
 * result, to the last bit. */
static double relax(const double *from, double *to, int rows) {
    const double h2 = 1.0 / ((n + 1.0) * (n + 1.0));
    double change = 0;
    for (int i = 0; i < rows; i++) {
        const double *row = from + (i + 1) * stride;
        for (int j = 1; j <= n; j++) {
            const double u = 0.25 * ((row[j - stride] + row[j + stride]) + (row[j - 1] + row[j + 1]) + h2 * exp(row[j]));
            change = fmax(change, fabs(u - row[j]));
            to[i * stride + j] = u;
        }
    }
    return change;
}

/* ---- the worker ---- */

static void work(void) {
    double *from = rows_of_grid(STRIP_ROWS + 2), *to = rows_of_grid(STRIP_ROWS);
    for (;;) {
        int strip[2]; /* its number, and how many rows it has */
        MPI_Status status;
        MPI_Recv(strip, 2, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
        if (status.MPI_TAG == TAG_STOP) {
            break;
        }
        const int rows = strip[1];
        MPI_Recv(from, stride, MPI_DOUBLE, 0, TAG_ABOVE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(from + stride, rows * stride, MPI_DOUBLE, 0, TAG_ROWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(from + (rows + 1) * stride, stride, MPI_DOUBLE, 0, TAG_BELOW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double change = relax(from, to, rows);
        order_data(&order, strip, sizeof strip);
        order.tasks++; /* breakpoint: strip relaxed */
        MPI_Send(strip, 2, MPI_INT, 0, TAG_DONE, MPI_COMM_WORLD);
        MPI_Send(to, rows * stride, MPI_DOUBLE, 0, TAG_RELAXED, MPI_COMM_WORLD);
        MPI_Send(&change, 1, MPI_DOUBLE, 0, TAG_CHANGE, MPI_COMM_WORLD);
    }
    free(from);
    free(to);
}

/* ---- rank 0 ---- */

static int strips(void) {
    return (n + STRIP_ROWS - 1) / STRIP_ROWS;
}

static void hand_out(const double *grid, int number, int worker) {
    const int first = number * STRIP_ROWS, rows = n - first < STRIP_ROWS ? n - first : STRIP_ROWS;
    const int strip[2] = {number, rows};
    const double *above = grid + (size_t)first * (size_t)stride;
    MPI_Send(strip, 2, MPI_INT, worker, TAG_STRIP, MPI_COMM_WORLD);
    MPI_Send(above, stride, MPI_DOUBLE, worker, TAG_ABOVE, MPI_COMM_WORLD);
    MPI_Send(above + stride, rows * stride, MPI_DOUBLE, worker, TAG_ROWS, MPI_COMM_WORLD);
    MPI_Send(above + (rows + 1) * stride, stride, MPI_DOUBLE, worker, TAG_BELOW, MPI_COMM_WORLD);
}

/* Takes the strip of whoever is done first. Returns who that is. */
static int take(double *next, double *change) {
    int strip[2];
    double of_strip;
    MPI_Status status;
    MPI_Recv(strip, 2, MPI_INT, MPI_ANY_SOURCE, TAG_DONE, MPI_COMM_WORLD, &status); /* breakpoint: strip done */
    const int worker = status.MPI_SOURCE;
    order_taken(&order, worker, status.MPI_TAG);
    order_data(&order, strip, sizeof strip);
    order.tasks++;
    double *to = next + (size_t)(strip[0] * STRIP_ROWS + 1) * (size_t)stride;
    MPI_Recv(to, strip[1] * stride, MPI_DOUBLE, worker, TAG_RELAXED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&of_strip, 1, MPI_DOUBLE, worker, TAG_CHANGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *change = fmax(*change, of_strip);
    return worker;
}

static double sweep(const double *grid, double *next) {
    double change = 0;
    int handed_out = 0, taken = 0;
    for (int worker = 1; worker < ranks && handed_out < strips(); worker++) {
        hand_out(grid, handed_out++, worker);
    }
    for (; taken < strips(); taken++) {
        const int worker = take(next, &change);
        if (handed_out < strips()) {
            hand_out(grid, handed_out++, worker);
        }
    }
    return change;
}

static void swap(double **a, double **b) {
    double *kept = *a;
    *a = *b;
    *b = kept;
}

static int is_symmetric(const double *grid) {
    for (int i = 1; i <= n; i++) {
        for (int j = 1; j <= n; j++) {
            const double u = grid[i * stride + j];
            if (u != grid[j * stride + i] || u != grid[(n + 1 - i) * stride + j] || !(u > 0)) {
                return 0;
            }
        }
    }
    return 1;
}

static int is_that_of_one_process(const double *grid) {
    double *alone = rows_of_grid(n + 2), *next = rows_of_grid(n + 2);
    for (int i = 0; i < sweeps; i++) {
        relax(alone, next + stride, n);
        swap(&alone, &next);
    }
    const int same = memcmp(alone, grid, (size_t)(n + 2) * (size_t)stride * sizeof *grid) == 0;
    free(alone);
    free(next);
    return same;
}

static int serve(void) {
    double *grid = rows_of_grid(n + 2), *next = rows_of_grid(n + 2), change = 0;
    measure_begin();
    for (int i = 0; i < sweeps; i++) {
        change = sweep(grid, next);
        swap(&grid, &next);
    }
    for (int worker = 1; worker < ranks; worker++) {
        MPI_Send(NULL, 0, MPI_INT, worker, TAG_STOP, MPI_COMM_WORLD);
    }
    measure_end("mesh", rank);
    printf("mesh: %d x %d points, %d sweeps, last change %.6e\n", n, n, sweeps, change);
    order_data(&order, grid, (size_t)(n + 2) * (size_t)stride * sizeof *grid);
    int status = 0;
    if (!is_symmetric(grid)) {
        fprintf(stderr, "mesh: wrong: the solution is not symmetric\n");
        status = 1;
    } else if ((double)n * n * sweeps <= MOST_CHECKED && !is_that_of_one_process(grid)) {
        fprintf(stderr, "mesh: wrong: one process alone gets another solution\n");
        status = 1;
    }
    free(grid);
    free(next);
    return status;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int status = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    n = argc > 1 ? atoi(argv[1]) : 60;
    sweeps = argc > 2 ? atoi(argv[2]) : 40;
    stride = n + 2;
    if (n < 1 || n > LARGEST || sweeps < 1 || ranks < 2) {
        if (rank == 0) {
            fprintf(stderr, "usage: mesh [N [SWEEPS]], N from 1 to %d, SWEEPS at least 1, on at least 2 ranks\n", LARGEST);
        }
        status = 2;
    } else {
        if (rank == 0) {
            status = serve();
        } else {
            measure_begin();
            work();
            measure_end("mesh", rank);
        }
        report_order("mesh", rank, &order);
    }
    MPI_Finalize();
    return status;
}
