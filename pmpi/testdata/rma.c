/* One-sided communication whose results depend on who comes first, in every way: tickets and sums of floating-point numbers under a fence, post/start/complete/wait, exclusive locks, shared
 * locks with atomics, a lock made of compare-and-swap, windows that are read after a barrier only. Everything that a rank sees goes into its hashes. Delays that depend on the environment's PERTURB
 * make another order likely. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderhash.h"

enum { CELLS = 100, ROUNDS = 6 };

static struct order order = ORDER_INIT;
static int rank, ranks;
static unsigned seed;

static void delay(void) {
  seed = seed * 1103515245u + 12345u;
  if (seed >> 16 & 1) usleep(seed >> 20 & 255);
}

static void saw(const void *bytes, size_t n) { order_data(&order, bytes, n); }

struct cells {
  double sum;
  long counter, swapped, last;
  double cells[CELLS];
};

static void fences(MPI_Win win, struct cells *mine) {
  const long one = 1;
  for (int i = 0; i < ROUNDS; i++) {
    long ticket = -1, previous = -1;
    double strided[8];
    const double share = 1.0 / (3 + rank + i);
    MPI_Datatype every_second;
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &every_second);
    MPI_Type_commit(&every_second);
    memset(strided, 0, sizeof strided);
    delay();
    MPI_Win_fence(0, win);
    MPI_Fetch_and_op(&one, &ticket, MPI_LONG, i % ranks, offsetof(struct cells, counter), MPI_SUM, win);
    MPI_Accumulate(&share, 1, MPI_DOUBLE, i % ranks, offsetof(struct cells, sum), 1, MPI_DOUBLE, MPI_SUM, win);
    const long me = rank;
    MPI_Fetch_and_op(&me, &previous, MPI_LONG, i % ranks, offsetof(struct cells, last), MPI_REPLACE, win);
    MPI_Put(&share, 1, MPI_DOUBLE, (rank + 1) % ranks, offsetof(struct cells, cells) + sizeof(double) * (size_t)(rank + 8 * i), 1, MPI_DOUBLE, win);
    delay();
    MPI_Win_fence(0, win);
    MPI_Get(strided, 1, every_second, (rank + 1) % ranks, offsetof(struct cells, cells), 4, MPI_DOUBLE, win);
    MPI_Type_free(&every_second);
    MPI_Win_fence(0, win);
    saw(&ticket, sizeof ticket);
    saw(&previous, sizeof previous);
    saw(strided, sizeof strided);
    saw(mine, sizeof *mine);
    order_taken(&order, (int)ticket, (int)mine->last);
  }
}

static void post_and_start(MPI_Win win, struct cells *mine) {
  MPI_Group world, others;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, 1, &rank, &others);
  for (int i = 0; i < ROUNDS; i++) {
    long previous[8];
    const double share = 1.0 / (7 + rank + i);
    const long me = rank + 100 * i;
    MPI_Win_post(others, 0, win);
    delay();
    MPI_Win_start(others, 0, win);
    for (int r = 0; r < ranks; r++) {
      if (r == rank) continue;
      MPI_Get_accumulate(&me, 1, MPI_LONG, &previous[r % 8], 1, MPI_LONG, r, offsetof(struct cells, swapped), 1, MPI_LONG, MPI_REPLACE, win);
      MPI_Accumulate(&share, 1, MPI_DOUBLE, r, offsetof(struct cells, sum), 1, MPI_DOUBLE, MPI_SUM, win);
    }
    MPI_Win_complete(win);
    for (int r = 0; r < ranks; r++)
      if (r != rank) saw(&previous[r % 8], sizeof previous[0]);
    MPI_Win_wait(win);
    saw(mine, sizeof *mine);
  }
  MPI_Group_free(&world);
  MPI_Group_free(&others);
}

static void locks(MPI_Win win, struct cells *mine) {
  for (int i = 0; i < ROUNDS; i++) {
    struct cells copy;
    delay();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&copy, sizeof copy, MPI_BYTE, 0, 0, sizeof copy, MPI_BYTE, win);
    MPI_Win_flush(0, win);
    saw(&copy, sizeof copy);
    order_taken(&order, (int)copy.last, i);
    copy.last = rank;
    copy.cells[copy.counter % CELLS] = copy.sum / (rank + 2);
    copy.counter++;
    MPI_Put(&copy, sizeof copy, MPI_BYTE, 0, 0, sizeof copy, MPI_BYTE, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  saw(mine, sizeof *mine);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void atomics(MPI_Win win, struct cells *mine) {
  const long zero = 0, one = 1;
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < ROUNDS; i++) {
    long got = -1, found = -1, previous = -1;
    int spins = 0;
    const double share = 1.0 / (11 + rank * i);
    delay();
    MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, offsetof(struct cells, counter), MPI_SUM, win);
    MPI_Win_flush(0, win);
    saw(&got, sizeof got);
    const long mark = rank + 1;
    for (;; spins++) { /* a lock made of compare-and-swap */
      MPI_Compare_and_swap(&mark, &zero, &found, MPI_LONG, 0, offsetof(struct cells, swapped), win);
      MPI_Win_flush(0, win);
      if (found == 0) break;
    }
    order_taken(&order, spins, (int)got);
    MPI_Get(&previous, 1, MPI_LONG, 0, offsetof(struct cells, last), 1, MPI_LONG, win);
    MPI_Win_flush_local(0, win);
    saw(&previous, sizeof previous);
    MPI_Put(&mark, 1, MPI_LONG, 0, offsetof(struct cells, last), 1, MPI_LONG, win);
    MPI_Accumulate(&share, 1, MPI_DOUBLE, 0, offsetof(struct cells, sum), 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Accumulate(&zero, 1, MPI_LONG, 0, offsetof(struct cells, swapped), 1, MPI_LONG, MPI_REPLACE, win);
    MPI_Win_flush_all(win);
  }
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  saw(mine, sizeof *mine); /* after a barrier only */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(win);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char *perturb = getenv("PERTURB");
  seed = (unsigned)rank * 7919u + (perturb == NULL ? 1u : (unsigned)atoi(perturb));
  const char *only = argc > 1 ? argv[1] : "";
  for (int kind = 0; kind < 2; kind++) {
    struct cells *mine = NULL;
    MPI_Win win;
    if (kind == 0) {
      MPI_Win_allocate(sizeof *mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    } else {
      mine = malloc(sizeof *mine);
      MPI_Win_create(mine, sizeof *mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    MPI_Win_fence(0, win);
    memset(mine, 0, sizeof *mine);
    MPI_Win_fence(0, win);
    if (*only == 0 || strcmp(only, "fence") == 0) fences(win, mine);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (*only == 0 || strcmp(only, "pscw") == 0) post_and_start(win, mine);
    MPI_Barrier(MPI_COMM_WORLD);
    if (*only == 0 || strcmp(only, "lock") == 0) locks(win, mine);
    if (*only == 0 || strcmp(only, "atomics") == 0) atomics(win, mine);
    struct cells last = {0};
    if (kind == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      last = *mine;
    }
    MPI_Win_free(&win);
    if (kind == 1) {
      last = *mine;
      free(mine);
    }
    saw(&last, sizeof last);
  }
  report_order("rma", rank, &order);
  MPI_Finalize();
  return 0;
}
