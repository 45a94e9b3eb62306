/* Racing mode: the requests whose messages have a header, by handle, and the memory of messages. Only requests that are
 * not complete when the call that makes them returns stand here, so that no two have one handle. */
#include "core.h"
#include "racing.h"

static uint32_t *slots; /* number of a node; 0: empty */
static uint64_t capacity, used;
static struct node *blocks[64]; /* nodes stay where they are: block b holds FIRST << b of them */
static uint32_t n_nodes, free_node;
uint32_t cohort_node_count;

enum { FIRST = 256 };

static struct node *at(uint32_t number) {
  uint32_t i = number - 1 + FIRST;
  int block = 31 - __builtin_clz(i / FIRST);
  return &blocks[block][i - ((uint32_t)FIRST << block)];
}

static inline uint64_t place(uint64_t key, uint64_t cap) { return (key * 0x9E3779B97F4A7C15u >> 20) & (cap - 1); }

static int grow(void) {
  uint64_t cap = capacity ? 2 * capacity : 1024;
  uint32_t *grown = cohort_map(cap * sizeof *grown);
  if (grown == NULL) return 0;
  for (uint64_t i = 0; i < capacity; i++) {
    if (slots[i] == 0) continue;
    uint64_t j = place(at(slots[i])->key, cap);
    while (grown[j] != 0) j = (j + 1) & (cap - 1);
    grown[j] = slots[i];
  }
  cohort_unmap(slots, capacity * sizeof *slots);
  slots = grown;
  capacity = cap;
  return 1;
}

static uint32_t new_node(void) {
  if (free_node != 0) {
    uint32_t n = free_node;
    free_node = at(n)->next;
    return n;
  }
  int block = 31 - __builtin_clz((n_nodes + FIRST) / FIRST);
  if (blocks[block] == NULL) blocks[block] = cohort_map(((size_t)FIRST << block) * sizeof(struct node));
  return blocks[block] == NULL ? 0 : ++n_nodes;
}

static uint64_t slot_of(uint64_t key) {
  uint64_t i = place(key, capacity);
  while (slots[i] != 0 && at(slots[i])->key != key) i = (i + 1) & (capacity - 1);
  return i;
}

struct node *cohort_node_add(uint64_t key) {
  if (UNLIKELY(2 * (used + 1) >= capacity) && !grow()) return NULL;
  uint32_t number = new_node();
  if (number == 0) return NULL;
  struct node *n = at(number);
  *n = (struct node){.key = key};
  n->next = number; /* while it lives: its own number */
  uint64_t i = slot_of(key);
  if (slots[i] == 0) used++; /* else: the remains of a request that went away unseen; nobody can ask for it any more */
  slots[i] = number;
  cohort_node_count++;
  return n;
}

struct node *cohort_node_adopt(uint64_t key, const struct node *as) {
  struct node *n = cohort_node_add(key);
  if (n == NULL) return NULL;
  uint32_t number = n->next;
  *n = *as;
  n->key = key;
  n->next = number;
  return n;
}

struct node *cohort_node_find(uint64_t key) {
  uint64_t i = slot_of(key);
  return slots[i] == 0 ? NULL : at(slots[i]);
}

static void unlist(const struct node *n) {
  uint64_t hole = slot_of(n->key), i = hole;
  if (slots[hole] != n->next) return;
  used--;
  for (;;) { /* close the gap, so that probing needs no tombstones */
    i = (i + 1) & (capacity - 1);
    if (slots[i] == 0) break;
    uint64_t home = place(at(slots[i])->key, capacity);
    if (((i - home) & (capacity - 1)) >= ((i - hole) & (capacity - 1))) {
      slots[hole] = slots[i];
      hole = i;
    }
  }
  slots[hole] = 0;
}

void cohort_node_remove(struct node *n) {
  uint32_t number = n->next;
  unlist(n);
  cohort_node_count--;
  n->next = free_node;
  free_node = number;
}

void cohort_node_renamed(uint64_t before, MPI_Request after) {
  struct node *n = cohort_node_count == 0 ? NULL : cohort_node_find(before);
  if (n == NULL || !n->persistent) return;
  unlist(n);
  n->key = HANDLE(after);
  n->request = after;
  uint64_t i = slot_of(n->key);
  if (slots[i] == 0) used++;
  slots[i] = n->next;
}

/* ---- open receives from MPI_ANY_SOURCE, the oldest post first */
static uint32_t oldest, newest;

void cohort_open_add(struct node *n) {
  n->older = newest;
  n->newer = 0;
  if (newest != 0)
    at(newest)->newer = n->next;
  else
    oldest = n->next;
  newest = n->next;
}

void cohort_open_remove(struct node *n) {
  if (n->older != 0)
    at(n->older)->newer = n->newer;
  else
    oldest = n->newer;
  if (n->newer != 0)
    at(n->newer)->older = n->older;
  else
    newest = n->older;
}

struct node *cohort_open_oldest(void) { return oldest == 0 ? NULL : at(oldest); }
struct node *cohort_open_after(const struct node *n) { return n->newer == 0 ? NULL : at(n->newer); }

/* ---- memory of messages: free lists of blocks of 2^k bytes */
enum { SMALLEST = 6, LARGEST = 17, ARENA = 1 << 20 };
static uint8_t *free_wires[LARGEST + 1];
static uint8_t *arena;
static size_t arena_left;

static int size_class(size_t bytes) {
  return bytes <= (size_t)1 << SMALLEST ? SMALLEST : 64 - __builtin_clzl(bytes - 1);
}

uint8_t *cohort_wire_get(size_t bytes) {
  int k = size_class(bytes);
  if (k > LARGEST) return cohort_map(bytes);
  uint8_t *wire = free_wires[k];
  if (LIKELY(wire != NULL)) {
    memcpy(&free_wires[k], wire, sizeof wire);
    return wire;
  }
  size_t size = (size_t)1 << k;
  if (arena_left < size) {
    uint8_t *fresh = cohort_map(ARENA);
    if (fresh == NULL) return NULL;
    arena = fresh;
    arena_left = ARENA;
  }
  wire = arena;
  arena += size;
  arena_left -= size;
  return wire;
}

void cohort_wire_put(uint8_t *wire, size_t bytes) {
  int k = size_class(bytes);
  if (k > LARGEST) {
    cohort_unmap(wire, bytes);
    return;
  }
  memcpy(wire, &free_wires[k], sizeof wire);
  free_wires[k] = wire;
}

/* ---- requests that the program has given up (MPI_Request_free, MPI_Bsend): theirs is memory that MPI still uses, and
 * messages that are still to be delivered */
static struct node **orphans;
static size_t cap_orphans;
size_t cohort_orphan_count;

int cohort_orphan_add(struct node *n) {
  if (cohort_orphan_count == cap_orphans) {
    size_t cap = cap_orphans ? 2 * cap_orphans : 512;
    struct node **grown = cohort_map(cap * sizeof *grown);
    if (grown == NULL) return 0;
    if (cohort_orphan_count > 0) memcpy(grown, orphans, cohort_orphan_count * sizeof *grown);
    cohort_unmap(orphans, cap_orphans * sizeof *orphans);
    orphans = grown;
    cap_orphans = cap;
  }
  orphans[cohort_orphan_count++] = n;
  return 1;
}

/* Sends complete in about the order in which they were made: so only the first are looked at, and receives, which the
 * program may be waiting for. */
void cohort_orphans_poll(void) {
  size_t kept = 0;
  int sends = 0;
  for (size_t i = 0; i < cohort_orphan_count; i++) {
    struct node *n = orphans[i];
    int flag = 0;
    MPI_Status status;
    if (n->kind == NODE_RECEIVE || sends < 4) {
      int rc = PMPI_Test(&n->request, &flag, &status);
      if (flag || rc != MPI_SUCCESS) {
        int freed = n->freed && n->persistent;
        cohort_finish(n, &status, rc);
        if (freed) {
          cohort_free_persistent(n, &n->request);
          cohort_release(n->wire, n->wire_bytes, n->direct, &n->type);
          cohort_node_remove(n);
        }
        continue;
      }
      sends += n->kind != NODE_RECEIVE;
    }
    orphans[kept++] = n;
  }
  cohort_orphan_count = kept;
}
