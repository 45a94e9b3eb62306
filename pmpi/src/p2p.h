/* Messages: what they are in the trace. */
#ifndef COHORT_P2P_H
#define COHORT_P2P_H
#include "core.h"

/* ---- status.c: sources and tags as the trace has them */
static inline int cohort_peer(int rank) { return rank == MPI_ANY_SOURCE ? -1 : rank == MPI_PROC_NULL ? -2 : rank; }
static inline int cohort_tag(int tag) { return tag == MPI_ANY_TAG ? -1 : tag; }
/* What the call in progress names, for those who ask what the rank did last, and for the hash that finds divergences
 * between decisions. */
static inline void cohort_named(int peer, int tag) {
  g.recent->peer = cohort_peer(peer);
  g.recent->tag = cohort_tag(tag);
}
/* Every receive and probe asks this, with what the program named. */
static inline int cohort_wildcard(int source, int tag) {
  cohort_named(source, tag);
  return source != MPI_PROC_NULL && (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);
}
uint64_t cohort_status_bytes(const MPI_Status *status);
uint64_t cohort_bytes(int count, MPI_Datatype type);
/* The program may free a datatype that something still uses: makes *type one that lasts, and sets *own if it is a
 * duplicate, to be freed. 0: it cannot be. */
int cohort_type_hold(MPI_Datatype *type, uint8_t *own);
/* What MPI_Type_get_envelope says; 0: nothing. Of a type that a large constructor has made (MPI_Type_vector_c), which
 * only the large form may be asked about, `counts` is not 0. */
struct envelope { size_t integers, addresses, counts, types; int combiner; };
int cohort_envelope(MPI_Datatype type, struct envelope *e);
int cohort_type_is_named(MPI_Datatype type);
int cohort_type_is_plain(MPI_Datatype type);   /* a named one, without gaps */
/* MPI_Pack and MPI_Unpack, of MPI_BOTTOM too. */
int cohort_pack(const void *buf, int count, MPI_Datatype type, void *to, int room, int *position, MPI_Comm comm);
/* In `b`, which is used for nothing else; NULL: it cannot be. */
uint8_t *cohort_packed(struct cohort_buffer *b, const void *buf, int count, MPI_Datatype type, MPI_Comm comm,
                       int *length);
int cohort_unpack(const void *from, int size, int *position, void *buf, int count, MPI_Datatype type, MPI_Comm comm);
void cohort_type_size_forget(void);
void cohort_count_message(int dest, uint64_t bytes);
void cohort_put_send(MPI_Comm comm, int dest, int tag, uint64_t bytes);
void cohort_put_asked(MPI_Comm comm, int source, int tag);
void cohort_put_given(int given, const MPI_Status *status); /* not given: as from MPI_PROC_NULL */
int cohort_error_class(int rc);
int cohort_truncated(int rc);
/* A receive or probe has returned: whether it was given a message. */
int cohort_given(int rc, int wildcard);
/* Likewise; writes the MATCH of one with a wildcard, and what it says of older receives. */
int cohort_received(int rc, int wildcard, MPI_Comm comm, int source, const MPI_Status *status);
void cohort_event_received(MPI_Comm comm, int source, int tag, int given, const MPI_Status *status); /* full mode */
void cohort_event_plain(void);                 /* full mode: the EVENT of a call that has no fields of its own */
void cohort_sent(MPI_Comm comm, int dest, int tag, uint64_t bytes);
void cohort_send_initialized(int rc, const void *buf, int count, MPI_Datatype type, MPI_Comm comm, int dest, int tag,
                             const MPI_Request *request);
void cohort_copy_name(char *to, size_t room, const char *from);

/* ---- content.c */
struct cohort_content { int known; uint64_t value; };
struct cohort_content cohort_content_of(const void *buf, int64_t count, MPI_Datatype type, int dest);
/* full mode: of the message that was just sent */
void cohort_content(const void *buf, int64_t count, MPI_Datatype type, int dest);

/* ---- yield.c; how messages are carried is in carry.h, which is generated */
/* The end of a function: tests until it is done, and gives up the processor in between. */
#define RETRY_UNTIL(done, test)                  \
  for (;;) {                                     \
    int rc = test;                               \
    if (rc != MPI_SUCCESS || (done)) return rc;  \
    sched_yield();                               \
  }
/* As the blocking or nonblocking send `op`. */
int cohort_isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op,
                 MPI_Request *request);
int cohort_may_test(MPI_Comm comm);            /* an error of a receive on it may be found by a test */
void cohort_synchronise(MPI_Comm comm);        /* yield: wait, yielding, until all members are here */
int cohort_yieldable(MPI_Comm comm);

#endif
