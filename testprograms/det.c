/* The determinant of a matrix, by elimination: the program of that name in Table 1 of Netzer and Miller, "Optimal Tracing and
 * Replay for Debugging Message-Passing Parallel Programs" (there 100 x 100; 4713 messages, 1 % of them racing).
 *
 *     mpiexec -n 4 ./det [N [MATRICES]]
 *
 * computes the determinants of that many N x N matrices, one after the other (by default 1 of 48 x 48). What it shows: nearly
 * all messages are received with a wildcard and do not race (elimination.h). Those that do are the last of each matrix, with
 * which every rank gives its part of the product to rank 0: their order decides how the product is rounded.
 *
 * The matrices are random, with determinants that are known: P (D + u v'), where D is a diagonal matrix and P exchanges rows,
 * has the determinant sign(P) prod(d) (1 + sum(u v / d)).
 */
#include "elimination.h"
#include "random.h"
#include "times.h"

enum { TAG_PART = 32000 }; /* above all steps */
enum { D, U, V, ROW };     /* the kinds of random numbers that make a matrix */

/* A determinant can be too large for a double: this is mantissa * 2^exponent, and the mantissa is in [0.5, 1) or (-1, -0.5]. */
struct product {
    double mantissa, exponent;
};

static void multiply(struct product *product, struct product factor) {
    int exponent;
    product->mantissa = frexp(product->mantissa * factor.mantissa, &exponent);
    product->exponent += factor.exponent + exponent;
}

static double random_of(int matrix, int kind, int i) {
    const double unit = random_unit((uint64_t)matrix * 4 + (uint64_t)kind, (uint64_t)i);
    return kind == D ? 1 + unit : unit;
}

/* Where each row of D + u v' stands in the matrix. Returns the sign of the permutation. */
static int permute(int matrix, int n, int *row) {
    int sign = 1;
    for (int i = 0; i < n; i++) {
        row[i] = i;
    }
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)(random_at((uint64_t)matrix * 4 + ROW, (uint64_t)i) % (uint64_t)(i + 1));
        const int kept = row[i];
        row[i] = row[j];
        row[j] = kept;
        sign = i == j ? sign : -sign;
    }
    return sign;
}

/* Makes this rank's columns. Returns the determinant of the whole. */
static struct product make_matrix(struct elimination *e, int matrix) {
    int *row = allocate((size_t)e->n * sizeof *row);
    const int sign = permute(matrix, e->n, row);
    struct product known = {0.5 * sign, 1};
    double sum = 1;
    for (int i = 0; i < e->n; i++) {
        const double d = random_of(matrix, D, i);
        multiply(&known, (struct product){d, 0});
        sum += random_of(matrix, U, i) * random_of(matrix, V, i) / d;
        for (int c = 0; c < e->columns; c++) {
            const int j = e->rank + c * e->ranks;
            e->column[c][row[i]] = random_of(matrix, U, i) * random_of(matrix, V, j) + (i == j ? d : 0);
        }
    }
    multiply(&known, (struct product){sum, 0});
    free(row);
    return known;
}

/* The product of the diagonal elements of this rank's columns. */
static struct product own_part(const struct elimination *e) {
    struct product part = {0.5, 1};
    for (int c = 0; c < e->columns; c++) {
        multiply(&part, (struct product){e->column[c][e->rank + c * e->ranks], 0});
    }
    return part;
}

/* Rank 0 multiplies the parts in the order in which they come. */
static struct product collect(struct elimination *e, struct product product) {
    if (e->rank != 0) {
        MPI_Send(&product, 2, MPI_DOUBLE, 0, TAG_PART, MPI_COMM_WORLD);
        return product;
    }
    for (int k = 1; k < e->ranks; k++) {
        struct product part;
        MPI_Status status;
        MPI_Recv(&part, 2, MPI_DOUBLE, MPI_ANY_SOURCE, TAG_PART, MPI_COMM_WORLD, &status); /* breakpoint: part received */
        order_taken(e->order, status.MPI_SOURCE, status.MPI_TAG);
        order_data(e->order, &part, sizeof part);
        e->order->tasks++;
        multiply(&product, part);
    }
    if (e->exchanges % 2 != 0) {
        product.mantissa = -product.mantissa;
    }
    return product;
}

/* Whether two products agree but for rounding. */
static int agree(struct product a, struct product b) {
    return fabs(a.mantissa * exp2(a.exponent - b.exponent) - b.mantissa) < 1e-9;
}

static int determinants(int rank, int ranks, int n, int matrices, struct order *order) {
    int status = 0;
    struct elimination e;
    elimination_begin(&e, rank, ranks, n, order);
    measure_begin();
    for (int matrix = 0; matrix < matrices; matrix++) {
        const struct product known = make_matrix(&e, matrix);
        e.exchanges = 0;
        for (int k = 0; k < n; k++) {
            eliminate(&e, k);
        }
        const struct product found = collect(&e, own_part(&e));
        if (rank != 0) {
            continue;
        }
        if (matrix == 0) {
            printf("det: matrix %d, %d x %d: %.12f * 2^%.0f\n", matrix, n, n, found.mantissa, found.exponent);
        }
        if (!agree(found, known)) {
            fprintf(stderr, "det: wrong: the determinant of matrix %d is %.12f * 2^%.0f\n", matrix, known.mantissa, known.exponent);
            status = 1;
        }
    }
    measure_end("det", rank);
    elimination_end(&e);
    return status;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct order order = ORDER_INIT;
    int rank, ranks, status = 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = argc > 1 ? atoi(argv[1]) : 48;
    const int matrices = argc > 2 ? atoi(argv[2]) : 1;
    if (n >= 1 && n <= LARGEST_MATRIX && matrices >= 1) {
        status = determinants(rank, ranks, n, matrices, &order);
        report_order("det", rank, &order);
    } else if (rank == 0) {
        fprintf(stderr, "usage: det [N [MATRICES]], N from 1 to %d, at least 1 matrix\n", LARGEST_MATRIX);
    }
    MPI_Finalize();
    return status;
}
