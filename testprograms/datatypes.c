/* One live example of every constructor of datatypes, all at once, each with a buffer whose elements it selects.
 *
 * Every type is checked: its size, its extent, and what MPI_Pack takes from a buffer of bytes or ints that count up.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

struct particle {
    double position[3];
    int id;
    char name[8];
};

static int wrong;

/* Commits the type and compares its size and extent (in bytes) with those wanted. */
static void commit(const char *name, MPI_Datatype *type, int wanted_size, MPI_Aint wanted_extent) {
    int size;
    MPI_Aint lower_bound, extent;
    MPI_Type_commit(type);
    MPI_Type_set_name(*type, name);
    MPI_Type_size(*type, &size);
    MPI_Type_get_extent(*type, &lower_bound, &extent);
    if (size != wanted_size || extent != wanted_extent) {
        fprintf(stderr, "datatypes: wrong: %s has size %d and extent %ld, not %d and %ld\n", name, size, (long)extent,
                wanted_size, (long)wanted_extent);
        wrong = 1;
    }
}

/* What one element of the type selects from the ints 0, 1, 2, ... */
static void check_ints(const char *name, MPI_Datatype type, const int *numbers, const int *wanted, int count) {
    int packed[64] = {0}, position = 0;
    MPI_Pack(numbers, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
    for (int i = 0; i < count; i++) {
        if (packed[i] != wanted[i]) {
            fprintf(stderr, "datatypes: wrong: element %d of %s is %d, not %d\n", i, name, packed[i], wanted[i]);
            wrong = 1;
        }
    }
}

#define INTS(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)

int main(int argc, char **argv) {
    int numbers[64];
    struct particle particles[2] = {{{0.5, 1.5, 2.5}, 7, "first"}, {{3.5, 4.5, 5.5}, 8, "second"}};
    struct {
        double value;
        int index;
    } pair = {2.75, 3};
    const int I = sizeof(int), lengths[3] = {2, 1, 3}, displacements[3] = {0, 4, 8};
    const MPI_Aint byte_displacements[3] = {0, 4 * I, 8 * I};
    const int sizes[2] = {8, 8}, subsizes[2] = {2, 3}, starts[2] = {1, 4};

    MPI_Init(&argc, &argv);
    for (int i = 0; i < 64; i++) {
        numbers[i] = i;
    }

    MPI_Datatype named = MPI_INT, pair_type = MPI_DOUBLE_INT;
    MPI_Datatype dup, contiguous, vector, hvector, indexed, hindexed, indexed_block, hindexed_block;
    MPI_Datatype structure, resized, subarray, fortran_subarray, darray, nested, empty;
    MPI_Datatype f90_integer, f90_real, f90_complex;

    MPI_Type_dup(MPI_INT, &dup);
    commit("dup", &dup, I, I);
    MPI_Type_contiguous(5, MPI_INT, &contiguous);
    commit("contiguous", &contiguous, 5 * I, 5 * I);
    check_ints("contiguous", contiguous, numbers, INTS(0, 1, 2, 3, 4));
    MPI_Type_vector(3, 2, 8, MPI_INT, &vector);
    commit("vector", &vector, 6 * I, 18 * I);
    check_ints("vector", vector, numbers, INTS(0, 1, 8, 9, 16, 17));
    MPI_Type_create_hvector(3, 1, 9 * I, MPI_INT, &hvector);
    commit("hvector", &hvector, 3 * I, 19 * I);
    check_ints("hvector", hvector, numbers, INTS(0, 9, 18));
    MPI_Type_indexed(3, lengths, displacements, MPI_INT, &indexed);
    commit("indexed", &indexed, 6 * I, 11 * I);
    check_ints("indexed", indexed, numbers, INTS(0, 1, 4, 8, 9, 10));
    MPI_Type_create_hindexed(3, lengths, byte_displacements, MPI_INT, &hindexed);
    commit("hindexed", &hindexed, 6 * I, 11 * I);
    check_ints("hindexed", hindexed, numbers, INTS(0, 1, 4, 8, 9, 10));
    MPI_Type_create_indexed_block(3, 2, displacements, MPI_INT, &indexed_block);
    commit("indexed_block", &indexed_block, 6 * I, 10 * I);
    check_ints("indexed_block", indexed_block, numbers, INTS(0, 1, 4, 5, 8, 9));
    MPI_Type_create_hindexed_block(3, 2, byte_displacements, MPI_INT, &hindexed_block);
    commit("hindexed_block", &hindexed_block, 6 * I, 10 * I);
    check_ints("hindexed_block", hindexed_block, numbers, INTS(0, 1, 4, 5, 8, 9));

    const int field_lengths[3] = {3, 1, 8};
    const MPI_Aint field_displacements[3] = {offsetof(struct particle, position), offsetof(struct particle, id),
                                             offsetof(struct particle, name)};
    const MPI_Datatype field_types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Type_create_struct(3, field_lengths, field_displacements, field_types, &structure);
    commit("struct", &structure, 3 * 8 + 4 + 8, sizeof(struct particle));
    MPI_Type_create_resized(MPI_INT, 0, 4 * I, &resized);
    commit("resized", &resized, I, 4 * I);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &subarray);
    commit("subarray", &subarray, 6 * I, 64 * I);
    check_ints("subarray", subarray, numbers, INTS(12, 13, 14, 20, 21, 22));
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &fortran_subarray);
    commit("fortran_subarray", &fortran_subarray, 6 * I, 64 * I);
    check_ints("fortran_subarray", fortran_subarray, numbers, INTS(33, 34, 41, 42, 49, 50));
    /* Process 1 of 2 x 2: rows in blocks, columns dealt out in pairs. */
    const int distributions[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int distribution_arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, process_sizes[2] = {2, 2};
    MPI_Type_create_darray(4, 1, 2, sizes, distributions, distribution_arguments, process_sizes, MPI_ORDER_C, MPI_INT, &darray);
    commit("darray", &darray, 16 * I, 64 * I);
    check_ints("darray", darray, numbers, INTS(2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31));
    /* Two of every four ints, three times, every 16 ints: a vector of a vector. */
    MPI_Datatype inner;
    MPI_Type_vector(2, 2, 4, MPI_INT, &inner);
    MPI_Type_create_hvector(3, 1, 16 * I, inner, &nested);
    MPI_Type_free(&inner); /* the outer type stays valid */
    commit("nested", &nested, 12 * I, 38 * I);
    check_ints("nested", nested, numbers, INTS(0, 1, 4, 5, 16, 17, 20, 21, 32, 33, 36, 37));
    MPI_Type_contiguous(0, MPI_INT, &empty);
    commit("empty", &empty, 0, 0);
    MPI_Type_create_f90_integer(9, &f90_integer);
    MPI_Type_create_f90_real(15, MPI_UNDEFINED, &f90_real);
    MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &f90_complex);

    int sum = numbers[63] + particles[1].id + pair.index; /* breakpoint: all types live */

    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("datatypes: rank %d: %s (%d %d)\n", rank, wrong ? "WRONG" : "right", sum, named == MPI_INT && pair_type == MPI_DOUBLE_INT);
    MPI_Datatype *const types[] = {&dup,       &contiguous, &vector,   &hvector,          &indexed, &hindexed, &indexed_block,
                                   &structure, &resized,    &subarray, &fortran_subarray, &darray,  &nested,   &hindexed_block,
                                   &empty};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        MPI_Type_free(types[i]);
    }
    MPI_Finalize();
    return wrong;
}
