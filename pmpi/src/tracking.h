/* Requests and calls in progress, for a debugger: what gen_kept.c is made with. A wrapper begins with KEPT, one branch
 * that is not taken unless somebody may look; then cohort_k_X publishes what the call asks of MPI, makes the call anew,
 * and notes what became of it. So it knows nothing of recording and replay, nor they of it. */
#ifndef COHORT_KEPT_H
#define COHORT_KEPT_H

/* In a wrapper, before anything else. */
#define KEPT(name, ...) \
  if (UNLIKELY(g.kept) && cohort_kept_outermost()) return cohort_k_##name(SITE, __VA_ARGS__)
#define KEPT_ALWAYS(name, ...) \
  if (UNLIKELY(cohort_kept_always())) return cohort_k_##name(SITE, __VA_ARGS__)
#define KEPT_BARE(name) \
  if (UNLIKELY(g.kept) && cohort_kept_outermost()) return cohort_k_##name(SITE)
#define COHORT_UNPACK(...) __VA_ARGS__

int cohort_kept_outermost(void);
int cohort_kept_always(void); /* also where they are not kept */

/* The calling thread's record, with nothing in it: never NULL. `name` is for an op that does not tell. */
struct cohort_call *cohort_kept_begin(uint32_t op, const char *name, uint64_t site);
void cohort_kept_publish(struct cohort_call *k);
void cohort_kept_end(struct cohort_call *k);

/* What the call is about; before it is published. */
void cohort_kept_comm(struct cohort_call *k, MPI_Comm comm);
void cohort_kept_win(struct cohort_call *k, MPI_Win win);
void cohort_kept_file(struct cohort_call *k, MPI_File file);
void cohort_kept_op(struct cohort_call *k, MPI_Op op);
void cohort_kept_side(struct cohort_side *s, const void *buf, int64_t count, MPI_Datatype type, uint32_t flags);
void cohort_kept_each(struct cohort_side *s, const void *buf, const void *counts, const void *displs, MPI_Datatype type,
                      const MPI_Datatype *types, uint32_t n, uint32_t flags);
enum { COHORT_AT_ROOT, COHORT_AT_ALL };
/* flags of a side that counts at the root, or on all that give it something */
uint32_t cohort_kept_root(struct cohort_call *k, int root, int here);
uint32_t cohort_kept_peers(const struct cohort_call *k);
uint32_t cohort_kept_neighbours(const struct cohort_call *k, MPI_Comm comm, int out);
static inline void cohort_kept_peer(struct cohort_side *s, int peer, int tag) {
  s->peer = cohort_peer(peer);
  s->tag = cohort_tag(tag);
}

/* The call has made a request. */
void cohort_kept_posted(struct cohort_call *k, MPI_Request request, int persistent);
void cohort_kept_fortran(MPI_Request request, MPI_Fint f);

/* For their side in requests.c and fortran.c: */
int cohort_is_scratch(const void *p); /* an array that a Fortran wrapper of ours has made for this call only */

int64_t cohort_kept_rank(const struct cohort_call *k); /* in its communicator; -1: not known */
void cohort_kept_grequest(uint64_t site, MPI_Request request, MPI_Fint f);

#include "gen_kept.h"

/* In kept.c and cancel.c, comms.c: not in the table that the generator has. */
int cohort_k_Grequest_start(uint64_t site, MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                            MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request);
#if !defined(OPEN_MPI) && MPI_VERSION >= 4
int cohort_k_Comm_idup_with_info(uint64_t site, MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request);
#endif
#endif
