/* What making datatypes costs: `create KIND N`. It prints "seconds S rss-early KIB rss-late KIB types T".
 *
 *   vector   N times: a vector type is made, committed and freed
 *   struct   N times: a struct of 10,000 blocks
 *   nested   N times: 50 types, each made of the one before; the last is committed, all are freed
 *   live     N vector types are made and committed, and all of them freed at the end; rss-late is when all are alive
 * rss-early is after a tenth of the work, or, of `live`, before it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 10000, DEPTH = 50 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long rss(void) { /* KiB */
  long pages = 0, all;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%ld %ld", &all, &pages) != 2) abort();
  fclose(f);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void vector(void) {
  MPI_Datatype t;
  MPI_Type_vector(100, 1, 10, MPI_DOUBLE, &t);
  MPI_Type_commit(&t);
  MPI_Type_free(&t);
}

static void structure(void) {
  static int lengths[BLOCKS];
  static MPI_Aint places[BLOCKS];
  static MPI_Datatype kinds[BLOCKS];
  MPI_Datatype t;
  if (lengths[0] == 0)
    for (int i = 0; i < BLOCKS; i++) lengths[i] = 1 + i % 3, places[i] = 64 * i, kinds[i] = i % 2 ? MPI_INT : MPI_DOUBLE;
  MPI_Type_create_struct(BLOCKS, lengths, places, kinds, &t);
  MPI_Type_commit(&t);
  MPI_Type_free(&t);
}

static void nested(void) {
  MPI_Datatype t[DEPTH];
  for (int i = 0; i < DEPTH; i++) MPI_Type_vector(1, 1, 2, i == 0 ? MPI_DOUBLE : t[i - 1], &t[i]);
  MPI_Type_commit(&t[DEPTH - 1]);
  for (int i = 0; i < DEPTH; i++) MPI_Type_free(&t[i]);
}

static double live(long n, long *early, long *late) {
  MPI_Datatype *all = malloc((size_t)n * sizeof *all);
  if (all == NULL) abort();
  memset(all, 0, (size_t)n * sizeof *all); /* in memory already when the first figure is taken */
  MPI_Type_contiguous(2, MPI_INT, &all[0]);
  MPI_Type_free(&all[0]);
  *early = rss();
  double began = now();
  for (long i = 0; i < n; i++) {
    MPI_Type_vector(100, 1, 10, MPI_DOUBLE, &all[i]);
    MPI_Type_commit(&all[i]);
  }
  *late = rss();
  for (long i = 0; i < n; i++) MPI_Type_free(&all[i]);
  double took = now() - began;
  free(all);
  return took;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const char *kind = argc > 2 ? argv[1] : "";
  long n = argc > 2 ? atol(argv[2]) : 0, early = 0, late = 0, types = n;
  double took;
  if (strcmp(kind, "live") == 0) {
    took = live(n, &early, &late);
  } else {
    void (*once)(void) = strcmp(kind, "vector") == 0 ? vector : strcmp(kind, "struct") == 0 ? structure : nested;
    if (once == nested) types = n * DEPTH;
    once();
    double began = now();
    for (long i = 0; i < n; i++) {
      if (i == n / 10) early = rss();
      once();
    }
    took = now() - began;
    late = rss();
  }
  printf("seconds %.9f rss-early %ld rss-late %ld types %ld\n", took, early, late, types);
  MPI_Finalize();
  return 0;
}
