/* Stands in for one rank of a job: RANK says which. No MPI: the job's integration test needs real debuggers, not real messages. */
#include <stdlib.h>
#include <unistd.h>

static volatile int go_on;

static int compute(int rank, int step) {
  int result = 100 * step; /* breakpoint: compute */
  return result + (rank == 3);
}

static void crash(int *p) { *p = 1; /* here it dies */ }

int main(void) {
  const char *text = getenv("RANK");
  int rank = text ? atoi(text) : -1;
  int sum = 0;
  if (rank == 3)
    while (!go_on) usleep(1000); /* until the debugger lets it go */
  for (int step = 1; step <= 3; step++) sum += compute(rank, step);
  if (rank == 1) sum++; /* breakpoint: all */
  if (rank == 2) crash(NULL);
  return rank == 3 ? 7 : 0;
}
