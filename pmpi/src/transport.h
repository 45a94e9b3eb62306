/* How a message is carried, apart from what is decided about it. Everything that a wrapper does to a message of the
 * program goes through these; only racing mode, whose messages have a header, carries them in another way than MPI does
 * (racing*.c). A wrapper that passes a call through (cohort_enter returned 0) calls PMPI itself. */
#ifndef COHORT_TRANSPORT_H
#define COHORT_TRANSPORT_H
#include "core.h"
#include "racing_transport.h"

static inline int carry_send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (UNLIKELY(g.racing)) return cohort_r_send(buf, count, datatype, dest, tag, comm, COHORT_OP_SEND);
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

static inline int carry_bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (UNLIKELY(g.racing)) return cohort_r_send(buf, count, datatype, dest, tag, comm, COHORT_OP_BSEND);
  return PMPI_Bsend(buf, count, datatype, dest, tag, comm);
}

static inline int carry_ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (UNLIKELY(g.racing)) return cohort_r_send(buf, count, datatype, dest, tag, comm, COHORT_OP_SSEND);
  return PMPI_Ssend(buf, count, datatype, dest, tag, comm);
}

static inline int carry_rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (UNLIKELY(g.racing)) return cohort_r_send(buf, count, datatype, dest, tag, comm, COHORT_OP_RSEND);
  return PMPI_Rsend(buf, count, datatype, dest, tag, comm);
}

static inline int carry_isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                          MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_isend(buf, count, datatype, dest, tag, comm, COHORT_OP_ISEND, request);
  return PMPI_Isend(buf, count, datatype, dest, tag, comm, request);
}

static inline int carry_ibsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                           MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_isend(buf, count, datatype, dest, tag, comm, COHORT_OP_IBSEND, request);
  return PMPI_Ibsend(buf, count, datatype, dest, tag, comm, request);
}

static inline int carry_issend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                           MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_isend(buf, count, datatype, dest, tag, comm, COHORT_OP_ISSEND, request);
  return PMPI_Issend(buf, count, datatype, dest, tag, comm, request);
}

static inline int carry_irsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                           MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_isend(buf, count, datatype, dest, tag, comm, COHORT_OP_IRSEND, request);
  return PMPI_Irsend(buf, count, datatype, dest, tag, comm, request);
}

static inline int carry_send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                              MPI_Request *request) {
  if (UNLIKELY(g.racing))
    return cohort_r_send_init(buf, count, datatype, dest, tag, comm, COHORT_OP_SEND_INIT, request);
  return PMPI_Send_init(buf, count, datatype, dest, tag, comm, request);
}

static inline int carry_bsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                               MPI_Request *request) {
  if (UNLIKELY(g.racing))
    return cohort_r_send_init(buf, count, datatype, dest, tag, comm, COHORT_OP_BSEND_INIT, request);
  return PMPI_Bsend_init(buf, count, datatype, dest, tag, comm, request);
}

static inline int carry_ssend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                               MPI_Request *request) {
  if (UNLIKELY(g.racing))
    return cohort_r_send_init(buf, count, datatype, dest, tag, comm, COHORT_OP_SSEND_INIT, request);
  return PMPI_Ssend_init(buf, count, datatype, dest, tag, comm, request);
}

static inline int carry_rsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                               MPI_Request *request) {
  if (UNLIKELY(g.racing))
    return cohort_r_send_init(buf, count, datatype, dest, tag, comm, COHORT_OP_RSEND_INIT, request);
  return PMPI_Rsend_init(buf, count, datatype, dest, tag, comm, request);
}

static inline int carry_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                         MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_recv(buf, count, datatype, source, tag, comm, status);
  return PMPI_Recv(buf, count, datatype, source, tag, comm, status);
}

static inline int carry_irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                          MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_irecv(buf, count, datatype, source, tag, comm, request);
  return PMPI_Irecv(buf, count, datatype, source, tag, comm, request);
}

static inline int carry_recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                              MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_recv_init(buf, count, datatype, source, tag, comm, request);
  return PMPI_Recv_init(buf, count, datatype, source, tag, comm, request);
}

static inline int carry_sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                             void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                             MPI_Comm comm, MPI_Status *status) {
  if (UNLIKELY(g.racing))
    return cohort_r_sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                             comm, status);
  return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                       status);
}

static inline int carry_sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                                     int recvtag, MPI_Comm comm, MPI_Status *status) {
  if (UNLIKELY(g.racing))
    return cohort_r_sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
  return PMPI_Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
}

static inline int carry_probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_probe(source, tag, comm, status);
  return PMPI_Probe(source, tag, comm, status);
}

static inline int carry_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_iprobe(source, tag, comm, flag, status);
  return PMPI_Iprobe(source, tag, comm, flag, status);
}

static inline int carry_mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_mprobe(source, tag, comm, message, status);
  return PMPI_Mprobe(source, tag, comm, message, status);
}

static inline int carry_improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_improbe(source, tag, comm, flag, message, status);
  return PMPI_Improbe(source, tag, comm, flag, message, status);
}

static inline int carry_mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_mrecv(buf, count, datatype, message, status);
  return PMPI_Mrecv(buf, count, datatype, message, status);
}

static inline int carry_imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_imrecv(buf, count, datatype, message, request);
  return PMPI_Imrecv(buf, count, datatype, message, request);
}

static inline int carry_start(MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_start(request);
  return PMPI_Start(request);
}

static inline int carry_startall(int count, MPI_Request *requests) {
  if (UNLIKELY(g.racing)) return cohort_r_startall(count, requests);
  return PMPI_Startall(count, requests);
}

static inline int carry_wait(MPI_Request *request, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_wait(request, status);
  return PMPI_Wait(request, status);
}

static inline int carry_waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  if (UNLIKELY(g.racing)) return cohort_r_waitall(count, requests, statuses);
  return PMPI_Waitall(count, requests, statuses);
}

static inline int carry_waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_waitany(count, requests, index, status);
  return PMPI_Waitany(count, requests, index, status);
}

static inline int carry_waitsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses) {
  if (UNLIKELY(g.racing)) return cohort_r_waitsome(count, requests, outcount, indices, statuses);
  return PMPI_Waitsome(count, requests, outcount, indices, statuses);
}

static inline int carry_test(MPI_Request *request, int *flag, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_test(request, flag, status);
  return PMPI_Test(request, flag, status);
}

static inline int carry_testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
  if (UNLIKELY(g.racing)) return cohort_r_testall(count, requests, flag, statuses);
  return PMPI_Testall(count, requests, flag, statuses);
}

static inline int carry_testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_testany(count, requests, index, flag, status);
  return PMPI_Testany(count, requests, index, flag, status);
}

static inline int carry_testsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses) {
  if (UNLIKELY(g.racing)) return cohort_r_testsome(count, requests, outcount, indices, statuses);
  return PMPI_Testsome(count, requests, outcount, indices, statuses);
}

static inline int carry_request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
  if (UNLIKELY(g.racing)) return cohort_r_request_get_status(request, flag, status);
  return PMPI_Request_get_status(request, flag, status);
}

static inline int carry_cancel(MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_cancel(request);
  return PMPI_Cancel(request);
}

static inline int carry_request_free(MPI_Request *request) {
  if (UNLIKELY(g.racing)) return cohort_r_request_free(request);
  return PMPI_Request_free(request);
}

#endif
