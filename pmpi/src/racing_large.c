/* Racing mode: the exchanges of MPI 4 that are not covered. Their messages have a header all the same: who receives one
 * expects it. */
#include "carry.h"
#include "racing.h"

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

static void unfit(struct fitted *f) {
  if (f->made) PMPI_Type_free(&f->type);
}

/* The request is the receive's; what is sent is a copy. */
int cohort_racing_isendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                            MPI_Comm comm, MPI_Request *request) {
  struct fitted s = fit(sendcount, sendtype), r = fit(recvcount, recvtype);
  int rc = cohort_racing_irecv(recvbuf, r.count, r.type, source, recvtag, comm, request);
  if (rc == MPI_SUCCESS)
    rc = cohort_racing_send(sendbuf, s.count, s.type, dest, sendtag, comm, COHORT_OP_BSEND);
  unfit(&s);
  unfit(&r);
  return rc;
}

int cohort_racing_isendrecv_replace(void *buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                                    int recvtag, MPI_Comm comm, MPI_Request *request) {
  struct fitted f = fit(count, type);
  int rc = cohort_racing_send(buf, f.count, f.type, dest, sendtag, comm, COHORT_OP_BSEND);
  if (rc == MPI_SUCCESS) rc = cohort_racing_irecv(buf, f.count, f.type, source, recvtag, comm, request);
  unfit(&f);
  return rc;
}

#endif
