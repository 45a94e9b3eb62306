/* Racing mode: what is traced. Two messages to this rank race if either could have been taken by the receive that took
 * one of them (Netzer and Miller, Optimal tracing and replay, section 3.3). They trace the later message of a race;
 * here the earlier receive is traced, as in section 4.1 of the Annai paper: replay posts it with the recorded source,
 * and a receive that is not traced is posted as the program asks, because no other message can be there for it.
 *
 * A receive r from MPI_ANY_SOURCE that took the message of one sender races with a message m of another, if m fits its
 * communicator and tag, if the receive that took m was posted after r (else MPI would have given m to that one all the
 * same), and if m was not sent after r was complete. Of one sender's messages MPI itself keeps the order. So every
 * message that arrives is checked against the receives that are still undecided; these are in a table in the trace
 * file's header page, where they count as traced if the rank dies. A receive leaves it when it is traced, when no
 * message that could race with it can come any more, or, traced, to make room. */
#include "completion.h"
#include "p2p.h"
#include "racing.h"
#include "trace.h"
#include "tracking.h"

enum { MOST = COHORT_PENDING_MAX };

/* A run of receives whose clocks follow each other: of one sender's messages, as a block race has them (Annai, section
 * 4.1). What a debugger of the future needs is in `pending`. */
struct entry {
  struct cohort_link link;
  uint64_t post;          /* of the first */
  uint64_t last_event;
  uint32_t first, last;   /* clocks */
  uint32_t epoch, roots;  /* entered when they were complete */
  uint32_t comm, sender;
  int asked_tag;
};

static struct cohort_undecided nowhere;
static struct cohort_undecided *undecided = &nowhere;
static struct entry entries[MOST];
static struct entry *free_entries[MOST];
static int n_free;
static struct cohort_list list; /* of entries */
static struct cohort_list opens; /* of nodes: open receives from MPI_ANY_SOURCE */
static int soft_limit = 16; /* try to decide some when there are more */

static struct entry *entry_at(struct cohort_link *k) { return (struct entry *)k; }
static struct node *node_at(struct cohort_link *k) { return (struct node *)k; }

void cohort_race_open(void) {
  struct cohort_undecided *table = cohort_trace_undecided();
  if (table != NULL) undecided = table;
  for (int i = 0; i < MOST; i++) free_entries[n_free++] = &entries[MOST - 1 - i];
}

static struct cohort_pending *pending_of(const struct entry *e) { return &undecided->pending[e - entries]; }

static void drop(struct entry *e) {
  STORE(pending_of(e)->count, 0);
  cohort_list_remove(&list, &e->link);
  free_entries[n_free++] = e;
}

/* Traces the receives of an entry but the first `n_left`; those stay. When the disk is full they all stay: the table is
 * in the file. */
static void trace(struct entry *e, uint32_t n_left) {
  struct cohort_pending *p = pending_of(e);
  uint32_t n = e->last - e->first + 1 - n_left;
  cohort_write_race(p->event + (uint64_t)n_left * p->stride, n, p->stride, p->op, p->source, p->tag, p->which);
  if (!g.order) return;
  if (n_left == 0) {
    drop(e);
    return;
  }
  STORE(p->count, n_left);
  e->last = e->first + n_left - 1;
  e->last_event = p->event + (uint64_t)(n_left - 1) * p->stride;
}

static int fits(int asked_tag, int tag) { return asked_tag == MPI_ANY_TAG || asked_tag == tag; }

/* What an open receive matched that was overtaken may be known. Then its message is delivered now: the receive is
 * traced, or is in the table until it is known whether it raced, as one that the program has completed. Returns whether
 * it is. */
static int look(struct node *n) {
  MPI_Status status;
  int complete = 0;
  if (PMPI_Request_get_status(n->request, &complete, &status) != MPI_SUCCESS || !complete) return 0;
  cohort_deliver(n, &status, MPI_SUCCESS);
  return 1;
}

/* An open receive has matched a message already, or it would have had this one. Which one is not always known yet. */
static int overtake(struct node *n, uint32_t sender) {
  if (n->overtaken == 2 || (n->overtaken == 1 && n->overtaker == sender)) return 0;
  if (n->overtaken == 0) cohort_overtaken(1);
  n->overtaken = n->overtaken == 0 ? 1 : 2;
  n->overtaker = sender;
  return look(n);
}

void cohort_race_look(void) {
  for (struct cohort_link *k = opens.oldest; g.order && k != NULL;)
    k = node_at(k)->overtaken != 0 && look(node_at(k)) ? opens.oldest : k->newer; /* a delivery may close others */
}

void cohort_race_open_add(struct node *n) {
  n->open = 1;
  cohort_list_add(&opens, &n->link);
}

/* An overtaken receive is traced if a message that could have been its was matched by another receive meanwhile. */
static void settle_open(struct node *n, const MPI_Status *status) {
  if (n->overtaken == 0 || n->traced) return;
  if (status != NULL && (n->overtaken == 2 || n->overtaker != cohort_racing_peer(n->comm, status->MPI_SOURCE))) {
    cohort_write_race(n->event, 1, 0, n->op, cohort_peer(status->MPI_SOURCE), cohort_tag(status->MPI_TAG), n->which);
    n->traced = 1;
  }
  n->overtaken = 0;
  cohort_overtaken(-1);
}

void cohort_race_open_done(struct node *n, const MPI_Status *status) {
  if (n->open) cohort_list_remove(&opens, &n->link);
  n->open = 0;
  settle_open(n, status);
}

void cohort_race_arrived(const struct arrival *a) {
  if (!g.order) return;
  for (struct entry *e = entry_at(list.newest), *next; e != NULL; e = next) {
    next = entry_at(e->link.older);
    /* Sent after it was complete, and so after all older ones. */
    if (a->moment.clock >= e->last || a->moment.epoch > e->epoch || a->moment.roots > e->roots) break;
    if (e->sender == a->sender || e->comm != a->comm || e->post >= a->post || !fits(e->asked_tag, a->tag)) continue;
    trace(e, a->moment.clock >= e->first ? a->moment.clock - e->first + 1 : 0);
  }
  cohort_race_seen(a->comm, a->sender, a->tag, a->post);
}

void cohort_race_seen(uint32_t comm, uint32_t sender, int tag, uint64_t post) {
  for (struct cohort_link *k = opens.oldest; g.order && k != NULL && node_at(k)->post < post;) {
    struct node *n = node_at(k);
    k = n->comm_index == comm && fits(n->tag, tag) && overtake(n, sender) ? opens.oldest : k->newer; /* likewise */
  }
}

/* Whether no message that could race with the entry can come any more; at the end it is known how many are still to
 * come. */
static int decided(const struct entry *e, int at_end) {
  static uint32_t doubt; /* asked first: it is likely to be the same one again */
  struct moment m = {e->last, e->epoch, e->roots};
  uint32_t n = 0;
  const uint32_t *senders = cohort_racing_senders(e->comm, &n);
  if (senders == NULL) {
    if (!at_end && doubt != e->sender && !cohort_racing_past(doubt, &m)) return 0;
    n = (uint32_t)g.world_size;
  }
  for (uint32_t k = 0; k < n; k++) {
    uint32_t sender = senders == NULL ? k : senders[k];
    if (sender == e->sender || (at_end && cohort_racing_unreceived(sender) == 0) || cohort_racing_past(sender, &m))
      continue;
    doubt = sender;
    return 0;
  }
  return 1;
}

static void make_room(void) {
  for (struct entry *e = entry_at(list.oldest), *next; e != NULL; e = next) {
    next = entry_at(e->link.newer);
    if (decided(e, 0)) drop(e);
  }
  if (MOST - n_free > soft_limit / 2 && soft_limit < MOST) soft_limit = 2 * soft_limit < MOST ? 2 * soft_limit : MOST;
  if (n_free == 0) trace(entry_at(list.oldest), 0);
}

static int continues(const struct receipt *r, uint32_t clock) {
  const struct entry *e = entry_at(list.newest);
  if (e == NULL) return 0;
  const struct cohort_pending *p = pending_of(e);
  if (e->last + 1 != clock || e->sender != r->sender || e->comm != r->comm || e->asked_tag != r->asked_tag) return 0;
  if (p->op != r->op || p->source != r->source || p->tag != r->tag || p->which != r->which) return 0;
  if (e->epoch != g_racing.entered || e->roots != g_racing.rooted || r->event <= e->last_event ||
      r->op == COHORT_OP_STARTALL)
    return 0;
  uint64_t stride = r->event - e->last_event;
  return p->count == 1 ? stride <= UINT32_MAX : stride == p->stride;
}

void cohort_race_trace(const struct receipt *r) {
  if (g.order) cohort_write_race(r->event, 1, 0, r->op, r->source, r->tag, r->which);
}

void cohort_race_received(const struct receipt *r) {
  if (!g.order) return;
  if (UNLIKELY(g_racing.clock >= CLOCK_LAST - 1)) { /* the clock is at its end: from here on all are traced */
    cohort_race_trace(r);
    return;
  }
  uint32_t clock = ++g_racing.clock;
  if (continues(r, clock)) {
    struct entry *e = entry_at(list.newest);
    struct cohort_pending *p = pending_of(e);
    p->stride = (uint32_t)(r->event - e->last_event);
    e->last = clock;
    e->last_event = r->event;
    STORE(p->count, p->count + 1);
    return;
  }
  if (UNLIKELY(MOST - n_free >= soft_limit)) make_room();
  if (UNLIKELY(!g.order || n_free == 0)) return; /* the disk is full: the recording has ended before this call */
  struct entry *e = free_entries[--n_free];
  *e = (struct entry){.post = r->post,
                      .last_event = r->event,
                      .first = clock,
                      .last = clock,
                      .epoch = g_racing.entered,
                      .roots = g_racing.rooted,
                      .comm = r->comm,
                      .sender = r->sender,
                      .asked_tag = r->asked_tag};
  cohort_list_add(&list, &e->link);
  struct cohort_pending *p = pending_of(e);
  p->event = r->event;
  p->stride = 0;
  p->source = r->source;
  p->tag = r->tag;
  p->op = r->op;
  p->which = r->which;
  STORE(p->count, 1);
}

/* MPI_Finalize: what is undecided could race only with a message that was sent and will not be received. */
void cohort_race_settle(void) {
  for (struct entry *e = entry_at(list.newest), *next; g.order && e != NULL; e = next) {
    next = entry_at(e->link.older);
    if (decided(e, 1))
      drop(e);
    else
      trace(e, 0);
  }
  /* Receives that nobody completed. */
  for (struct cohort_link *k = opens.oldest; g.order && k != NULL; k = k->newer) {
    struct node *n = node_at(k);
    MPI_Status status;
    int complete = 0;
    if (n->overtaken == 0) continue;
    if (PMPI_Request_get_status(n->request, &complete, &status) == MPI_SUCCESS && complete)
      settle_open(n, &status);
    else
      cohort_uncovered("MPI_Finalize with a wildcard receive under way");
  }
}
