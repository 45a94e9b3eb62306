/* Builds datatypes as it is told, and says what MPI itself makes of them: the truth for random trees of constructors.
 *
 * After "READY 0 pid" it takes a line at a time from stdin and answers each with one line:
 *
 *   named NAME                    the predefined type of that name            type K handle fhandle
 *   make COMBINER I A T i.. a.. t..   a constructor; I integers, A addresses and T types (numbers of types that were made), as
 *                                 MPI_Type_get_contents returns them             type K handle fhandle, or "error TEXT"
 *   large ...                     the same by the constructor for large counts, where this MPI has it
 *   old ...                       the same by its name in MPI-1
 *   pack K COUNT                  commits it                                  TYPE name handle fhandle size lb extent true_lb true_extent count buffer bytes,
 *                                 "FAR size lb extent true_lb true_extent" if that is more than this program packs
 *   rename K NAME                                                             done
 *   many N                        makes and frees N types                     done
 *   free K                                                                    done
 *   reset                         frees all that are left                     done
 *   end
 */
#ifdef OLD_NAMES
#define OMPI_OMIT_MPI1_COMPAT_DECLS 1 /* the library has them; the header would refuse their use */
#endif
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HALF = 1 << 18, PACKED = 1 << 17, MOST = 4096, MOST_ARGUMENTS = 4096 };
static unsigned char memory[2 * HALF], packed[PACKED];
static MPI_Datatype types[MOST];
static int n_types, derived[MOST];

#ifdef OPEN_MPI
#undef MPI_Type_struct
#undef MPI_Type_hindexed
#undef MPI_Type_hvector
int MPI_Type_struct(int, int[], MPI_Aint[], MPI_Datatype[], MPI_Datatype *);
int MPI_Type_hindexed(int, int[], MPI_Aint[], MPI_Datatype, MPI_Datatype *);
int MPI_Type_hvector(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *);
extern struct ompi_predefined_datatype_t ompi_mpi_lb, ompi_mpi_ub;
#undef MPI_LB
#undef MPI_UB
#define MPI_LB ((MPI_Datatype)(void *)&ompi_mpi_lb)
#define MPI_UB ((MPI_Datatype)(void *)&ompi_mpi_ub)
#endif

static uint64_t handle_of(MPI_Datatype t) {
  uint64_t h = 0;
  memcpy(&h, &t, sizeof t);
  return h;
}

static MPI_Datatype find(const char *name) {
#define NAMED(t) if (strcmp(name, #t) == 0) return t;
  NAMED(MPI_CHAR) NAMED(MPI_SIGNED_CHAR) NAMED(MPI_UNSIGNED_CHAR) NAMED(MPI_BYTE) NAMED(MPI_PACKED) NAMED(MPI_WCHAR) NAMED(MPI_SHORT) NAMED(MPI_UNSIGNED_SHORT)
  NAMED(MPI_INT) NAMED(MPI_UNSIGNED) NAMED(MPI_LONG) NAMED(MPI_UNSIGNED_LONG) NAMED(MPI_LONG_LONG_INT) NAMED(MPI_UNSIGNED_LONG_LONG) NAMED(MPI_FLOAT)
  NAMED(MPI_DOUBLE) NAMED(MPI_LONG_DOUBLE) NAMED(MPI_C_BOOL) NAMED(MPI_C_FLOAT_COMPLEX) NAMED(MPI_C_DOUBLE_COMPLEX) NAMED(MPI_C_LONG_DOUBLE_COMPLEX)
  NAMED(MPI_AINT) NAMED(MPI_OFFSET) NAMED(MPI_COUNT) NAMED(MPI_FLOAT_INT) NAMED(MPI_DOUBLE_INT) NAMED(MPI_LONG_INT) NAMED(MPI_SHORT_INT) NAMED(MPI_2INT)
  NAMED(MPI_LONG_DOUBLE_INT) NAMED(MPI_CHARACTER) NAMED(MPI_LOGICAL) NAMED(MPI_INTEGER) NAMED(MPI_REAL) NAMED(MPI_DOUBLE_PRECISION) NAMED(MPI_COMPLEX)
  NAMED(MPI_DOUBLE_COMPLEX) NAMED(MPI_INTEGER2) NAMED(MPI_REAL8) NAMED(MPI_2INTEGER) NAMED(MPI_2DOUBLE_PRECISION) NAMED(MPI_LB) NAMED(MPI_UB)
  return MPI_DATATYPE_NULL;
}

static const char *failed(int rc) {
  static char text[MPI_MAX_ERROR_STRING];
  int length;
  if (MPI_Error_string(rc, text, &length) != MPI_SUCCESS) return "unknown";
  for (char *p = text; *p; p++)
    if (*p == '\n') *p = ' ';
  return text;
}

/* The arguments of one constructor. */
static int ints[MOST_ARGUMENTS], n_ints, n_addrs, n_kids;
static MPI_Aint addrs[MOST_ARGUMENTS];
static long wide_ints[MOST_ARGUMENTS]; /* what ints are cut from */
static MPI_Datatype kids[MOST_ARGUMENTS];

static int make(const char *combiner, MPI_Datatype *t) {
  int n = ints[0];
#define IS(name) (strcmp(combiner, name) == 0)
  if (IS("DUP")) return MPI_Type_dup(kids[0], t);
  if (IS("CONTIGUOUS")) return MPI_Type_contiguous(n, kids[0], t);
  if (IS("VECTOR")) return MPI_Type_vector(n, ints[1], ints[2], kids[0], t);
  if (IS("HVECTOR")) return MPI_Type_create_hvector(n, ints[1], addrs[0], kids[0], t);
  if (IS("INDEXED")) return MPI_Type_indexed(n, ints + 1, ints + 1 + n, kids[0], t);
  if (IS("HINDEXED")) return MPI_Type_create_hindexed(n, ints + 1, addrs, kids[0], t);
  if (IS("INDEXED_BLOCK")) return MPI_Type_create_indexed_block(n, ints[1], ints + 2, kids[0], t);
  if (IS("HINDEXED_BLOCK")) return MPI_Type_create_hindexed_block(n, ints[1], addrs, kids[0], t);
  if (IS("STRUCT")) return MPI_Type_create_struct(n, ints + 1, addrs, kids, t);
  if (IS("SUBARRAY")) return MPI_Type_create_subarray(n, ints + 1, ints + 1 + n, ints + 1 + 2 * n, ints[1 + 3 * n] ? MPI_ORDER_FORTRAN : MPI_ORDER_C, kids[0], t);
  if (IS("DARRAY")) {
    int d = ints[2], *sizes = ints + 3, *dist = sizes + d, *args = dist + d, *grid = args + d, order = grid[d] ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    static const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    for (int i = 0; i < d; i++) {
      dist[i] = distributions[dist[i]];
      if (args[i] < 0) args[i] = MPI_DISTRIBUTE_DFLT_DARG;
    }
    return MPI_Type_create_darray(ints[0], ints[1], d, sizes, dist, args, grid, order, kids[0], t);
  }
  if (IS("RESIZED")) return MPI_Type_create_resized(kids[0], addrs[0], addrs[1], t);
  if (IS("F90_REAL")) return MPI_Type_create_f90_real(ints[0] < 0 ? MPI_UNDEFINED : ints[0], ints[1] < 0 ? MPI_UNDEFINED : ints[1], t);
  if (IS("F90_COMPLEX")) return MPI_Type_create_f90_complex(ints[0] < 0 ? MPI_UNDEFINED : ints[0], ints[1] < 0 ? MPI_UNDEFINED : ints[1], t);
  if (IS("F90_INTEGER")) return MPI_Type_create_f90_integer(ints[0], t);
  fprintf(stderr, "tree: no constructor %s\n", combiner);
  abort();
}

static int make_old(const char *combiner, MPI_Datatype *t) {
  if (IS("HVECTOR")) return MPI_Type_hvector(ints[0], ints[1], addrs[0], kids[0], t);
  if (IS("HINDEXED")) return MPI_Type_hindexed(ints[0], ints + 1, addrs, kids[0], t);
  if (IS("STRUCT")) return MPI_Type_struct(ints[0], ints + 1, addrs, kids, t);
  return make(combiner, t);
}

#if !defined(OPEN_MPI) && MPI_VERSION >= 4
static int make_large(const char *combiner, MPI_Datatype *t) {
  static MPI_Count wide[MOST_ARGUMENTS], places[MOST_ARGUMENTS];
  MPI_Count n = wide_ints[0];
  for (int i = 0; i < n_ints; i++) wide[i] = wide_ints[i];
  for (int i = 0; i < n_addrs; i++) places[i] = addrs[i];
  if (IS("CONTIGUOUS")) return MPI_Type_contiguous_c(n, kids[0], t);
  if (IS("VECTOR")) return MPI_Type_vector_c(n, wide[1], wide[2], kids[0], t);
  if (IS("HVECTOR")) return MPI_Type_create_hvector_c(n, wide[1], places[0], kids[0], t);
  if (IS("INDEXED")) return MPI_Type_indexed_c(n, wide + 1, wide + 1 + n, kids[0], t);
  if (IS("HINDEXED")) return MPI_Type_create_hindexed_c(n, wide + 1, places, kids[0], t);
  if (IS("INDEXED_BLOCK")) return MPI_Type_create_indexed_block_c(n, wide[1], wide + 2, kids[0], t);
  if (IS("HINDEXED_BLOCK")) return MPI_Type_create_hindexed_block_c(n, wide[1], places, kids[0], t);
  if (IS("STRUCT")) return MPI_Type_create_struct_c(n, wide + 1, places, kids, t);
  if (IS("SUBARRAY")) {
    int d = ints[0], order = ints[1 + 3 * d] ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    return MPI_Type_create_subarray_c(d, wide + 1, wide + 1 + d, wide + 1 + 2 * d, order, kids[0], t);
  }
  if (IS("DARRAY")) {
    int d = ints[2], *dist = ints + 3 + d, *args = dist + d, *grid = args + d, order = grid[d] ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    static const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    for (int i = 0; i < d; i++) {
      dist[i] = distributions[dist[i]];
      if (args[i] < 0) args[i] = MPI_DISTRIBUTE_DFLT_DARG;
    }
    return MPI_Type_create_darray_c(ints[0], ints[1], d, wide + 3, dist, args, grid, order, kids[0], t);
  }
  if (IS("RESIZED")) return MPI_Type_create_resized_c(kids[0], places[0], places[1], t);
  return make(combiner, t);
}
#else
#define make_large make
#endif

static void add(MPI_Datatype t, int is_derived) {
  if (n_types == MOST) abort();
  types[n_types] = t;
  derived[n_types] = is_derived;
  printf("type %d 0x%llx %d\n", n_types++, (unsigned long long)handle_of(t), (int)MPI_Type_c2f(t));
}

static char *rest; /* of the line */

static char *word(void) {
  char *w = strtok_r(NULL, " \n", &rest);
  if (w == NULL) {
    fprintf(stderr, "tree: the line ends too early\n");
    abort();
  }
  return w;
}

static long number(void) { return strtol(word(), NULL, 10); }

static void constructor(const char *how) {
  MPI_Datatype t = MPI_DATATYPE_NULL;
  const char *combiner = word();
  n_ints = (int)number(), n_addrs = (int)number(), n_kids = (int)number();
  if (n_ints > MOST_ARGUMENTS || n_addrs > MOST_ARGUMENTS || n_kids > MOST_ARGUMENTS) abort();
  for (int i = 0; i < n_ints; i++) ints[i] = (int)(wide_ints[i] = number());
  for (int i = 0; i < n_addrs; i++) addrs[i] = number();
  for (int i = 0; i < n_kids; i++) kids[i] = types[number()];
  int rc = *how == 'l' ? make_large(combiner, &t) : *how == 'o' ? make_old(combiner, &t) : make(combiner, &t);
  /* What it was given is its own from now on. */
  memset(ints, 0x55, sizeof ints), memset(addrs, 0x55, sizeof addrs), memset(kids, 0x55, sizeof kids);
  if (rc != MPI_SUCCESS)
    printf("error %s\n", failed(rc));
  else
    add(t, strncmp(combiner, "F90", 3) != 0);
}

static void pack(int k, int count) {
  MPI_Datatype t = types[k];
  MPI_Count size;
  MPI_Aint lb, extent, true_lb, true_extent;
  int position = 0;
  MPI_Type_size_x(t, &size);
  MPI_Type_get_extent(t, &lb, &extent);
  MPI_Type_get_true_extent(t, &true_lb, &true_extent);
  MPI_Aint reach = true_extent + (extent < 0 ? -extent : extent) * count;
  if (size * count > PACKED / 2 || true_lb - reach <= -HALF || true_lb + reach >= HALF) {
    printf("FAR %lld %ld %ld %ld %ld\n", (long long)size, (long)lb, (long)extent, (long)true_lb, (long)true_extent);
    return;
  }
  if (derived[k]) MPI_Type_commit(&types[k]);
  MPI_Pack(memory + HALF, count, t, packed, PACKED, &position, MPI_COMM_SELF);
  printf("TYPE type%d 0x%llx %d %lld %ld %ld %ld %ld %d 0x%llx ", k, (unsigned long long)handle_of(t), (int)MPI_Type_c2f(t), (long long)size, (long)lb,
         (long)extent, (long)true_lb, (long)true_extent, count, (unsigned long long)(uintptr_t)(memory + HALF));
  for (int i = 0; i < position; i++) printf("%02x", packed[i]);
  printf("%s\n", position == 0 ? "-" : "");
}

static void release(int k) {
  if (derived[k] && types[k] != MPI_DATATYPE_NULL) MPI_Type_free(&types[k]);
  types[k] = MPI_DATATYPE_NULL;
}

int main(int argc, char **argv) {
  static char line[1 << 20];
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof memory; i++) memory[i] = (unsigned char)(i * 131 + (i >> 8) * 7 + (i >> 16));
  printf("READY 0 %d\n", (int)getpid());
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    char *command = strtok_r(line, " \n", &rest);
    if (command == NULL || strcmp(command, "end") == 0) break;
    if (strcmp(command, "named") == 0) {
      MPI_Datatype t = find(word());
      if (t == MPI_DATATYPE_NULL)
        printf("error this MPI has no such type\n");
      else
        add(t, 0);
    } else if (strcmp(command, "make") == 0 || strcmp(command, "large") == 0 || strcmp(command, "old") == 0) {
      constructor(command);
    } else if (strcmp(command, "pack") == 0) {
      int k = (int)number();
      pack(k, (int)number());
    } else {
      if (strcmp(command, "rename") == 0) {
        int k = (int)number();
        MPI_Type_set_name(types[k], word());
      } else if (strcmp(command, "free") == 0) {
        release((int)number());
      } else if (strcmp(command, "many") == 0) {
        for (long left = number(); left > 0; left--) {
          MPI_Datatype t;
          MPI_Type_contiguous(2, MPI_INT, &t);
          MPI_Type_free(&t);
        }
      } else if (strcmp(command, "reset") == 0) {
        while (n_types > 0) release(--n_types);
      } else {
        fprintf(stderr, "tree: no command %s\n", command);
        abort();
      }
      printf("done\n");
    }
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
