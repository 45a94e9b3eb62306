/* Requests of the program: which are active, and what completes them. */
#ifndef COHORT_COMPLETION_H
#define COHORT_COMPLETION_H
#include "core.h"

struct cohort_requests_state {
  int cancels;            /* MPI_Cancel was called: a completed request may have been cancelled */
  int note;               /* requests that nothing else tracks are noted by handle, for MPI_Cancel */
  int substitutes;        /* replay: persistent requests that have a substitute at present */
  int wait_whole;         /* several requests are waited for by the program's own call, also with yielding */
  int freed;              /* requests that the program has freed and that may still match a message */
  int overtaken;          /* receives under way whose message is not known yet, although it matters */
};
extern struct cohort_requests_state g_requests;

/* ---- requests.c */
enum request_class {
  REQUEST_SEND = 1, REQUEST_RECEIVE = 2, REQUEST_COLLECTIVE = 3, REQUEST_OTHER = 4,
  REQUEST_MRECV = 5       /* not in traces: a receive of the message of a matched probe */
};
struct cohort_request {
  struct cohort_link link; /* in awaited.c */
  uint64_t handle;
  uint64_t post;          /* event that made it active */
  uint64_t init;          /* event of the _init of a persistent one, or 0 */
  struct cohort_request *next, *last; /* with the same handle; the head of the queue knows the last */
  uint8_t cls;            /* enum request_class */
  uint8_t wildcard, persistent, active;
  uint8_t matched;        /* its message is already in the trace */
  uint8_t null_peer;
  uint8_t mrecv;          /* it receives the message of a matched probe */
  uint8_t cancelling;     /* MPI_Cancel was called for it */
  uint8_t watched;        /* order mode: its completion goes into the trace */
  uint8_t own_type;
  uint8_t awaited;        /* linked */
  uint8_t overtaken;      /* awaited, and it matters which message it has matched */
  uint16_t op;            /* that made it active: of a receive with a wildcard, or of one that is cancelled */
  uint32_t which;         /* its place in the array of a Startall */
  MPI_Comm comm;          /* of a receive, and what follows */
  int source, tag;        /* asked */
  int from, with;         /* posted with: in replay the recorded ones */
  uint64_t bytes;         /* of a persistent send, and what follows */
  int32_t dest, count;
  const void *buf;
  MPI_Datatype type;      /* full mode: ours (own_type), or a named one */
};
extern uint32_t cohort_request_count, cohort_watched_count;
void cohort_request_lost(void);                /* there is no memory to follow one: the recording is incomplete */
/* NULL: there is no memory, which it has told, or the request is null */
struct cohort_request *cohort_request_add(MPI_Request handle, uint8_t cls, int null_peer);
struct cohort_request *cohort_request_add_persistent(MPI_Request handle, uint8_t cls, int null_peer);
struct cohort_request *cohort_request_find(uint64_t handle);
void cohort_request_remove(uint64_t handle);   /* the oldest with that handle */
void cohort_request_renamed(uint64_t before, MPI_Request after);
/* full mode: a persistent send */
void cohort_request_sends(struct cohort_request *r, const void *buf, int count, MPI_Datatype type);
void cohort_request_watch(struct cohort_request *r, int watch);
void cohort_request_note(MPI_Request request, uint8_t cls);
/* class of the last request with that handle that was noted, or 0 */
int cohort_request_noted(uint64_t handle, uint64_t *event);

/* ---- persistent.c */
/* The requests to hand to MPI for the program's: `requests` itself, or a copy with substitutes for some. After the call
 * cohort_substituted gives the program's array what became of them. */
MPI_Request *cohort_substitute_some(int count, MPI_Request *requests);
static inline MPI_Request *cohort_substitute(int count, MPI_Request *requests) {
  return LIKELY(g_requests.substitutes == 0) || count <= 0 ? requests : cohort_substitute_some(count, requests);
}
void cohort_substituted_some(int count, MPI_Request *requests, MPI_Request *real);
static inline void cohort_substituted(int count, MPI_Request *requests, MPI_Request *real) {
  if (UNLIKELY(real != requests)) cohort_substituted_some(count, requests, real);
}
MPI_Request *cohort_substitute_of(MPI_Request request); /* of an active one; NULL: none */
void cohort_persistent_freed(uint64_t handle);
int cohort_persistent_uses(MPI_Comm comm);     /* a receive with a wildcard does */

/* ---- cancel.c */
static inline int cohort_was_cancelled(const MPI_Status *status) {
  int cancelled = 0;
  if (UNLIKELY(g_requests.cancels)) PMPI_Test_cancelled(status, &cancelled);
  return cancelled;
}
/* the request was cancelled; r: before it is removed */
void cohort_completed_cancelled(const struct cohort_request *r);
void cohort_grequest_started(int rc, MPI_Request request);
/* whether a request that the program has freed matched a message; last: at MPI_Finalize */
void cohort_look_at_freed(int last);

/* ---- awaited.c */
extern uint32_t cohort_awaited_count;
/* asked; posted with */
void cohort_awaited_add(struct cohort_request *r, int source, int tag, int from, int with);
void cohort_awaited_done(struct cohort_request *r);
void cohort_awaited_look(uint64_t post, MPI_Comm comm, int source, int tag);
void cohort_awaited_settle(void);              /* the message of one that was overtaken may be known by now */
void cohort_overtaken(int by);                 /* that many more receives are; racing mode too */

#endif
