/* Requests and calls in progress, for a debugger: the stage of a wrapper that publishes what the call asks of MPI
 * before it is made, and notes what became of it. It knows nothing of recording and replay, nor they of it. Where
 * nobody may look it is one branch that is not taken. */
#ifndef COHORT_TRACKING_H
#define COHORT_TRACKING_H
#include "objects.h"
#include "p2p.h"

/* The calling thread's record, with nothing in it; NULL: the call is not the program's, or is not tracked. `name` is
 * for an op that does not tell; `always`: calls of this kind are, also where others are not. */
struct cohort_call *cohort_call_begin(uint32_t op, const char *name, uint64_t site, int always);
void cohort_call_publish(struct cohort_call *k);
void cohort_call_end(struct cohort_call *k);

/* What the call is about; before it is published. */
void cohort_call_comm(struct cohort_call *k, MPI_Comm comm);
/* the record of a window, a file or an op; 0: not known */
uint64_t cohort_call_object(struct object_table *t, uint64_t handle);
void cohort_call_side(struct cohort_side *s, const void *buf, int64_t count, MPI_Datatype type, uint32_t flags);
void cohort_call_each(struct cohort_side *s, const void *buf, const void *counts, const void *displs, MPI_Datatype type,
                      const MPI_Datatype *types, uint32_t n, uint32_t flags);
enum { COHORT_AT_ROOT, COHORT_AT_ALL };
/* flags of a side that counts at the root, or on all that give it something */
uint32_t cohort_call_root(struct cohort_call *k, int root, int here);
uint32_t cohort_call_peers(const struct cohort_call *k);
uint32_t cohort_call_neighbours(const struct cohort_call *k, MPI_Comm comm, int out);
static inline void cohort_call_peer(struct cohort_side *s, int peer, int tag) {
  s->peer = cohort_peer(peer);
  s->tag = cohort_tag(tag);
}

/* Counts the messages that the call sends: 1 before it is published, -1 if it has failed. */
void cohort_call_sends(struct cohort_call *k, int n);
/* Likewise a collective. */
void cohort_call_collective(struct cohort_call *k, int n);
/* The call has returned, and was given a message, with this status. */
void cohort_call_received(const struct cohort_call *k, int rc, const MPI_Status *status);
/* Where a call that waits for requests tells what they received, if the program does not ask. */
MPI_Status *cohort_call_statuses(int count);

/* A communicator is no more; its id may come again. The registry's lock is held. */
void cohort_messages_forget(uint64_t comm);

/* The call has made a request. */
void cohort_call_posted(struct cohort_call *k, MPI_Request request, int persistent);
void cohort_call_fortran(MPI_Request request, MPI_Fint f);

/* For their side in requests.c and fortran.c: */
int cohort_is_scratch(const void *p); /* an array that a Fortran wrapper of ours has made for this call only */

int64_t cohort_call_rank(const struct cohort_call *k); /* in its communicator; -1: not known */
void cohort_call_grequest(uint64_t site, MPI_Request request, MPI_Fint f);

/* The requests that the call is given; before it is published. */
void cohort_call_given(struct cohort_call *k, int count, const MPI_Request *requests);
const MPI_Request *cohort_call_value(MPI_Request request); /* where one lies that the program passes by value */
/* What became of them: of `n`, those with these indices (NULL: the first). `after` is what the call left in the
 * program's variables. */
void cohort_requests_settled(int n, const int *indices, const MPI_Request *after, int rc, const MPI_Status *statuses);
void cohort_request_marked(uint32_t flag);
void cohort_request_given_up(void);
void cohort_requests_started(const struct cohort_call *k, int count, const MPI_Request *requests, int rc);

#endif
