/* The C library's clocks and random numbers, as the program is given them between MPI_Init and MPI_Finalize: recorded
 * and returned in replay if COHORT_FLAG_RECORD_TIME asks for it. Without it what the program asks is noted once, by its
 * kind, in the header of the trace; after that a call costs a load and a jump more. Only
 * calls of the program and its libraries count, told by the return address: the MPI library has the true time in replay
 * too. What is not seen: the time stamp counter and the processor's random instructions, system calls that go
 * past the C library, and everything before MPI_Init. */
#include "replay.h"
#include "values.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

uint32_t cohort_clocks;

/* The next definition of a function that we stand in for. Found at load; a constructor of another library may be
 * earlier. */
#define NEXT(name, type, parameters)                            \
  static type(*next_##name) parameters;                         \
  static type(*find_##name(void)) parameters {                  \
    if (UNLIKELY(next_##name == NULL)) *(void **)&next_##name = dlsym(RTLD_NEXT, #name); \
    return next_##name;                                         \
  }
NEXT(clock_gettime, int, (clockid_t, struct timespec *))
NEXT(gettimeofday, int, (struct timeval *, void *))
NEXT(time, time_t, (time_t *))
NEXT(clock, clock_t, (void))
NEXT(timespec_get, int, (struct timespec *, int))
NEXT(getrusage, int, (int, struct rusage *))
NEXT(times, clock_t, (struct tms *))
NEXT(getrandom, ssize_t, (void *, size_t, unsigned))
NEXT(getentropy, int, (void *, size_t))
NEXT(arc4random, uint32_t, (void))
NEXT(arc4random_uniform, uint32_t, (uint32_t))
NEXT(arc4random_buf, void, (void *, size_t))
NEXT(open, int, (const char *, int, ...))
NEXT(open64, int, (const char *, int, ...))
NEXT(fopen, FILE *, (const char *, const char *))
NEXT(fopen64, FILE *, (const char *, const char *))

__attribute__((constructor)) static void find_all(void) {
  find_clock_gettime();
  find_gettimeofday();
  find_time();
}

int cohort_true_clock_gettime(int clock, struct timespec *t) { return find_clock_gettime()((clockid_t)clock, t); }

uint64_t cohort_now(void) {
  struct timespec t;
  find_clock_gettime()(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static __thread int nested __attribute__((tls_model("initial-exec")));

/* Whether the value that is asked is to be recorded or replayed. */
static int ours(uint32_t kind, uint64_t site) {
  if (nested || !cohort_is_program(site) || !cohort_values_wanted()) return 0;
  if ((g.control->flags & COHORT_FLAG_RECORD_TIME) != 0) return 1;
  __atomic_fetch_or(&g.header->unrecorded, 1u << kind, __ATOMIC_RELAXED);
  __atomic_fetch_and(&cohort_clocks, ~(1u << kind), __ATOMIC_RELAXED);
  return 0;
}

#define OURS(kind, site) (UNLIKELY(cohort_clocks & 1u << COHORT_VALUE_##kind) && ours(COHORT_VALUE_##kind, site))

/* Replay: the recorded time, in units of which a second has `unit`. 0: ask, and note the answer. */
static int give_time(uint32_t kind, uint64_t unit, time_t *seconds, long *rest, uint64_t site) {
  uint64_t v;
  if (!cohort_value_recorded(kind, &v, site)) return 0;
  *seconds = (time_t)(v / unit);
  *rest = (long)(v % unit);
  return 1;
}

static void note_time(uint32_t kind, uint64_t unit, time_t seconds, long rest) {
  cohort_value_record(kind, (uint64_t)seconds * unit + (uint64_t)rest);
}

enum { NS = 1000000000, US = 1000000 };

EXPORT int clock_gettime(clockid_t clock, struct timespec *t) {
  if (!OURS(CLOCK_GETTIME, SITE)) return find_clock_gettime()(clock, t);
  if (give_time(COHORT_VALUE_CLOCK_GETTIME, NS, &t->tv_sec, &t->tv_nsec, SITE)) return 0;
  int rc = find_clock_gettime()(clock, t);
  if (rc == 0) note_time(COHORT_VALUE_CLOCK_GETTIME, NS, t->tv_sec, t->tv_nsec);
  return rc;
}

EXPORT int timespec_get(struct timespec *t, int base) {
  if (!OURS(CLOCK_GETTIME, SITE)) return find_timespec_get()(t, base);
  if (give_time(COHORT_VALUE_CLOCK_GETTIME, NS, &t->tv_sec, &t->tv_nsec, SITE)) return base;
  int rc = find_timespec_get()(t, base);
  if (rc != 0) note_time(COHORT_VALUE_CLOCK_GETTIME, NS, t->tv_sec, t->tv_nsec);
  return rc;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  if (!OURS(GETTIMEOFDAY, SITE)) return find_gettimeofday()(t, zone);
  struct timeval recorded;
  int given = give_time(COHORT_VALUE_GETTIMEOFDAY, US, &recorded.tv_sec, &recorded.tv_usec, SITE);
  int rc = given && zone == NULL ? 0 : find_gettimeofday()(t, zone);
  if (given)
    *t = recorded;
  else if (rc == 0)
    note_time(COHORT_VALUE_GETTIMEOFDAY, US, t->tv_sec, t->tv_usec);
  return given ? 0 : rc;
}

/* The value of a function whose answer is a number. */
#define NUMBER(kind, ask)                                               \
  uint64_t v;                                                           \
  if (!cohort_value_recorded(COHORT_VALUE_##kind, &v, SITE)) {          \
    v = (uint64_t)ask;                                                  \
    cohort_value_record(COHORT_VALUE_##kind, v);                        \
  }

EXPORT time_t time(time_t *t) {
  if (!OURS(TIME, SITE)) return find_time()(t);
  NUMBER(TIME, find_time()(NULL))
  if (t != NULL) *t = (time_t)v;
  return (time_t)v;
}

EXPORT clock_t clock(void) {
  if (!OURS(CLOCK, SITE)) return find_clock()();
  NUMBER(CLOCK, find_clock()())
  return (clock_t)v;
}

/* What was recorded goes into a buffer of the same size; a program that asks for less than it was given has left the
 * recording. */
static ssize_t give(uint32_t kind, void *to, size_t room, uint64_t site) {
  size_t length = 0;
  const void *bytes = cohort_value_recorded_bytes(kind, &length, site);
  if (bytes == NULL) return -1;
  if (length > room) cohort_diverge_value(COHORT_DIVERGED_VALUE + kind, COHORT_DIVERGED_VALUE + kind, site);
  memcpy(to, bytes, length);
  return (ssize_t)length;
}

EXPORT int getrusage(int who, struct rusage *usage) {
  if (!OURS(RUSAGE, SITE)) return find_getrusage()(who, usage);
  if (give(COHORT_VALUE_RUSAGE, usage, sizeof *usage, SITE) >= 0) return 0;
  int rc = find_getrusage()(who, usage);
  if (rc == 0) cohort_value_record_bytes(COHORT_VALUE_RUSAGE, usage, sizeof *usage);
  return rc;
}

EXPORT clock_t times(struct tms *t) {
  if (!OURS(TIMES, SITE)) return find_times()(t);
  struct {
    struct tms tms;
    clock_t result;
  } both;
  if (give(COHORT_VALUE_TIMES, &both, sizeof both, SITE) < 0) {
    memset(&both, 0, sizeof both);
    both.result = find_times()(&both.tms);
    cohort_value_record_bytes(COHORT_VALUE_TIMES, &both, sizeof both);
  }
  if (t != NULL) *t = both.tms;
  return both.result;
}

EXPORT ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
  if (!OURS(RANDOM, SITE)) return find_getrandom()(buffer, length, flags);
  ssize_t given = give(COHORT_VALUE_RANDOM, buffer, length, SITE);
  if (given >= 0) return given;
  given = find_getrandom()(buffer, length, flags);
  if (given >= 0) cohort_value_record_bytes(COHORT_VALUE_RANDOM, buffer, (size_t)given);
  return given;
}

EXPORT int getentropy(void *buffer, size_t length) {
  if (!OURS(RANDOM, SITE)) return find_getentropy()(buffer, length);
  if (give(COHORT_VALUE_RANDOM, buffer, length, SITE) >= 0) return 0;
  int rc = find_getentropy()(buffer, length);
  if (rc == 0) cohort_value_record_bytes(COHORT_VALUE_RANDOM, buffer, length);
  return rc;
}

/* An older C library has no arc4random: then nobody can have called us but by a symbol of another library. */
EXPORT uint32_t arc4random(void) {
  if (!OURS(ARC4RANDOM, SITE)) return find_arc4random()();
  NUMBER(ARC4RANDOM, find_arc4random()())
  return (uint32_t)v;
}

EXPORT uint32_t arc4random_uniform(uint32_t bound) {
  if (!OURS(ARC4RANDOM, SITE)) return find_arc4random_uniform()(bound);
  NUMBER(ARC4RANDOM, find_arc4random_uniform()(bound))
  return (uint32_t)v;
}

EXPORT void arc4random_buf(void *buffer, size_t length) {
  int is_ours = OURS(RANDOM, SITE);
  if (is_ours && give(COHORT_VALUE_RANDOM, buffer, length, SITE) >= 0) return;
  find_arc4random_buf()(buffer, length);
  if (is_ours) cohort_value_record_bytes(COHORT_VALUE_RANDOM, buffer, length);
}

/* std::random_device of libstdc++, which by default asks the processor: its member function _M_getval. */
NEXT(_ZNSt13random_device9_M_getvalEv, unsigned, (void *))

static unsigned ask_device(void *device) {
  nested = 1; /* what it asks of the C library in turn is no value of its own */
  unsigned v = find__ZNSt13random_device9_M_getvalEv()(device);
  nested = 0;
  return v;
}

EXPORT unsigned _ZNSt13random_device9_M_getvalEv(void *device) {
  if (!OURS(RANDOM_DEVICE, SITE)) return find__ZNSt13random_device9_M_getvalEv()(device);
  NUMBER(RANDOM_DEVICE, ask_device(device))
  return (unsigned)v;
}

/* ---- the random devices: what is read from them is not recorded, and that is said */

static void opened(const char *path, uint64_t site) {
  if (LIKELY((cohort_clocks & 1u << COHORT_VALUE_RANDOM_DEVICE) == 0) || path == NULL || path[0] != '/') return;
  if (strcmp(path, "/dev/urandom") != 0 && strcmp(path, "/dev/random") != 0 && strcmp(path, "/dev/hwrng") != 0) return;
  if (!cohort_is_libstdcxx(site) && ours(COHORT_VALUE_RANDOM_DEVICE, site))
    cohort_uncovered_outside("open of a random device", site);
}

#define OPEN(name)                                                                            \
  EXPORT int name(const char *path, int flags, ...) {                                         \
    int makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;                   \
    va_list arguments;                                                                        \
    va_start(arguments, flags);                                                               \
    mode_t mode = makes ? va_arg(arguments, mode_t) : 0;                                      \
    va_end(arguments);                                                                        \
    opened(path, SITE);                                                                       \
    return find_##name()(path, flags, mode);                                                  \
  }
#define FOPEN(name)                                                                           \
  EXPORT FILE *name(const char *restrict path, const char *restrict mode) {                   \
    opened(path, SITE);                                                                       \
    return find_##name()(path, mode);                                                         \
  }
OPEN(open)
OPEN(open64)
FOPEN(fopen)
FOPEN(fopen64)
