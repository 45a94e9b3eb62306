/* The trace file: records are put together in a buffer and copied into a shared mapping of the file, whole, before
 * `committed` moves past them; so a rank that dies at any instant leaves a valid prefix. See docs/trace-format.md. */
#include "p2p.h"
#include "replay.h"
#include "trace.h"
#include "tracking.h"
#include "values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
  CHECK_FIRST = 64,
  PAGE = 4096,
  GROW_FIRST = 256 << 10,
  GROW_MOST = 64 << 20,
  RESERVE_LEAST = 32 << 10,
  RESERVE_MOST = 8 << 20
};

static int fd = -1;
static uint64_t file_size;      /* bytes of the file that have blocks behind them */
static uint8_t *window;         /* mapping of the file from window_start */
static uint64_t window_start, window_size;
static uint64_t chunk_start;    /* file offset of the open chunk; 0: none */
static uint32_t chunk_length;   /* payload bytes in it */
static uint32_t chunk_room;     /* payload bytes that it may hold */
static uint64_t last_order_event;
static uint64_t events_written; /* EVENT records in the trace */
static int given_up;            /* a record was lost: nothing may follow it */
static struct cohort_trace_header *mapped, unread;

/* Two records can be under construction: an EVENT, and what must stand before it (COMM, SITE, MODULE, NOTE). */
static struct cohort_buffer event_record, side_record;

/* The header is left as it is now, as if the rank had been killed: what the program does from here on is counted in one
 * that nobody reads. */
static void give_up(uint32_t ended, const char *why) {
  if (given_up) return;
  given_up = 1;
  cohort_message(why);
  if (fd >= 0) {
    STORE(g.header->events, g.events);
    if (g.racing) STORE(cohort_trace_undecided()->whole, g.events + 1);
    STORE(g.header->ended, ended);
  }
  g.header = &unread;
  g.order = g.full = 0;
}

/* What must stay free after the trace has grown: the program has files of its own to write, and cohort the end of the
 * recording. */
static uint64_t reserve(const struct statvfs *fs) {
  uint64_t share = (uint64_t)fs->f_blocks * fs->f_frsize / 64;
  return share < RESERVE_LEAST ? RESERVE_LEAST : share < RESERVE_MOST ? share : RESERVE_MOST;
}

/* Whether `more` bytes can be taken from the disk such that the reserve stays. */
static int leaves_reserve(uint64_t more) {
  struct statvfs fs;
  return fstatvfs(fd, &fs) != 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= more + reserve(&fs);
}

/* Beyond the limit on the size of files the kernel would not only refuse, but send SIGXFSZ, which ends the program. */
static int may_grow(uint64_t size) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur) return 0;
  return leaves_reserve(size - file_size);
}

/* Takes the blocks up to size, and gives them back if other ranks took the reserve meanwhile: whoever takes last sees
 * it. 0 or an errno. */
static int allocate(uint64_t size) {
  if (!may_grow(size)) return ENOSPC;
  int error = posix_fallocate(fd, (off_t)file_size, (off_t)(size - file_size));
  if (error != 0 || leaves_reserve(0)) return error;
  return ftruncate(fd, (off_t)file_size) == 0 ? ENOSPC : errno;
}

/* Blocks are allocated before they are touched: a full disk is an error here, and not a SIGBUS later. Tries less when
 * much is refused. */
static int grow(uint64_t needed) {
  uint64_t step = file_size < GROW_FIRST ? GROW_FIRST : file_size > GROW_MOST ? GROW_MOST : file_size;
  for (; step >= PAGE; step /= 2) {
    uint64_t size = (file_size + step) & ~(uint64_t)(PAGE - 1);
    if (size < needed) size = (needed + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    int error = allocate(size);
    if (error == 0) {
      file_size = size;
      return 1;
    }
    if (error != ENOSPC && error != EDQUOT && error != EFBIG && error != EINTR) return 0;
  }
  return 0;
}

static int move_window(uint64_t from) {
  uint64_t start = from & ~(uint64_t)(PAGE - 1);
  void *p = mmap(NULL, file_size - start, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)start);
  if (p == MAP_FAILED) return 0;
  if (window != NULL) munmap(window, window_size);
  window = p;
  window_start = start;
  window_size = file_size - start;
  return 1;
}

static void seal(void) {
  if (chunk_start == 0) return;
  struct cohort_chunk *chunk = (void *)(window + (chunk_start - window_start));
  struct cohort_chunk done = *chunk;
  done.length = chunk_length;
  done.crc32c = cohort_crc32c((uint8_t *)(chunk + 1), chunk_length);
  memcpy(&chunk->crc32c, &done.crc32c, sizeof done.crc32c);
  __atomic_store_n((uint32_t *)((uint8_t *)chunk + offsetof(struct cohort_chunk, length)), done.length,
                   __ATOMIC_RELEASE);
}

enum { RECORD_MAX = 16 << 20 }; /* readers refuse more */

/* A new chunk with room for a record of `need` bytes: usually for 64 KiB, more for a greater record, less on a disk
 * that is nearly full. */
static int new_chunk(uint32_t need) {
  if (need > RECORD_MAX) {
    give_up(COHORT_ENDED_UNABLE, "One call completed more requests than a trace record can hold: the trace ends here, "
                                 "the program continues unrecorded.");
    return 0;
  }
  seal();
  uint64_t start =
      chunk_start == 0 ? COHORT_TRACE_HEADER_SIZE : chunk_start + sizeof(struct cohort_chunk) + chunk_length;
  uint64_t want = need > COHORT_CHUNK_MAX ? need : COHORT_CHUNK_MAX;
  uint64_t end = start + sizeof(struct cohort_chunk) + want;
  if (end > window_start + window_size || window == NULL) {
    if (end > file_size && !grow(end) && start + sizeof(struct cohort_chunk) + need > file_size &&
        !grow(start + sizeof(struct cohort_chunk) + need)) {
      give_up(COHORT_ENDED_DISK, "The disk is full, or the limit on the size of files is reached: the trace ends here, "
                                 "the program continues unrecorded.");
      return 0;
    }
    if (!move_window(start)) {
      give_up(COHORT_ENDED_UNABLE,
              "The trace file could not be mapped: the trace ends here, the program continues unrecorded.");
      return 0;
    }
  }
  uint64_t room = window_start + window_size - start - sizeof(struct cohort_chunk);
  chunk_room = (uint32_t)(room < want ? room : want);
  chunk_start = start;
  chunk_length = 0;
  /* In full mode of the EVENTs in the trace: that of the event in progress may be there already. */
  struct cohort_chunk chunk = {.magic = COHORT_CHUNK_MAGIC, .first_event = (g.full ? events_written : g.events) + 1};
  memcpy(window + (start - window_start), &chunk, sizeof chunk);
  return 1;
}

static void commit(struct cohort_buffer *record) {
  uint32_t n = (uint32_t)record->length;
  record->length = 0;
  if (UNLIKELY(given_up)) return;
  if (UNLIKELY(chunk_start == 0 || chunk_length + n > chunk_room) && !new_chunk(n)) return;
  uint64_t at = chunk_start + sizeof(struct cohort_chunk) + chunk_length;
  if (n == 1) /* most of them in order mode */
    window[at - window_start] = record->data[0];
  else
    memcpy(window + (at - window_start), record->data, n);
  chunk_length += n;
  STORE(g.header->committed, at + n);
  STORE(g.control->trace_bytes, at + n);
}

/* Room for `bytes` more. NULL: there is no memory, so this record is lost, and the trace ends before it. */
static inline uint8_t *room_for(struct cohort_buffer *b, size_t bytes) {
  if (UNLIKELY(b->length + bytes > b->capacity) && !cohort_reserve(b, b->length + bytes)) {
    b->length = 0;
    give_up(COHORT_ENDED_UNABLE,
            "There is no memory to write the trace: it ends here, the program continues unrecorded.");
    return NULL;
  }
  return b->data + b->length;
}

enum { VARINT = 10 }; /* the most that one takes */

/* For one more field. */
static inline uint8_t *room(struct cohort_buffer *b) { return room_for(b, VARINT); }

static inline void put_uv(struct cohort_buffer *b, uint64_t v) {
  uint8_t *p = room(b);
  if (LIKELY(p != NULL)) b->length += cohort_varint(p, v);
}

static void put_sv(struct cohort_buffer *b, int64_t v) { put_uv(b, cohort_zigzag(v)); }

static inline void put_u8(struct cohort_buffer *b, uint8_t v) {
  uint8_t *p = room(b);
  if (UNLIKELY(p == NULL)) return;
  *p = v;
  b->length++;
}

static void put_raw(struct cohort_buffer *b, const void *bytes, size_t n) {
  uint8_t *p = room_for(b, n);
  if (UNLIKELY(p == NULL || n == 0)) return;
  memcpy(p, bytes, n);
  b->length += n;
}

static void put_bytes(struct cohort_buffer *b, const void *bytes, size_t n) {
  put_uv(b, n);
  put_raw(b, bytes, n);
}

void cohort_put_uv(uint64_t v) { put_uv(&event_record, v); }
void cohort_put_sv(int64_t v) { put_sv(&event_record, v); }
void cohort_put_u8(uint8_t v) { put_u8(&event_record, v); }

void cohort_event_begin(void) {
  uint64_t end = cohort_now();
  uint32_t site = cohort_site_index(g.site);
  uint64_t failures = 0;
  if (cohort_is_poll(g.op)) {
    failures = g_trace.failures;
    g_trace.failures = 0;
  }
  uint8_t *start = room_for(&event_record, 1 + 5 * VARINT), *p = start;
  if (LIKELY(p != NULL)) {
    *p++ = COHORT_RECORD_EVENT;
    p += cohort_varint(p, g.op);
    p += cohort_varint(p, site);
    p += cohort_varint(p, failures);
    p += cohort_varint(p, g_trace.call_start > g_trace.last_end ? g_trace.call_start - g_trace.last_end : 0);
    p += cohort_varint(p, end - g_trace.call_start);
    event_record.length += (size_t)(p - start);
  }
  g_trace.last_end = end;
}

void cohort_event_end(void) {
  if (g.full) {
    commit(&event_record);
    events_written++;
  }
  event_record.length = 0;
  STORE(g.header->polls, g_trace.failures);
}

/* ---- order mode: a record is a shape and a value. A loop of the program makes the same few shapes in the same order
 * over and over: the shape that is expected takes one byte together with a small value, a shape that was seen before
 * takes a byte of its own. Readers guess alike (docs/trace-format.md, Short forms). */
struct shape { uint64_t a, b; }; /* kind, op, n or which, tag; event delta, back */
enum { SHAPES = 64, CONTEXTS = 4096, VALUE_LONG = 0x7f };

static struct shape shapes[SHAPES];
static int32_t last_tag;              /* of the last MATCH with a source */
static uint32_t n_shapes;             /* shapes made so far: the next takes the place n_shapes % SHAPES */
static uint32_t context;              /* the last few shapes, mixed */
static uint8_t expected[CONTEXTS];    /* place + 1 of the shape that came next in that context; 0: none yet */
static uint8_t found[4 * SHAPES];     /* place + 1 by hash */

static void order_next(uint32_t place, uint32_t mix) {
  expected[context] = (uint8_t)(place + 1);
  context = ((context << 3) + place + mix) % CONTEXTS;
}

/* 0: the caller writes the record at full length, and the shape has its place now. */
static int order_short(struct shape s, uint64_t value, uint32_t mix) {
  uint32_t place = expected[context];
  if (LIKELY(place != 0 && shapes[place - 1].a == s.a && shapes[place - 1].b == s.b)) {
    put_u8(&side_record, (uint8_t)(COHORT_RECORD_EXPECTED | (value < VALUE_LONG ? value : VALUE_LONG)));
    if (value >= VALUE_LONG) put_uv(&side_record, value - VALUE_LONG);
    order_next(place - 1, mix);
    return 1;
  }
  uint32_t hash = (uint32_t)((s.a * 0x9E3779B97F4A7C15u ^ s.b) * 0xBF58476D1CE4E5B9u >> 56);
  place = found[hash];
  if (place != 0 && shapes[place - 1].a == s.a && shapes[place - 1].b == s.b) {
    put_u8(&side_record, (uint8_t)(COHORT_RECORD_KNOWN | (place - 1)));
    put_uv(&side_record, value);
    order_next(place - 1, mix);
    return 1;
  }
  place = n_shapes++ % SHAPES;
  shapes[place] = s;
  found[hash] = (uint8_t)(place + 1);
  order_next(place, mix);
  return 0;
}

/* The common fields of a record at full length. */
static void order_long(uint8_t kind, uint32_t op, uint64_t delta) {
  put_u8(&side_record, kind);
  put_uv(&side_record, delta);
  put_uv(&side_record, op);
}

static uint64_t order_delta(void) {
  uint64_t event = g.events + 1, delta = event - last_order_event;
  last_order_event = event;
  return delta;
}

static void order_end(void) {
  commit(&side_record);
  STORE(g.control->decisions, g.control->decisions + 1);
}

/* What fits a shape: 8 bits of op, 32 of delta and back, 16 of n and which. */
static int fits_shape(uint32_t op, uint64_t delta) { return op <= UINT8_MAX && delta <= UINT32_MAX; }

static struct shape shape_of(uint8_t kind, uint32_t op, uint64_t n, int32_t tag, uint64_t delta, uint64_t back) {
  return (struct shape){kind | (uint64_t)op << 8 | n << 16 | (uint64_t)(uint32_t)tag << 32, delta | back << 32};
}

void cohort_order_poll(void) {
  uint64_t delta = order_delta();
  if (!fits_shape(g.op, delta) ||
      !order_short(shape_of(COHORT_RECORD_POLL, g.op, 0, 0, delta, 0), g_trace.failures, 0)) {
    order_long(COHORT_RECORD_POLL, g.op, delta);
    put_uv(&side_record, g_trace.failures);
  }
  g_trace.failures = 0;
  order_end();
  STORE(g.header->polls, 0);
}

void cohort_order_set(int n, const int *indices) {
  uint64_t delta = order_delta(), first = n > 0 ? (uint64_t)indices[0] : 0;
  int i = 1;
  if (!fits_shape(g.op, delta) || n > UINT16_MAX ||
      !order_short(shape_of(COHORT_RECORD_SET, g.op, (uint64_t)n, 0, delta, 0), first, (uint32_t)first)) {
    order_long(COHORT_RECORD_SET, g.op, delta);
    put_uv(&side_record, (uint64_t)n);
    i = 0;
  }
  for (; i < n; i++) put_uv(&side_record, (uint64_t)indices[i]);
  order_end();
}

/* A MATCH. Source INT32_MIN: it has none. */
static void order_match(uint32_t op, int32_t source, int32_t tag, uint64_t back, uint32_t which) {
  uint64_t delta = order_delta();
  int none = source == INT32_MIN;
  /* loops that count their tags up have one shape */
  int32_t shown = none ? tag : (int32_t)((uint32_t)tag - (uint32_t)last_tag);
  if (!none) last_tag = tag;
  if (fits_shape(op, delta) && back <= UINT32_MAX && which <= UINT16_MAX && (none || source >= 0) &&
      order_short(shape_of(none ? COHORT_RECORD_PENDING : COHORT_RECORD_MATCH, op, which, shown, delta, back),
                  none ? 0 : (uint64_t)source, 0))
    return;
  order_long(COHORT_RECORD_MATCH, op, delta);
  put_sv(&side_record, source);
  put_sv(&side_record, tag);
  put_uv(&side_record, back);
  if (op == COHORT_OP_STARTALL) put_uv(&side_record, which);
}

void cohort_order_match(const MPI_Status *status) {
  g.recent->got = cohort_peer(status->MPI_SOURCE);
  if (g.racing && !cohort_is_poll(g.op)) return; /* racing_race.c decides */
  order_match(g.op, g.recent->got, cohort_tag(status->MPI_TAG), 0, 0);
  order_end();
}

void cohort_order_posted(uint32_t which) {
  if (g.racing) return; /* one that is not traced matches what comes */
  order_match(g.op, INT32_MIN, 0, 0, which);
  commit(&side_record);
}

void cohort_write_matched(uint32_t op, const MPI_Status *status, uint64_t back, uint32_t which) {
  if (g.racing && status != NULL) return; /* racing_race.c decides */
  if (status == NULL)
    order_match(op, INT32_MIN, 0, back, which);
  else
    order_match(op, cohort_peer(status->MPI_SOURCE), cohort_tag(status->MPI_TAG), back, which);
  order_end();
}

void cohort_write_check(uint32_t hash) {
  put_u8(&side_record, COHORT_RECORD_CHECK);
  put_uv(&side_record, g.events);
  put_raw(&side_record, &hash, sizeof hash);
  commit(&side_record);
}

void cohort_write_content(uint64_t content, uint32_t which) {
  if (!g.full) return; /* closed, or given up */
  put_u8(&side_record, COHORT_RECORD_CONTENT);
  put_uv(&side_record, which);
  put_uv(&side_record, content);
  commit(&side_record);
}

/* Racing mode: `count` receives of messages of one source and tag, a stride of events apart. */
void cohort_write_race(uint64_t event, uint32_t count, uint32_t stride, uint32_t op, int source, int tag,
                       uint32_t which) {
  if (count == 1) {
    order_match(op, source, tag, g.events + 1 - event, which);
  } else {
    order_long(COHORT_RECORD_RACE, op, order_delta());
    put_sv(&side_record, source);
    put_sv(&side_record, tag);
    put_uv(&side_record, g.events + 1 - event);
    put_uv(&side_record, count);
    put_uv(&side_record, stride);
  }
  commit(&side_record);
  STORE(g.control->decisions, g.control->decisions + count);
}

void cohort_write_module(uint32_t index, uint64_t bias, const char *path, const uint8_t *id, size_t id_length) {
  put_u8(&side_record, COHORT_RECORD_MODULE);
  put_uv(&side_record, index);
  put_raw(&side_record, &bias, sizeof bias);
  put_bytes(&side_record, path, strlen(path));
  put_bytes(&side_record, id, id_length);
  commit(&side_record);
}

void cohort_write_site(uint32_t index, uint32_t module, uint64_t offset) {
  put_u8(&side_record, COHORT_RECORD_SITE);
  put_uv(&side_record, index);
  put_uv(&side_record, module);
  put_uv(&side_record, offset);
  commit(&side_record);
}

void cohort_write_note(const char *call) {
  uint32_t site = cohort_site_index(g.site);
  put_u8(&side_record, COHORT_RECORD_NOTE);
  put_uv(&side_record, g.events + 1);
  put_bytes(&side_record, call, strlen(call));
  put_uv(&side_record, site);
  commit(&side_record);
}

void cohort_write_comm(const struct cohort_comm *c) {
  const uint32_t *members = (const uint32_t *)(c + 1);
  put_u8(&side_record, COHORT_RECORD_COMM);
  put_uv(&side_record, c->index);
  put_raw(&side_record, &c->global_id, sizeof c->global_id);
  put_raw(&side_record, &c->parent_id, sizeof c->parent_id);
  put_u8(&side_record, (uint8_t)c->o.kind);
  put_uv(&side_record, c->n_members);
  put_uv(&side_record, c->comm_rank);
  put_uv(&side_record, c->n_remote);
  for (uint32_t i = 0; i < c->n_members + c->n_remote; i++) put_uv(&side_record, members[i]);
  commit(&side_record);
}

void cohort_write_raw(const void *head, size_t n, const void *tail, size_t m) {
  if (!g.order && !g.full) return; /* closed, or given up */
  put_raw(&side_record, head, n);
  put_raw(&side_record, tail, m);
  commit(&side_record);
}

static struct cohort_trace_header *map_header(void) {
  if (!grow(COHORT_TRACE_HEADER_SIZE)) return NULL;
  void *p = mmap(NULL, COHORT_TRACE_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return p == MAP_FAILED ? NULL : p;
}

struct cohort_undecided *cohort_trace_undecided(void) {
  return fd < 0 ? NULL : (void *)((uint8_t *)mapped + COHORT_UNDECIDED_OFFSET);
}

void cohort_trace_open(void) {
  const char *path = getenv(COHORT_ENV_TRACE);
  if (path == NULL) {
    g.order = g.full = 0;
    return;
  }
  fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    cohort_refuse(errno == EEXIST ? "The trace file exists already, and a recording is not overwritten."
                                  : "The trace file could not be created.", NULL);
    return;
  }
  struct cohort_trace_header *h = map_header();
  if (h == NULL) {
    close(fd);
    fd = -1;
    unlink(path);
    cohort_refuse("The trace file could not be written. Is the disk full?", NULL);
    return;
  }
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  h->version = COHORT_TRACE_VERSION;
  h->size = sizeof *h;
  h->mode = g.full ? COHORT_MODE_FULL : g.control->mode == COHORT_MODE_RACING ? COHORT_MODE_RACING : COHORT_MODE_ORDER;
  h->flags = g.control->flags;
  h->rank = (uint32_t)g.world_rank;
  h->world_size = (uint32_t)g.world_size;
  h->mpi = COHORT_MPI;
  h->start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  h->committed = COHORT_TRACE_HEADER_SIZE;
  STORE(h->magic, COHORT_TRACE_MAGIC);
  g.header = mapped = h;
  g_trace.check_at = CHECK_FIRST;
}

void cohort_trace_close(void) {
  if (fd < 0) return;
  cohort_values_close();
  if (g.order || g.full) {
    put_u8(&side_record, COHORT_RECORD_END);
    put_uv(&side_record, g_trace.failures);
    put_u8(&side_record, 1);
    commit(&side_record);
  }
  if (g.order || g.full) {
    seal();
    STORE(g.header->closed, 1);
  }
  /* What was allocated ahead of use is given back; should that fail, `committed` says where the trace ends. */
  if (ftruncate(fd, (off_t)mapped->committed) == 0) file_size = mapped->committed;
  g.order = g.full = 0;
  close(fd);
  fd = -1;
}
