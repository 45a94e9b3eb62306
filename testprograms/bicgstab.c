/* A linear system with a banded sparse matrix, by BiCGSTAB: the program of section 5.3 of Clemencon et al., "An Implementation of
 * Race Detection and Deterministic Replay with MPI" (there 16384 rows and a band of 201, compiled from HPF by PST, "which
 * intentionally introduces races for increased efficiency").
 *
 *     mpiexec -n 4 ./bicgstab [ROWS [HALF-BANDWIDTH [SYSTEMS]]]
 *
 * (by default 600, 100 and 1.) The rows are divided among the ranks in blocks. Before each product with the matrix a rank needs
 * the parts of the vector that lie within the band of its rows, from as many others as the band reaches over, and takes them in
 * the order in which they come, MPI_ANY_SOURCE: the races are intentional. Where a part belongs follows from its source, so the
 * answer is the same, bit by bit.
 *
 * The solution is known. H. A. van der Vorst, "Bi-CGSTAB", SIAM J. Sci. Stat. Comput. 13 (1992), for the method.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderhash.h"
#include "random.h"
#include "times.h"

enum { TAG_PART = 1 };
enum { MATRIX, SOLUTION }; /* the kinds of random numbers; the systems count on from SOLUTION */
enum { MOST_ITERATIONS = 500, MOST_SYSTEMS = 1000 };

struct range {
    int from, to; /* rows from <= i < to */
};

static int rank, ranks, rows, half;
static struct range mine, needed; /* this rank's rows, and those that its matrix reaches */
static double *band;              /* this rank's rows of the matrix, 2 half + 1 elements each */
static double *reached;           /* the vector in the range `needed` */
static double *part;              /* room for one message */
static MPI_Request *sends;
static struct order order = ORDER_INIT;

static struct range rows_of(int owner) {
    return (struct range){(int)((long)rows * owner / ranks), (int)((long)rows * (owner + 1) / ranks)};
}

static struct range common(struct range a, struct range b) {
    return (struct range){a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};
}

static struct range reach_of(struct range r) {
    return common((struct range){r.from - half, r.to + half}, (struct range){0, rows});
}

static int length(struct range r) {
    return r.to > r.from ? r.to - r.from : 0;
}

static double *new_vector(int n) {
    double *vector = calloc((size_t)(n > 0 ? n : 1), sizeof *vector);
    if (vector == NULL) {
        fprintf(stderr, "bicgstab: no memory for %d elements\n", n);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return vector;
}

static double element(int i, int j) {
    return i == j ? 1.5 * sqrt(2.0 * half + 1) : random_sign(MATRIX, (uint64_t)i * (uint64_t)rows + (uint64_t)j);
}

static void make_matrix(void) {
    mine = rows_of(rank);
    needed = reach_of(mine);
    band = new_vector(length(mine) * (2 * half + 1));
    reached = new_vector(length(needed));
    part = new_vector(length(needed));
    sends = malloc((size_t)ranks * sizeof *sends);
    if (sends == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int i = mine.from; i < mine.to; i++) {
        for (int j = i - half; j <= i + half; j++) {
            band[(size_t)(i - mine.from) * (size_t)(2 * half + 1) + (size_t)(j - i + half)] = j < 0 || j >= rows ? 0 : element(i, j);
        }
    }
}

/* Fills `reached`: gives the others what they need of this rank's part of the vector, and takes theirs as they come. A part for
 * the next product cannot come too early: between two products all ranks form a sum together. */
static void exchange_parts(const double *x) {
    int n_sends = 0, n_parts = 0;
    for (int other = 0; other < ranks; other++) {
        if (other == rank) {
            continue;
        }
        const struct range theirs = rows_of(other), give = common(mine, reach_of(theirs));
        if (length(give) > 0) {
            MPI_Isend(x + (give.from - mine.from), length(give), MPI_DOUBLE, other, TAG_PART, MPI_COMM_WORLD, &sends[n_sends++]);
        }
        n_parts += length(common(theirs, needed)) > 0;
    }
    memcpy(reached + (mine.from - needed.from), x, (size_t)length(mine) * sizeof *x);
    for (; n_parts > 0; n_parts--) {
        MPI_Status status;
        MPI_Recv(part, length(needed), MPI_DOUBLE, MPI_ANY_SOURCE, TAG_PART, MPI_COMM_WORLD, &status); /* breakpoint: part received */
        order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
        order.tasks++;
        const struct range take = common(rows_of(status.MPI_SOURCE), needed);
        memcpy(reached + (take.from - needed.from), part, (size_t)length(take) * sizeof *part);
    }
    MPI_Waitall(n_sends, sends, MPI_STATUSES_IGNORE);
}

/* y = A x */
static void product(const double *x, double *y) {
    exchange_parts(x);
    for (int i = mine.from; i < mine.to; i++) {
        const struct range columns = common((struct range){i - half, i + half + 1}, needed);
        const double *row = band + (size_t)(i - mine.from) * (size_t)(2 * half + 1);
        double sum = 0;
        for (int j = columns.from; j < columns.to; j++) {
            sum += row[j - i + half] * reached[j - needed.from];
        }
        y[i - mine.from] = sum;
    }
}

/* The sums x y and, unless z is NULL, x z, over all ranks. */
static void sums(const double *x, const double *y, const double *z, double result[2]) {
    double own[2] = {0, 0};
    for (int i = 0; i < length(mine); i++) {
        own[0] += x[i] * y[i];
        own[1] += z != NULL ? x[i] * z[i] : 0;
    }
    MPI_Allreduce(own, result, z != NULL ? 2 : 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Solves A x = b, from x = 0. Returns the number of iterations. */
static int bicgstab(const double *b, double *x) {
    const int n = length(mine);
    double *r = new_vector(n), *shadow = new_vector(n), *p = new_vector(n), *v = new_vector(n), *t = new_vector(n);
    double last_rho = 1, alpha = 1, omega = 1, first, rho, two[2];
    int iteration = 0;
    for (int i = 0; i < n; i++) {
        x[i] = 0;
        r[i] = shadow[i] = b[i];
    }
    sums(r, r, shadow, two); /* the square of the residual, and rho */
    first = two[0];
    rho = two[1];
    while (two[0] > 1e-24 * first && iteration++ < MOST_ITERATIONS) {
        const double beta = rho / last_rho * (alpha / omega);
        for (int i = 0; i < n; i++) {
            p[i] = r[i] + beta * (p[i] - omega * v[i]);
        }
        product(p, v);
        sums(shadow, v, NULL, two);
        alpha = rho / two[0];
        for (int i = 0; i < n; i++) {
            r[i] -= alpha * v[i];
        }
        product(r, t);
        sums(t, r, t, two);
        omega = two[1] > 0 ? two[0] / two[1] : 0; /* the solution may be exact already */
        for (int i = 0; i < n; i++) {
            x[i] += alpha * p[i] + omega * r[i];
            r[i] -= omega * t[i];
        }
        last_rho = rho;
        sums(r, r, shadow, two);
        rho = two[1];
    }
    free(r);
    free(shadow);
    free(p);
    free(v);
    free(t);
    return iteration;
}

static double solution(int system, int i) {
    return random_sign(SOLUTION + (uint64_t)system, (uint64_t)i);
}

/* This rank's part of the right side, from the definition: what the products with the matrix give is not trusted. */
static double *right_side(int system) {
    double *b = new_vector(length(mine));
    for (int i = mine.from; i < mine.to; i++) {
        for (int j = needed.from; j < needed.to; j++) {
            b[i - mine.from] += abs(i - j) <= half ? element(i, j) * solution(system, j) : 0;
        }
    }
    return b;
}

/* The largest error, of all ranks. */
static double error_of(int system, const double *x) {
    double error = 0, largest;
    for (int i = mine.from; i < mine.to; i++) {
        const double difference = fabs(x[i - mine.from] - solution(system, i));
        error = difference <= error ? error : isnan(difference) ? INFINITY : difference;
    }
    MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

static int solve(int systems) {
    double *b[MOST_SYSTEMS], *x[MOST_SYSTEMS];
    int iterations = 0, status = 0;
    make_matrix();
    for (int system = 0; system < systems; system++) {
        b[system] = right_side(system);
        x[system] = new_vector(length(mine));
    }
    measure_begin();
    for (int system = 0; system < systems; system++) {
        iterations += bicgstab(b[system], x[system]);
    }
    measure_end("bicgstab", rank);
    for (int system = 0; system < systems; system++) {
        const double error = error_of(system, x[system]);
        const int wrong = error > 1e-8;
        status |= wrong;
        if (rank == 0 && wrong) {
            fprintf(stderr, "bicgstab: wrong: the largest error of solution %d is %g\n", system, error);
        }
        order_data(&order, x[system], (size_t)length(mine) * sizeof **x);
        free(b[system]);
        free(x[system]);
    }
    if (rank == 0) {
        printf("bicgstab: %d rows, band of %d, %d iterations\n", rows, 2 * half + 1, iterations);
    }
    free(band);
    free(reached);
    free(part);
    free(sends);
    return status;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int status = 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rows = argc > 1 ? atoi(argv[1]) : 600;
    half = argc > 2 ? atoi(argv[2]) : 100;
    const int systems = argc > 3 ? atoi(argv[3]) : 1;
    if (rows >= ranks && rows <= 10000000 && half >= 0 && half < 10000 && systems >= 1 && systems <= MOST_SYSTEMS) {
        status = solve(systems);
        report_order("bicgstab", rank, &order);
    } else if (rank == 0) {
        fprintf(stderr, "usage: bicgstab [ROWS [HALF-BANDWIDTH [SYSTEMS]]], ROWS from the number of ranks (%d) to 10000000, "
                        "HALF-BANDWIDTH from 0 to 9999, 1 to %d systems\n", ranks, MOST_SYSTEMS);
    }
    MPI_Finalize();
    return status;
}
