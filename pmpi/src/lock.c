/* Waiting among threads of this process. Whoever waits sleeps in the kernel at last, so that a thread of lower priority
 * that holds what is waited for runs, whatever the scheduling policy. */
#include "core.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void cohort_lock_wait(struct cohort_lock *l) {
  while (atomic_exchange_explicit(&l->state, 2, memory_order_acquire) != 0)
    syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void cohort_lock_wake(struct cohort_lock *l) { syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

enum { YIELDS = 64, SHORT_NAPS = 200 };

uint64_t cohort_pause(uint64_t round) {
  if (round < YIELDS) {
    sched_yield();
    return 0;
  }
  uint64_t us = round < YIELDS + SHORT_NAPS ? 50 : 1000;
  struct timespec t = {0, (long)us * 1000};
  syscall(SYS_nanosleep, &t, NULL); /* nanosleep would be a point at which the program's thread can be cancelled */
  return us;
}
