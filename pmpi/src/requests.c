/* The program's active requests, by handle. Handles are reused, and some are shared: an MPI hands out one request that
 * is complete from the beginning to many sends. So a handle leads to a queue of requests, the oldest first. */
#include "completion.h"
#include "p2p.h"

struct slot { uint64_t handle; uint32_t head, tail; }; /* head 0: empty */

static struct slot *slots;
static uint64_t capacity;
static uint64_t used;
static struct cohort_request *nodes; /* node 0 is not used */
static uint32_t n_nodes, cap_nodes, free_node;
uint32_t cohort_request_count, cohort_watched_count;

static inline uint64_t place(uint64_t handle, uint64_t cap) { return (handle * 0x9E3779B97F4A7C15u >> 20) & (cap - 1); }

static int grow_slots(void) {
  uint64_t cap = capacity ? 2 * capacity : 1024;
  struct slot *grown = cohort_map(cap * sizeof *grown);
  if (grown == NULL) return 0;
  for (uint64_t i = 0; i < capacity; i++) {
    if (slots[i].head == 0) continue;
    uint64_t j = place(slots[i].handle, cap);
    while (grown[j].head != 0) j = (j + 1) & (cap - 1);
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
    free_node = nodes[n].next;
    return n;
  }
  if (n_nodes + 1 >= cap_nodes) {
    uint32_t cap = cap_nodes ? 2 * cap_nodes : 1024;
    struct cohort_request *grown = cohort_map(cap * sizeof *grown);
    if (grown == NULL) return 0;
    if (cap_nodes > 0) memcpy(grown, nodes, cap_nodes * sizeof *grown);
    cohort_unmap(nodes, cap_nodes * sizeof *nodes);
    nodes = grown;
    cap_nodes = cap;
  }
  return ++n_nodes;
}

static struct slot *find_slot(uint64_t handle) {
  if (capacity == 0) return NULL;
  uint64_t i = place(handle, capacity);
  while (slots[i].head != 0 && slots[i].handle != handle) i = (i + 1) & (capacity - 1);
  return &slots[i];
}

void cohort_request_watch(struct cohort_request *r, int watch) {
  cohort_watched_count += (uint32_t)watch - r->watched;
  r->watched = (uint8_t)watch;
}

/* The program may free a datatype that its request still uses. */
void cohort_request_sends(struct cohort_request *r, const void *buf, int count, MPI_Datatype type) {
  int integers, addresses, types, combiner = MPI_COMBINER_NAMED;
  r->buf = buf;
  r->count = count;
  r->type = type;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
      combiner == MPI_COMBINER_NAMED)
    return;
  r->own_type = PMPI_Type_dup(type, &r->type) == MPI_SUCCESS;
  if (!r->own_type) r->count = 0; /* not looked into */
}

static void drop_node(uint32_t n) {
  cohort_awaited_done(&nodes[n]);
  if (UNLIKELY(nodes[n].own_type)) {
    PMPI_Type_free(&nodes[n].type);
    cohort_type_size_forget();
  }
  cohort_request_watch(&nodes[n], 0);
  nodes[n].next = free_node;
  free_node = n;
  cohort_request_count--;
}

/* Only requests that were complete at once share a handle: sends, and receives from MPI_PROC_NULL. Anything else with
 * this handle is the remains of a request that went away unseen. */
static int may_share(const struct cohort_request *r) {
  return !r->persistent && (r->cls != REQUEST_RECEIVE || r->null_peer);
}

struct cohort_request *cohort_request_add(MPI_Request request, uint8_t cls, int null_peer) {
  if (request == MPI_REQUEST_NULL) return NULL;
  if (UNLIKELY(2 * (used + 1) >= capacity) && !grow_slots()) return NULL;
  uint32_t n = new_node();
  if (n == 0) return NULL;
  uint64_t handle = HANDLE(request);
  nodes[n] = (struct cohort_request){
      .handle = handle, .post = g.events + 1, .cls = cls, .active = 1, .null_peer = null_peer != 0};
  cohort_request_count++;
  struct slot *s = find_slot(handle);
  if (s->head == 0) {
    *s = (struct slot){handle, n, n};
    used++;
  } else if (may_share(&nodes[n]) && may_share(&nodes[s->head])) {
    nodes[s->tail].next = n;
    s->tail = n;
  } else {
    while (s->head != 0) {
      uint32_t old = s->head;
      s->head = nodes[old].next;
      drop_node(old);
    }
    s->head = s->tail = n;
  }
  return &nodes[n];
}

struct cohort_request *cohort_request_find(uint64_t handle) {
  if (cohort_request_count == 0) return NULL;
  struct slot *s = find_slot(handle);
  return s == NULL || s->head == 0 ? NULL : &nodes[s->head];
}

void cohort_request_remove(uint64_t handle) {
  struct slot *s = find_slot(handle);
  if (s == NULL || s->head == 0) return;
  uint32_t n = s->head;
  s->head = nodes[n].next;
  drop_node(n);
  if (s->head != 0) return;
  used--;
  /* Close the gap, so that probing needs no tombstones. */
  uint64_t hole = (uint64_t)(s - slots), i = hole;
  for (;;) {
    i = (i + 1) & (capacity - 1);
    if (slots[i].head == 0) break;
    uint64_t home = place(slots[i].handle, capacity);
    if (((i - home) & (capacity - 1)) >= ((i - hole) & (capacity - 1))) {
      slots[hole] = slots[i];
      hole = i;
    }
  }
  slots[hole] = (struct slot){0, 0, 0};
}

/* The handle of a persistent request, which is not active, has become another one. */
void cohort_request_renamed(uint64_t before, MPI_Request after) {
  struct cohort_request *old = cohort_request_find(before);
  if (old == NULL || !old->persistent) return;
  struct cohort_request kept = *old;
  old->own_type = 0; /* it goes along */
  cohort_request_remove(before);
  struct cohort_request *r = cohort_request_add(after, kept.cls, kept.null_peer);
  if (r == NULL) return;
  int watched = kept.watched;
  kept.handle = r->handle;
  kept.next = r->next;
  kept.watched = 0;
  *r = kept;
  if (watched) cohort_request_watch(r, 1);
}

/* What MPI_Cancel is called for has to be known: which post it was, and that it was a receive. Handles are reused, so
 * an entry is only ever replaced, and there are as many as the program had requests at one time. */
static struct keymap noted;

void cohort_request_note(MPI_Request request, uint8_t cls) {
  if (request != MPI_REQUEST_NULL) cohort_keymap_put(&noted, HANDLE(request), (g.events + 1) << 3 | cls);
}

int cohort_request_noted(uint64_t handle, uint64_t *event) {
  uint64_t *value = cohort_keymap_find(&noted, handle);
  if (value == NULL) return 0;
  *event = *value >> 3;
  return (int)(*value & 7);
}
