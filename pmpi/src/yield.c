/* Blocking calls. Where a host holds more ranks than cores, an MPI that spins keeps the rank off the core that it waits for; so with COHORT_FLAG_YIELD
 * they are made of nonblocking calls and tests, with sched_yield between. */
#include "cohort.h"

#include <sched.h>

int cohort_do_wait(MPI_Request *request, MPI_Status *status) {
  if (!g.yield) return PMPI_Wait(request, status);
  for (;;) {
    int flag = 0;
    int rc = PMPI_Test(request, &flag, status);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

int cohort_do_waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  if (!g.yield) return PMPI_Waitall(count, requests, statuses);
  for (;;) {
    int flag = 0;
    int rc = PMPI_Testall(count, requests, &flag, statuses);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

int cohort_do_waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
  if (!g.yield) return PMPI_Waitany(count, requests, index, status);
  for (;;) {
    int flag = 0;
    int rc = PMPI_Testany(count, requests, index, &flag, status);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

int cohort_do_waitsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses) {
  if (!g.yield) return PMPI_Waitsome(count, requests, outcount, indices, statuses);
  for (;;) {
    *outcount = 0;
    int rc = PMPI_Testsome(count, requests, outcount, indices, statuses);
    if (rc != MPI_SUCCESS || *outcount != 0) return rc;
    sched_yield();
  }
}

int cohort_do_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op) {
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
  return rc == MPI_SUCCESS ? cohort_do_wait(&request, MPI_STATUS_IGNORE) : rc;
}

int cohort_do_recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
  /* MPICH 4.0 does not set the status of an Irecv from MPI_PROC_NULL. */
  if (!g.yield || source == MPI_PROC_NULL) return PMPI_Recv(buf, count, type, source, tag, comm, status);
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = PMPI_Irecv(buf, count, type, source, tag, comm, &request);
  return rc == MPI_SUCCESS ? cohort_do_wait(&request, status) : rc;
}

int cohort_do_probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  if (!g.yield) return PMPI_Probe(source, tag, comm, status);
  for (;;) {
    int flag = 0;
    int rc = PMPI_Iprobe(source, tag, comm, &flag, status);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

/* The receive is posted first, and both go on while either is tested. */
static int exchange(MPI_Request *receive, const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                    MPI_Comm comm, MPI_Status *status) {
  MPI_Request send = MPI_REQUEST_NULL;
  int rc = PMPI_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);
  if (rc != MPI_SUCCESS) {
    PMPI_Cancel(receive);
    PMPI_Wait(receive, MPI_STATUS_IGNORE);
    return rc;
  }
  rc = cohort_do_wait(receive, status);
  int sent = cohort_do_wait(&send, MPI_STATUS_IGNORE);
  return rc != MPI_SUCCESS ? rc : sent;
}

int cohort_do_sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                       int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status) {
  if (!g.yield)
    return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status);
  if (source == MPI_PROC_NULL) {
    int rc = cohort_do_send(sendbuf, sendcount, sendtype, dest, sendtag, comm, COHORT_OP_SEND);
    return rc == MPI_SUCCESS ? PMPI_Recv(recvbuf, recvcount, recvtype, source, recvtag, comm, status) : rc;
  }
  MPI_Request receive = MPI_REQUEST_NULL;
  int rc = PMPI_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
  return rc == MPI_SUCCESS ? exchange(&receive, sendbuf, sendcount, sendtype, dest, sendtag, comm, status) : rc;
}

int cohort_do_sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                               MPI_Comm comm, MPI_Status *status) {
  static struct cohort_buffer packed;
  int size = 0, position = 0;
  if (g.yield && source == MPI_PROC_NULL) {
    int rc = cohort_do_send(buf, count, type, dest, sendtag, comm, COHORT_OP_SEND);
    return rc == MPI_SUCCESS ? PMPI_Recv(buf, count, type, source, recvtag, comm, status) : rc;
  }
  if (!g.yield || PMPI_Pack_size(count, type, comm, &size) != MPI_SUCCESS || !cohort_reserve(&packed, (size_t)size) ||
      PMPI_Pack(buf, count, type, packed.data, size, &position, comm) != MPI_SUCCESS)
    return PMPI_Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm, status);
  MPI_Request receive = MPI_REQUEST_NULL;
  int rc = PMPI_Irecv(buf, count, type, source, recvtag, comm, &receive);
  return rc == MPI_SUCCESS ? exchange(&receive, packed.data, position, MPI_PACKED, dest, sendtag, comm, status) : rc;
}

int cohort_yieldable(MPI_Comm comm) {
  int inter = 0;
  if (!g.yield || comm == MPI_COMM_NULL) return 0;
  return PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

/* Before a collective that must run as it is (a reduction's algorithm decides its rounding): no program may depend on whether a collective
 * synchronises, so we may let it. */
void cohort_synchronise(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (cohort_yieldable(comm) && PMPI_Ibarrier(comm, &request) == MPI_SUCCESS) cohort_do_wait(&request, MPI_STATUS_IGNORE);
}
