/* Functions that an MPI has beside the standard's, and that record/replay does not cover. */
#include "p2p.h"

#ifndef OPEN_MPI
#define UNCOVERED(name, parameters, arguments)                                    \
  EXPORT int name parameters {                                                    \
    if (!cohort_enter(COHORT_OP_OTHER, SITE)) return P##name arguments;           \
    cohort_uncovered(#name);                                                      \
    int rc = P##name arguments;                                                   \
    cohort_event_plain();                                                         \
    cohort_leave();                                                               \
    return rc;                                                                    \
  }

/* What they tell depends on when a process fails. */
UNCOVERED(MPIX_Comm_agree, (MPI_Comm comm, int *flag), (comm, flag))
UNCOVERED(MPIX_Comm_shrink, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))
UNCOVERED(MPIX_Comm_revoke, (MPI_Comm comm), (comm))
UNCOVERED(MPIX_Comm_failure_ack, (MPI_Comm comm), (comm))
UNCOVERED(MPIX_Comm_failure_get_acked, (MPI_Comm comm, MPI_Group *failed), (comm, failed))

/* The program is asked whether they are complete, which replay does as often as it likes. */
UNCOVERED(MPIX_Grequest_start,
          (MPI_Grequest_query_function * query_fn, MPI_Grequest_free_function *free_fn,
           MPI_Grequest_cancel_function *cancel_fn, MPIX_Grequest_poll_function *poll_fn,
           MPIX_Grequest_wait_function *wait_fn, void *extra_state, MPI_Request *request),
          (query_fn, free_fn, cancel_fn, poll_fn, wait_fn, extra_state, request))
UNCOVERED(MPIX_Grequest_class_allocate, (MPIX_Grequest_class greq_class, void *extra_state, MPI_Request *request),
          (greq_class, extra_state, request))
#endif
