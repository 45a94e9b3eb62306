/* Small tables from a handle (or any number that is not 0) to a number. */
#include "core.h"

static int grow(struct keymap *m) {
  uint64_t capacity = m->capacity ? 2 * m->capacity : 256;
  struct keyslot *grown = cohort_map(capacity * sizeof *grown);
  if (grown == NULL) return 0;
  for (uint64_t i = 0; i < m->capacity; i++) {
    if (m->slots[i].key == 0) continue;
    uint64_t j = cohort_keymap_place(m->slots[i].key, capacity);
    while (grown[j].key != 0) j = (j + 1) & (capacity - 1);
    grown[j] = m->slots[i];
  }
  cohort_unmap(m->slots, m->capacity * sizeof *grown);
  m->slots = grown;
  m->capacity = capacity;
  return 1;
}

uint64_t *cohort_keymap_at(struct keymap *m, uint64_t key) {
  if (UNLIKELY(2 * (m->used + 1) > m->capacity) && !grow(m)) return NULL;
  uint64_t i = cohort_keymap_place(key, m->capacity);
  while (m->slots[i].key != 0 && m->slots[i].key != key) i = (i + 1) & (m->capacity - 1);
  m->used += m->slots[i].key == 0;
  m->slots[i].key = key;
  return &m->slots[i].value;
}

int cohort_keymap_put(struct keymap *m, uint64_t key, uint64_t value) {
  uint64_t *at = cohort_keymap_at(m, key);
  if (at != NULL) *at = value;
  return at != NULL;
}

void cohort_keymap_remove(struct keymap *m, uint64_t key) {
  uint64_t *value = cohort_keymap_find(m, key);
  if (value == NULL) return;
  struct keyslot *slots = m->slots;
  uint64_t mask = m->capacity - 1;
  uint64_t hole = (uint64_t)((struct keyslot *)((uint8_t *)value - offsetof(struct keyslot, value)) - slots);
  m->used--;
  /* Close the gap, so that probing needs no tombstones. */
  for (uint64_t i = (hole + 1) & mask; slots[i].key != 0; i = (i + 1) & mask) {
    uint64_t home = cohort_keymap_place(slots[i].key, m->capacity);
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    slots[hole] = slots[i];
    hole = i;
  }
  slots[hole] = (struct keyslot){0, 0};
}
