/* Racing mode (recording only): messages of the program carry a header with vector time, and a receive whose message
 * could have been another one is traced. What the parts of it share. The transport (racing_p2p.c, racing_completion.c)
 * carries header and payload; racing.c keeps vector time; racing_race.c decides what is traced; racing_requests.c knows
 * the requests under way. */
#ifndef COHORT_RACING_H
#define COHORT_RACING_H
#include "core.h"

/* ---- racing.c: vector time */

/* A clock counts a rank's receives from MPI_ANY_SOURCE, probes included: only these can race, so nothing else needs to
 * be told apart, and a rank that makes none has a clock that never changes and is never sent. */
enum { ENTRIES_MOST = 13, NOBODY = UINT32_MAX, CLOCK_LAST = UINT32_MAX };
#define WIRE_MAGIC 0xC5000000u
#define WIRE_RANK 0x00ffffffu

struct wire_entry { uint32_t rank, clock; };

/* In front of the payload of every message, of g_racing.header bytes: as many entries as can be of use in a world of
 * that size, ENTRIES_MOST at most. All ranks are on machines of one kind. */
struct wire_header {
  uint32_t sender; /* world rank; WIRE_MAGIC in the highest byte */
  uint32_t number; /* of the message among those from this sender to this receiver, from 1 */
  uint32_t yours;  /* the clock of the receiver as the sender knows it */
  uint32_t mine;   /* the clock of the sender */
  uint32_t epoch;  /* synchronising collectives over all ranks that the sender has left */
  uint32_t roots;  /* broadcasts to all ranks from the receiver that the sender has left */
  struct wire_entry entries[]; /* up to the first with rank NOBODY */
};

/* What a sender knew of this rank. Each field never decreases from one message of a sender to its next. */
struct moment { uint32_t clock, epoch, roots; };

struct racing_state {
  uint32_t header;           /* bytes of it */
  uint32_t clock;            /* this rank's */
  uint32_t entered, left;    /* synchronising collectives over all ranks */
  uint32_t rooted;           /* broadcasts to all ranks from this one */
  uint64_t posts;            /* receives posted, matched probes included */
};
extern struct racing_state g_racing;

void cohort_racing_open(void);
void cohort_racing_finalize(void);
void cohort_racing_collective(uint32_t op, MPI_Comm comm, int count, MPI_Datatype type, int root);
void cohort_racing_collected(uint32_t op, MPI_Comm comm, int count, MPI_Datatype type, int root, int rc);
void cohort_racing_stamp(void *header, uint32_t to); /* the header of a message to that world rank, which is sent now */
struct moment cohort_racing_learn(const struct wire_header *h);
uint32_t cohort_racing_peer(MPI_Comm comm, int rank); /* its world rank; NOBODY: messages on `comm` have no header */
int cohort_racing_headed(MPI_Comm comm);
/* world ranks that may send on it, by its index; NULL: all */
const uint32_t *cohort_racing_senders(uint32_t comm, uint32_t *n);
/* no message of the sender that is still to come was sent before m */
int cohort_racing_past(uint32_t sender, const struct moment *m);
/* how many are still to come; known in MPI_Finalize only */
uint32_t cohort_racing_unreceived(uint32_t sender);

/* ---- racing_race.c */
struct arrival {
  uint32_t comm;         /* index of the communicator */
  uint32_t sender;       /* world rank */
  int tag;
  uint64_t post;         /* g_racing.posts of the receive that took it */
  struct moment moment;  /* what the sender knew when it sent it */
};
struct receipt {
  uint64_t event;        /* of the call that asked */
  uint64_t post;
  uint32_t op, which;
  uint32_t comm, sender; /* index; world rank */
  int asked_tag, source, tag; /* as MPI has them */
};
void cohort_race_open(void);
void cohort_race_arrived(const struct arrival *a);
/* a message was there for a call posted then: a receive, or a probe */
void cohort_race_seen(uint32_t comm, uint32_t sender, int tag, uint64_t post);
void cohort_race_received(const struct receipt *r);  /* a receive or probe from MPI_ANY_SOURCE is complete */
void cohort_race_trace(const struct receipt *r);     /* trace it at once */
struct node;
void cohort_race_open_add(struct node *n);
void cohort_race_open_done(struct node *n, const MPI_Status *status); /* what it matched is known; NULL: nothing */
void cohort_race_look(void);                         /* the message of one that was overtaken may be known by now */
void cohort_race_settle(void);                       /* MPI_Finalize: nothing stays undecided */

/* ---- racing_requests.c: requests that the transport has to do with, by handle; messages of MPI_Mprobe too */
enum node_kind { NODE_SEND = 1, NODE_RECEIVE = 2, NODE_BSEND = 3, NODE_MESSAGE = 4 };
struct node {
  struct cohort_link link;   /* of open receives from MPI_ANY_SOURCE */
  MPI_Request request;
  uint64_t key;
  uint8_t kind, persistent, active, cancelled;
  uint8_t any;               /* a receive from MPI_ANY_SOURCE that is to be looked at */
  uint8_t direct;            /* payload goes to or comes from the program's buffer, by `type` */
  uint8_t delivered;         /* the message is with the program and is accounted for; of a send: nothing */
  uint8_t traced;            /* the outcome is in the trace already */
  uint8_t freed;             /* the program has given the request up */
  uint8_t open;              /* linked */
  /* 1: while it was open another receive took a message of `overtaker` that it could have taken; 2: of several senders
   * */
  uint8_t overtaken;
  uint8_t *wire;             /* header, and the payload unless it is direct */
  size_t wire_bytes;
  void *buf;                 /* the program's */
  int count;
  MPI_Datatype type;         /* the program's; direct: header and payload, to be freed */
  MPI_Comm comm;
  uint32_t comm_index, op, which, overtaker;
  int source, tag;           /* asked; a persistent send's source is the destination's world rank */
  int dest;                  /* of a persistent send */
  uint64_t event, post, payload;
};
extern uint32_t cohort_node_count;
struct node *cohort_node_add(uint64_t key);            /* NULL: no memory */
struct node *cohort_node_adopt(MPI_Request request, const struct node *as); /* likewise, with the contents of `as` */
struct node *cohort_node_find(uint64_t key);           /* NULL: none */
void cohort_node_remove(struct node *n);
void cohort_node_renamed(uint64_t before, MPI_Request after);
static inline struct node *node_of(MPI_Request request) {
  return request == MPI_REQUEST_NULL ? NULL : cohort_node_find(HANDLE(request));
}
#define MESSAGE_KEY(m) (HANDLE(m) | 1ull << 63)
uint8_t *cohort_wire_get(size_t bytes);                /* memory for a message; NULL: none */
void cohort_wire_put(uint8_t *wire, size_t bytes);
int cohort_orphan_add(struct node *n);                 /* nobody will ask for its completion; 0: no memory */
void cohort_orphans_poll(void);

extern size_t cohort_orphan_count;

/* ---- racing_send.c, racing_receive.c */
/* Header and payload up to this size are copied into one buffer; a struct datatype names longer ones where they are.
 * Measured between two processes on one host, us a message (bare, copied, named): Open MPI 2 KB 0.2, 0.3, 0.7; 4 KB
 * 2.0, 2.4, 0.8; 32 KB 4.1, 4.7, 1.5. MPICH 4 KB 1.0, 0.4, 3.4; 8 KB 1.2, 0.6, 5.8; 16 KB 5.0, 5.2, 1.5; 32 KB 6.9,
 * 5.2, 2.0. Named ones are the faster where the MPI no longer sends at once: it then copies through shared memory piece
 * by piece, and not through the kernel. */
#ifdef OPEN_MPI
enum { COPY_MOST = 4 << 10 };
#else
enum { COPY_MOST = 16 << 10 };
#endif
struct payload { uint64_t bytes; int contiguous; };
struct carried { void *buf; int count; MPI_Datatype type; }; /* what MPI is given instead of the program's buffer */
struct payload cohort_payload(int count, MPI_Datatype type);
int cohort_unpacked(const void *from, uint64_t bytes, void *buf, int count, MPI_Datatype type, MPI_Comm comm);
/* Header and payload where they are; out->type is to be freed. */
int cohort_joined(void *header, const void *buf, int count, MPI_Datatype type, struct carried *out);
void cohort_release(uint8_t *wire, size_t bytes, int direct, MPI_Datatype *type);
int cohort_send_again(struct node *n);
void cohort_null_received(void); /* after the start of what cohort_send_again was called for */
int cohort_free_persistent(struct node *n, MPI_Request *request); /* one that is not active */
void cohort_null_sends_free(void);
/* its operation is complete: payload to the program, race check, the payload's count in the status */
void cohort_deliver(struct node *n, MPI_Status *status, int rc);
void cohort_finish(struct node *n, MPI_Status *status, int rc);  /* likewise, and the request is gone */

int cohort_racing_isendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                            MPI_Comm comm, MPI_Request *request);
int cohort_racing_isendrecv_replace(void *buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                                    int recvtag, MPI_Comm comm, MPI_Request *request);

#endif
