/* Racing mode: receiving messages with a header, and probing for them. */
#include "p2p.h"
#include "racing.h"
#include "carry.h"
#include "large.h"
#include "registry.h"

/* The count of the payload in the status. */
static void set_bytes(MPI_Status *status, uint64_t payload) {
  if (LIKELY(payload <= INT32_MAX))
    PMPI_Status_set_elements(status, MPI_BYTE, (int)payload);
  else
    PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)payload);
}

static void without_header(MPI_Status *status) {
  uint64_t bytes = cohort_status_bytes(status);
  if (bytes >= g_racing.header) set_bytes(status, bytes - g_racing.header);
}

static int was_cancelled(const struct node *n, const MPI_Status *status) {
  int cancelled = 0;
  if (UNLIKELY(n->cancelled)) PMPI_Test_cancelled(status, &cancelled);
  return cancelled;
}

static struct receipt receipt_of(const struct node *n, const MPI_Status *status, uint32_t sender) {
  return (struct receipt){.event = n->event,
                          .post = n->post,
                          .op = n->op,
                          .which = n->which,
                          .comm = n->comm_index,
                          .sender = sender,
                          .asked_tag = n->tag,
                          .source = status->MPI_SOURCE,
                          .tag = status->MPI_TAG};
}

/* The message was cut off, or has no header: nothing is known of when it was sent, so all that it could have raced with
 * did. */
static void unknown(const struct node *n, const MPI_Status *status) {
  struct arrival a = {.comm = n->comm_index,
                      .sender = cohort_racing_peer(n->comm, status->MPI_SOURCE),
                      .tag = status->MPI_TAG,
                      .post = n->post};
  cohort_race_arrived(&a);
  struct receipt r = receipt_of(n, status, a.sender);
  if (n->any && !n->traced) cohort_race_trace(&r);
}

static void known(const struct node *n, const MPI_Status *status) {
  const struct wire_header *h = (const void *)n->wire;
  uint32_t sender = h->sender & WIRE_RANK;
  struct arrival a = {.comm = n->comm_index,
                      .sender = sender,
                      .tag = status->MPI_TAG,
                      .post = n->post,
                      .moment = cohort_racing_learn(h)};
  cohort_race_arrived(&a);
  if (!n->any || n->traced) return;
  struct receipt r = receipt_of(n, status, sender);
  cohort_race_received(&r);
}

void cohort_deliver(struct node *n, MPI_Status *status, int rc) {
  if (n->kind != NODE_RECEIVE) return;
  int cancelled = was_cancelled(n, status);
  if (n->delivered) { /* by MPI_Request_get_status */
    if (!cancelled) set_bytes(status, n->payload);
    return;
  }
  n->delivered = 1;
  if (cancelled || (rc != MPI_SUCCESS && !cohort_truncated(rc))) {
    cohort_race_open_done(n, NULL);
    return;
  }
  cohort_race_open_done(n, status);
  const struct wire_header *h = (const void *)n->wire;
  uint64_t bytes = cohort_status_bytes(status);
  n->payload = bytes > g_racing.header ? bytes - g_racing.header : 0;
  int cut = rc != MPI_SUCCESS || (!n->direct && bytes > n->wire_bytes); /* MPI_Request_get_status does not say so */
  int whole = !cut && bytes >= g_racing.header && (h->sender & ~WIRE_RANK) == WIRE_MAGIC &&
              (h->sender & WIRE_RANK) < (uint32_t)g.world_size;
  if (LIKELY(whole)) {
    if (!n->direct) cohort_unpacked(n->wire + g_racing.header, n->payload, n->buf, n->count, n->type, n->comm);
    known(n, status);
  } else {
    if (!cut) cohort_uncovered("a message that carries no header");
    unknown(n, status);
  }
  set_bytes(status, n->payload);
}

void cohort_finish(struct node *n, MPI_Status *status, int rc) {
  cohort_deliver(n, status, rc);
  if (n->persistent) {
    n->active = n->delivered = n->cancelled = 0;
    return;
  }
  cohort_release(n->wire, n->wire_bytes, n->direct, &n->type);
  cohort_node_remove(n);
}

/* A receive or probe is made now. */
static void post(struct node *n, int source, int tag) {
  n->source = source;
  n->tag = tag;
  n->event = g.events + 1;
  n->op = g.op;
  n->post = ++g_racing.posts;
  n->any = source == MPI_ANY_SOURCE && g.order;
  n->traced = n->overtaken = n->which = 0;
  n->active = 1;
  if (n->wire != NULL) ((struct wire_header *)n->wire)->sender = 0;
}

/* 0: the receive is made without header. */
static int headed(int count, MPI_Datatype type, int source, MPI_Comm comm) {
  return source != MPI_PROC_NULL && comm != MPI_COMM_NULL && count >= 0 && type != MPI_DATATYPE_NULL &&
         cohort_racing_headed(comm);
}

/* How it is received. `lasting`: the program may free its datatype before the message is there. */
static void plan(struct node *n, void *buf, int count, MPI_Datatype type, int lasting) {
  struct payload s = cohort_payload(count, type);
  n->kind = NODE_RECEIVE;
  n->buf = buf;
  n->count = count;
  n->type = type;
  n->direct = g_racing.header + s.bytes > COPY_MOST || (lasting && !s.contiguous && s.bytes > 0);
  n->wire_bytes = n->direct ? g_racing.header : g_racing.header + s.bytes;
}

static int incoming(struct node *n, struct carried *in) {
  *in = (struct carried){n->wire, (int)n->wire_bytes, MPI_BYTE};
  if (!n->direct) return MPI_SUCCESS;
  int rc = cohort_joined(n->wire, n->buf, n->count, n->type, in);
  n->type = in->type;
  return rc;
}

static void in_comm(struct node *n, MPI_Comm comm) {
  n->comm = comm;
  n->comm_index = cohort_comm_index(comm);
}

/* The end of a receive that nobody else has seen. */
static void received(struct node *n, MPI_Status *status, int rc) {
  cohort_deliver(n, status, rc);
  if (n->direct) PMPI_Type_free(&n->type);
  if (UNLIKELY(cohort_orphan_count > 0)) cohort_orphans_poll();
}

static union { uint8_t bytes[COPY_MOST]; uint64_t aligned; } receive_wire; /* of the blocking receive in progress */

int cohort_racing_recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                       MPI_Status *status) {
  if (UNLIKELY(!headed(count, type, source, comm))) return PMPI_Recv(buf, count, type, source, tag, comm, status);
  struct node n = {.wire = receive_wire.bytes};
  struct carried in;
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  plan(&n, buf, count, type, 0);
  in_comm(&n, comm);
  post(&n, source, tag);
  int rc = incoming(&n, &in);
  if (rc != MPI_SUCCESS) return rc;
  rc = cohort_yield_recv(in.buf, in.count, in.type, source, tag, comm, st);
  received(&n, st, rc);
  return rc;
}

/* After the call that was to make its request. NULL: there is none to follow, and *rc says why; without memory for the
 * node its buffer stays with MPI for good. */
static struct node *posted(struct node *planned, const MPI_Request *request, int *rc) {
  if (*rc != MPI_SUCCESS) {
    cohort_release(planned->wire, planned->wire_bytes, planned->direct, &planned->type);
    return NULL;
  }
  struct node *n = cohort_node_adopt(*request, planned);
  if (n == NULL) *rc = MPI_ERR_NO_MEM;
  return n;
}

int cohort_racing_irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                        MPI_Request *request) {
  if (UNLIKELY(!headed(count, type, source, comm))) return PMPI_Irecv(buf, count, type, source, tag, comm, request);
  struct node planned = {0};
  struct carried in;
  plan(&planned, buf, count, type, 1);
  planned.wire = cohort_wire_get(planned.wire_bytes);
  if (planned.wire == NULL) return MPI_ERR_NO_MEM;
  in_comm(&planned, comm);
  post(&planned, source, tag);
  int rc = incoming(&planned, &in);
  if (rc == MPI_SUCCESS) rc = PMPI_Irecv(in.buf, in.count, in.type, source, tag, comm, request);
  struct node *n = posted(&planned, request, &rc);
  if (n != NULL && n->any) cohort_race_open_add(n);
  return rc;
}

int cohort_racing_recv_init(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                            MPI_Request *request) {
  if (UNLIKELY(!headed(count, type, source, comm))) return PMPI_Recv_init(buf, count, type, source, tag, comm, request);
  struct node planned = {.persistent = 1, .source = source, .tag = tag};
  struct carried in;
  plan(&planned, buf, count, type, 1);
  planned.wire = cohort_wire_get(planned.wire_bytes);
  if (planned.wire == NULL) return MPI_ERR_NO_MEM;
  in_comm(&planned, comm);
  int rc = incoming(&planned, &in);
  if (rc == MPI_SUCCESS) rc = PMPI_Recv_init(in.buf, in.count, in.type, source, tag, comm, request);
  posted(&planned, request, &rc);
  return rc;
}

/* Before MPI starts them, in the order of the array: that is the order in which they match. */
static int ready(struct node *n, uint32_t which) {
  if (n == NULL || n->active) return MPI_SUCCESS;
  if (n->kind != NODE_RECEIVE) {
    n->active = 1;
    return cohort_send_again(n);
  }
  post(n, n->source, n->tag);
  n->which = which;
  if (n->any) cohort_race_open_add(n);
  return MPI_SUCCESS;
}

int cohort_racing_start(MPI_Request *request) {
  int rc = ready(node_of(*request), 0);
  if (rc == MPI_SUCCESS) rc = PMPI_Start(request);
  if (rc == MPI_SUCCESS) cohort_null_received();
  return rc;
}

int cohort_racing_startall(int count, MPI_Request *requests) {
  for (int i = 0; i < count; i++) {
    int rc = ready(node_of(requests[i]), (uint32_t)i);
    if (rc != MPI_SUCCESS) return rc;
  }
  int rc = PMPI_Startall(count, requests);
  if (rc == MPI_SUCCESS) cohort_null_received();
  return rc;
}

/* The receive is posted first, and both are under way while either is tested. */
static int exchange(struct node *n, const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                    int source, int recvtag, MPI_Comm comm, MPI_Status *status) {
  struct carried in;
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  n->wire = receive_wire.bytes;
  in_comm(n, comm);
  post(n, source, recvtag);
  int rc = incoming(n, &in);
  if (rc == MPI_SUCCESS) rc = PMPI_Irecv(in.buf, in.count, in.type, source, recvtag, comm, &receive);
  if (rc != MPI_SUCCESS) return rc;
  rc = cohort_racing_isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, COHORT_OP_ISEND, &send);
  if (rc != MPI_SUCCESS) {
    PMPI_Cancel(&receive);
    n->cancelled = 1;
    cohort_yield_wait(&receive, st);
    received(n, st, MPI_SUCCESS);
    return rc;
  }
  rc = cohort_yield_wait(&receive, st);
  int sent = cohort_racing_wait(&send, MPI_STATUS_IGNORE);
  received(n, st, rc);
  return rc != MPI_SUCCESS ? rc : sent;
}

int cohort_racing_sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                           void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                           MPI_Status *status) {
  if (source != MPI_PROC_NULL && !headed(recvcount, recvtype, source, comm))
    return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                         comm, status);
  if (source == MPI_PROC_NULL) {
    int rc = cohort_racing_send(sendbuf, sendcount, sendtype, dest, sendtag, comm, COHORT_OP_SEND);
    return rc == MPI_SUCCESS ? PMPI_Recv(recvbuf, recvcount, recvtype, source, recvtag, comm, status) : rc;
  }
  struct node n = {0};
  plan(&n, recvbuf, recvcount, recvtype, 0);
  return exchange(&n, sendbuf, sendcount, sendtype, dest, sendtag, source, recvtag, comm, status);
}

/* What is sent is copied before what is received comes into the same buffer. */
int cohort_racing_sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag, int source,
                                   int recvtag, MPI_Comm comm, MPI_Status *status) {
  static struct cohort_buffer copy;
  int length;
  if (source != MPI_PROC_NULL && !headed(count, type, source, comm))
    return PMPI_Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm, status);
  if (source == MPI_PROC_NULL) {
    int rc = cohort_racing_send(buf, count, type, dest, sendtag, comm, COHORT_OP_SEND);
    return rc == MPI_SUCCESS ? PMPI_Recv(buf, count, type, source, recvtag, comm, status) : rc;
  }
  const uint8_t *packed = cohort_packed(&copy, buf, count, type, comm, &length);
  if (packed == NULL) return MPI_ERR_BUFFER;
  struct node n = {0};
  plan(&n, buf, count, type, 0);
  return exchange(&n, packed, length, MPI_PACKED, dest, sendtag, source, recvtag, comm, status);
}

/* ---- probes. A blocking probe races as a receive does (Annai, section 4.1); what a nonblocking one found is always
 * recorded (section 4.2). */
static void probed(int source, int tag, MPI_Comm comm, const MPI_Status *status, struct node *message) {
  struct node n = {0};
  if (message == NULL) message = &n;
  in_comm(message, comm);
  post(message, source, tag);
  uint32_t sender = cohort_racing_peer(comm, status->MPI_SOURCE);
  cohort_race_seen(message->comm_index, sender, status->MPI_TAG, message->post);
  if (!message->any || cohort_is_poll(g.op)) return;
  struct receipt r = receipt_of(message, status, sender);
  cohort_race_received(&r);
}

int cohort_racing_probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = cohort_yield_probe(source, tag, comm, st);
  if (rc != MPI_SUCCESS || source == MPI_PROC_NULL || !cohort_racing_headed(comm)) return rc;
  without_header(st);
  probed(source, tag, comm, st, NULL);
  return rc;
}

int cohort_racing_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  int rc = PMPI_Iprobe(source, tag, comm, flag, status);
  if (UNLIKELY(cohort_orphan_count > 0)) cohort_orphans_poll();
  if (rc != MPI_SUCCESS || !*flag || status == MPI_STATUS_IGNORE || source == MPI_PROC_NULL ||
      !cohort_racing_headed(comm))
    return rc;
  without_header(status);
  cohort_race_seen(cohort_comm_index(comm), cohort_racing_peer(comm, status->MPI_SOURCE), status->MPI_TAG,
                   g_racing.posts + 1);
  return rc;
}

/* The message of a matched probe: which receives were posted before it, and in which communicator. */
static int matched(int rc, int source, int tag, MPI_Comm comm, MPI_Message message, MPI_Status *status) {
  if (rc != MPI_SUCCESS || message == MPI_MESSAGE_NO_PROC || !cohort_racing_headed(comm)) return rc;
  without_header(status);
  struct node *n = cohort_node_add(MESSAGE_KEY(message));
  if (n == NULL) return MPI_ERR_NO_MEM;
  n->kind = NODE_MESSAGE;
  probed(source, tag, comm, status, n);
  return rc;
}

int cohort_racing_improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = PMPI_Improbe(source, tag, comm, flag, message, st);
  return *flag ? matched(rc, source, tag, comm, *message, st) : rc;
}

int cohort_racing_mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  int rc = cohort_yield_mprobe(source, tag, comm, message, st);
  return matched(rc, source, tag, comm, *message, st);
}

/* The receive of a message that was matched: its place among the posts is the probe's. */
static int plan_matched(struct node *n, MPI_Message message, void *buf, int count, MPI_Datatype type, int lasting,
                        uint8_t *wire) {
  struct node *m = cohort_node_find(MESSAGE_KEY(message));
  if (m == NULL || count < 0 || type == MPI_DATATYPE_NULL) return 0;
  plan(n, buf, count, type, lasting);
  n->comm = m->comm;
  n->comm_index = m->comm_index;
  n->post = m->post;
  n->active = 1;
  n->wire = wire != NULL ? wire : cohort_wire_get(n->wire_bytes);
  if (n->wire != NULL) ((struct wire_header *)n->wire)->sender = 0;
  cohort_node_remove(m);
  return 1;
}

int cohort_racing_mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
  struct node n = {0};
  struct carried in;
  MPI_Status own, *st = status == MPI_STATUS_IGNORE ? &own : status;
  if (!plan_matched(&n, *message, buf, count, type, 0, receive_wire.bytes))
    return PMPI_Mrecv(buf, count, type, message, status);
  int rc = incoming(&n, &in);
  if (rc != MPI_SUCCESS) return rc;
  rc = PMPI_Mrecv(in.buf, in.count, in.type, message, st); /* its message is on the way: not a wait to yield in */
  received(&n, st, rc);
  return rc;
}

int cohort_racing_imrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) {
  struct node planned = {0};
  struct carried in;
  if (!plan_matched(&planned, *message, buf, count, type, 1, NULL))
    return PMPI_Imrecv(buf, count, type, message, request);
  if (planned.wire == NULL) return MPI_ERR_NO_MEM;
  int rc = incoming(&planned, &in);
  if (rc == MPI_SUCCESS) rc = PMPI_Imrecv(in.buf, in.count, in.type, message, request);
  posted(&planned, request, &rc);
  return rc;
}

/* ---- the exchanges of MPI 4 that are not covered. Their messages have a header all the same: who receives one expects
 * it. */
#if !defined(OPEN_MPI) && MPI_VERSION >= 4
static struct large fit(MPI_Count count, MPI_Datatype type) {
  struct large l;
  if (!large_count(&l, count, type, 1)) l.count = -1; /* which MPI refuses */
  return l;
}

/* The request is the receive's; what is sent is a copy. */
int cohort_racing_isendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                            MPI_Comm comm, MPI_Request *request) {
  struct large s = fit(sendcount, sendtype), r = fit(recvcount, recvtype);
  int rc = cohort_racing_irecv(recvbuf, r.count, r.type, source, recvtag, comm, request);
  if (rc == MPI_SUCCESS)
    rc = cohort_racing_send(sendbuf, s.count, s.type, dest, sendtag, comm, COHORT_OP_BSEND);
  large_free(&s);
  large_free(&r);
  return rc;
}

int cohort_racing_isendrecv_replace(void *buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                                    int recvtag, MPI_Comm comm, MPI_Request *request) {
  struct large l = fit(count, type);
  int rc = cohort_racing_send(buf, l.count, l.type, dest, sendtag, comm, COHORT_OP_BSEND);
  if (rc == MPI_SUCCESS) rc = cohort_racing_irecv(buf, l.count, l.type, source, recvtag, comm, request);
  large_free(&l);
  return rc;
}
#endif
