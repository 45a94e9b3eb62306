/* Communicators: their records in the registry, their identity across ranks, and the calls that make and free them. */
#include "collective.h"
#include "completion.h"
#include "p2p.h"
#include "registry.h"
#include "trace.h"
#include "tracking.h"

#include <stdlib.h>

struct object_table cohort_comms = {.table = {.published = &cohort_registry.comms}};
static uint32_t n_comms;

static struct cohort_comm *last_comm; /* a record that goes has no handle any more */

static uint64_t mix(uint64_t x) { /* splitmix64's finaliser */
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static uint64_t child_id(uint64_t parent, uint64_t nth, uint32_t leader) {
  return mix(mix(mix(parent) ^ nth) ^ leader) | 1ull << 63;
}

/* A call that is collective over the members of the new communicator alone, or of two groups: those members count its
 * kind. */
static uint64_t among_id(uint64_t among) {
  static struct keymap made; /* how many communicators are made already among these */
  uint64_t *n = cohort_keymap_find(&made, among | 1), nth = n == NULL ? 0 : *n;
  cohort_keymap_put(&made, among | 1, nth + 1);
  return child_id(among, nth, UINT32_MAX);
}

static uint64_t hash_ranks(const uint32_t *ranks, uint32_t n) {
  uint64_t h = mix(n + 1);
  for (uint32_t i = 0; i < n; i++) h = mix(h ^ (ranks[i] + 1));
  return h;
}

/* Both groups of an intercommunicator must come to the same. */
static uint64_t hash_members(const struct cohort_comm *c) {
  const uint32_t *members = (const uint32_t *)(c + 1);
  uint64_t local = hash_ranks(members, c->n_members);
  if (c->o.kind != COHORT_COMM_INTER) return local;
  uint64_t remote = hash_ranks(members + c->n_members, c->n_remote);
  return local < remote ? mix(mix(local) ^ remote) : mix(mix(remote) ^ local);
}

/* The world rank of rank 0; of an intercommunicator the lesser of those of both groups. */
static uint32_t leader_of(const struct cohort_comm *c) {
  const uint32_t *members = (const uint32_t *)(c + 1);
  uint32_t leader = c->n_members > 0 ? members[0] : UINT32_MAX;
  if (c->n_remote > 0 && members[c->n_members] < leader) leader = members[c->n_members];
  return leader;
}

static uint32_t kind_of(MPI_Comm comm) {
  int inter = 0, topology = MPI_UNDEFINED;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter) return COHORT_COMM_INTER;
  PMPI_Topo_test(comm, &topology);
  switch (topology) {
    case MPI_CART: return COHORT_COMM_CART;
    case MPI_GRAPH: return COHORT_COMM_GRAPH;
    case MPI_DIST_GRAPH: return COHORT_COMM_DIST_GRAPH;
    default: return COHORT_COMM_INTRA;
  }
}

/* The world ranks of a group's members; UINT32_MAX for processes outside MPI_COMM_WORLD. Not a path that messages take,
 * so it may use malloc. */
int cohort_world_ranks(MPI_Group group, int n, uint32_t *out) {
  MPI_Group world;
  int *ranks = malloc(2 * (size_t)(n > 0 ? n : 1) * sizeof *ranks);
  if (ranks == NULL) return 0;
  for (int i = 0; i < n; i++) ranks[i] = i;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(group, n, ranks, world, ranks + n);
  PMPI_Group_free(&world);
  for (int i = 0; i < n; i++) out[i] = ranks[n + i] == MPI_UNDEFINED ? UINT32_MAX : (uint32_t)ranks[n + i];
  free(ranks);
  return 1;
}

static void read_cart(MPI_Comm comm, struct cohort_comm *c, int32_t *out) {
  int n = (int)c->n_dims;
  PMPI_Cart_get(comm, n, out, out + n, out + 2 * n);
}

/* `shape`: the communicator to ask for size and members: the parent, while an idup is under way. */
static struct cohort_comm *make_record(MPI_Comm comm, MPI_Comm shape, uint64_t site) {
  MPI_Group local = MPI_GROUP_NULL, remote = MPI_GROUP_NULL;
  int size = 0, rank = 0, remote_size = 0, dims = 0, name_length = 0;
  char name[MPI_MAX_OBJECT_NAME] = "";
  uint32_t kind = kind_of(shape);
  PMPI_Comm_group(shape, &local);
  PMPI_Group_size(local, &size);
  PMPI_Group_rank(local, &rank);
  if (kind == COHORT_COMM_INTER) {
    PMPI_Comm_remote_group(shape, &remote);
    PMPI_Group_size(remote, &remote_size);
  }
  if (kind == COHORT_COMM_CART) PMPI_Cartdim_get(shape, &dims);
  if (comm == shape) PMPI_Comm_get_name(comm, name, &name_length);
  size_t bytes = sizeof(struct cohort_comm) + 4 * ((size_t)size + (size_t)remote_size + 3 * (size_t)dims);
  struct cohort_comm *c = cohort_object_make(&cohort_comms, bytes, HANDLE(comm), site);
  if (c != NULL) {
    uint32_t *members = (uint32_t *)(c + 1);
    c->o.kind = kind;
    c->o.f_handle = PMPI_Comm_c2f(comm);
    c->comm_size = c->n_members = (uint32_t)size;
    c->comm_rank = (uint32_t)rank;
    c->n_remote = (uint32_t)remote_size;
    c->n_dims = (uint32_t)dims;
    if (name[0] != 0) cohort_object_set_name(&c->o, name);
    cohort_world_ranks(local, size, members);
    if (remote != MPI_GROUP_NULL) cohort_world_ranks(remote, remote_size, members + size);
    if (dims > 0) read_cart(shape, c, (int32_t *)(members + size + remote_size));
  }
  PMPI_Group_free(&local);
  if (remote != MPI_GROUP_NULL) PMPI_Group_free(&remote);
  return c;
}

static void publish(struct cohort_comm *c) {
  cohort_registry_lock();
  c->index = n_comms++;
  cohort_object_publish_locked(&c->o);
  last_comm = NULL;
  cohort_registry_unlock();
  if (g.full) cohort_write_comm(c);
}

static struct cohort_comm *find(uint64_t handle) {
  cohort_registry_lock();
  struct cohort_comm *c = cohort_table_find(&cohort_comms.table, handle);
  cohort_registry_unlock();
  return c;
}

/* A communicator that came from a call which is not covered: its members are all that they agree on. */
static struct cohort_comm *adopt(MPI_Comm comm) {
  struct cohort_comm *c = make_record(comm, comm, 0);
  if (c == NULL) return NULL;
  c->global_id = among_id(mix(hash_members(c)));
  publish(c);
  return c;
}

struct cohort_comm *cohort_comm_find(MPI_Comm comm) {
  uint64_t handle = HANDLE(comm);
  struct cohort_comm *c = cohort_at_once ? NULL : last_comm; /* which another thread may be freeing */
  if (LIKELY(c != NULL && c->o.handle == handle)) return c;
  if (comm == MPI_COMM_NULL) return NULL;
  c = find(handle);
  if (c == NULL) c = adopt(comm);
  last_comm = c;
  return c;
}

/* For a debugger's sake: never asks MPI, as the handle may be none. */
struct cohort_comm *cohort_comm_known(MPI_Comm comm) { return find(HANDLE(comm)); }

/* MPI has just given it to the program. Where it is traced, calls that are not covered make communicators known when
 * they are used first. */
void cohort_comm_given(MPI_Comm comm, uint64_t site) {
  if (comm == MPI_COMM_NULL || g.order || g.full || g.replay) return;
  if (cohort_object_known(&cohort_comms, HANDLE(comm))) return;
  struct cohort_comm *c = make_record(comm, comm, site);
  if (c != NULL) publish(c);
}

uint32_t cohort_comm_index(MPI_Comm comm) {
  struct cohort_comm *c = cohort_comm_find(comm);
  return c == NULL ? 0 : c->index;
}

static void predefined(MPI_Comm comm, uint64_t global_id) {
  struct cohort_comm *c = make_record(comm, comm, 0);
  if (c == NULL) return;
  c->o.state = COHORT_OBJECT_PREDEFINED;
  c->global_id = global_id;
  publish(c);
}

void cohort_comms_open(void) {
  predefined(MPI_COMM_WORLD, 1);
  predefined(MPI_COMM_SELF, 2 + (uint64_t)g.world_rank);
}

/* All members of `parent` have made a communicator of it; this one belongs to `comm`, or to none. */
static struct cohort_comm *child_of(struct cohort_comm *p, MPI_Comm comm, MPI_Comm shape, uint64_t site) {
  uint64_t nth = p->children++;
  if (comm == MPI_COMM_NULL) return NULL;
  struct cohort_comm *c = make_record(comm, shape, site);
  if (c == NULL) return NULL;
  c->parent_id = p->global_id;
  c->global_id = child_id(p->global_id, nth, leader_of(c));
  publish(c);
  return c;
}

/* The same of a call that passed through. Only one thread at a time may make communicators of one. */
void cohort_comm_passed(int rc, uint64_t site, MPI_Comm parent, const MPI_Comm *comm, int pending) {
  if (rc != MPI_SUCCESS || site == 0 || g.order || g.full || g.replay) return;
  struct cohort_comm *p = find(HANDLE(parent));
  if (p != NULL && p->global_id != 0)
    child_of(p, *comm, pending ? parent : *comm, site);
  else if (*comm != MPI_COMM_NULL && !pending)
    cohort_comm_given(*comm, site);
}

/* The program is about to free it. With a reference, for cohort_comm_freed; NULL: it is not known. */
struct cohort_comm *cohort_comm_freeing(MPI_Comm comm) { return cohort_object_freeing(&cohort_comms, HANDLE(comm)); }

/* After MPI has freed it, or not: also where the wrapper passed the call through, because another thread was inside
 * MPI. That one may have been given the handle by now. */
void cohort_comm_freed(struct cohort_comm *c, int rc) {
  last_comm = NULL; /* it may be this one */
  if (c != NULL && rc == MPI_SUCCESS && c->o.holds == 0 && !(c->o.state & COHORT_OBJECT_PREDEFINED)) {
    cohort_registry_lock();
    cohort_messages_forget(c->global_id);
    cohort_registry_unlock();
  }
  cohort_object_freed(c == NULL ? NULL : &c->o, rc);
}

void cohort_event_begin_on(uint32_t index, int root, uint64_t bytes) {
  cohort_event_begin();
  cohort_put_uv(index);
  cohort_put_sv(root);
  cohort_put_uv(bytes);
}

static void begin_collective(MPI_Comm comm, int root, uint64_t bytes) {
  const struct cohort_comm *c = cohort_comm_find(comm);
  /* MPI_ROOT and MPI_PROC_NULL name no rank */
  cohort_event_begin_on(c == NULL ? 0 : c->index, c != NULL && c->o.kind == COHORT_COMM_INTER ? -1 : root, bytes);
}

void cohort_event_collective(int rc, MPI_Comm comm, int root, uint64_t bytes) {
  if (!g.full) return;
  if (UNLIKELY(rc != MPI_SUCCESS) && !cohort_truncated(rc)) { /* it was refused: nobody takes part */
    uint32_t op = g.op;
    g.op = COHORT_OP_OTHER;
    cohort_event_plain();
    g.op = op;
    return;
  }
  begin_collective(comm, root, bytes);
  cohort_event_end();
}

/* `op`: of the blocking form. */
void cohort_collective_initialized(int rc, MPI_Comm comm, int root, uint64_t bytes, uint32_t op,
                                   const MPI_Request *request) {
#ifndef OPEN_MPI
  /* Testall and Testany of MPICH 4.0 take a persistent collective for complete that is not */
  g_requests.wait_whole = 1;
#endif
  if (!g.full) return;
  if (rc == MPI_SUCCESS) cohort_request_add_persistent(*request, REQUEST_COLLECTIVE, 0);
  begin_collective(comm, root, bytes);
  cohort_put_uv(op);
  cohort_event_end();
}

/* `type`: that of all of them; else each has its own. */
static uint64_t sum(const int *counts, MPI_Datatype type, const MPI_Datatype *types, uint32_t n) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < n && counts != NULL; i++) bytes += cohort_bytes(counts[i], types == NULL ? type : types[i]);
  return bytes;
}

/* How many members a collective with a buffer for each sends to; only full mode wants to know. */
static uint32_t n_peers(MPI_Comm comm) {
  const struct cohort_comm *c = g.full ? cohort_comm_find(comm) : NULL;
  return c == NULL ? 0 : c->o.kind == COHORT_COMM_INTER ? c->n_remote : c->comm_size;
}

uint64_t cohort_bytes_v(const int *counts, MPI_Datatype type, MPI_Comm comm) {
  return sum(counts, type, NULL, n_peers(comm));
}

uint64_t cohort_bytes_w(const int *counts, const MPI_Datatype *types, MPI_Comm comm) {
  return sum(counts, MPI_DATATYPE_NULL, types, n_peers(comm));
}

uint64_t cohort_bytes_all(int count, MPI_Datatype type, MPI_Comm comm) {
  return cohort_bytes(count, type) * n_peers(comm);
}

uint32_t cohort_my_rank(MPI_Comm comm) {
  struct cohort_comm *c = cohort_comm_find(comm);
  return c == NULL ? 0 : c->comm_rank;
}

int cohort_is_root(MPI_Comm comm, int root) {
  struct cohort_comm *c = cohort_comm_find(comm);
  if (c == NULL) return 0;
  return c->o.kind == COHORT_COMM_INTER ? root == MPI_ROOT : root == (int)c->comm_rank;
}

/* Whether a rank contributes data to a Gather or Reduce: of an intercommunicator, only one group does. */
int cohort_gives_root(MPI_Comm comm, int root) {
  struct cohort_comm *c = g.full ? cohort_comm_find(comm) : NULL;
  return c != NULL && (c->o.kind != COHORT_COMM_INTER || root >= 0);
}

/* How many neighbours a neighbourhood collective sends to. */
uint32_t cohort_out_degree(MPI_Comm comm) {
  struct cohort_comm *c = cohort_comm_find(comm);
  int in = 0, out = 0, weighted = 0;
  if (c == NULL) return 0;
  switch (c->o.kind) {
    case COHORT_COMM_CART: return 2 * c->n_dims;
    case COHORT_COMM_GRAPH: PMPI_Graph_neighbors_count(comm, (int)c->comm_rank, &out); return (uint32_t)out;
    case COHORT_COMM_DIST_GRAPH: PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted); return (uint32_t)out;
    default: return 0;
  }
}

uint64_t cohort_bytes_out(const int *counts, MPI_Datatype type, MPI_Comm comm) {
  return sum(counts, type, NULL, cohort_out_degree(comm));
}

uint64_t cohort_bytes_out_w(const int *counts, const MPI_Datatype *types, MPI_Comm comm) {
  return sum(counts, MPI_DATATYPE_NULL, types, cohort_out_degree(comm));
}

static void ended(MPI_Comm parent, const struct cohort_comm *c) {
  if (!g.full) return;
  cohort_event_begin_on(cohort_comm_index(parent), -1, 0);
  cohort_put_uv(c == NULL ? 0 : (uint64_t)c->index + 1);
  cohort_event_end();
}

void cohort_comm_made(int rc, MPI_Comm parent, const MPI_Comm *comm, int pending) {
  struct cohort_comm *p = rc == MPI_SUCCESS ? cohort_comm_find(parent) : NULL;
  ended(parent, p == NULL ? NULL : child_of(p, *comm, pending ? parent : *comm, g.site));
}

/* Only the members of the new communicator have made the call; or both groups of a new intercommunicator, with parents
 * of their own. */
void cohort_comm_made_among(int rc, MPI_Comm parent, const MPI_Comm *comm) {
  struct cohort_comm *p = rc == MPI_SUCCESS && *comm != MPI_COMM_NULL ? cohort_comm_find(parent) : NULL;
  struct cohort_comm *c = p == NULL ? NULL : make_record(*comm, *comm, g.site);
  if (c != NULL) {
    uint64_t among = hash_members(c);
    c->parent_id = p->global_id;
    c->global_id = among_id(c->o.kind == COHORT_COMM_INTER ? among : mix(among ^ p->global_id));
    publish(c);
  }
  ended(parent, c);
}

struct cohort_comm *cohort_comm_ending(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return NULL;
  if (g.full) cohort_comm_find(comm);
  if (cohort_persistent_uses(comm)) /* replay needs the handle for each Start */
    cohort_uncovered("MPI_Comm_free while a persistent receive has it");
  return cohort_comm_freeing(comm);
}

void cohort_comm_ended(int rc, struct cohort_comm *c) {
  if (g.full) {
    cohort_event_begin_on(c == NULL ? 0 : c->index, -1, 0);
    cohort_event_end();
  }
  cohort_comm_freed(c, rc);
}
