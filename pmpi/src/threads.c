/* Threads of the rank: an identity that is the same in every run, and whose turn it is to call MPI.
 *
 * A thread is named by the thread that made it and by how many that one had made before: so its name does not depend on
 * which of two threads is made first by the clock. MPI calls of several threads that do not overlap
 * (MPI_THREAD_SERIALIZED, and MPI_THREAD_MULTIPLE used like it) are a sequence; where the caller changes, the trace has
 * a TURN, and replay lets a thread in only when it is its turn. What the threads do between their calls, and the order
 * in which they take the program's locks, is not recorded: should a thread hold a lock that the one needs whose turn it
 * is, nobody moves, and that is a divergence. Calls that do overlap are refused by name. */
#include "threads.h"
#include "values.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread struct cohort_thread *self __attribute__((tls_model("initial-exec")));
__thread uint64_t cohort_own_id __attribute__((tls_model("initial-exec")));
static __thread uint32_t children __attribute__((tls_model("initial-exec")));

static _Atomic(struct cohort_thread *) all_threads;
static _Atomic uint32_t n_indices = 1;
static _Atomic uint32_t n_foreign;

static uint64_t mix(uint64_t parent, uint64_t child) {
  uint64_t z = parent * 0x9E3779B97F4A7C15u + child;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return z | (uint64_t)1 << 63; /* never that of the main thread */
}

static uint64_t identify(void) {
  if (cohort_own_id != 0) return cohort_own_id;
  if ((pid_t)syscall(SYS_gettid) == getpid()) return cohort_own_id = COHORT_MAIN_THREAD;
  /* by another way than pthread_create: see cohort_thread_is_known */
  return cohort_own_id = mix(0, atomic_fetch_add(&n_foreign, 1));
}

static struct cohort_thread *make_self(void) {
  struct cohort_thread *t = cohort_map(sizeof *t);
  if (t == NULL) return NULL;
  int known = cohort_own_id != 0;
  t->id = identify();
  t->known = known || t->id == COHORT_MAIN_THREAD;
  t->index = t->id == COHORT_MAIN_THREAD ? 1 : 0;
  struct cohort_thread *head = atomic_load(&all_threads);
  do t->next = head;
  while (!atomic_compare_exchange_weak(&all_threads, &head, t));
  return self = t;
}

struct cohort_thread *cohort_self(void) { return LIKELY(self != NULL) ? self : make_self(); }
struct cohort_thread *cohort_threads(void) { return atomic_load(&all_threads); }
uint32_t cohort_thread_new_index(void) { return atomic_fetch_add(&n_indices, 1); }

/* ---- identity through pthread_create */

struct start {
  void *(*function)(void *);
  void *argument;
  uint64_t id;
};
static struct cohort_lock starts_lock;
static struct cohort_pool starts;

static struct start *new_start(void) {
  cohort_lock(&starts_lock);
  struct start *s = cohort_pool_get(&starts, sizeof *s);
  cohort_unlock(&starts_lock);
  return s;
}

static void free_start(struct start *s) {
  cohort_lock(&starts_lock);
  cohort_pool_put(&starts, s);
  cohort_unlock(&starts_lock);
}

static void *begin_thread(void *argument) {
  struct start s = *(struct start *)argument;
  free_start(argument);
  cohort_own_id = s.id;
  return s.function(s.argument); /* a jump: the program's stacks look as without us */
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                          void *argument) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
  if (next == NULL) return EAGAIN;
  /* Threads that the MPI makes for itself do not count among the program's. */
  static int wanted = -1;
  if (wanted < 0) wanted = getenv(COHORT_ENV_CONTROL) != NULL;
  if (!wanted || cohort_inside() || !cohort_is_program(SITE)) return next(thread, attributes, function, argument);
  struct start *s = new_start();
  if (s == NULL) return next(thread, attributes, function, argument);
  *s = (struct start){.function = function, .argument = argument, .id = mix(identify(), ++children)};
  int rc = next(thread, attributes, begin_thread, s);
  if (rc != 0) {
    children--;
    free_start(s);
  }
  return rc;
}

/* ---- turns */

static const struct cohort_turn *turn, *turn_end;
static uint64_t owner = COHORT_MAIN_THREAD;

void cohort_turns_open(const struct cohort_turn *first, uint64_t n) {
  turn = first;
  turn_end = first + n;
}

/* The caller, which owns `busy`, may not be the thread of the call before. */
void cohort_turn_changes(void) {
  if (cohort_thread_id() == g_threads.last) return;
  struct cohort_thread *t = cohort_self();
  if (t == NULL) {
    cohort_uncovered("MPI calls of a thread for which there is no memory");
    return;
  }
  g_threads.last = t->id;
  if (!g.order && !g.full) return;
  if (!t->known) cohort_uncovered("MPI calls of a thread that was not made with pthread_create");
  cohort_write_turn(t, g.steps);
}

uint64_t cohort_thread_id(void) { return LIKELY(cohort_own_id != 0) ? cohort_own_id : identify(); }

/* Replay, and the caller owns `busy`: whether it is its turn. */
int cohort_my_turn(void) {
  while (turn < turn_end && turn->steps <= g.steps) owner = (turn++)->thread;
  return owner == cohort_thread_id();
}

static uint64_t cpu_time(void) {
  struct timespec t = {0, 0};
  cohort_true_clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum { PATIENCE_US = 10000000 };

/* Waits for somebody else to move. Returns 0 when the process has stood still for 10 s: no MPI call began or ended,
 * none is in progress, and next to nothing was computed. Time in which a debugger holds the process does not count:
 * only naps do. */
int cohort_wait_for_others(struct cohort_patience *p) {
  uint64_t steps = __atomic_load_n(&g.steps, __ATOMIC_ACQUIRE);
  if (p->round == 0 || steps != p->steps || atomic_load(&g.busy) != 0 ||
      __atomic_load_n(&g.control->state, __ATOMIC_ACQUIRE) != COHORT_STATE_RUNNING) {
    p->steps = steps;
    p->waited_us = 0;
    p->cpu = cpu_time();
  } else if (p->waited_us > PATIENCE_US) {
    uint64_t cpu = cpu_time();
    if (cpu - p->cpu < 2000000000u) return 0;
    p->waited_us = 0;
    p->cpu = cpu;
  }
  p->waited_us += cohort_pause(p->round++);
  return 1;
}
