/* Matched probes: the message that one takes out of its queue is received by the Mrecv or Imrecv that is given its
 * handle. What a matched probe with a wildcard took is a decision, like that of any other probe; the receive has none
 * left to make. */
#include "completion.h"
#include "p2p.h"
#include "registry.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "carry.h"

/* Full mode: which probe took the message of a handle, so that the event of the receive can say so. */
struct matched { uint64_t event; uint32_t comm; int32_t source, tag; uint32_t next; };
static struct keymap by_handle; /* index in `matched` */
static struct matched *matched; /* 0 is not used */
static uint32_t n_matched, cap_matched, free_matched;

static uint32_t new_matched(void) {
  if (free_matched != 0) {
    uint32_t n = free_matched;
    free_matched = matched[n].next;
    return n;
  }
  if (n_matched + 1 >= cap_matched) {
    uint32_t cap = cap_matched ? 2 * cap_matched : 256;
    struct matched *grown = cohort_map(cap * sizeof *grown);
    if (grown == NULL) return 0;
    if (cap_matched > 0) memcpy(grown, matched, cap_matched * sizeof *grown);
    cohort_unmap(matched, cap_matched * sizeof *matched);
    matched = grown;
    cap_matched = cap;
  }
  return ++n_matched;
}

static void remember(MPI_Message message, MPI_Comm comm, const MPI_Status *status) {
  if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
  uint32_t n = new_matched();
  if (n == 0 || !cohort_keymap_put(&by_handle, HANDLE(message), n)) return;
  matched[n] = (struct matched){g.events + 1, cohort_comm_index(comm), status->MPI_SOURCE, status->MPI_TAG, 0};
}

/* Before the receive, which changes the handle. */
static struct matched recall(MPI_Message message) {
  struct matched none = {.source = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
  uint64_t *n = message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC
                    ? NULL
                    : cohort_keymap_find(&by_handle, HANDLE(message));
  return n == NULL ? none : matched[*n];
}

static void forget(uint64_t handle) {
  uint64_t *n = cohort_keymap_find(&by_handle, handle);
  if (n == NULL) return;
  matched[*n].next = free_matched;
  free_matched = (uint32_t)*n;
  cohort_keymap_remove(&by_handle, handle);
}

static void probed(int given, MPI_Comm comm, int source, int tag, const MPI_Message *message, const MPI_Status *st) {
  if (source != MPI_PROC_NULL && given) cohort_awaited_took(g.events + 1, comm, st->MPI_SOURCE, st->MPI_TAG);
  if (!g.full) return;
  uint32_t index = cohort_comm_index(comm); /* which may write a record */
  if (given) remember(*message, comm, st);
  cohort_event_begin();
  cohort_put_uv(index);
  cohort_put_sv(cohort_peer(source));
  cohort_put_sv(cohort_tag(tag));
  cohort_put_given(given, st);
  cohort_event_end();
}

static int stage_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  int wildcard = cohort_wildcard(source, tag);
  int from = source, with = tag;
  if (g.replay && wildcard) cohort_replay_match(COHORT_OP_MPROBE, &from, &with);
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = carry_mprobe(from, with, comm, message, st);
  int given = cohort_given(rc, wildcard);
  if (g.order && wildcard && given) cohort_order_match(COHORT_OP_MPROBE, st->MPI_SOURCE, st->MPI_TAG, 0);
  probed(given, comm, source, tag, message, st);
  return rc;
}

static int stage_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  int wildcard = cohort_wildcard(source, tag);
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = MPI_SUCCESS;
  if (g.replay) {
    *flag = cohort_replay_poll(COHORT_OP_IMPROBE);
    int from = source, with = tag;
    if (*flag && wildcard) cohort_replay_match(COHORT_OP_IMPROBE, &from, &with);
    if (*flag) rc = carry_mprobe(from, with, comm, message, st);
  } else {
    rc = carry_improbe(source, tag, comm, flag, message, st);
  }
  if (rc == MPI_SUCCESS && !*flag) return rc;
  int given = cohort_given(rc, wildcard);
  if (g.order) {
    cohort_order_poll(COHORT_OP_IMPROBE);
    if (wildcard && given) cohort_order_match(COHORT_OP_IMPROBE, st->MPI_SOURCE, st->MPI_TAG, 0);
  }
  probed(given, comm, source, tag, message, st);
  return rc;
}

static int stage_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  uint64_t handle = HANDLE(*message);
  struct matched m = recall(*message);
  int rc = carry_mrecv(buf, count, datatype, message, st);
  if (g.full) {
    forget(handle);
    cohort_event_begin();
    cohort_put_uv(m.comm);
    cohort_put_sv(cohort_peer(m.source));
    cohort_put_sv(cohort_tag(m.tag));
    cohort_put_status(st);
    cohort_put_uv(m.event == 0 ? 0 : g.events + 1 - m.event);
    cohort_event_end();
  }
  return rc;
}

static int stage_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request) {
  uint64_t handle = HANDLE(*message);
  struct matched m = recall(*message);
  int rc = carry_imrecv(buf, count, datatype, message, request);
  if (g.full) {
    forget(handle);
    if (rc == MPI_SUCCESS) {
      struct cohort_request *r = cohort_request_add(*request, REQUEST_RECEIVE, m.event == 0);
      if (r != NULL) r->taken = 1;
    }
    cohort_event_begin();
    cohort_put_uv(m.comm);
    cohort_put_sv(cohort_peer(m.source));
    cohort_put_sv(cohort_tag(m.tag));
    cohort_put_uv(m.event == 0 ? 0 : g.events + 1 - m.event);
    cohort_event_end();
  } else if (g_requests.note && rc == MPI_SUCCESS) {
    cohort_request_note(*request, REQUEST_TAKEN);
  }
  return rc;
}

#include "wrap_mprobe.h"
