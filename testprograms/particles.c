/* Ranks on a ring: each sends particles, and then a column of its matrix, to the rank on its right. A place to look at MPI's handles
 * and at what its calls do with their buffers from; the pages in docs/ do so.
 *
 *     mpiexec -n 2 ./particles
 *
 * fparticles.f90 is the same in Fortran.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

enum { ROWS = 4, COLUMNS = 10, PARTICLES = 2 };
enum { TAG_COUNT = 1, TAG_PARTICLES, TAG_COLUMN };

struct particle {
    int id;
    char name[7];
    double position[2];
};

static MPI_Datatype make_particle_type(void) {
    const int lengths[3] = {1, 7, 2};
    const MPI_Aint displacements[3] = {offsetof(struct particle, id), offsetof(struct particle, name),
                                       offsetof(struct particle, position)};
    const MPI_Datatype types[3] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype particle_type;
    MPI_Type_create_struct(3, lengths, displacements, types, &particle_type);
    MPI_Type_commit(&particle_type);
    return particle_type;
}

static MPI_Datatype make_column_type(void) {
    MPI_Datatype column_type;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column_type);
    MPI_Type_commit(&column_type);
    MPI_Type_set_name(column_type, "column");
    return column_type;
}

static MPI_Comm make_ring(void) {
    const int periodic = 1;
    int ranks;
    MPI_Comm ring;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
    MPI_Comm_set_name(ring, "ring");
    return ring;
}

/* Returns whether what came is what the rank on the left has sent. */
static int exchange(double matrix[ROWS][COLUMNS], MPI_Comm ring, MPI_Datatype particle_type, MPI_Datatype column_type) {
    int rank, left, right, coming = 0, received = 0;
    MPI_Comm_rank(ring, &rank);
    MPI_Cart_shift(ring, 0, 1, &left, &right);
    const struct particle mine[PARTICLES] = {{10 * rank + 1, "alpha", {0.5, 1.5}}, {10 * rank + 2, "beta", {-0.5, 2.5}}};
    const int count = PARTICLES;
    struct particle theirs[PARTICLES] = {{0, "", {0, 0}}};
    double halo[2 * ROWS] = {0};
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv(halo, 2 * ROWS, MPI_DOUBLE, left, TAG_COLUMN, ring, &request);
    MPI_Sendrecv(&count, 1, MPI_INT, right, TAG_COUNT, &coming, 1, MPI_INT, left, TAG_COUNT, ring, &status);
    MPI_Sendrecv(mine, count, particle_type, right, TAG_PARTICLES, theirs, coming, particle_type, left, MPI_ANY_TAG, ring,
                 MPI_STATUS_IGNORE); /* breakpoint: particles */
    MPI_Send(&matrix[0][2], 1, column_type, right, TAG_COLUMN, ring); /* breakpoint: column */
    MPI_Wait(&request, &status);

    MPI_Get_count(&status, MPI_DOUBLE, &received); /* breakpoint: received */
    return coming == PARTICLES && theirs[1].id == 10 * left + 2 && received == ROWS && halo[3] == 100 * left + 32;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double matrix[ROWS][COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        matrix[i / COLUMNS][i % COLUMNS] = 100 * rank + i;
    }
    MPI_Datatype particle_type = make_particle_type(), column_type = make_column_type();
    MPI_Comm ring = make_ring();
    const int right = exchange(matrix, ring, particle_type, column_type);
    printf("particles: rank %d: %s\n", rank, right ? "right" : "WRONG");
    MPI_Comm_free(&ring);
    MPI_Type_free(&column_type);
    MPI_Type_free(&particle_type);
    MPI_Finalize();
    return !right;
}
