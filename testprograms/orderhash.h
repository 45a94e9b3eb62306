/* What one rank saw of the message order, and of the data, as two numbers that can be compared between runs.
 *
 * The order hash covers what MPI decided: the (source, tag) of every message taken, in the order in which it was taken,
 * and how many probes or tests failed before it. The data hash covers what the messages held. A replay is exact when both
 * are those of the recording, on every rank.
 *
 * Every program ends with report_order: one line per rank in one format, which tests parse:
 *     tsp: rank 2 order 0123456789abcdef data 0123456789abcdef tasks 31 polls 812
 */
#ifndef ORDERHASH_H
#define ORDERHASH_H

#include <stdint.h>
#include <stdio.h>

struct order {
    uint64_t order_hash;
    uint64_t data_hash;
    long tasks;        /* messages (or tasks) taken */
    long failed_polls; /* probes and tests that found nothing, in all */
    long failed_since; /* ... since the last success */
};

#define ORDER_INIT {14695981039346656037u, 14695981039346656037u, 0, 0, 0}

/* FNV-1a, 64 bits. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ byte[i]) * 1099511628211u;
    }
    return hash;
}

/* A probe or a test found nothing. */
static inline void order_failed(struct order *order) {
    order->failed_polls++;
    order->failed_since++;
}

/* A message was taken: its source, its tag, and how many polls failed before it. */
static inline void order_taken(struct order *order, int source, int tag) {
    const int64_t decision[3] = {source, tag, order->failed_since};
    order->order_hash = hash_bytes(order->order_hash, decision, sizeof decision);
    order->failed_since = 0;
}

static inline void order_data(struct order *order, const void *bytes, size_t length) {
    order->data_hash = hash_bytes(order->data_hash, bytes, length);
}

/* One write, so that the lines of several ranks do not mix within a line. The polls that failed after the last message
 * count too. */
static inline void report_order(const char *program, int rank, struct order *order) {
    order_taken(order, -1, -1);
    char line[200];
    snprintf(line, sizeof line, "%s: rank %d order %016llx data %016llx tasks %ld polls %ld\n", program, rank,
             (unsigned long long)order->order_hash, (unsigned long long)order->data_hash, order->tasks,
             order->failed_polls);
    fputs(line, stdout);
    fflush(stdout);
}

#endif
