/* Point to point: receives, exchanges. The sends are generated. */
#include "completion.h"
#include "p2p.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "carry.h"

static int stage_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                      MPI_Status *status) {
  int wildcard = cohort_wildcard(source, tag), from = source, with = tag;
  if (g.replay && wildcard) cohort_replay_match(&from, &with);
  int needed = g.full || (g.order && (wildcard || cohort_awaited_count > 0));
  MPI_Status own, *st = needed && status == MPI_STATUS_IGNORE ? &own : status;
  int rc = carry_recv(buf, count, datatype, from, with, comm, st);
  int given = cohort_received(rc, wildcard, comm, source, st);
  if (g.full) cohort_event_received(comm, source, tag, given, st);
  return rc;
}

static int stage_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                       MPI_Request *request) {
  int wildcard = cohort_wildcard(source, tag), from = source, with = tag, rc;
  if (UNLIKELY(g.replay) && (wildcard ? !cohort_replay_match(&from, &with) : cohort_replay_cancelled(0)))
    rc = cohort_never_request(request);
  else
    rc = carry_irecv(buf, count, datatype, from, with, comm, request);
  if (!cohort_given(rc, wildcard)) wildcard = 0;
  if (g.order && wildcard) cohort_order_posted(0);
  if ((g.full || (g.order && (wildcard || cohort_awaited_count > 0))) && rc == MPI_SUCCESS) {
    struct cohort_request *r = cohort_request_add(*request, REQUEST_RECEIVE, source == MPI_PROC_NULL);
    if (r != NULL) {
      r->wildcard = (uint8_t)wildcard;
      r->op = COHORT_OP_IRECV;
      r->comm = comm;
      cohort_request_watch(r, g.order);
      if (wildcard) cohort_awaited_add(r, source, tag, from, with);
    }
  } else if (g_requests.note && rc == MPI_SUCCESS) {
    cohort_request_note(*request, REQUEST_RECEIVE);
  }
  if (g.full) {
    cohort_event_begin();
    cohort_put_asked(comm, rc == MPI_SUCCESS ? source : MPI_PROC_NULL, tag); /* one that failed matches nothing */
    cohort_event_end();
  }
  return rc;
}

static void exchanged(int rc, MPI_Comm comm, int dest, int sendtag, uint64_t bytes, int source, int recvtag,
                      const MPI_Status *st) {
  int given = cohort_received(rc, cohort_wildcard(source, recvtag), comm, source, st);
  if (given) cohort_count_message(dest, bytes);
  if (!g.full) return;
  cohort_event_begin();
  cohort_put_send(comm, given ? dest : MPI_PROC_NULL, sendtag, bytes);
  cohort_put_asked(comm, source, recvtag);
  cohort_put_given(given, st);
  cohort_event_end();
}

static int stage_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                          void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                          MPI_Status *status) {
  int from = source, with = recvtag;
  if (g.replay && cohort_wildcard(source, recvtag)) cohort_replay_match(&from, &with);
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = carry_sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, from, with, comm,
                          st);
  exchanged(rc, comm, dest, sendtag, cohort_bytes(sendcount, sendtype), source, recvtag, st);
  if (g.full && rc == MPI_SUCCESS) cohort_content(sendbuf, sendcount, sendtype, dest);
  return rc;
}

static int stage_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                                  int recvtag, MPI_Comm comm, MPI_Status *status) {
  int from = source, with = recvtag;
  if (g.replay && cohort_wildcard(source, recvtag)) cohort_replay_match(&from, &with);
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  struct cohort_content sent = {0};
  if (g.full) sent = cohort_content_of(buf, count, datatype, dest); /* what is received takes its place */
  int rc = carry_sendrecv_replace(buf, count, datatype, dest, sendtag, from, with, comm, st);
  exchanged(rc, comm, dest, sendtag, cohort_bytes(count, datatype), source, recvtag, st);
  if (sent.known && rc == MPI_SUCCESS) cohort_write_content(sent.value, 0);
  return rc;
}

#include "wrap_p2p.h"
