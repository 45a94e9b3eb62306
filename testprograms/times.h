/* When the measured part of a program began and ended on this rank: for benchmarks, and only printed where the environment
 * has TESTPROGRAM_TIMES, so that what a program says is the same in two runs otherwise.
 *
 * No MPI call is made for it: a barrier would be one more event, and MPI_Wtime is something that a replay may give back from
 * the recording. The ranks of one host share CLOCK_MONOTONIC; the benchmark takes the time from the moment at which the last
 * of them began to the moment at which the last one ended:
 *     det: rank 2 measured from 1234.567890123 to 1235.012345678
 */
#ifndef TIMES_H
#define TIMES_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double measured_from;

static inline double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void measure_begin(void) {
    measured_from = seconds_now();
}

static inline void measure_end(const char *program, int rank) {
    const double to = seconds_now();
    if (getenv("TESTPROGRAM_TIMES") == NULL) {
        return;
    }
    char line[120];
    snprintf(line, sizeof line, "%s: rank %d measured from %.9f to %.9f\n", program, rank, measured_from, to);
    fputs(line, stdout);
    fflush(stdout);
}

#endif
