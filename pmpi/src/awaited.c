/* Order and full mode: nonblocking receives with a wildcard whose message is not known yet. MPI gives a message to the
 * receive that was posted first of those that may have it; so when a later call is given a message that an open receive
 * could have had, the open one has matched another before. Replay must know which, or the later call would be given
 * that one: a rank may be killed before it waits for the open receive, which would then count as never matched.
 * Racing mode has the like in racing_race.c. */
#include "completion.h"
#include "trace.h"

static struct cohort_list awaited;
uint32_t cohort_awaited_count;

void cohort_overtaken(int by) {
  struct cohort_undecided *u = cohort_trace_undecided();
  g_requests.overtaken += by;
  if (u != NULL && (g.order || g.full)) STORE(u->overtaken, u->overtaken + (uint32_t)by);
}

void cohort_awaited_add(struct cohort_request *r, int source, int tag, int from, int with) {
  if (g.racing || (!g.order && !g.full)) return;
  cohort_awaited_done(r);
  r->source = source;
  r->tag = tag;
  r->from = from;
  r->with = with;
  r->awaited = 1;
  cohort_list_add(&awaited, &r->link);
  cohort_awaited_count++;
}

void cohort_awaited_done(struct cohort_request *r) {
  if (LIKELY(!r->awaited)) return;
  if (r->overtaken) cohort_overtaken(-1);
  r->awaited = r->overtaken = 0;
  cohort_list_remove(&awaited, &r->link);
  cohort_awaited_count--;
}

/* What MPI says that it matched, or the recording that is replayed. 0: nothing yet. */
static int known(const struct cohort_request *r, MPI_Status *status, int *cancelled) {
  int complete = 0;
  *cancelled = 0;
  if (r->from != MPI_ANY_SOURCE && r->with != MPI_ANY_TAG) {
    status->MPI_SOURCE = r->from;
    status->MPI_TAG = r->with;
    return 1;
  }
  MPI_Request *substitute = cohort_substitute_of(REQUEST(r->handle));
  if (PMPI_Request_get_status(substitute == NULL ? REQUEST(r->handle) : *substitute, &complete, status) !=
          MPI_SUCCESS || !complete)
    return 0;
  if (r->cancelling) PMPI_Test_cancelled(status, cancelled);
  return 1;
}

/* What it matched is written as soon as it is known; its completion will say it once more, if the rank comes so far. */
static int settle(struct cohort_request *r) {
  MPI_Status status;
  int cancelled;
  if (!known(r, &status, &cancelled)) return 0;
  if (!cancelled || g.full) cohort_write_matched(r->op, cancelled ? NULL : &status, g.events + 1 - r->post, r->which);
  r->matched = 1;
  cohort_awaited_done(r);
  return 1;
}

void cohort_awaited_settle(void) {
  for (struct cohort_link *k = awaited.oldest, *next; k != NULL && (g.order || g.full); k = next) {
    next = k->newer;
    if (((struct cohort_request *)k)->overtaken) settle((struct cohort_request *)k);
  }
}

void cohort_awaited_look(uint64_t post, MPI_Comm comm, int source, int tag) {
  if (!g.order && !g.full) return;
  for (struct cohort_link *k = awaited.oldest, *next; k != NULL; k = next) {
    struct cohort_request *r = (struct cohort_request *)k;
    next = k->newer;
    if (r->post >= post) return;
    if (r->overtaken || r->comm != comm || (r->source != MPI_ANY_SOURCE && r->source != source) ||
        (r->tag != MPI_ANY_TAG && r->tag != tag) || settle(r))
      continue;
    r->overtaken = 1;
    cohort_overtaken(1);
  }
}
