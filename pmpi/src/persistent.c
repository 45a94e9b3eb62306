/* Persistent receives, Start and Startall. Start cannot change what a persistent receive asks for, so in replay an
 * ordinary receive of exactly the recorded message is its substitute from Start to completion: the program keeps its
 * handle, which is inactive for MPI all the time, and Wait, Test and their kin are given the substitute. */
#include "completion.h"
#include "p2p.h"
#include "racing.h"
#include "registry.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "carry.h"

struct receive {
  MPI_Request substitute; /* MPI_REQUEST_NULL: none */
  void *buf;
  int count, source, tag;
  int from, with; /* replay: of the recorded message */
  MPI_Datatype datatype;
  MPI_Comm comm;
  uint8_t wildcard, own_datatype;
};
static struct keymap receives; /* by the program's handle */
static struct cohort_pool pool;

static struct receive *find(MPI_Request request) {
  return LIKELY(receives.used == 0) ? NULL : cohort_keymap_pointer(&receives, HANDLE(request));
}

static void initialized(MPI_Request request, void *buf, int count, MPI_Datatype datatype, int source, int tag,
                        MPI_Comm comm, int wildcard) {
  cohort_persistent_freed(HANDLE(request)); /* in a way that was not seen */
  struct receive *p = cohort_pool_get(&pool, sizeof *p);
  if (p == NULL || !cohort_keymap_put(&receives, HANDLE(request), (uint64_t)(uintptr_t)p)) {
    if (p != NULL) cohort_pool_put(&pool, p);
    cohort_request_lost();
    return;
  }
  *p = (struct receive){.substitute = MPI_REQUEST_NULL, .buf = buf, .count = count, .source = source, .tag = tag,
                        .from = source, .with = tag, .datatype = datatype, .comm = comm, .wildcard = (uint8_t)wildcard};
  if (g.replay) cohort_type_hold(&p->datatype, &p->own_datatype);
}

static int stage_Recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                            MPI_Request *request) {
  int rc = carry_recv_init(buf, count, datatype, source, tag, comm, request);
  int wildcard = cohort_wildcard(source, tag);
  if (rc == MPI_SUCCESS && source != MPI_PROC_NULL && (g.replay || ((g.order || g.full) && wildcard)))
    initialized(*request, buf, count, datatype, source, tag, comm, wildcard);
  if ((g.full || g.order) && rc == MPI_SUCCESS) {
    struct cohort_request *r = cohort_request_add_persistent(*request, REQUEST_RECEIVE, source == MPI_PROC_NULL);
    if (r != NULL) {
      r->wildcard = (uint8_t)wildcard;
      r->comm = comm;
    }
  }
  if (g.full) {
    cohort_event_begin();
    cohort_put_asked(comm, source, tag);
    cohort_put_uv(0);
    cohort_event_end();
  }
  return rc;
}

void cohort_persistent_freed(uint64_t handle) {
  struct receive *p = cohort_keymap_pointer(&receives, handle);
  if (p == NULL) return;
  cohort_keymap_remove(&receives, handle);
  if (p->substitute != MPI_REQUEST_NULL) g_requests.substitutes--;
  if (p->own_datatype) PMPI_Type_free(&p->datatype);
  cohort_pool_put(&pool, p);
}

int cohort_persistent_uses(MPI_Comm comm) {
  for (uint64_t i = 0; receives.used > 0 && i < receives.capacity; i++) {
    const struct receive *p = (const struct receive *)(uintptr_t)receives.slots[i].value;
    if (receives.slots[i].key != 0 && p->wildcard && p->comm == comm) return 1;
  }
  return 0;
}

/* ------------------------------------------------------------------ replay */

static int start_in_replay(MPI_Request *request, uint32_t which) {
  struct receive *p = find(*request);
  if (p == NULL || p->substitute != MPI_REQUEST_NULL) return carry_start(request);
  if (!p->wildcard && !cohort_replay_cancelled(which)) return carry_start(request);
  cohort_replay_place = which;
  p->from = p->source;
  p->with = p->tag;
  int rc = p->wildcard && cohort_replay_match(&p->from, &p->with)
               ? carry_irecv(p->buf, p->count, p->datatype, p->from, p->with, p->comm, &p->substitute)
               : cohort_never_request(&p->substitute);
  if (rc == MPI_SUCCESS)
    g_requests.substitutes++;
  else
    p->substitute = MPI_REQUEST_NULL;
  return rc;
}

static int startall_in_replay(int count, MPI_Request *requests) {
  if (receives.used == 0) return carry_startall(count, requests);
  int rc = MPI_SUCCESS;
  for (int i = 0; i < count && rc == MPI_SUCCESS; i++) rc = start_in_replay(&requests[i], (uint32_t)i);
  return rc;
}

MPI_Request *cohort_substitute_of(MPI_Request request) {
  struct receive *p = g_requests.substitutes > 0 ? find(request) : NULL;
  return p == NULL || p->substitute == MPI_REQUEST_NULL ? NULL : &p->substitute;
}

static struct cohort_buffer real_buffer;

MPI_Request *cohort_substitute_some(int count, MPI_Request *requests) {
  if (!cohort_reserve(&real_buffer, (size_t)count * sizeof(MPI_Request))) return requests;
  MPI_Request *real = (MPI_Request *)real_buffer.data;
  for (int i = 0; i < count; i++) {
    MPI_Request *substitute = cohort_substitute_of(requests[i]);
    real[i] = substitute == NULL ? requests[i] : *substitute;
  }
  return real;
}

void cohort_substituted_some(int count, MPI_Request *requests, MPI_Request *real) {
  for (int i = 0; i < count; i++) {
    MPI_Request *substitute = cohort_substitute_of(requests[i]);
    if (substitute == NULL) {
      requests[i] = real[i];
    } else if (real[i] == MPI_REQUEST_NULL) {
      *substitute = MPI_REQUEST_NULL;
      g_requests.substitutes--;
    }
  }
}

/* ------------------------------------------------------------------ Start */

static void started_one(const MPI_Request *request, uint32_t which) {
  struct cohort_request *r = cohort_request_find(HANDLE(*request));
  if (r == NULL) return;
  r->active = 1;
  r->matched = r->cancelling = 0;
  r->post = g.events + 1;
  r->op = (uint8_t)g.op;
  r->which = which;
  if (r->cls == REQUEST_SEND) cohort_count_message(r->dest, r->bytes);
  if (!r->wildcard && g.order && cohort_awaited_count > 0 && r->cls == REQUEST_RECEIVE) cohort_request_watch(r, 1);
  if (!r->wildcard) return;
  const struct receive *p = find(*request);
  if (p != NULL) cohort_awaited_add(r, p->source, p->tag, p->from, p->with);
  if (!g.order) return;
  cohort_order_posted(which);
  cohort_request_watch(r, 1);
}

/* Start and Startall, after the call. In full mode every persistent request is known, with where it goes. */
static void started(int count, const MPI_Request *requests) {
  for (int i = 0; i < count; i++) started_one(&requests[i], (uint32_t)i);
  if (!g.full) return;
  cohort_event_begin();
  cohort_put_uv((uint64_t)count);
  for (int i = 0; i < count; i++) {
    struct cohort_request *r = cohort_request_find(HANDLE(requests[i]));
    cohort_put_uv(r != NULL && r->init != 0 ? g.events + 1 - r->init : 0);
  }
  cohort_event_end();
  uint32_t which = 0;
  for (int i = 0; i < count; i++) {
    struct cohort_request *r = cohort_request_find(HANDLE(requests[i]));
    if (r == NULL || r->cls != REQUEST_SEND || r->dest == MPI_PROC_NULL) continue;
    struct cohort_content c = cohort_content_of(r->buf, r->count, r->type, r->dest);
    if (c.known) cohort_write_content(c.value, which);
    which++;
  }
}

/* A start may give a request another handle: Open MPI does, where the last message of a buffered send is still in its
 * hands. */
static void renamed(uint64_t before, MPI_Request after) {
  if (LIKELY(HANDLE(after) == before)) return;
  cohort_request_renamed(before, after);
  if (g.racing) cohort_node_renamed(before, after);
  struct receive *p = cohort_keymap_pointer(&receives, before);
  if (p == NULL) return;
  cohort_keymap_remove(&receives, before);
  if (!cohort_keymap_put(&receives, HANDLE(after), (uint64_t)(uintptr_t)p)) cohort_request_lost();
}

static uint64_t *handles_of(int count, const MPI_Request *requests) {
  static struct cohort_buffer handles;
  if (count <= 0 || !cohort_reserve(&handles, (size_t)count * sizeof(uint64_t))) return NULL;
  uint64_t *before = (uint64_t *)(void *)handles.data;
  for (int i = 0; i < count; i++) before[i] = HANDLE(requests[i]);
  return before;
}

static int stage_Start(MPI_Request *request) {
  uint64_t before = HANDLE(*request);
  int rc = g.replay ? start_in_replay(request, 0) : carry_start(request);
  renamed(before, *request);
  started(rc == MPI_SUCCESS, request);
  return rc;
}

static int stage_Startall(int count, MPI_Request array_of_requests[]) {
  const uint64_t *before = handles_of(count, array_of_requests);
  int rc = g.replay ? startall_in_replay(count, array_of_requests) : carry_startall(count, array_of_requests);
  for (int i = 0; before != NULL && i < count; i++) renamed(before[i], array_of_requests[i]);
  started(rc == MPI_SUCCESS ? count : 0, array_of_requests);
  return rc;
}

#include "wrap_persistent.h"
