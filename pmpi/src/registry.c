/* Tables of MPI handles that a debugger reads at any instruction: a record is complete before its slot points to it, and a table that grows is
 * copied before the registry points to the copy. */
#include "cohort.h"

#include <sched.h>

EXPORT struct cohort_registry cohort_registry = {
    .magic = COHORT_REGISTRY_MAGIC,
    .version = COHORT_ABI_VERSION,
    .size = sizeof(struct cohort_registry),
    .mpi = COHORT_MPI,
    .handle_size = sizeof(MPI_Datatype),
};

static atomic_flag lock = ATOMIC_FLAG_INIT;

void cohort_registry_lock(void) {
  while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) sched_yield();
}

void cohort_registry_unlock(void) { atomic_flag_clear_explicit(&lock, memory_order_release); }

enum { FREED = 1 };

static inline uint64_t place(uint64_t handle, uint64_t capacity) {
  return (handle * 0x9E3779B97F4A7C15u >> 20) & (capacity - 1);
}

static size_t table_bytes(uint64_t capacity) { return sizeof(struct cohort_slots) + capacity * sizeof(struct cohort_slot); }

void *cohort_table_find(const struct registry_table *t, uint64_t handle) {
  const struct cohort_slots *s = t->slots;
  if (s == NULL) return NULL;
  for (uint64_t i = place(handle, s->capacity); s->slot[i].record != 0; i = (i + 1) & (s->capacity - 1))
    if (s->slot[i].record != FREED && s->slot[i].handle == handle) return (void *)(uintptr_t)s->slot[i].record;
  return NULL;
}

/* `used` counts slots that are not empty, freed ones included: they are dropped here. */
static int rebuild(struct registry_table *t) {
  uint64_t capacity = 256;
  while (capacity < 4 * (t->live + 1)) capacity *= 2;
  struct cohort_slots *fresh = cohort_map(table_bytes(capacity));
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
  __atomic_store_n(t->published, (uint64_t)(uintptr_t)fresh, __ATOMIC_RELEASE);
  if (old != NULL) cohort_unmap(old, table_bytes(old->capacity));
  return 1;
}

int cohort_table_put(struct registry_table *t, uint64_t handle, void *record) {
  if ((t->slots == NULL || 4 * (t->used + 1) > 3 * t->slots->capacity) && !rebuild(t)) return 0;
  struct cohort_slots *s = t->slots;
  uint64_t i = place(handle, s->capacity), at = UINT64_MAX;
  for (; s->slot[i].record != 0; i = (i + 1) & (s->capacity - 1)) {
    if (s->slot[i].record == FREED) {
      if (at == UINT64_MAX) at = i;
    } else if (s->slot[i].handle == handle) {
      __atomic_store_n(&s->slot[i].record, (uint64_t)(uintptr_t)record, __ATOMIC_RELEASE);
      return 1;
    }
  }
  if (at == UINT64_MAX) {
    at = i;
    t->used++;
  }
  t->live++;
  s->slot[at].handle = handle;
  __atomic_store_n(&s->slot[at].record, (uint64_t)(uintptr_t)record, __ATOMIC_RELEASE);
  return 1;
}

void cohort_table_remove(struct registry_table *t, uint64_t handle) {
  struct cohort_slots *s = t->slots;
  if (s == NULL) return;
  for (uint64_t i = place(handle, s->capacity); s->slot[i].record != 0; i = (i + 1) & (s->capacity - 1)) {
    if (s->slot[i].record == FREED || s->slot[i].handle != handle) continue;
    __atomic_store_n(&s->slot[i].record, FREED, __ATOMIC_RELEASE);
    t->live--;
    return;
  }
}

void cohort_registry_open(void) {
  struct cohort_registry *r = &cohort_registry;
  r->mode = g.control->mode;
  r->in_place = (uint64_t)(uintptr_t)MPI_IN_PLACE;
  uint32_t features = COHORT_FEATURE_DATATYPES | COHORT_FEATURE_COMMS;
  if (g.control->magic == COHORT_CONTROL_MAGIC) features |= COHORT_FEATURE_CONTROL;
  __atomic_store_n(&r->features, features, __ATOMIC_RELEASE);
}
