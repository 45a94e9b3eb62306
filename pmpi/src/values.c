/* Values that the program is given and that another run would not be given: times, random bytes, what one-sided calls
 * fetch. Each thread has its own sequence of them, so threads need not be ordered for it. See docs/trace-format.md. */
#include "replay.h"
#include "threads.h"
#include "trace.h"
#include "values.h"

#include <math.h>

/* ---- writing */

/* What a thread may have waiting: tens of millions of times, asked for while another thread is inside one MPI call. */
enum { PENDING_MOST = 256 << 20 };

/* A record of another thread than the one that is inside MPI waits in the thread's own memory: a length of four bytes
 * before each. The caller holds t->writing. */
static void put_off(struct cohort_thread *t, const void *head, size_t n, const void *tail, size_t m) {
  uint32_t length = (uint32_t)(n + m);
  size_t all = t->pending.length + sizeof length + length;
  if (t->lost || all > PENDING_MOST || !cohort_reserve(&t->pending, all)) {
    t->lost = 1;
    return;
  }
  cohort_append(&t->pending, &length, sizeof length);
  cohort_append(&t->pending, head, n);
  cohort_append(&t->pending, tail, m);
}

static void flush(struct cohort_thread *t) {
  for (size_t at = 0; at < t->pending.length;) {
    uint32_t length;
    memcpy(&length, t->pending.data + at, sizeof length);
    cohort_write_raw(t->pending.data + at + sizeof length, length, NULL, 0);
    at += sizeof length + length;
  }
  t->pending.length = 0;
  if (t->lost) cohort_uncovered("values for which there was no memory");
  t->lost = 0;
}

static void emit(struct cohort_thread *t, const void *head, size_t n, const void *tail, size_t m) {
  int owner = cohort_inside() && g_threads.owned;
  if (!owner && (cohort_inside() || !cohort_short_enter())) {
    put_off(t, head, n, tail, m);
    return;
  }
  if (UNLIKELY(t->pending.length > 0)) flush(t);
  cohort_write_raw(head, n, tail, m);
  if (!owner) cohort_short_leave();
}

/* Only the thread itself adds; whoever closes the trace takes what is left. A signal handler that comes in between gets
 * its value unrecorded: what handlers do, and when, is not replayed. */
static int own(struct cohort_thread *t) {
  int expected = 0;
  return atomic_compare_exchange_strong(&t->writing, &expected, 1);
}

static void declare(struct cohort_thread *t) {
  if (LIKELY(t->index != 0)) return;
  t->index = 1 + cohort_thread_new_index();
  uint8_t r[24] = {COHORT_RECORD_THREAD};
  emit(t, r, 1 + cohort_varint(r + 1, t->index - 1), &t->id, sizeof t->id);
}

/* Whether the calling thread, which is `t` then, may write a value. */
static struct cohort_thread *begin(void) {
  struct cohort_thread *t = cohort_self();
  if (t == NULL || !own(t)) return NULL;
  declare(t);
  return t;
}

enum { FORMS = 4 };

/* The ways in which MPI libraries make seconds of nanoseconds: the rounding depends on it. */
static inline uint64_t seconds_bits(int64_t ns, int form) {
  int64_t s = ns / 1000000000, f = ns % 1000000000;
  if (form & 2) { /* a difference of two times, of which the earlier one has the greater fraction */
    s++;
    f -= 1000000000;
  }
  /* volatile: never fused with the addition */
  volatile double fraction = form & 1 ? (double)f / 1e9 : 1e-9 * (double)f;
  double seconds = (double)s + fraction;
  uint64_t bits;
  memcpy(&bits, &seconds, sizeof bits);
  return bits;
}

/* A time of the main thread that comes soon after another takes two bytes. */
static size_t short_form(struct cohort_thread *t, uint64_t bits, uint8_t *r) {
  double s;
  memcpy(&s, &bits, sizeof s);
  if (!(s >= 0 && s < 4e6)) {
    t->ns = -1;
    return 0;
  }
  int64_t ns = (int64_t)(s * 1e9 + 0.5), before = t->ns;
  if (UNLIKELY(seconds_bits(ns, t->form) != bits)) {
    int form = 0;
    while (form < FORMS && seconds_bits(ns, form) != bits) form++;
    if (form == FORMS) {
      t->ns = -1;
      return 0;
    }
    t->form = form;
  }
  t->ns = ns;
  uint64_t u = cohort_zigzag(ns - before);
  if (before < 0 || u >= (uint64_t)1 << 40) return 0;
  r[0] = (uint8_t)(COHORT_RECORD_TIME | t->form << 3 | (u & 7));
  return 1 + cohort_varint(r + 1, u >> 3);
}

static void write_number(uint32_t kind, uint64_t number) {
  struct cohort_thread *t = begin();
  if (t == NULL) return;
  uint8_t r[32];
  size_t n = kind == COHORT_VALUE_WTIME && t->index == 1 ? short_form(t, number, r) : 0;
  if (n == 0) {
    r[0] = COHORT_RECORD_VALUE;
    n = 1 + cohort_varint(r + 1, (uint64_t)(t->index - 1) << 5 | kind);
    n += cohort_varint(r + n, cohort_zigzag((int64_t)(number - t->last[kind])));
  }
  t->last[kind] = number;
  emit(t, r, n, NULL, 0);
  atomic_store(&t->writing, 0);
}

static void write_bytes(uint32_t kind, const void *bytes, size_t length) {
  struct cohort_thread *t = begin();
  if (t == NULL) return;
  uint8_t r[32] = {COHORT_RECORD_VALUE};
  size_t n = 1 + cohort_varint(r + 1, (uint64_t)(t->index - 1) << 5 | kind);
  n += cohort_varint(r + n, length);
  emit(t, r, n, bytes, length);
  atomic_store(&t->writing, 0);
}

/* By the thread that is inside MPI, and so owns the trace. */
void cohort_write_turn(struct cohort_thread *t, uint64_t steps) {
  uint8_t r[32] = {COHORT_RECORD_TURN};
  g_threads.owned = 1;
  int claimed = own(t);
  declare(t);
  if (claimed) {
    flush(t); /* its THREAD may be among it */
    atomic_store(&t->writing, 0);
  }
  g_threads.owned = 0;
  size_t n = 1 + cohort_varint(r + 1, steps);
  n += cohort_varint(r + n, t->index - 1);
  cohort_write_raw(r, n, NULL, 0);
}

void cohort_values_close(void) {
  for (struct cohort_thread *t = cohort_threads(); t != NULL; t = t->next) {
    for (uint64_t round = 0; !own(t); round++) cohort_pause(round);
    flush(t);
    /* It stays taken: what comes now is after the end of the recording. */
  }
}

/* ---- replay */

static const uint8_t *decisions;
static const struct cohort_stream *streams;
static uint64_t n_streams;
static int cut_short;

/* Each stream must lie inside the file, and each entry inside its stream; checked once. */
int cohort_values_open(const uint8_t *base, uint64_t size, const struct cohort_decisions *d) {
  decisions = base;
  streams = (const void *)(base + d->off_streams);
  n_streams = d->n_streams;
  cut_short = !d->finalized;
  for (uint64_t i = 0; i < n_streams; i++) {
    const struct cohort_stream *s = &streams[i];
    if (s->offset % 8 != 0 || s->offset > size || s->bytes > size - s->offset) return 0;
    for (uint64_t at = 0; at < s->bytes;) {
      if (s->bytes - at < sizeof(struct cohort_value)) return 0;
      const struct cohort_value *v = (const void *)(base + s->offset + at);
      uint64_t room = ((uint64_t)v->length + 7) & ~(uint64_t)7;
      if (room > s->bytes - at - sizeof *v || (v->kind < COHORT_VALUE_RANDOM && v->length % 8 != 0)) return 0;
      at += sizeof *v + room;
    }
  }
  cohort_turns_open((const void *)(base + d->off_turns), d->n_turns);
  return 1;
}

/* The calling thread, with its stream; NULL: no memory. */
static struct cohort_thread *reader(void) {
  struct cohort_thread *t = cohort_self();
  if (t == NULL || LIKELY(t->searched)) return t;
  t->searched = 1;
  for (uint64_t i = 0; i < n_streams; i++) {
    if (streams[i].thread != t->id) continue;
    t->at = decisions + streams[i].offset;
    t->end = t->at + streams[i].bytes;
    break;
  }
  return t;
}

/* The recorded values of this thread end here. For a thread that makes no MPI calls that can be because MPI was
 * finalised by another at this moment: it waits for that. Returns 0 then. */
static int ran_out(uint32_t kind, uint64_t site) {
  int calls_mpi = cohort_thread_id() == g_threads.last;
  /* What another thread was given last may have died with the rank, before it could be written: the rank continues
   * without that thread. */
  if (cut_short && !calls_mpi) cohort_wait_for_end();
  if (cut_short) cohort_end_of_recording();
  if (!calls_mpi) {
    struct cohort_patience patience = {0};
    while (g.phase == PHASE_ACTIVE && cohort_wait_for_others(&patience)) {
    }
    if (g.phase != PHASE_ACTIVE) return 0;
  }
  cohort_diverge_value(0, COHORT_DIVERGED_VALUE + kind, site);
}

/* The next value, `length` bytes of it. NULL: there is none, and MPI is being finalised. */
static const void *next_value(uint32_t kind, size_t *length, uint64_t site) {
  struct cohort_thread *t = reader();
  if (t == NULL) return NULL;
  if (t->numbers_left == 0) {
    if (t->at == t->end) {
      ran_out(kind, site);
      return NULL;
    }
    const struct cohort_value *v = (const void *)t->at;
    t->numbers_kind = v->kind;
    t->numbers_left = v->kind < COHORT_VALUE_RANDOM ? v->length : 0;
    t->at += sizeof *v;
    if (v->kind >= COHORT_VALUE_RANDOM) {
      if (v->kind != kind) cohort_diverge_value(COHORT_DIVERGED_VALUE + v->kind, COHORT_DIVERGED_VALUE + kind, site);
      const void *bytes = t->at;
      t->at += ((uint64_t)v->length + 7) & ~(uint64_t)7;
      *length = v->length;
      return bytes;
    }
  }
  if (t->numbers_kind != kind)
    cohort_diverge_value(COHORT_DIVERGED_VALUE + t->numbers_kind, COHORT_DIVERGED_VALUE + kind, site);
  const void *number = t->at;
  t->at += 8;
  t->numbers_left -= 8;
  *length = 8;
  return number;
}

const void *cohort_value_peek(uint32_t kind, size_t *length) {
  struct cohort_thread *t = reader();
  if (t == NULL) return NULL;
  const struct cohort_value *v = (const void *)t->at;
  if (t->numbers_left > 0 || t->at == t->end || v->kind != kind) return NULL;
  *length = v->length;
  return v + 1;
}

/* MPI_Finalize: the thread that calls it must have asked for all its values. */
void cohort_values_finalize(void) {
  struct cohort_thread *t = reader();
  if (t == NULL) return;
  uint32_t kind = t->numbers_left > 0 ? t->numbers_kind
                  : t->at < t->end    ? ((const struct cohort_value *)t->at)->kind
                                      : 0;
  if (kind != 0) cohort_diverge_value(COHORT_DIVERGED_VALUE + kind, COHORT_OP_FINALIZE, g.site);
}

/* ---- what the wrappers use */

int cohort_values_given;

int cohort_values_wanted(void) { return g.phase == PHASE_ACTIVE && (g.order || g.full || g.replay); }

int cohort_value_recorded(uint32_t kind, uint64_t *number, uint64_t site) {
  if (!g.replay) return 0;
  size_t length = 0;
  const void *recorded = next_value(kind, &length, site);
  if (recorded == NULL) return 0;
  memcpy(number, recorded, 8);
  if (g.full) write_number(kind, *number);
  return 1;
}

void cohort_value_record(uint32_t kind, uint64_t number) {
  if (!g.replay && (g.order || g.full)) write_number(kind, number);
}

const void *cohort_value_recorded_bytes(uint32_t kind, size_t *length, uint64_t site) {
  if (!g.replay) return NULL;
  const void *bytes = next_value(kind, length, site);
  if (bytes != NULL && g.full) write_bytes(kind, bytes, *length);
  return bytes;
}

void cohort_value_record_bytes(uint32_t kind, const void *bytes, size_t length) {
  if (!g.replay && (g.order || g.full)) write_bytes(kind, bytes, length);
}
