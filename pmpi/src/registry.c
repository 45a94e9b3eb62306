/* Tables of MPI handles that a debugger reads at any instruction: a record is complete before its slot points to it,
 * and a table that grows is copied before the registry points to the copy. */
#include "registry.h"

#include <execinfo.h>
#include <stdlib.h>

EXPORT struct cohort_registry cohort_registry = {
    .magic = COHORT_REGISTRY_MAGIC,
    .version = COHORT_REGISTRY_VERSION,
    .size = sizeof(struct cohort_registry),
    .mpi = COHORT_MPI,
    .handle_size = sizeof(MPI_Datatype),
};

struct cohort_lock cohort_registry_mutex;
int cohort_at_once = 1;

enum { FREED = 1 };

static inline uint64_t place(uint64_t handle, uint64_t capacity) {
  return (handle * 0x9E3779B97F4A7C15u >> 20) & (capacity - 1);
}

static size_t table_bytes(uint64_t capacity) {
  return sizeof(struct cohort_slots) + capacity * sizeof(struct cohort_slot);
}

/* The lock is held while a table is looked at or changed. */
void *cohort_table_find(const struct registry_table *t, uint64_t handle) {
  const struct cohort_slots *s = t->slots;
  if (s == NULL) return NULL;
  const struct cohort_slot *last = &s->slot[t->last];
  if (last->handle == handle && last->record > FREED) return (void *)(uintptr_t)last->record;
  for (uint64_t i = place(handle, s->capacity); s->slot[i].record != 0; i = (i + 1) & (s->capacity - 1))
    if (s->slot[i].record != FREED && s->slot[i].handle == handle) return (void *)(uintptr_t)s->slot[i].record;
  return NULL;
}

/* `used` counts slots that are not empty, freed ones included: they are dropped here. The memory is from the pool, so
 * that handles that come and go cost no system call. More than two slots in five lead to something then, so that each
 * handle's share of the table is at most 40 bytes, and there is room for some more before the table is rebuilt again.
 * */
static int rebuild(struct registry_table *t) {
  uint64_t capacity = 256;
  while (5 * (t->live + 1) > 4 * capacity) capacity *= 2;
  struct cohort_slots *fresh = cohort_alloc(table_bytes(capacity));
  if (fresh == NULL) return 0;
  fresh->capacity = capacity;
  struct cohort_slots *old = t->slots;
  for (uint64_t i = 0; old != NULL && i < old->capacity; i++) {
    if (old->slot[i].record <= FREED) continue;
    uint64_t j = place(old->slot[i].handle, capacity);
    while (fresh->slot[j].record != 0) j = (j + 1) & (capacity - 1);
    fresh->slot[j] = old->slot[i];
  }
  t->slots = fresh;
  t->used = t->live;
  t->last = 0;
  __atomic_store_n(t->published, (uint64_t)(uintptr_t)fresh, __ATOMIC_RELEASE);
  if (old != NULL) cohort_free(old, table_bytes(old->capacity));
  return 1;
}

void *cohort_table_put(struct registry_table *t, uint64_t handle, void *record) {
  if (UNLIKELY(t->slots == NULL || 8 * (t->used + 1) > 7 * t->slots->capacity) && !rebuild(t)) {
    cohort_registry.lost++;
    return record;
  }
  struct cohort_slots *s = t->slots;
  uint64_t i = place(handle, s->capacity), at = UINT64_MAX;
  for (; s->slot[i].record != 0; i = (i + 1) & (s->capacity - 1)) {
    if (s->slot[i].record == FREED) {
      if (at == UINT64_MAX) at = i;
    } else if (s->slot[i].handle == handle) {
      void *before = (void *)(uintptr_t)s->slot[i].record;
      __atomic_store_n(&s->slot[i].record, (uint64_t)(uintptr_t)record, __ATOMIC_RELEASE);
      t->last = i;
      return before;
    }
  }
  if (at == UINT64_MAX) {
    at = i;
    t->used++;
  }
  t->live++;
  t->last = at;
  s->slot[at].handle = handle;
  __atomic_store_n(&s->slot[at].record, (uint64_t)(uintptr_t)record, __ATOMIC_RELEASE);
  return NULL;
}

/* Whether the handle led to the record, or to any if it is NULL: now it leads to none. */
static int take_out(struct registry_table *t, uint64_t handle, const void *record) {
  struct cohort_slots *s = t->slots;
  if (s == NULL) return 0;
  uint64_t i = t->last;
  if (s->slot[i].handle != handle || s->slot[i].record <= FREED)
    for (i = place(handle, s->capacity); s->slot[i].record != 0; i = (i + 1) & (s->capacity - 1))
      if (s->slot[i].record != FREED && s->slot[i].handle == handle) break;
  if (s->slot[i].record == 0 || (record != NULL && s->slot[i].record != (uint64_t)(uintptr_t)record)) return 0;
  t->live--;
  /* its handle stays: a debugger says that it was freed */
  __atomic_store_n(&s->slot[i].record, FREED, __ATOMIC_RELEASE);
  return 1;
}

void cohort_table_remove(struct registry_table *t, uint64_t handle) { take_out(t, handle, NULL); }

/* ------------------------------------------------------------------ records: of handles of all kinds */

struct object_private {
  struct object_table *table;
};
#define PRIVATE(o) ((struct object_private *)(void *)(o) - 1)

/* One that is not published yet, with no site and no stack; the lock is held. NULL: no memory. */
void *cohort_object_new(struct object_table *t, size_t bytes, uint64_t handle) {
  struct object_private *p = cohort_alloc(sizeof *p + bytes);
  if (p == NULL) {
    cohort_registry.lost++;
    return NULL;
  }
  p->table = t;
  struct cohort_object *o = (void *)(p + 1);
  o->size = (uint32_t)bytes;
  o->handle = handle;
  o->f_handle = -1;
  o->refs = o->holds = 1;
  o->id = ++t->created;
  o->event = g.events;
  return o;
}

/* The same with both; the lock is not held. */
void *cohort_object_make(struct object_table *t, size_t bytes, uint64_t handle, uint64_t site) {
  uint64_t stack = cohort_stack(site, 0);
  cohort_registry_lock();
  struct cohort_object *o = cohort_object_new(t, bytes, handle);
  if (o != NULL) {
    o->call_site = site;
    o->stack = stack;
  }
  cohort_registry_unlock();
  return o;
}

/* The lock is held. */
void cohort_object_ref(struct cohort_object *o) {
  if (o != NULL) o->refs++;
}

/* With a reference; NULL: it is not known. The lock is held. */
void *cohort_object_find(struct object_table *t, uint64_t handle) {
  struct cohort_object *o = cohort_table_find(&t->table, handle);
  cohort_object_ref(o);
  return o;
}

/* Gives up a reference that a record had. If it was the last one, what it led to joins `done`, which is linked through
 * `handle`, so that a deep tree needs no stack. */
void cohort_object_drop(uint64_t record, struct cohort_object **done) {
  struct cohort_object *o = (void *)(uintptr_t)record;
  if (o == NULL || --o->refs > 0) return;
  o->handle = (uint64_t)(uintptr_t)*done;
  *done = o;
}

static void free_name(struct cohort_object *o) {
  char *name = (void *)(uintptr_t)o->name;
  if (UNLIKELY(name != NULL)) cohort_free(name, strlen(name) + 1);
}

/* Gives up one reference, and what it was the last one to hold. The lock is held. */
void cohort_object_unref(struct cohort_object *o) {
  struct cohort_object *done = NULL;
  cohort_object_drop((uint64_t)(uintptr_t)o, &done);
  while (done != NULL) {
    struct cohort_object *gone = done;
    struct object_private *p = PRIVATE(gone);
    done = (void *)(uintptr_t)gone->handle;
    gone->handle = 0;
    if (p->table->release != NULL) p->table->release(gone, &done);
    free_name(gone);
    cohort_free(p, sizeof *p + gone->size);
  }
}

/* A record that the handle had is dropped: it went away unseen. So is this one, if there is no memory. The lock is
 * held. */
void cohort_object_publish_locked(struct cohort_object *o) {
  struct cohort_object *gone = cohort_table_put(&PRIVATE(o)->table->table, o->handle, o);
  if (UNLIKELY(gone != NULL)) cohort_object_unref(gone);
}

void cohort_object_publish(struct cohort_object *o) {
  cohort_registry_lock();
  cohort_object_publish_locked(o);
  cohort_registry_unlock();
}

/* A debugger that looks meanwhile finds the name before, or this one. */
void cohort_object_set_name(struct cohort_object *o, const char *name) {
  size_t bytes = strnlen(name, 4095) + 1;
  cohort_registry_lock();
  char *text = bytes > 1 ? cohort_alloc(bytes) : NULL;
  if (text != NULL) memcpy(text, name, bytes - 1);
  struct cohort_object before = *o;
  __atomic_store_n(&o->name, (uint64_t)(uintptr_t)text, __ATOMIC_RELEASE);
  free_name(&before);
  cohort_registry_unlock();
}

/* For a look at it, without a reference; NULL: it is not known. */
void *cohort_object_peek(struct object_table *t, uint64_t handle) {
  cohort_registry_lock();
  void *o = cohort_table_find(&t->table, handle);
  cohort_registry_unlock();
  return o;
}

/* With a reference for the caller; NULL: it is not known. */
void *cohort_object_get(struct object_table *t, uint64_t handle) {
  cohort_registry_lock();
  struct cohort_object *o = cohort_object_find(t, handle);
  cohort_registry_unlock();
  return o;
}

void cohort_object_put(struct cohort_object *o) {
  if (o == NULL) return;
  cohort_registry_lock();
  cohort_object_unref(o);
  cohort_registry_unlock();
}

/* The program has given it a name. */
void cohort_object_rename(struct object_table *t, uint64_t handle, const char *name) {
  struct cohort_object *o = cohort_object_get(t, handle);
  if (o != NULL) cohort_object_set_name(o, name);
  cohort_object_put(o);
}

/* NULL also if the program is giving it up: whoever has the handle now has another object. The lock is held. */
static struct cohort_object *there(struct object_table *t, uint64_t handle) {
  struct cohort_object *o = cohort_table_find(&t->table, handle);
  return o == NULL || o->state & COHORT_OBJECT_GOING ? NULL : o;
}

static void hold(struct cohort_object *o) {
  if (!(o->state & COHORT_OBJECT_PREDEFINED)) o->holds++;
}

int cohort_object_known(struct object_table *t, uint64_t handle) {
  cohort_registry_lock();
  int known = there(t, handle) != NULL;
  cohort_registry_unlock();
  return known;
}

/* The program was given the handle once more: 1. 0: it is new, and has to be made. */
int cohort_object_again(struct object_table *t, uint64_t handle) {
  cohort_registry_lock();
  struct cohort_object *o = there(t, handle);
  if (o != NULL) hold(o);
  cohort_registry_unlock();
  return o != NULL;
}

/* Publishes what was made because it was not known, unless another thread has done so in between; `given`: the program
 * has the handle once more. Returns what is published. */
void *cohort_object_publish_new(struct cohort_object *o, int given) {
  cohort_registry_lock();
  struct cohort_object *known = there(PRIVATE(o)->table, o->handle);
  if (known == NULL) {
    cohort_object_publish_locked(known = o);
  } else {
    cohort_object_unref(o);
    if (given) hold(known);
  }
  cohort_registry_unlock();
  return known;
}

/* The program is about to free it. With a reference, for cohort_object_freed; NULL: it is not known. Until then a
 * debugger sees it, but a thread that MPI gives the handle to meanwhile makes a record of its own. */
void *cohort_object_freeing(struct object_table *t, uint64_t handle) {
  cohort_registry_lock();
  struct cohort_object *o = cohort_object_find(t, handle);
  if (o != NULL && !(o->state & COHORT_OBJECT_PREDEFINED) && o->holds > 0 && --o->holds == 0)
    __atomic_store_n(&o->state, o->state | COHORT_OBJECT_GOING, __ATOMIC_RELEASE);
  cohort_registry_unlock();
  return o;
}

/* `rc`: what MPI said. */
void cohort_object_freed(struct cohort_object *o, int rc) {
  if (o == NULL) return;
  cohort_registry_lock();
  if (o->state & COHORT_OBJECT_PREDEFINED) {
    /* MPI_Group_free(MPI_GROUP_EMPTY) and the like: it is there still */
  } else if (rc != MPI_SUCCESS) {
    o->holds++;
    __atomic_store_n(&o->state, o->state & ~(uint32_t)COHORT_OBJECT_GOING, __ATOMIC_RELEASE);
  } else if (o->state & COHORT_OBJECT_GOING) {
    /* a debugger finds it as long as it is not freed; another object may have the handle by now */
    if (take_out(&PRIVATE(o)->table->table, o->handle, o)) o->refs--;
    __atomic_store_n(&o->state, (o->state & ~(uint32_t)COHORT_OBJECT_GOING) | COHORT_OBJECT_FREED, __ATOMIC_RELEASE);
  }
  cohort_object_unref(o);
  cohort_registry_unlock();
}

/* ------------------------------------------------------------------ where things were made */

static int stacks_wanted, request_stacks_wanted;

/* Stacks by hash; two that have the same hash are one that is lost. A program has few places where it makes things. */
enum { STACKS_MAX = 1 << 14 };
static struct keymap stacks;

static uint64_t intern(const uint64_t *frames, uint32_t n) {
  uint64_t h = n;
  for (uint32_t i = 0; i < n; i++) h = (h ^ frames[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
  h |= 1;
  uint64_t *known = cohort_keymap_find(&stacks, h);
  if (known != NULL) {
    const struct cohort_stack *s = (const void *)(uintptr_t)*known;
    return s->n == n && memcmp(s + 1, frames, n * sizeof *frames) == 0 ? *known : 0;
  }
  if (stacks.used >= STACKS_MAX) return 0;
  struct cohort_stack *s = cohort_alloc(sizeof *s + n * sizeof *frames);
  if (s == NULL) return 0;
  s->n = n;
  memcpy(s + 1, frames, n * sizeof *frames);
  return cohort_keymap_put(&stacks, h, (uint64_t)(uintptr_t)s) ? (uint64_t)(uintptr_t)s : 0;
}

/* Of the calling thread, from the program's frame with this return address on. The lock is not held. 0: none is kept.
 * */
uint64_t cohort_stack(uint64_t site, int of_request) {
  enum { OURS = 12 }; /* frames of this library and of the MPI's Fortran */
  if (LIKELY(!stacks_wanted) || (of_request && !request_stacks_wanted)) return 0;
  void *found[COHORT_STACK_MAX + OURS];
  uint64_t frames[COHORT_STACK_MAX];
  int n = backtrace(found, COHORT_STACK_MAX + OURS), from = 0;
  while (from < n && (uint64_t)(uintptr_t)found[from] != site) from++;
  if (from == n) return 0;
  uint32_t kept = 0;
  for (int i = from; i < n && kept < COHORT_STACK_MAX; i++) frames[kept++] = (uint64_t)(uintptr_t)found[i];
  cohort_registry_lock();
  uint64_t stack = intern(frames, kept);
  cohort_registry_unlock();
  return stack;
}

static int asked(const char *variable, int otherwise, uint32_t *features) {
  const char *value = getenv(variable);
  if (value == NULL || (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)) return otherwise;
  *features |= COHORT_FEATURE_ASKED;
  return value[0] == '1';
}

/* After the control block is open, and before anything is registered. */
void cohort_registry_open(void) {
  struct cohort_registry *r = &cohort_registry;
  r->mode = g.control->mode;
  r->comm_null = HANDLE(MPI_COMM_NULL);
  r->request_null = HANDLE(MPI_REQUEST_NULL);
  r->in_place = (uint64_t)(uintptr_t)MPI_IN_PLACE;
  uint32_t features = COHORT_FEATURE_DATATYPES | COHORT_FEATURE_COMMS | COHORT_FEATURE_GROUPS | COHORT_FEATURE_WINDOWS |
                      COHORT_FEATURE_FILES | COHORT_FEATURE_OPS | COHORT_FEATURE_ERRHANDLERS | COHORT_FEATURE_INFOS;
  int controlled = g.control->magic == COHORT_CONTROL_MAGIC,
      told = controlled && (g.control->flags & COHORT_FLAG_KEEP) != 0;
  if (controlled) features |= COHORT_FEATURE_CONTROL;
  g.tracking = asked(COHORT_ENV_KEEP, told || !controlled, &features);
  const char *stacks_asked = getenv(COHORT_ENV_STACKS);
  stacks_wanted = stacks_asked == NULL ? told : strcmp(stacks_asked, "1") == 0;
  request_stacks_wanted = stacks_wanted && stacks_asked != NULL;
  if (stacks_wanted) {
    void *first[2];
    backtrace(first, 2); /* which loads what it needs */
    features |= COHORT_FEATURE_STACKS;
  }
  if (g.tracking) features |= COHORT_FEATURE_REQUESTS | COHORT_FEATURE_CALLS;
  if (g.tracking && request_stacks_wanted) features |= COHORT_FEATURE_REQUEST_STACKS;
  __atomic_store_n(&r->features, features, __ATOMIC_RELEASE);
}
