/* Requests and calls in progress in the registry (tracking.h). Not a path of recordings and replays, unless a debugger
 * is there. */
#include "fortran.h"
#include "objects.h"
#include "registry.h"
#include "tracking.h"

#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* This thread is inside one of the calls below; what it calls then is not the program's. */
__thread int cohort_within __attribute__((tls_model("initial-exec")));
static __thread struct cohort_call *mine __attribute__((tls_model("initial-exec")));

/* ------------------------------------------------------------------ calls in progress */

static int thread_is_gone(int32_t tid) { return syscall(SYS_tgkill, getpid(), tid, 0) != 0; }

/* A record of a thread that has ended, or a new one. */
static struct cohort_call *record_for_thread(void) {
  int32_t tid = (int32_t)syscall(SYS_gettid);
  cohort_registry_lock();
  struct cohort_call *k = (void *)(uintptr_t)cohort_registry.calls;
  while (k != NULL && (__atomic_load_n(&k->active, __ATOMIC_ACQUIRE) || !thread_is_gone(k->tid)))
    k = (void *)(uintptr_t)k->next;
  if (k != NULL) {
    __atomic_store_n(&k->tid, tid, __ATOMIC_RELEASE);
  } else if ((k = cohort_alloc(sizeof *k)) != NULL) {
    k->tid = tid;
    k->next = cohort_registry.calls;
    __atomic_store_n(&cohort_registry.calls, (uint64_t)(uintptr_t)k, __ATOMIC_RELEASE);
  } else {
    cohort_registry.lost++;
  }
  cohort_registry_unlock();
  return k;
}

struct cohort_call *cohort_call_begin(uint32_t op, const char *name, uint64_t site, int always) {
  if (cohort_within || cohort_inside() || !cohort_started() || !(g.tracking || always)) return NULL;
  static struct cohort_call nobody; /* without memory, all threads write into this, and it is never published */
  cohort_within = 1;
  if (UNLIKELY(mine == NULL)) {
    mine = record_for_thread();
    if (mine == NULL) mine = &nobody;
  }
  struct cohort_call *k = mine;
  __atomic_store_n(&k->active, 0, __ATOMIC_RELEASE);
  k->event = g.events;
  k->call_site = cohort_take_site(site);
  k->since_ns = (int64_t)cohort_now();
  k->requests = 0;
  k->n_requests = 0;
  static const struct cohort_side none = {.peer = INT32_MIN, .tag = INT32_MIN};
  k->a = (struct cohort_action){
      .op = op, .root = INT32_MIN, .offset = INT64_MIN, .send = none, .receive = none, .target = none};
  if (name != NULL) memcpy(k->a.name, name, strnlen(name, sizeof k->a.name - 1));
  return k;
}

void cohort_call_publish(struct cohort_call *k) {
  __atomic_store_n(&k->active, 1, __ATOMIC_RELEASE);
  cohort_fortran_site(k->call_site); /* for the wrapper that is called now */
}

void cohort_call_end(struct cohort_call *k) {
  __atomic_store_n(&k->active, 0, __ATOMIC_RELEASE);
  cohort_fortran_site(0);
  cohort_within = 0;
}

void cohort_call_comm(struct cohort_call *k, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return;
  k->a.comm_handle = HANDLE(comm);
  k->a.comm = (uint64_t)(uintptr_t)cohort_comm_known(comm);
}

uint64_t cohort_call_object(struct object_table *t, uint64_t handle) {
  return (uint64_t)(uintptr_t)cohort_object_peek(t, handle);
}

static void set_type(struct cohort_side *s, MPI_Datatype type) {
  s->handle = HANDLE(type);
  s->datatype = (uint64_t)(uintptr_t)cohort_datatype_known(type);
}

/* Whether MPI looks at it. */
static int set_side(struct cohort_side *s, const void *buf, int64_t count, uint32_t flags) {
  s->buffer = (uint64_t)(uintptr_t)buf;
  s->count = count;
  s->flags = COHORT_SIDE_PRESENT | flags | (buf == MPI_IN_PLACE ? COHORT_SIDE_IN_PLACE : 0);
  return !(s->flags & (COHORT_SIDE_IN_PLACE | COHORT_SIDE_NOT_HERE));
}

void cohort_call_side(struct cohort_side *s, const void *buf, int64_t count, MPI_Datatype type, uint32_t flags) {
  if (set_side(s, buf, count, flags)) set_type(s, type);
}

void cohort_call_each(struct cohort_side *s, const void *buf, const void *counts, const void *displs, MPI_Datatype type,
                      const MPI_Datatype *types, uint32_t n, uint32_t flags) {
  if (!set_side(s, buf, -1, flags | COHORT_SIDE_VECTOR)) return;
  s->counts = (uint64_t)(uintptr_t)counts;
  s->displs = (uint64_t)(uintptr_t)displs;
  s->types = (uint64_t)(uintptr_t)types;
  s->n = n;
  if (types == NULL) set_type(s, type);
}

static const struct cohort_comm *comm_of(const struct cohort_call *k) { return (const void *)(uintptr_t)k->a.comm; }

uint32_t cohort_call_root(struct cohort_call *k, int root, int here) {
  const struct cohort_comm *c = comm_of(k);
  k->a.root = root;
  if (c == NULL) return 0;
  int is_root = c->o.kind == COHORT_COMM_INTER ? root == MPI_ROOT : root == (int)c->comm_rank,
      gives = c->o.kind != COHORT_COMM_INTER || root >= 0;
  return (here == COHORT_AT_ROOT ? is_root : gives) ? 0 : COHORT_SIDE_NOT_HERE;
}

uint32_t cohort_call_peers(const struct cohort_call *k) {
  const struct cohort_comm *c = comm_of(k);
  return c == NULL ? 0 : c->o.kind == COHORT_COMM_INTER ? c->n_remote : c->comm_size;
}

int64_t cohort_call_rank(const struct cohort_call *k) {
  const struct cohort_comm *c = comm_of(k);
  return c == NULL ? -1 : (int64_t)c->comm_rank;
}

uint32_t cohort_call_neighbours(const struct cohort_call *k, MPI_Comm comm, int out) {
  const struct cohort_comm *c = comm_of(k);
  if (c == NULL) return 0;
  return (uint32_t)(out ? fortran_out_degree(comm) : fortran_in_degree(comm));
}

/* ------------------------------------------------------------------ messages */

static struct cohort_messages *messages; /* the registry's */
static uint64_t used;                    /* slots of it */

static struct cohort_traffic *slot_of(struct cohort_messages *m, uint64_t comm, int32_t peer, int32_t tag) {
  uint64_t mask = m->capacity - 1, key = comm ^ (uint64_t)(uint32_t)peer << 32 ^ (uint32_t)tag;
  for (uint64_t i = key * 0x9E3779B97F4A7C15u >> 20 & mask;; i = (i + 1) & mask) {
    struct cohort_traffic *s = &m->slot[i];
    if (s->comm == 0 || (s->comm == comm && s->peer == peer && s->tag == tag)) return s;
  }
}

static size_t table_size(uint64_t capacity) {
  return sizeof(struct cohort_messages) + capacity * sizeof(struct cohort_traffic);
}

/* A table of another size, or without the messages of one communicator: a debugger finds the old one or the new one.
 * 0: there is no memory. */
static int rebuild(uint64_t capacity, uint64_t without) {
  struct cohort_messages *m = cohort_alloc(table_size(capacity)), *old = messages;
  if (m == NULL) return 0;
  m->capacity = capacity;
  used = 0;
  for (uint64_t i = 0; old != NULL && i < old->capacity; i++) {
    const struct cohort_traffic *s = &old->slot[i];
    if (s->comm == 0 || s->comm == without) continue;
    *slot_of(m, s->comm, s->peer, s->tag) = *s;
    used++;
  }
  messages = m;
  STORE(cohort_registry.messages, (uint64_t)(uintptr_t)m);
  if (old != NULL) cohort_free(old, table_size(old->capacity));
  return 1;
}

/* There is room for one more slot, or for none: no memory, or too many. */
static int make_room(void) {
  uint64_t capacity = messages == NULL ? 0 : messages->capacity, more = capacity == 0 ? 64 : 2 * capacity;
  return 2 * used < capacity || (more <= COHORT_MESSAGES_MAX && rebuild(more, 0));
}

void cohort_messages_forget(uint64_t comm) {
  for (uint64_t i = 0; messages != NULL && comm != 0 && i < messages->capacity; i++) {
    if (messages->slot[i].comm != comm) continue;
    rebuild(messages->capacity, comm);
    return;
  }
}

/* Its slot, which may be new; NULL: there is none. The lock is held. */
static struct cohort_traffic *traffic(uint64_t comm, int32_t peer, int32_t tag) {
  struct cohort_traffic *s = messages == NULL ? NULL : slot_of(messages, comm, peer, tag);
  if (LIKELY(s != NULL && s->comm != 0)) return s;
  if (comm == 0 || !make_room()) return NULL;
  s = slot_of(messages, comm, peer, tag);
  s->peer = peer;
  s->tag = tag;
  STORE(s->comm, comm);
  used++;
  return s;
}

static void not_counted(void) { STORE(cohort_registry.uncounted, cohort_registry.uncounted + 1); }

/* Returns what has been sent by now; 0: that is not known, or nothing is sent. The lock is held. */
static uint64_t count(uint64_t comm, int peer, int tag, int sent, int received) {
  const struct cohort_comm *c = (const void *)(uintptr_t)comm;
  if (peer == cohort_peer(MPI_PROC_NULL)) return 0;
  struct cohort_traffic *s = traffic(c == NULL ? 0 : c->global_id, peer, tag);
  if (s == NULL) {
    not_counted();
    return 0;
  }
  STORE(s->sent, s->sent + (uint64_t)(int64_t)sent);
  STORE(s->received, s->received + (uint64_t)received);
  return s->sent;
}

static void count_sent(struct cohort_action *a, int n) {
  a->nth = count(a->comm, a->send.peer, a->send.tag, n, 0);
}

static void count_collective(struct cohort_action *a, int n) {
  a->nth = count(a->comm, COHORT_COLLECTIVES, 0, n, 0);
}

/* What a receive of these arguments was given. */
static void count_received(const struct cohort_action *a, int rc, const MPI_Status *status) {
  if (a->receive.peer == cohort_peer(MPI_PROC_NULL)) return;
  if (rc == MPI_SUCCESS)
    count(a->comm, cohort_peer(status->MPI_SOURCE), status->MPI_TAG, 0, 1);
  else
    not_counted();
}

void cohort_call_sends(struct cohort_call *k, int n) {
  cohort_registry_lock();
  count_sent(&k->a, n);
  cohort_registry_unlock();
}

void cohort_call_collective(struct cohort_call *k, int n) {
  cohort_registry_lock();
  count_collective(&k->a, n);
  cohort_registry_unlock();
}

void cohort_call_received(const struct cohort_call *k, int rc, const MPI_Status *status) {
  cohort_registry_lock();
  count_received(&k->a, rc, status);
  cohort_registry_unlock();
}

MPI_Status *cohort_call_statuses(int n) {
  static THREAD_LOCAL struct cohort_buffer buffer;
  if (n <= 0 || !cohort_reserve(&buffer, (size_t)n * sizeof(MPI_Status))) return MPI_STATUSES_IGNORE;
  return (MPI_Status *)(void *)buffer.data;
}

/* ------------------------------------------------------------------ requests */

struct request {
  struct cohort_request_record pub;
  struct request *tail; /* of the oldest: the newest with the same handle */
  uint64_t count;       /* of the oldest: how many there are */
};
#define PRIVATE(r) ((struct request *)(void *)(r))

static void release(struct cohort_object *o, struct cohort_object **done) {
  const struct cohort_action *a = &((struct cohort_request_record *)o)->a;
  const uint64_t held[] = {a->send.datatype, a->receive.datatype, a->target.datatype, a->comm, a->object, a->reduction};
  for (size_t i = 0; i < sizeof held / sizeof *held; i++) cohort_object_drop(held[i], done);
}
static struct object_table requests = {.table = {.published = &cohort_registry.requests}, .release = release};
static uint32_t n_detached;

static struct cohort_request_record *next_of(const struct cohort_request_record *r) {
  return (void *)(uintptr_t)r->next;
}

static struct cohort_request_record *find(uint64_t handle) { return cohort_table_find(&requests.table, handle); }

/* Takes the oldest request of a handle out of the table. */
static struct cohort_request_record *take(uint64_t handle) {
  struct cohort_request_record *r = find(handle), *next;
  if (r == NULL) return NULL;
  next = next_of(r);
  if (LIKELY(next == NULL)) {
    cohort_table_remove(&requests.table, handle);
  } else {
    PRIVATE(next)->tail = PRIVATE(r)->tail;
    PRIVATE(next)->count = PRIVATE(r)->count - 1;
    cohort_table_put(&requests.table, handle, next);
  }
  return r;
}

static void forget(uint64_t handle) {
  struct cohort_request_record *r = take(handle);
  if (r != NULL) cohort_object_unref(&r->o);
}

/* Takes one out of the list of the detached, which is led to from there. */
static void not_detached(uint64_t *from) {
  struct cohort_request_record *r = (void *)(uintptr_t)*from;
  STORE(*from, r->next);
  n_detached--;
  cohort_object_unref(&r->o);
}

/* MPI gives a handle again only when the operation that had it is complete. */
static void none_detached(uint64_t handle) {
  for (uint64_t *from = &cohort_registry.detached; *from != 0;) {
    struct cohort_request_record *r = (void *)(uintptr_t)*from;
    if (r->o.handle == handle)
      not_detached(from);
    else
      from = &r->next;
  }
}

static void detach(struct cohort_request_record *r) {
  STORE(r->o.state, r->o.state | COHORT_OBJECT_FREED);
  r->next = cohort_registry.detached;
  STORE(cohort_registry.detached, (uint64_t)(uintptr_t)r);
  if (++n_detached <= COHORT_DETACHED_MAX) return;
  uint64_t *oldest = &cohort_registry.detached;
  while (next_of((void *)(uintptr_t)*oldest) != NULL)
    oldest = &((struct cohort_request_record *)(uintptr_t)*oldest)->next;
  STORE(cohort_registry.detached_dropped, cohort_registry.detached_dropped + 1);
  not_detached(oldest);
}

/* What a record refers to stays as long as it does. Between the call's beginning and now another thread may have freed
 * it. */
static void hold(struct cohort_action *a) {
  struct cohort_side *sides[] = {&a->send, &a->receive, &a->target};
  for (int i = 0; i < 3; i++) {
    if (sides[i]->datatype != 0)
      sides[i]->datatype = (uint64_t)(uintptr_t)cohort_object_find(&cohort_datatypes, sides[i]->handle);
    if (sides[i]->types != 0 && cohort_is_scratch((const void *)(uintptr_t)sides[i]->types)) {
      sides[i]->types = 0;
      sides[i]->flags |= COHORT_SIDE_ARRAYS_GONE;
    }
  }
  if (a->comm != 0) a->comm = (uint64_t)(uintptr_t)cohort_object_find(&cohort_comms, a->comm_handle);
  cohort_object_ref((void *)(uintptr_t)a->object);
  cohort_object_ref((void *)(uintptr_t)a->reduction);
}

static void add(struct cohort_request_record *r) {
  uint64_t handle = r->o.handle;
  int shared = cohort_is_builtin(handle); /* the library gives it to every operation that is complete at once */
  if (n_detached > 0) none_detached(handle);
  struct cohort_request_record *oldest = find(handle);
  if (oldest != NULL &&
      (!shared || (r->o.state & COHORT_REQUEST_PERSISTENT) || (oldest->o.state & COHORT_REQUEST_PERSISTENT))) {
    while (find(handle) != NULL) forget(handle); /* it went away unseen */
    oldest = NULL;
  }
  if (shared && !(r->o.state & COHORT_REQUEST_PERSISTENT)) r->o.state |= COHORT_REQUEST_COMPLETE;
  PRIVATE(r)->tail = PRIVATE(r);
  PRIVATE(r)->count = 1;
  if (oldest == NULL) {
    cohort_object_publish_locked(&r->o);
    return;
  }
  r->o.state |= COHORT_REQUEST_SHARED;
  STORE(oldest->o.state, oldest->o.state | COHORT_REQUEST_SHARED);
  struct request *first = PRIVATE(oldest);
  STORE(first->tail->pub.next, (uint64_t)(uintptr_t)r);
  first->tail = PRIVATE(r);
  if (++first->count <= COHORT_SHARED_MAX) return;
  forget(handle);
  cohort_registry.lost++;
}

void cohort_call_posted(struct cohort_call *k, MPI_Request request, int persistent) {
  if (request == MPI_REQUEST_NULL || !g.tracking) return;
  uint64_t stack = cohort_stack(k->call_site, 1);
  cohort_registry_lock();
  struct cohort_request_record *r = cohort_object_new(&requests, sizeof(struct request), HANDLE(request));
  if (r != NULL) {
#ifndef OPEN_MPI
    r->o.f_handle = request;
#endif
    r->o.event = k->event;
    r->o.call_site = k->call_site;
    r->o.stack = stack;
    r->o.state = persistent ? COHORT_REQUEST_PERSISTENT : COHORT_REQUEST_ACTIVE;
    r->since_ns = persistent ? 0 : k->since_ns;
    r->tid = k->tid;
    r->a = k->a;
    hold(&r->a);
    add(r);
  }
  cohort_registry_unlock();
}

void cohort_call_fortran(MPI_Request request, MPI_Fint f) {
  if (!g.tracking || request == MPI_REQUEST_NULL) return;
  cohort_registry_lock();
  struct cohort_request_record *r = find(HANDLE(request));
  for (; r != NULL; r = next_of(r)) __atomic_store_n(&r->o.f_handle, f, __ATOMIC_RELEASE);
  cohort_registry_unlock();
}

static void set_state(struct cohort_request_record *r, uint32_t off, uint32_t on) {
  __atomic_store_n(&r->o.state, (r->o.state & ~off) | on, __ATOMIC_RELEASE);
}

enum {
  LASTS_ONE_START = COHORT_REQUEST_ACTIVE | COHORT_REQUEST_CANCELLED | COHORT_REQUEST_COMPLETE | COHORT_REQUEST_UNSURE
};

/* A request that a call was given. When the call has completed it, MPI may give the handle to another thread before we
 * come to settle it: the id tells the two apart. */
struct given { uint64_t handle, id; };
#define ANY_ID UINT64_MAX

static struct given given_of(MPI_Request request) {
  struct given g_ = {request == MPI_REQUEST_NULL ? 0 : HANDLE(request), ANY_ID};
  /* those of one builtin handle are taken for each other in any case */
  if (LIKELY(!cohort_at_once) || g_.handle == 0 || cohort_is_builtin(g_.handle)) return g_;
  cohort_registry_lock();
  const struct cohort_request_record *r = find(g_.handle);
  g_.id = r == NULL ? 0 : r->o.id;
  cohort_registry_unlock();
  return g_;
}

/* Its record, if the handle is still that request's. The lock is held. */
static struct cohort_request_record *still(struct given before) {
  struct cohort_request_record *r = before.handle == 0 ? NULL : find(before.handle);
  return r != NULL && (before.id == ANY_ID || before.id == r->o.id) ? r : NULL;
}

/* A request has ended: what it received, or that it was cancelled and sent nothing. */
static void count_completed(struct cohort_request_record *r, int done, const MPI_Status *status) {
  int sends = r->a.send.peer != INT32_MIN, receives = r->a.receive.peer != INT32_MIN, cancelled = 0;
  if (!sends && !receives) return;
  if (!(r->o.state & COHORT_REQUEST_ACTIVE)) return;
  if (done < 0 || status == MPI_STATUS_IGNORE) {
    if (receives) count_received(&r->a, MPI_ERR_OTHER, status);
    return;
  }
  if (r->o.state & COHORT_REQUEST_CANCELLED) PMPI_Test_cancelled(status, &cancelled);
  if (receives && !cancelled) count_received(&r->a, MPI_SUCCESS, status);
  if (sends && cancelled) not_counted();
}

/* A call that waits for a request has ended with it: `after` is what it left in the program's variable. `done`: 1 it is
 * complete; 0 it is not, if there is a handle still; -1 that is not known. */
static void settle(struct given before, MPI_Request after, int done, const MPI_Status *status) {
  struct cohort_request_record *r = still(before);
  if (r == NULL) return;
  if (after == MPI_REQUEST_NULL || done != 0) count_completed(r, done, status);
  if (after == MPI_REQUEST_NULL) {
    forget(before.handle);
    return;
  }
  if (done == 0) return;
  if (done < 0)
    set_state(r, 0, COHORT_REQUEST_UNSURE);
  else if (r->o.state & COHORT_REQUEST_PERSISTENT)
    set_state(r, LASTS_ONE_START, 0);
}

/* What the call in progress was given, before MPI overwrites it. */
static THREAD_LOCAL struct cohort_buffer given_buffer;
static THREAD_LOCAL struct given *given; /* NULL: there is no memory */

void cohort_call_given(struct cohort_call *k, int count, const MPI_Request *requests) {
  k->requests = (uint64_t)(uintptr_t)requests;
  k->n_requests = count;
  given = NULL;
  if (count <= 0 || requests == NULL || !cohort_reserve(&given_buffer, (size_t)count * sizeof *given)) return;
  given = (struct given *)(void *)given_buffer.data;
  for (int i = 0; i < count; i++) given[i] = given_of(requests[i]);
}

const MPI_Request *cohort_call_value(MPI_Request request) {
  static THREAD_LOCAL MPI_Request value;
  value = request;
  return &value;
}

void cohort_requests_settled(int n, const int *indices, const MPI_Request *after, int rc, const MPI_Status *statuses) {
  if (given == NULL) return;
  cohort_registry_lock();
  for (int k = 0; k < n; k++) {
    int i = indices == NULL ? k : indices[k], done = rc == MPI_SUCCESS ? 1 : -1;
    if (rc == MPI_ERR_IN_STATUS && statuses != MPI_STATUSES_IGNORE)
      done = statuses[k].MPI_ERROR != MPI_ERR_PENDING;
    settle(given[i], after[i], done, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[k]);
  }
  cohort_registry_unlock();
}

void cohort_request_marked(uint32_t flag) {
  if (given == NULL) return;
  cohort_registry_lock();
  struct cohort_request_record *r = still(*given);
  if (r != NULL && (r->o.state & COHORT_REQUEST_ACTIVE)) set_state(r, 0, flag);
  cohort_registry_unlock();
}

void cohort_request_given_up(void) {
  if (given == NULL) return;
  cohort_registry_lock();
  struct cohort_request_record *r = still(*given) == NULL ? NULL : take(given->handle);
  if (r != NULL && (r->o.state & COHORT_REQUEST_ACTIVE) && !(r->o.state & COHORT_REQUEST_COMPLETE))
    detach(r);
  else if (r != NULL)
    cohort_object_unref(&r->o);
  cohort_registry_unlock();
}

static void started(const struct cohort_call *k, MPI_Request request) {
  struct cohort_request_record *r = request == MPI_REQUEST_NULL ? NULL : find(HANDLE(request));
  if (r == NULL) return;
  r->start_event = k->event + 1;
  r->start_site = k->call_site;
  r->since_ns = k->since_ns;
  r->tid = k->tid;
  if (r->a.send.peer != INT32_MIN) count_sent(&r->a, 1);
  if (r->a.op == COHORT_OP_COLLECTIVE_INIT) count_collective(&r->a, 1);
  set_state(r, LASTS_ONE_START, COHORT_REQUEST_ACTIVE);
}

/* Open MPI may give a request another handle when it is started. The lock is held. */
static void renamed(uint64_t before, MPI_Request after) {
  struct cohort_request_record *r = before == HANDLE(after) ? NULL : take(before);
  if (r == NULL) return;
  int32_t f = r->o.f_handle == -1 ? -1 : PMPI_Request_c2f(after); /* Fortran is given it anyway */
  __atomic_store_n(&r->o.handle, HANDLE(after), __ATOMIC_RELEASE);
  __atomic_store_n(&r->o.f_handle, f, __ATOMIC_RELEASE);
  add(r);
}

void cohort_requests_started(const struct cohort_call *k, int count, const MPI_Request *requests, int rc) {
  cohort_registry_lock();
  for (int i = 0; given != NULL && i < count; i++) renamed(given[i].handle, requests[i]);
  for (int i = 0; i < count && rc == MPI_SUCCESS; i++) started(k, requests[i]);
  cohort_registry_unlock();
}

/* The like from Fortran, whose wrapper is the MPI's own. */
void cohort_call_grequest(uint64_t site, MPI_Request request, MPI_Fint f) {
  struct cohort_call *k = g.tracking ? cohort_call_begin(COHORT_OP_GREQUEST_START, NULL, site, 0) : NULL;
  if (k == NULL) return;
  cohort_call_posted(k, request, 0);
  cohort_call_fortran(request, f);
  cohort_call_end(k);
}
