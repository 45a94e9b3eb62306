/* What messages carry, so that it can be told later whether two racing messages differ: full traces have it after each
 * send (docs/trace-format.md, CONTENT). It is looked at after the call, which has found the arguments good; what is
 * sent may not change before its request is completed. */
#include "p2p.h"
#include "trace.h"

enum { PLAIN_MOST = 1 << 20, PACKED_MOST = 64 << 10, EXACT = 8 };

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
 * together. That MPI took the buffer does not say that a load from it is good: MPI need not have read it yet, and it
 * may be a device's memory. But until the call returns it is MPI's: once it is found readable, no thread takes it
 * away. */
static struct cohort_content content(const uint8_t *p, uint64_t n) {
  struct cohort_content c = {.known = cohort_readable(p, n)};
  if (!c.known) return c;
  if (n <= EXACT) {
    memcpy(&c.value, p, n);
    return c;
  }
  uint64_t lane[4] = {1, 2, 3, 4}, left = n, rest = 0;
  for (; left >= 32; left -= 32, p += 32)
    for (int i = 0; i < 4; i++) lane[i] = mix(lane[i], load(p + 8 * i));
  for (; left >= 8; left -= 8, p += 8) lane[0] = mix(lane[0], load(p));
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
  if (cohort_type_is_plain(type)) return content(buf, bytes);
  static struct cohort_buffer buffer;
  int length;
  /* its errors are returned, and not the program's */
  if (bytes > PACKED_MOST || g.progress == MPI_COMM_NULL) return none;
  const uint8_t *packed = cohort_packed(&buffer, buf, (int)count, type, g.progress, &length);
  return packed != NULL && (uint64_t)length == bytes ? content(packed, bytes) : none;
}

void cohort_content(const void *buf, int64_t count, MPI_Datatype type, int dest) {
  struct cohort_content c = cohort_content_of(buf, count, type, dest);
  if (c.known) cohort_write_content(c.value, 0);
}
