/* Following a recording. */
#ifndef COHORT_REPLAY_H
#define COHORT_REPLAY_H
#include "core.h"

extern uint64_t cohort_grant_at;               /* event after which the next control message is due */

/* ---- replay.c */
void cohort_replay_open(void);
void cohort_replay_check(uint64_t event, uint32_t op);
/* Of the call in progress: */
int cohort_replay_match(int *source, int *tag);              /* 0: was never matched */
extern uint32_t cohort_replay_place;                         /* for Startall: which of its array, set before */
/* the receive with exact arguments was cancelled: it matches no message */
int cohort_replay_cancelled(uint32_t which);
int cohort_replay_poll(void);                                /* 1: the poll succeeds */
int cohort_replay_set(const uint32_t **indices);             /* number of indices */
void cohort_replay_finalize(void);
void cohort_diverge_plain(uint32_t recorded_op, uint64_t recorded_event) __attribute__((noreturn));
/* a value that the program asks for is not the one that it asked for then, or not now; or it is not a thread's turn */
void cohort_diverge_value(uint32_t recorded, uint32_t actual, uint64_t site) __attribute__((noreturn));
void cohort_end_of_recording(void) __attribute__((noreturn));
int cohort_never_request(MPI_Request *request);
int cohort_is_never(MPI_Request request);
int cohort_never_free(MPI_Request *request);
void cohort_orders_open(void);                               /* control messages */
void cohort_orders_send(void);
void cohort_orders_close(void);
void cohort_replay_compare(uint32_t hash);                   /* of the events up to g.events */

#endif
