/* A system of linear equations, by Gaussian elimination: the program of that name in Table 1 of Netzer and Miller, "Optimal
 * Tracing and Replay for Debugging Message-Passing Parallel Programs" (there 300 equations; 9424 messages, 2 % of them racing).
 *
 *     mpiexec -n 4 ./sys [EQUATIONS]
 *
 * (by default 48). What it shows: nearly all messages are received with a wildcard and do not race (elimination.h). Every
 * REPORT steps the ranks tell rank 0 how large the elements have grown, and rank 0 takes these reports as they come: they race.
 * Whatever their order, the largest is the same.
 */
#include "elimination.h"
#include "random.h"
#include "times.h"

enum { TAG_GROWTH = 32001, TAG_RIGHT_SIDE = 32002 }; /* above all steps */
enum { REPORT = 16 };
enum { MATRIX, SOLUTION }; /* the kinds of random numbers */

static double element(int n, int i, int j) {
    return random_sign(MATRIX, (uint64_t)i * (uint64_t)n + (uint64_t)j);
}

static double solution(int i) {
    return random_sign(SOLUTION, (uint64_t)i);
}

/* Each rank makes its columns, and the whole right side, which all ranks transform alike. */
static void make_system(struct elimination *e, double *right) {
    for (int i = 0; i < e->n; i++) {
        right[i] = 0;
        for (int j = 0; j < e->n; j++) {
            right[i] += element(e->n, i, j) * solution(j);
        }
        for (int c = 0; c < e->columns; c++) {
            e->column[c][i] = element(e->n, i, e->rank + c * e->ranks);
        }
    }
}

/* The largest element of row k, in which the elimination has got to its end. */
static double largest_of_row(const struct elimination *e, int k) {
    double largest = 0;
    for (int c = first_from(e, k); c < e->columns; c++) {
        largest = fmax(largest, fabs(e->column[c][k]));
    }
    return largest;
}

/* All ranks tell rank 0. A rank may be ahead by a report; the largest of all is the largest all the same. */
static void report_growth(struct elimination *e, double *growth) {
    if (e->rank != 0) {
        MPI_Send(growth, 1, MPI_DOUBLE, 0, TAG_GROWTH, MPI_COMM_WORLD);
        return;
    }
    for (int k = 1; k < e->ranks; k++) {
        double reported;
        MPI_Status status;
        MPI_Recv(&reported, 1, MPI_DOUBLE, MPI_ANY_SOURCE, TAG_GROWTH, MPI_COMM_WORLD, &status); /* breakpoint: report received */
        order_taken(e->order, status.MPI_SOURCE, status.MPI_TAG);
        order_data(e->order, &reported, sizeof reported);
        e->order->tasks++;
        *growth = fmax(*growth, reported);
    }
}

static double eliminate_all(struct elimination *e, double *right) {
    double growth = 0;
    for (int k = 0; k < e->n; k++) {
        eliminate(e, k);
        apply_step(e, k, right);
        growth = fmax(growth, largest_of_row(e, k));
        if ((k + 1) % REPORT == 0 || k == e->n - 1) {
            report_growth(e, &growth);
        }
    }
    return growth;
}

/* Solves for x[k], and hands the right side on to the owner of column k - 1. Each rank gets to know its own part of x. */
static void substitute_back(struct elimination *e, double *right, double *x) {
    for (int k = e->n - 1; k >= 0; k--) {
        if (owner(e, k) == e->rank) {
            const double *column = e->column[first_from(e, k)];
            if (k < e->n - 1 && e->ranks > 1) {
                MPI_Recv(right, k + 1, MPI_DOUBLE, owner(e, k + 1), TAG_RIGHT_SIDE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            x[k] = right[k] / column[k];
            for (int i = 0; i < k; i++) {
                right[i] -= column[i] * x[k];
            }
            if (k > 0 && e->ranks > 1) {
                MPI_Send(right, k, MPI_DOUBLE, owner(e, k - 1), TAG_RIGHT_SIDE, MPI_COMM_WORLD);
            }
        }
    }
}

static int solve(int rank, int ranks, int n, struct order *order) {
    struct elimination e;
    elimination_begin(&e, rank, ranks, n, order);
    double *right = allocate((size_t)n * sizeof *right), *x = allocate((size_t)n * sizeof *x);
    make_system(&e, right);
    measure_begin();
    const double growth = eliminate_all(&e, right);
    substitute_back(&e, right, x);
    measure_end("sys", rank);
    double error = 0, largest;
    for (int k = rank; k < n; k += ranks) {
        const double difference = fabs(x[k] - solution(k));
        error = difference <= error ? error : isnan(difference) ? INFINITY : difference;
        order_data(order, &x[k], sizeof x[k]);
    }
    MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const int wrong = largest > 1e-6;
    if (rank == 0) {
        printf("sys: %d equations, largest element %g, largest error %g\n", n, growth, largest);
        if (wrong) {
            fprintf(stderr, "sys: wrong: that is not the solution\n");
        }
    }
    free(right);
    free(x);
    elimination_end(&e);
    return wrong;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct order order = ORDER_INIT;
    int rank, ranks, status = 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = argc > 1 ? atoi(argv[1]) : 48;
    if (n >= 1 && n <= LARGEST_MATRIX) {
        status = solve(rank, ranks, n, &order);
        report_order("sys", rank, &order);
    } else if (rank == 0) {
        fprintf(stderr, "usage: sys [EQUATIONS], from 1 to %d\n", LARGEST_MATRIX);
    }
    MPI_Finalize();
    return status;
}
