/* Blocking calls that are not simply the library's (carry.h). Where a host holds more ranks than cores, an MPI that
 * spins keeps the rank off the core that it waits for; so with COHORT_FLAG_YIELD they are made of nonblocking calls and
 * tests, with sched_yield between. And in a replay, the call within which a rank was ended is only begun. Racing mode
 * carries messages in its own way (racing_*.c), by calls of these. */
#include "completion.h"
#include "p2p.h"
#include "replay.h"
#include "carry.h"

#include <sched.h>

int cohort_yield_wait(MPI_Request *request, MPI_Status *status) {
  int flag = 0;
  if (!g.yield) return PMPI_Wait(request, status);
  RETRY_UNTIL(flag, PMPI_Test(request, &flag, status))
}

int cohort_yield_waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  int flag = 0;
  if (!g.yield || g_requests.wait_whole) return PMPI_Waitall(count, requests, statuses);
  RETRY_UNTIL(flag, PMPI_Testall(count, requests, &flag, statuses))
}

int cohort_yield_waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
  int flag = 0;
  if (!g.yield || g_requests.wait_whole) return PMPI_Waitany(count, requests, index, status);
  RETRY_UNTIL(flag, PMPI_Testany(count, requests, index, &flag, status))
}

int cohort_yield_waitsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses) {
  if (!g.yield || g_requests.wait_whole) return PMPI_Waitsome(count, requests, outcount, indices, statuses);
  *outcount = 0;
  RETRY_UNTIL(*outcount != 0, PMPI_Testsome(count, requests, outcount, indices, statuses))
}

static int send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op) {
  switch (op) {
    case COHORT_OP_BSEND: return PMPI_Bsend(buf, count, type, dest, tag, comm);
    case COHORT_OP_SSEND: return PMPI_Ssend(buf, count, type, dest, tag, comm);
    case COHORT_OP_RSEND: return PMPI_Rsend(buf, count, type, dest, tag, comm);
    default: return PMPI_Send(buf, count, type, dest, tag, comm);
  }
}

int cohort_isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op,
                 MPI_Request *request) {
  switch (op) {
    case COHORT_OP_BSEND:
    case COHORT_OP_IBSEND: return PMPI_Ibsend(buf, count, type, dest, tag, comm, request);
    case COHORT_OP_SSEND:
    case COHORT_OP_ISSEND: return PMPI_Issend(buf, count, type, dest, tag, comm, request);
    case COHORT_OP_RSEND:
    case COHORT_OP_IRSEND: return PMPI_Irsend(buf, count, type, dest, tag, comm, request);
    default: return PMPI_Isend(buf, count, type, dest, tag, comm, request);
  }
}

/* Replay: the rank was ended within this call. It is begun as far as that is known, and then the rank waits at the end
 * of its recording, where it gives progress. */
static void __attribute__((noreturn))
begin_last(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, uint32_t op, void *recvbuf,
           int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm) {
  static MPI_Request request = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  if (op != COHORT_OP_NONE) cohort_isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, op, &request);
  if (source != MPI_PROC_NULL && source != MPI_ANY_SOURCE && recvtag != MPI_ANY_TAG)
    PMPI_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
  cohort_end_of_recording();
}

int cohort_yield_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op) {
  if (UNLIKELY(g.last_call)) begin_last(buf, count, type, dest, tag, op, NULL, 0, type, MPI_PROC_NULL, 0, comm);
  if (!g.yield || op == COHORT_OP_BSEND) return send(buf, count, type, dest, tag, comm, op);
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = cohort_isend(buf, count, type, dest, tag, comm, op, &request);
  return rc == MPI_SUCCESS ? cohort_yield_wait(&request, MPI_STATUS_IGNORE) : rc;
}

static int is_fatal(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (comm == MPI_COMM_NULL || PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return 0;
  int fatal = handler == MPI_ERRORS_ARE_FATAL;
#ifdef OPEN_MPI
  PMPI_Errhandler_free(&handler);
#else
  if (!fatal && handler != MPI_ERRORS_RETURN) PMPI_Errhandler_free(&handler); /* those are not counted */
#endif
  return fatal;
}

/* MPICH hands an error that a test finds to MPI_COMM_WORLD's handler, where the blocking call hands it to the
 * communicator's. That is the same when both abort; else a receive must be the program's own call. */
int cohort_may_test(MPI_Comm comm) { return is_fatal(comm) && (comm == MPI_COMM_WORLD || is_fatal(MPI_COMM_WORLD)); }

int cohort_yield_recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
  if (UNLIKELY(g.last_call))
    begin_last(NULL, 0, type, MPI_PROC_NULL, 0, COHORT_OP_NONE, buf, count, type, source, tag, comm);
  /* MPICH 4.0 does not set the status of an Irecv from MPI_PROC_NULL. */
  if (!g.yield || source == MPI_PROC_NULL || count < 0 || type == MPI_DATATYPE_NULL)
    return PMPI_Recv(buf, count, type, source, tag, comm, status);
  if (UNLIKELY(!cohort_may_test(comm))) {
    MPI_Status probed;
    int rc = cohort_yield_probe(source, tag, comm, &probed);
    return rc == MPI_SUCCESS ? PMPI_Recv(buf, count, type, probed.MPI_SOURCE, probed.MPI_TAG, comm, status) : rc;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = PMPI_Irecv(buf, count, type, source, tag, comm, &request);
  return rc == MPI_SUCCESS ? cohort_yield_wait(&request, status) : rc;
}

int cohort_yield_probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  int flag = 0;
  if (!g.yield) return PMPI_Probe(source, tag, comm, status);
  RETRY_UNTIL(flag, PMPI_Iprobe(source, tag, comm, &flag, status))
}

/* A matched message does not tell its communicator: one such communicator, and all receive it by the program's own
 * call. */
static int mrecv_must_block;

int cohort_yield_mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  int flag = 0;
  if (!g.yield) return PMPI_Mprobe(source, tag, comm, message, status);
  if (UNLIKELY(!cohort_may_test(comm))) mrecv_must_block = 1;
  RETRY_UNTIL(flag, PMPI_Improbe(source, tag, comm, &flag, message, status))
}

int cohort_yield_mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
  if (!g.yield || mrecv_must_block || *message == MPI_MESSAGE_NO_PROC || *message == MPI_MESSAGE_NULL)
    return PMPI_Mrecv(buf, count, type, message, status);
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = PMPI_Imrecv(buf, count, type, message, &request);
  return rc == MPI_SUCCESS ? cohort_yield_wait(&request, status) : rc;
}

/* The receive is posted first, and both are under way while either is tested; or it must be a blocking call. */
static int exchange(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                    int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status) {
  MPI_Request receive = MPI_REQUEST_NULL, request = MPI_REQUEST_NULL;
  int post = cohort_may_test(comm), rc = MPI_SUCCESS;
  if (LIKELY(post)) rc = PMPI_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
  if (rc != MPI_SUCCESS) return rc;
  rc = PMPI_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &request);
  if (rc != MPI_SUCCESS) {
    if (post) PMPI_Cancel(&receive);
    PMPI_Wait(&receive, MPI_STATUS_IGNORE);
    return rc;
  }
  rc = post ? cohort_yield_wait(&receive, status)
            : cohort_yield_recv(recvbuf, recvcount, recvtype, source, recvtag, comm, status);
  int sent = cohort_yield_wait(&request, MPI_STATUS_IGNORE);
  return rc != MPI_SUCCESS ? rc : sent;
}

int cohort_yield_sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                          void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                          MPI_Status *status) {
  if (UNLIKELY(g.last_call))
    begin_last(sendbuf, sendcount, sendtype, dest, sendtag, COHORT_OP_SEND, recvbuf, recvcount, recvtype, source,
               recvtag, comm);
  if (!g.yield)
    return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                         comm, status);
  if (source == MPI_PROC_NULL) {
    int rc = cohort_yield_send(sendbuf, sendcount, sendtype, dest, sendtag, comm, COHORT_OP_SEND);
    return rc == MPI_SUCCESS ? PMPI_Recv(recvbuf, recvcount, recvtype, source, recvtag, comm, status) : rc;
  }
  return exchange(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                  status);
}

int cohort_yield_sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag, int source,
                                  int recvtag, MPI_Comm comm, MPI_Status *status) {
  static struct cohort_buffer buffer;
  int length;
  if (g.yield && !g.last_call && source == MPI_PROC_NULL) {
    int rc = cohort_yield_send(buf, count, type, dest, sendtag, comm, COHORT_OP_SEND);
    return rc == MPI_SUCCESS ? PMPI_Recv(buf, count, type, source, recvtag, comm, status) : rc;
  }
  const uint8_t *packed = cohort_packed(&buffer, buf, count, type, comm, &length);
  if (UNLIKELY(g.last_call))
    begin_last(packed, length, MPI_PACKED, dest, sendtag, packed != NULL ? COHORT_OP_SEND : COHORT_OP_NONE, buf, count,
               type, source, recvtag, comm);
  if (packed == NULL || length == 0)
    return PMPI_Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm, status);
  return exchange(packed, length, MPI_PACKED, dest, sendtag, buf, count, type, source, recvtag, comm, status);
}

int cohort_yieldable(MPI_Comm comm) {
  int inter = 0;
  if (!g.yield || comm == MPI_COMM_NULL) return 0;
  return PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

/* Before a collective that must run as it is (a reduction's algorithm decides its rounding): no program may depend on
 * whether a collective synchronises, so we may let it. */
void cohort_synchronise(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (cohort_yieldable(comm) && PMPI_Ibarrier(comm, &request) == MPI_SUCCESS)
    carry_wait(&request, MPI_STATUS_IGNORE);
}
