/* What the parts of the interposer share. Nothing here is visible to the program but what is marked EXPORT. */
#ifndef COHORT_H
#define COHORT_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../include/cohort_abi.h"

#define EXPORT __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
/* The return address of an MPI wrapper: only to be used directly in one. */
#define SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

/* MPICH's handles are ints, Open MPI's pointers. */
#ifdef OPEN_MPI
#define COHORT_MPI 2u
#define HANDLE(h) ((uint64_t)(uintptr_t)(h))
#else
#define COHORT_MPI 1u
#define HANDLE(h) ((uint64_t)(uint32_t)(h))
#endif

struct cohort_buffer { uint8_t *data; size_t length, capacity; };
struct timespec;

enum phase { PHASE_NEW, PHASE_ACTIVE, PHASE_OVER };

/* The state of the library in this process. The thread that is inside (`busy`) owns it. */
struct cohort_global {
  int phase;              /* enum phase */
  int kept;               /* requests and calls in progress are in the registry; not 0 also before that is known */
  int order, full;        /* what is written to the trace: at most one of them */
  int replay;
  int racing;             /* messages carry a header (racing.h); recording goes on while `order` is set */
  int yield;
  int cancels;            /* MPI_Cancel was called: a completed request may have been cancelled */
  int note;               /* requests that nothing else keeps track of are noted by handle, for MPI_Cancel */
  int standins;           /* replay: persistent requests that another one stands in for at present */
  int wait_whole;         /* several requests are waited for by the program's own call, also with yielding */
  int freed;              /* requests that the program has freed and that may still take a message */
  int overtaken;          /* receives under way that have taken a message which is not known yet, although it matters */
  int refused;            /* state REFUSED is final */
  _Atomic int busy;       /* a thread is inside a wrapped call (1), or adds a record to the trace (2) */
  struct cohort_control *control;     /* never NULL: a private one if there is none */
  struct cohort_trace_header *header; /* likewise */
  uint64_t events;        /* completed */
  int owned;              /* the thread that is inside MPI writes values itself */
  uint64_t steps;         /* calls completed: events and failed polls */
  uint64_t thread;        /* id of the thread that made the call before */
  /* call site of the first call that came while another thread was inside, and is not in the trace yet */
  _Atomic uint64_t concurrent;
  uint64_t failures;      /* failed polls since the last successful poll */
  uint32_t op;            /* of the call in progress */
  uint64_t site;          /* its return address */
  uint64_t call_start;    /* full mode: CLOCK_MONOTONIC, ns */
  uint64_t last_end;      /* full mode: end of the previous event */
  uint32_t generation;    /* of the last release acted upon */
  int world_rank, world_size;
  MPI_Comm progress;      /* a private communicator to give MPI progress on */
  struct cohort_recent *recent; /* entry of the call in progress */
  /* recording: the addresses whose MODULE is in the trace (the last that was used) */
  uint64_t module_start, module_size;
  uint64_t program_start, program_size;
  uint64_t check;         /* hash of the completed calls, see cohort_check */
  uint64_t check_at;      /* event after which it is written or compared next */
  uint64_t grant_at;      /* replay: event after which the next control message is due */
  int last_call;          /* replay: the rank was ended within the call in progress, which is only begun */
};
extern struct cohort_global g;

/* ---- init.c */
int cohort_enter(uint32_t op, uint64_t site);  /* 0: the call is not ours to see; call the PMPI function and return */
void cohort_leave(void);                       /* the call was an event, and it is complete */
void cohort_poll_failed(void);                 /* the call was a poll that failed */
void cohort_fortran_site(uint64_t site);       /* the next call comes from there */
int cohort_init_begin(void);
void cohort_init_end(int outer, int rc);
/* for calls that are no events: their call site; 0: pass the call through */
uint64_t cohort_registry_enter(uint64_t site);
void cohort_registry_leave(void);
/* in kept.c: this thread is in a call that is shown */
extern __thread int cohort_within __attribute__((tls_model("initial-exec")));
int cohort_started(void);                      /* MPI is initialised, and so are we */
/* where the call in progress comes from, although a Fortran wrapper of ours makes it */
uint64_t cohort_take_site(uint64_t site);

int cohort_inside(void);                       /* this thread is inside MPI */
/* after cohort_enter said 0: where the program's call is that passes through because another thread is inside MPI; 0:
 * it is none */
uint64_t cohort_passing(void);
int cohort_short_enter(void);                  /* to add a record outside a call; 0: another thread is inside one */
void cohort_short_leave(void);

/* ---- threads.c */
struct cohort_thread {
  uint64_t id;
  uint32_t index;           /* in the trace, plus 1; 0: not declared */
  int known;                /* its id is the same in every run */
  int searched;             /* replay: for its stream */
  int lost;                 /* a value was, for want of memory */
  _Atomic int writing;
  int64_t ns;               /* of the last time, -1: it was none */
  int form;                 /* how its seconds were made of it */
  uint64_t last[COHORT_VALUE_RANDOM];
  struct cohort_buffer pending;
  const uint8_t *at, *end;  /* replay: its stream from here on */
  uint32_t numbers_kind, numbers_left; /* of the entry that at lies in */
  struct cohort_thread *next;
};
struct cohort_patience { uint64_t steps, waited_us, cpu, round; };
extern __thread uint64_t cohort_own_id __attribute__((tls_model("initial-exec")));
struct cohort_thread *cohort_self(void);       /* NULL: no memory */
struct cohort_thread *cohort_threads(void);
uint32_t cohort_thread_new_index(void);
uint64_t cohort_thread_id(void);
void cohort_turn_changes(void);
int cohort_my_turn(void);
void cohort_turns_open(const struct cohort_turn *first, uint64_t n);
int cohort_wait_for_others(struct cohort_patience *p);

/* ---- callers.c */
int cohort_is_program(uint64_t return_address);
int cohort_is_libstdcxx(uint64_t return_address);

/* ---- values.c: what another run would not be given */
extern int cohort_values_given;                /* they are recorded or replayed */
int cohort_values_wanted(void);
int cohort_values_open(const uint8_t *base, uint64_t size, const struct cohort_decisions *d);
void cohort_values_finalize(void);
void cohort_values_close(void);
/* replay: the recorded one. 0: ask, and record the answer */
int cohort_value_recorded(uint32_t kind, uint64_t *number, uint64_t site);
void cohort_value_record(uint32_t kind, uint64_t number);
const void *cohort_value_recorded_bytes(uint32_t kind, size_t *length, uint64_t site); /* likewise; NULL: ask */
void cohort_value_record_bytes(uint32_t kind, const void *bytes, size_t length);
/* replay: the next value, if it is one of bytes of that kind */
const void *cohort_value_peek(uint32_t kind, size_t *length);
void cohort_write_turn(struct cohort_thread *t, uint64_t steps);

/* ---- rma.c */
extern int cohort_windows_small;               /* windows that are looked at when an event ends */
void cohort_windows_look(void);

/* ---- clocks.c */
extern int cohort_clocks; /* the C library's clocks are recorded or replayed */
int cohort_true_clock_gettime(int clock, struct timespec *t);

/* ---- memory.c: memory that malloc does not know of */
void *cohort_map(size_t bytes);                /* zeroed; NULL when there is none */
void cohort_unmap(void *p, size_t bytes);
void *cohort_alloc(size_t bytes);              /* zeroed, from free lists by size */
void cohort_free(void *p, size_t bytes);
int cohort_reserve(struct cohort_buffer *b, size_t bytes); /* room for `bytes` in all; 0: none to be had */
uint64_t cohort_now(void);

/* ---- keymap.c: keys are not 0 */
struct keyslot { uint64_t key, value; };
struct keymap { struct keyslot *slots; uint64_t capacity, used; };
/* its value, until the next put or remove; NULL: there is none */
uint64_t *cohort_keymap_find(const struct keymap *m, uint64_t key);
int cohort_keymap_put(struct keymap *m, uint64_t key, uint64_t value);  /* 0: no memory */
void cohort_keymap_remove(struct keymap *m, uint64_t key);

/* ---- control.c */
void cohort_control_open(void);
void cohort_set_state(uint32_t state);
void cohort_stop(uint32_t reason);
void cohort_park(void);
void cohort_give_progress(void);               /* to all that this rank has under way, whoever waits for it */
void cohort_progress_close(void);
void cohort_wait_for_end(void) __attribute__((noreturn));
void cohort_linger(void) __attribute__((noreturn));
int cohort_replay_poll_will_fail(void);
void cohort_message(const char *text);
void cohort_refuse(const char *text);
void cohort_uncovered_outside(const char *call, uint64_t site); /* the same of what is no call of MPI */
void cohort_uncovered(const char *call);       /* the call in progress is not covered by record/replay */

/* ---- writer.c */
void cohort_trace_open(void);
void cohort_trace_close(void);
uint32_t cohort_crc32c(const uint8_t *data, size_t length);
void cohort_order_poll(uint32_t op);           /* the poll in progress succeeded */
void cohort_order_set(uint32_t op, int n, const int *indices);
void cohort_order_match(uint32_t op, int source, int tag, uint64_t back);
/* the post of a receive with a wildcard; which: its place in the array of a Startall */
void cohort_order_promise(uint32_t op, uint32_t which);
/* What a receive took that was posted `back` events ago; without a status: it was cancelled. In full mode only for
 * freed requests. */
void cohort_write_taken(uint32_t op, const MPI_Status *status, uint64_t back, uint32_t which);
/* An EVENT record: begin, put its fields, end. */
void cohort_event_begin(void);
void cohort_put_uv(uint64_t v);
void cohort_put_sv(int64_t v);
void cohort_put_u8(uint8_t v);
void cohort_event_end(void);
void cohort_write_note(const char *call);
void cohort_write_race(uint64_t event, uint32_t count, uint32_t stride, uint32_t op, int source, int tag,
                       uint32_t which);
struct cohort_undecided *cohort_trace_undecided(void); /* racing mode; NULL: no trace */
void cohort_write_comm(const struct cohort_comm *record);
void cohort_write_raw(const void *head, size_t n, const void *tail, size_t m); /* a record made elsewhere */
void cohort_write_check(uint32_t hash);        /* of the events up to g.events */

/* ---- sites.c */
/* of the loaded object that the address is in */
void cohort_object_range(uint64_t address, uint64_t *start, uint64_t *size);
uint32_t cohort_site_index(uint64_t return_address);
/* the module of a call is in the trace, so that its place can be told even of a rank that was killed */
void cohort_module_needed(uint64_t address);
void cohort_program_find(void);
void cohort_write_module(uint32_t index, uint64_t bias, const char *path, const uint8_t *id, size_t id_length);
void cohort_write_site(uint32_t index, uint32_t module, uint64_t offset);

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
/* MPI_Pack and MPI_Unpack, of MPI_BOTTOM too. */
int cohort_pack(const void *buf, int count, MPI_Datatype type, void *to, int room, int *position, MPI_Comm comm);
int cohort_unpack(const void *from, int size, int *position, void *buf, int count, MPI_Datatype type, MPI_Comm comm);
void cohort_type_size_forget(void);
void cohort_count_message(int dest, uint64_t bytes);
void cohort_put_send(MPI_Comm comm, int dest, int tag, uint64_t bytes);
void cohort_put_asked(MPI_Comm comm, int source, int tag);
void cohort_put_status(const MPI_Status *status);
void cohort_put_given(int given, const MPI_Status *status); /* not given: as from MPI_PROC_NULL */
int cohort_truncated(int rc);
int cohort_given(int rc, int wildcard);
void cohort_event_plain(void);                 /* full mode: the EVENT of a call that has no fields of its own */
void cohort_sent(MPI_Comm comm, int dest, int tag, uint64_t bytes);
void cohort_send_initialized(int rc, const void *buf, int count, MPI_Datatype type, MPI_Comm comm, int dest, int tag,
                             const MPI_Request *request);
void cohort_copy_name(char *to, size_t room, const char *from);

/* ---- content.c */
struct cohort_content { int known; uint64_t value; };
struct cohort_content cohort_content_of(const void *buf, int64_t count, MPI_Datatype type, int dest);
/* of which message that the last EVENT sent, from 0 */
void cohort_put_content(struct cohort_content c, uint32_t which);
/* full mode: of the message that was just sent */
void cohort_content(const void *buf, int64_t count, MPI_Datatype type, int dest);

/* ---- requests.c */
enum request_class {
  REQUEST_SEND = 1, REQUEST_RECEIVE = 2, REQUEST_COLLECTIVE = 3, REQUEST_OTHER = 4,
  REQUEST_TAKEN = 5 /* not in traces: a receive of what a matched probe took */
};
struct cohort_request {
  uint64_t handle;
  uint64_t post;          /* event that made it active */
  uint64_t init;          /* event of the _init of a persistent one, or 0 */
  uint32_t next;          /* next request with the same handle, or 0 */
  uint8_t cls;            /* enum request_class */
  uint8_t wildcard, persistent, active;
  uint8_t matched;        /* its message is already in the trace */
  uint8_t null_peer;
  uint8_t taken;          /* it receives what a matched probe took */
  uint8_t cancelling;     /* MPI_Cancel was called for it */
  uint8_t watched;        /* order mode: its completion goes into the trace */
  uint8_t op;             /* that made it active: of a receive with a wildcard, or of one that is cancelled */
  uint32_t which;         /* its place in the array of a Startall */
  uint64_t bytes;         /* of a persistent send, and what follows */
  int32_t dest, count;
  const void *buf;
  MPI_Datatype type;      /* full mode: ours (own_type), or a named one; MPI_DATATYPE_NULL: none */
  uint8_t own_type;
  uint32_t open;          /* see awaited.c; 0: none */
  MPI_Comm comm;          /* of a receive */
};
extern uint32_t cohort_request_count, cohort_watched_count;
struct cohort_request *cohort_request_add(MPI_Request handle, uint8_t cls, int null_peer);
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
/* The requests to hand to MPI for the program's: `requests` itself, or a copy in which others stand in for some. After
 * the call cohort_stood_in gives the program's array what became of them. */
MPI_Request *cohort_stand_in(int count, MPI_Request *requests);
void cohort_stood_in(int count, MPI_Request *requests, MPI_Request *real);
MPI_Request *cohort_standin_of(MPI_Request request); /* of an active one; NULL: none */
void cohort_persistent_freed(uint64_t handle);
int cohort_persistent_uses(MPI_Comm comm);     /* a receive with a wildcard does */

/* ---- cancel.c */
/* the request was cancelled; r: before it is removed */
void cohort_completed_cancelled(const struct cohort_request *r);
void cohort_grequest_started(int rc, MPI_Request request);
/* whether a request that the program has freed took a message; last: at MPI_Finalize */
void cohort_look_at_freed(int last);

/* ---- awaited.c */
extern uint32_t cohort_awaited_count;
/* asked; posted with */
void cohort_awaited_add(struct cohort_request *r, MPI_Request request, MPI_Comm comm, int source, int tag, int from,
                        int with);
void cohort_awaited_done(struct cohort_request *r);
void cohort_awaited_look(uint64_t post, MPI_Comm comm, int source, int tag);
void cohort_awaited_settle(void);              /* the message of one that was overtaken may be known by now */
/* A receive or probe that was posted by that event was given the message of `source`. */
static inline void cohort_awaited_took(uint64_t post, MPI_Comm comm, int source, int tag) {
  if (UNLIKELY(cohort_awaited_count > 0)) cohort_awaited_look(post, comm, source, tag);
}

/* ---- yield.c: blocking calls, with or without sched_yield */
int cohort_do_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op);
int cohort_do_recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status);
int cohort_do_probe(int source, int tag, MPI_Comm comm, MPI_Status *status);
int cohort_do_mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status);
int cohort_do_mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status);
int cohort_do_wait(MPI_Request *request, MPI_Status *status);
int cohort_do_waitall(int count, MPI_Request *requests, MPI_Status *statuses);
int cohort_do_waitany(int count, MPI_Request *requests, int *index, MPI_Status *status);
int cohort_do_waitsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses);
int cohort_do_sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                       int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                       MPI_Status *status);
int cohort_do_sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                               MPI_Comm comm, MPI_Status *status);
int cohort_may_test(MPI_Comm comm);            /* an error of a receive on it may be found by a test */
void cohort_synchronise(MPI_Comm comm);        /* yield: wait, yielding, until all members are here */
int cohort_yieldable(MPI_Comm comm);

/* ---- replay.c */
void cohort_replay_open(void);
void cohort_replay_check(uint64_t event, uint32_t op);
int cohort_replay_match(uint32_t op, int *source, int *tag); /* 0: was never matched */
extern uint32_t cohort_replay_place;                         /* for Startall: which of its array, set before */
/* the receive with exact arguments was cancelled: it takes no message */
int cohort_replay_cancelled(uint32_t op, uint32_t which);
int cohort_replay_poll(uint32_t op);                         /* 1: the poll succeeds */
int cohort_replay_set(uint32_t op, const uint32_t **indices);/* number of indices */
void cohort_replay_finalize(void);
void cohort_diverge(uint32_t recorded_op, uint64_t recorded_event, int rs, int rt, int as, int at)
    __attribute__((noreturn));
void cohort_diverge_value(uint32_t recorded, uint32_t actual, uint64_t site) __attribute__((noreturn));
void cohort_end_of_recording(void) __attribute__((noreturn));
int cohort_never_request(MPI_Request *request);
int cohort_is_never(MPI_Request request);
int cohort_never_free(MPI_Request *request);
void cohort_never_release(void);
void cohort_orders_open(void);                               /* control messages */
void cohort_orders_send(void);
void cohort_orders_close(void);
void cohort_replay_compare(uint32_t hash);                   /* of the events up to g.events */
static inline int cohort_is_poll(uint32_t op) {
  return op == COHORT_OP_IPROBE || op == COHORT_OP_IMPROBE ||
         (op >= COHORT_OP_TEST && op <= COHORT_OP_REQUEST_GET_STATUS);
}

/* ---- comms.c */
void cohort_comms_open(void);
struct cohort_comm *cohort_comm_find(MPI_Comm comm); /* registers one that it does not know; NULL only without memory */
uint32_t cohort_comm_index(MPI_Comm comm);
struct cohort_comm *cohort_comm_known(MPI_Comm comm);    /* NULL: it is not */
struct cohort_comm *cohort_comm_ref(uint64_t handle);    /* the lock is held; likewise */
void cohort_comm_unref(struct cohort_comm *c);
void cohort_comm_given(MPI_Comm comm, uint64_t site);
struct cohort_comm *cohort_comm_freeing(MPI_Comm comm);
void cohort_comm_freed(struct cohort_comm *c, int rc);
int cohort_world_ranks(MPI_Group group, int n, uint32_t *out);
void cohort_event_collective(int rc, MPI_Comm comm, int root, uint64_t bytes);
void cohort_collective_initialized(int rc, MPI_Comm comm, int root, uint64_t bytes, uint32_t op,
                                   const MPI_Request *request);
uint64_t cohort_bytes_v(const int *counts, MPI_Datatype type, MPI_Comm comm);
uint64_t cohort_bytes_w(const int *counts, const MPI_Datatype *types, MPI_Comm comm);
int cohort_is_root(MPI_Comm comm, int root);
int cohort_gives_root(MPI_Comm comm, int root);
uint32_t cohort_my_rank(MPI_Comm comm);
uint32_t cohort_out_degree(MPI_Comm comm);
uint64_t cohort_bytes_out(const int *counts, MPI_Datatype type, MPI_Comm comm);
uint64_t cohort_bytes_out_w(const int *counts, const MPI_Datatype *types, MPI_Comm comm);
uint64_t cohort_bytes_all(int count, MPI_Datatype type, MPI_Comm comm);

/* ---- registry.c: tables of handles that a debugger reads */
struct registry_table {
  uint64_t *published;
  struct cohort_slots *slots;
  uint64_t used, live, last; /* slot that was put last: what is made is soon used */
};
void *cohort_table_find(const struct registry_table *t, uint64_t handle);
/* what the handle led to before, or NULL; the record itself: there is no memory */
void *cohort_table_put(struct registry_table *t, uint64_t handle, void *record);
void cohort_table_remove(struct registry_table *t, uint64_t handle);
extern int cohort_at_once;       /* threads may call MPI at once: else there is nothing to lock */
void cohort_registry_lock_among_threads(void);
void cohort_registry_unlock_among_threads(void);
/* Threads may make datatypes at once; held for no MPI call that could wait. */
static inline void cohort_registry_lock(void) {
  if (UNLIKELY(cohort_at_once)) cohort_registry_lock_among_threads();
}
static inline void cohort_registry_unlock(void) {
  if (UNLIKELY(cohort_at_once)) cohort_registry_unlock_among_threads();
}
extern struct cohort_registry cohort_registry;
void cohort_registry_open(void);
uint64_t cohort_stack(uint64_t site, int of_request);
struct object_table {
  struct registry_table table;
  uint64_t created;
  int stacks; /* of requests: only if asked for */
  void (*release)(struct cohort_object *); /* gives up what a record refers to; the lock is held */
};
void *cohort_object_make(struct object_table *t, size_t bytes, uint64_t handle, uint64_t site);
void cohort_object_ref(struct cohort_object *o);
void cohort_object_unref(struct cohort_object *o);
void cohort_object_publish(struct cohort_object *o);
void cohort_object_set_name(struct cohort_object *o, const char *name);
void *cohort_object_get(struct object_table *t, uint64_t handle);
void cohort_object_put(struct cohort_object *o);
int cohort_object_again(struct object_table *t, uint64_t handle);
void cohort_object_publish_given(struct cohort_object *o);
void *cohort_object_freeing(struct object_table *t, uint64_t handle);
void cohort_object_freed(struct cohort_object *o, int rc);

/* ---- datatypes.c */
void cohort_datatypes_open(void);
struct cohort_datatype *cohort_datatype_ref(uint64_t handle); /* the lock is held; NULL: it is not known */
void cohort_datatype_unref(struct cohort_datatype *d);
void cohort_datatype_given(MPI_Datatype type);
void cohort_datatype_committed(MPI_Datatype type);
MPI_Fint cohort_datatype_c2f(MPI_Datatype type);         /* the program's Fortran is given it */
void cohort_datatype_in_fortran(MPI_Datatype type, MPI_Fint f); /* Fortran has it */
struct cohort_datatype *cohort_datatype_known(MPI_Datatype type);
int cohort_is_builtin(uint64_t handle);                  /* the MPI library's own object */

#include "kept.h"

#endif
