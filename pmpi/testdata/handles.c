/* Makes handles of every kind and compares what its own registry says of them, as a debugger would read it, with what it did. Argument: `kept` or `unkept`: whether
 * requests and calls in progress are to be there. `many`: a million requests and types, and what they leave. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cohort_abi.h"

extern struct cohort_registry cohort_registry __attribute__((weak));

#ifdef OPEN_MPI
#define HANDLE(h) ((uint64_t)(uintptr_t)(h))
#else
#define HANDLE(h) ((uint64_t)(uint32_t)(h))
#endif
#define FILE_HANDLE(h) ((uint64_t)(uintptr_t)(h))
#define AT(address) ((void *)(uintptr_t)(address))
#define ADDRESS(p) ((uint64_t)(uintptr_t)(p))

static int failed, me, ranks;

static void check(int ok, const char *what, int line) {
  if (ok) return;
  printf("handles: rank %d: line %d: wrong: %s\n", me, line, what);
  fflush(stdout);
  failed = 1;
}
#define CHECK(x) check(x, #x, __LINE__)
/* And nothing that follows would make sense without it. */
#define NEED(x)  \
  do {           \
    CHECK(x);    \
    if (!(x)) MPI_Abort(MPI_COMM_WORLD, 1); \
  } while (0)

static void *find(uint64_t table, uint64_t handle) {
  struct cohort_slots *s = AT(table);
  if (s == NULL) return NULL;
  uint64_t i = (handle * 0x9E3779B97F4A7C15u >> 20) & (s->capacity - 1);
  for (; s->slot[i].record != 0; i = (i + 1) & (s->capacity - 1))
    if (s->slot[i].record != 1 && s->slot[i].handle == handle) return AT(s->slot[i].record);
  return NULL;
}

static uint64_t live(uint64_t table) {
  struct cohort_slots *s = AT(table);
  uint64_t n = 0;
  for (uint64_t i = 0; s != NULL && i < s->capacity; i++) n += s->slot[i].record > 1;
  return n;
}

static struct cohort_request_record *request_of(MPI_Request r) { return find(cohort_registry.requests, HANDLE(r)); }
static struct cohort_datatype *type_of(MPI_Datatype t) { return find(cohort_registry.datatypes, HANDLE(t)); }
static uint64_t pending(void) { return live(cohort_registry.requests); }

enum { LIFE = COHORT_REQUEST_ACTIVE | COHORT_REQUEST_PERSISTENT | COHORT_REQUEST_CANCELLED | COHORT_OBJECT_FREED | COHORT_REQUEST_SHARED | COHORT_REQUEST_UNSURE };

static void is(MPI_Request request, uint32_t op, uint32_t state, int line) {
  struct cohort_request_record *r = request_of(request);
  check(r != NULL, "the request is in the registry", line);
  if (r == NULL) return;
  check(r->a.op == op, "op", line);
  check((r->o.state & LIFE) == state, "state", line);
  check(r->o.size >= sizeof *r && r->o.handle == HANDLE(request) && r->o.call_site != 0 && r->o.id != 0 && r->tid == gettid(), "origin", line);
}
#define IS(request, op, state) is(request, COHORT_OP_##op, state, __LINE__)

static void side(const struct cohort_side *s, const void *buffer, int64_t count, MPI_Datatype type, int peer, int tag, int line) {
  check(s->flags & COHORT_SIDE_PRESENT, "the side is there", line);
  check(s->buffer == ADDRESS(buffer) && s->count == count, "buffer and count", line);
  check(s->handle == HANDLE(type) && s->datatype == ADDRESS(type_of(type)) && s->datatype != 0, "datatype", line);
  check(s->peer == peer && s->tag == tag, "peer and tag", line);
}
#define SIDE(s, ...) side(s, __VA_ARGS__, __LINE__)

/* ------------------------------------------------------------------ requests */

static void nonblocking(void) {
  int in[4], out[4] = {1, 2, 3, 4};
  MPI_Request q[6];
  MPI_Datatype pairs;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  struct cohort_datatype *record = type_of(pairs);
  MPI_Irecv(in, 1, pairs, me, 5, MPI_COMM_WORLD, &q[0]);
  IS(q[0], IRECV, COHORT_REQUEST_ACTIVE);
  struct cohort_request_record *r = request_of(q[0]);
  NEED(r != NULL);
  SIDE(&r->a.receive, in, 1, pairs, me, 5);
  CHECK(r->a.send.flags == 0 && r->a.target.flags == 0);
  CHECK(r->a.comm == ADDRESS(find(cohort_registry.comms, HANDLE(MPI_COMM_WORLD))) && r->a.comm_handle == HANDLE(MPI_COMM_WORLD));
  MPI_Datatype gone = pairs;
  MPI_Type_free(&pairs); /* a pending call has it still */
  CHECK(type_of(gone) == NULL && r->a.receive.datatype == ADDRESS(record) && (record->o.state & COHORT_OBJECT_FREED) && record->o.refs == 1);
  MPI_Isend(out, 2, MPI_INT, me, 5, MPI_COMM_WORLD, &q[1]);
  IS(q[1], ISEND, COHORT_REQUEST_ACTIVE);
  r = request_of(q[1]);
  if (r != NULL) SIDE(&r->a.send, out, 2, MPI_INT, me, 5);
  MPI_Request both[2] = {q[0], q[1]};
  MPI_Wait(&q[1], MPI_STATUS_IGNORE);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  CHECK(request_of(both[0]) == NULL && pending() == 0);

  MPI_Irecv(in, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &q[0]);
  r = request_of(q[0]);
  if (r != NULL) SIDE(&r->a.receive, in, 4, MPI_INT, -1, -1);
  int flag = 1;
  MPI_Test(&q[0], &flag, MPI_STATUS_IGNORE);
  IS(q[0], IRECV, COHORT_REQUEST_ACTIVE);
  MPI_Send(out, 4, MPI_INT, me, 9, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Request_get_status(q[0], &flag, MPI_STATUS_IGNORE);
  CHECK(request_of(q[0]) != NULL && (request_of(q[0])->o.state & COHORT_REQUEST_COMPLETE));
  for (flag = 0; !flag;) MPI_Test(&q[0], &flag, MPI_STATUS_IGNORE);
  CHECK(pending() == 0);

  MPI_Irecv(in, 4, MPI_INT, me, 77, MPI_COMM_WORLD, &q[0]); /* nobody sends it */
  MPI_Cancel(&q[0]);
  IS(q[0], IRECV, COHORT_REQUEST_ACTIVE | COHORT_REQUEST_CANCELLED);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  CHECK(pending() == 0);

  /* Handles that MPI gives to whatever is complete at once. */
  for (int i = 0; i < 6; i++) {
    MPI_Isend(&out[i % 4], 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD, &q[i]);
    r = request_of(q[i]);
    CHECK(r != NULL);
  }
  int same = 0, found = 0;
  for (int i = 1; i < 6; i++) same += q[i] == q[0];
  for (int i = 0; i < 6; i++) {
    uint64_t at = ADDRESS(request_of(q[i]));
    for (; at != 0 && ((struct cohort_request_record *)AT(at))->a.send.tag != i; at = ((struct cohort_request_record *)AT(at))->next) continue;
    found += at != 0;
  }
  CHECK(found == 6);
  r = request_of(q[0]);
  CHECK(same == 0 || (r != NULL && (r->o.state & COHORT_REQUEST_SHARED) && (r->o.state & COHORT_REQUEST_COMPLETE) && r->a.send.peer == -2));
  MPI_Waitall(6, q, MPI_STATUSES_IGNORE);
  CHECK(pending() == 0);
  MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q[0]);
  IS(q[0], IRECV, COHORT_REQUEST_ACTIVE);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);

  MPI_Message message;
  MPI_Isend(out, 1, MPI_INT, me, 3, MPI_COMM_WORLD, &q[0]);
  MPI_Mprobe(me, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(in, 1, MPI_INT, &message, &q[1]);
  IS(q[1], IMRECV, COHORT_REQUEST_ACTIVE);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  CHECK(pending() == 0);
}

/* Every way in which several requests complete. */
static void arrays(void) {
  enum { N = 8 };
  int in[N], out = 7, n, at, done, flag, indices[N];
  MPI_Request q[N];
  for (int way = 0; way < 6; way++) {
    for (int i = 0; i < N; i++) MPI_Irecv(&in[i], 1, MPI_INT, me, i, MPI_COMM_WORLD, &q[i]);
    CHECK(pending() == N);
    for (int i = 0; i < N; i++) MPI_Send(&out, 1, MPI_INT, me, N - 1 - i, MPI_COMM_WORLD);
    for (int left = N; left > 0; left -= n) {
      n = 0;
      switch (way) {
        case 0: MPI_Waitall(N, q, MPI_STATUSES_IGNORE); n = N; break;
        case 1: MPI_Testall(N, q, &flag, MPI_STATUSES_IGNORE); n = flag ? N : 0; break;
        case 2: MPI_Waitany(N, q, &at, MPI_STATUS_IGNORE); n = 1; break;
        case 3: MPI_Testany(N, q, &at, &flag, MPI_STATUS_IGNORE); n = flag != 0; break;
        case 4: MPI_Waitsome(N, q, &done, indices, MPI_STATUSES_IGNORE); n = done; break;
        default: MPI_Testsome(N, q, &done, indices, MPI_STATUSES_IGNORE); n = done; break;
      }
      CHECK(pending() == (uint64_t)(left - n));
    }
  }
}

static void persistent(void) {
  int in = 0, out = 5, flag;
  MPI_Request q[2];
  MPI_Recv_init(&in, 1, MPI_INT, me, 4, MPI_COMM_WORLD, &q[0]);
  MPI_Send_init(&out, 1, MPI_INT, me, 4, MPI_COMM_WORLD, &q[1]);
  IS(q[0], RECV_INIT, COHORT_REQUEST_PERSISTENT);
  IS(q[1], SEND_INIT, COHORT_REQUEST_PERSISTENT);
  CHECK(request_of(q[0])->start_site == 0);
  for (int i = 0; i < 3; i++) {
    MPI_Start(&q[0]);
    IS(q[0], RECV_INIT, COHORT_REQUEST_PERSISTENT | COHORT_REQUEST_ACTIVE);
    CHECK(request_of(q[0])->start_site != 0 && request_of(q[0])->start_event > request_of(q[0])->o.event);
    MPI_Start(&q[1]);
    if (i == 0) MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    if (i == 1) {
      MPI_Wait(&q[1], MPI_STATUS_IGNORE);
      MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    }
    for (flag = 0; i == 2 && !flag;) MPI_Testall(2, q, &flag, MPI_STATUSES_IGNORE);
    IS(q[0], RECV_INIT, COHORT_REQUEST_PERSISTENT);
    IS(q[1], SEND_INIT, COHORT_REQUEST_PERSISTENT);
  }
  MPI_Startall(2, q);
  IS(q[1], SEND_INIT, COHORT_REQUEST_PERSISTENT | COHORT_REQUEST_ACTIVE);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  MPI_Request_free(&q[0]);
  MPI_Request_free(&q[1]);
  CHECK(pending() == 0 && cohort_registry.detached == 0);
}

static uint64_t detached(uint32_t state) {
  uint64_t n = 0;
  for (uint64_t at = cohort_registry.detached; at != 0; at = ((struct cohort_request_record *)AT(at))->next)
    n += (((struct cohort_request_record *)AT(at))->o.state & state) == state;
  return n;
}

static void given_up(void) {
  enum { MANY = COHORT_DETACHED_MAX + 6 };
  static int in[MANY];
  int out = 3;
  MPI_Request q;
  for (int i = 0; i < MANY; i++) {
    MPI_Irecv(&in[i], 1, MPI_INT, me, 100 + i, MPI_COMM_WORLD, &q);
    MPI_Request handle = q;
    MPI_Request_free(&q);
    CHECK(request_of(handle) == NULL);
    CHECK(detached(COHORT_OBJECT_FREED | COHORT_REQUEST_ACTIVE) == (uint64_t)(i < (int)COHORT_DETACHED_MAX ? i + 1 : (int)COHORT_DETACHED_MAX));
  }
  CHECK(cohort_registry.detached_dropped == MANY - COHORT_DETACHED_MAX);
  for (int i = 0; i < MANY; i++) MPI_Send(&out, 1, MPI_INT, me, 100 + i, MPI_COMM_WORLD);
  /* What has its handle again must have been complete. */
  MPI_Request again[MANY];
  for (int i = 0; i < MANY; i++) {
    MPI_Irecv(&in[i], 1, MPI_INT, me, 500 + i, MPI_COMM_WORLD, &again[i]);
    for (uint64_t at = cohort_registry.detached; at != 0; at = ((struct cohort_request_record *)AT(at))->next)
      CHECK(((struct cohort_request_record *)AT(at))->o.handle != HANDLE(again[i]));
    MPI_Send(&out, 1, MPI_INT, me, 500 + i, MPI_COMM_WORLD);
  }
  MPI_Waitall(MANY, again, MPI_STATUSES_IGNORE);
  CHECK(pending() == 0);
}

static int query(void *state, MPI_Status *status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int nothing(void *state) { return state == NULL ? MPI_SUCCESS : MPI_ERR_OTHER; }
static int cancelling(void *state, int complete) { return state == NULL || complete ? MPI_SUCCESS : MPI_ERR_OTHER; }

static void collective(void) {
  int *out = calloc((size_t)ranks, sizeof *out), *in = calloc((size_t)ranks, sizeof *in);
  int *counts = calloc((size_t)ranks, sizeof *counts), *places = calloc((size_t)ranks, sizeof *places);
  MPI_Request q;
  for (int i = 0; i < ranks; i++) counts[i] = 1, places[i] = i;
  MPI_Ibarrier(MPI_COMM_WORLD, &q);
  IS(q, IBARRIER, COHORT_REQUEST_ACTIVE);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Ialltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD, &q);
  IS(q, IALLTOALLV, COHORT_REQUEST_ACTIVE);
  struct cohort_request_record *r = request_of(q);
  if (r != NULL) {
    SIDE(&r->a.send, out, -1, MPI_INT, INT32_MIN, INT32_MIN);
    CHECK(r->a.send.flags == (COHORT_SIDE_PRESENT | COHORT_SIDE_VECTOR) && r->a.send.counts == ADDRESS(counts) && r->a.receive.displs == ADDRESS(places) &&
          r->a.receive.n == (uint32_t)ranks && r->a.root == INT32_MIN);
  }
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Ireduce(me == 1 ? MPI_IN_PLACE : out, in, 1, MPI_INT, MPI_MAX, 1 % ranks, MPI_COMM_WORLD, &q);
  IS(q, IREDUCE, COHORT_REQUEST_ACTIVE);
  r = request_of(q);
  if (r != NULL) {
    CHECK(r->a.root == 1 % ranks && r->a.reduction == ADDRESS(find(cohort_registry.ops, HANDLE(MPI_MAX))) && r->a.reduction != 0);
    CHECK(((r->a.send.flags & COHORT_SIDE_IN_PLACE) != 0) == (me == 1));
    CHECK(((r->a.receive.flags & COHORT_SIDE_NOT_HERE) != 0) == (me != 1 % ranks));
  }
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Iallgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &q);
  r = request_of(q);
  if (r != NULL) CHECK((r->a.receive.flags & COHORT_SIDE_PER_PEER) && r->a.receive.n == (uint32_t)ranks && !(r->a.send.flags & COHORT_SIDE_PER_PEER));
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Comm dup;
  MPI_Comm_idup(MPI_COMM_WORLD, &dup, &q);
  IS(q, COMM_IDUP, COHORT_REQUEST_ACTIVE);
  MPI_Wait(&q, MPI_STATUS_IGNORE);

  /* The communicator of a pending request may be freed. */
  MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 1, dup, &q);
  struct cohort_comm *record = find(cohort_registry.comms, HANDLE(dup));
  NEED(record != NULL && request_of(q) != NULL);
  CHECK(request_of(q)->a.comm == ADDRESS(record) && record->o.refs == 2);
  MPI_Send(out, 1, MPI_INT, me, 1, dup);
  MPI_Comm gone = dup;
  MPI_Comm_free(&dup);
  CHECK(find(cohort_registry.comms, HANDLE(gone)) == NULL && (record->o.state & COHORT_OBJECT_FREED) && record->o.refs == 1);
  MPI_Wait(&q, MPI_STATUS_IGNORE);

  MPI_Grequest_start(query, nothing, cancelling, NULL, &q);
  IS(q, GREQUEST_START, COHORT_REQUEST_ACTIVE);
  MPI_Grequest_complete(q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  CHECK(pending() == 0);
  free(out), free(in), free(counts), free(places);
}

/* ------------------------------------------------------------------ calls in progress: seen from a function that MPI calls back within one */

static const void *reduced;

static struct cohort_call *my_call(void) {
  struct cohort_call *k = AT(cohort_registry.calls);
  while (k != NULL && k->tid != gettid()) k = AT(k->next);
  return k;
}

static void adding(void *in, void *inout, int *n, MPI_Datatype *type) {
  struct cohort_call *k = my_call();
  NEED(k != NULL);
  CHECK(k->active == 1 && k->a.op == COHORT_OP_ALLREDUCE && k->call_site != 0 && k->requests == 0);
  SIDE(&k->a.send, reduced, 3, MPI_INT, INT32_MIN, INT32_MIN);
  struct cohort_reduction *op = AT(k->a.reduction);
  NEED(op != NULL);
  CHECK(op->o.kind == COHORT_FUNCTION_USER && op->function == ADDRESS(&adding) && op->commutes == 1);
  for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
  (void)type;
}

static const MPI_Request *waited;

static int query_in_wait(void *state, MPI_Status *status) {
  struct cohort_call *k = my_call();
  NEED(k != NULL);
  CHECK(k->active == 1 && k->a.op == COHORT_OP_WAIT && k->requests == ADDRESS(waited) && k->n_requests == 1);
  return query(state, status);
}

static void *other_thread(void *op) {
  int in[3] = {1, 1, 1}, out[3];
  reduced = in;
  MPI_Allreduce(in, out, 3, MPI_INT, *(MPI_Op *)op, MPI_COMM_WORLD);
  return NULL;
}

static void in_progress(void) {
  int in[3] = {1, 2, 3}, out[3];
  MPI_Op op;
  MPI_Op_create(adding, 1, &op);
  reduced = in;
  MPI_Allreduce(in, out, 3, MPI_INT, op, MPI_COMM_WORLD);
  struct cohort_call *k = my_call();
  NEED(k != NULL);
  CHECK(k->active == 0);
  for (int i = 0; i < 3; i++) { /* one after the other: they share a record */
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, &op);
    pthread_join(thread, NULL);
  }
  int threads = 0;
  for (k = AT(cohort_registry.calls); k != NULL; k = AT(k->next)) threads++;
  CHECK(threads >= 2 && threads <= 3); /* a thread that was just joined may be ending still */
  MPI_Op gone = op;
  MPI_Op_free(&op);
  CHECK(find(cohort_registry.ops, HANDLE(gone)) == NULL);
  MPI_Request q;
  waited = &q;
  MPI_Grequest_start(query_in_wait, nothing, cancelling, NULL, &q);
  MPI_Grequest_complete(q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
}

/* ------------------------------------------------------------------ other objects */

static void groups(void) {
  MPI_Group world, again, some, none;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  struct cohort_group *w = find(cohort_registry.groups, HANDLE(world));
  NEED(w != NULL);
  CHECK(w->n_members == (uint32_t)ranks && w->group_rank == (uint32_t)me && w->o.call_site != 0 && w->o.f_handle == MPI_Group_c2f(world));
  for (int i = 0; i < ranks; i++) CHECK(((uint32_t *)(w + 1))[i] == (uint32_t)i);
  MPI_Comm_group(MPI_COMM_WORLD, &again);
  if (again == world) CHECK(w->o.holds == 2);
  MPI_Group_free(&again);
  CHECK(find(cohort_registry.groups, HANDLE(world)) == w && w->o.holds == 1);
  int last = ranks - 1, range[1][3] = {{0, ranks - 1, 1}};
  MPI_Group_incl(world, 1, &last, &some);
  struct cohort_group *s = find(cohort_registry.groups, HANDLE(some));
  NEED(s != NULL);
  CHECK(s->n_members == 1 && ((uint32_t *)(s + 1))[0] == (uint32_t)last && s->group_rank == (me == last ? 0 : UINT32_MAX));
  MPI_Group_free(&some);
  MPI_Group_range_excl(world, 1, range, &none);
  s = find(cohort_registry.groups, HANDLE(none));
  CHECK(none == MPI_GROUP_EMPTY && s != NULL && (s->o.state & COHORT_OBJECT_PREDEFINED) && strcmp(AT(s->o.name), "MPI_GROUP_EMPTY") == 0);
  MPI_Group gone = world;
  MPI_Group_free(&world);
  CHECK(find(cohort_registry.groups, HANDLE(gone)) == NULL);
}

static void windows(int kept) {
  int *memory, unit = sizeof(int), other = (me + 1) % ranks;
  MPI_Win win, allocated;
  MPI_Request q;
  MPI_Win_allocate(8 * unit, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &allocated);
  struct cohort_window *w = find(cohort_registry.windows, HANDLE(allocated));
  NEED(w != NULL);
  CHECK(w->o.kind == COHORT_WINDOW_ALLOCATE && w->base == ADDRESS(memory) && w->bytes == 8 * unit && w->disp_unit == unit && w->comm != 0);
  int mine[4] = {0}, from = 1;
  MPI_Win_create(mine, sizeof mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  w = find(cohort_registry.windows, HANDLE(win));
  NEED(w != NULL);
  CHECK(w->o.kind == COHORT_WINDOW_CREATE && w->base == ADDRESS(mine) && w->bytes == sizeof mine && w->disp_unit == 1 && w->o.call_site != 0);
  MPI_Win_set_name(win, "the window");
  CHECK(strcmp(AT(w->o.name), "the window") == 0);
  MPI_Win_fence(0, win);
  CHECK(!kept || w->epochs == COHORT_EPOCH_FENCE);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  CHECK(w->epochs == 0);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win);
  CHECK(!kept || (w->n_locks == 1 && w->locks[0] == ((uint32_t)other | COHORT_LOCK_EXCLUSIVE)));
  MPI_Rput(&from, 1, MPI_INT, other, 4, 1, MPI_INT, win, &q);
  struct cohort_request_record *r = request_of(q);
  CHECK((r != NULL) == kept);
  if (r != NULL) {
    SIDE(&r->a.send, &from, 1, MPI_INT, INT32_MIN, INT32_MIN);
    CHECK(r->a.op == COHORT_OP_OTHER && strcmp(r->a.name, "MPI_Rput") == 0 && r->a.object == ADDRESS(w) && r->a.offset == 4 && r->a.target.peer == other &&
          r->a.target.count == 1 && r->a.target.handle == HANDLE(MPI_INT));
  }
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Win_unlock(other, win);
  CHECK(w->n_locks == 0 && pending() == 0);
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  uint64_t all_record = ADDRESS(find(cohort_registry.groups, HANDLE(all)));
  MPI_Win_post(all, 0, win);
  MPI_Win_start(all, 0, win);
  CHECK(!kept || (w->epochs == (COHORT_EPOCH_START | COHORT_EPOCH_POST) && w->access_group == all_record && w->exposure_group == all_record));
  MPI_Group_free(&all);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  CHECK(w->epochs == 0 && w->access_group == 0 && w->exposure_group == 0);
  MPI_Win_lock_all(0, win);
  CHECK(!kept || w->epochs == COHORT_EPOCH_LOCK_ALL);
  MPI_Win_unlock_all(win);
  MPI_Win gone = win;
  MPI_Win_free(&win);
  CHECK(find(cohort_registry.windows, HANDLE(gone)) == NULL);
  MPI_Win_free(&allocated);
  CHECK(live(cohort_registry.windows) == 1); /* MPI_WIN_NULL */
}

static void files(const char *directory, int kept) {
  char name[4096];
  int out[4] = {1, 2, 3, 4};
  MPI_File file;
  MPI_Request q;
  MPI_Datatype every, etype, filetype;
  MPI_Offset disp;
  char datarep[MPI_MAX_DATAREP_STRING + 1];
  snprintf(name, sizeof name, "%s/handles-%d", directory, me);
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  struct cohort_file *f = find(cohort_registry.files, FILE_HANDLE(file));
  NEED(f != NULL);
  CHECK(strcmp(AT(f->o.name), name) == 0 && f->amode == (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE) && f->o.call_site != 0 &&
        f->comm == ADDRESS(find(cohort_registry.comms, HANDLE(MPI_COMM_SELF))) && f->etype == ADDRESS(type_of(MPI_BYTE)));
  MPI_Type_vector(2, 1, 2, MPI_INT, &every);
  MPI_Type_commit(&every);
  MPI_File_set_view(file, 16, MPI_INT, every, "native", MPI_INFO_NULL);
  struct cohort_datatype *view = type_of(every);
  f = find(cohort_registry.files, FILE_HANDLE(file));
  NEED(f != NULL && view != NULL);
  CHECK(f->disp == 16 && f->etype == ADDRESS(type_of(MPI_INT)) && f->filetype == ADDRESS(view) && strcmp(f->datarep, "native") == 0);
  MPI_Type_free(&every);
  CHECK(f->filetype == ADDRESS(view) && (view->o.state & COHORT_OBJECT_FREED));
  MPI_File_get_view(file, &disp, &etype, &filetype, datarep);
  CHECK(type_of(etype) != NULL && type_of(filetype) != NULL && (type_of(filetype)->o.state & COHORT_TYPE_COMMITTED));
  int a, b, c, combiner;
  MPI_Type_get_envelope(filetype, &a, &b, &c, &combiner);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&filetype);
  memset(&etype, 0x77, sizeof etype); /* of no file, MPICH reports success and gives none */
  filetype = etype;
  MPI_File_get_view(MPI_FILE_NULL, &disp, &etype, &filetype, datarep);
  MPI_File_iwrite_at(file, 1, out, 1, MPI_INT, &q);
  struct cohort_request_record *r = request_of(q);
  CHECK((r != NULL) == kept);
  if (r != NULL) {
    SIDE(&r->a.send, out, 1, MPI_INT, INT32_MIN, INT32_MIN);
    CHECK(strcmp(r->a.name, "MPI_File_iwrite_at") == 0 && r->a.object == ADDRESS(f) && r->a.offset == 1);
  }
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_File gone = file;
  MPI_File_close(&file);
  CHECK(find(cohort_registry.files, FILE_HANDLE(gone)) == NULL && pending() == 0);
}

static void on_error(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void handlers(void) {
  MPI_Errhandler handler, same;
  struct cohort_errhandler *e = find(cohort_registry.errhandlers, HANDLE(MPI_ERRORS_RETURN));
  CHECK(e != NULL && e->o.kind == COHORT_FUNCTION_PREDEFINED && strcmp(AT(e->o.name), "MPI_ERRORS_RETURN") == 0);
  MPI_Comm_create_errhandler(on_error, &handler);
  e = find(cohort_registry.errhandlers, HANDLE(handler));
  NEED(e != NULL);
  CHECK(e->o.kind == COHORT_FUNCTION_COMM && e->function == ADDRESS(&on_error));
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &same);
  CHECK(same == handler && e->o.holds == 2);
  MPI_Errhandler_free(&same);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler gone = handler;
  MPI_Errhandler_free(&handler);
  CHECK(find(cohort_registry.errhandlers, HANDLE(gone)) == NULL);
}

static void infos(void) {
  MPI_Info info;
  char value[400];
  MPI_Info_create(&info);
  struct cohort_info *i = find(cohort_registry.infos, HANDLE(info));
  NEED(i != NULL);
  uint64_t id = i->o.id;
  CHECK(i->n_keys == 0);
  MPI_Info_set(info, "first", "1");
  MPI_Info_set(info, "second", "two");
  i = find(cohort_registry.infos, HANDLE(info));
  NEED(i != NULL);
  CHECK(i->o.id == id && i->n_keys == 2 && i->n_entries == 2 && memcmp(i + 1, "first\0" "1\0second\0two", 19) == 0 && i->o.size == sizeof *i + 19);
  memset(value, 'x', sizeof value);
  value[MPI_MAX_INFO_VAL < sizeof value ? MPI_MAX_INFO_VAL - 1 : sizeof value - 1] = 0;
  MPI_Info_set(info, "long", value);
  i = find(cohort_registry.infos, HANDLE(info));
  CHECK(i != NULL && i->n_entries == 3 && ((i->o.state & COHORT_OBJECT_TRUNCATED) != 0) == (strlen(value) > COHORT_INFO_VALUE_MAX - 1));
  MPI_Info_delete(info, "second");
  i = find(cohort_registry.infos, HANDLE(info));
  CHECK(i != NULL && i->n_keys == 2);
  MPI_Info gone = info;
  MPI_Info_free(&info);
  CHECK(find(cohort_registry.infos, HANDLE(gone)) == NULL);
}

/* ------------------------------------------------------------------ datatypes: what testdata/registry.c does not do */

static void types(void) {
  MPI_Datatype v, c, real, matched;
  char name[MPI_MAX_OBJECT_NAME];
  memset(name, 'n', sizeof name);
  name[MPI_MAX_OBJECT_NAME < 64 ? MPI_MAX_OBJECT_NAME - 1 : 63] = 0;
  MPI_Type_contiguous(2, MPI_INT, &c);
  struct cohort_datatype *d = type_of(c);
  NEED(d != NULL);
  MPI_Type_set_name(c, name);
  CHECK(strcmp(AT(d->o.name), name) == 0);
  MPI_Type_set_name(c, "short");
  CHECK(strcmp(AT(d->o.name), "short") == 0);
  MPI_Type_dup(c, &v);
  int a, n_types, ints;
  MPI_Datatype contents[1];
  MPI_Type_get_envelope(v, &ints, &a, &n_types, &a);
  MPI_Type_get_contents(v, 0, 0, 1, &a, NULL, contents);
  CHECK(n_types == 1 && type_of(contents[0]) != NULL);
  if (contents[0] == c) CHECK(d->o.holds == 2);
  MPI_Type_free(&contents[0]);
  CHECK(type_of(c) == d && d->o.holds == 1);
  MPI_Type_free(&v);
  MPI_Type_free(&c);
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &matched);
  CHECK(type_of(matched) != NULL && type_of(matched)->o.kind == COHORT_COMBINER_NAMED && type_of(matched)->type_size == 8);
  MPI_Type_create_f90_integer(9, &real);
  CHECK(type_of(real) != NULL && type_of(real)->o.kind == COHORT_COMBINER_F90_INTEGER && *(int64_t *)(type_of(real) + 1) == 9);
#if !defined(OPEN_MPI) && MPI_VERSION >= 4
  MPI_Count lengths[2] = {1, 2}, places[2] = {0, 64};
  MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &v);
  d = type_of(v);
  NEED(d != NULL);
  CHECK(d->o.kind == COHORT_COMBINER_HINDEXED && d->n_integers == 3 && d->n_addresses == 2 && d->type_size == 12 && ((int64_t *)(d + 1))[4] == 64);
  MPI_Type_free(&v);
  MPI_Type_contiguous_c(3000000000, MPI_CHAR, &v);
  CHECK(type_of(v) != NULL && *(int64_t *)(type_of(v) + 1) == 3000000000 && type_of(v)->type_size == 3000000000);
  MPI_Type_free(&v);
#endif
}

static void churn(int n) {
  for (int i = 0; i < n; i++) {
    MPI_Datatype v;
    MPI_Request q[2];
    int in, out = i;
    MPI_Type_vector(2, 1, 2 + i % 5, MPI_INT, &v);
    MPI_Type_commit(&v);
    MPI_Type_free(&v);
    if (i % 4 != 0) continue;
    MPI_Irecv(&in, 1, MPI_INT, me, 0, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(&out, 1, MPI_INT, me, 0, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  }
}

static uint64_t slots_of(uint64_t table) {
  const struct cohort_slots *s = AT(table);
  return s == NULL ? 0 : sizeof *s + s->capacity * sizeof s->slot[0];
}

/* Each a little, and then often: the places where handles are made, which are kept once, are known by then. */
static void many(int n) {
  enum { LIVE = 20000 };
  static MPI_Datatype all[LIVE];
  const struct cohort_registry *r = &cohort_registry;
  uint64_t mapped = 0, used = 0, most = 0, at_most = 0, at_end = 0;
  for (int turn = 0; turn < 2; turn++) {
    mapped = r->memory, used = r->memory_used;
    churn(turn == 0 ? 100 : n);
  }
  CHECK(r->memory == mapped && r->memory_used == used);
  /* Of a live type, its record and its share of the table: also where the table has just been made larger. */
  for (int turn = 0; turn < 2; turn++) {
    uint64_t arguments = 0, table = slots_of(r->datatypes);
    int live = turn == 0 ? 3 : LIVE;
    used = r->memory_used;
    for (int i = 0; i < live; i++) {
      switch (i % 3) {
        case 0: MPI_Type_contiguous(i, MPI_INT, &all[i]); break;
        case 1: MPI_Type_dup(all[i - 1], &all[i]); break;
        default: MPI_Type_vector(2, 1, i, MPI_INT, &all[i]);
      }
      const struct cohort_datatype *d = type_of(all[i]);
      arguments += 8 * (d->n_integers + d->n_addresses + d->n_types);
      at_end = (r->memory_used - used - arguments) / (uint64_t)(i + 1);
      if (turn > 0 && at_end > most) most = at_end, at_most = (uint64_t)i + 1;
    }
    uint64_t grown = slots_of(r->datatypes) - table;
    for (int i = 0; i < live; i++) MPI_Type_free(&all[i]);
    CHECK(turn == 0 || r->memory_used - used == grown);
  }
  CHECK(most <= 200);
  printf("handles: rank %d: per live type and besides its arguments at most %llu bytes, when there were %llu; in the end %llu. %llu bytes are mapped\n", me, (unsigned long long)most,
         (unsigned long long)at_most, (unsigned long long)at_end, (unsigned long long)r->memory);
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (&cohort_registry == NULL || argc < 3) {
    printf("handles: there is no interposer, or an argument is missing: kept|unkept directory [many]\n");
    return 2;
  }
  int kept = strcmp(argv[1], "kept") == 0;
  NEED(cohort_registry.magic == COHORT_REGISTRY_MAGIC && cohort_registry.version == COHORT_REGISTRY_VERSION);
  CHECK(((cohort_registry.features & COHORT_FEATURE_REQUESTS) != 0) == kept && ((cohort_registry.features & COHORT_FEATURE_CALLS) != 0) == kept);
  CHECK(cohort_registry.features & COHORT_FEATURE_GROUPS);
  if (kept) {
    nonblocking();
    arrays();
    persistent();
    given_up();
    collective();
    in_progress();
  } else {
    MPI_Request q;
    int in;
    MPI_Irecv(&in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    CHECK(cohort_registry.requests == 0 && cohort_registry.calls == 0);
  }
  groups();
  windows(kept);
  files(argv[2], kept);
  handlers();
  infos();
  types();
  if (argc > 3) many(atoi(argv[3]));
  CHECK(cohort_registry.lost == 0);
  MPI_Finalize();
  return failed;
}
