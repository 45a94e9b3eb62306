/* Wait and Test, in all their forms: which requests completed, and which messages the wildcard receives among them
 * matched. */
#include "completion.h"
#include "p2p.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "carry.h"

#include <sched.h>

static uint64_t *copy_handles(int count, const MPI_Request *requests, MPI_Status **statuses) {
  static struct cohort_buffer handles_buffer, statuses_buffer;
  size_t n = count > 0 ? (size_t)count : 1;
  if (count < 0 || (count > 0 && requests == NULL)) return NULL;
  if (!cohort_reserve(&handles_buffer, n * sizeof(uint64_t))) return NULL;
  uint64_t *handles = (uint64_t *)handles_buffer.data;
  for (int i = 0; i < count; i++) handles[i] = requests[i] == MPI_REQUEST_NULL ? 0 : HANDLE(requests[i]);
  if (*statuses != MPI_STATUSES_IGNORE) return handles;
  if (!cohort_reserve(&statuses_buffer, n * sizeof(MPI_Status))) return NULL;
  *statuses = (MPI_Status *)statuses_buffer.data;
  return handles;
}

/* What the call was given, before MPI overwrites it: the handles; NULL: nobody wants to know. Then it is `*statuses`
 * that the call must fill, and not none. */
static inline uint64_t *observe(int count, const MPI_Request *requests, MPI_Status **statuses) {
  if (!g.full && (!g.order || cohort_watched_count == 0)) return NULL;
  return copy_handles(count, requests, statuses);
}

static void done_with(struct cohort_request *r) {
  if (!r->persistent) {
    cohort_request_remove(r->handle);
    return;
  }
  r->active = 0;
  cohort_awaited_done(r);
  cohort_request_watch(r, 0);
}

/* The call only asks: the request lives on. */
static int only_asks(void) { return g.op == COHORT_OP_REQUEST_GET_STATUS; }

/* A receive that is complete: what it was given may say something of older ones. */
static void settled(struct cohort_request *r, const MPI_Status *status) {
  if (UNLIKELY(cohort_awaited_count > 0) && r->cls == REQUEST_RECEIVE && !r->null_peer && !r->mrecv &&
      !(r->cancelling && cohort_was_cancelled(status)))
    cohort_awaited_look(r->post, r->comm, status->MPI_SOURCE, status->MPI_TAG);
  if (!only_asks()) done_with(r);
}

/* A request that was in the array and is complete: its MATCH in order mode. */
static void order_completed(struct cohort_request *r, const MPI_Status *status) {
  if (r == NULL) return;
  if (r->watched && !r->matched) {
    if (r->cancelling && cohort_was_cancelled(status))
      cohort_completed_cancelled(r);
    else if (r->wildcard)
      cohort_write_matched(r->op, status, g.events + 1 - r->post, r->which);
    r->matched = 1;
  }
  settled(r, status);
}

/* Its entry in an EVENT record, likewise. */
static void event_completed(int index, struct cohort_request *r, const MPI_Status *status) {
  cohort_put_uv((uint64_t)index);
  cohort_put_uv(r == NULL ? 0 : g.events + 1 - (r->persistent ? r->init : r->post));
  int cancelled = r != NULL && r->cancelling && cohort_was_cancelled(status);
  if (cancelled) cohort_completed_cancelled(r);
  cohort_put_u8(r == NULL || cancelled ? REQUEST_OTHER : r->cls);
  if (r == NULL) return;
  if (r->cls == REQUEST_RECEIVE && !cancelled) cohort_put_given(!r->null_peer, status); /* MPICH 4.0 does not set it */
  if (r->cls == REQUEST_RECEIVE) r->matched = 1;
  settled(r, status);
}

/* What the call did not complete: null and inactive requests, and those that an error left pending. */
static inline int untouched(uint64_t handle, const struct cohort_request *r, MPI_Request after) {
  if (handle == 0) return 1;
  if (r != NULL && !r->active) return 1;
  return !only_asks() && after != MPI_REQUEST_NULL && (r == NULL || !r->persistent);
}

/* Writes what the call completed: of `n` places in `indices` (NULL: 0..n-1), those that were active. The k-th place has
 * the k-th status. All are counted before any is removed, because several sends may share a handle. `requests` is the
 * array after the call. */
static void completed(int n, const int *indices, const uint64_t *handles, const MPI_Request *requests,
                      const MPI_Status *statuses) {
  if (handles == NULL || (!g.order && !g.full)) return;
  uint64_t active = 0;
  for (int k = 0; k < n && (g.full || UNLIKELY(cohort_awaited_count > 0)); k++) {
    int i = indices ? indices[k] : k;
    struct cohort_request *r = cohort_request_find(handles[i]);
    if (untouched(handles[i], r, requests[i])) continue;
    active++;
    /* First of all: MPI knows these requests no more, and one of them may say something of another. */
    if (cohort_awaited_count > 0 && r != NULL) cohort_awaited_done(r);
  }
  if (g.full) {
    cohort_event_begin();
    cohort_put_uv(active);
  }
  for (int k = 0; k < n && (g.order || active > 0); k++) {
    int i = indices ? indices[k] : k;
    struct cohort_request *r = cohort_request_find(handles[i]);
    if (untouched(handles[i], r, requests[i])) continue;
    if (g.order)
      order_completed(r, &statuses[k]);
    else
      event_completed(i, r, &statuses[k]);
    active--;
  }
  if (g.full) cohort_event_end();
}

static int wait_one(MPI_Request *request, MPI_Status *status) {
  MPI_Request *real = cohort_substitute(1, request);
  int rc = carry_wait(real, status);
  cohort_substituted(1, request, real);
  return rc;
}

/* Waitall and Testall may return as soon as one request fails and leave others pending: which of them is a matter of
 * time. A recording in which they did is not covered, and in the replay of any other one those are waited for that are
 * left now. */
static void none_left(int rc, int count, MPI_Request *requests, MPI_Status *statuses) {
  if (LIKELY(rc == MPI_SUCCESS) || cohort_error_class(rc) != MPI_ERR_IN_STATUS) return;
  for (int i = 0; i < count; i++) {
    MPI_Status *st = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (st != MPI_STATUS_IGNORE && cohort_error_class(st->MPI_ERROR) != MPI_ERR_PENDING) continue;
    if (!g.replay) {
      if (g.order || g.full)
        cohort_uncovered(g.op == COHORT_OP_WAITALL ? "MPI_Waitall that left requests pending"
                                                   : "MPI_Testall that left requests pending");
      return;
    }
    int one = carry_wait(&requests[i], st);
    if (st != MPI_STATUS_IGNORE) st->MPI_ERROR = one;
  }
}

static int wait_all(int count, MPI_Request *requests, MPI_Status *statuses) {
  MPI_Request *real = cohort_substitute(count, requests);
  int rc = carry_waitall(count, real, statuses);
  none_left(rc, count, real, statuses);
  cohort_substituted(count, requests, real);
  return rc;
}

/* A poll has returned: whether it is an event. */
static int succeeded(int rc, int flag) {
  if (rc == MPI_SUCCESS && !flag) return 0;
  if (g.order) cohort_order_poll();
  return 1;
}

static int stage_Wait(MPI_Request *request, MPI_Status *status) {
  uint64_t *handles = observe(1, request, &status);
  int rc = wait_one(request, status);
  completed(1, NULL, handles, request, status);
  return rc;
}

static int stage_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  uint64_t *handles = observe(1, request, &status);
  int rc = MPI_SUCCESS;
  if (!g.replay)
    rc = carry_test(request, flag, status);
  else if ((*flag = cohort_replay_poll()))
    rc = wait_one(request, status);
  if (succeeded(rc, *flag)) completed(1, NULL, handles, request, status);
  return rc;
}

static int stage_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
  uint64_t *handles = observe(1, &request, &status);
  int rc = MPI_SUCCESS;
  if (!g.replay) {
    rc = carry_request_get_status(request, flag, status);
  } else {
    *flag = cohort_replay_poll();
    MPI_Request *substitute = cohort_substitute_of(request);
    for (int done = 0; *flag && !done && rc == MPI_SUCCESS;) {
      rc = carry_request_get_status(substitute == NULL ? request : *substitute, &done, status);
      if (!done) sched_yield();
    }
  }
  if (succeeded(rc, *flag)) completed(1, NULL, handles, &request, status);
  return rc;
}

static int stage_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  uint64_t *handles = observe(count, requests, &statuses);
  int rc = wait_all(count, requests, statuses);
  completed(count, NULL, handles, requests, statuses);
  return rc;
}

static int stage_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
  uint64_t *handles = observe(count, requests, &statuses);
  int rc = MPI_SUCCESS;
  if (!g.replay) {
    rc = carry_testall(count, requests, flag, statuses);
    none_left(rc, count, requests, statuses);
  } else if ((*flag = cohort_replay_poll())) {
    rc = wait_all(count, requests, statuses);
  }
  if (succeeded(rc, *flag)) completed(count, NULL, handles, requests, statuses);
  return rc;
}

/* What Waitany, Waitsome or a successful poll of that kind completed; n: MPI_UNDEFINED, as none was active. */
static void completed_set(int n, const int *indices, const uint64_t *handles, const MPI_Request *requests,
                          const MPI_Status *statuses) {
  if (n == MPI_UNDEFINED) n = 0;
  if (g.order) cohort_order_set(n, indices);
  completed(n, indices, handles, requests, statuses);
}

static void must_be_recorded(int is) {
  if (!is) cohort_diverge_plain(g.op, g.events + 1);
}

/* Waits for the recorded request alone. */
static int replay_any(int count, MPI_Request *requests, int *index, MPI_Status *st) {
  const uint32_t *indices;
  int n = cohort_replay_set(&indices);
  if (n == 0) { /* recorded: nothing was active */
    int flag = 0;
    int rc = carry_testany(count, cohort_substitute(count, requests), index, &flag, st);
    must_be_recorded(rc != MPI_SUCCESS || (flag && *index == MPI_UNDEFINED));
    return rc;
  }
  must_be_recorded(n == 1 && indices[0] < (uint32_t)count && requests[indices[0]] != MPI_REQUEST_NULL);
  *index = (int)indices[0];
  return wait_one(&requests[indices[0]], st);
}

static int stage_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
  uint64_t *handles = observe(count, requests, &status);
  int rc = g.replay ? replay_any(count, requests, index, status) : carry_waitany(count, requests, index, status);
  completed_set(*index == MPI_UNDEFINED ? 0 : 1, index, handles, requests, status);
  return rc;
}

static int stage_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
  uint64_t *handles = observe(count, requests, &status);
  int rc = MPI_SUCCESS;
  if (!g.replay)
    rc = carry_testany(count, requests, index, flag, status);
  else if ((*flag = cohort_replay_poll()))
    rc = replay_any(count, requests, index, status);
  else
    *index = MPI_UNDEFINED;
  if (succeeded(rc, *flag)) completed_set(*index == MPI_UNDEFINED ? 0 : 1, index, handles, requests, status);
  return rc;
}

/* Waits for the recorded requests, in the recorded order. */
static int replay_some(int count, MPI_Request *requests, int *outcount, int *out, MPI_Status *statuses) {
  const uint32_t *indices;
  int n = cohort_replay_set(&indices);
  int failed = 0;
  if (n == 0) {
    int rc = carry_testsome(count, cohort_substitute(count, requests), outcount, out, statuses);
    must_be_recorded(rc != MPI_SUCCESS || *outcount == MPI_UNDEFINED);
    return rc;
  }
  *outcount = n;
  for (int k = 0; k < n; k++) {
    must_be_recorded(indices[k] < (uint32_t)count && requests[indices[k]] != MPI_REQUEST_NULL);
    MPI_Status *st = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[k];
    out[k] = (int)indices[k];
    int rc = wait_one(&requests[indices[k]], st);
    if (rc == MPI_SUCCESS) continue;
    failed = 1;
    if (st != MPI_STATUS_IGNORE) st->MPI_ERROR = rc;
  }
  return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

static int stage_Waitsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]) {
  uint64_t *handles = observe(count, requests, &statuses);
  int rc = g.replay ? replay_some(count, requests, outcount, indices, statuses)
                    : carry_waitsome(count, requests, outcount, indices, statuses);
  completed_set(*outcount, indices, handles, requests, statuses);
  return rc;
}

static int stage_Testsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]) {
  uint64_t *handles = observe(count, requests, &statuses);
  int rc = MPI_SUCCESS;
  if (!g.replay)
    rc = carry_testsome(count, requests, outcount, indices, statuses);
  else if (cohort_replay_poll())
    rc = replay_some(count, requests, outcount, indices, statuses);
  else
    *outcount = 0;
  if (succeeded(rc, *outcount != 0)) completed_set(*outcount, indices, handles, requests, statuses);
  return rc;
}

#include "wrap_completion.h"
