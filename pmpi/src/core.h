/* The core of the interposer: what every part of it is made with. Each other part has a header of its own: trace.h,
 * replay.h, p2p.h, completion.h, collective.h, rma.h, values.h, threads.h, racing.h, registry.h, tracking.h, fortran.h.
 * Nothing in them is visible to the program but what is marked EXPORT.
 *
 * This library is a guest in the program's process. What its code may do there, and what not:
 *
 *  - Allocate: never with malloc, nor with anything that calls it (stdio, dlopen, getaddrinfo, most of libc): the
 *    program may be inside its allocator, may replace it, or may check it. Memory comes from cohort_map, cohort_alloc
 *    and cohort_reserve, which use mmap. On the path of a message nothing is allocated after warm-up. No memory is
 *    never fatal to the program: the recording ends or is marked incomplete, by name.
 *  - Lock: only struct cohort_lock, which waits with a futex, and only for a few instructions: never while MPI is
 *    called, while the program's code runs, or while another lock of ours is held. Where a state is handed over rather
 *    than locked (g.busy), whoever waits does so with cohort_pause. Nobody spins on sched_yield alone: under a
 *    real-time policy that never lets a thread of lower priority run, which may be the one that is waited for.
 *  - Print: nothing, on no descriptor. What is to be said goes into the control block (cohort_message, cohort_refuse)
 *    or into the trace (cohort_uncovered). The process is never ended: a rank that cannot continue waits for a signal.
 *  - Read the program's memory: only what MPI has read or written in the same call, or through cohort_peek, which fails
 *    where a load would fault; what the call in progress sends, where cohort_readable finds it. A buffer that the
 *    program gave to an earlier call may be gone.
 *  - errno: belongs to the program. Around a call that the program made of libc (clocks, random numbers) it is as the
 *    real function left it; MPI functions may change it as they like, and so may we there.
 *  - Signals: a handler of the program may interrupt any instruction here and call what we stand in for (clock_gettime,
 *    and, of a careless program, MPI). No handler is installed, and no signal is blocked. State that a handler could
 *    meet half done is claimed with an atomic exchange, and whoever does not get it does without.
 *  - Threads: none is made. The thread that is inside MPI (g.busy) owns `g`, the trace and all tables of the recorder.
 *    The registry has its lock; values have a buffer for each thread. Thread-local variables use the initial-exec
 *    model, since any other may allocate.
 *  - Fork: the child is no rank. It inherits mappings that it shares with its parent, so it is disarmed
 *    (in_forked_child) before it runs: no locks are taken, nothing is written.
 *  - Debuggers look at any instruction: a record in the registry is complete before a pointer to it is stored, a record
 *    of the trace before `committed` passes it. */
#ifndef COHORT_CORE_H
#define COHORT_CORE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../include/cohort_abi.h"
#include "ops.h"

#define EXPORT __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELEASE)
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
/* The return address of an MPI wrapper: only to be used directly in one. */
#define SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

/* MPICH's handles are ints, Open MPI's pointers. REQUEST is HANDLE's inverse. */
#define REQUEST(handle) ((MPI_Request)(uintptr_t)(handle))
#ifdef OPEN_MPI
#define COHORT_MPI COHORT_OPEN_MPI
#define HANDLE(h) ((uint64_t)(uintptr_t)(h))
#else
#define COHORT_MPI COHORT_MPICH
#define HANDLE(h) ((uint64_t)(uint32_t)(h))
#endif

struct cohort_buffer { uint8_t *data; size_t length, capacity; };

enum phase { PHASE_NEW, PHASE_ACTIVE, PHASE_OVER };

/* What every wrapper looks at. The thread that is inside (`busy`) owns it. */
struct cohort_global {
  int phase;              /* enum phase */
  int tracking;           /* requests and calls in progress are in the registry; not 0 also before that is known */
  int order, full;        /* what is written to the trace: at most one of them */
  int replay;
  int racing;             /* messages carry a header (racing.h); recording continues while `order` is set */
  int yield;              /* blocking calls give up the processor while they wait */
  int last_call;          /* replay: the rank was ended within the call in progress, which is only begun */
  int refused;            /* state REFUSED is final */
  int alone;              /* the thread that calls MPI is the only one that wants `busy`: it need not be atomic, which
                           * would cost as much as the rest of a call that is not recorded */
  _Atomic int busy;       /* a thread is inside a wrapped call (1), or adds a record to the trace (2) */
  struct cohort_control *control;     /* never NULL: a private one if there is none */
  struct cohort_trace_header *header; /* likewise */
  uint64_t events;        /* completed */
  uint64_t steps;         /* calls completed: events and failed polls */
  uint32_t op;            /* of the call in progress */
  uint64_t site;          /* its return address */
  struct cohort_recent *recent; /* its entry in the control block */
  int world_rank, world_size;
  MPI_Comm progress;      /* a private communicator to give MPI progress on */
};
extern struct cohort_global g;

/* ---- init.c: the beginning and end of the library, and of each call */
int cohort_enter(uint32_t op, uint64_t site);  /* 0: the call is not ours to see; call the PMPI function and return */
void cohort_leave(void);                       /* the call was an event, and it is complete */
void cohort_poll_failed(void);                 /* the call was a poll that failed */
void cohort_fortran_site(uint64_t site);       /* the next call comes from there */
int cohort_init_begin(void);
void cohort_init_end(int outer, int rc);
/* for calls that are no events: their call site; 0: pass the call through */
uint64_t cohort_registry_enter(uint64_t site);
void cohort_registry_leave(void);
/* in tracking.c: this thread is in a call that is shown */
extern __thread int cohort_within __attribute__((tls_model("initial-exec")));
int cohort_started(void);                      /* MPI is initialised, and so are we */
/* where the call in progress comes from, although a Fortran wrapper of ours makes it */
uint64_t cohort_take_site(uint64_t site);

int cohort_inside(void);                       /* this thread is inside MPI */
/* after cohort_enter said 0: where the program's call is that passes through because another thread is inside MPI; 0:
 * it is none */
uint64_t cohort_passing(void);
int cohort_short_enter(void);                  /* to add a record outside a call; 0: another thread is inside one */
void cohort_short_leave(void);

/* ---- lock.c */
/* A lock for a few instructions: 0 free, 1 held, 2 held and waited for. Zeroed memory is a free lock. */
struct cohort_lock { _Atomic uint32_t state; };
void cohort_lock_wait(struct cohort_lock *l);
void cohort_lock_wake(struct cohort_lock *l);
static inline void cohort_lock(struct cohort_lock *l) {
  uint32_t free = 0;
  if (UNLIKELY(!atomic_compare_exchange_strong_explicit(&l->state, &free, 1, memory_order_acquire,
                                                        memory_order_relaxed)))
    cohort_lock_wait(l);
}
static inline void cohort_unlock(struct cohort_lock *l) {
  if (UNLIKELY(atomic_exchange_explicit(&l->state, 0, memory_order_release) == 2)) cohort_lock_wake(l);
}
/* Waits a little for another thread of this process, the longer the greater `round`: first it yields, then it sleeps,
 * so that threads of lower priority run too. Returns the microseconds slept. */
uint64_t cohort_pause(uint64_t round);

/* ---- memory.c: memory that malloc does not know of */
void *cohort_map(size_t bytes);                /* zeroed; NULL when there is none */
void cohort_unmap(void *p, size_t bytes);
void *cohort_alloc(size_t bytes);              /* zeroed, from free lists by size */
void cohort_free(void *p, size_t bytes);
int cohort_reserve_more(struct cohort_buffer *b, size_t bytes);
/* Room for `bytes` in all, zeroed from the length on if it is new; 0: there is no memory. */
static inline int cohort_reserve(struct cohort_buffer *b, size_t bytes) {
  return LIKELY(bytes <= b->capacity) || cohort_reserve_more(b, bytes);
}
int cohort_append(struct cohort_buffer *b, const void *item, size_t bytes); /* 0: there is no memory */
/* Blocks of one size, with what their last user left in them. */
struct cohort_pool { void *free; };
void *cohort_pool_more(struct cohort_pool *p, size_t size);
/* NULL: there is no memory */
static inline void *cohort_pool_get(struct cohort_pool *p, size_t size) {
  void *block = p->free;
  if (UNLIKELY(block == NULL)) return cohort_pool_more(p, size);
  memcpy(&p->free, block, sizeof p->free);
  return block;
}
static inline void cohort_pool_put(struct cohort_pool *p, void *block) {
  memcpy(block, &p->free, sizeof p->free);
  p->free = block;
}
/* Reads and writes memory of the program that may not be there: 0 where an access would fault. Costs about 0.8 us; safe
 * in any thread and signal handler. */
int cohort_peek(void *to, const void *from, size_t bytes);
int cohort_poke(void *to, const void *from, size_t bytes);
/* Whether loads from there do not fault now; about 0.15 us for each page, next to nothing on the stack. */
int cohort_readable(const void *p, size_t bytes);

/* A list of receives in the order of their posts. A link is the first member of what it links. */
struct cohort_link { struct cohort_link *older, *newer; };
struct cohort_list { struct cohort_link *oldest, *newest; };
static inline void cohort_list_add(struct cohort_list *l, struct cohort_link *k) {
  *k = (struct cohort_link){.older = l->newest};
  *(k->older == NULL ? &l->oldest : &k->older->newer) = k;
  l->newest = k;
}
static inline void cohort_list_remove(struct cohort_list *l, const struct cohort_link *k) {
  *(k->older == NULL ? &l->oldest : &k->older->newer) = k->newer;
  *(k->newer == NULL ? &l->newest : &k->newer->older) = k->older;
}

/* ---- keymap.c: keys are not 0 */
struct keyslot { uint64_t key, value; };
struct keymap { struct keyslot *slots; uint64_t capacity, used; };
static inline uint64_t cohort_keymap_place(uint64_t key, uint64_t capacity) {
  return (key * 0x9E3779B97F4A7C15u >> 20) & (capacity - 1);
}
/* its value, until something is added or removed; NULL: there is none */
static inline uint64_t *cohort_keymap_find(const struct keymap *m, uint64_t key) {
  if (m->used == 0 || key == 0) return NULL;
  for (uint64_t i = cohort_keymap_place(key, m->capacity);; i = (i + 1) & (m->capacity - 1)) {
    if (m->slots[i].key == key) return &m->slots[i].value;
    if (m->slots[i].key == 0) return NULL;
  }
}
uint64_t *cohort_keymap_at(struct keymap *m, uint64_t key); /* likewise, added as 0; NULL: no memory */
static inline void *cohort_keymap_pointer(const struct keymap *m, uint64_t key) { /* as a value; NULL: there is none */
  uint64_t *value = cohort_keymap_find(m, key);
  return value == NULL ? NULL : (void *)(uintptr_t)*value;
}
int cohort_keymap_put(struct keymap *m, uint64_t key, uint64_t value);  /* 0: no memory */
void cohort_keymap_remove(struct keymap *m, uint64_t key);

/* ---- control.c */
void cohort_control_open(void);
void cohort_set_state(uint32_t state);
void cohort_halt(uint32_t state, uint32_t reason); /* says so, and stops for the debugger if there is one */
void cohort_stop(uint32_t reason);
void cohort_park(void);
void cohort_give_progress(void);               /* to all that this rank has under way, whoever waits for it */
void cohort_progress_close(void);
void cohort_wait_for_end(void) __attribute__((noreturn));
void cohort_linger(void) __attribute__((noreturn));
int cohort_replay_poll_will_fail(void);
void cohort_message(const char *text);
/* What this rank was asked to do is not done; in a replay the rank stays where it is. `what`: of a recording, why it is
 * incomplete, at most 47 bytes; NULL: there is none. */
void cohort_refuse(const char *text, const char *what);
/* The recording is incomplete from the call in progress on, and why; by any thread. `call` is a literal. */
void cohort_incomplete(const char *call);
/* It would be if the rank ended now. Only by the thread that is inside MPI. */
void cohort_incomplete_until(const char *call, int still);
void cohort_uncovered_outside(const char *call, uint64_t site); /* the same of what is no call of MPI */
void cohort_uncovered(const char *call);       /* the call in progress is not covered by record/replay */

EXPORT void cohort_stop_here(uint32_t reason);

/* ---- loading.c */
void cohort_loading_check(void);               /* once, when MPI has been initialised */

/* ---- clocks.c */
uint64_t cohort_now(void);                     /* CLOCK_MONOTONIC, ns */

/* ---- callers.c */
int cohort_is_program(uint64_t return_address);
int cohort_is_libstdcxx(uint64_t return_address);

#endif
