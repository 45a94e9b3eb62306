/* Racing mode: what is traced. Two messages to this rank race if either could have been taken by the receive that took
 * one of them (Netzer and Miller, Optimal tracing and replay, section 3.3). They trace the later message of a race;
 * here the earlier receive is traced, as in section 4.1 of the Annai paper: replay posts it with the recorded source,
 * and a receive that is not traced is posted as the program asks, because no other message can be there for it.
 *
 * A receive r from MPI_ANY_SOURCE that took the message of one sender races with a message m of another, if m fits its
 * communicator and tag, if the receive that took m was posted after r (else MPI would have given m to that one all the
 * same), and if m was not sent after r was complete. Of one sender's messages MPI itself keeps the order. So every
 * message that arrives is checked against the receives that are still undecided; these stand in a table in the trace
 * file's header page, where they count as traced if the rank dies. A receive leaves it when it is traced, when no
 * message that could race with it can come any more, or, traced, to make room. */
#include "completion.h"
#include "p2p.h"
#include "racing.h"
#include "trace.h"
#include "tracking.h"

enum { MOST = COHORT_PENDING_MAX, NONE = 255 };
_Static_assert(MOST < NONE, "entries have numbers of one byte");

/* A run of receives whose clocks follow each other: of one sender's messages, as a block race has them (Annai, section
 * 4.1). What a debugger of the future needs stands in `pending`. */
struct entry {
  uint64_t post;          /* of the first */
  uint64_t last_event;
  uint32_t first, last;   /* clocks */
  uint32_t epoch, roots;  /* entered when they were complete */
  uint32_t comm, sender;
  int asked_tag;
  uint8_t newer, older;
};

static struct cohort_undecided nowhere;
static struct cohort_undecided *undecided = &nowhere;
static struct entry entries[MOST];
static uint8_t free_entries[MOST];
static int n_free;
static uint8_t newest = NONE, oldest = NONE;
static int soft_limit = 16; /* try to decide some when there are more */

void cohort_race_open(void) {
  struct cohort_undecided *table = cohort_trace_undecided();
  if (table != NULL) undecided = table;
  for (int i = 0; i < MOST; i++) free_entries[n_free++] = (uint8_t)(MOST - 1 - i);
}

static void drop(uint8_t i) {
  struct entry *e = &entries[i];
  __atomic_store_n(&undecided->pending[i].count, 0, __ATOMIC_RELEASE);
  if (e->newer != NONE)
    entries[e->newer].older = e->older;
  else
    newest = e->older;
  if (e->older != NONE)
    entries[e->older].newer = e->newer;
  else
    oldest = e->newer;
  free_entries[n_free++] = i;
}

/* Traces the receives of an entry but the first `kept`; those stay. When the disk is full they all stay: the table is
 * in the file. */
static void trace(uint8_t i, uint32_t kept) {
  struct entry *e = &entries[i];
  struct cohort_pending *p = &undecided->pending[i];
  uint32_t n = e->last - e->first + 1 - kept;
  cohort_write_race(p->event + (uint64_t)kept * p->stride, n, p->stride, p->op, p->source, p->tag, p->which);
  if (!g.order) return;
  if (kept == 0) {
    drop(i);
    return;
  }
  __atomic_store_n(&p->count, kept, __ATOMIC_RELEASE);
  e->last = e->first + kept - 1;
  e->last_event = p->event + (uint64_t)(kept - 1) * p->stride;
}

static int fits(int asked_tag, int tag) { return asked_tag == MPI_ANY_TAG || asked_tag == tag; }

static void store_overtaken(int by) {
  g_requests.overtaken += by;
  __atomic_store_n(&undecided->overtaken, undecided->overtaken + (uint32_t)by, __ATOMIC_RELEASE);
}

/* What an open receive took that was overtaken may be known. Then its message is delivered now: the receive is traced,
 * or stands in the table until it is known whether it raced, as one that the program has completed. Returns whether it
 * is. */
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
  if (n->overtaken == 0) store_overtaken(1);
  n->overtaken = n->overtaken == 0 ? 1 : 2;
  n->overtaker = sender;
  return look(n);
}

void cohort_race_look(void) {
  for (struct node *n = cohort_open_oldest(); g.order && n != NULL;)
    n = n->overtaken != 0 && look(n) ? cohort_open_oldest() : cohort_open_after(n); /* a delivery may close others */
}

/* What an open receive took is known (NULL: nothing): it is traced if one that could have been its was taken by another
 * receive meanwhile. */
void cohort_race_open_done(struct node *n, const MPI_Status *status) {
  if (n->overtaken == 0 || n->traced) return;
  if (status != NULL && (n->overtaken == 2 || n->overtaker != cohort_racing_peer(n->comm, status->MPI_SOURCE))) {
    cohort_write_race(n->event, 1, 0, n->op, cohort_peer(status->MPI_SOURCE), cohort_tag(status->MPI_TAG), n->which);
    n->traced = 1;
  }
  n->overtaken = 0;
  if (g.order) store_overtaken(-1);
}

void cohort_race_arrived(const struct arrival *a) {
  if (!g.order) return;
  for (uint8_t i = newest, next; i != NONE; i = next) {
    const struct entry *e = &entries[i];
    next = e->older;
    /* Sent after it was complete, and so after all older ones. */
    if (a->moment.clock >= e->last || a->moment.epoch > e->epoch || a->moment.roots > e->roots) break;
    if (e->sender == a->sender || e->comm != a->comm || e->post >= a->post || !fits(e->asked_tag, a->tag)) continue;
    trace(i, a->moment.clock >= e->first ? a->moment.clock - e->first + 1 : 0);
  }
  cohort_race_seen(a->comm, a->sender, a->tag, a->post);
}

void cohort_race_seen(uint32_t comm, uint32_t sender, int tag, uint64_t post) {
  for (struct node *n = cohort_open_oldest(); g.order && n != NULL && n->post < post;)
    /* likewise */
    n = n->comm_index == comm && fits(n->tag, tag) && overtake(n, sender) ? cohort_open_oldest() : cohort_open_after(n);
}

/* Whether no message that could race with the entry can come any more. *doubt is asked first: it is likely to be the
 * same one again. */
static int decided(const struct entry *e, uint32_t *doubt) {
  struct moment m = {e->last, e->epoch, e->roots};
  uint32_t n = 0;
  const uint32_t *senders = cohort_racing_senders(e->comm, &n);
  if (senders == NULL) {
    if (*doubt != e->sender && !cohort_racing_past(*doubt, &m)) return 0;
    n = (uint32_t)g.world_size;
  }
  for (uint32_t k = 0; k < n; k++) {
    uint32_t sender = senders == NULL ? k : senders[k];
    if (sender == e->sender || cohort_racing_past(sender, &m)) continue;
    *doubt = sender;
    return 0;
  }
  return 1;
}

static void make_room(void) {
  static uint32_t doubt;
  for (uint8_t i = oldest, next; i != NONE; i = next) {
    next = entries[i].newer;
    if (decided(&entries[i], &doubt)) drop(i);
  }
  if (MOST - n_free > soft_limit / 2 && soft_limit < MOST) soft_limit = 2 * soft_limit < MOST ? 2 * soft_limit : MOST;
  if (n_free == 0) trace(oldest, 0);
}

static int continues(const struct receipt *r, uint32_t clock) {
  if (newest == NONE) return 0;
  const struct entry *e = &entries[newest];
  struct cohort_pending *p = &undecided->pending[newest];
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
    struct entry *e = &entries[newest];
    struct cohort_pending *p = &undecided->pending[newest];
    p->stride = (uint32_t)(r->event - e->last_event);
    e->last = clock;
    e->last_event = r->event;
    __atomic_store_n(&p->count, p->count + 1, __ATOMIC_RELEASE);
    return;
  }
  if (UNLIKELY(MOST - n_free >= soft_limit)) make_room();
  if (UNLIKELY(!g.order || n_free == 0)) return; /* the disk is full: the recording has ended before this call */
  uint8_t i = free_entries[--n_free];
  entries[i] = (struct entry){.post = r->post,
                              .last_event = r->event,
                              .first = clock,
                              .last = clock,
                              .epoch = g_racing.entered,
                              .roots = g_racing.rooted,
                              .comm = r->comm,
                              .sender = r->sender,
                              .asked_tag = r->asked_tag,
                              .newer = NONE,
                              .older = newest};
  if (newest != NONE)
    entries[newest].newer = i;
  else
    oldest = i;
  newest = i;
  struct cohort_pending *p = &undecided->pending[i];
  p->event = r->event;
  p->stride = 0;
  p->source = r->source;
  p->tag = r->tag;
  p->op = r->op;
  p->which = r->which;
  __atomic_store_n(&p->count, 1, __ATOMIC_RELEASE);
}

/* MPI_Finalize: what is undecided could race only with a message that was sent and will not be received. */
void cohort_race_settle(void) {
  for (uint8_t i = newest, next; g.order && i != NONE; i = next) {
    const struct entry *e = &entries[i];
    next = e->older;
    struct moment m = {e->last, e->epoch, e->roots};
    uint32_t n = 0;
    const uint32_t *senders = cohort_racing_senders(e->comm, &n);
    if (senders == NULL) n = (uint32_t)g.world_size;
    int safe = 1;
    for (uint32_t k = 0; k < n && safe; k++) {
      uint32_t sender = senders == NULL ? k : senders[k];
      safe = sender == e->sender || cohort_racing_unreceived(sender) == 0 || cohort_racing_past(sender, &m);
    }
    if (safe)
      drop(i);
    else
      trace(i, 0);
  }
  /* Receives that nobody completed. */
  for (struct node *n = cohort_open_oldest(); g.order && n != NULL; n = cohort_open_after(n)) {
    MPI_Status status;
    int complete = 0;
    if (n->overtaken == 0) continue;
    if (PMPI_Request_get_status(n->request, &complete, &status) == MPI_SUCCESS && complete)
      cohort_race_open_done(n, &status);
    else
      cohort_uncovered("MPI_Finalize with a wildcard receive under way");
  }
}
