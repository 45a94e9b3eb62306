/* Makes, names, commits and frees handles without end while a debugger stops it anywhere: `churn SEED ROUNDS`.
 *
 * It prints "READY 0 pid" and waits for a line; then begin() is called, and the rounds follow. What is alive when it waits lives to the end, with the figures that it has then. What is made
 * later follows rules, so that half of a record is told from a whole one:
 *   VECTOR count, blocklength, 5 count + blocklength      INDEXED blocklengths 1, 2, ..., displacements 0, 10, 20, ...
 *   STRUCT blocklengths 1, 2, ..., offsets 0, 4096, ...   RESIZED lb -8           SUBARRAY, CONTIGUOUS, DUP as they come
 * One lasting type and one communicator change between two names.
 * fill() makes many types, so that the table is to be rebuilt a few types later: it need not be looked at.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cohort_abi.h"

enum { LASTING = 14, POOL = 12, MOST = 1000 };

static uint64_t state;
static MPI_Datatype lasting[LASTING], pool[POOL], filled[MOST];
static int pooled, n_filled;

static int draw(int n) { /* 0..n-1 */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

static MPI_Datatype some(void) {
  if (pooled > 0 && draw(2)) return pool[draw(pooled)];
  return lasting[draw(LASTING)];
}

static MPI_Datatype make(MPI_Datatype kid) {
  int lengths[8], places[8], n = 1 + draw(6);
  MPI_Aint offsets[8];
  MPI_Datatype kids[8], t;
  for (int i = 0; i < n; i++) lengths[i] = i + 1, places[i] = 10 * i, offsets[i] = 4096 * i, kids[i] = i == 0 ? kid : some();
  switch (draw(7)) {
    case 0: MPI_Type_vector(n, 2, 5 * n + 2, kid, &t); break;
    case 1: MPI_Type_indexed(n, lengths, places, kid, &t); break;
    case 2: MPI_Type_create_struct(n, lengths, offsets, kids, &t); break;
    case 3: MPI_Type_create_resized(kid, -8, 4096, &t); break;
    case 4: MPI_Type_dup(kid, &t); break;
    case 5: MPI_Type_contiguous(n, kid, &t); break;
    default: {
      int sizes[] = {4, 5}, subs[] = {2, 3}, starts[] = {1, 1};
      MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_FORTRAN, kid, &t);
    }
  }
  return t;
}

static int depth(MPI_Datatype t) { /* small ones only, so that nothing grows without end */
  MPI_Aint lb, extent;
  int size;
  MPI_Type_get_true_extent(t, &lb, &extent);
  MPI_Type_size(t, &size);
  return extent < 1 << 20 && size < 1 << 16;
}

static void round_of(MPI_Comm comm) {
  static const char *const names[] = {"short", "a name that is as long as a name can be that fits into the field of it"};
  static unsigned type_turn = 1, comm_turn = 1;
  switch (draw(8)) {
    case 0:
    case 1:
    case 2:
      if (pooled < POOL) {
        MPI_Datatype kid = some();
        if (!depth(kid)) kid = lasting[0];
        pool[pooled] = make(kid);
        if (draw(2)) MPI_Type_commit(&pool[pooled]);
        pooled++;
        break;
      } /* fall through */
    case 3:
    case 4:
      if (pooled > 0) {
        int k = draw(pooled);
        MPI_Type_free(&pool[k]);
        pool[k] = pool[--pooled];
      }
      break;
    case 5: MPI_Type_set_name(lasting[3], names[type_turn++ % 2]); break;
    case 6: {
      int ni, na, nt, combiner, ints[64];
      MPI_Aint addrs[64];
      MPI_Datatype kids[64], of = lasting[LASTING - 1];
      MPI_Type_get_envelope(of, &ni, &na, &nt, &combiner);
      MPI_Type_get_contents(of, ni, na, nt, ints, addrs, kids);
      for (int i = 0; i < nt; i++) {
        MPI_Type_get_envelope(kids[i], &ni, &na, &nt, &combiner);
        if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&kids[i]);
        nt = 2; /* a vector and a resized type are in it */
      }
      break;
    }
    default: {
      MPI_Comm copy;
      if (draw(4) == 0) {
        MPI_Comm_dup(comm, &copy);
        MPI_Comm_free(&copy);
      } else {
        MPI_Comm_set_name(comm, names[comm_turn++ % 2]);
      }
    }
  }
}

__attribute__((noinline)) void begin(void) { __asm__ volatile(""); }

/* Until a few more types let the table grow. */
__attribute__((noinline)) void fill(const struct cohort_registry *r) {
  for (;;) {
    const struct cohort_slots *s = (const struct cohort_slots *)(uintptr_t)r->datatypes;
    uint64_t used = 0;
    for (uint64_t i = 0; i < s->capacity; i++) used += s->slot[i].record != 0;
    if (5 * (used + 3) > 4 * s->capacity || n_filled == MOST) return;
    MPI_Type_contiguous(3, MPI_SHORT, &filled[n_filled++]);
  }
}

__attribute__((noinline)) void empty(void) {
  while (n_filled > 0) MPI_Type_free(&filled[--n_filled]);
}

int main(int argc, char **argv) {
  char line[16];
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  long rounds = argc > 2 ? atol(argv[2]) : 1000;
  lasting[0] = MPI_INT, lasting[1] = MPI_DOUBLE_INT;
  MPI_Type_vector(3, 2, 17, MPI_DOUBLE, &lasting[2]);
  MPI_Type_create_resized(MPI_CHAR, -8, 16, &lasting[3]);
  MPI_Type_set_name(lasting[3], "short");
  for (int i = 4; i < LASTING - 1; i++) {
    MPI_Type_contiguous(2, lasting[i - 2], &lasting[i]);
    MPI_Type_commit(&lasting[i]);
  }
  int lengths[] = {1, 2};
  MPI_Aint offsets[] = {0, 4096};
  MPI_Datatype kids[] = {lasting[2], lasting[3]};
  MPI_Type_create_struct(2, lengths, offsets, kids, &lasting[LASTING - 1]);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_name(comm, "short");
  printf("READY 0 %d\n", (int)getpid());
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) fprintf(stderr, "churn: stdin closed\n");
  const struct cohort_registry *registry = dlsym(RTLD_DEFAULT, "cohort_registry");
  begin();
  for (long i = 0; i < rounds; i++) {
    if (i % 64 == 20 && registry != NULL) fill(registry);
    round_of(comm);
    if (i % 64 == 30) empty();
  }
  MPI_Finalize();
  return 0;
}
