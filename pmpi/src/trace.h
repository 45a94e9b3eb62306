/* The trace that a recording rank writes. */
#ifndef COHORT_TRACE_H
#define COHORT_TRACE_H
#include "core.h"

/* Of this rank's trace, and of nobody else's concern. */
struct cohort_trace_state {
  uint64_t failures;      /* failed polls since the last successful poll */
  uint64_t call_start;    /* full mode: CLOCK_MONOTONIC, ns */
  uint64_t last_end;      /* full mode: end of the previous event */
  /* the addresses whose MODULE is in the trace (the last that was used) */
  uint64_t module_start, module_size;
  uint64_t program_start, program_size;
  uint64_t check;         /* hash of the completed calls, see check in init.c */
  uint64_t check_at;      /* event after which it is written or compared next */
};
extern struct cohort_trace_state g_trace;

/* ---- writer.c */
void cohort_trace_open(void);
void cohort_trace_close(void);
uint32_t cohort_crc32c(const uint8_t *data, size_t length);
void cohort_order_poll(void);                  /* the poll in progress succeeded */
void cohort_order_set(int n, const int *indices);
void cohort_order_match(const MPI_Status *status); /* of the receive or probe in progress */
/* the call in progress posts a receive with a wildcard; which: its place in the array of a Startall */
void cohort_order_posted(uint32_t which);
/* What a receive matched that was posted `back` events ago; without a status: it was cancelled. In full mode only for
 * freed requests. */
void cohort_write_matched(uint32_t op, const MPI_Status *status, uint64_t back, uint32_t which);
/* full mode: the content of which message that the last EVENT sent, from 0 */
void cohort_write_content(uint64_t content, uint32_t which);
static inline uint64_t cohort_zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
/* A varint of at most 10 bytes; how many they are. */
static inline size_t cohort_varint(uint8_t *to, uint64_t v) {
  uint8_t *p = to;
  for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
  *p++ = (uint8_t)v;
  return (size_t)(p - to);
}
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

#endif
