/* Probes. A matched probe takes the message out of its queue for the Mrecv or Imrecv that is given its handle: what one
 * with a wildcard matched is a decision, like that of any other probe; the receive has none left to make. */
#include "completion.h"
#include "p2p.h"
#include "registry.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "carry.h"

/* Full mode: which probe matched the message of a handle, so that the event of the receive can say so. */
struct matched { uint64_t event; uint32_t comm; int32_t source, tag; };
static struct keymap by_handle;
static struct cohort_pool pool;

static void remember(MPI_Message message, MPI_Comm comm, const MPI_Status *status) {
  if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
  struct matched *m = cohort_pool_get(&pool, sizeof *m);
  if (m == NULL || !cohort_keymap_put(&by_handle, HANDLE(message), (uint64_t)(uintptr_t)m)) return;
  *m = (struct matched){g.events + 1, cohort_comm_index(comm), status->MPI_SOURCE, status->MPI_TAG};
}

/* Before the receive, which changes the handle. */
static struct matched recall(MPI_Message message) {
  struct matched found = {.source = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
  struct matched *m = cohort_keymap_pointer(&by_handle, HANDLE(message));
  if (m == NULL) return found;
  found = *m;
  cohort_keymap_remove(&by_handle, HANDLE(message));
  cohort_pool_put(&pool, m);
  return found;
}

/* Those that poll have a flag, matched ones a message. */
static int probe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  int wildcard = cohort_wildcard(source, tag), from = source, with = tag, rc = MPI_SUCCESS;
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  if (flag != NULL && g.replay) *flag = cohort_replay_poll();
  if (flag != NULL && !g.replay) {
    rc = message == NULL ? carry_iprobe(source, tag, comm, flag, st)
                         : carry_improbe(source, tag, comm, flag, message, st);
  } else if (flag == NULL || *flag) {
    if (g.replay && wildcard) cohort_replay_match(&from, &with);
    rc = message == NULL ? carry_probe(from, with, comm, st) : carry_mprobe(from, with, comm, message, st);
  }
  if (flag != NULL && rc == MPI_SUCCESS && !*flag) return rc;
  if (flag != NULL && g.order) cohort_order_poll();
  int given = cohort_received(rc, wildcard, comm, source, st);
  if (g.full && given && message != NULL) remember(*message, comm, st);
  if (g.full) cohort_event_received(comm, source, tag, given, st);
  return rc;
}

static int stage_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  return probe(source, tag, comm, NULL, NULL, status);
}

static int stage_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  return probe(source, tag, comm, flag, NULL, status);
}

static int stage_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  return probe(source, tag, comm, NULL, message, status);
}

static int stage_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  return probe(source, tag, comm, flag, message, status);
}

static void event_of(const struct matched *m, const MPI_Status *status) {
  cohort_event_begin();
  cohort_put_uv(m->comm);
  cohort_put_sv(cohort_peer(m->source));
  cohort_put_sv(cohort_tag(m->tag));
  if (status != NULL) cohort_put_given(1, status);
  cohort_put_uv(m->event == 0 ? 0 : g.events + 1 - m->event);
  cohort_event_end();
}

static int stage_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  struct matched m = recall(*message);
  int rc = carry_mrecv(buf, count, datatype, message, st);
  if (g.full) event_of(&m, st);
  return rc;
}

static int stage_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request) {
  struct matched m = recall(*message);
  int rc = carry_imrecv(buf, count, datatype, message, request);
  if (g.full) {
    struct cohort_request *r =
        rc == MPI_SUCCESS ? cohort_request_add(*request, REQUEST_RECEIVE, m.event == 0) : NULL;
    if (r != NULL) r->mrecv = 1;
    event_of(&m, NULL);
  } else if (g_requests.note && rc == MPI_SUCCESS) {
    cohort_request_note(*request, REQUEST_MRECV);
  }
  return rc;
}

#include "wrap_mprobe.h"
#include "wrap_probe.h"
