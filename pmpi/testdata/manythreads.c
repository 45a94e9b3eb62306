/* Several threads make, use and free handles of every kind at once, under MPI_THREAD_MULTIPLE. Again and again all of them wait, and the main thread compares the registry, as a debugger would
 * read it, with what they hold: nothing is lost, nothing is there besides, and each record says what its handle is.
 *
 * manythreads kept|unkept ROUNDS SEED [wait]; with `wait` it prints "READY 0 pid", waits for a line before it begins, says ROUND after each round, and goes on after its rounds until there is
 * another line.
 *
 * So that a whole record is told from half of one: CONTIGUOUS of n ints, VECTOR n, 2, n + 7, STRUCT of n parts with lengths 1, 2, ... and offsets 0, 4096, ...; a request's tag is that
 * of its buffer (tag_of), an info's values are its keys doubled. */
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
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
#define AT(address) ((void *)(uintptr_t)(address))
#define NAME(record) ((record)->o.name == 0 ? "" : (const char *)AT((record)->o.name))
#define ADDRESS(p) ((uint64_t)(uintptr_t)(p))

enum { THREADS = 4, STEPS = 120, TYPES = 10, COMMS = 3, REQUESTS = 8, GROUPS = 4, OTHERS = 3, KEYS = 4 };

struct held_type { MPI_Datatype type, part; int kind, n, committed, named; };
struct held_request { MPI_Request request; int *buffer, persistent, started; };
struct worker {
  pthread_t thread;
  int number, tid, n_types, n_comms, n_groups, n_infos, n_ops, n_handlers;
  uint64_t random;
  MPI_Comm base, comms[COMMS];
  int comm_names[COMMS];
  struct held_type types[TYPES];
  struct held_request requests[REQUESTS]; /* request MPI_REQUEST_NULL: none */
  int buffers[REQUESTS], out;
  MPI_Group groups[GROUPS];
  int own_group[GROUPS];
  MPI_Info infos[OTHERS];
  int keys[OTHERS]; /* bit i: key i is set */
  MPI_Op ops[OTHERS];
  MPI_Errhandler handlers[OTHERS];
};
static struct worker workers[THREADS];
static pthread_barrier_t meeting;
static int failed, over, kept;

static void check(int ok, const char *what, int line) {
  if (ok) return;
  static _Atomic int said;
  if (said++ < 20) printf("manythreads: line %d: wrong: %s\n", line, what);
  fflush(stdout);
  failed = 1;
}
#define CHECK(x) check(x, #x, __LINE__)

/* ------------------------------------------------------------------ what the threads do */

static int draw(struct worker *w, int n) {
  w->random = w->random * 6364136223846793005u + 1442695040888963407u;
  return (int)((w->random >> 33) % (uint64_t)n);
}

static int tag_of(const struct worker *w, int slot) { return 100 * (w->number + 1) + slot; }

static void make_type(struct worker *w) {
  if (w->n_types == TYPES) return;
  struct held_type *t = &w->types[w->n_types];
  *t = (struct held_type){.n = 1 + draw(w, 6), .kind = draw(w, 4), .part = MPI_INT};
  if (w->n_types > 0 && draw(w, 2)) t->part = w->types[draw(w, w->n_types)].type;
  int size = 0;
  MPI_Type_size(t->part, &size);
  if (size > 1 << 12) t->part = MPI_INT;
  int lengths[6];
  MPI_Aint offsets[6];
  MPI_Datatype parts[6];
  for (int i = 0; i < 6; i++) lengths[i] = i + 1, offsets[i] = 4096 * i, parts[i] = i == 0 ? t->part : MPI_DOUBLE;
  switch (t->kind) {
    case 0: MPI_Type_contiguous(t->n, t->part, &t->type); break;
    case 1: MPI_Type_vector(t->n, 2, t->n + 7, t->part, &t->type); break;
    case 2: MPI_Type_create_struct(t->n, lengths, offsets, parts, &t->type); break;
    default: MPI_Type_dup(t->part, &t->type);
  }
  w->n_types++;
}

/* A part may be freed before what is made of it; then the thread no longer knows its handle. */
static void free_type(struct worker *w, int i) {
  MPI_Datatype gone = w->types[i].type;
  MPI_Type_free(&w->types[i].type);
  w->types[i] = w->types[--w->n_types];
  for (int k = 0; k < w->n_types; k++)
    if (w->types[k].part == gone) w->types[k].part = MPI_DATATYPE_NULL;
}

static void use_type(struct worker *w) {
  static const char *const names[] = {"", "short", "a name that is as long as a name can be that fits into the field of it"};
  if (w->n_types == 0) return;
  struct held_type *t = &w->types[draw(w, w->n_types)];
  switch (draw(w, 3)) {
    case 0:
      MPI_Type_commit(&t->type);
      t->committed = 1;
      break;
    case 1:
      t->named = 1 + draw(w, 2);
      MPI_Type_set_name(t->type, names[t->named]);
      break;
    default: {
      int ni, na, nt, combiner, ints[16];
      MPI_Aint addrs[16];
      MPI_Datatype parts[16];
      MPI_Type_get_envelope(t->type, &ni, &na, &nt, &combiner);
      MPI_Type_get_contents(t->type, ni, na, nt, ints, addrs, parts);
      for (int i = 0; i < nt; i++) {
        MPI_Type_get_envelope(parts[i], &ni, &na, &nt, &combiner);
        if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&parts[i]);
        nt = t->kind == 2 ? t->n : 1;
      }
    }
  }
}

static void comms(struct worker *w) {
  static const char *const names[] = {"", "one", "another name of a communicator"};
  if (w->n_comms < COMMS && draw(w, 2)) {
    MPI_Comm of = w->n_comms > 0 && draw(w, 2) ? w->comms[0] : w->base;
    int dims[1] = {1}, periods[1] = {0};
    switch (draw(w, 3)) {
      case 0: MPI_Comm_split(of, 0, 0, &w->comms[w->n_comms]); break;
      case 1: MPI_Cart_create(of, 1, dims, periods, 0, &w->comms[w->n_comms]); break;
      default: MPI_Comm_dup(of, &w->comms[w->n_comms]);
    }
    w->comm_names[w->n_comms] = 1 + draw(w, 2);
    MPI_Comm_set_name(w->comms[w->n_comms], names[w->comm_names[w->n_comms]]);
    w->n_comms++;
  } else if (w->n_comms > 0) {
    int i = draw(w, w->n_comms);
    MPI_Comm_free(&w->comms[i]);
    w->n_comms--;
    w->comms[i] = w->comms[w->n_comms];
    w->comm_names[i] = w->comm_names[w->n_comms];
  }
}

static void post(struct worker *w, int slot) {
  struct held_request *q = &w->requests[slot];
  *q = (struct held_request){.buffer = &w->buffers[slot], .persistent = draw(w, 4) == 0};
  if (q->persistent)
    MPI_Recv_init(q->buffer, 1, MPI_INT, 0, tag_of(w, slot), w->base, &q->request);
  else
    MPI_Irecv(q->buffer, 1, MPI_INT, 0, tag_of(w, slot), w->base, &q->request);
}

/* Completes them in one of the ways there are. */
static void complete(struct worker *w, int how) {
  MPI_Request all[REQUESTS], sends[REQUESTS];
  int n = 0, slots[REQUESTS], flag = 0, index, done, indices[REQUESTS];
  for (int i = 0; i < REQUESTS; i++) {
    struct held_request *q = &w->requests[i];
    if (q->request == MPI_REQUEST_NULL || (q->persistent && !q->started)) continue;
    MPI_Isend(&w->out, 1, MPI_INT, 0, tag_of(w, i), w->base, &sends[n]);
    all[n] = q->request;
    slots[n++] = i;
  }
  MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
  if (how == 0) MPI_Waitall(n, all, MPI_STATUSES_IGNORE);
  for (int i = 0; how == 1 && i < n; i++) MPI_Wait(&all[i], MPI_STATUS_IGNORE);
  for (int left = n; how == 2 && left > 0; left--) MPI_Waitany(n, all, &index, MPI_STATUS_IGNORE);
  for (int left = n; how == 3 && left > 0; left -= done) MPI_Waitsome(n, all, &done, indices, MPI_STATUSES_IGNORE);
  while (how == 4 && n > 0 && !flag) MPI_Testall(n, all, &flag, MPI_STATUSES_IGNORE);
  for (int i = 0; how == 5 && i < n; i++)
    for (flag = 0; !flag;) MPI_Test(&all[i], &flag, MPI_STATUS_IGNORE);
  for (int k = 0; k < n; k++) {
    w->requests[slots[k]].started = 0;
    if (!w->requests[slots[k]].persistent) w->requests[slots[k]].request = MPI_REQUEST_NULL;
  }
}

static void requests(struct worker *w) {
  int slot = draw(w, REQUESTS);
  struct held_request *q = &w->requests[slot];
  if (q->request == MPI_REQUEST_NULL) {
    post(w, slot);
  } else if (q->persistent && !q->started) {
    if (draw(w, 3)) {
      MPI_Start(&q->request);
      q->started = 1;
    } else {
      MPI_Request_free(&q->request);
    }
  } else if (draw(w, 3) == 0) {
    complete(w, draw(w, 6));
  }
}

static int query(void *state, MPI_Status *status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int nothing(void *state) { return state == NULL ? MPI_SUCCESS : MPI_ERR_OTHER; }
static int cancelling(void *state, int complete) { return state == NULL || complete ? MPI_SUCCESS : MPI_ERR_OTHER; }

/* Handles that come and go within one step: their memory and their handles go from thread to thread. */
static void passing(struct worker *w) {
  MPI_Request q[3];
  MPI_Group group;
  MPI_Errhandler handler;
  int in = 0;
  switch (draw(w, 5)) {
    case 0:
      MPI_Grequest_start(query, nothing, cancelling, NULL, &q[0]);
      MPI_Grequest_complete(q[0]);
      MPI_Wait(&q[0], MPI_STATUS_IGNORE);
      break;
    case 1:
      for (int i = 0; i < 3; i++) MPI_Isend(&w->out, 1, MPI_INT, MPI_PROC_NULL, i, w->base, &q[i]);
      MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
      break;
    case 2:
      MPI_Comm_group(MPI_COMM_WORLD, &group); /* of all threads */
      MPI_Group_free(&group);
      break;
    case 3:
      MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
      MPI_Errhandler_free(&handler);
      break;
    default:
      MPI_Irecv(&in, 1, MPI_INT, 0, 7, w->base, &q[0]);
      MPI_Send(&w->out, 1, MPI_INT, 0, 7, w->base);
      MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  }
}

static void groups(struct worker *w) {
  if (w->n_groups < GROUPS && draw(w, 2)) {
    int first = 0, own = w->own_group[w->n_groups] = draw(w, 2);
    MPI_Group world, *g = &w->groups[w->n_groups++];
    MPI_Comm_group(MPI_COMM_WORLD, own ? &world : g);
    if (!own) return;
    MPI_Group_incl(world, 1, &first, g);
    MPI_Group_free(&world);
  } else if (w->n_groups > 0) {
    int i = draw(w, w->n_groups--);
    MPI_Group_free(&w->groups[i]);
    w->groups[i] = w->groups[w->n_groups];
    w->own_group[i] = w->own_group[w->n_groups];
  }
}

static void infos(struct worker *w) {
  char key[8], value[20];
  int i = w->n_infos == 0 ? 0 : draw(w, w->n_infos), k = draw(w, KEYS);
  snprintf(key, sizeof key, "k%d", k);
  snprintf(value, sizeof value, "%s%s", key, key);
  switch (draw(w, 5)) {
    case 0:
      if (w->n_infos == OTHERS) break;
      if (w->n_infos > 0 && draw(w, 2)) {
        MPI_Info_dup(w->infos[i], &w->infos[w->n_infos]);
        w->keys[w->n_infos++] = w->keys[i];
      } else {
        MPI_Info_create(&w->infos[w->n_infos]);
        w->keys[w->n_infos++] = 0;
      }
      break;
    case 1:
      if (w->n_infos == 0) break;
      MPI_Info_free(&w->infos[i]);
      w->infos[i] = w->infos[--w->n_infos];
      w->keys[i] = w->keys[w->n_infos];
      break;
    case 2:
      if (w->n_infos == 0 || !(w->keys[i] >> k & 1)) break;
      MPI_Info_delete(w->infos[i], key);
      w->keys[i] &= ~(1 << k);
      break;
    default:
      if (w->n_infos == 0) break;
      MPI_Info_set(w->infos[i], key, value);
      w->keys[i] |= 1 << k;
  }
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
  for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
  (void)type;
}
static void on_error(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void functions(struct worker *w) {
  if (draw(w, 2)) {
    if (w->n_ops < OTHERS && draw(w, 2)) MPI_Op_create(add, draw(w, 2), &w->ops[w->n_ops++]);
    else if (w->n_ops > 0) MPI_Op_free(&w->ops[--w->n_ops]);
  } else {
    if (w->n_handlers < OTHERS && draw(w, 2)) MPI_Comm_create_errhandler(on_error, &w->handlers[w->n_handlers++]);
    else if (w->n_handlers > 0) MPI_Errhandler_free(&w->handlers[--w->n_handlers]);
  }
}

static void step(struct worker *w) {
  switch (draw(w, 10)) {
    case 0:
    case 1: make_type(w); break;
    case 2: if (w->n_types > 0) free_type(w, draw(w, w->n_types)); break;
    case 3: use_type(w); break;
    case 4: requests(w); break;
    case 5: passing(w); break;
    case 6: groups(w); break;
    case 7: infos(w); break;
    case 8: functions(w); break;
    default: draw(w, 3) == 0 ? comms(w) : requests(w);
  }
}

static void release(struct worker *w) {
  complete(w, 0);
  for (int i = 0; i < REQUESTS; i++)
    if (w->requests[i].request != MPI_REQUEST_NULL) MPI_Request_free(&w->requests[i].request);
  while (w->n_types > 0) free_type(w, 0);
  while (w->n_comms > 0) MPI_Comm_free(&w->comms[--w->n_comms]);
  while (w->n_groups > 0) MPI_Group_free(&w->groups[--w->n_groups]);
  while (w->n_infos > 0) MPI_Info_free(&w->infos[--w->n_infos]);
  while (w->n_ops > 0) MPI_Op_free(&w->ops[--w->n_ops]);
  while (w->n_handlers > 0) MPI_Errhandler_free(&w->handlers[--w->n_handlers]);
}

static void *work(void *argument) {
  struct worker *w = argument;
  w->tid = gettid();
  for (;;) {
    pthread_barrier_wait(&meeting); /* begin */
    if (over == 2) return NULL;
    if (over == 1) release(w);
    for (int i = 0; over == 0 && i < STEPS; i++) step(w);
    pthread_barrier_wait(&meeting); /* look */
  }
}

/* ------------------------------------------------------------------ what the registry says of it */

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

static uint64_t table_bytes(uint64_t table) {
  struct cohort_slots *s = AT(table);
  return s == NULL ? 0 : sizeof *s + s->capacity * sizeof s->slot[0];
}

static struct cohort_datatype *type_of(MPI_Datatype t) { return find(cohort_registry.datatypes, HANDLE(t)); }

static void look_at_type(const struct held_type *t) {
  static const char *const names[] = {"", "short", "a name that is as long as a name can be that fits into the field of it"};
  static const uint32_t combiners[] = {COHORT_COMBINER_CONTIGUOUS, COHORT_COMBINER_VECTOR, COHORT_COMBINER_STRUCT, COHORT_COMBINER_DUP};
  const struct cohort_datatype *d = type_of(t->type);
  CHECK(d != NULL);
  if (d == NULL) return;
  CHECK(d->o.kind == combiners[t->kind] && d->o.handle == HANDLE(t->type) && d->o.holds == 1 && d->o.refs >= 1 && d->o.call_site != 0 && d->o.id != 0);
  CHECK(!(d->o.state & COHORT_OBJECT_FREED) && (!t->committed || (d->o.state & COHORT_TYPE_COMMITTED)));
  CHECK(strcmp(NAME(d), names[t->named]) == 0);
  const int64_t *i = (const int64_t *)(d + 1), *a = i + d->n_integers;
  const uint64_t *p = (const uint64_t *)(a + d->n_addresses);
  uint32_t n = (uint32_t)t->n;
  switch (t->kind) {
    case 0: CHECK(d->n_integers == 1 && d->n_addresses == 0 && d->n_types == 1 && i[0] == t->n); break;
    case 1: CHECK(d->n_integers == 3 && d->n_addresses == 0 && d->n_types == 1 && i[0] == t->n && i[1] == 2 && i[2] == t->n + 7); break;
    case 2:
      CHECK(d->n_integers == 1 + n && d->n_addresses == n && d->n_types == n && i[0] == t->n);
      for (uint32_t k = 0; k < n && d->n_integers == 1 + n; k++) {
        CHECK(i[1 + k] == k + 1 && a[k] == 4096 * k);
        if (k > 0) CHECK(p[k] == ADDRESS(type_of(MPI_DOUBLE)));
      }
      break;
    default: CHECK(d->n_integers == 0 && d->n_addresses == 0 && d->n_types == 1);
  }
  if (d->n_types == 0) return;
  const struct cohort_datatype *part = AT(p[0]);
  CHECK(part != NULL && part->o.refs >= 1);
  if (t->part != MPI_DATATYPE_NULL)
    CHECK(part == type_of(t->part));
  else
    CHECK(part->o.state & COHORT_OBJECT_FREED);
}

static void look_at_requests(const struct worker *w) {
  for (int i = 0; i < REQUESTS; i++) {
    const struct held_request *q = &w->requests[i];
    if (q->request == MPI_REQUEST_NULL) continue;
    const struct cohort_request_record *r = find(cohort_registry.requests, HANDLE(q->request));
    CHECK((r != NULL) == kept);
    if (r == NULL) continue;
    uint32_t state = q->persistent ? COHORT_REQUEST_PERSISTENT | (q->started ? COHORT_REQUEST_ACTIVE : 0) : COHORT_REQUEST_ACTIVE;
    CHECK(r->a.op == (q->persistent ? COHORT_OP_RECV_INIT : COHORT_OP_IRECV) && r->o.state == state && r->tid == w->tid && r->next == 0 && r->o.refs == 1);
    CHECK(r->a.receive.buffer == ADDRESS(q->buffer) && r->a.receive.tag == tag_of(w, i) && r->a.receive.peer == 0 && r->a.receive.count == 1 &&
          r->a.receive.datatype == ADDRESS(type_of(MPI_INT)) && r->a.comm == ADDRESS(find(cohort_registry.comms, HANDLE(w->base))));
  }
}

static void look_at_info(MPI_Info info, int keys) {
  const struct cohort_info *r = find(cohort_registry.infos, HANDLE(info));
  CHECK(r != NULL && r->o.refs == 1 && !(r->o.state & (COHORT_OBJECT_UNSEEN | COHORT_OBJECT_FREED)));
  if (r == NULL) return;
  int there = 0;
  const char *text = (const char *)(r + 1);
  for (uint32_t i = 0; i < r->n_entries; i++, text += strlen(text) + 1) {
    const char *key = text;
    text += strlen(text) + 1;
    CHECK(strlen(text) == 4 && memcmp(text, key, 2) == 0 && memcmp(text + 2, key, 2) == 0);
    there |= 1 << (key[1] - '0');
  }
  CHECK(there == keys && r->n_keys == r->n_entries);
}

struct counts { uint64_t types, comms, requests, groups, infos, ops, handlers, of_int, memory; };

static struct counts count(void) {
  const struct cohort_registry *r = &cohort_registry;
  uint64_t tables = 0;
  const uint64_t *all[] = {&r->datatypes, &r->comms, &r->requests, &r->groups, &r->windows, &r->files, &r->ops, &r->errhandlers, &r->infos};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) tables += table_bytes(*all[i]);
  return (struct counts){live(r->datatypes), live(r->comms), live(r->requests), live(r->groups), live(r->infos), live(r->ops), live(r->errhandlers),
                         type_of(MPI_INT)->o.refs, r->memory_used - tables};
}

static void look(const struct counts *first) {
  struct counts want = *first;
  uint64_t of_int = 0;
  for (struct worker *w = workers; w < workers + THREADS; w++) {
    for (int i = 0; i < w->n_types; i++) {
      look_at_type(&w->types[i]);
      want.types++;
      of_int += w->types[i].part == MPI_INT;
    }
    for (int i = 0; i < w->n_comms; i++) {
      static const char *const names[] = {"", "one", "another name of a communicator"};
      const struct cohort_comm *c = find(cohort_registry.comms, HANDLE(w->comms[i]));
      CHECK(c != NULL && c->comm_size == 1 && c->n_members == 1 && c->o.refs == 1 && strcmp(NAME(c), names[w->comm_names[i]]) == 0 && c->o.state == 0 &&
            c->o.call_site != 0 && c->global_id != 0 && c->parent_id != 0);
      want.comms++;
    }
    look_at_requests(w);
    for (int i = 0; i < REQUESTS && kept; i++) want.requests += w->requests[i].request != MPI_REQUEST_NULL, of_int += w->requests[i].request != MPI_REQUEST_NULL;
    for (int i = 0; i < w->n_groups; i++) {
      const struct cohort_group *g = find(cohort_registry.groups, HANDLE(w->groups[i]));
      CHECK(g != NULL && g->n_members == 1 && g->group_rank == 0 && *(const uint32_t *)(g + 1) == 0);
      if (g == NULL) continue;
      int firsts = 1, others = 0; /* MPI may give the same handle again, also to another thread */
      for (struct worker *v = workers; v < workers + THREADS; v++)
        for (int k = 0; k < v->n_groups; k++) {
          if (v->groups[k] != w->groups[i]) continue;
          others++;
          if (v < w || (v == w && k < i)) firsts = 0;
        }
      CHECK((int)g->o.holds == others);
      want.groups += (uint64_t)firsts;
    }
    for (int i = 0; i < w->n_infos; i++) look_at_info(w->infos[i], w->keys[i]);
    want.infos += (uint64_t)w->n_infos;
    for (int i = 0; i < w->n_ops; i++) {
      const struct cohort_reduction *r = find(cohort_registry.ops, HANDLE(w->ops[i]));
      CHECK(r != NULL && r->o.kind == COHORT_FUNCTION_USER && r->function == ADDRESS(&add) && r->o.holds == 1);
    }
    want.ops += (uint64_t)w->n_ops;
    for (int i = 0; i < w->n_handlers; i++) {
      const struct cohort_errhandler *e = find(cohort_registry.errhandlers, HANDLE(w->handlers[i]));
      CHECK(e != NULL && e->o.kind == COHORT_FUNCTION_COMM && e->function == ADDRESS(&on_error) && e->o.holds == 1);
    }
    want.handlers += (uint64_t)w->n_handlers;
  }
  struct counts got = count();
  CHECK(got.types == want.types);
  CHECK(got.comms == want.comms);
  CHECK(got.requests == want.requests);
  CHECK(got.groups == want.groups);
  CHECK(got.infos == want.infos);
  CHECK(got.ops == want.ops);
  CHECK(got.handlers == want.handlers);
  CHECK(got.of_int >= want.of_int + of_int); /* and of parts that were freed */
  CHECK(cohort_registry.lost == 0 && cohort_registry.detached == 0);
  for (const struct cohort_call *k = AT(cohort_registry.calls); k != NULL; k = AT(k->next)) CHECK(!k->active);
}

/* Whether somebody wants more rounds than were asked for. */
static int watched(int wait) {
  struct pollfd in = {.fd = 0, .events = POLLIN};
  return wait && poll(&in, 1, 0) == 0;
}

int main(int argc, char **argv) {
  int provided, rounds = argc > 2 ? atoi(argv[2]) : 10;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (&cohort_registry == NULL || argc < 4 || provided != MPI_THREAD_MULTIPLE) {
    printf("manythreads: there is no interposer, an argument is missing, or MPI gives only %d\n", provided);
    return 2;
  }
  kept = strcmp(argv[1], "kept") == 0;
  CHECK(((cohort_registry.features & COHORT_FEATURE_REQUESTS) != 0) == kept);
  pthread_barrier_init(&meeting, NULL, THREADS + 1);
  for (int i = 0; i < THREADS; i++) {
    struct worker *w = &workers[i];
    w->number = i;
    w->random = (uint64_t)atoi(argv[3]) * 1000 + (uint64_t)i;
    for (int k = 0; k < REQUESTS; k++) w->requests[k].request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &w->base);
  }
  /* Open MPI 4 opens its topologies when the first is made, and two threads that do so crash it. */
  int dims[1] = {1}, periods[1] = {0};
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &grid);
  MPI_Comm_free(&grid);
  if (argc > 4) {
    char line[16];
    printf("READY 0 %d\n", (int)getpid());
    fflush(stdout);
    setvbuf(stdin, NULL, _IONBF, 0);
    if (fgets(line, sizeof line, stdin) == NULL) return 3;
  }
  struct counts first = count(), once = first;
  for (int i = 0; i < THREADS; i++) pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  for (int half = 0; half < 2; half++) {
    for (int i = 0; (i < rounds || watched(argc > 4)) && !failed; i++) {
      over = 0;
      pthread_barrier_wait(&meeting);
      pthread_barrier_wait(&meeting);
      look(&first);
      if (argc > 4) printf("ROUND %d\n", i), fflush(stdout);
    }
    over = 1;
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    look(&first);
    struct counts now = count();
    CHECK(now.of_int == first.of_int);
    if (half == 0) once = now;
    CHECK(now.memory == once.memory); /* all that was kept is given back */
  }
  over = 2;
  pthread_barrier_wait(&meeting);
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREADS; i++) MPI_Comm_free(&workers[i].base);
  printf("manythreads: %d rounds: %llu bytes in use\n", 2 * rounds, (unsigned long long)cohort_registry.memory_used);
  MPI_Finalize();
  return failed;
}
