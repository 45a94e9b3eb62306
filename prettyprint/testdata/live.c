/* Datatypes and communicators that are alive while a debugger looks, and what MPI itself says of them.
 *
 *   live types SEED N   every predefined type, one type of each constructor, and N random trees of constructors. A line for each:
 *                       TYPE name handle fhandle size lb extent true_lb true_extent count buffer packed-bytes-in-hex
 *                       and one line NESTED handle handle-of-its-part
 *   live comms          TYPE's counterpart: COMM name handle fhandle size rank members-in-world
 * Then "READY rank pid", and rank 0 waits for a line on stdin, the others for rank 0.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HALF = 1 << 17, PACKED = 1 << 16, COUNT = 2 };
static unsigned char memory[2 * HALF], packed[PACKED];
static uint64_t state;
static int show_member; /* of a type: 1 if its figures are small enough to be shown */

static uint64_t handle_of(const void *p, size_t n) {
  uint64_t h = 0;
  memcpy(&h, p, n);
  return h;
}

static int figures(MPI_Datatype t, int *size, MPI_Aint f[4]) {
  MPI_Type_size(t, size);
  MPI_Type_get_extent(t, &f[0], &f[1]);
  MPI_Type_get_true_extent(t, &f[2], &f[3]);
  MPI_Aint reach = f[3] + (f[1] < 0 ? -f[1] : f[1]) * COUNT;
  return *size >= 0 && *size * COUNT <= PACKED / 2 && f[2] - reach > -HALF && f[2] + f[3] + reach < HALF && f[1] < HALF && f[1] > -HALF;
}

static void show(const char *name, MPI_Datatype t) {
  int size, position = 0;
  MPI_Aint f[4];
  show_member = figures(t, &size, f);
  if (!show_member) return;
  MPI_Type_commit(&t);
  MPI_Pack(memory + HALF, COUNT, t, packed, PACKED, &position, MPI_COMM_SELF);
  printf("TYPE %s 0x%llx %d %d %ld %ld %ld %ld %d 0x%llx ", name, (unsigned long long)handle_of(&t, sizeof t), (int)MPI_Type_c2f(t), size,
         (long)f[0], (long)f[1], (long)f[2], (long)f[3], COUNT, (unsigned long long)(uintptr_t)(memory + HALF));
  for (int i = 0; i < position; i++) printf("%02x", packed[i]);
  printf("%s\n", position == 0 ? "-" : "");
}

static int draw(int lo, int hi) { /* lo..hi */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return lo + (int)((state >> 33) % (uint64_t)(hi - lo + 1));
}

static const MPI_Datatype *basics(int *n) {
  static MPI_Datatype b[12];
  MPI_Datatype all[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_FLOAT, MPI_BYTE, MPI_LONG, MPI_C_DOUBLE_COMPLEX, MPI_DOUBLE_INT, MPI_SHORT_INT,
                        MPI_LONG_DOUBLE};
  memcpy(b, all, sizeof all);
  *n = sizeof all / sizeof *all;
  return b;
}

static MPI_Datatype random_type(int depth);

static MPI_Datatype random_array(MPI_Datatype kid) {
  MPI_Datatype t;
  int n = draw(1, 3), sizes[3], subs[3], starts[3], dist[3], darg[3], procs[3], ranks = 1;
  int order = draw(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  if (draw(0, 1)) {
    for (int i = 0; i < n; i++) {
      sizes[i] = draw(1, 4);
      subs[i] = draw(1, sizes[i]);
      starts[i] = draw(0, sizes[i] - subs[i]);
    }
    MPI_Type_create_subarray(n, sizes, subs, starts, order, kid, &t);
    return t;
  }
  for (int i = 0; i < n; i++) {
    sizes[i] = draw(2, 6);
    procs[i] = draw(1, 2);
    darg[i] = MPI_DISTRIBUTE_DFLT_DARG;
    switch (draw(0, 3)) {
      case 0: dist[i] = MPI_DISTRIBUTE_NONE; procs[i] = 1; break;
      case 1: dist[i] = MPI_DISTRIBUTE_BLOCK; break;
      case 2: dist[i] = MPI_DISTRIBUTE_CYCLIC; break;
      default: dist[i] = MPI_DISTRIBUTE_CYCLIC; darg[i] = draw(1, 3);
    }
    ranks *= procs[i];
  }
  MPI_Type_create_darray(ranks, draw(0, ranks - 1), n, sizes, dist, darg, procs, order, kid, &t);
  return t;
}

static MPI_Datatype random_struct(int depth, MPI_Datatype kid) {
  MPI_Datatype t, types[4];
  int n = draw(1, 4), lengths[4];
  MPI_Aint disps[4];
  for (int i = 0; i < n; i++) {
    lengths[i] = draw(0, 2);
    disps[i] = draw(-50, 200);
    types[i] = i == 0 ? kid : random_type(depth > 1 ? 1 : 0);
#ifdef MPICH
    if (i > 0 && draw(0, 5) == 0) types[i] = draw(0, 1) ? MPI_LB : MPI_UB;
#endif
  }
  MPI_Type_create_struct(n, lengths, disps, types, &t);
  return t;
}

static MPI_Datatype random_type(int depth) {
  int n, lengths[5], idisps[5];
  MPI_Aint disps[5];
  MPI_Datatype t, kid;
  if (depth == 0) {
    const MPI_Datatype *b = basics(&n);
    return b[draw(0, n - 1)];
  }
  kid = random_type(draw(0, depth - 1));
  n = draw(1, 4);
  for (int i = 0; i < n; i++) {
    lengths[i] = draw(0, 3);
    idisps[i] = draw(-6, 12);
    disps[i] = draw(-100, 200);
  }
  switch (draw(0, 10)) {
    case 0: MPI_Type_contiguous(draw(0, 5), kid, &t); break;
    case 1: MPI_Type_vector(n, draw(0, 3), draw(-4, 6), kid, &t); break;
    case 2: MPI_Type_create_hvector(n, draw(0, 3), draw(-40, 60), kid, &t); break;
    case 3: MPI_Type_indexed(n, lengths, idisps, kid, &t); break;
    case 4: MPI_Type_create_hindexed(n, lengths, disps, kid, &t); break;
    case 5: MPI_Type_create_indexed_block(n, draw(0, 3), idisps, kid, &t); break;
    case 6: MPI_Type_create_hindexed_block(n, draw(0, 3), disps, kid, &t); break;
    case 7: MPI_Type_create_resized(kid, draw(-16, 16), draw(0, 64), &t); break;
    case 8: MPI_Type_dup(kid, &t); break;
    case 9: {
      int size;
      MPI_Type_size(kid, &size);
      if (size == 0) /* Open MPI refuses arrays of nothing */
        MPI_Type_dup(kid, &t);
      else
        t = random_array(kid);
      break;
    }
    default: t = random_struct(depth, kid);
  }
  int ni, na, nt, combiner;
  MPI_Type_get_envelope(kid, &ni, &na, &nt, &combiner);
  if (combiner != MPI_COMBINER_NAMED && draw(0, 1)) MPI_Type_free(&kid); /* freed, but still used */
  return t;
}

#define NAMED(t) if (t != MPI_DATATYPE_NULL) show(#t, t);

static void types(int n) {
  for (size_t i = 0; i < sizeof memory; i++) memory[i] = (unsigned char)(i * 131 + (i >> 8) * 7 + (i >> 16));
  NAMED(MPI_CHAR) NAMED(MPI_SIGNED_CHAR) NAMED(MPI_UNSIGNED_CHAR) NAMED(MPI_BYTE) NAMED(MPI_WCHAR) NAMED(MPI_SHORT) NAMED(MPI_UNSIGNED_SHORT)
  NAMED(MPI_INT) NAMED(MPI_UNSIGNED) NAMED(MPI_LONG) NAMED(MPI_UNSIGNED_LONG) NAMED(MPI_LONG_LONG_INT) NAMED(MPI_UNSIGNED_LONG_LONG)
  NAMED(MPI_FLOAT) NAMED(MPI_DOUBLE) NAMED(MPI_LONG_DOUBLE) NAMED(MPI_INT8_T) NAMED(MPI_INT64_T) NAMED(MPI_UINT16_T) NAMED(MPI_UINT64_T)
  NAMED(MPI_C_BOOL) NAMED(MPI_C_FLOAT_COMPLEX) NAMED(MPI_C_DOUBLE_COMPLEX) NAMED(MPI_C_LONG_DOUBLE_COMPLEX) NAMED(MPI_AINT) NAMED(MPI_OFFSET)
  NAMED(MPI_COUNT) NAMED(MPI_FLOAT_INT) NAMED(MPI_DOUBLE_INT) NAMED(MPI_LONG_INT) NAMED(MPI_SHORT_INT) NAMED(MPI_2INT) NAMED(MPI_LONG_DOUBLE_INT)
  NAMED(MPI_CHARACTER) NAMED(MPI_LOGICAL) NAMED(MPI_INTEGER) NAMED(MPI_REAL) NAMED(MPI_DOUBLE_PRECISION) NAMED(MPI_COMPLEX) NAMED(MPI_DOUBLE_COMPLEX)
  NAMED(MPI_INTEGER1) NAMED(MPI_INTEGER2) NAMED(MPI_INTEGER4) NAMED(MPI_INTEGER8) NAMED(MPI_REAL4) NAMED(MPI_REAL8) NAMED(MPI_REAL16)
  NAMED(MPI_COMPLEX8) NAMED(MPI_COMPLEX16) NAMED(MPI_COMPLEX32) NAMED(MPI_2INTEGER) NAMED(MPI_2REAL) NAMED(MPI_2DOUBLE_PRECISION)
  MPI_Datatype t;
  MPI_Datatype inner;
  MPI_Type_vector(2, 1, 3, MPI_INT, &inner);
  MPI_Type_contiguous(2, inner, &t);
  printf("NESTED 0x%llx 0x%llx\n", (unsigned long long)handle_of(&t, sizeof t), (unsigned long long)handle_of(&inner, sizeof inner));
  show("nested", t);
  MPI_Type_create_f90_real(15, MPI_UNDEFINED, &t); show("f90_real", t);
  MPI_Type_create_f90_real(6, 30, &t); show("f90_real6", t);
  MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &t); show("f90_complex", t);
  MPI_Type_create_f90_integer(9, &t); show("f90_integer", t);
  MPI_Type_contiguous(0, MPI_INT, &t); show("empty", t);
#ifdef MPICH
  MPI_Type_create_struct(5, (int[]){1, 5, 7, 2, 1}, (MPI_Aint[]){-4, 0, 47, 76, 100},
                         (MPI_Datatype[]){MPI_LB, MPI_INT, MPI_CHAR, MPI_DOUBLE, MPI_UB}, &t);
  show("fig1", t);
#endif
  for (int i = 0; i < n; i++) {
    char name[32];
    snprintf(name, sizeof name, "random%d", i);
    t = random_type(4);
    show(name, t);
    if (!show_member) i--;
  }
}

static void show_comm(const char *name, MPI_Comm c) {
  int size, rank, n, all[64], translated[64];
  MPI_Group g, world;
  if (c == MPI_COMM_NULL) return;
  MPI_Comm_size(c, &size);
  MPI_Comm_rank(c, &rank);
  MPI_Comm_group(c, &g);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(g, &n);
  for (int i = 0; i < n; i++) all[i] = i;
  MPI_Group_translate_ranks(g, n, all, world, translated);
  /* A line a write: the launcher mixes what the ranks write. */
  char line[1024];
  int length = snprintf(line, sizeof line, "COMM %s 0x%llx %d %d %d ", name, (unsigned long long)handle_of(&c, sizeof c), (int)MPI_Comm_c2f(c), size, rank);
  for (int i = 0; i < n; i++) length += snprintf(line + length, sizeof line - (size_t)length, "%s%d", i ? "," : "", translated[i]);
  line[length++] = '\n';
  if (write(1, line, (size_t)length) != length) abort(); /* stdout need not be buffered */
}

static void comms(void) {
  MPI_Comm dup, split, cart, inter;
  int rank, size, dims[2] = {0, 0}, periods[2] = {1, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_name(dup, "copy");
  MPI_Comm_split(dup, rank % 2, -rank, &split);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
  MPI_Intercomm_create(split, 0, MPI_COMM_WORLD, rank % 2 ? size - 2 : size - 1, 7, &inter);
  show_comm("MPI_COMM_WORLD", MPI_COMM_WORLD);
  show_comm("MPI_COMM_SELF", MPI_COMM_SELF);
  show_comm("dup", dup);
  show_comm("split", split);
  show_comm("cart", cart);
  show_comm("inter", inter);
}

int main(int argc, char **argv) {
  char line[16];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 3 && strcmp(argv[1], "types") == 0) {
    state = strtoull(argv[2], NULL, 0);
    types(atoi(argv[3]));
  } else {
    comms();
  }
  printf("READY %d %d\n", rank, (int)getpid());
  fflush(stdout);
  if (rank == 0 && fgets(line, sizeof line, stdin) == NULL) fprintf(stderr, "live: stdin closed\n");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
