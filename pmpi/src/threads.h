/* Threads of the rank, and whose turn it is to call MPI. */
#ifndef COHORT_THREADS_H
#define COHORT_THREADS_H
#include "core.h"

struct cohort_threads_state {
  uint64_t last;          /* id of the thread that made the call before */
  int owned;              /* the thread that is inside MPI writes values itself */
  /* call site of the first call that came while another thread was inside, and is not in the trace yet */
  _Atomic uint64_t concurrent;
};
extern struct cohort_threads_state g_threads;

/* ---- threads.c */
struct cohort_thread {
  uint64_t id;
  uint32_t index;           /* in the trace, plus 1; 0: not declared */
  int known;                /* its id is the same in every run */
  int searched;             /* replay: for its stream */
  int lost;                 /* a value was, for want of memory */
  _Atomic int writing;
  int64_t ns;               /* of the last time, -1: it was none */
  int form;                 /* how its seconds were made of it */
  uint64_t last[COHORT_VALUE_RANDOM];
  struct cohort_buffer pending;
  const uint8_t *at, *end;  /* replay: its stream from here on */
  uint32_t numbers_kind, numbers_left; /* of the entry that at lies in */
  struct cohort_thread *next;
};
struct cohort_patience { uint64_t steps, waited_us, cpu, round; };
extern __thread uint64_t cohort_own_id __attribute__((tls_model("initial-exec")));
struct cohort_thread *cohort_self(void);       /* NULL: no memory */
struct cohort_thread *cohort_threads(void);
uint32_t cohort_thread_new_index(void);
uint64_t cohort_thread_id(void);
void cohort_turn_changes(void);
int cohort_my_turn(void);
void cohort_turns_open(const struct cohort_turn *first, uint64_t n);
int cohort_wait_for_others(struct cohort_patience *p);

#endif
