/* Racing mode: sending messages with a header. Up to COPY_MOST bytes header and payload are copied into one buffer;
 * above, or where the program's datatype is not contiguous and may be freed before the message is there, a struct
 * datatype over MPI_BOTTOM names both where they are. What is on the wire is the same, so sender and receiver need not
 * choose alike. The receiver does not know who will send when it posts, so the header has one size. */
#include "p2p.h"
#include "racing.h"
#include "carry.h"
#include "registry.h"

/* ---- payload */

struct payload cohort_payload(int count, MPI_Datatype type) {
  return (struct payload){cohort_bytes(count, type), cohort_type_is_plain(type)};
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
  if (LIKELY(cohort_type_is_plain(type))) {
    memcpy(buf, from, bytes);
    return MPI_SUCCESS;
  }
  uint64_t one = cohort_bytes(1, type);
  if (bytes % one == 0) return cohort_unpack(from, (int)bytes, &position, buf, (int)(bytes / one), type, comm);
  return PMPI_Sendrecv(from, (int)bytes, MPI_BYTE, 0, 0, buf, count, type, 0, 0, g.progress, MPI_STATUS_IGNORE);
}

int cohort_joined(void *header, const void *buf, int count, MPI_Datatype type, struct carried *out) {
  MPI_Aint at[2] = {0, 0};
  int lengths[2] = {(int)g_racing.header, count};
  MPI_Datatype types[2] = {MPI_BYTE, type};
  *out = (struct carried){MPI_BOTTOM, 1, MPI_DATATYPE_NULL};
  PMPI_Get_address(header, &at[0]);
  if (buf != MPI_BOTTOM) PMPI_Get_address((void *)buf, &at[1]);
  int rc = PMPI_Type_create_struct(2, lengths, at, types, &out->type);
  return rc == MPI_SUCCESS ? PMPI_Type_commit(&out->type) : rc;
}

/* ---- sending */

/* 0: the message goes without header: to MPI_PROC_NULL, out of the world, or with arguments that MPI is to refuse. */
static int headed(int count, MPI_Datatype type, int dest, MPI_Comm comm, uint32_t *to) {
  if (dest == MPI_PROC_NULL || comm == MPI_COMM_NULL || count < 0 || type == MPI_DATATYPE_NULL) return 0;
  *to = cohort_racing_peer(comm, dest);
  return *to != NOBODY;
}

/* The message to `to`; `direct`: the payload stays where it is. */
static int outgoing(uint8_t *wire, int direct, const struct payload *s, const void *buf, int count, MPI_Datatype type,
                    MPI_Comm comm, uint32_t to, struct carried *out) {
  *out = (struct carried){wire, (int)(g_racing.header + s->bytes), MPI_BYTE};
  int rc = direct ? cohort_joined(wire, buf, count, type, out)
                  : packed(wire + g_racing.header, buf, count, type, s, comm);
  if (rc == MPI_SUCCESS) cohort_racing_stamp(wire, to);
  return rc;
}

/* A send that nobody waits for: its request is an orphan, `wire` is given back when it is complete. */
static int forget(uint8_t *wire, size_t bytes, int dest, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = PMPI_Isend(wire, (int)bytes, MPI_BYTE, dest, tag, comm, &request);
  int complete = rc != MPI_SUCCESS;
  if (!complete) PMPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  if (complete) {
    cohort_wire_put(wire, bytes);
    return rc;
  }
  struct node sent = {.kind = NODE_SEND, .active = 1, .wire = wire, .wire_bytes = bytes};
  struct node *n = cohort_node_adopt(request, &sent);
  if (n == NULL || !cohort_orphan_add(n)) return cohort_yield_wait(&request, MPI_STATUS_IGNORE);
  cohort_orphans_poll();
  return rc;
}

/* Likewise, of a copy of the payload. */
static int send_and_forget(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                           uint32_t to) {
  struct payload s = cohort_payload(count, type);
  struct carried out;
  size_t bytes = g_racing.header + s.bytes;
  uint8_t *wire = bytes > INT32_MAX ? NULL : cohort_wire_get(bytes);
  if (wire == NULL) return MPI_ERR_NO_MEM;
  int rc = outgoing(wire, 0, &s, buf, count, type, comm, to, &out);
  if (rc == MPI_SUCCESS) return forget(wire, bytes, dest, tag, comm);
  cohort_wire_put(wire, bytes);
  return rc;
}

int cohort_racing_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op) {
  static union { uint8_t bytes[COPY_MOST]; uint64_t aligned; } wire;
  uint32_t to;
  if (UNLIKELY(!headed(count, type, dest, comm, &to))) return cohort_yield_send(buf, count, type, dest, tag, comm, op);
  /* The program's attached buffer is as big as its own messages need; ours are copied elsewhere. */
  if (op == COHORT_OP_BSEND) return send_and_forget(buf, count, type, dest, tag, comm, to);
  struct payload s = cohort_payload(count, type);
  struct carried out;
  int direct = g_racing.header + s.bytes > COPY_MOST;
  int rc = outgoing(wire.bytes, direct, &s, buf, count, type, comm, to, &out);
  if (rc != MPI_SUCCESS) return rc;
  rc = cohort_yield_send(out.buf, out.count, out.type, dest, tag, comm, op);
  if (direct) PMPI_Type_free(&out.type);
  if (UNLIKELY(cohort_orphan_count > 0)) cohort_orphans_poll();
  return rc;
}

void cohort_release(uint8_t *wire, size_t bytes, int direct, MPI_Datatype *type) {
  cohort_wire_put(wire, bytes);
  if (direct && *type != MPI_DATATYPE_NULL) PMPI_Type_free(type); /* it could not be made */
}

int cohort_racing_isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, uint32_t op,
                        MPI_Request *request) {
  uint32_t to;
  if (UNLIKELY(!headed(count, type, dest, comm, &to)))
    return cohort_isend(buf, count, type, dest, tag, comm, op, request);
  if (op == COHORT_OP_IBSEND) { /* complete at once, as far as the program can see */
    int rc = send_and_forget(buf, count, type, dest, tag, comm, to);
    return rc == MPI_SUCCESS ? PMPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, tag, comm, request) : rc;
  }
  struct payload s = cohort_payload(count, type);
  struct carried out;
  int direct = g_racing.header + s.bytes > COPY_MOST;
  size_t bytes = direct ? g_racing.header : g_racing.header + s.bytes;
  uint8_t *wire = cohort_wire_get(bytes);
  if (wire == NULL) return MPI_ERR_NO_MEM;
  int rc = outgoing(wire, direct, &s, buf, count, type, comm, to, &out);
  if (rc != MPI_SUCCESS) {
    cohort_wire_put(wire, bytes);
    return rc;
  }
  rc = cohort_isend(out.buf, out.count, out.type, dest, tag, comm, op, request);
  /* A request that is complete at once may be one that many sends share: it must not be in the table. Open MPI is
   * not asked, since it gives up the processor when a request is not complete; its shared request is an object of the
   * library. */
  int complete = rc != MPI_SUCCESS;
#ifdef OPEN_MPI
  complete |= cohort_is_builtin(HANDLE(*request));
#else
  if (!complete) PMPI_Request_get_status(*request, &complete, MPI_STATUS_IGNORE);
#endif
  struct node sent = {.kind = NODE_SEND, .active = 1, .wire = wire, .wire_bytes = bytes, .direct = (uint8_t)direct,
                      .type = out.type};
  if (complete)
    cohort_release(wire, bytes, direct, &out.type);
  else
    cohort_node_adopt(*request, &sent); /* no memory: the buffer is never given back */
  return rc;
}

/* ---- persistent sends: the program's handle is one of a persistent send of ours */

/* What the program has for a buffered one, which is complete as soon as it is started: nothing, sent to oneself. (MPICH
 * 4.0.2 takes one to MPI_PROC_NULL for inactive: Waitsome and its kin do not tell of it. Once that has been freed, its
 * persistent collectives stand still.) It is used again, and none is freed before MPI_Finalize. */
static struct cohort_buffer null_sends;
enum { NULL_TAG = 2 }; /* control.c has 1 */

static MPI_Request pop(struct cohort_buffer *b) {
  MPI_Request request;
  b->length -= sizeof request;
  memcpy(&request, b->data + b->length, sizeof request);
  return request;
}

static int null_send(MPI_Request *request) {
  if (null_sends.length == 0) return PMPI_Send_init(NULL, 0, MPI_BYTE, 0, NULL_TAG, g.progress, request);
  *request = pop(&null_sends);
  return MPI_SUCCESS;
}

int cohort_free_persistent(struct node *n, MPI_Request *request) {
  if (n->kind != NODE_BSEND || !cohort_append(&null_sends, request, sizeof *request)) return PMPI_Request_free(request);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

/* Who receives them: posted before they are started, so that they are complete then. */
static struct cohort_buffer null_receives;

static int null_receive(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (!cohort_reserve(&null_receives, null_receives.length + sizeof request)) return MPI_ERR_NO_MEM;
  int rc = PMPI_Irecv(NULL, 0, MPI_BYTE, 0, NULL_TAG, g.progress, &request);
  if (rc == MPI_SUCCESS) cohort_append(&null_receives, &request, sizeof request);
  return rc;
}

void cohort_null_received(void) {
  while (UNLIKELY(null_receives.length > 0)) {
    MPI_Request request = pop(&null_receives);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void cohort_null_sends_free(void) {
  while (null_sends.length > 0) {
    MPI_Request request = pop(&null_sends);
    PMPI_Request_free(&request);
  }
}

static int send_init(const struct carried *out, int dest, int tag, MPI_Comm comm, uint32_t op, MPI_Request *request) {
  switch (op) {
    case COHORT_OP_BSEND_INIT: return PMPI_Bsend_init(out->buf, out->count, out->type, dest, tag, comm, request);
    case COHORT_OP_SSEND_INIT: return PMPI_Ssend_init(out->buf, out->count, out->type, dest, tag, comm, request);
    case COHORT_OP_RSEND_INIT: return PMPI_Rsend_init(out->buf, out->count, out->type, dest, tag, comm, request);
    default: return PMPI_Send_init(out->buf, out->count, out->type, dest, tag, comm, request);
  }
}

int cohort_racing_send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                            uint32_t op, MPI_Request *request) {
  uint32_t to;
  struct carried out = {(void *)buf, count, type};
  if (!headed(count, type, dest, comm, &to)) return send_init(&out, dest, tag, comm, op, request);
  struct payload s = cohort_payload(count, type);
  int buffered = op == COHORT_OP_BSEND_INIT, rc = MPI_SUCCESS;
  struct node n = {.kind = buffered ? NODE_BSEND : NODE_SEND, .persistent = 1, .buf = (void *)buf, .count = count,
                   .type = type, .comm = comm, .dest = dest, .source = (int)to, .tag = tag};
  n.direct = !buffered && (g_racing.header + s.bytes > COPY_MOST || (!s.contiguous && s.bytes > 0));
  n.wire_bytes = n.direct || buffered ? g_racing.header : g_racing.header + s.bytes;
  n.wire = cohort_wire_get(n.wire_bytes);
  if (n.wire == NULL) return MPI_ERR_NO_MEM;
  out = (struct carried){n.wire, (int)n.wire_bytes, MPI_BYTE};
  if (n.direct) {
    rc = cohort_joined(n.wire, buf, count, type, &out);
    n.type = out.type;
  } else if (buffered && !s.contiguous) { /* the program may free its own before */
    rc = PMPI_Type_dup(type, &n.type);
    n.direct = 1;
  }
  /* Start sends a copy of a buffered one; what the program waits for is complete at once */
  if (rc == MPI_SUCCESS) rc = buffered ? null_send(request) : send_init(&out, dest, tag, comm, op, request);
  if (rc == MPI_SUCCESS && cohort_node_adopt(*request, &n) == NULL) rc = MPI_ERR_NO_MEM;
  if (rc != MPI_SUCCESS) cohort_release(n.wire, n.wire_bytes, n.direct, &n.type);
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
