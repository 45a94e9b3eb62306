/* The product of two matrices: the program of that name in Table 1 of Netzer and Miller, "Optimal Tracing and Replay for
 * Debugging Message-Passing Parallel Programs" (there 100 x 100; 1120 messages, none of them racing).
 *
 *     mpiexec -n 4 ./mult [N]
 *
 * (by default 48). Rank 0 deals the rows of A out to the others, and takes the rows of the product back, each from the rank that
 * has it. What it shows: every receive names its source, so nothing races, nothing has to be traced, and two runs cannot differ.
 * (The answers come in any order, but each into the request that was posted for it.)
 *
 * The elements are small whole numbers, so that the product is exact; it is checked by Freivalds' method, against a vector.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderhash.h"
#include "random.h"
#include "times.h"

enum { TAG_ALL_OF_B = 32000 }; /* rows have their numbers as tags */
enum { LARGEST = 20000 };

static int rank, ranks, n;

static double *matrix(int rows) {
    double *elements = malloc((size_t)rows * (size_t)n * sizeof *elements);
    if (elements == NULL) {
        fprintf(stderr, "mult: no memory for %d x %d elements\n", rows, n);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return elements;
}

static int worker_of(int row) {
    return 1 + row % (ranks - 1);
}

/* c = row a of A times B. */
static void multiply_row(const double *a, const double *b, double *c) {
    for (int j = 0; j < n; j++) {
        c[j] = 0;
    }
    for (int k = 0; k < n; k++) {
        const double factor = a[k], *row = b + (size_t)k * (size_t)n;
        for (int j = 0; j < n; j++) {
            c[j] += factor * row[j];
        }
    }
}

static void work(struct order *order) {
    double *b = matrix(n), *a = matrix(1), *c = matrix(1);
    measure_begin();
    MPI_Recv(b, n * n, MPI_DOUBLE, 0, TAG_ALL_OF_B, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int row = rank - 1; row < n; row += ranks - 1) {
        MPI_Status status;
        MPI_Recv(a, n, MPI_DOUBLE, 0, row, MPI_COMM_WORLD, &status);
        order_taken(order, status.MPI_SOURCE, status.MPI_TAG);
        order->tasks++;
        multiply_row(a, b, c);
        order_data(order, c, (size_t)n * sizeof *c);
        MPI_Send(c, n, MPI_DOUBLE, 0, row, MPI_COMM_WORLD);
    }
    measure_end("mult", rank);
    free(a);
    free(b);
    free(c);
}

/* y = M x */
static void times_vector(const double *m, const double *x, double *y) {
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++) {
            y[i] += m[(size_t)i * (size_t)n + (size_t)j] * x[j];
        }
    }
}

/* Whether C x = A (B x) for a random x. All numbers are whole and small, so nothing is rounded. */
static int is_product(const double *a, const double *b, const double *c) {
    double *x = matrix(1), *bx = matrix(1), *abx = matrix(1), *cx = matrix(1);
    for (int i = 0; i < n; i++) {
        x[i] = (double)(random_at(3, (uint64_t)i) % 1000);
    }
    times_vector(b, x, bx);
    times_vector(a, bx, abx);
    times_vector(c, x, cx);
    int right = 1;
    for (int i = 0; i < n; i++) {
        right &= abx[i] == cx[i];
    }
    free(x);
    free(bx);
    free(abx);
    free(cx);
    return right;
}

static int deal_out(struct order *order) {
    double *a = matrix(n), *b = matrix(n), *c = matrix(n);
    MPI_Request *answer = malloc((size_t)n * sizeof *answer);
    if (answer == NULL) {
        fprintf(stderr, "mult: no memory for %d requests\n", n);
        MPI_Abort(MPI_COMM_WORLD, 3);
        return 3;
    }
    for (size_t i = 0; i < (size_t)n * (size_t)n; i++) {
        a[i] = (double)(random_at(1, i) % 100);
        b[i] = (double)(random_at(2, i) % 100);
    }
    measure_begin();
    for (int row = 0; row < n; row++) {
        MPI_Irecv(c + (size_t)row * (size_t)n, n, MPI_DOUBLE, worker_of(row), row, MPI_COMM_WORLD, &answer[row]);
    }
    for (int worker = 1; worker < ranks; worker++) {
        MPI_Send(b, n * n, MPI_DOUBLE, worker, TAG_ALL_OF_B, MPI_COMM_WORLD);
    }
    for (int row = 0; row < n; row++) {
        MPI_Send(a + (size_t)row * (size_t)n, n, MPI_DOUBLE, worker_of(row), row, MPI_COMM_WORLD);
    }
    MPI_Waitall(n, answer, MPI_STATUSES_IGNORE);
    measure_end("mult", rank);
    order->tasks = n;
    order_data(order, c, (size_t)n * (size_t)n * sizeof *c);
    const int wrong = !is_product(a, b, c);
    if (wrong) {
        fprintf(stderr, "mult: wrong: that is not the product\n");
    }
    printf("mult: %d x %d\n", n, n);
    free(a);
    free(b);
    free(c);
    free(answer);
    return wrong;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct order order = ORDER_INIT;
    int status = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    n = argc > 1 ? atoi(argv[1]) : 48;
    if (n < 1 || n > LARGEST || ranks < 2) {
        if (rank == 0) {
            fprintf(stderr, "usage: mult [N], N from 1 to %d, on at least 2 ranks\n", LARGEST);
        }
        status = 2;
    } else {
        if (rank == 0) {
            status = deal_out(&order);
        } else {
            work(&order);
        }
        report_order("mult", rank, &order);
    }
    MPI_Finalize();
    return status;
}
