/* Blocking calls that are not simply the library's (carry.h). Where a host holds more ranks than cores, an MPI that spins
 * keeps the rank off the core that it waits for; so with COHORT_FLAG_YIELD they are made of nonblocking calls and tests,
 * with sched_yield between. And in a replay, the call within which a rank was ended is only begun. Never in racing mode,
 * which has its own (racing_*.c). */
#include "completion.h"
#include "p2p.h"
#include "replay.h"
#include "carry.h"

#include <sched.h>

int cohort_yield_wait(MPI_Request *request, MPI_Status *status) {
  if (!g.yield) return PMPI_Wait(request, status);
  for (;;) {
    int flag = 0;
    int rc = PMPI_Test(request, &flag, status);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

int cohort_yield_waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  if (!g.yield || g_requests.wait_whole) return PMPI_Waitall(count, requests, statuses);
  for (;;) {
    int flag = 0;
    int rc = PMPI_Testall(count, requests, &flag, statuses);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

int cohort_yield_waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
  if (!g.yield || g_requests.wait_whole) return PMPI_Waitany(count, requests, index, status);
  for (;;) {
    int flag = 0;
    int rc = PMPI_Testany(count, requests, index, &flag, status);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

int cohort_yield_waitsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses) {
  if (!g.yield || g_requests.wait_whole) return PMPI_Waitsome(count, requests, outcount, indices, statuses);
  for (;;) {
    *outcount = 0;
    int rc = PMPI_Testsome(count, requests, outcount, indices, statuses);
    if (rc != MPI_SUCCESS || *outcount != 0) return rc;
    sched_yield();
  }
}

/* Replay: the rank was ended within this call. It is begun as far as that is known, and then the rank waits at the end
 * of its recording, where it gives progress. */
static void __attribute__((noreturn))
begin_last(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, uint32_t op, void *recvbuf,
           int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm) {
  static MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  if (op != COHORT_OP_NONE) switch (op) {
      case COHORT_OP_BSEND: PMPI_Bsend(sendbuf, sendcount, sendtype, dest, sendtag, comm); break;
      case COHORT_OP_SSEND: PMPI_Issend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send); break;
      case COHORT_OP_RSEND: PMPI_Irsend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send); break;
      default: PMPI_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send); break;
    }
  if (source != MPI_PROC_NULL && source != MPI_ANY_SOURCE && recvtag != MPI_ANY_TAG)
    PMPI_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
  cohort_end_of_recording();
}

int cohort_yield_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op) {
  if (UNLIKELY(g.last_call)) begin_last(buf, count, type, dest, tag, op, NULL, 0, type, MPI_PROC_NULL, 0, comm);
  MPI_Request request = MPI_REQUEST_NULL;
  int rc;
  if (!g.yield || op == COHORT_OP_BSEND) {
    switch (op) {
      case COHORT_OP_BSEND: return PMPI_Bsend(buf, count, type, dest, tag, comm);
      case COHORT_OP_SSEND: return PMPI_Ssend(buf, count, type, dest, tag, comm);
      case COHORT_OP_RSEND: return PMPI_Rsend(buf, count, type, dest, tag, comm);
      default: return PMPI_Send(buf, count, type, dest, tag, comm);
    }
  }
  switch (op) {
    case COHORT_OP_SSEND: rc = PMPI_Issend(buf, count, type, dest, tag, comm, &request); break;
    case COHORT_OP_RSEND: rc = PMPI_Irsend(buf, count, type, dest, tag, comm, &request); break;
    default: rc = PMPI_Isend(buf, count, type, dest, tag, comm, &request); break;
  }
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
  if (!g.yield) return PMPI_Probe(source, tag, comm, status);
  for (;;) {
    int flag = 0;
    int rc = PMPI_Iprobe(source, tag, comm, &flag, status);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

/* A matched message does not tell its communicator: one such communicator, and all receive it by the program's own
 * call. */
static int mrecv_must_block;

int cohort_yield_mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  if (!g.yield) return PMPI_Mprobe(source, tag, comm, message, status);
  if (UNLIKELY(!cohort_may_test(comm))) mrecv_must_block = 1;
  for (;;) {
    int flag = 0;
    int rc = PMPI_Improbe(source, tag, comm, &flag, message, status);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

int cohort_yield_mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
  if (!g.yield || mrecv_must_block || *message == MPI_MESSAGE_NO_PROC || *message == MPI_MESSAGE_NULL)
    return PMPI_Mrecv(buf, count, type, message, status);
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = PMPI_Imrecv(buf, count, type, message, &request);
  return rc == MPI_SUCCESS ? cohort_yield_wait(&request, status) : rc;
}

/* The receive is posted first, and both go on while either is tested. */
static int exchange(MPI_Request *receive, const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                    int sendtag, MPI_Comm comm, MPI_Status *status) {
  MPI_Request send = MPI_REQUEST_NULL;
  int rc = PMPI_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);
  if (rc != MPI_SUCCESS) {
    PMPI_Cancel(receive);
    PMPI_Wait(receive, MPI_STATUS_IGNORE);
    return rc;
  }
  rc = cohort_yield_wait(receive, status);
  int sent = cohort_yield_wait(&send, MPI_STATUS_IGNORE);
  return rc != MPI_SUCCESS ? rc : sent;
}

/* Likewise where the receive must be a blocking call. */
static int exchange_probed(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                           void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                           MPI_Status *status) {
  MPI_Request send = MPI_REQUEST_NULL;
  int rc = PMPI_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);
  if (rc != MPI_SUCCESS) return rc;
  rc = cohort_yield_recv(recvbuf, recvcount, recvtype, source, recvtag, comm, status);
  int sent = cohort_yield_wait(&send, MPI_STATUS_IGNORE);
  return rc != MPI_SUCCESS ? rc : sent;
}

int cohort_yield_sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                       int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                       MPI_Status *status) {
  if (UNLIKELY(g.last_call))
    begin_last(sendbuf, sendcount, sendtype, dest, sendtag, COHORT_OP_SEND, recvbuf, recvcount, recvtype, source,
               recvtag, comm);
  if (!g.yield)
    return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                      status);
  if (source == MPI_PROC_NULL) {
    int rc = cohort_yield_send(sendbuf, sendcount, sendtype, dest, sendtag, comm, COHORT_OP_SEND);
    return rc == MPI_SUCCESS ? PMPI_Recv(recvbuf, recvcount, recvtype, source, recvtag, comm, status) : rc;
  }
  if (UNLIKELY(!cohort_may_test(comm)))
    return exchange_probed(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                           comm, status);
  MPI_Request receive = MPI_REQUEST_NULL;
  int rc = PMPI_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
  return rc == MPI_SUCCESS ? exchange(&receive, sendbuf, sendcount, sendtype, dest, sendtag, comm, status) : rc;
}

int cohort_yield_sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                               MPI_Comm comm, MPI_Status *status) {
  static struct cohort_buffer packed;
  int size = 0, position = 0;
  if (UNLIKELY(g.last_call)) {
    int whole = PMPI_Pack_size(count, type, comm, &size) == MPI_SUCCESS && cohort_reserve(&packed, (size_t)size + 1) &&
                cohort_pack(buf, count, type, packed.data, size, &position, comm) == MPI_SUCCESS;
    begin_last(packed.data, position, MPI_PACKED, dest, sendtag, whole ? COHORT_OP_SEND : COHORT_OP_NONE, buf, count,
               type, source, recvtag, comm);
  }
  if (g.yield && source == MPI_PROC_NULL) {
    int rc = cohort_yield_send(buf, count, type, dest, sendtag, comm, COHORT_OP_SEND);
    return rc == MPI_SUCCESS ? PMPI_Recv(buf, count, type, source, recvtag, comm, status) : rc;
  }
  if (!g.yield || PMPI_Pack_size(count, type, comm, &size) != MPI_SUCCESS || size == 0 ||
      !cohort_reserve(&packed, (size_t)size) ||
      cohort_pack(buf, count, type, packed.data, size, &position, comm) != MPI_SUCCESS)
    return PMPI_Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm, status);
  if (UNLIKELY(!cohort_may_test(comm)))
    return exchange_probed(packed.data, position, MPI_PACKED, dest, sendtag, buf, count, type, source, recvtag, comm,
                           status);
  MPI_Request receive = MPI_REQUEST_NULL;
  int rc = PMPI_Irecv(buf, count, type, source, recvtag, comm, &receive);
  return rc == MPI_SUCCESS ? exchange(&receive, packed.data, position, MPI_PACKED, dest, sendtag, comm, status) : rc;
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
