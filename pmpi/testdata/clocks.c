/* Clocks and random numbers of the C library: everything that the program is given is printed, and decides how often it calls MPI. With "device" it also reads a random device;
 * where the environment has ONE_MORE it asks once more for the time, with ONE_OTHER for another clock, with ONE_LESS once less. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "orderhash.h"

static struct order order = ORDER_INIT;

static void random_numbers(void) {
  unsigned char bytes[32];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes || getentropy(bytes + 8, 8) != 0) exit(3);
  order_data(&order, bytes, sizeof bytes);
#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 36)
  arc4random_buf(bytes, sizeof bytes);
  const uint32_t numbers[2] = {arc4random(), arc4random_uniform(1000)};
  order_data(&order, bytes, sizeof bytes);
  order_data(&order, numbers, sizeof numbers);
#endif
}

static void *other_thread(void *hash) {
  for (int i = 0; i < 1000; i++) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *(uint64_t *)hash = hash_bytes(*(uint64_t *)hash, &t, sizeof t);
  }
  return NULL;
}

int main(int argc, char **argv) {
  int rank;
  const char *extra = argc > 1 ? argv[1] : "";
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t); /* before MPI_Init: not recorded */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  uint64_t hash = 1;
  pthread_t thread;
  pthread_create(&thread, NULL, other_thread, &hash);
  struct timeval tv;
  struct rusage usage;
  struct tms tms;
  struct timespec from;
  clock_gettime(CLOCK_MONOTONIC, &from);
  int rounds = 0;
  do {
    clock_gettime(CLOCK_MONOTONIC, &t);
    order_data(&order, &t, sizeof t);
    if (++rounds % 64 == 0) MPI_Barrier(MPI_COMM_SELF);
  } while ((t.tv_sec - from.tv_sec) * 1000000000L + t.tv_nsec - from.tv_nsec < 2000000);
  gettimeofday(&tv, NULL);
  getrusage(RUSAGE_SELF, &usage);
  timespec_get(&t, TIME_UTC);
  const long long others[3] = {time(NULL), clock(), times(&tms)};
  order_data(&order, &tv, sizeof tv);
  order_data(&order, &usage, sizeof usage);
  order_data(&order, &t, sizeof t);
  order_data(&order, others, sizeof others);
  order_data(&order, &tms, sizeof tms);
  random_numbers();
  if (strcmp(extra, "device") == 0) {
    FILE *f = fopen("/dev/urandom", "r");
    if (f != NULL) fclose(f);
  }
  if (getenv("ONE_MORE") != NULL) clock_gettime(CLOCK_MONOTONIC, &t);
  if (getenv("ONE_OTHER") != NULL) {
    time(NULL);
  } else if (getenv("ONE_LESS") == NULL) {
    gettimeofday(&tv, NULL);
  }
  pthread_join(thread, NULL);
  order_data(&order, &hash, sizeof hash);
  order.failed_polls = rounds;
  report_order("clocks", rank, &order);
  MPI_Finalize();
  clock_gettime(CLOCK_REALTIME, &t); /* after MPI_Finalize: not recorded */
  return 0;
}
