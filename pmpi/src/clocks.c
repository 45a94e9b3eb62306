/* The C library's clocks and random numbers, as the program is given them between MPI_Init and MPI_Finalize: recorded
 * and returned in replay if COHORT_FLAG_RECORD_TIME asks for it. Without it what the program asks is noted once, by its
 * kind, in the header of the trace; after that a call costs a load and a jump more. Only
 * calls of the program and its libraries count, told by the return address: the MPI library goes on with the true time,
 * in replay too. What is not seen: the time stamp counter and the processor's random instructions, system calls that go
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

EXPORT int clock_gettime(clockid_t clock, struct timespec *t) {
  if (!OURS(CLOCK_GETTIME, SITE)) return find_clock_gettime()(clock, t);
  uint64_t ns;
  if (cohort_value_recorded(COHORT_VALUE_CLOCK_GETTIME, &ns, SITE)) {
    t->tv_sec = (time_t)(ns / 1000000000u);
    t->tv_nsec = (long)(ns % 1000000000u);
    return 0;
  }
  int rc = find_clock_gettime()(clock, t);
  if (rc == 0)
    cohort_value_record(COHORT_VALUE_CLOCK_GETTIME, (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec);
  return rc;
}

EXPORT int timespec_get(struct timespec *t, int base) {
  if (!OURS(CLOCK_GETTIME, SITE)) return find_timespec_get()(t, base);
  uint64_t ns;
  if (cohort_value_recorded(COHORT_VALUE_CLOCK_GETTIME, &ns, SITE)) {
    t->tv_sec = (time_t)(ns / 1000000000u);
    t->tv_nsec = (long)(ns % 1000000000u);
    return base;
  }
  int rc = find_timespec_get()(t, base);
  if (rc != 0)
    cohort_value_record(COHORT_VALUE_CLOCK_GETTIME, (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec);
  return rc;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  if (!OURS(GETTIMEOFDAY, SITE)) return find_gettimeofday()(t, zone);
  uint64_t us;
  if (cohort_value_recorded(COHORT_VALUE_GETTIMEOFDAY, &us, SITE)) {
    if (zone != NULL) find_gettimeofday()(t, zone);
    t->tv_sec = (time_t)(us / 1000000u);
    t->tv_usec = (suseconds_t)(us % 1000000u);
    return 0;
  }
  int rc = find_gettimeofday()(t, zone);
  if (rc == 0) cohort_value_record(COHORT_VALUE_GETTIMEOFDAY, (uint64_t)t->tv_sec * 1000000u + (uint64_t)t->tv_usec);
  return rc;
}

EXPORT time_t time(time_t *t) {
  if (!OURS(TIME, SITE)) return find_time()(t);
  uint64_t s;
  if (!cohort_value_recorded(COHORT_VALUE_TIME, &s, SITE)) {
    s = (uint64_t)find_time()(NULL);
    cohort_value_record(COHORT_VALUE_TIME, s);
  }
  if (t != NULL) *t = (time_t)s;
  return (time_t)s;
}

EXPORT clock_t clock(void) {
  if (!OURS(CLOCK, SITE)) return find_clock()();
  uint64_t ticks;
  if (!cohort_value_recorded(COHORT_VALUE_CLOCK, &ticks, SITE)) {
    ticks = (uint64_t)find_clock()();
    cohort_value_record(COHORT_VALUE_CLOCK, ticks);
  }
  return (clock_t)ticks;
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
  uint64_t v;
  if (!cohort_value_recorded(COHORT_VALUE_ARC4RANDOM, &v, SITE)) {
    v = find_arc4random()();
    cohort_value_record(COHORT_VALUE_ARC4RANDOM, v);
  }
  return (uint32_t)v;
}

EXPORT uint32_t arc4random_uniform(uint32_t bound) {
  if (!OURS(ARC4RANDOM, SITE)) return find_arc4random_uniform()(bound);
  uint64_t v;
  if (!cohort_value_recorded(COHORT_VALUE_ARC4RANDOM, &v, SITE)) {
    v = find_arc4random_uniform()(bound);
    cohort_value_record(COHORT_VALUE_ARC4RANDOM, v);
  }
  return (uint32_t)v;
}

EXPORT void arc4random_buf(void *buffer, size_t length) {
  if (!OURS(RANDOM, SITE)) {
    find_arc4random_buf()(buffer, length);
    return;
  }
  if (give(COHORT_VALUE_RANDOM, buffer, length, SITE) >= 0) return;
  find_arc4random_buf()(buffer, length);
  cohort_value_record_bytes(COHORT_VALUE_RANDOM, buffer, length);
}

/* std::random_device of libstdc++, which by default asks the processor: its member function _M_getval. */
NEXT(_ZNSt13random_device9_M_getvalEv, unsigned, (void *))

EXPORT unsigned _ZNSt13random_device9_M_getvalEv(void *device) {
  if (!OURS(RANDOM_DEVICE, SITE)) return find__ZNSt13random_device9_M_getvalEv()(device);
  uint64_t v;
  if (!cohort_value_recorded(COHORT_VALUE_RANDOM_DEVICE, &v, SITE)) {
    nested = 1; /* what it asks of the C library in turn is no value of its own */
    v = find__ZNSt13random_device9_M_getvalEv()(device);
    nested = 0;
    cohort_value_record(COHORT_VALUE_RANDOM_DEVICE, v);
  }
  return (unsigned)v;
}

/* ---- the random devices: what is read from them is not recorded, and that is said */

static void opened(const char *path, uint64_t site) {
  if (LIKELY((cohort_clocks & 1u << COHORT_VALUE_RANDOM_DEVICE) == 0) || path == NULL || path[0] != '/') return;
  if (strcmp(path, "/dev/urandom") != 0 && strcmp(path, "/dev/random") != 0 && strcmp(path, "/dev/hwrng") != 0) return;
  if (!cohort_is_libstdcxx(site) && ours(COHORT_VALUE_RANDOM_DEVICE, site))
    cohort_uncovered_outside("open of a random device", site);
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  opened(path, SITE);
  return find_open()(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  opened(path, SITE);
  return find_open64()(path, flags, mode);
}

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode) {
  opened(path, SITE);
  return find_fopen()(path, mode);
}

EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode) {
  opened(path, SITE);
  return find_fopen64()(path, mode);
}
