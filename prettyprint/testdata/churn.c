/* Makes, names, commits and frees handles without end while a debugger stops it anywhere: `churn SEED ROUNDS`.
 *
 * It prints "READY 0 pid" and waits for a line; then begin() is called, and the rounds follow. What is alive when it waits lives to the end, with the figures that it has then. What is made
 * later follows rules, so that half of a record is told from a whole one:
 *   VECTOR count, blocklength, 5 count + blocklength      INDEXED blocklengths 1, 2, ..., displacements 0, 10, 20, ...
 *   STRUCT blocklengths 1, 2, ..., offsets 0, 4096, ...   RESIZED lb -8           SUBARRAY, CONTIGUOUS, DUP as they come
 * One lasting type, one communicator and one window change between two names; the one info has one key, `state`, whose value changes between these. Groups have the one rank.
 * A receive's tag is 1000 and its count, its peer is this rank; sends of one int go to MPI_PROC_NULL with the tag 7.
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

enum { LASTING = 14, POOL = 12, MOST = 1000, SLOTS = 4 };

static uint64_t state;
static MPI_Datatype lasting[LASTING], pool[POOL], filled[MOST];
static int pooled, n_filled, boxes[SLOTS][SLOTS + 1];
static MPI_Request open_requests[SLOTS];
static MPI_Info info;
static MPI_Win window;
static const char *const names[] = {"short", "a name that is as long as a name can be that fits into the field of it"};

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

static int send_to(int slot) {
  int out[SLOTS + 1] = {0};
  return MPI_Send(out, slot + 1, MPI_INT, 0, 1000 + slot + 1, MPI_COMM_SELF);
}

/* A receive is posted, or it gets its message and is completed in one of the ways there are. */
static void requests(void) {
  int slot = draw(SLOTS), flag = 0, index, indices[1];
  MPI_Request *q = &open_requests[slot], sends[2];
  if (*q == MPI_REQUEST_NULL) {
    MPI_Irecv(boxes[slot], slot + 1, MPI_INT, 0, 1000 + slot + 1, MPI_COMM_SELF, q);
    return;
  }
  switch (draw(7)) {
    case 0: send_to(slot); MPI_Wait(q, MPI_STATUS_IGNORE); break;
    case 1:
      MPI_Test(q, &flag, MPI_STATUS_IGNORE);
      send_to(slot);
      while (!flag) MPI_Test(q, &flag, MPI_STATUS_IGNORE);
      break;
    case 2: send_to(slot); MPI_Waitall(1, q, MPI_STATUSES_IGNORE); break;
    case 3: send_to(slot); MPI_Waitsome(1, q, &flag, indices, MPI_STATUSES_IGNORE); break;
    case 4: MPI_Cancel(q); MPI_Waitany(1, q, &index, MPI_STATUS_IGNORE); break;
    case 5: /* given up: its message comes all the same */
      MPI_Request_free(q);
      send_to(slot);
      break;
    default:
      for (int i = 0; i < 2; i++) MPI_Isend(boxes[0], 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_SELF, &sends[i]);
      MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  }
}

static void persistent(void) {
  MPI_Request q;
  MPI_Recv_init(boxes[0], 1, MPI_INT, 0, 1001, MPI_COMM_SELF, &q);
  if (open_requests[0] == MPI_REQUEST_NULL && draw(2)) {
    MPI_Start(&q);
    send_to(0);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&q);
}

static void objects(void) {
  static unsigned info_turn = 1, window_turn = 1;
  MPI_Group world, one;
  int first = 0, *memory;
  MPI_Win other;
  switch (draw(5)) {
    case 0:
      MPI_Comm_group(MPI_COMM_WORLD, &world);
      MPI_Group_incl(world, 1, &first, &one);
      MPI_Group_free(&world);
      MPI_Group_free(&one);
      break;
    case 1: MPI_Info_set(info, "state", names[info_turn++ % 2]); break;
    case 2: MPI_Win_set_name(window, names[window_turn++ % 2]); break;
    case 3:
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Win_unlock(0, window);
      break;
    default:
      MPI_Win_allocate(16, sizeof *memory, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &other);
      MPI_Win_set_name(other, names[0]);
      MPI_Win_free(&other);
  }
}

static void round_of(MPI_Comm comm) {
  static unsigned type_turn = 1, comm_turn = 1;
  switch (draw(13)) {
    case 8:
    case 9: requests(); break;
    case 10: persistent(); break;
    case 11:
    case 12: objects(); break;
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
    if (8 * (used + 3) > 7 * s->capacity || n_filled == MOST) return;
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
  int *memory;
  MPI_Win_allocate(16, sizeof *memory, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window); /* Open MPI has no other kind for one rank */
  MPI_Win_set_name(window, "short");
  MPI_Info_create(&info);
  MPI_Info_set(info, "state", "short");
  for (int i = 0; i < SLOTS; i++) open_requests[i] = MPI_REQUEST_NULL;
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
  for (int i = 0; i < SLOTS; i++) {
    if (open_requests[i] == MPI_REQUEST_NULL) continue;
    send_to(i);
    MPI_Wait(&open_requests[i], MPI_STATUS_IGNORE);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
