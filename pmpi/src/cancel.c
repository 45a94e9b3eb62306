/* MPI_Cancel, MPI_Request_free, generalized requests.
 *
 * Whether a receive is cancelled or matches a message is decided by a race. The outcome is recorded, and in replay a
 * receive that was cancelled is not posted at all, while one that was not is never cancelled.
 *
 * What a receive matches whose request the program has freed is not told to the program, but it decides what the
 * receives posted later match. So the request is freed only when that is known. */
#include "completion.h"
#include "p2p.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "carry.h"

#include <sched.h>

/* ------------------------------------------------------------------ freed requests that may still match a message */

struct freed { MPI_Request request; struct cohort_request r; };
static struct cohort_buffer buffer; /* of g_requests.freed of them */

static struct freed *freed(int i) { return (struct freed *)(void *)buffer.data + i; }

static const char pending_call[] = "MPI_Request_free of a receive not yet matched";

/* Should the rank end before it is known what they matched, then its recording is incomplete. */
static void pending(void) { cohort_incomplete_until(pending_call, g_requests.freed > 0); }

static int add(MPI_Request request, const struct cohort_request *r) {
  struct freed f = {request, *r};
  if (!cohort_append(&buffer, &f, sizeof f)) return 0;
  g_requests.freed++;
  pending();
  return 1;
}

/* What became of a receive that nobody waits for any more. */
static void ended(const struct freed *f, const MPI_Status *status) {
  int cancelled = cohort_was_cancelled(status);
  if (cancelled && (f->r.cls != REQUEST_RECEIVE || f->r.mrecv))
    cohort_completed_cancelled(&f->r);
  else if ((cancelled || f->r.wildcard) && (g.order || g.full))
    cohort_write_matched(f->r.op, cancelled ? NULL : status, g.events + 1 - f->r.post, f->r.which);
}

static void drop(int i) {
  if (freed(i)->request != MPI_REQUEST_NULL) carry_request_free(&freed(i)->request);
  *freed(i) = *freed(--g_requests.freed);
  buffer.length -= sizeof(struct freed);
  pending();
}

static void look(void) {
  for (int i = g_requests.freed - 1; i >= 0; i--) {
    MPI_Status status;
    int flag = 0;
    if (carry_test(&freed(i)->request, &flag, &status) == MPI_SUCCESS && !flag) continue;
    if (flag) ended(freed(i), &status);
    drop(i);
  }
}

void cohort_look_at_freed(int last) {
  look();
  if (!last) return;
  for (int round = 0; g_requests.freed > 0 && round < 1000; round++) {
    sched_yield();
    look();
  }
  while (g_requests.freed > 0) {
    int i = g_requests.freed - 1;
    MPI_Status status;
    if (cohort_is_never(freed(i)->request)) {
      cohort_never_free(&freed(i)->request);
    } else if (g.replay) { /* the recorded one matched its message */
      if (carry_wait(&freed(i)->request, &status) == MPI_SUCCESS) ended(freed(i), &status);
    } else {
      cohort_uncovered(pending_call);
    }
    drop(i);
  }
}

/* ------------------------------------------------------------------ */

/* In replay: its substitute, or what will never complete, goes with it. */
static int free_in_replay(MPI_Request *request) {
  if (*request == MPI_REQUEST_NULL) return carry_request_free(request);
  MPI_Request *substitute = cohort_substitute_of(*request);
  uint64_t handle = HANDLE(*request);
  if (cohort_is_never(*request)) return cohort_never_free(request);
  if (substitute != NULL) {
    MPI_Request real = *substitute;
    if (cohort_is_never(real))
      cohort_never_free(&real);
    else
      carry_request_free(&real);
  }
  int rc = carry_request_free(request);
  if (rc == MPI_SUCCESS) cohort_persistent_freed(handle);
  return rc;
}

/* The request is active, and what it will match is not known yet. */
static int undecided(const struct cohort_request *r) {
  return r != NULL && r->active && !r->null_peer && !r->matched &&
         (r->cancelling || (r->wildcard && r->cls == REQUEST_RECEIVE));
}

static int free_undecided(MPI_Request *request, const struct cohort_request *r) {
  MPI_Request *substitute = cohort_substitute_of(*request);
  uint64_t handle = HANDLE(*request);
  if (!add(substitute == NULL ? *request : *substitute, r)) return MPI_ERR_NO_MEM;
  int rc = MPI_SUCCESS;
  if (substitute == NULL)
    *request = MPI_REQUEST_NULL;
  else
    rc = carry_request_free(request);
  cohort_persistent_freed(handle);
  return rc;
}

static void request_event(const struct cohort_request *r) {
  if (!g.full) return;
  uint64_t back = r == NULL ? 0 : g.events + 1 - (r->persistent ? r->init : r->post);
  cohort_event_begin();
  cohort_put_uv(back);
  cohort_event_end();
}

static int stage_Request_free(MPI_Request *request) {
  struct cohort_request *r = *request == MPI_REQUEST_NULL ? NULL : cohort_request_find(HANDLE(*request));
  uint64_t handle = *request == MPI_REQUEST_NULL ? 0 : HANDLE(*request);
  int rc;
  if (undecided(r))
    rc = free_undecided(request, r);
  else if (g.replay)
    rc = free_in_replay(request);
  else if ((rc = carry_request_free(request)) == MPI_SUCCESS)
    cohort_persistent_freed(handle);
  request_event(r);
  if (r != NULL && rc == MPI_SUCCESS) cohort_request_remove(handle);
  return rc;
}

/* ------------------------------------------------------------------ cancelling */

void cohort_completed_cancelled(const struct cohort_request *r) {
  if (r->cls == REQUEST_SEND)
    cohort_uncovered("MPI_Cancel of a send that took effect");
  else if (r->cls == REQUEST_MRECV || r->mrecv)
    cohort_uncovered("MPI_Cancel of a matched message's receive");
  else if (r->cls == REQUEST_OTHER)
    cohort_uncovered("MPI_Cancel of a request of unknown kind");
  /* else that one with a wildcard was posted is in the trace, and that it matched is not */
  else if (g.order && (!r->wildcard || g.racing))
    cohort_write_matched(r->op, NULL, g.events + 1 - r->post, r->which);
}

/* What is known of the request that is to be cancelled; from now on its completion is looked at. NULL: it is no concern
 * of ours. */
static struct cohort_request *to_cancel(MPI_Request request) {
  uint64_t post = 0;
  if (request == MPI_REQUEST_NULL || (!g.order && !g.full)) return NULL;
  struct cohort_request *r = cohort_request_find(HANDLE(request));
  if (r == NULL && g.order) {
    int cls = cohort_request_noted(HANDLE(request), &post);
    if (cls == REQUEST_OTHER) return NULL; /* generalized: the program decides itself */
    r = cohort_request_add(request, cls == 0 ? REQUEST_OTHER : (uint8_t)cls, 0);
    if (r != NULL) {
      r->post = post;
      r->op = COHORT_OP_IRECV;
    }
  }
  if (r == NULL || (g.full && r->cls == REQUEST_OTHER)) return r;
  r->cancelling = 1;
  cohort_request_watch(r, g.order);
  return r;
}

/* A receive is cancelled at once, or not at all: what is known now will be in the recording even if the rank ends
 * before it waits for the request. */
static void cancelled_at_once(MPI_Request request, struct cohort_request *r) {
  int flag = 0, cancelled = 0;
  MPI_Status status;
  if (r == NULL || !g.order || r->cls != REQUEST_RECEIVE || r->matched || (r->wildcard && !g.racing)) return;
  if (carry_request_get_status(request, &flag, &status) != MPI_SUCCESS || !flag) return;
  PMPI_Test_cancelled(&status, &cancelled);
  if (!cancelled) return;
  cohort_completed_cancelled(r);
  r->matched = 1;
}

static int cancel_in_replay(MPI_Request *request, const struct cohort_request *r) {
  uint64_t event;
  if (*request == MPI_REQUEST_NULL) return carry_cancel(request);
  MPI_Request *substitute = cohort_substitute_of(*request);
  if (substitute != NULL) return cohort_is_never(*substitute) ? carry_cancel(substitute) : MPI_SUCCESS;
  if (cohort_is_never(*request)) return carry_cancel(request);
  int other = r != NULL ? r->cls == REQUEST_OTHER : cohort_request_noted(HANDLE(*request), &event) == REQUEST_OTHER;
  return other ? carry_cancel(request) : MPI_SUCCESS; /* it was not cancelled */
}

static int stage_Cancel(MPI_Request *request) {
  g_requests.cancels = 1;
  struct cohort_request *r = to_cancel(*request);
  int rc = g.replay ? cancel_in_replay(request, r) : carry_cancel(request);
  if (rc == MPI_SUCCESS) cancelled_at_once(*request, r);
  request_event(r);
  return rc;
}

static int stage_Test_cancelled(const MPI_Status *status, int *flag) {
  int rc = PMPI_Test_cancelled(status, flag);
  cohort_event_plain();
  return rc;
}

/* ------------------------------------------------------------------ generalized requests */

/* The program completes them itself. That they are waited for and tested is recorded as of any other request. */
void cohort_grequest_started(int rc, MPI_Request request) {
  if (rc == MPI_SUCCESS && g.full) cohort_request_add(request, REQUEST_OTHER, 0);
  if (rc == MPI_SUCCESS && (g.order || g.replay)) {
    g_requests.note = 1;
    cohort_request_note(request, REQUEST_OTHER);
  }
  cohort_event_plain();
}

static int stage_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                              MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request) {
  int rc = PMPI_Grequest_start(query_fn, free_fn, cancel_fn, extra_state, request);
  cohort_grequest_started(rc, *request);
  return rc;
}

#include "wrap_cancel.h"
