/* The control block: what Cohort asks of this rank, and what the rank says about itself. */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct cohort_control private_control = {.park_at = COHORT_NEVER, .guard_at = COHORT_NEVER};
EXPORT struct cohort_control *cohort_control_block;
static uint32_t generation; /* of the last release acted upon */

EXPORT __attribute__((noinline, noclone)) void cohort_stop_here(uint32_t reason) {
  __asm__ volatile("" : : "r"(reason) : "memory");
}

void cohort_control_open(void) {
  g.control = &private_control;
  const char *path = getenv(COHORT_ENV_CONTROL);
  if (path == NULL) return;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *p = mmap(NULL, sizeof(struct cohort_control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  off_t length = lseek(fd, 0, SEEK_END);
  close(fd);
  if (p == MAP_FAILED) return;
  struct cohort_control *c = p;
  if (length < (off_t)sizeof *c || c->magic != COHORT_CONTROL_MAGIC || c->version != COHORT_CONTROL_VERSION ||
      c->size != sizeof *c) {
    munmap(p, sizeof *c);
    return;
  }
  /* A program that this one started inherits its environment: the block belongs to the first that comes. */
  uint32_t expected = COHORT_STATE_NEW;
  if (!__atomic_compare_exchange_n(&c->state, &expected, COHORT_STATE_RUNNING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    munmap(p, sizeof *c);
    return;
  }
  g.control = cohort_control_block = c;
  syscall(SYS_futex, &c->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void cohort_set_state(uint32_t state) {
  if (g.refused) return;
  STORE(g.control->state, state);
  syscall(SYS_futex, &g.control->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void cohort_halt(uint32_t state, uint32_t reason) {
  cohort_set_state(state);
  if (g.control->flags & COHORT_FLAG_DEBUGGED) cohort_stop_here(reason);
}

void cohort_stop(uint32_t reason) {
  STORE(g.control->stop_reason, reason);
  cohort_halt(COHORT_STATE_STOPPED, reason);
  cohort_set_state(COHORT_STATE_RUNNING);
}

/* A receive that no message ever comes for: this process alone could send one. */
static MPI_Request nothing = MPI_REQUEST_NULL;
enum { NOTHING_TAG = 1 };

/* To ask after it gives progress to everything, whatever is there already. A probe does not: when a message is there
 * that it may find, MPICH 4.0 goes no further, and where the probe is over a communicator of this process alone, MPICH
 * does nothing for others. Then they wait for ever for room in the queue of this rank. */
void cohort_give_progress(void) {
  if (g.progress == MPI_COMM_NULL || g.phase != PHASE_ACTIVE) return;
  int flag;
  if (nothing == MPI_REQUEST_NULL && PMPI_Irecv(NULL, 0, MPI_BYTE, 0, NOTHING_TAG, g.progress, &nothing) != MPI_SUCCESS)
    nothing = MPI_REQUEST_NULL;
  PMPI_Test(&nothing, &flag, MPI_STATUS_IGNORE);
}

void cohort_progress_close(void) {
  if (g.progress == MPI_COMM_NULL) return;
  if (nothing != MPI_REQUEST_NULL && PMPI_Cancel(&nothing) == MPI_SUCCESS) PMPI_Wait(&nothing, MPI_STATUS_IGNORE);
  PMPI_Comm_free(&g.progress);
}

/* Others may wait for messages of this rank that its MPI has not sent off yet, so it polls; ever more seldom, but
 * at least once a millisecond. */
static uint32_t wait_for_release(void) {
  long wait_ns = 20000;
  for (int round = 0;; round++) {
    uint32_t release = LOAD(g.control->release);
    if (release >> 8 != generation) return release;
    cohort_give_progress();
    if (round < 64) {
      sched_yield();
      continue;
    }
    struct timespec timeout = {0, wait_ns};
    syscall(SYS_futex, &g.control->release, FUTEX_WAIT, release, &timeout, NULL, 0);
    if (wait_ns < 1000000) wait_ns += wait_ns / 2;
    if (wait_ns > 1000000) wait_ns = 1000000;
  }
}

/* A rank that was stopped at its position may find a park_at that is not beyond it when it is resumed: then it parks
 * again where it stands, so that it gives progress while others move. */
void cohort_park(void) {
  if (g.refused) return;
  do {
    STORE(g.control->park_at, COHORT_NEVER);
    cohort_set_state(COHORT_STATE_PARKED);
    uint32_t release = wait_for_release();
    generation = release >> 8;
    if ((release & 0xff) == COHORT_RELEASE_STOP)
      cohort_stop(COHORT_STOP_PARKED);
    else
      cohort_set_state(COHORT_STATE_RUNNING);
  } while (UNLIKELY(g.events >= LOAD(g.control->park_at)));
}

static uint32_t never_woken;

/* Only a signal ends it: the program cannot continue, and it is not ours to end. */
void cohort_wait_for_end(void) {
  for (;;) syscall(SYS_futex, &never_woken, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

/* Likewise, for a rank whose recording ends here while those of others continue: they may still need what its MPI holds
 * back. */
void cohort_linger(void) {
  const struct timespec timeout = {0, 1000000};
  for (;;) {
    cohort_give_progress();
    syscall(SYS_futex, &never_woken, FUTEX_WAIT_PRIVATE, 0, &timeout, NULL, 0);
  }
}

void cohort_message(const char *text) {
  char *message = g.control->message;
  size_t n = strlen(text);
  if (n >= sizeof g.control->message) n = sizeof g.control->message - 1;
  memcpy(message, text, n);
  message[n] = 0;
}

/* ---- what a recording does not cover */

/* Calls may be uncovered in several threads at once, and one of them names the first. How many there are is told only
 * once the name is there. */
static _Atomic uint32_t n_uncovered;
static _Atomic int claimed, told;
static const char *_Atomic first_uncovered;
static int tentative; /* the name is that of something that may yet be covered */

static void name_uncovered(const char *call, uint64_t event) {
  strncpy(g.header->incomplete_call, call, sizeof g.header->incomplete_call - 1);
  g.header->incomplete_event = event;
}

static void tell_uncovered(void) {
  uint32_t n = atomic_load(&n_uncovered);
  if (!atomic_load(&told)) return; /* whoever names it tells */
  STORE(g.control->incomplete, n);
  STORE(g.header->incomplete, n);
}

void cohort_incomplete(const char *call) {
  const char *none = NULL;
  struct cohort_control *c = g.control;
  uint64_t event = g.events + 1;
  if (atomic_compare_exchange_strong(&first_uncovered, &none, call)) {
    strncpy(c->incomplete_call, call, sizeof c->incomplete_call - 1);
    STORE(c->incomplete_event, event);
  }
  atomic_fetch_add(&n_uncovered, 1);
  if (!atomic_exchange(&claimed, 1)) {
    name_uncovered(call, event);
    atomic_store(&told, 1);
  }
  tell_uncovered();
}

void cohort_incomplete_until(const char *call, int still) {
  if (still && !tentative && !atomic_exchange(&claimed, 1)) {
    tentative = 1;
    name_uncovered(call, g.events + 1);
    STORE(g.header->incomplete, 1);
  } else if (!still && tentative) {
    tentative = 0;
    STORE(g.header->incomplete, 0);
    atomic_store(&claimed, 0);
    const char *other = atomic_load(&first_uncovered); /* meanwhile */
    if (other == NULL || atomic_exchange(&claimed, 1)) return;
    name_uncovered(other, g.control->incomplete_event);
    atomic_store(&told, 1);
    tell_uncovered();
  }
}

void cohort_refuse(const char *text, const char *what) {
  if (g.refused) return;
  cohort_message(text);
  if (what != NULL && (g.order || g.full)) cohort_incomplete(what);
  cohort_set_state(COHORT_STATE_REFUSED);
  g.refused = 1;
  int replay = g.control->mode == COHORT_MODE_REPLAY;
  g.order = g.full = g.replay = 0;
  if (replay) cohort_wait_for_end();
}

/* Names whose NOTE is in the trace already; each call site passes one string literal. */
static const char *noted[512];
static int n_noted;

static int first_time(const char *call) {
  for (int i = 0; i < n_noted; i++)
    if (strcmp(noted[i], call) == 0) return 0;
  if (n_noted < (int)(sizeof noted / sizeof *noted)) noted[n_noted++] = call;
  return 1;
}

void cohort_uncovered(const char *call) {
  struct cohort_control *c = g.control;
  if (!g.order && !g.full && !g.replay) return;
  if (g.replay && !(c->flags & COHORT_FLAG_INCOMPLETE_OK)) {
    char text[sizeof c->message] = "The program calls ";
    strncat(text, call, 60);
    strncat(text, ", which replay does not cover; it may be allowed to continue all the same (incomplete-ok).", 100);
    cohort_refuse(text, NULL);
  }
  cohort_incomplete(call);
  if ((g.order || g.full) && first_time(call)) cohort_write_note(call);
}

void cohort_uncovered_outside(const char *call, uint64_t site) {
  if (!cohort_short_enter()) return; /* while another thread is inside MPI it cannot be said; the next time it may be */
  uint64_t before = g.site;
  g.site = site;
  cohort_uncovered(call);
  g.site = before;
  cohort_short_leave();
}
