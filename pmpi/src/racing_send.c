/* Racing mode: sending messages with a header. Up to COPY_MOST bytes header and payload are copied into one buffer;
 * above, or where the program's datatype is not contiguous and may be freed before the message is there, a struct
 * datatype over MPI_BOTTOM names both where they are. What is on the wire is the same, so sender and receiver need not
 * choose alike. The receiver does not know who will send when it posts, so the header has one size. */
#include "p2p.h"
#include "racing.h"
#include "carry.h"
#include "registry.h"

#include <sched.h>

/* ---- payload */
/* Only named types are known to be contiguous; their handles are never used for another. */
static int contiguous(MPI_Datatype type) {
  static struct { uint64_t handle; int answer; } seen[64];
  uint64_t handle = HANDLE(type);
  unsigned i = (unsigned)(handle * 0x9E3779B97F4A7C15u >> 58);
  if (LIKELY(seen[i].handle == handle && handle != 0)) return seen[i].answer;
  int a, b, c, combiner = MPI_COMBINER_STRUCT, size = 0;
  MPI_Aint lb = 0, extent = 0;
  if (PMPI_Type_get_envelope(type, &a, &b, &c, &combiner) != MPI_SUCCESS || combiner != MPI_COMBINER_NAMED) return 0;
  int ok = PMPI_Type_size(type, &size) == MPI_SUCCESS && PMPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS;
  seen[i].handle = handle;
  seen[i].answer = ok && lb == 0 && size == extent;
  return seen[i].answer;
}

struct payload cohort_payload(int count, MPI_Datatype type) {
  return (struct payload){cohort_bytes(count, type), contiguous(type)};
}

static int packed(void *to, const void *buf, int count, MPI_Datatype type, const struct payload *s, MPI_Comm comm) {
  int position = 0;
  if (LIKELY(s->contiguous)) {
    if (s->bytes > 0) memcpy(to, buf, s->bytes);
    return MPI_SUCCESS;
  }
  if (s->bytes == 0) return MPI_SUCCESS;
  int rc = cohort_pack(buf, count, type, to, (int)s->bytes, &position, comm);
  return rc != MPI_SUCCESS || (uint64_t)position == s->bytes ? rc : MPI_ERR_INTERN;
}

/* The message may be shorter than the receive, and end within an element. */
int cohort_unpacked(const void *from, uint64_t bytes, void *buf, int count, MPI_Datatype type, MPI_Comm comm) {
  int position = 0;
  if (bytes == 0) return MPI_SUCCESS;
  if (LIKELY(contiguous(type))) {
    memcpy(buf, from, bytes);
    return MPI_SUCCESS;
  }
  uint64_t one = cohort_bytes(1, type);
  if (bytes % one == 0) return cohort_unpack(from, (int)bytes, &position, buf, (int)(bytes / one), type, comm);
  return PMPI_Sendrecv(from, (int)bytes, MPI_BYTE, 0, 0, buf, count, type, 0, 0, g.progress, MPI_STATUS_IGNORE);
}

/* Header and payload where they are. */
int cohort_joined(void *header, const void *buf, int count, MPI_Datatype type, MPI_Datatype *both) {
  MPI_Aint at[2] = {0, 0};
  int lengths[2] = {(int)g_racing.header, count};
  MPI_Datatype types[2] = {MPI_BYTE, type};
  PMPI_Get_address(header, &at[0]);
  if (buf != MPI_BOTTOM) PMPI_Get_address((void *)buf, &at[1]);
  int rc = PMPI_Type_create_struct(2, lengths, at, types, both);
  return rc == MPI_SUCCESS ? PMPI_Type_commit(both) : rc;
}

/* ---- sending */

/* What MPI is given instead of the program's buffer. */
struct outgoing { void *buf; int count; MPI_Datatype type; };

/* 0: the message goes without header: to MPI_PROC_NULL, out of the world, or with arguments that MPI is to refuse. */
static int headed(int count, MPI_Datatype type, int dest, MPI_Comm comm, uint32_t *to) {
  if (dest == MPI_PROC_NULL || comm == MPI_COMM_NULL || count < 0 || type == MPI_DATATYPE_NULL) return 0;
  *to = cohort_racing_peer(comm, dest);
  return *to != NOBODY;
}

static int dispatch(const struct outgoing *o, int dest, int tag, MPI_Comm comm, uint32_t op, MPI_Request *request) {
  switch (op) {
  case COHORT_OP_SSEND:
  case COHORT_OP_ISSEND: return PMPI_Issend(o->buf, o->count, o->type, dest, tag, comm, request);
  case COHORT_OP_RSEND:
  case COHORT_OP_IRSEND: return PMPI_Irsend(o->buf, o->count, o->type, dest, tag, comm, request);
  default: return PMPI_Isend(o->buf, o->count, o->type, dest, tag, comm, request);
  }
}

static int dispatch_blocking(const struct outgoing *o, int dest, int tag, MPI_Comm comm, uint32_t op) {
  switch (op) {
    case COHORT_OP_SSEND: return PMPI_Ssend(o->buf, o->count, o->type, dest, tag, comm);
    case COHORT_OP_RSEND: return PMPI_Rsend(o->buf, o->count, o->type, dest, tag, comm);
    default: return PMPI_Send(o->buf, o->count, o->type, dest, tag, comm);
  }
}

int cohort_wait_raw(MPI_Request *request, MPI_Status *status) {
  if (!g.yield) return PMPI_Wait(request, status);
  for (;;) {
    int flag = 0;
    int rc = PMPI_Test(request, &flag, status);
    if (rc != MPI_SUCCESS || flag) return rc;
    sched_yield();
  }
}

static int send_plain(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op) {
  struct outgoing o = {(void *)buf, count, type};
  return op == COHORT_OP_BSEND ? PMPI_Bsend(buf, count, type, dest, tag, comm)
                               : dispatch_blocking(&o, dest, tag, comm, op);
}

/* A send that goes on by itself: its request is an orphan, `wire` is given back when it is complete. */
static int forget(uint8_t *wire, size_t bytes, int dest, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = PMPI_Isend(wire, (int)bytes, MPI_BYTE, dest, tag, comm, &request);
  int complete = rc != MPI_SUCCESS;
  if (!complete) PMPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  if (complete) {
    cohort_wire_put(wire, bytes);
    return rc;
  }
  struct node *n = cohort_node_add(HANDLE(request));
  if (n == NULL) return cohort_wait_raw(&request, MPI_STATUS_IGNORE);
  n->request = request;
  n->kind = NODE_SEND;
  n->active = 1;
  n->wire = wire;
  n->wire_bytes = bytes;
  if (!cohort_orphan_add(n)) return cohort_wait_raw(&n->request, MPI_STATUS_IGNORE);
  cohort_orphans_poll();
  return rc;
}

/* Likewise, of a copy of the payload. */
static int send_and_forget(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                           uint32_t to) {
  struct payload s = cohort_payload(count, type);
  size_t bytes = g_racing.header + s.bytes;
  uint8_t *wire = bytes > INT32_MAX ? NULL : cohort_wire_get(bytes);
  if (wire == NULL) return MPI_ERR_NO_MEM;
  int rc = packed(wire + g_racing.header, buf, count, type, &s, comm);
  if (rc != MPI_SUCCESS) {
    cohort_wire_put(wire, bytes);
    return rc;
  }
  cohort_racing_stamp(wire, to);
  return forget(wire, bytes, dest, tag, comm);
}

/* The program's attached buffer is as big as its own messages need; ours are copied elsewhere. */
static int bsend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  uint32_t to;
  if (!headed(count, type, dest, comm, &to)) return PMPI_Bsend(buf, count, type, dest, tag, comm);
  return send_and_forget(buf, count, type, dest, tag, comm, to);
}

int cohort_racing_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op) {
  static union { uint8_t bytes[COPY_MOST]; uint64_t aligned; } wire;
  uint32_t to;
  if (UNLIKELY(!headed(count, type, dest, comm, &to))) return send_plain(buf, count, type, dest, tag, comm, op);
  if (op == COHORT_OP_BSEND) return bsend(buf, count, type, dest, tag, comm);
  struct payload s = cohort_payload(count, type);
  struct outgoing o = {wire.bytes, (int)(g_racing.header + s.bytes), MPI_BYTE};
  int copy = g_racing.header + s.bytes <= COPY_MOST;
  int rc = copy ? packed(wire.bytes + g_racing.header, buf, count, type, &s, comm)
                : cohort_joined(wire.bytes, buf, count, type, &o.type);
  if (rc != MPI_SUCCESS) return rc;
  if (!copy) {
    o.buf = MPI_BOTTOM;
    o.count = 1;
  }
  cohort_racing_stamp(wire.bytes, to);
  if (g.yield) {
    MPI_Request request = MPI_REQUEST_NULL;
    rc = dispatch(&o, dest, tag, comm, op, &request);
    if (rc == MPI_SUCCESS) rc = cohort_wait_raw(&request, MPI_STATUS_IGNORE);
  } else {
    rc = dispatch_blocking(&o, dest, tag, comm, op);
  }
  if (!copy) PMPI_Type_free(&o.type);
  if (UNLIKELY(cohort_orphan_count > 0)) cohort_orphans_poll();
  return rc;
}

static int isend_plain(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op,
                       MPI_Request *request) {
  struct outgoing o = {(void *)buf, count, type};
  return op == COHORT_OP_IBSEND ? PMPI_Ibsend(buf, count, type, dest, tag, comm, request)
                                : dispatch(&o, dest, tag, comm, op, request);
}

void cohort_release(uint8_t *wire, size_t bytes, int direct, MPI_Datatype *type) {
  cohort_wire_put(wire, bytes);
  if (direct) PMPI_Type_free(type);
}

int cohort_racing_isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op,
                   MPI_Request *request) {
  uint32_t to;
  if (UNLIKELY(!headed(count, type, dest, comm, &to)))
    return isend_plain(buf, count, type, dest, tag, comm, op, request);
  if (op == COHORT_OP_IBSEND) { /* complete at once, as far as the program can see */
    int rc = send_and_forget(buf, count, type, dest, tag, comm, to);
    return rc == MPI_SUCCESS ? PMPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, tag, comm, request) : rc;
  }
  struct payload s = cohort_payload(count, type);
  int direct = g_racing.header + s.bytes > COPY_MOST;
  size_t bytes = direct ? g_racing.header : g_racing.header + s.bytes;
  uint8_t *wire = cohort_wire_get(bytes);
  if (wire == NULL) return MPI_ERR_NO_MEM;
  struct outgoing o = {wire, (int)bytes, MPI_BYTE};
  int rc = direct ? cohort_joined(wire, buf, count, type, &o.type)
                  : packed(wire + g_racing.header, buf, count, type, &s, comm);
  if (rc != MPI_SUCCESS) {
    cohort_wire_put(wire, bytes);
    return rc;
  }
  if (direct) {
    o.buf = MPI_BOTTOM;
    o.count = 1;
  }
  cohort_racing_stamp(wire, to);
  rc = dispatch(&o, dest, tag, comm, op, request);
  /* A request that is complete at once may be one that many sends share: it must not stand in the table. Open MPI is
   * not asked, since it gives up the processor when a request is not complete; its shared request is an object of the
   * library. */
  int complete = rc != MPI_SUCCESS;
#ifdef OPEN_MPI
  complete |= cohort_is_builtin(HANDLE(*request));
#else
  if (!complete) PMPI_Request_get_status(*request, &complete, MPI_STATUS_IGNORE);
#endif
  struct node *n = complete ? NULL : cohort_node_add(HANDLE(*request));
  if (complete) {
    cohort_release(wire, bytes, direct, &o.type);
    return rc;
  }
  if (n == NULL) return rc; /* no memory: the buffer is never given back */
  n->request = *request;
  n->kind = NODE_SEND;
  n->active = 1;
  n->wire = wire;
  n->wire_bytes = bytes;
  n->direct = (uint8_t)direct;
  n->type = o.type;
  return rc;
}

/* ---- persistent sends: the program's handle is one of a persistent send of ours */

/* What the program has for a buffered one, which is complete as soon as it is started: nothing, sent to oneself. (MPICH
 * 4.0.2 takes one to MPI_PROC_NULL for inactive: Waitsome and its kin do not tell of it. Once that has been freed, its
 * persistent collectives stand still.) It is used again, and none is freed before MPI_Finalize. */
static struct cohort_buffer null_sends;
enum { NULL_TAG = 2 }; /* control.c has 1 */

static int null_send(MPI_Request *request) {
  if (null_sends.length == 0) return PMPI_Send_init(NULL, 0, MPI_BYTE, 0, NULL_TAG, g.progress, request);
  null_sends.length -= sizeof *request;
  memcpy(request, null_sends.data + null_sends.length, sizeof *request);
  return MPI_SUCCESS;
}

int cohort_free_persistent(struct node *n, MPI_Request *request) {
  if (n->kind != NODE_BSEND || !cohort_reserve(&null_sends, null_sends.length + sizeof *request))
    return PMPI_Request_free(request);
  memcpy(null_sends.data + null_sends.length, request, sizeof *request);
  null_sends.length += sizeof *request;
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

/* Who takes them: posted before they are started, so that they are complete then. */
static struct cohort_buffer null_receives;

static int null_receive(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (!cohort_reserve(&null_receives, null_receives.length + sizeof request)) return MPI_ERR_NO_MEM;
  int rc = PMPI_Irecv(NULL, 0, MPI_BYTE, 0, NULL_TAG, g.progress, &request);
  if (rc != MPI_SUCCESS) return rc;
  memcpy(null_receives.data + null_receives.length, &request, sizeof request);
  null_receives.length += sizeof request;
  return MPI_SUCCESS;
}

void cohort_null_received(void) {
  for (MPI_Request request; UNLIKELY(null_receives.length > 0);) {
    null_receives.length -= sizeof request;
    memcpy(&request, null_receives.data + null_receives.length, sizeof request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void cohort_null_sends_free(void) {
  MPI_Request request;
  for (; null_sends.length > 0; PMPI_Request_free(&request)) null_send(&request);
}

int cohort_racing_send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op,
                       MPI_Request *request) {
  uint32_t to;
  int with_header = headed(count, type, dest, comm, &to);
  struct payload s = with_header ? cohort_payload(count, type) : (struct payload){0, 0};
  int buffered = op == COHORT_OP_BSEND_INIT;
  int direct = with_header && !buffered && (g_racing.header + s.bytes > COPY_MOST || (!s.contiguous && s.bytes > 0));
  struct outgoing o = {(void *)buf, count, type};
  size_t bytes = direct || buffered ? g_racing.header : g_racing.header + s.bytes;
  uint8_t *wire = NULL;
  if (with_header) {
    wire = cohort_wire_get(bytes);
    if (wire == NULL) return MPI_ERR_NO_MEM;
    o = (struct outgoing){wire, (int)bytes, MPI_BYTE};
    int rc = direct ? cohort_joined(wire, buf, count, type, &o.type) : MPI_SUCCESS;
    if (rc != MPI_SUCCESS) return rc;
    if (direct) {
      o.buf = MPI_BOTTOM;
      o.count = 1;
    }
  }
  int rc;
  if (buffered && with_header) { /* Start sends a copy; what the program waits for is complete at once */
    rc = s.contiguous ? MPI_SUCCESS : PMPI_Type_dup(type, &o.type); /* the program may free its own before */
    direct = rc == MPI_SUCCESS && !s.contiguous;
    if (rc == MPI_SUCCESS) rc = null_send(request);
  } else if (buffered) {
    rc = PMPI_Bsend_init(o.buf, o.count, o.type, dest, tag, comm, request);
  } else if (op == COHORT_OP_SSEND_INIT) {
    rc = PMPI_Ssend_init(o.buf, o.count, o.type, dest, tag, comm, request);
  } else if (op == COHORT_OP_RSEND_INIT) {
    rc = PMPI_Rsend_init(o.buf, o.count, o.type, dest, tag, comm, request);
  } else {
    rc = PMPI_Send_init(o.buf, o.count, o.type, dest, tag, comm, request);
  }
  struct node *n = rc == MPI_SUCCESS && with_header ? cohort_node_add(HANDLE(*request)) : NULL;
  if (n == NULL) {
    if (with_header) cohort_release(wire, bytes, direct, &o.type);
    return rc == MPI_SUCCESS && with_header ? MPI_ERR_NO_MEM : rc;
  }
  n->request = *request;
  n->kind = buffered ? NODE_BSEND : NODE_SEND;
  n->persistent = 1;
  n->wire = wire;
  n->wire_bytes = bytes;
  n->buf = (void *)buf;
  n->count = count;
  n->direct = (uint8_t)direct;
  n->type = direct ? o.type : type;
  n->comm = comm;
  n->dest = dest;
  n->source = (int)to;
  n->tag = tag;
  return rc;
}

/* Start of a persistent send. */
int cohort_send_again(struct node *n) {
  struct payload s = {n->wire_bytes - g_racing.header, 1};
  if (n->kind == NODE_BSEND) {
    int rc = null_receive();
    return rc == MPI_SUCCESS ? send_and_forget(n->buf, n->count, n->type, n->dest, n->tag, n->comm, (uint32_t)n->source)
                             : rc;
  }
  cohort_racing_stamp(n->wire, (uint32_t)n->source);
  return n->direct ? MPI_SUCCESS : packed(n->wire + g_racing.header, n->buf, n->count, n->type, &s, n->comm);
}
