/* Racing mode: the requests whose messages have a header, by handle, and the memory of messages. Only requests that are
 * not complete when the call that makes them returns are here, so that no two have one handle. */
#include "core.h"
#include "racing.h"

static struct keymap nodes; /* 0: its handle will come again */
static struct cohort_pool pool;
uint32_t cohort_node_count;

struct node *cohort_node_add(uint64_t key) {
  uint64_t *at = cohort_keymap_at(&nodes, key);
  struct node *n = at == NULL ? NULL : cohort_pool_get(&pool, sizeof *n);
  if (n == NULL) return NULL;
  *n = (struct node){.key = key};
  *at = (uint64_t)(uintptr_t)n; /* for what is left of a request that went away unseen nobody can ask any more */
  cohort_node_count++;
  return n;
}

struct node *cohort_node_adopt(MPI_Request request, const struct node *as) {
  struct node *n = cohort_node_add(HANDLE(request));
  if (n == NULL) return NULL;
  *n = *as;
  n->key = HANDLE(request);
  n->request = request;
  return n;
}

struct node *cohort_node_find(uint64_t key) {
  return cohort_node_count == 0 ? NULL : cohort_keymap_pointer(&nodes, key);
}

static void unlist(const struct node *n) {
  uint64_t *at = cohort_keymap_find(&nodes, n->key);
  if (*at == (uint64_t)(uintptr_t)n) *at = 0;
}

void cohort_node_remove(struct node *n) {
  unlist(n);
  cohort_node_count--;
  cohort_pool_put(&pool, n);
}

void cohort_node_renamed(uint64_t before, MPI_Request after) {
  struct node *n = cohort_node_find(before);
  if (n == NULL || !n->persistent) return;
  unlist(n);
  n->key = HANDLE(after);
  n->request = after;
  cohort_keymap_put(&nodes, n->key, (uint64_t)(uintptr_t)n);
}

/* ---- memory of messages: pools of blocks of 2^k bytes */
enum { SMALLEST = 6, LARGEST = 17 };
static struct cohort_pool wires[LARGEST + 1];

static int size_class(size_t bytes) {
  return bytes <= (size_t)1 << SMALLEST ? SMALLEST : 64 - __builtin_clzl(bytes - 1);
}

uint8_t *cohort_wire_get(size_t bytes) {
  int k = size_class(bytes);
  return k > LARGEST ? cohort_map(bytes) : cohort_pool_get(&wires[k], (size_t)1 << k);
}

void cohort_wire_put(uint8_t *wire, size_t bytes) {
  int k = size_class(bytes);
  if (k > LARGEST)
    cohort_unmap(wire, bytes);
  else
    cohort_pool_put(&wires[k], wire);
}

/* ---- requests that the program has given up (MPI_Request_free, MPI_Bsend): theirs is memory that MPI still uses, and
 * messages that are still to be delivered */
static struct cohort_buffer orphans;
size_t cohort_orphan_count;

int cohort_orphan_add(struct node *n) {
  if (!cohort_append(&orphans, &n, sizeof n)) return 0;
  cohort_orphan_count++;
  return 1;
}

/* Sends complete in about the order in which they were made: so only the first are looked at, and receives, which the
 * program may be waiting for. */
void cohort_orphans_poll(void) {
  struct node **all = (struct node **)(void *)orphans.data;
  size_t left = 0;
  int sends = 0;
  for (size_t i = 0; i < cohort_orphan_count; i++) {
    struct node *n = all[i];
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
    all[left++] = n;
  }
  cohort_orphan_count = left;
  orphans.length = left * sizeof *all;
}
