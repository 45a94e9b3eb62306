/* What messages carry, so that it can be told later whether two racing messages differ: full traces have it after each
 * send (docs/trace-format.md, CONTENT). It is looked at after the call, which has found the arguments good; what is
 * sent may not change before its request is completed. */
#include "p2p.h"
#include "trace.h"

enum { PLAIN_MOST = 1 << 20, PACKED_MOST = 64 << 10, EXACT = 8 };

/* The last predefined type without gaps: predefined handles are never used anew. */
static MPI_Datatype plain_type = MPI_DATATYPE_NULL;

static int is_plain(MPI_Datatype type, uint64_t size) {
  if (LIKELY(type == plain_type)) return 1;
  int integers, addresses, types, combiner;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
      combiner != MPI_COMBINER_NAMED)
    return 0;
  MPI_Aint lower = 0, extent = 0;
  if (PMPI_Type_get_extent(type, &lower, &extent) != MPI_SUCCESS || lower != 0 || (uint64_t)extent != size) return 0;
  plain_type = type;
  return 1;
}

static inline uint64_t load(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 32;
}

/* Four lanes of 8 bytes, since one has to wait for its multiplication; then the rest, and the lanes and the length
 * together. The buffer is the program's, and MPI need not have read it yet: so it is read piece by piece, in a way that
 * cannot fault. */
static struct cohort_content content(const uint8_t *buf, uint64_t n) {
  static uint8_t piece[16 << 10];
  struct cohort_content c = {.known = 1}, unknown = {0};
  if (n <= EXACT) return cohort_peek(&c.value, buf, n) ? c : unknown;
  uint64_t lane[4] = {1, 2, 3, 4}, left = 0;
  const uint8_t *p = piece;
  for (uint64_t at = 0; at < n; at += sizeof piece) {
    left = n - at < sizeof piece ? n - at : sizeof piece;
    p = piece;
    if (!cohort_peek(piece, buf + at, left)) return unknown;
    for (; left >= 32; left -= 32, p += 32)
      for (int i = 0; i < 4; i++) lane[i] = mix(lane[i], load(p + 8 * i));
  }
  for (; left >= 8; left -= 8, p += 8) lane[0] = mix(lane[0], load(p));
  uint64_t rest = 0;
  memcpy(&rest, p, left);
  c.value = mix(n, rest);
  for (int i = 0; i < 4; i++) c.value = mix(c.value, lane[i]);
  return c;
}

struct cohort_content cohort_content_of(const void *buf, int64_t count, MPI_Datatype type, int dest) {
  struct cohort_content none = {0};
  if (dest == MPI_PROC_NULL || count <= 0 || count > PLAIN_MOST || buf == MPI_BOTTOM || type == MPI_DATATYPE_NULL)
    return none;
  uint64_t bytes = cohort_bytes((int)count, type);
  if (bytes == 0 || bytes > PLAIN_MOST) return none;
  if (is_plain(type, bytes / (uint64_t)count)) return content(buf, bytes);
  static uint8_t packed[PACKED_MOST];
  int position = 0;
  /* its errors are returned, and not the program's */
  if (bytes > PACKED_MOST || g.progress == MPI_COMM_NULL) return none;
  int room = 0; /* some MPIs want more than they use */
  if (PMPI_Pack_size((int)count, type, g.progress, &room) != MPI_SUCCESS || room > PACKED_MOST) return none;
  if (PMPI_Pack(buf, (int)count, type, packed, PACKED_MOST, &position, g.progress) != MPI_SUCCESS ||
      (uint64_t)position != bytes)
    return none;
  return content(packed, bytes);
}

void cohort_put_content(struct cohort_content c, uint32_t which) {
  uint8_t record[1 + 5 + 10], *to = record;
  *to++ = COHORT_RECORD_CONTENT;
  for (; which >= 0x80; which >>= 7) *to++ = (uint8_t)(which | 0x80);
  *to++ = (uint8_t)which;
  for (; c.value >= 0x80; c.value >>= 7) *to++ = (uint8_t)(c.value | 0x80);
  *to++ = (uint8_t)c.value;
  cohort_write_raw(record, (size_t)(to - record), NULL, 0);
}

void cohort_content(const void *buf, int64_t count, MPI_Datatype type, int dest) {
  struct cohort_content c = cohort_content_of(buf, count, type, dest);
  if (c.known) cohort_put_content(c, 0);
}
