/* What another run would not be given: times, random numbers, what one-sided calls fetch. */
#ifndef COHORT_VALUES_H
#define COHORT_VALUES_H
#include "core.h"

struct cohort_thread;
struct timespec;

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

/* ---- clocks.c */
/* Bits 1 << enum cohort_value_kind: the C library's clocks and random numbers whose calls are looked at. All while they
 * are recorded or replayed; in a recording without them those that the program has not asked yet. */
extern uint32_t cohort_clocks;
int cohort_true_clock_gettime(int clock, struct timespec *t);

#endif
