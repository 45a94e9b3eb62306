/* One-sided communication.
 *
 * What another run would not give the program is recorded: what its one-sided calls fetch, at the synchronisation that
 * completes them; and what others did to its windows, as far as the program itself can see it: the content of a window
 * is looked at when an event ends, and what has changed since the look before is a value. In replay the fetched values
 * are given back and the windows are put into the recorded state at the same events. So it does not matter in which
 * order the accesses of several ranks take place then, nor who gets a lock first: a lock is shared in replay, so that
 * nobody waits for one who waits for him. What this cannot cover is a program that reads its window while others write
 * to it, without a call between.
 *
 * That is for small windows (SMALL). A greater one is not looked at; it is covered as long as nothing depends on an
 * order: fences and post/start/complete/wait with Put, Get, and accumulates that commute exactly. What is got from it
 * is not recorded but hashed, so that a replay that gets something else is found out. The rest is refused by name:
 * locks on it, sums of floating-point numbers, replacements, fetching atomics. Every rank decides alike, by the
 * greatest part of a window that any rank has. */
#include "collective.h"
#include "objects.h"
#include "p2p.h"
#include "registry.h"
#include "replay.h"
#include "rma.h"
#include "threads.h"
#include "trace.h"
#include "tracking.h"
#include "values.h"

#include <sched.h>

enum { SMALL = 64 << 10, PIECE = 1 << 20 };

struct fetch { /* an origin buffer that a synchronisation fills */
  void *to;
  int count, target;
  MPI_Datatype type;
  uint8_t own_type;
};

struct window {
  uint64_t handle;
  uint64_t id;         /* counts creations: the same in the recording and in its replay */
  uint8_t *base, *shadow;
  /* replay, by word: 1: what was in it at first is not what was recorded (an address, or nothing that means anything),
   * and still is not */
  uint8_t *private;
  uint64_t size, mapped;
  uint8_t *seen;       /* replay, by grain: it was there at one look at least */
  int privates;        /* there were such words */
  int small, ours;     /* `ours`: the memory is the program's, and outlives the window */
  uint32_t comm_index; /* in the trace */
  MPI_Comm comm;       /* with yielding: a duplicate to wait on */
  struct cohort_buffer fetches;
  struct window *next;
};

static struct window *windows;
static struct cohort_pool pool;
static uint64_t n_windows;
int cohort_windows_small; /* windows that are looked at */
static struct cohort_buffer packed;

static struct window *find(MPI_Win win) {
  for (struct window *w = windows; w != NULL; w = w->next)
    if (w->handle == HANDLE(win)) return w;
  return NULL;
}

static int covered(void) { return g.order || g.full || g.replay; }

/* The window of a call; NULL when it is not known, which is said. */
static struct window *known(MPI_Win win) {
  struct window *w = find(win);
  if (w == NULL && covered()) cohort_uncovered("a window whose making was not seen");
  return w;
}

static void record_bytes(uint32_t kind, const void *bytes, size_t length) {
  g_threads.owned = 1;
  cohort_value_record_bytes(kind, bytes, length);
  g_threads.owned = 0;
}

static const void *recorded_bytes(uint32_t kind, size_t *length) {
  g_threads.owned = 1;
  const void *bytes = cohort_value_recorded_bytes(kind, length, g.site);
  g_threads.owned = 0;
  return bytes;
}

/* ---- windows */

static void begin_looking(struct window *w);

static void made(MPI_Win win, void *base, MPI_Aint size, MPI_Comm comm, int ours) {
  if (!covered() && !g.yield) return;
  struct window *w = cohort_pool_get(&pool, sizeof *w);
  if (w == NULL) {
    cohort_uncovered("a window for which there is no memory");
    return;
  }
  uint64_t own = (uint64_t)size, most = own;
  *w = (struct window){.handle = HANDLE(win), .id = ++n_windows, .base = base, .size = own, .ours = ours,
                       .comm = MPI_COMM_NULL, .next = windows};
  if (covered() && own > 0 && own <= SMALL) {
    w->shadow = cohort_map(own);
    w->mapped = own;
    if (w->shadow == NULL)
      cohort_uncovered("a window for which there is no memory");
    else
      begin_looking(w); /* nobody writes to it before he has our part of what follows */
  }
  PMPI_Allreduce(&own, &most, 1, MPI_UINT64_T, MPI_MAX, comm);
  w->small = covered() && most <= SMALL;
  if (w->small && w->shadow != NULL) cohort_windows_small++;
  if (g.full) w->comm_index = cohort_comm_index(comm);
  if (g.yield) PMPI_Comm_dup(comm, &w->comm);
  windows = w;
}

static void event_of(const struct window *w) {
  if (!g.full) return;
  cohort_event_begin_on(w == NULL ? cohort_comm_index(MPI_COMM_WORLD) : w->comm_index, -1, 0);
  cohort_event_end();
}

/* ---- looking at the content */

struct look_head { uint64_t event, window; };
struct look_piece { uint64_t offset, length; };

static int add_piece(const struct window *w, uint64_t from, uint64_t to) {
  uint64_t length = to - from, room = (length + 7) & ~(uint64_t)7;
  if (!cohort_reserve(&packed, packed.length + sizeof(struct look_piece) + room)) return 0;
  struct look_piece *p = (void *)(packed.data + packed.length);
  *p = (struct look_piece){from, length};
  memset(p + 1, 0, room);
  memcpy(p + 1, w->shadow + from, length);
  packed.length += sizeof *p + room;
  return 1;
}

enum { GRAIN = 64, WORD = 8 };

static int begin_pieces(const struct window *w) {
  if (packed.length > 0) return 1;
  if (!cohort_reserve(&packed, sizeof(struct look_head))) return 0;
  *(struct look_head *)(void *)packed.data = (struct look_head){g.events + 1, w->id};
  packed.length = sizeof(struct look_head);
  return 1;
}

static uint64_t end_of(const struct window *w, uint64_t at, uint64_t step) {
  return w->size - at < step ? w->size : at + step;
}

/* The content of a window at this look. The memory is the program's, which may have unmapped or protected it: such
 * grains are not there, and nothing is said of them. */
static uint8_t now[SMALL], there[SMALL / GRAIN];

static void see(const struct window *w) {
  size_t grains = (w->size + GRAIN - 1) / GRAIN;
  if (LIKELY(cohort_peek(now, w->base, w->size))) {
    memset(there, 1, grains);
    return;
  }
  for (size_t i = 0; i < grains; i++)
    there[i] = (uint8_t)cohort_peek(now + i * GRAIN, w->base + i * GRAIN, end_of(w, i * GRAIN, GRAIN) - i * GRAIN);
}

/* Recording: what differs from the shadow goes there, and from there into the trace: so what is recorded is what we
 * saw, though others may continue writing. By words, so that of what the program had in the window before nothing is
 * touched in replay that did not change: it may be addresses. */
static void look(struct window *w) {
  packed.length = 0;
  see(w);
  for (uint64_t grain = 0; grain < w->size; grain += GRAIN) {
    uint64_t end = end_of(w, grain, GRAIN), from = UINT64_MAX;
    if (!there[grain / GRAIN] || LIKELY(memcmp(w->shadow + grain, now + grain, end - grain) == 0)) continue;
    for (uint64_t at = grain; at <= end; at += WORD) {
      uint64_t to = at < end ? end_of(w, at, WORD) : end;
      int differs = at < end && memcmp(w->shadow + at, now + at, to - at) != 0;
      if (differs) {
        memcpy(w->shadow + at, now + at, to - at);
        if (from == UINT64_MAX) from = at;
      }
      if (from == UINT64_MAX || (differs && to < end)) continue;
      if (!begin_pieces(w) || !add_piece(w, from, differs ? to : at)) {
        cohort_uncovered("a window for which there is no memory");
        return;
      }
      from = UINT64_MAX;
    }
  }
  if (packed.length > 0) record_bytes(COHORT_VALUE_WINDOW, packed.data, packed.length);
}

static void apply(struct window *w, const uint8_t *pieces, size_t length) {
  for (size_t at = 0; at + sizeof(struct look_piece) <= length;) {
    const struct look_piece *p = (const void *)(pieces + at);
    uint64_t room = (p->length + 7) & ~(uint64_t)7;
    if (room > length - at - sizeof *p || p->offset > w->size || p->length > w->size - p->offset) break;
    memcpy(w->shadow + p->offset, p + 1, p->length);
    memset(w->private + p->offset / WORD, 0, (p->offset + p->length + WORD - 1) / WORD - p->offset / WORD);
    at += sizeof *p + room;
  }
}

/* Replay: takes the recorded changes of this event into the shadow. */
static void take(struct window *w) {
  for (;;) {
    size_t length = 0;
    const void *next = cohort_value_peek(COHORT_VALUE_WINDOW, &length);
    const struct look_head *head = next;
    if (next == NULL || length < sizeof *head || head->event != g.events + 1 || head->window != w->id) return;
    recorded_bytes(COHORT_VALUE_WINDOW, &length);
    apply(w, (const uint8_t *)(head + 1), length - sizeof *head);
  }
}

/* What is in a grain when it is first seen and is not what was recorded is the program's own, until it changes. */
static void first_seen(struct window *w, uint64_t grain, uint64_t end) {
  w->seen[grain / GRAIN] = 1;
  for (uint64_t at = grain; at < end; at += WORD) {
    w->private[at / WORD] = memcmp(w->shadow + at, now + at, end_of(w, at, WORD) - at) != 0;
    w->privates |= w->private[at / WORD];
  }
}

static void restore(struct window *w) {
  take(w);
  see(w);
  for (uint64_t grain = 0; grain < w->size; grain += GRAIN) {
    uint64_t end = end_of(w, grain, GRAIN);
    if (!there[grain / GRAIN]) continue;
    if (UNLIKELY(!w->seen[grain / GRAIN])) {
      first_seen(w, grain, end);
      continue;
    }
    if (LIKELY(memcmp(w->shadow + grain, now + grain, end - grain) == 0 && w->privates == 0)) continue;
    int changed = 0;
    for (uint64_t at = grain; at < end; at += WORD) {
      uint64_t to = end_of(w, at, WORD);
      int same = memcmp(w->shadow + at, now + at, to - at) == 0;
      if (same) {
        w->private[at / WORD] = 0;
      } else if (!w->private[at / WORD]) {
        memcpy(now + at, w->shadow + at, to - at);
        changed = 1;
      }
    }
    if (changed) cohort_poke(w->base + grain, now + grain, end - grain);
  }
}

static void begin_looking(struct window *w) {
  if (!g.replay) {
    look(w);
    return;
  }
  w->private = cohort_map(w->size / WORD + 1);
  w->seen = cohort_map(w->size / GRAIN + 1);
  if (w->private == NULL || w->seen == NULL) {
    cohort_uncovered("a window for which there is no memory");
    cohort_unmap(w->shadow, w->mapped);
    w->shadow = NULL;
    return;
  }
  restore(w);
}

/* The event in progress ends. */
void cohort_windows_look(void) {
  for (struct window *w = windows; w != NULL; w = w->next) {
    if (!w->small || w->size == 0 || w->shadow == NULL) continue;
    if (g.replay)
      restore(w);
    else if (g.order || g.full)
      look(w);
  }
}

/* ---- what is fetched */

static void expect(struct window *w, void *to, int count, MPI_Datatype type, int target) {
  if (w == NULL || !covered() || count <= 0 || target == MPI_PROC_NULL) return;
  struct fetch f = {.to = to, .count = count, .target = target, .type = type};
  if (!cohort_type_hold(&f.type, &f.own_type))
    cohort_uncovered("a one-sided call whose datatype cannot be kept");
  else if (!cohort_append(&w->fetches, &f, sizeof f))
    cohort_uncovered("a one-sided call for which there is no memory");
}

static uint64_t hash_of(const uint8_t *p, size_t n) {
  uint64_t h = n;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t v;
    memcpy(&v, p, 8);
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
  }
  for (; n > 0; p++, n--) h = (h ^ *p) * 0xBF58476D1CE4E5B9u;
  return h ^ h >> 29;
}

/* The origin buffer. NULL: it cannot be packed, which is said. */
static uint8_t *pack(const struct fetch *f, int *length) {
  uint8_t *bytes = cohort_packed(&packed, f->to, f->count, f->type, MPI_COMM_SELF, length);
  if (bytes == NULL) cohort_uncovered("a one-sided call whose values cannot be packed");
  return bytes;
}

static void diverged(void) {
  cohort_diverge_value(COHORT_DIVERGED_VALUE + COHORT_VALUE_FETCHED, COHORT_DIVERGED_VALUE + COHORT_VALUE_FETCHED,
                       g.site);
}

/* Of a great window: the hash. */
static void compare(const struct fetch *f) {
  int length = 0;
  const uint8_t *bytes = pack(f, &length);
  if (bytes == NULL) return;
  uint64_t hash = hash_of(bytes, (size_t)length);
  if (!g.replay) {
    record_bytes(COHORT_VALUE_FETCHED, &hash, sizeof hash);
    return;
  }
  size_t n = 0;
  const void *recorded = recorded_bytes(COHORT_VALUE_FETCHED, &n);
  if (recorded == NULL || n != sizeof hash || memcmp(recorded, &hash, n) != 0) diverged();
}

/* Of a small one: the values. */
static void exchange_values(const struct fetch *f) {
  int length = 0, position = 0;
  uint8_t *bytes = pack(f, &length);
  for (int at = 0; bytes != NULL && at < length;) {
    size_t n = (size_t)(length - at < PIECE ? length - at : PIECE);
    if (!g.replay) {
      record_bytes(COHORT_VALUE_FETCHED, bytes + at, n);
    } else {
      const void *recorded = recorded_bytes(COHORT_VALUE_FETCHED, &n);
      if (recorded == NULL || n == 0 || n > (size_t)(length - at)) diverged();
      memcpy(bytes + at, recorded, n);
    }
    at += (int)n;
  }
  if (g.replay && bytes != NULL)
    cohort_unpack(bytes, length, &position, f->to, f->count, f->type, MPI_COMM_SELF);
}

static void fetched(const struct window *w, struct fetch *f) {
  if (w->small)
    exchange_values(f);
  else
    compare(f);
  if (f->own_type) PMPI_Type_free(&f->type);
}

enum { ALL = -1000 }; /* no rank */

/* A synchronisation has completed what was fetched from `target`, or from all. */
static void complete(struct window *w, int target) {
  if (w == NULL) return;
  struct fetch *all = (void *)w->fetches.data;
  size_t n = w->fetches.length / sizeof *all, left = 0;
  for (size_t i = 0; i < n; i++) {
    if (target == ALL || all[i].target == target)
      fetched(w, &all[i]);
    else
      all[left++] = all[i];
  }
  w->fetches.length = left * sizeof *all;
}

/* ---- what depends on an order */

static int is_floating(MPI_Datatype type) {
  static const char *const exact[] = {"int",    "long",    "short", "char",  "INT",    "LONG_LONG",
                                      "SHORT",  "CHAR",    "BYTE",  "AINT",  "OFFSET", "COUNT",
                                      "C_BOOL", "LOGICAL", "BOOL",  "WCHAR", "LONG"};
  char name[MPI_MAX_OBJECT_NAME] = "";
  int n = 0;
  if (!cohort_type_is_named(type) || PMPI_Type_get_name(type, name, &n) != MPI_SUCCESS) return 1; /* perhaps */
  if (strstr(name, "FLOAT") || strstr(name, "DOUBLE") || strstr(name, "REAL") || strstr(name, "COMPLEX")) return 1;
  for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
    if (strstr(name, exact[i]) != NULL) return 0;
  return 1;
}

static int commutes(MPI_Op op, MPI_Datatype type) {
  if (op == MPI_NO_OP || op == MPI_MIN || op == MPI_MAX || op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR ||
      op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR || op == MPI_MINLOC || op == MPI_MAXLOC)
    return 1;
  if (op == MPI_SUM || op == MPI_PROD) return !is_floating(type);
  return 0;
}

static void only_small(const struct window *w, const char *call) {
  if (w != NULL && !w->small && covered()) cohort_uncovered(call);
}

/* ---- the calls */

static int stage_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win) {
  int rc = PMPI_Win_create(base, size, disp_unit, info, comm, win);
  if (rc == MPI_SUCCESS) made(*win, base, size, comm, 1);
  event_of(windows);
  return rc;
}

static int stage_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win) {
  int rc = PMPI_Win_allocate(size, disp_unit, info, comm, baseptr, win);
  if (rc == MPI_SUCCESS) made(*win, *(void **)baseptr, size, comm, 0);
  event_of(windows);
  return rc;
}

static void unmake(struct window *w) {
  for (struct window **p = &windows; *p != NULL; p = &(*p)->next) {
    if (*p != w) continue;
    *p = w->next;
    break;
  }
  if (w->small && w->shadow != NULL) cohort_windows_small--;
  cohort_unmap(w->shadow, w->mapped);
  cohort_unmap(w->private, w->mapped / WORD + 1);
  cohort_unmap(w->seen, w->mapped / GRAIN + 1);
  if (w->comm != MPI_COMM_NULL) PMPI_Comm_free(&w->comm);
  cohort_unmap(w->fetches.data, w->fetches.capacity);
  cohort_pool_put(&pool, w);
}

static THREAD_LOCAL struct window *freed; /* by the call in progress */

/* Its last look is after all others have come: the memory of MPI_Win_create is the program's from then on. */
static int stage_Win_free(MPI_Win *win) {
  struct window *w = known(*win);
  if (w != NULL && w->comm != MPI_COMM_NULL) cohort_synchronise(w->comm);
  int rc = PMPI_Win_free(win);
  if (w != NULL && rc == MPI_SUCCESS) {
    complete(w, ALL);
    if (!w->ours && w->small) w->size = 0; /* the memory is gone */
    freed = w;
  }
  event_of(w);
  return rc;
}

static void left_Win_free(void) {
  if (freed != NULL) unmake(freed);
  freed = NULL;
}

/* A call that is an event without fields: what is to be done before it, and after one that succeeded. */
#define STAGE(Name, parameters, arguments, before, after) \
  static int stage_##Name parameters {                    \
    struct window *w = known(win);                        \
    (void)w;                                              \
    before;                                               \
    int rc = PMPI_##Name arguments;                       \
    if (rc == MPI_SUCCESS) {                              \
      after;                                              \
    }                                                     \
    cohort_event_plain();                                 \
    return rc;                                            \
  }

#define ORIGIN origin_addr, origin_count, origin_datatype
#define RESULT result_addr, result_count, result_datatype
#define TARGET target_rank, target_disp, target_count, target_datatype
#define TARGET_PARAMETERS int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype

STAGE(Put, (const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, TARGET_PARAMETERS, MPI_Win win),
      (ORIGIN, TARGET, win), cohort_named(target_rank, 0), )
STAGE(Get, (void *origin_addr, int origin_count, MPI_Datatype origin_datatype, TARGET_PARAMETERS, MPI_Win win),
      (ORIGIN, TARGET, win), cohort_named(target_rank, 0), expect(w, ORIGIN, target_rank))
STAGE(Accumulate,
      (const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, TARGET_PARAMETERS, MPI_Op op,
       MPI_Win win),
      (ORIGIN, TARGET, op, win), cohort_named(target_rank, 0);
      if (!commutes(op, target_datatype)) only_small(w, "MPI_Accumulate whose order counts, above 64 KiB"), )
STAGE(Get_accumulate,
      (const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr, int result_count,
       MPI_Datatype result_datatype, TARGET_PARAMETERS, MPI_Op op, MPI_Win win),
      (ORIGIN, RESULT, TARGET, op, win), cohort_named(target_rank, 0);
      only_small(w, "MPI_Get_accumulate of a window above 64 KiB"), expect(w, RESULT, target_rank))
STAGE(Fetch_and_op,
      (const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
       MPI_Op op, MPI_Win win),
      (origin_addr, result_addr, datatype, target_rank, target_disp, op, win), cohort_named(target_rank, 0);
      only_small(w, "MPI_Fetch_and_op of a window above 64 KiB"), expect(w, result_addr, 1, datatype, target_rank))
STAGE(Compare_and_swap,
      (const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
       MPI_Aint target_disp, MPI_Win win),
      (origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win), cohort_named(target_rank, 0);
      only_small(w, "MPI_Compare_and_swap of a window above 64 KiB"), expect(w, result_addr, 1, datatype, target_rank))

static int stage_Win_fence(int assert, MPI_Win win) {
  struct window *w = known(win);
  /* A fence that nothing precedes need not wait for the others, so we may not either. */
  if (w != NULL && w->comm != MPI_COMM_NULL && !(assert & MPI_MODE_NOPRECEDE)) cohort_synchronise(w->comm);
  int rc = PMPI_Win_fence(assert, win);
  if (rc == MPI_SUCCESS) complete(w, ALL);
  event_of(w);
  return rc;
}

STAGE(Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win), , )
STAGE(Win_complete, (MPI_Win win), (win), , complete(w, ALL))
STAGE(Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win), , )

static int wait_win(MPI_Win win) {
  int done = 0;
  if (!g.yield) return PMPI_Win_wait(win);
  RETRY_UNTIL(done, PMPI_Win_test(win, &done))
}

static int stage_Win_wait(MPI_Win win) {
  known(win);
  int rc = wait_win(win);
  cohort_event_plain();
  return rc;
}

STAGE(Win_lock, (int lock_type, int rank, int assert, MPI_Win win), (lock_type, rank, assert, win),
      only_small(w, "MPI_Win_lock of a window above 64 KiB");
      if (g.replay && w != NULL && w->small) lock_type = MPI_LOCK_SHARED, )
STAGE(Win_unlock, (int rank, MPI_Win win), (rank, win), , complete(w, rank))
STAGE(Win_lock_all, (int assert, MPI_Win win), (assert, win),
      only_small(w, "MPI_Win_lock_all of a window above 64 KiB"), )
STAGE(Win_unlock_all, (MPI_Win win), (win), , complete(w, ALL))
STAGE(Win_flush, (int rank, MPI_Win win), (rank, win), , complete(w, rank))
STAGE(Win_flush_all, (MPI_Win win), (win), , complete(w, ALL))
STAGE(Win_flush_local, (int rank, MPI_Win win), (rank, win), , complete(w, rank))
STAGE(Win_flush_local_all, (MPI_Win win), (win), , complete(w, ALL))
STAGE(Win_sync, (MPI_Win win), (win), , )

#include "wrap_rma.h"
