/* Replay: the decisions file says what every nondeterministic call must do; a program that makes another call has
 * diverged. */
#include "p2p.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "values.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct cohort_decisions *file;
static const struct cohort_match *match, *match_end;
static const struct cohort_poll *poll, *poll_end;
static const struct cohort_set *set, *set_end;
static const struct cohort_check *check, *check_end;
static const struct cohort_order *await, *await_end, *grant, *grant_end; /* control messages */
uint64_t cohort_grant_at = COHORT_NEVER;
static uint64_t await_at = COHORT_NEVER;
static MPI_Comm orders = MPI_COMM_NULL;
static uint64_t check_before; /* event of the last that was equal */
static uint64_t poll_failures; /* of the failures before `poll`, how many are already reproduced */

static void consumed(void) {
  struct cohort_control *c = g.control;
  __atomic_store_n(&c->decisions, c->decisions + 1, __ATOMIC_RELAXED);
}

static const void *map_file(const char *path, uint64_t *size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NULL;
  off_t length = lseek(fd, 0, SEEK_END);
  void *p = length >= (off_t)sizeof *file ? mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  close(fd);
  *size = (uint64_t)length;
  return p == MAP_FAILED ? NULL : p;
}

/* Every part must lie inside the file, and every entry of the sets inside theirs; checked once, so that replay need
 * not. */
static int is_whole(const struct cohort_decisions *d, const uint8_t *base, uint64_t size) {
  const struct { uint64_t n, offset, size; } parts[] = {
      {d->n_matches, d->off_matches, sizeof *match},
      {d->n_polls, d->off_polls, sizeof *poll},
      {d->len_sets, d->off_sets, 1},
      {d->n_checks, d->off_checks, sizeof *check},
      {d->n_streams, d->off_streams, sizeof(struct cohort_stream)},
      {d->n_turns, d->off_turns, sizeof(struct cohort_turn)},
      {d->n_waits, d->off_waits, sizeof *await},
      {d->n_grants, d->off_grants, sizeof *grant},
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i].n > size || parts[i].offset % 8 != 0 || parts[i].offset > size ||
        parts[i].n * parts[i].size > size - parts[i].offset)
      return 0;
  uint64_t at = 0, n = 0;
  while (at + sizeof(struct cohort_set) <= d->len_sets) {
    const struct cohort_set *s = (const void *)(base + d->off_sets + at);
    uint64_t bytes = sizeof *s + (((uint64_t)s->count * 4 + 7) & ~(uint64_t)7);
    if (bytes > d->len_sets - at) return 0;
    at += bytes;
    n++;
  }
  return at == d->len_sets && n == d->n_sets;
}

void cohort_replay_open(void) {
  const char *path = getenv(COHORT_ENV_DECISIONS);
  uint64_t size = 0;
  const struct cohort_decisions *d = path == NULL ? NULL : map_file(path, &size);
  if (d == NULL) {
    cohort_refuse("Replay needs a decisions file, and the one named in COHORT_DECISIONS could not be read.", NULL);
    return;
  }
  if (d->magic != COHORT_DECISIONS_MAGIC || d->version != COHORT_DECISIONS_VERSION || d->size != sizeof *d) {
    cohort_refuse("The decisions file is not one, or is of another version than the interposer.", NULL);
    return;
  }
  const uint8_t *base = (const void *)d;
  if (!is_whole(d, base, size) || !cohort_values_open(base, size, d)) {
    cohort_refuse("The decisions file is damaged: its parts do not lie inside it.", NULL);
    return;
  }
  if (d->rank != (uint32_t)g.world_rank || d->world_size != (uint32_t)g.world_size) {
    cohort_refuse("The decisions file belongs to another rank, or to a job of another number of ranks.", NULL);
    return;
  }
  file = d;
  match = (const void *)(base + d->off_matches);
  match_end = match + d->n_matches;
  poll = (const void *)(base + d->off_polls);
  poll_end = poll + d->n_polls;
  set = (const void *)(base + d->off_sets);
  set_end = (const void *)(base + d->off_sets + d->len_sets);
  check = (const void *)(base + d->off_checks);
  check_end = check + d->n_checks;
  g_trace.check_at = check < check_end ? check->event : 0;
  await = (const void *)(base + d->off_waits);
  await_end = await + d->n_waits;
  grant = (const void *)(base + d->off_grants);
  grant_end = grant + d->n_grants;
  if (d->hold && g.control->park_at == COHORT_NEVER)
    __atomic_store_n(&g.control->park_at, d->last_event, __ATOMIC_RELEASE);
}

/* Collective over all ranks: their decisions agree in it. */
void cohort_orders_open(void) {
  if (file == NULL || !file->control) return;
  if (PMPI_Comm_dup(MPI_COMM_WORLD, &orders) != MPI_SUCCESS) {
    cohort_refuse("The communicator for the control messages of this replay could not be made.", NULL);
    return;
  }
  PMPI_Comm_set_errhandler(orders, MPI_ERRORS_RETURN);
  await_at = await < await_end ? await->event : COHORT_NEVER;
  cohort_grant_at = grant < grant_end ? grant->event : COHORT_NEVER;
}

void cohort_orders_close(void) {
  if (orders != MPI_COMM_NULL) PMPI_Comm_free(&orders);
}

/* Before the event, which sends something: others have received enough of what was sent before. Tests give progress to
 * all that this rank has under way. */
static void await_orders(uint64_t event) {
  for (; await < await_end && await->event <= event; await++) {
    MPI_Request request = MPI_REQUEST_NULL;
    int there = 0;
    int rc = PMPI_Irecv(NULL, 0, MPI_BYTE, (int)await->peer, 0, orders, &request);
    while (rc == MPI_SUCCESS && !there) {
      rc = PMPI_Test(&request, &there, MPI_STATUS_IGNORE);
      if (!there) sched_yield();
    }
    if (rc != MPI_SUCCESS) cohort_refuse("A control message of this replay could not be received.", NULL);
  }
  await_at = await < await_end ? await->event : COHORT_NEVER;
}

/* The events up to g.events are complete. A message of no bytes is sent off at once. */
void cohort_orders_send(void) {
  for (; grant < grant_end && grant->event <= g.events; grant++) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (PMPI_Isend(NULL, 0, MPI_BYTE, (int)grant->peer, 0, orders, &request) != MPI_SUCCESS ||
        PMPI_Request_free(&request) != MPI_SUCCESS)
      cohort_refuse("A control message of this replay could not be sent.", NULL);
  }
  cohort_grant_at = grant < grant_end ? grant->event : COHORT_NEVER;
}

static void __attribute__((noreturn)) diverged(struct cohort_divergence d) {
  g.control->divergence = d;
  cohort_halt(COHORT_STATE_DIVERGED, COHORT_STOP_DIVERGENCE);
  cohort_wait_for_end();
}

/* In the call in progress. */
static struct cohort_divergence divergence(uint32_t recorded_op, uint64_t recorded_event) {
  return (struct cohort_divergence){.event = g.events + 1,
                                    .recorded_op = recorded_op,
                                    .actual_op = g.op,
                                    .recorded_source = INT32_MIN,
                                    .recorded_tag = INT32_MIN,
                                    .actual_source = INT32_MIN,
                                    .actual_tag = INT32_MIN,
                                    .recorded_event = recorded_event,
                                    .call_site = g.site,
                                    .kind = COHORT_DIVERGENCE_CALL};
}

void cohort_diverge_plain(uint32_t recorded_op, uint64_t recorded_event) {
  diverged(divergence(recorded_op, recorded_event));
}

static void __attribute__((noreturn)) diverge_from(const struct cohort_match *m, int source, int tag) {
  struct cohort_divergence d = divergence(m->op, m->event);
  d.recorded_source = m->source;
  d.recorded_tag = m->tag;
  d.actual_source = cohort_peer(source);
  d.actual_tag = cohort_tag(tag);
  diverged(d);
}

/* The events up to g.events are complete, and this is their hash. */
void cohort_replay_compare(uint32_t hash) {
  if (check >= check_end || check->event != g.events) return;
  if ((uint32_t)check->hash != hash) {
    struct cohort_divergence d = divergence(COHORT_OP_NONE, check_before);
    d.event = g.events;
    d.kind = COHORT_DIVERGENCE_CHECK;
    diverged(d);
  }
  check_before = check->event;
  check++;
  g_trace.check_at = check < check_end ? check->event : 0;
}

void cohort_diverge_value(uint32_t recorded, uint32_t actual, uint64_t site) {
  struct cohort_divergence d = divergence(recorded, g.events + 1);
  d.actual_op = actual;
  d.call_site = site;
  diverged(d);
}

void cohort_end_of_recording(void) {
  cohort_halt(COHORT_STATE_END, COHORT_STOP_END);
  cohort_linger();
}

/* Failures that follow the last success have an entry of their own, which belongs to no event. */
static int only_failures(const struct cohort_poll *p) { return (p->flags & COHORT_DECISION_NEVER) != 0; }

static int failures_left(void) { return poll < poll_end && poll_failures < poll->failures; }

int cohort_replay_poll_will_fail(void) { return failures_left(); }

/* The first decision that is due: at which event, of which call. */
static uint64_t next_due(uint32_t *op) {
  uint64_t event = COHORT_NEVER;
  if (match < match_end) {
    event = match->event;
    *op = match->op;
  }
  if (poll < poll_end && !only_failures(poll) && poll->event < event) {
    event = poll->event;
    *op = poll->op;
  }
  if (set < set_end && set->event < event) {
    event = set->event;
    *op = set->op;
  }
  return event;
}

/* The rank was ended within this call: it had begun, and others may have gone on because of that. So it is begun again
 * before the rank waits at the end of its recording. A collective must be the program's own call, and may never return;
 * of a call between two ranks the messages are sent, and received if it is certain which (begin_last in yield.c). Calls
 * that only complete what was begun before need not be made: a rank that waits gives progress. Returns whether the call
 * is to be made. */
static int begin_last_call(uint64_t event, uint32_t op) {
  if (event != file->last_event + 1 || op != file->current_op) return 0;
  enum cohort_class class = cohort_class_of(op);
  int collective = class == COHORT_CLASS_COLLECTIVE || class == COHORT_CLASS_COMM || op == COHORT_OP_FINALIZE;
  /* before it: the user sees where it ends, and it continues when told to */
  if (collective) cohort_halt(COHORT_STATE_END, COHORT_STOP_END);
  g.last_call = class == COHORT_CLASS_SEND || op == COHORT_OP_RECV || op == COHORT_OP_IRECV ||
                class == COHORT_CLASS_SENDRECV || class == COHORT_CLASS_START || class == COHORT_CLASS_ICOLLECTIVE;
  return collective || g.last_call;
}

static void check_call(uint64_t event, uint32_t op) {
  if (UNLIKELY(event > file->last_event)) {
    if (cohort_is_poll(op) && failures_left()) return;
    if (!file->finalized && begin_last_call(event, op)) return;
    if (!file->finalized) cohort_end_of_recording();
    cohort_diverge_plain(COHORT_OP_NONE, file->last_event);
  }
  if (UNLIKELY(event == file->last_event && file->finalized && op != COHORT_OP_FINALIZE) &&
      !(cohort_is_poll(op) && failures_left()))
    cohort_diverge_plain(COHORT_OP_FINALIZE, event);
  uint32_t due_op = COHORT_OP_NONE;
  uint64_t due = next_due(&due_op);
  if (LIKELY(due > event)) return;
  if (due == event && (due_op == op || (cohort_is_poll(op) && failures_left()))) return;
  struct cohort_divergence d = divergence(due_op, due);
  if (match < match_end && match->event == due && !(match->flags & COHORT_DECISION_NEVER)) {
    d.recorded_source = match->source;
    d.recorded_tag = match->tag;
  }
  diverged(d);
}

void cohort_replay_check(uint64_t event, uint32_t op) {
  check_call(event, op);
  if (UNLIKELY(event >= await_at) && !cohort_is_poll(op)) await_orders(event);
}

uint32_t cohort_replay_place; /* of the receive in the array of a Startall */

/* A recording in racing mode tells only of receives that raced: for another, nothing else can be there than what it
 * matched. */
static int unrecorded(void) {
  if (!file->sparse) return 0;
  if (match >= match_end || match->event != g.events + 1 || match->op != g.op) return 1;
  return g.op == COHORT_OP_STARTALL && match->flags >> COHORT_DECISION_WHICH != cohort_replay_place;
}

int cohort_replay_match(int *source, int *tag) {
  static const struct cohort_match none = {.op = COHORT_OP_NONE, .source = INT32_MIN, .tag = INT32_MIN};
  if (UNLIKELY(g.last_call)) return 0; /* it is not known what it would have matched */
  if (unrecorded()) return 1;
  if (match >= match_end) diverge_from(&none, *source, *tag);
  if (match->event != g.events + 1 || match->op != g.op) diverge_from(match, *source, *tag);
  const struct cohort_match *m = match++;
  consumed();
  if (m->flags & COHORT_DECISION_NEVER) return 0;
  /* The program asks for what the recorded message cannot be. */
  if ((*source != MPI_ANY_SOURCE && *source != m->source) || (*tag != MPI_ANY_TAG && *tag != m->tag))
    diverge_from(m, *source, *tag);
  g.recent->got = m->source;
  *source = m->source;
  *tag = m->tag;
  return 1;
}

int cohort_replay_cancelled(uint32_t which) {
  if (LIKELY(match >= match_end || match->event != g.events + 1)) return 0;
  if (match->op != g.op || (match->flags & COHORT_DECISION_NEVER) == 0 || (uint32_t)match->source != which) return 0;
  match++;
  consumed();
  return 1;
}

int cohort_replay_poll(void) {
  if (poll >= poll_end) cohort_diverge_plain(COHORT_OP_NONE, 0);
  if (poll_failures < poll->failures) {
    poll_failures++;
    return 0;
  }
  if (only_failures(poll)) { /* the recording ends, or it went on with something that is no poll */
    if (!file->finalized && g.events >= file->last_event) cohort_end_of_recording();
    cohort_diverge_plain(COHORT_OP_NONE, file->last_event);
  }
  if (poll->event != g.events + 1 || poll->op != g.op) cohort_diverge_plain(poll->op, poll->event);
  poll++;
  poll_failures = 0;
  consumed();
  return 1;
}

int cohort_replay_set(const uint32_t **indices) {
  if (set >= set_end) cohort_diverge_plain(COHORT_OP_NONE, 0);
  if (set->event != g.events + 1 || set->op != g.op) cohort_diverge_plain(set->op, set->event);
  const struct cohort_set *s = set;
  *indices = (const uint32_t *)(s + 1);
  set = (const void *)((const uint8_t *)(s + 1) + (((uint64_t)s->count * 4 + 7) & ~(uint64_t)7));
  consumed();
  return (int)s->count;
}

static void never_free_all(void);

void cohort_replay_finalize(void) {
  uint32_t op = COHORT_OP_NONE;
  uint64_t due = next_due(&op);
  if (due != COHORT_NEVER) cohort_diverge_plain(op, due);
  if (file->finalized && g.events + 1 != file->last_event) cohort_diverge_plain(COHORT_OP_NONE, file->last_event);
  if (failures_left()) cohort_diverge_plain(COHORT_OP_NONE, file->last_event);
  never_free_all();
}

/* A receive that matched no message in the recorded run is not posted: it could match one that another receive was to
 * have. The program gets a request that never completes, unless it cancels it. */
struct never { MPI_Request request; int cancelled; };
static struct keymap never; /* those that are not complete yet, by handle; the MPI holds pointers to them too */
static struct cohort_pool never_pool;

static int never_query(void *state, MPI_Status *status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, ((struct never *)state)->cancelled);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

static int never_free(void *state) {
  cohort_keymap_remove(&never, HANDLE(((struct never *)state)->request));
  cohort_pool_put(&never_pool, state);
  return MPI_SUCCESS;
}

static int never_cancel(void *state, int complete) {
  struct never *n = state;
  if (complete || n->cancelled) return MPI_SUCCESS;
  n->cancelled = 1;
  return PMPI_Grequest_complete(n->request);
}

int cohort_never_request(MPI_Request *request) {
  struct never *n = cohort_pool_get(&never_pool, sizeof *n);
  if (n == NULL) return MPI_ERR_NO_MEM;
  n->cancelled = 0;
  int rc = PMPI_Grequest_start(never_query, never_free, never_cancel, n, request);
  if (rc != MPI_SUCCESS) return rc;
  n->request = *request;
  return cohort_keymap_put(&never, HANDLE(*request), (uint64_t)(uintptr_t)n) ? rc : MPI_ERR_NO_MEM;
}

int cohort_is_never(MPI_Request request) {
  return request != MPI_REQUEST_NULL && cohort_keymap_find(&never, HANDLE(request)) != NULL;
}

/* Ends the request, whether it was cancelled or not, and frees it. */
int cohort_never_free(MPI_Request *request) {
  const struct never *n = cohort_keymap_pointer(&never, HANDLE(*request));
  if (!n->cancelled) PMPI_Grequest_complete(*request);
  return PMPI_Wait(request, MPI_STATUS_IGNORE);
}

/* MPI_Finalize wants no request pending. */
static void never_free_all(void) {
  for (uint64_t i = 0; i < never.capacity;) {
    if (never.slots[i].key == 0) {
      i++;
      continue;
    }
    uint64_t handle = never.slots[i].key;
    MPI_Request request = ((struct never *)(uintptr_t)never.slots[i].value)->request;
    cohort_never_free(&request);
    cohort_keymap_remove(&never, handle); /* if MPI did not: another entry may be in its place now */
  }
}
