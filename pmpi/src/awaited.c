/* Order and full mode: nonblocking receives with a wildcard whose message is not known yet. MPI gives a message to the
 * receive that was posted first of those that may have it; so when a later call is given a message that an open receive
 * could have had, the open one has matched another before. Replay must know which, or the later call would be given
 * that one: a rank may be killed before it waits for the open receive, and its promise would count as never kept.
 * Racing mode has the like in racing_race.c. */
#include "completion.h"
#include "trace.h"

struct open {
  uint64_t post;
  MPI_Request request;
  MPI_Comm comm;
  int source, tag;       /* asked */
  int from, with;        /* replay: what it is posted with */
  uint32_t older, newer; /* in the order of the posts; 0: none */
  uint8_t overtaken;
};

static struct open *opens; /* 0 is not used */
static uint32_t n_opens, cap_opens, free_open, oldest, newest;
uint32_t cohort_awaited_count;

static uint32_t new_open(void) {
  if (free_open != 0) {
    uint32_t n = free_open;
    free_open = opens[n].newer;
    return n;
  }
  if (n_opens + 1 >= cap_opens) {
    uint32_t cap = cap_opens ? 2 * cap_opens : 256;
    struct open *grown = cohort_map(cap * sizeof *grown);
    if (grown == NULL) return 0;
    if (cap_opens > 0) memcpy(grown, opens, cap_opens * sizeof *grown);
    cohort_unmap(opens, cap_opens * sizeof *opens);
    opens = grown;
    cap_opens = cap;
  }
  return ++n_opens;
}

static void count_overtaken(int by) {
  struct cohort_undecided *u = cohort_trace_undecided();
  g_requests.overtaken += by;
  if (u != NULL && (g.order || g.full)) __atomic_store_n(&u->overtaken, u->overtaken + (uint32_t)by, __ATOMIC_RELEASE);
}

void cohort_awaited_add(struct cohort_request *r, MPI_Request request, MPI_Comm comm, int source, int tag, int from,
                        int with) {
  if (g.racing || (!g.order && !g.full)) return;
  cohort_awaited_done(r);
  uint32_t n = new_open();
  if (n == 0) {
    cohort_uncovered("a wildcard receive for which there was no memory");
    return;
  }
  opens[n] = (struct open){.post = r->post,
                           .request = request,
                           .comm = comm,
                           .source = source,
                           .tag = tag,
                           .from = from,
                           .with = with,
                           .older = newest};
  if (newest != 0)
    opens[newest].newer = n;
  else
    oldest = n;
  newest = n;
  r->open = n;
  cohort_awaited_count++;
}

void cohort_awaited_done(struct cohort_request *r) {
  uint32_t n = r->open;
  if (LIKELY(n == 0)) return;
  struct open *o = &opens[n];
  if (o->overtaken) count_overtaken(-1);
  if (o->older != 0)
    opens[o->older].newer = o->newer;
  else
    oldest = o->newer;
  if (o->newer != 0)
    opens[o->newer].older = o->older;
  else
    newest = o->older;
  o->newer = free_open;
  free_open = n;
  r->open = 0;
  cohort_awaited_count--;
}

/* What MPI says that it took, or the recording that is replayed. 0: nothing yet. */
static int known(const struct open *o, struct cohort_request *r, MPI_Status *status, int *cancelled) {
  int complete = 0;
  *cancelled = 0;
  if (o->from != MPI_ANY_SOURCE && o->with != MPI_ANY_TAG) {
    status->MPI_SOURCE = o->from;
    status->MPI_TAG = o->with;
    return 1;
  }
  MPI_Request *standin = cohort_standin_of(o->request);
  if (PMPI_Request_get_status(standin == NULL ? o->request : *standin, &complete, status) != MPI_SUCCESS || !complete)
    return 0;
  if (r->cancelling) PMPI_Test_cancelled(status, cancelled);
  return 1;
}

/* What it took is written as soon as it is known; its completion will say it once more, if the rank comes so far. */
static int settle(const struct open *o) {
  MPI_Status status;
  int cancelled;
  struct cohort_request *r = cohort_request_find(HANDLE(o->request));
  if (r == NULL || !known(o, r, &status, &cancelled)) return 0;
  if (!cancelled || g.full) cohort_write_taken(r->op, cancelled ? NULL : &status, g.events + 1 - r->post, r->which);
  r->matched = 1;
  cohort_awaited_done(r);
  return 1;
}

static void overtake(struct open *o) {
  if (settle(o)) return;
  o->overtaken = 1;
  count_overtaken(1);
}

void cohort_awaited_settle(void) {
  for (uint32_t n = oldest, next; n != 0 && (g.order || g.full); n = next) {
    next = opens[n].newer;
    if (opens[n].overtaken) settle(&opens[n]);
  }
}

void cohort_awaited_look(uint64_t post, MPI_Comm comm, int source, int tag) {
  if (!g.order && !g.full) return;
  for (uint32_t n = oldest, next; n != 0 && opens[n].post < post; n = next) {
    struct open *o = &opens[n];
    next = o->newer;
    if (o->overtaken || o->comm != comm || (o->source != MPI_ANY_SOURCE && o->source != source) ||
        (o->tag != MPI_ANY_TAG && o->tag != tag))
      continue;
    overtake(o);
  }
}
