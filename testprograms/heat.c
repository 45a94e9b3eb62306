/* Heat in a square plate: Jacobi iteration on a grid of N x N points, divided among a 2-D grid of ranks.
 *
 *     mpiexec -n 4 ./heat N [ITERATIONS]
 *
 * Each rank holds a block of the grid with a frame (halo) one point wide, which belongs to its neighbours. Rows of the halo are
 * contiguous in memory; columns are described by an MPI_Type_vector. The parameters are broadcast as a struct datatype like
 * that of Fig. 1 of Protze et al., "Holistic Debugging of MPI Derived Datatypes".
 */
#include <math.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "times.h"

enum { LARGEST_CHECKED = 256 }; /* up to this N the result is compared with a serial computation */

struct parameters {
    int iterations;
    char name[7];
    double values[2]; /* the temperature of the hot edge; the residual at which the iteration may stop */
};

/* The block of one rank. Rows and columns count the rank's own points, which have the indices 1 to rows and 1 to columns;
 * 0 and rows + 1, 0 and columns + 1 are the halo. */
struct block {
    int N; /* the whole grid has N x N points */
    int rows, columns;
    int first_row, first_column; /* of the whole grid, from 1 */
    int stride;                  /* from one row to the next, in points */
    MPI_Comm cartesian;
    int up, down, left, right; /* ranks, or MPI_PROC_NULL */
    MPI_Datatype column_type;
};

/* Where the temperature of a point starts; the row and the column can be read off it. The frame keeps it for ever. */
static double start_temperature(int row, int column, double hot_edge) {
    return row == 0 ? hot_edge : row + column / 1000.0;
}

static MPI_Datatype make_parameters_type(void) {
    const int lengths[3] = {1, 7, 2};
    const MPI_Aint displacements[3] = {offsetof(struct parameters, iterations), offsetof(struct parameters, name),
                                       offsetof(struct parameters, values)};
    const MPI_Datatype types[3] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype fields, parameters_type;
    MPI_Type_create_struct(3, lengths, displacements, types, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(struct parameters), &parameters_type);
    MPI_Type_commit(&parameters_type);
    MPI_Type_free(&fields);
    return parameters_type;
}

/* Part `index` of `points` points in `parts` parts: the parts differ by at most one point. */
static void share(int points, int parts, int index, int *first, int *count) {
    const int low = points / parts, larger = points % parts;
    *count = low + (index < larger);
    *first = 1 + index * low + (index < larger ? index : larger);
}

static void make_block(int N, struct block *block) {
    int ranks, dimensions[2] = {0, 0}, coordinates[2], rank;
    const int periods[2] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, dimensions);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periods, 0, &block->cartesian);
    MPI_Comm_set_name(block->cartesian, "heat grid");
    MPI_Comm_rank(block->cartesian, &rank);
    MPI_Cart_coords(block->cartesian, rank, 2, coordinates);
    MPI_Cart_shift(block->cartesian, 0, 1, &block->up, &block->down);
    MPI_Cart_shift(block->cartesian, 1, 1, &block->left, &block->right);
    block->N = N;
    share(N, dimensions[0], coordinates[0], &block->first_row, &block->rows);
    share(N, dimensions[1], coordinates[1], &block->first_column, &block->columns);
    block->stride = block->columns + 2;
    MPI_Type_vector(block->rows, 1, block->stride, MPI_DOUBLE, &block->column_type);
    MPI_Type_commit(&block->column_type);
}

static void free_block(struct block *block) {
    MPI_Type_free(&block->column_type);
    MPI_Comm_free(&block->cartesian);
}

static double *new_grid(const struct block *block, double hot_edge) {
    double *grid = malloc((size_t)(block->rows + 2) * (size_t)block->stride * sizeof *grid);
    if (grid == NULL) {
        fprintf(stderr, "heat: no memory for %d x %d points\n", block->rows, block->columns);
        MPI_Abort(MPI_COMM_WORLD, 3);
        exit(3);
    }
    for (int row = 0; row < block->rows + 2; row++) {
        for (int column = 0; column < block->stride; column++) {
            grid[row * block->stride + column] =
                start_temperature(block->first_row + row - 1, block->first_column + column - 1, hot_edge);
        }
    }
    return grid;
}

/* Sends the outermost own rows and columns to the neighbours, and fills the halo with theirs. Returns whether the rank has
 * any neighbour. */
static int exchange_halo(double *grid, int N, const struct block *block, int iteration) {
    enum { UP, DOWN, LEFT, RIGHT, DIRECTIONS }; /* the way that a message travels */
    const int tag = DIRECTIONS * (iteration % 1000);
    const int rows = block->rows, columns = block->columns, stride = block->stride;
    const MPI_Datatype column_type = block->column_type;
    const MPI_Comm cartesian = block->cartesian;
    double *first_column = &grid[stride + 1], *last_column = &grid[stride + columns];
    double *left_halo = &grid[stride], *right_halo = &grid[stride + columns + 1];
    double *first_row = &grid[stride + 1], *last_row = &grid[rows * stride + 1];
    double *upper_halo = &grid[1], *lower_halo = &grid[(rows + 1) * stride + 1];
    MPI_Request requests[8];
    MPI_Status statuses[8];

    MPI_Irecv(upper_halo, columns, MPI_DOUBLE, block->up, tag + DOWN, cartesian, &requests[0]);
    MPI_Irecv(lower_halo, columns, MPI_DOUBLE, block->down, tag + UP, cartesian, &requests[1]);
    MPI_Irecv(left_halo, 1, column_type, block->left, tag + RIGHT, cartesian, &requests[2]);
    MPI_Irecv(right_halo, 1, column_type, block->right, tag + LEFT, cartesian, &requests[3]);
    MPI_Isend(first_row, columns, MPI_DOUBLE, block->up, tag + UP, cartesian, &requests[4]);
    MPI_Isend(last_row, columns, MPI_DOUBLE, block->down, tag + DOWN, cartesian, &requests[5]);
    MPI_Isend(first_column, 1, column_type, block->left, tag + LEFT, cartesian, &requests[6]);
    MPI_Isend(last_column, 1, column_type, block->right, tag + RIGHT, cartesian, &requests[7]);
    MPI_Waitall(8, requests, statuses);
    return rows < N || columns < N; /* breakpoint: halo exchange */
}

/* One Jacobi step on a block; returns the sum of the squared changes. */
static double relax(const double *grid, double *next, int rows, int columns, int stride) {
    double change = 0;
    for (int row = 1; row <= rows; row++) {
        for (int column = 1; column <= columns; column++) {
            const int at = row * stride + column;
            next[at] = 0.25 * (grid[at - stride] + grid[at + stride] + grid[at - 1] + grid[at + 1]);
            change += (next[at] - grid[at]) * (next[at] - grid[at]);
        }
    }
    return change;
}

static void swap(double **a, double **b) {
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* The same without MPI. Returns the largest difference in this rank's block. */
static double check(const struct block *block, const double *grid, int iterations, double hot_edge) {
    struct block whole = {.N = block->N, .rows = block->N, .columns = block->N, .first_row = 1, .first_column = 1};
    whole.stride = block->N + 2;
    double *serial = new_grid(&whole, hot_edge), *next = new_grid(&whole, hot_edge);
    for (int iteration = 0; iteration < iterations; iteration++) {
        relax(serial, next, whole.rows, whole.columns, whole.stride);
        swap(&serial, &next);
    }
    double largest = 0;
    for (int row = 1; row <= block->rows; row++) {
        const double *wanted = &serial[(block->first_row + row - 1) * whole.stride + block->first_column - 1];
        for (int column = 1; column <= block->columns; column++) {
            largest = fmax(largest, fabs(grid[row * block->stride + column] - wanted[column]));
        }
    }
    free(serial);
    free(next);
    return largest;
}

/* Iterates and reports. Returns the exit status. */
static int solve(int N, const struct parameters *parameters, int rank) {
    struct block block;
    make_block(N, &block);
    const double hot_edge = parameters->values[0], tolerance = parameters->values[1];
    double *grid = new_grid(&block, hot_edge), *next = new_grid(&block, hot_edge);
    double residual = INFINITY;
    int iteration = 0;
    measure_begin();
    while (iteration < parameters->iterations && residual > tolerance) {
        exchange_halo(grid, N, &block, iteration);
        double change = relax(grid, next, block.rows, block.columns, block.stride);
        MPI_Allreduce(&change, &residual, 1, MPI_DOUBLE, MPI_SUM, block.cartesian);
        residual = sqrt(residual) / N;
        swap(&grid, &next);
        iteration++;
    }
    measure_end("heat", rank);
    if (rank == 0) {
        printf("heat: %s, %d x %d points, %d iterations, residual %.6e\n", parameters->name, N, N, iteration, residual);
    }
    int status = 0;
    if (N <= LARGEST_CHECKED) {
        double difference = check(&block, grid, iteration, hot_edge), largest;
        MPI_Allreduce(&difference, &largest, 1, MPI_DOUBLE, MPI_MAX, block.cartesian);
        status = largest > 1e-9;
        if (rank == 0) {
            printf("heat: %s: the largest difference from the serial result is %g\n", status ? "WRONG" : "right", largest);
        }
    }
    free(grid);
    free(next);
    free_block(&block);
    return status;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int N = argc > 1 ? atoi(argv[1]) : 0;
    struct parameters parameters = {0};
    if (rank == 0) {
        parameters = (struct parameters){argc > 2 ? atoi(argv[2]) : 100, "jacobi", {1000.0, 1e-6}};
    }
    MPI_Datatype parameters_type = make_parameters_type();
    MPI_Bcast(&parameters, 1, parameters_type, 0, MPI_COMM_WORLD);
    int status;
    if (N < ranks || N > 20000 || parameters.iterations < 1) {
        if (rank == 0) {
            fprintf(stderr, "usage: heat N [ITERATIONS], N from the number of ranks (%d) to 20000, ITERATIONS at least 1\n", ranks);
        }
        status = 2;
    } else {
        status = solve(N, &parameters, rank);
    }
    MPI_Type_free(&parameters_type);
    MPI_Finalize();
    return status;
}
