/* Looks at its own registry, as a debugger would, and compares it with what MPI says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cohort_abi.h"

extern struct cohort_registry cohort_registry __attribute__((weak));

#ifdef OPEN_MPI
#define HANDLE(h) ((uint64_t)(uintptr_t)(h))
#else
#define HANDLE(h) ((uint64_t)(uint32_t)(h))
#endif

static int failed;

static void check(int ok, const char *what, int line) {
  if (ok) return;
  printf("registry: line %d: wrong: %s\n", line, what);
  failed = 1;
}
#define CHECK(x) check(x, #x, __LINE__)

static void *find(uint64_t table, uint64_t handle) {
  struct cohort_slots *s = (void *)(uintptr_t)table;
  uint64_t i = (handle * 0x9E3779B97F4A7C15u >> 20) & (s->capacity - 1);
  for (; s->slot[i].record != 0; i = (i + 1) & (s->capacity - 1))
    if (s->slot[i].record != 1 && s->slot[i].handle == handle) return (void *)(uintptr_t)s->slot[i].record;
  return NULL;
}

static struct cohort_datatype *type_of(MPI_Datatype t) { return find(cohort_registry.datatypes, HANDLE(t)); }

/* `old`: what the type was made of; NULL where that is not one type. Open MPI returns duplicates from MPI_Type_get_contents. */
static void same_contents(MPI_Datatype t, uint32_t combiner, MPI_Datatype old, int line) {
  struct cohort_datatype *d = type_of(t);
  int ni, na, nt, c;
  check(d != NULL, "the type is in the registry", line);
  if (d == NULL) return;
  MPI_Type_get_envelope(t, &ni, &na, &nt, &c);
  check(d->o.kind == combiner && d->n_integers == (uint32_t)ni && d->n_addresses == (uint32_t)na && d->n_types == (uint32_t)nt,
        "envelope", line);
  if (d->n_integers != (uint32_t)ni || d->n_addresses != (uint32_t)na || d->n_types != (uint32_t)nt) return;
  int *ints = malloc(sizeof(int) * (size_t)(ni + 1));
  MPI_Aint *aints = malloc(sizeof(MPI_Aint) * (size_t)(na + 1));
  MPI_Datatype *types = malloc(sizeof(MPI_Datatype) * (size_t)(nt + 1));
  MPI_Type_get_contents(t, ni, na, nt, ints, aints, types);
  int64_t *di = (int64_t *)(d + 1), *da = di + ni;
  uint64_t *dt = (uint64_t *)(da + na);
  for (int i = 0; i < ni; i++) check(di[i] == ints[i], "integers", line);
  for (int i = 0; i < na; i++) check(da[i] == aints[i], "addresses", line);
  for (int i = 0; i < nt; i++) {
    struct cohort_datatype *part = (void *)(uintptr_t)dt[i];
    if (old != MPI_DATATYPE_NULL) check(part == type_of(old), "types", line);
    int a, b, e, k;
    MPI_Type_get_envelope(types[i], &a, &b, &e, &k);
    if (k != MPI_COMBINER_NAMED) MPI_Type_free(&types[i]);
  }
  int size;
  MPI_Aint lb, extent, tlb, textent;
  MPI_Type_size(t, &size);
  MPI_Type_get_extent(t, &lb, &extent);
  MPI_Type_get_true_extent(t, &tlb, &textent);
  check(d->type_size == size && d->lb == lb && d->extent == extent && d->true_lb == tlb && d->true_extent == textent, "figures", line);
  check(d->o.call_site != 0, "origin", line);
#ifdef OPEN_MPI
  check(d->o.f_handle == -1, "a Fortran handle that nobody asked for", line);
#endif
  MPI_Fint f = MPI_Type_c2f(t);
  check(d->o.f_handle == f, "the Fortran handle", line);
  free(ints);
  free(aints);
  free(types);
}
#define SAME(t, combiner, old) same_contents(t, COHORT_COMBINER_##combiner, old, __LINE__)

static void constructors(void) {
  MPI_Datatype t[16];
  int lengths[3] = {1, 2, 3}, places[3] = {0, 4, 9}, sizes[2] = {8, 9}, sub[2] = {2, 3}, starts[2] = {1, 2};
  int dist[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, args[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[2] = {2, 2};
  MPI_Aint bytes[3] = {0, 40, 100};
  MPI_Datatype parts[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  int n = 0;
  MPI_Type_contiguous(3, MPI_INT, &t[n]); SAME(t[n], CONTIGUOUS, MPI_INT); n++;
  MPI_Type_vector(3, 2, 5, t[0], &t[n]); SAME(t[n], VECTOR, t[0]); n++;
  MPI_Type_create_hvector(3, 2, 100, t[1], &t[n]); SAME(t[n], HVECTOR, t[1]); n++;
  MPI_Type_indexed(3, lengths, places, MPI_FLOAT, &t[n]); SAME(t[n], INDEXED, MPI_FLOAT); n++;
  MPI_Type_create_hindexed(3, lengths, bytes, MPI_SHORT, &t[n]); SAME(t[n], HINDEXED, MPI_SHORT); n++;
  MPI_Type_create_indexed_block(3, 2, places, MPI_LONG, &t[n]); SAME(t[n], INDEXED_BLOCK, MPI_LONG); n++;
  MPI_Type_create_hindexed_block(3, 2, bytes, MPI_BYTE, &t[n]); SAME(t[n], HINDEXED_BLOCK, MPI_BYTE); n++;
  MPI_Type_create_struct(3, lengths, bytes, parts, &t[n]); SAME(t[n], STRUCT, MPI_DATATYPE_NULL); n++;
  MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_FORTRAN, MPI_INT, &t[n]); SAME(t[n], SUBARRAY, MPI_INT); n++;
  MPI_Type_create_darray(4, 1, 2, sizes, dist, args, grid, MPI_ORDER_C, MPI_INT, &t[n]); SAME(t[n], DARRAY, MPI_INT); n++;
  MPI_Type_create_resized(t[7], -4, 200, &t[n]); SAME(t[n], RESIZED, t[7]); n++;
  MPI_Type_dup(t[7], &t[n]); SAME(t[n], DUP, t[7]); n++;
  uint64_t *made_of = (uint64_t *)((int64_t *)(type_of(t[7]) + 1) + 4 + 3);
  for (int i = 0; i < 3; i++) CHECK(made_of[i] == (uint64_t)(uintptr_t)type_of(parts[i]));
  CHECK(!(type_of(t[0])->o.state & COHORT_TYPE_COMMITTED));
  MPI_Type_commit(&t[0]);
  CHECK(type_of(t[0])->o.state & COHORT_TYPE_COMMITTED);
  MPI_Datatype copies[3]; /* a duplicate is committed if what it is made of is */
  MPI_Type_dup(t[0], &copies[0]);
  MPI_Type_dup(t[1], &copies[1]);
  MPI_Type_dup(MPI_DOUBLE, &copies[2]);
  for (int i = 0; i < 3; i++) {
    CHECK(!(type_of(copies[i])->o.state & COHORT_TYPE_COMMITTED) == (i == 1));
    MPI_Type_free(&copies[i]);
  }
  MPI_Type_set_name(t[0], "three integers");
  CHECK(strcmp((const char *)(uintptr_t)type_of(t[0])->o.name, "three integers") == 0);
  /* A part that was freed is kept by what is made of it. */
  struct cohort_datatype *kept = type_of(t[1]);
  CHECK(kept->o.refs == 2);
  MPI_Datatype gone = t[1];
  MPI_Type_free(&t[1]);
  CHECK(type_of(gone) == NULL && kept->o.refs == 1 && (kept->o.state & COHORT_OBJECT_FREED));
  for (int i = 0; i < n; i++)
    if (i != 1) MPI_Type_free(&t[i]);
  MPI_Datatype real;
  if (MPI_Type_create_f90_real(6, 30, &real) == MPI_SUCCESS) CHECK(type_of(real) != NULL && type_of(real)->o.kind == COHORT_COMBINER_F90_REAL);
}

static void named(MPI_Datatype t, const char *name, uint32_t basic, uint32_t size, int line) {
  struct cohort_datatype *d = type_of(t);
  check(d != NULL && d->o.kind == COHORT_COMBINER_NAMED && strcmp((const char *)(uintptr_t)d->o.name, name) == 0 && d->basic == basic && d->basic_size == size, name, line);
}
#define NAMED(t, basic, size) named(t, #t, COHORT_BASIC_##basic, size, __LINE__)

static void churn(int n) {
  MPI_Datatype v, s;
  for (int i = 0; i < n; i++) {
    MPI_Type_vector(4, 1, 4, MPI_INT, &v);
    MPI_Type_contiguous(2, v, &s);
    MPI_Type_commit(&s);
    MPI_Type_free(&v);
    MPI_Type_free(&s);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (&cohort_registry == NULL) {
    printf("registry: there is no interposer\n");
    return 2;
  }
  CHECK(cohort_registry.magic == COHORT_REGISTRY_MAGIC && cohort_registry.size == sizeof cohort_registry);
  CHECK(cohort_registry.handle_size == sizeof(MPI_Datatype));
  NAMED(MPI_CHAR, CHAR, 1);
  NAMED(MPI_INT, INT, 4);
  NAMED(MPI_UNSIGNED_LONG, UINT, 8);
  NAMED(MPI_DOUBLE, FLOAT, 8);
  NAMED(MPI_LONG_DOUBLE, FLOAT, 16);
  NAMED(MPI_C_DOUBLE_COMPLEX, COMPLEX, 16);
  NAMED(MPI_DOUBLE_INT, PAIR, 8);
  NAMED(MPI_LONG_DOUBLE_INT, PAIR, 16);
  NAMED(MPI_INTEGER, INT, 4);
  NAMED(MPI_LOGICAL, LOGICAL, 4);
  NAMED(MPI_AINT, ADDRESS, 8);
  NAMED(MPI_DATATYPE_NULL, NULL, 0);
  constructors();
  constructors(); /* handles are used again */
  churn(200);
  uint64_t mapped = cohort_registry.memory, used = cohort_registry.memory_used;
  churn(500000); /* a million types */
  CHECK(cohort_registry.memory == mapped && cohort_registry.memory_used == used && cohort_registry.lost == 0);

  struct cohort_comm *world = find(cohort_registry.comms, HANDLE(MPI_COMM_WORLD));
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(world != NULL && world->global_id == 1 && world->comm_size == (uint32_t)ranks && world->comm_rank == (uint32_t)rank);
  int dims[2] = {1, ranks}, periods[2] = {0, 1};
  MPI_Comm cart;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
  MPI_Comm_set_name(cart, "grid");
  struct cohort_comm *c = find(cohort_registry.comms, HANDLE(cart));
  CHECK(c != NULL && c->o.kind == COHORT_COMM_CART && c->n_dims == 2 && c->parent_id == 1 && strcmp((const char *)(uintptr_t)c->o.name, "grid") == 0);
  if (c != NULL) {
    uint32_t *members = (uint32_t *)(c + 1);
    int32_t *shape = (int32_t *)(members + c->n_members + c->n_remote);
    for (int i = 0; i < ranks; i++) CHECK(members[i] == (uint32_t)i);
    CHECK(shape[0] == 1 && shape[1] == ranks && shape[2] == 0 && shape[3] == 1 && shape[4] == 0 && shape[5] == rank);
    uint64_t id = c->global_id, all[64];
    MPI_Allgather(&id, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) CHECK(all[i] == id);
  }
  MPI_Comm gone = cart;
  MPI_Comm_free(&cart);
  CHECK(find(cohort_registry.comms, HANDLE(gone)) == NULL);
  printf("registry: rank %d: %llu bytes mapped, %llu used\n", rank, (unsigned long long)mapped, (unsigned long long)used);
  MPI_Finalize();
  return failed;
}
