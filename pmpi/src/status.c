/* Messages as the trace has them: peers, tags, bytes; and the counters. */
#include "completion.h"
#include "p2p.h"
#include "registry.h"
#include "trace.h"
#include "tracking.h"

static MPI_Datatype last_type = MPI_DATATYPE_NULL;
static uint64_t last_size;

void cohort_type_size_forget(void) { last_type = MPI_DATATYPE_NULL; }

uint64_t cohort_bytes(int count, MPI_Datatype type) {
  if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
  if (UNLIKELY(type != last_type)) {
    MPI_Count size = 0;
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
    last_type = type;
    last_size = (uint64_t)size;
  }
  return (uint64_t)count * last_size;
}

uint64_t cohort_status_bytes(const MPI_Status *status) {
  int n = 0;
  if (LIKELY(PMPI_Get_count((MPI_Status *)status, MPI_BYTE, &n) == MPI_SUCCESS && n != MPI_UNDEFINED))
    return (uint64_t)n;
  MPI_Count x = 0;
  if (PMPI_Get_elements_x((MPI_Status *)status, MPI_BYTE, &x) != MPI_SUCCESS || x < 0) return 0;
  return (uint64_t)x;
}

int cohort_envelope(MPI_Datatype type, struct envelope *e) {
#if !defined(OPEN_MPI) && MPI_VERSION >= 4
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  int rc = PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &e->combiner);
#else
  int integers = 0, addresses = 0, counts = 0, types = 0;
  int rc = PMPI_Type_get_envelope(type, &integers, &addresses, &types, &e->combiner);
#endif
  e->integers = (size_t)integers;
  e->addresses = (size_t)addresses;
  e->counts = (size_t)counts;
  e->types = (size_t)types;
  return rc == MPI_SUCCESS;
}

int cohort_type_is_named(MPI_Datatype type) {
  struct envelope e;
  return cohort_envelope(type, &e) && e.combiner == MPI_COMBINER_NAMED;
}

int cohort_type_hold(MPI_Datatype *type, uint8_t *own) {
  MPI_Datatype held = *type;
  if (cohort_type_is_named(*type)) return 1;
  if (PMPI_Type_dup(held, type) == MPI_SUCCESS) return *own = 1;
  *type = held;
  return 0;
}

/* The handles of named types are never used for another. */
int cohort_type_is_plain(MPI_Datatype type) {
  static struct { uint64_t handle; int plain; } seen[64];
  uint64_t handle = HANDLE(type);
  unsigned i = (unsigned)(handle * 0x9E3779B97F4A7C15u >> 58);
  if (LIKELY(seen[i].handle == handle && handle != 0)) return seen[i].plain;
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  if (!cohort_type_is_named(type)) return 0;
  int ok = PMPI_Type_size(type, &size) == MPI_SUCCESS && PMPI_Type_get_extent(type, &lower, &extent) == MPI_SUCCESS;
  seen[i].handle = handle;
  return seen[i].plain = ok && lower == 0 && size == extent;
}

int cohort_error_class(int rc) {
  int class = MPI_SUCCESS;
  return rc != MPI_SUCCESS && PMPI_Error_class(rc, &class) == MPI_SUCCESS ? class : MPI_SUCCESS;
}

int cohort_truncated(int rc) { return cohort_error_class(rc) == MPI_ERR_TRUNCATE; }

/* One that failed for another reason was not given a message, and its status says nothing. */
int cohort_given(int rc, int wildcard) {
  if (LIKELY(rc == MPI_SUCCESS) || cohort_truncated(rc)) return 1;
  if (wildcard) cohort_uncovered("a receive or probe with a wildcard that failed");
  return 0;
}

int cohort_received(int rc, int wildcard, MPI_Comm comm, int source, const MPI_Status *st) {
  int given = cohort_given(rc, wildcard);
  if (UNLIKELY(cohort_awaited_count > 0) && given && source != MPI_PROC_NULL)
    cohort_awaited_look(g.events + 1, comm, st->MPI_SOURCE, st->MPI_TAG);
  if (g.order && wildcard && given) cohort_order_match(st);
  return given;
}

void cohort_count_message(int dest, uint64_t bytes) {
  if (dest == MPI_PROC_NULL) return;
  struct cohort_control *c = g.control;
  __atomic_store_n(&c->messages, c->messages + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&c->bytes, c->bytes + bytes, __ATOMIC_RELAXED);
}

void cohort_put_send(MPI_Comm comm, int dest, int tag, uint64_t bytes) {
  cohort_put_uv(cohort_comm_index(comm));
  cohort_put_sv(cohort_peer(dest));
  cohort_put_sv(tag);
  cohort_put_uv(bytes);
}

void cohort_put_asked(MPI_Comm comm, int source, int tag) {
  cohort_put_uv(cohort_comm_index(comm));
  cohort_put_sv(cohort_peer(source));
  cohort_put_sv(cohort_tag(tag));
}

void cohort_put_given(int given, const MPI_Status *status) {
  cohort_put_sv(given ? cohort_peer(status->MPI_SOURCE) : -2);
  cohort_put_sv(given ? cohort_tag(status->MPI_TAG) : -1);
  cohort_put_uv(given ? cohort_status_bytes(status) : 0);
}

void cohort_event_received(MPI_Comm comm, int source, int tag, int given, const MPI_Status *status) {
  cohort_event_begin();
  cohort_put_asked(comm, source, tag);
  cohort_put_given(given, status);
  cohort_event_end();
}

void cohort_event_plain(void) {
  if (!g.full) return;
  cohort_event_begin();
  cohort_event_end();
}

void cohort_sent(MPI_Comm comm, int dest, int tag, uint64_t bytes) {
  cohort_named(dest, tag);
  cohort_count_message(dest, bytes);
  if (!g.full) return;
  cohort_event_begin();
  cohort_put_send(comm, dest, tag, bytes);
  cohort_event_end();
}

void cohort_send_initialized(int rc, const void *buf, int count, MPI_Datatype type, MPI_Comm comm, int dest, int tag,
                             const MPI_Request *request) {
  if (!g.full && !g.order) return;
  uint64_t bytes = cohort_bytes(count, type);
  struct cohort_request *r =
      rc == MPI_SUCCESS ? cohort_request_add_persistent(*request, REQUEST_SEND, dest == MPI_PROC_NULL) : NULL;
  if (r != NULL) {
    r->bytes = bytes;
    r->dest = dest;
    if (g.full) cohort_request_sends(r, buf, count, type);
  }
  if (!g.full) return;
  cohort_event_begin();
  cohort_put_send(comm, rc == MPI_SUCCESS ? dest : MPI_PROC_NULL, tag, bytes);
  cohort_event_end();
}

/* A debugger that stops the rank in the midst of this finds no name, or a whole one. */
void cohort_copy_name(char *to, size_t room, const char *from) {
  size_t n = strnlen(from, room - 1);
  __atomic_store_n(to, 0, __ATOMIC_RELEASE);
  if (n == 0) return;
  atomic_signal_fence(memory_order_seq_cst);
  memcpy(to + 1, from + 1, n - 1);
  memset(to + n, 0, room - n);
  atomic_signal_fence(memory_order_seq_cst);
  __atomic_store_n(to, *from, __ATOMIC_RELEASE);
}
