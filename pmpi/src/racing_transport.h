/* The calls that carry messages in racing mode, in the form of MPI's own: what transport.h does when g.racing is set.
 * Blocking ones yield if they should. Those that send take the operation. */
#ifndef COHORT_RACING_TRANSPORT_H
#define COHORT_RACING_TRANSPORT_H
#include "core.h"

int cohort_r_send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, uint32_t op);
int cohort_r_isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, uint32_t op,
                   MPI_Request *request);
int cohort_r_send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, uint32_t op,
                       MPI_Request *request);
int cohort_r_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status);
int cohort_r_irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Request *request);
int cohort_r_recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                       MPI_Request *request);
int cohort_r_sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                      int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status);
int cohort_r_sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                              int recvtag, MPI_Comm comm, MPI_Status *status);
int cohort_r_probe(int source, int tag, MPI_Comm comm, MPI_Status *status);
int cohort_r_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int cohort_r_mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status);
int cohort_r_improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status);
int cohort_r_mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status);
int cohort_r_imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request);
int cohort_r_start(MPI_Request *request);
int cohort_r_startall(int count, MPI_Request *requests);
int cohort_r_wait(MPI_Request *request, MPI_Status *status);
int cohort_r_waitall(int count, MPI_Request *requests, MPI_Status *statuses);
int cohort_r_waitany(int count, MPI_Request *requests, int *index, MPI_Status *status);
int cohort_r_waitsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses);
int cohort_r_test(MPI_Request *request, int *flag, MPI_Status *status);
int cohort_r_testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses);
int cohort_r_testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status);
int cohort_r_testsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses);
int cohort_r_request_get_status(MPI_Request request, int *flag, MPI_Status *status);
int cohort_r_cancel(MPI_Request *request);
int cohort_r_request_free(MPI_Request *request);

/* The forms of MPI 4 (racing_large.c). */
#if !defined(OPEN_MPI) && MPI_VERSION >= 4
int cohort_r_send_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op);
int cohort_r_isend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op,
                     MPI_Request *request);
int cohort_r_send_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                         uint32_t op, MPI_Request *request);
int cohort_r_recv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    MPI_Status *status);
int cohort_r_irecv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Request *request);
int cohort_r_recv_init_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                         MPI_Request *request);
int cohort_r_mrecv_c(void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Status *status);
int cohort_r_imrecv_c(void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Request *request);
int cohort_r_sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                        void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                        MPI_Comm comm, MPI_Status *status);
int cohort_r_sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                                int recvtag, MPI_Comm comm, MPI_Status *status);
int cohort_r_isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                         void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                         MPI_Comm comm, MPI_Request *request);
int cohort_r_isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                                 int recvtag, MPI_Comm comm, MPI_Request *request);
#endif

#endif
