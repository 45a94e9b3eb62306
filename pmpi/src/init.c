/* Beginning and end, and what every wrapped call begins and ends with. */
#include "completion.h"
#include "objects.h"
#include "p2p.h"
#include "racing.h"
#include "registry.h"
#include "replay.h"
#include "rma.h"
#include "threads.h"
#include "trace.h"
#include "tracking.h"
#include "values.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct cohort_global g = {.progress = MPI_COMM_NULL, .tracking = 1};
struct cohort_requests_state g_requests;
struct cohort_trace_state g_trace;
struct cohort_threads_state g_threads;

/* This thread is inside a call of ours: what the MPI library calls of itself is not the program's. */
static __thread int inside __attribute__((tls_model("initial-exec")));
static __thread uint64_t fortran_site __attribute__((tls_model("initial-exec")));
/* where the program made the call that passes through, as another thread is inside */
static __thread uint64_t passing __attribute__((tls_model("initial-exec")));

enum { BUSY_CALL = 1, BUSY_RECORD = 2 };

static struct cohort_trace_header private_header;
static struct cohort_control orphan_control = {.park_at = COHORT_NEVER, .guard_at = COHORT_NEVER};

/* A forked child is no rank: it must not touch what it shares with its parent. */
static void in_forked_child(void) {
  g.phase = PHASE_OVER;
  g.order = g.full = g.replay = g.racing = g.yield = g.tracking = cohort_values_given = 0;
  cohort_clocks = 0;
  g.control = &orphan_control;
  g.header = &private_header;
}

static void check_identity(void) {
  struct cohort_control *c = g.control;
  if (c->magic != COHORT_CONTROL_MAGIC) return;
  if (c->rank != (uint32_t)g.world_rank)
    cohort_refuse("MPI gives this process another rank than its launcher's environment said.", NULL);
  else if (c->world_size != 0 && c->world_size != (uint32_t)g.world_size)
    cohort_refuse("MPI_COMM_WORLD has another number of ranks than the job was started with.", NULL);
}

static void choose_mode(void) {
  /* Refused or not: a collective must be carried out in the same way on every rank. */
  g.yield = (g.control->flags & COHORT_FLAG_YIELD) != 0;
  if (g.refused) return;
  cohort_program_find();
  switch (g.control->mode) {
    case COHORT_MODE_OFF: return;
    case COHORT_MODE_ORDER:
    case COHORT_MODE_RACING: g.order = g_requests.note = 1; break;
    case COHORT_MODE_FULL: g.full = 1; break;
    case COHORT_MODE_REPLAY:
      g.replay = 1;
      g.full = getenv(COHORT_ENV_TRACE) != NULL;
      cohort_replay_open();
      break;
    default:
      cohort_refuse("This version of the interposer cannot record in the mode that was asked for.", NULL);
      return;
  }
  cohort_trace_open();
}

static void check_threads(void) {
  int provided = MPI_THREAD_SINGLE;
  if (PMPI_Query_thread(&provided) != MPI_SUCCESS) return;
  cohort_at_once = provided == MPI_THREAD_MULTIPLE;
  if (!cohort_at_once) return;
  /* A call that comes while another thread is inside is not covered (see concurrent_call) and passes through as it is;
   * the collective of which it is a part must do so on every rank. */
  g.yield = 0;
}

/* What is asked of MPI here may fail for one handle or another; that must not end the program. */
static void open_all(void) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  PMPI_Comm_rank(MPI_COMM_WORLD, &g.world_rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &g.world_size);
  g.header = &private_header;
  cohort_control_open();
  check_identity();
  choose_mode();
  cohort_registry_open();
  cohort_datatypes_open();
  cohort_comms_open();
  cohort_objects_open();
  if (g.control->magic == COHORT_CONTROL_MAGIC) {
    PMPI_Comm_dup(MPI_COMM_SELF, &g.progress);
    PMPI_Comm_set_errhandler(g.progress, MPI_ERRORS_RETURN);
  }
  check_threads();
  if (g.control->mode == COHORT_MODE_RACING) cohort_racing_open();
  if (g.replay) cohort_orders_open();
  g_threads.last = COHORT_MAIN_THREAD;
  cohort_values_given = g.order || g.full || g.replay;
  g.alone = !cohort_at_once && !cohort_values_given;
  cohort_clocks = cohort_values_given && (!g.replay || (g.control->flags & COHORT_FLAG_RECORD_TIME) != 0) ? ~0u : 0;
  cohort_loading_check();
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  PMPI_Errhandler_free(&before);
}

/* MPI may have been initialised in a way that we do not see (Fortran), so the first wrapped call looks. */
static int begin(void) {
  if (g.phase == PHASE_OVER) return 0;
  int initialized = 0, finalized = 0;
  inside = 1;
  PMPI_Initialized(&initialized);
  if (initialized) PMPI_Finalized(&finalized);
  if (!initialized || finalized) {
    inside = 0;
    return 0;
  }
  if (atomic_exchange(&g.busy, BUSY_CALL)) { /* another thread does it */
    inside = 0;
    return 0;
  }
  if (g.phase == PHASE_NEW) {
    pthread_atfork(NULL, NULL, in_forked_child);
    g_trace.last_end = cohort_now();
    open_all();
    g.phase = PHASE_ACTIVE;
    if (UNLIKELY(__atomic_load_n(&g.control->park_at, __ATOMIC_ACQUIRE) == 0)) cohort_park();
  }
  atomic_store(&g.busy, 0);
  inside = 0;
  return 1;
}

#define AT_ONCE "MPI_THREAD_MULTIPLE: calls of threads at once"

/* Another thread is inside: this call passes through, unseen, and the recording is incomplete from here on. The thread
 * that is inside writes the NOTE when it leaves. */
static void concurrent_call(uint64_t site) {
  if (!g.order && !g.full && !g.replay) return;
  uint64_t none = 0;
  static _Atomic int noted;
  if (!atomic_exchange(&noted, 1)) atomic_compare_exchange_strong(&g_threads.concurrent, &none, site);
  cohort_incomplete(AT_ONCE);
}

static void note_concurrent(void) {
  uint64_t before = g.site;
  g.site = atomic_exchange(&g_threads.concurrent, 0);
  if (g.order || g.full) cohort_write_note(AT_ONCE);
  g.site = before;
}

/* Whether calls that come at once pass through; else they wait for their turn. */
static int at_once_passes(void) { return !g.replay || (g.control->flags & COHORT_FLAG_INCOMPLETE_OK) != 0; }

static int wait_for_turn(uint32_t op, uint64_t site) {
  struct cohort_patience patience = {0};
  for (;;) {
    int expected = 0;
    if (atomic_compare_exchange_strong(&g.busy, &expected, BUSY_CALL)) {
      if (!g.replay || cohort_my_turn() || at_once_passes()) return 1;
      atomic_store(&g.busy, 0);
    } else if (expected == BUSY_CALL && at_once_passes()) {
      return 0;
    }
    if (g.phase != PHASE_ACTIVE) return 0;
    if (!cohort_wait_for_others(&patience)) cohort_diverge_value(COHORT_DIVERGED_TURN, op, site);
  }
}

/* Takes `busy`. 0: another thread has it, and this call is not to wait. */
static inline int acquire(uint32_t op, uint64_t site) {
  int expected = 0;
  if (LIKELY(g.alone && atomic_load_explicit(&g.busy, memory_order_relaxed) == 0)) {
    atomic_store_explicit(&g.busy, BUSY_CALL, memory_order_relaxed);
    return 1;
  }
  if (LIKELY(atomic_compare_exchange_strong_explicit(&g.busy, &expected, BUSY_CALL, memory_order_acquire,
                                                     memory_order_relaxed))) {
    if (LIKELY(!g.replay || cohort_my_turn())) return 1;
    atomic_store(&g.busy, 0);
  }
  return wait_for_turn(op, site);
}

int cohort_short_enter(void) {
  for (uint64_t round = 0;; round++) {
    int expected = 0;
    if (LIKELY(atomic_compare_exchange_strong_explicit(&g.busy, &expected, BUSY_RECORD, memory_order_acquire,
                                                       memory_order_relaxed)))
      return 1;
    if (expected == BUSY_CALL) return 0;
    cohort_pause(round);
  }
}

void cohort_short_leave(void) { atomic_store_explicit(&g.busy, 0, memory_order_release); }
int cohort_inside(void) { return inside; }

/* 0: it is not the program's call, or not one that is seen. */
uint64_t cohort_passing(void) {
  uint64_t site = passing;
  passing = 0;
  return site;
}

static inline uint64_t take_site(uint64_t site) {
  if (LIKELY(fortran_site == 0)) return site;
  site = fortran_site;
  fortran_site = 0;
  return site;
}

uint64_t cohort_take_site(uint64_t site) { return take_site(site); }

/* The call has begun: what few calls have to do then, except in full mode and in a replay. */
static __attribute__((noinline)) void begun(uint32_t op, uint64_t site) {
  struct cohort_control *c = g.control;
  if (UNLIKELY(site - g_trace.module_start >= g_trace.module_size) && g.order) cohort_module_needed(site - 1);
  if (g.full) g_trace.call_start = cohort_now();
  if (UNLIKELY(g.events >= LOAD(c->guard_at)) && !g.refused &&
      !(g.replay && cohort_is_poll(op) && cohort_replay_poll_will_fail())) /* a poll that fails is no event */
    cohort_stop(COHORT_STOP_GUARD);
  if (UNLIKELY(cohort_own_id != g_threads.last)) cohort_turn_changes();
  if (g.replay) cohort_replay_check(g.events + 1, op);
}

int cohort_enter(uint32_t op, uint64_t site) {
  if (UNLIKELY(inside)) return 0;
  /* the MPI's own, from within a call that passes through */
  if (UNLIKELY(cohort_at_once) && cohort_within && fortran_site == 0) return 0;
  if (UNLIKELY(g.phase != PHASE_ACTIVE) && !begin()) return 0;
  if (UNLIKELY(!acquire(op, site))) {
    passing = cohort_take_site(site);
    concurrent_call(passing);
    return 0;
  }
  inside = 1;
  site = take_site(site);
  uint64_t event = g.events + 1;
  g.op = op;
  g.site = site;
  struct cohort_control *c = g.control;
  STORE(c->current_op, op);
  STORE(c->current, event);
  struct cohort_recent *r = g.recent = &c->recent[event % COHORT_RECENT_MAX];
  *r = (struct cohort_recent){
      .event = event, .site = site, .op = op, .peer = INT32_MIN, .tag = INT32_MIN, .got = INT32_MIN};
  STORE(g.header->current_op, op);
  if (UNLIKELY((g.full | g.replay) != 0 || event > LOAD(c->guard_at) || cohort_own_id != g_threads.last ||
               (site - g_trace.module_start >= g_trace.module_size && g.order)))
    begun(op, site);
  return 1;
}

static inline void leave(struct cohort_control *c) {
  STORE(g.header->current_op, 0);
  STORE(c->current, 0);
  STORE(g.steps, g.steps + 1);
  if (UNLIKELY(atomic_load_explicit(&g_threads.concurrent, memory_order_relaxed) != 0)) note_concurrent();
  if (UNLIKELY(g.events >= LOAD(c->park_at))) cohort_park();
  inside = 0;
  atomic_store_explicit(&g.busy, 0, memory_order_release);
}

/* The decisions do not tell all: between two of them a program can make other calls than recorded. So the completed
 * calls are hashed, and now and then the hash is written down, or compared: after 64, 128, 256, 512 and 1024 events,
 * then every 1024, and at the end. Only the program's own call sites count: replay makes sure that it is the same
 * build, but not of its libraries. */
static void check(uint64_t events) {
  uint64_t at = g.recent->site - g_trace.program_start, h = g_trace.check;
  h = (h ^ (g.op | (at < g_trace.program_size ? at << 8 : 0))) * 0x9E3779B97F4A7C15u;
  h ^= h >> 29;
  h = (h ^ ((uint64_t)(uint32_t)g.recent->peer << 32 | (uint32_t)g.recent->tag)) * 0xBF58476D1CE4E5B9u;
  g_trace.check = h ^ h >> 32;
  if (LIKELY(events < g_trace.check_at && g.op != COHORT_OP_FINALIZE)) return;
  g_trace.check_at = events < 1024 ? 2 * events : events + 1024;
  if (g.replay)
    cohort_replay_compare((uint32_t)g_trace.check);
  else
    cohort_write_check((uint32_t)g_trace.check);
}

/* What receives matched that are under way may be known by now. */
static void look_at_pending(void) {
  if (g_requests.freed > 0) cohort_look_at_freed(0);
  if (g_requests.overtaken > 0 && g.racing) cohort_race_look();
  if (g_requests.overtaken > 0 && !g.racing) cohort_awaited_settle();
}

void cohort_leave(void) {
  struct cohort_control *c = g.control;
  if (UNLIKELY(cohort_windows_small > 0)) cohort_windows_look();
  if (UNLIKELY((g_requests.freed | g_requests.overtaken) != 0) && g.phase == PHASE_ACTIVE) look_at_pending();
  uint64_t events = ++g.events;
  uint64_t *calls = &c->calls[g.op % COHORT_OPERATIONS];
  __atomic_store_n(calls, *calls + 1, __ATOMIC_RELAXED);
  if (g_trace.check_at != 0) check(events);
  STORE(g.header->events, events);
  STORE(c->events, events);
  STORE(c->polls, 0);
  if (UNLIKELY(events >= cohort_grant_at)) cohort_orders_send();
  leave(c);
}

void cohort_poll_failed(void) {
  struct cohort_control *c = g.control;
  STORE(g.header->polls, ++g_trace.failures);
  STORE(c->polls, c->polls + 1);
  leave(c);
}

void cohort_fortran_site(uint64_t site) {
  if (!inside) fortran_site = site;
}

int cohort_started(void) { return LIKELY(g.phase == PHASE_ACTIVE) || begin(); }

uint64_t cohort_registry_enter(uint64_t site) {
  if (UNLIKELY(inside | cohort_within)) return 0;
  if (UNLIKELY(g.phase != PHASE_ACTIVE) && !begin()) return 0;
  inside = 1;
  return cohort_take_site(site);
}

void cohort_registry_leave(void) { inside = 0; }

/* While MPI initialises itself, its own calls are not the program's. Returns whether this is the outermost
 * initialisation. */
int cohort_init_begin(void) {
  int outer = !inside;
  inside = 1;
  return outer;
}

void cohort_init_end(int outer, int rc) {
  if (!outer) return;
  inside = 0;
  if (rc == MPI_SUCCESS) begin();
}

EXPORT int MPI_Init(int *argc, char ***argv) {
  int outer = cohort_init_begin();
  int rc = PMPI_Init(argc, argv);
  cohort_init_end(outer, rc);
  return rc;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  int outer = cohort_init_begin();
  int rc = PMPI_Init_thread(argc, argv, required, provided);
  cohort_init_end(outer, rc);
  return rc;
}

static int stage_Finalize(void) {
  if (g_requests.freed > 0) cohort_look_at_freed(1);
  if (g.replay) {
    cohort_replay_finalize();
    cohort_values_finalize();
  }
  if (g_requests.overtaken > 0 && !g.racing) cohort_awaited_settle();
  if (g.racing) cohort_racing_finalize();
  cohort_orders_close();
  cohort_progress_close();
  int rc = PMPI_Finalize();
  g.phase = PHASE_OVER;
  g.tracking = 0;
  cohort_values_given = 0;
  cohort_clocks = 0;
  cohort_event_plain();
  return rc;
}

static void left_Finalize(void) {
  int alone = cohort_short_enter(); /* other threads may be adding a value */
  cohort_trace_close();
  if (alone) cohort_short_leave();
  cohort_set_state(COHORT_STATE_FINALIZED);
}

/* It does not come back, so its event is over before it is carried out. */
static int stage_Abort(MPI_Comm comm, int errorcode) {
  (void)comm, (void)errorcode;
  cohort_event_plain();
  return MPI_SUCCESS;
}

#include "wrap_init.h"
