/* Racing mode: the forms of MPI 4 that are not covered (large counts, Isendrecv). Their messages have a header all the
 * same: who receives one expects it. */
#include "core.h"
#include "racing.h"
#include "racing_transport.h"

#if !defined(OPEN_MPI) && MPI_VERSION >= 4

/* A count that no int holds becomes one element of a greater datatype. */
struct fitted { int count; MPI_Datatype type; int made; };

static struct fitted fit(MPI_Count count, MPI_Datatype type) {
  struct fitted f = {(int)count, type, 0};
  if (LIKELY(count <= INT32_MAX)) return f;
  f.count = 1;
  f.made = PMPI_Type_contiguous_c(count, type, &f.type) == MPI_SUCCESS && PMPI_Type_commit(&f.type) == MPI_SUCCESS;
  if (!f.made) f.count = -1; /* which MPI refuses */
  return f;
}

static int unfit(struct fitted *f, int rc) {
  if (f->made) PMPI_Type_free(&f->type);
  return rc;
}

int cohort_r_send_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                    uint32_t op) {
  struct fitted f = fit(count, type);
  return unfit(&f, cohort_r_send(buf, f.count, f.type, dest, tag, comm, op));
}

int cohort_r_isend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op,
                     MPI_Request *request) {
  struct fitted f = fit(count, type);
  return unfit(&f, cohort_r_isend(buf, f.count, f.type, dest, tag, comm, op, request));
}

int cohort_r_send_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                         uint32_t op, MPI_Request *request) {
  struct fitted f = fit(count, type);
  return unfit(&f, cohort_r_send_init(buf, f.count, f.type, dest, tag, comm, op, request));
}

int cohort_r_recv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    MPI_Status *status) {
  struct fitted f = fit(count, type);
  return unfit(&f, cohort_r_recv(buf, f.count, f.type, source, tag, comm, status));
}

int cohort_r_irecv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Request *request) {
  struct fitted f = fit(count, type);
  return unfit(&f, cohort_r_irecv(buf, f.count, f.type, source, tag, comm, request));
}

int cohort_r_recv_init_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                         MPI_Request *request) {
  struct fitted f = fit(count, type);
  return unfit(&f, cohort_r_recv_init(buf, f.count, f.type, source, tag, comm, request));
}

int cohort_r_mrecv_c(void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
  struct fitted f = fit(count, type);
  return unfit(&f, cohort_r_mrecv(buf, f.count, f.type, message, status));
}

int cohort_r_imrecv_c(void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) {
  struct fitted f = fit(count, type);
  return unfit(&f, cohort_r_imrecv(buf, f.count, f.type, message, request));
}

int cohort_r_sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                        void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                        MPI_Comm comm, MPI_Status *status) {
  struct fitted s = fit(sendcount, sendtype), r = fit(recvcount, recvtype);
  int rc = cohort_r_sendrecv(sendbuf, s.count, s.type, dest, sendtag, recvbuf, r.count, r.type, source, recvtag, comm,
                             status);
  return unfit(&s, unfit(&r, rc));
}

int cohort_r_sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                                int recvtag, MPI_Comm comm, MPI_Status *status) {
  struct fitted f = fit(count, type);
  return unfit(&f, cohort_r_sendrecv_replace(buf, f.count, f.type, dest, sendtag, source, recvtag, comm, status));
}

/* The request is the receive's; what is sent is a copy. */
int cohort_r_isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                         void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                         MPI_Comm comm, MPI_Request *request) {
  int rc = cohort_r_irecv_c(recvbuf, recvcount, recvtype, source, recvtag, comm, request);
  return rc == MPI_SUCCESS ? cohort_r_send_c(sendbuf, sendcount, sendtype, dest, sendtag, comm, COHORT_OP_BSEND) : rc;
}

int cohort_r_isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                                 int recvtag, MPI_Comm comm, MPI_Request *request) {
  int rc = cohort_r_send_c(buf, count, type, dest, sendtag, comm, COHORT_OP_BSEND);
  return rc == MPI_SUCCESS ? cohort_r_irecv_c(buf, count, type, source, recvtag, comm, request) : rc;
}

#endif
