/* Wait and Test, in all their forms: which requests completed, and which messages the wildcard receives among them
 * took. */
#include "completion.h"
#include "p2p.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "carry.h"

#include <sched.h>

/* What the call was given, before MPI overwrites it. */
static struct cohort_buffer handles_buffer, statuses_buffer;

static int observing(void) { return g.full || (g.order && cohort_watched_count > 0); }

static uint64_t *snapshot(int count, const MPI_Request *requests) {
  if (count < 0 || (count > 0 && requests == NULL) ||
      !cohort_reserve(&handles_buffer, (size_t)(count > 0 ? count : 1) * sizeof(uint64_t)))
    return NULL;
  uint64_t *handles = (uint64_t *)handles_buffer.data;
  for (int i = 0; i < count; i++) handles[i] = requests[i] == MPI_REQUEST_NULL ? 0 : HANDLE(requests[i]);
  return handles;
}

static MPI_Status *own_statuses(int count) {
  if (count < 0 || !cohort_reserve(&statuses_buffer, (size_t)(count > 0 ? count : 1) * sizeof(MPI_Status)))
    return MPI_STATUSES_IGNORE;
  return (MPI_Status *)statuses_buffer.data;
}

static int was_cancelled(const MPI_Status *status) {
  int cancelled = 0;
  if (UNLIKELY(g_requests.cancels)) PMPI_Test_cancelled(status, &cancelled);
  return cancelled;
}

static void done_with(struct cohort_request *r, uint64_t handle) {
  if (!r->persistent) {
    cohort_request_remove(handle);
    return;
  }
  r->active = 0;
  cohort_awaited_done(r);
  cohort_request_watch(r, 0);
}

/* A receive that is complete: what it was given may say something of older ones. */
static void settled(struct cohort_request *r, const MPI_Status *status) {
  if (LIKELY(cohort_awaited_count == 0) || r->cls != REQUEST_RECEIVE || r->null_peer || r->taken ||
      (r->cancelling && was_cancelled(status)))
    return;
  cohort_awaited_look(r->post, r->comm, status->MPI_SOURCE, status->MPI_TAG);
}

/* A request that was in the array and is complete: its MATCH in order mode. `keep`: the request lives on
 * (Request_get_status). */
static void order_completed(uint64_t handle, const MPI_Status *status, int keep) {
  struct cohort_request *r = cohort_request_find(handle);
  if (r == NULL) return;
  if (r->watched && !r->matched) {
    if (r->cancelling && was_cancelled(status))
      cohort_completed_cancelled(r);
    else if (r->wildcard)
      cohort_write_taken(r->op, status, g.events + 1 - r->post, r->which);
    r->matched = 1;
  }
  settled(r, status);
  if (!keep) done_with(r, handle);
}

/* Its entry in an EVENT record, likewise. */
static void event_completed(int index, uint64_t handle, const MPI_Status *status, int keep) {
  struct cohort_request *r = cohort_request_find(handle);
  cohort_put_uv((uint64_t)index);
  cohort_put_uv(r == NULL ? 0 : g.events + 1 - (r->persistent ? r->init : r->post));
  int cancelled = r != NULL && r->cancelling && was_cancelled(status);
  if (cancelled) cohort_completed_cancelled(r);
  cohort_put_u8(r == NULL || cancelled ? REQUEST_OTHER : r->cls);
  if (r == NULL) return;
  if (r->cls == REQUEST_RECEIVE && !cancelled && r->null_peer) { /* MPICH 4.0 does not set this status */
    cohort_put_sv(-2);
    cohort_put_sv(-1);
    cohort_put_uv(0);
  } else if (r->cls == REQUEST_RECEIVE && !cancelled) {
    cohort_put_status(status);
  }
  if (r->cls == REQUEST_RECEIVE) r->matched = 1;
  settled(r, status);
  if (!keep) done_with(r, handle);
}

/* What the call did not complete: null and inactive requests, and those that an error left pending. */
static int untouched(uint64_t handle, MPI_Request after, int keep) {
  if (handle == 0) return 1;
  struct cohort_request *r = cohort_request_find(handle);
  if (r != NULL && !r->active) return 1;
  return !keep && after != MPI_REQUEST_NULL && (r == NULL || !r->persistent);
}

/* Writes what the call completed: of `n` places in `indices` (NULL: 0..n-1), those that were active. The k-th place has
 * the k-th status. All are counted before any is removed, because several sends may share a handle. `requests` is the
 * array after the call. */
static void completed(int n, const int *indices, const uint64_t *handles, const MPI_Request *requests,
                      const MPI_Status *statuses, int keep) {
  if (handles == NULL) return;
  /* First of all: MPI knows these requests no more, and one of them may say something of another. */
  for (int k = 0; k < n && UNLIKELY(cohort_awaited_count > 0); k++) {
    int i = indices ? indices[k] : k;
    struct cohort_request *r = untouched(handles[i], requests[i], keep) ? NULL : cohort_request_find(handles[i]);
    if (r != NULL) cohort_awaited_done(r);
  }
  if (g.order) {
    for (int k = 0; k < n; k++) {
      int i = indices ? indices[k] : k;
      if (!untouched(handles[i], requests[i], keep)) order_completed(handles[i], &statuses[k], keep);
    }
    return;
  }
  if (!g.full) return;
  uint64_t active = 0;
  for (int k = 0; k < n; k++) {
    int i = indices ? indices[k] : k;
    active += !untouched(handles[i], requests[i], keep);
  }
  cohort_event_begin();
  cohort_put_uv(active);
  for (int k = 0; k < n && active > 0; k++) {
    int i = indices ? indices[k] : k;
    if (untouched(handles[i], requests[i], keep)) continue;
    event_completed(i, handles[i], &statuses[k], keep);
    active--;
  }
  cohort_event_end();
}

static int wait_one(MPI_Request *request, MPI_Status *status) {
  MPI_Request *real = cohort_stand_in(1, request);
  int rc = carry_wait(real, status);
  cohort_stood_in(1, request, real);
  return rc;
}

/* Waitall and Testall may return as soon as one request fails and leave others pending: which of them is a matter of
 * time. A recording in which they did is not covered, and in the replay of any other one those are waited for that are
 * left now. */
static int pending(const MPI_Request *request, const MPI_Status *statuses, int i) {
  int class = MPI_SUCCESS;
  if (*request == MPI_REQUEST_NULL) return 0;
  return statuses == MPI_STATUSES_IGNORE ||
         (PMPI_Error_class(statuses[i].MPI_ERROR, &class) == MPI_SUCCESS && class == MPI_ERR_PENDING);
}

static void none_left(int rc, int count, MPI_Request *requests, MPI_Status *statuses) {
  int class = MPI_SUCCESS;
  if (LIKELY(rc == MPI_SUCCESS) || PMPI_Error_class(rc, &class) != MPI_SUCCESS || class != MPI_ERR_IN_STATUS) return;
  for (int i = 0; i < count; i++) {
    if (!pending(&requests[i], statuses, i)) continue;
    if (!g.replay) {
      if (g.order || g.full)
        cohort_uncovered(g.op == COHORT_OP_WAITALL ? "MPI_Waitall that left requests pending"
                                                   : "MPI_Testall that left requests pending");
      return;
    }
    MPI_Status *st = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    int one = carry_wait(&requests[i], st);
    if (st != MPI_STATUS_IGNORE) st->MPI_ERROR = one;
  }
}

static int wait_all(int count, MPI_Request *requests, MPI_Status *statuses) {
  MPI_Request *real = cohort_stand_in(count, requests);
  int rc = carry_waitall(count, real, statuses);
  none_left(rc, count, real, statuses);
  cohort_stood_in(count, requests, real);
  return rc;
}

static int stage_Wait(MPI_Request *request, MPI_Status *status) {
  MPI_Status own, *st = status;
  uint64_t *handles = NULL;
  if (observing()) {
    handles = snapshot(1, request);
    if (status == MPI_STATUS_IGNORE) st = &own;
  }
  int rc = wait_one(request, st);
  completed(1, NULL, handles, request, st, 0);
  return rc;
}

static int stage_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  MPI_Status *st = array_of_statuses;
  uint64_t *handles = NULL;
  if (observing()) {
    handles = snapshot(count, array_of_requests);
    if (st == MPI_STATUSES_IGNORE) st = own_statuses(count);
  }
  int rc = wait_all(count, array_of_requests, st);
  completed(count, NULL, handles, array_of_requests, st, 0);
  return rc;
}

/* What Waitany and a successful Testany completed: an index or MPI_UNDEFINED. */
static void completed_any(int index, const uint64_t *handles, const MPI_Request *requests, const MPI_Status *st) {
  int n = index != MPI_UNDEFINED;
  if (g.order) cohort_order_set(g.op, n, &index);
  if (handles != NULL) completed(n, &index, handles, requests, st, 0);
}

/* Waits for the recorded request alone. */
static int replay_any(int count, MPI_Request *requests, int *index, MPI_Status *st) {
  const uint32_t *indices;
  int n = cohort_replay_set(g.op, &indices);
  if (n == 0) { /* recorded: nothing was active */
    int flag = 0;
    int rc = carry_testany(count, cohort_stand_in(count, requests), index, &flag, st);
    if (rc == MPI_SUCCESS && (!flag || *index != MPI_UNDEFINED))
      cohort_diverge(g.op, g.events + 1, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN);
    return rc;
  }
  if (n != 1 || indices[0] >= (uint32_t)count || requests[indices[0]] == MPI_REQUEST_NULL)
    cohort_diverge(g.op, g.events + 1, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN);
  *index = (int)indices[0];
  return wait_one(&requests[indices[0]], st);
}

static int stage_Waitany(int count, MPI_Request array_of_requests[], int *index, MPI_Status *status) {
  MPI_Status own, *st = status;
  uint64_t *handles = NULL;
  if (observing()) {
    handles = snapshot(count, array_of_requests);
    if (status == MPI_STATUS_IGNORE) st = &own;
  }
  int rc = g.replay ? replay_any(count, array_of_requests, index, st)
                    : carry_waitany(count, array_of_requests, index, st);
  completed_any(*index, handles, array_of_requests, st);
  return rc;
}

static int stage_Testany(int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status) {
  MPI_Status own, *st = status;
  uint64_t *handles = NULL;
  int rc = MPI_SUCCESS;
  if (observing()) {
    handles = snapshot(count, array_of_requests);
    if (status == MPI_STATUS_IGNORE) st = &own;
  }
  if (g.replay) {
    *flag = cohort_replay_poll(COHORT_OP_TESTANY);
    if (*flag)
      rc = replay_any(count, array_of_requests, index, st);
    else
      *index = MPI_UNDEFINED;
  } else {
    rc = carry_testany(count, array_of_requests, index, flag, st);
  }
  if (rc == MPI_SUCCESS && !*flag) return rc;
  if (g.order) cohort_order_poll(COHORT_OP_TESTANY);
  completed_any(*index, handles, array_of_requests, st);
  return rc;
}

/* Waits for the recorded requests, in the recorded order. */
static int replay_some(int count, MPI_Request *requests, int *outcount, int *out, MPI_Status *statuses) {
  const uint32_t *indices;
  int n = cohort_replay_set(g.op, &indices);
  int failed = 0;
  if (n == 0) {
    int rc = carry_testsome(count, cohort_stand_in(count, requests), outcount, out, statuses);
    if (rc == MPI_SUCCESS && *outcount != MPI_UNDEFINED)
      cohort_diverge(g.op, g.events + 1, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN);
    return rc;
  }
  *outcount = n;
  for (int k = 0; k < n; k++) {
    if (indices[k] >= (uint32_t)count || requests[indices[k]] == MPI_REQUEST_NULL)
      cohort_diverge(g.op, g.events + 1, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN);
    MPI_Status *st = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[k];
    out[k] = (int)indices[k];
    int rc = wait_one(&requests[indices[k]], st);
    if (rc == MPI_SUCCESS) continue;
    failed = 1;
    if (st != MPI_STATUS_IGNORE) st->MPI_ERROR = rc;
  }
  return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

static void completed_some(int outcount, const int *indices, const uint64_t *handles, const MPI_Request *requests,
                           const MPI_Status *statuses) {
  int n = outcount == MPI_UNDEFINED ? 0 : outcount;
  if (g.order) cohort_order_set(g.op, n, indices);
  if (handles != NULL) completed(n, indices, handles, requests, statuses, 0);
}

static int stage_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                        MPI_Status array_of_statuses[]) {
  MPI_Status *st = array_of_statuses;
  uint64_t *handles = NULL;
  if (observing()) {
    handles = snapshot(incount, array_of_requests);
    if (st == MPI_STATUSES_IGNORE) st = own_statuses(incount);
  }
  int rc = g.replay ? replay_some(incount, array_of_requests, outcount, array_of_indices, st)
                    : carry_waitsome(incount, array_of_requests, outcount, array_of_indices, st);
  completed_some(*outcount, array_of_indices, handles, array_of_requests, st);
  return rc;
}

static int stage_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                        MPI_Status array_of_statuses[]) {
  MPI_Status *st = array_of_statuses;
  uint64_t *handles = NULL;
  int rc = MPI_SUCCESS;
  if (observing()) {
    handles = snapshot(incount, array_of_requests);
    if (st == MPI_STATUSES_IGNORE) st = own_statuses(incount);
  }
  if (!g.replay)
    rc = carry_testsome(incount, array_of_requests, outcount, array_of_indices, st);
  else if (cohort_replay_poll(COHORT_OP_TESTSOME))
    rc = replay_some(incount, array_of_requests, outcount, array_of_indices, st);
  else
    *outcount = 0;
  if (rc == MPI_SUCCESS && *outcount == 0) return rc;
  if (g.order) cohort_order_poll(COHORT_OP_TESTSOME);
  completed_some(*outcount, array_of_indices, handles, array_of_requests, st);
  return rc;
}

static int stage_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  MPI_Status own, *st = status;
  uint64_t *handles = NULL;
  int rc = MPI_SUCCESS;
  if (observing()) {
    handles = snapshot(1, request);
    if (status == MPI_STATUS_IGNORE) st = &own;
  }
  if (g.replay) {
    *flag = cohort_replay_poll(COHORT_OP_TEST);
    if (*flag) rc = wait_one(request, st);
  } else {
    rc = carry_test(request, flag, st);
  }
  if (rc == MPI_SUCCESS && !*flag) return rc;
  if (g.order) cohort_order_poll(COHORT_OP_TEST);
  completed(1, NULL, handles, request, st, 0);
  return rc;
}

static int stage_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]) {
  MPI_Status *st = array_of_statuses;
  uint64_t *handles = NULL;
  int rc = MPI_SUCCESS;
  if (observing()) {
    handles = snapshot(count, array_of_requests);
    if (st == MPI_STATUSES_IGNORE) st = own_statuses(count);
  }
  if (g.replay) {
    *flag = cohort_replay_poll(COHORT_OP_TESTALL);
    if (*flag) rc = wait_all(count, array_of_requests, st);
  } else {
    rc = carry_testall(count, array_of_requests, flag, st);
    none_left(rc, count, array_of_requests, st);
  }
  if (rc == MPI_SUCCESS && !*flag) return rc;
  if (g.order) cohort_order_poll(COHORT_OP_TESTALL);
  completed(count, NULL, handles, array_of_requests, st, 0);
  return rc;
}

static int stage_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
  MPI_Status own, *st = status;
  uint64_t *handles = NULL;
  int rc = MPI_SUCCESS;
  if (observing()) {
    handles = snapshot(1, &request);
    if (status == MPI_STATUS_IGNORE) st = &own;
  }
  if (g.replay) {
    *flag = cohort_replay_poll(COHORT_OP_REQUEST_GET_STATUS);
    MPI_Request *standin = cohort_standin_of(request);
    for (int done = 0; *flag && !done && rc == MPI_SUCCESS;) {
      rc = carry_request_get_status(standin == NULL ? request : *standin, &done, st);
      if (!done) sched_yield();
    }
  } else {
    rc = carry_request_get_status(request, flag, st);
  }
  if (rc == MPI_SUCCESS && !*flag) return rc;
  if (g.order) cohort_order_poll(COHORT_OP_REQUEST_GET_STATUS);
  completed(1, NULL, handles, &request, st, 1);
  return rc;
}

#include "wrap_completion.h"
