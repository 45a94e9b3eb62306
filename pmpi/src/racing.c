/* Racing mode: vector time. A rank tells each other rank what has changed since the last message to it (Singhal and
 * Kshemkalyani), the newest first, and as much as a header holds; what is left over goes with a later message. An entry
 * is a clock, not a difference, and is merged by maximum: one that comes late, or never, leaves the receiver with an
 * older view, and an older view makes the race check find more, never less. So messages may be completed in any order.
 * */
#include "collective.h"
#include "p2p.h"
#include "racing.h"
#include "registry.h"
#include "carry.h"

struct racing_state g_racing;

/* What is known of a rank's clock, in a list by the time of the last change, the newest first. */
struct known { uint64_t changed; uint32_t clock, newer, older; };

/* One other rank (or this one: it may send to itself). */
struct peer {
  uint64_t told;               /* changes up to this one were sent to it ... */
  uint64_t owed_from, owed_to; /* ... but those after owed_from and before owed_to */
  uint32_t sent;               /* messages */
  uint32_t received;           /* messages */
  uint32_t newest;             /* the greatest number among them */
  uint32_t left_root;          /* broadcasts from it to all ranks that this rank has left */
  struct moment at_newest;     /* what it knew of us when it sent that */
  struct moment settled;       /* likewise, of the last one before which no message is missing */
};

static struct known *known;
static struct peer *peers;
static uint32_t newest_change = NOBODY; /* head of the list */
static uint64_t changes;
static uint32_t entries_most;
static MPI_Comm private_comm = MPI_COMM_NULL;
static uint32_t *unreceived; /* in MPI_Finalize */

/* Every rank carries its messages with a header, or none does. */
static int everyone(int able) {
  int all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Comm_dup(MPI_COMM_WORLD, &private_comm) != MPI_SUCCESS) return 0;
  if (PMPI_Iallreduce(&able, &all, 1, MPI_INT, MPI_MIN, private_comm, &request) != MPI_SUCCESS) return 0;
  cohort_yield_wait(&request, MPI_STATUS_IGNORE);
  return all;
}

/* Called by every rank whose job is recorded in this mode, also by one that has refused to record. */
void cohort_racing_open(void) {
  int provided = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&provided);
  size_t n = (size_t)g.world_size;
  uint32_t useful = n > 2 ? (uint32_t)n - 2 : 0; /* neither the sender's nor the receiver's own clock */
  entries_most = useful < ENTRIES_MOST ? useful : ENTRIES_MOST;
  g_racing.header = (uint32_t)(sizeof(struct wire_header) + entries_most * sizeof(struct wire_entry));
  known = cohort_map(n * sizeof *known);
  peers = cohort_map(n * sizeof *peers);
  unreceived = cohort_map(2 * n * sizeof *unreceived);
  int able = !g.refused && provided != MPI_THREAD_MULTIPLE && known != NULL && peers != NULL && unreceived != NULL;
  g.racing = everyone(able);
  if (g.racing) {
    cohort_race_open();
    return;
  }
  if (able) {
    cohort_refuse("Another rank cannot record in racing mode, so this one does not either.",
                  "racing mode, which another rank cannot record in");
  } else if (!g.refused) {
    if (provided == MPI_THREAD_MULTIPLE)
      cohort_refuse("Racing mode does not cover MPI_THREAD_MULTIPLE: record with --mode order.",
                    "MPI_THREAD_MULTIPLE in racing mode");
    else
      cohort_refuse("There is no memory to record in racing mode.", "racing mode, for which there was no memory");
  }
}

static void changed(uint32_t rank, uint32_t clock) {
  struct known *k = &known[rank];
  if (k->clock >= clock || rank == (uint32_t)g.world_rank) return;
  int listed = k->clock != 0;
  k->clock = clock;
  k->changed = ++changes;
  if (newest_change == rank) return;
  if (listed) {
    known[k->newer].older = k->older;
    if (k->older != NOBODY) known[k->older].newer = k->newer;
  }
  k->newer = NOBODY;
  k->older = newest_change;
  if (newest_change != NOBODY) known[newest_change].newer = rank;
  newest_change = rank;
}

/* The changes that `to` has not been told, the newest first, as many as there is room for. */
static uint32_t tell(struct peer *p, uint32_t to, struct wire_entry *out) {
  uint32_t n = 0, rank = newest_change;
  uint64_t last = changes + 1;
  for (; rank != NOBODY && known[rank].changed > p->told; rank = known[rank].older) {
    if (rank == to) continue;
    if (n == entries_most) { /* what is left, and what was owed before, is owed */
      if (p->owed_to == 0) p->owed_from = p->told;
      p->owed_to = last;
      p->told = changes;
      return n;
    }
    last = known[rank].changed;
    out[n++] = (struct wire_entry){rank, known[rank].clock};
  }
  p->told = changes;
  if (LIKELY(p->owed_to == 0)) return n;
  for (; rank != NOBODY && known[rank].changed > p->owed_from; rank = known[rank].older) {
    if (rank == to || known[rank].changed >= p->owed_to) continue;
    if (n == entries_most) return n;
    p->owed_to = known[rank].changed;
    out[n++] = (struct wire_entry){rank, known[rank].clock};
  }
  p->owed_to = 0;
  return n;
}

void cohort_racing_stamp(void *header, uint32_t to) {
  struct peer *p = &peers[to];
  struct wire_header *h = header;
  h->sender = (uint32_t)g.world_rank | WIRE_MAGIC;
  h->number = ++p->sent;
  h->yours = to == (uint32_t)g.world_rank ? g_racing.clock : known[to].clock;
  h->mine = g_racing.clock;
  h->epoch = g_racing.left;
  h->roots = p->left_root;
  uint32_t n = newest_change == NOBODY ? 0 : tell(p, to, h->entries);
  if (n < entries_most) h->entries[n].rank = NOBODY;
}

struct moment cohort_racing_learn(const struct wire_header *h) {
  uint32_t sender = h->sender & WIRE_RANK;
  struct moment m = {h->yours, h->epoch, h->roots};
  struct peer *p = &peers[sender];
  changed(sender, h->mine);
  for (uint32_t i = 0; i < entries_most && h->entries[i].rank != NOBODY; i++) {
    if (h->entries[i].rank < (uint32_t)g.world_size) changed(h->entries[i].rank, h->entries[i].clock);
  }
  p->received++;
  if ((int32_t)(h->number - p->newest) > 0) {
    p->newest = h->number;
    p->at_newest = m;
  }
  if (p->received == p->newest) p->settled = p->at_newest; /* all up to the newest are here */
  return m;
}

int cohort_racing_past(uint32_t sender, const struct moment *m) {
  const struct peer *p = &peers[sender];
  /* what it sends from now on, it sends after */
  if (sender == (uint32_t)g.world_rank && p->sent == p->received) return 1;
  return p->settled.clock >= m->clock || p->settled.epoch > m->epoch || p->settled.roots > m->roots;
}

uint32_t cohort_racing_unreceived(uint32_t sender) { return unreceived[sender]; }

/* ---- communicators, by their index */
struct comm_info {
  uint8_t seen, headed, all;
  uint32_t n_senders;
  uint32_t *senders; /* a copy: records of communicators are reused; NULL: all ranks */
};
static struct cohort_buffer infos;

static struct comm_info *info_of(const struct cohort_comm *c) {
  static struct comm_info none;
  if (UNLIKELY((c->index + 1) * sizeof none > infos.length)) {
    if (!cohort_reserve(&infos, (c->index + 1) * sizeof none)) return &none;
    infos.length = infos.capacity;
  }
  struct comm_info *i = (struct comm_info *)(void *)infos.data + c->index;
  if (UNLIKELY(!i->seen)) {
    const uint32_t *members = (const uint32_t *)(c + 1);
    i->seen = i->headed = 1;
    for (uint32_t k = 0; k < c->n_members + c->n_remote; k++) i->headed &= members[k] != UINT32_MAX;
    i->all = i->headed && c->o.kind != COHORT_COMM_INTER && c->n_members == (uint32_t)g.world_size;
    uint32_t n = c->o.kind == COHORT_COMM_INTER ? c->n_remote : c->n_members;
    if (i->headed && !i->all && n > 0) i->senders = cohort_map(n * sizeof *i->senders);
    if (i->senders != NULL) {
      i->n_senders = n;
      memcpy(i->senders, c->o.kind == COHORT_COMM_INTER ? members + c->n_members : members, n * sizeof *i->senders);
    }
  }
  return i;
}

const uint32_t *cohort_racing_senders(uint32_t comm, uint32_t *n) {
  const struct comm_info *i = (const struct comm_info *)(const void *)infos.data + comm;
  int known_one = (comm + 1) * sizeof *i <= infos.length;
  *n = known_one ? i->n_senders : 0;
  return known_one ? i->senders : NULL;
}

/* Processes outside MPI_COMM_WORLD (spawned ones) know of no header; the calls that lead to them are not covered. */
int cohort_racing_headed(MPI_Comm comm) {
  const struct cohort_comm *c = cohort_comm_find(comm);
  return c != NULL && info_of(c)->headed;
}

uint32_t cohort_racing_peer(MPI_Comm comm, int rank) {
  const struct cohort_comm *c = cohort_comm_find(comm);
  if (UNLIKELY(c == NULL || !info_of(c)->headed)) return NOBODY;
  const uint32_t *members = (const uint32_t *)(c + 1);
  uint32_t n = c->n_members;
  if (UNLIKELY(c->o.kind == COHORT_COMM_INTER)) {
    members += n;
    n = c->n_remote;
  }
  return rank < 0 || (uint32_t)rank >= n ? NOBODY : members[rank];
}

/* ---- the order that collectives make. They carry no header: of those over all ranks that nobody leaves before all
 * have entered, it is enough to count. A rank that has left k of them has left one that another entered as its k-th or
 * later; so the counts need not name the communicator. Broadcasts with data are counted by root. */
static int counted(uint32_t op, MPI_Comm comm, int count, MPI_Datatype type) {
  const struct cohort_comm *c = cohort_comm_find(comm);
  if (c == NULL || !info_of(c)->all) return 0;
  return op == COHORT_OP_BARRIER || cohort_bytes(count, type) > 0;
}

static uint32_t one_more(uint32_t n) { return n == UINT32_MAX ? n : n + 1; }

void cohort_racing_collective(uint32_t op, MPI_Comm comm, int count, MPI_Datatype type, int root) {
  if (!counted(op, comm, count, type)) return;
  if (op != COHORT_OP_BCAST)
    g_racing.entered = one_more(g_racing.entered);
  else if (cohort_is_root(comm, root))
    g_racing.rooted = one_more(g_racing.rooted);
}

/* A collective that failed is not counted as left: that claims less. */
void cohort_racing_collected(uint32_t op, MPI_Comm comm, int count, MPI_Datatype type, int root, int rc) {
  if (rc != MPI_SUCCESS || !counted(op, comm, count, type)) return;
  if (op != COHORT_OP_BCAST) {
    if (g_racing.entered != UINT32_MAX) g_racing.left = one_more(g_racing.left);
    return;
  }
  uint32_t from = cohort_racing_peer(comm, root);
  if (from != NOBODY && from != (uint32_t)g.world_rank) peers[from].left_root = one_more(peers[from].left_root);
}

/* Every rank is here. Who has sent how many messages to whom says which are not received, and never will be: in replay
 * such a message may be there sooner, and what was received in its place must be known. */
void cohort_racing_finalize(void) {
  size_t n = (size_t)g.world_size;
  MPI_Request request = MPI_REQUEST_NULL;
  cohort_orphans_poll();
  for (size_t i = 0; i < n; i++) unreceived[n + i] = peers[i].sent;
  int rc = PMPI_Ialltoall(unreceived + n, 1, MPI_UINT32_T, unreceived, 1, MPI_UINT32_T, private_comm, &request);
  if (rc == MPI_SUCCESS) cohort_yield_wait(&request, MPI_STATUS_IGNORE);
  for (size_t i = 0; i < n; i++) unreceived[i] = rc == MPI_SUCCESS ? unreceived[i] - peers[i].received : 1;
  if (g.order) cohort_race_settle();
  PMPI_Comm_free(&private_comm);
  cohort_null_sends_free();
}
