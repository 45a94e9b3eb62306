/* The program's active requests, by handle. Handles are reused, and some are shared: an MPI hands out one request that
 * is complete from the beginning to many sends. So a handle leads to a queue of requests, the oldest first. */
#include "completion.h"
#include "p2p.h"

static struct keymap by_handle; /* the head of its queue; 0: it is empty, and its handle will come again */
static struct cohort_pool pool;
uint32_t cohort_request_count, cohort_watched_count;

void cohort_request_watch(struct cohort_request *r, int watch) {
  cohort_watched_count += (uint32_t)watch - r->watched;
  r->watched = (uint8_t)watch;
}

void cohort_request_sends(struct cohort_request *r, const void *buf, int count, MPI_Datatype type) {
  r->buf = buf;
  r->type = type;
  r->count = cohort_type_hold(&r->type, &r->own_type) ? count : 0; /* 0: not looked into */
}

static void drop(struct cohort_request *r) {
  cohort_awaited_done(r);
  if (UNLIKELY(r->own_type)) {
    PMPI_Type_free(&r->type);
    cohort_type_size_forget();
  }
  cohort_request_watch(r, 0);
  cohort_pool_put(&pool, r);
  cohort_request_count--;
}

/* Only requests that were complete at once share a handle: sends, and receives from MPI_PROC_NULL. Anything else with
 * this handle is what is left of a request that went away unseen. */
static int may_share(const struct cohort_request *r) {
  return !r->persistent && (r->cls != REQUEST_RECEIVE || r->null_peer);
}

static void enqueue(uint64_t *head, struct cohort_request *r) {
  struct cohort_request *old = (struct cohort_request *)(uintptr_t)*head;
  if (UNLIKELY(old != NULL) && may_share(r) && may_share(old)) {
    old->last->next = r;
    old->last = r;
    return;
  }
  for (struct cohort_request *next; UNLIKELY(old != NULL); old = next) {
    next = old->next;
    drop(old);
  }
  *head = (uint64_t)(uintptr_t)r;
}

void cohort_request_lost(void) { cohort_uncovered("a request for which there is no memory"); }

struct cohort_request *cohort_request_add(MPI_Request request, uint8_t cls, int null_peer) {
  if (request == MPI_REQUEST_NULL) return NULL;
  uint64_t *head = cohort_keymap_at(&by_handle, HANDLE(request));
  struct cohort_request *r = head == NULL ? NULL : cohort_pool_get(&pool, sizeof *r);
  if (r == NULL) {
    cohort_request_lost();
    return NULL;
  }
  *r = (struct cohort_request){.handle = HANDLE(request), .last = r, .post = g.events + 1, .cls = cls, .active = 1,
                               .null_peer = null_peer != 0};
  cohort_request_count++;
  enqueue(head, r);
  return r;
}

struct cohort_request *cohort_request_add_persistent(MPI_Request request, uint8_t cls, int null_peer) {
  struct cohort_request *r = cohort_request_add(request, cls, null_peer);
  if (r == NULL) return NULL;
  r->persistent = 1;
  r->active = 0;
  r->init = r->post;
  return r;
}

struct cohort_request *cohort_request_find(uint64_t handle) {
  return cohort_request_count == 0 ? NULL : cohort_keymap_pointer(&by_handle, handle);
}

void cohort_request_remove(uint64_t handle) {
  uint64_t *head = cohort_keymap_find(&by_handle, handle);
  struct cohort_request *r = head == NULL ? NULL : (struct cohort_request *)(uintptr_t)*head;
  if (r == NULL) return;
  if (r->next != NULL) r->next->last = r->last;
  *head = (uint64_t)(uintptr_t)r->next;
  drop(r);
}

/* The handle of a persistent request, which is not active and shares it with none, has become another one. */
void cohort_request_renamed(uint64_t before, MPI_Request after) {
  struct cohort_request *r = cohort_request_find(before);
  if (r == NULL || !r->persistent) return;
  cohort_keymap_put(&by_handle, before, 0);
  r->handle = HANDLE(after);
  uint64_t *head = cohort_keymap_at(&by_handle, r->handle);
  if (head != NULL) {
    enqueue(head, r);
    return;
  }
  cohort_request_lost();
  drop(r);
}

/* What MPI_Cancel is called for has to be known: which post it was, and that it was a receive. Handles are reused, so
 * an entry is only ever replaced, and there are as many as the program had requests at one time. */
static struct keymap noted;

void cohort_request_note(MPI_Request request, uint8_t cls) {
  if (request == MPI_REQUEST_NULL) return;
  uint64_t entry = (g.events + 1) << 3 | cls, *before = cohort_keymap_find(&noted, HANDLE(request));
  if (LIKELY(before != NULL))
    *before = entry;
  else
    cohort_keymap_put(&noted, HANDLE(request), entry);
}

int cohort_request_noted(uint64_t handle, uint64_t *event) {
  uint64_t *value = cohort_keymap_find(&noted, handle);
  if (value == NULL) return 0;
  *event = *value >> 3;
  return (int)(*value & 7);
}
