/* A cache simulator: the program of that name in Table 1 of Netzer and Miller, "Optimal Tracing and Replay for Debugging
 * Message-Passing Parallel Programs" (there on a trace of 10 MByte; 1791 messages, 19 % of them traced, the only program for which
 * the trace was not optimal).
 *
 *     mpiexec -n 4 ./tycho [BLOCKS [REFERENCES [CACHES]]]
 *
 * simulates CACHES caches on an address trace of BLOCKS blocks of REFERENCES references each (by default 10 caches, 6 blocks of
 * 1000). Rank 0 has the trace; whoever is idle gets the next cache, and then asks for one block after the other.
 * What it shows: first come, first served in two ways. Rank 0 takes now whatever comes (MPI_ANY_SOURCE, MPI_ANY_TAG), now a
 * result only (MPI_ANY_SOURCE, TAG_RESULT), so that its receives take messages from different sets: races that are not
 * transitive (section 4.3 there), for which tracing the second message of each race is not optimal.
 *
 * The results are checked by another method (tycho_caches.h).
 */
#include <mpi.h>

#include "orderhash.h"
#include "times.h"
#include "tycho_caches.h"

enum message_tag { TAG_IDLE = 1, TAG_BLOCK, TAG_RESULT, TAG_CACHE, TAG_HEAD, TAG_ADDRESSES, TAG_KINDS, TAG_STOP };
enum { RESULT_EVERY = 3 };         /* so many messages are taken before one that must be a result */
enum { MOST_REFERENCES = 1 << 26 };
enum { MOST_CACHES = 60 };         /* up to 64 Ki sets */

static int rank, ranks, blocks, references, caches;
static struct order order = ORDER_INIT;

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "tycho: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
        exit(3);
    }
    return memory;
}

/* ---- the worker ---- */

/* What a worker has found out: the cache, its misses, and how many of the references were writes. */
struct result {
    long cache, misses, writes;
};

static struct result simulate(int number, uint32_t *address, uint8_t *kind) {
    struct cache cache;
    struct result result = {number, 0, 0};
    if (!cache_open(&cache, number)) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (long block = 0; block < blocks; block++) {
        int head[2]; /* its number and its length */
        MPI_Send(&block, 1, MPI_LONG, 0, TAG_BLOCK, MPI_COMM_WORLD);
        MPI_Recv(head, 2, MPI_INT, 0, TAG_HEAD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(address, head[1], MPI_UINT32_T, 0, TAG_ADDRESSES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(kind, head[1], MPI_UINT8_T, 0, TAG_KINDS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < head[1]; i++) {
            cache_touch(&cache, address[i]);
            result.writes += kind[i] == WRITE;
        }
    }
    result.misses = cache.misses;
    cache_close(&cache);
    return result;
}

static void work(void) {
    uint32_t *address = allocate((size_t)references * sizeof *address);
    uint8_t *kind = allocate((size_t)references * sizeof *kind);
    int number;
    MPI_Send(NULL, 0, MPI_LONG, 0, TAG_IDLE, MPI_COMM_WORLD);
    for (;;) {
        MPI_Status status;
        MPI_Recv(&number, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
        if (status.MPI_TAG == TAG_STOP) {
            break;
        }
        const struct result result = simulate(number, address, kind); /* breakpoint: cache received */
        order_data(&order, &result, sizeof result);
        order.tasks++;
        MPI_Send(&result, 3, MPI_LONG, 0, TAG_RESULT, MPI_COMM_WORLD);
    }
    free(address);
    free(kind);
}

/* ---- rank 0 ---- */

static uint32_t *trace_address;
static uint8_t *trace_kind;
static struct result results[MOST_CACHES];
static int next_cache, working; /* workers that have not been told to stop */
static int finishing;           /* workers that have got their last block: their next message is a result */

static void send_block(int block, int worker) {
    const int head[2] = {block, references};
    const size_t from = (size_t)block * (size_t)references;
    MPI_Send(head, 2, MPI_INT, worker, TAG_HEAD, MPI_COMM_WORLD);
    MPI_Send(trace_address + from, references, MPI_UINT32_T, worker, TAG_ADDRESSES, MPI_COMM_WORLD);
    MPI_Send(trace_kind + from, references, MPI_UINT8_T, worker, TAG_KINDS, MPI_COMM_WORLD);
    finishing += block == blocks - 1;
}

static void employ(int worker) {
    if (next_cache == caches) {
        MPI_Send(&caches, 1, MPI_INT, worker, TAG_STOP, MPI_COMM_WORLD);
        working--;
    } else {
        MPI_Send(&next_cache, 1, MPI_INT, worker, TAG_CACHE, MPI_COMM_WORLD);
        next_cache++;
    }
}

/* A message is the number of a block, or a result, or empty. */
static void answer(const long message[3], const MPI_Status *status) {
    switch (status->MPI_TAG) {
    case TAG_RESULT:
        results[message[0]] = (struct result){message[0], message[1], message[2]};
        finishing--;
        employ(status->MPI_SOURCE);
        break;
    case TAG_BLOCK:
        send_block((int)message[0], status->MPI_SOURCE);
        break;
    default:
        employ(status->MPI_SOURCE);
    }
}

static void serve(void) {
    working = ranks - 1;
    for (int taken = 1; working > 0; taken++) {
        long message[3];
        MPI_Status status;
        /* A result is sure to come from a worker that needs nothing more of this rank. */
        const int tag = finishing > 0 && taken % RESULT_EVERY == 0 ? TAG_RESULT : MPI_ANY_TAG;
        MPI_Recv(message, 3, MPI_LONG, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status); /* breakpoint: message taken */
        order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
        order.tasks++;
        answer(message, &status);
    }
}

/* Compares the results with those of the other method. */
static int check(void) {
    const int n = blocks * references;
    long writes = 0, misses[MOST_WAYS + 1] = {0};
    for (int i = 0; i < n; i++) {
        writes += trace_kind[i] == WRITE;
    }
    for (int number = 0, known = -1; number < caches; number++) {
        int set_bits, ways;
        cache_of(number, &set_bits, &ways);
        if (known != set_bits && !misses_by_stack(set_bits, n, trace_address, misses)) {
            fprintf(stderr, "tycho: no memory to check the results\n");
            return 3;
        }
        known = set_bits;
        const struct result *result = &results[number];
        order_data(&order, result, sizeof *result);
        if (result->misses != misses[ways] || result->writes != writes) {
            fprintf(stderr, "tycho: wrong: %d sets of %d lines: %ld misses, %ld writes; they are %ld and %ld\n", 1 << set_bits, ways,
                    result->misses, result->writes, misses[ways], writes);
            return 1;
        }
    }
    printf("tycho: %d references, %d caches, %ld misses in the smallest\n", n, caches, results[0].misses);
    return 0;
}

static int simulate_all(void) {
    const size_t n = (size_t)blocks * (size_t)references;
    if (rank != 0) {
        measure_begin();
        work();
        measure_end("tycho", rank);
        return 0;
    }
    trace_address = allocate(n * sizeof *trace_address);
    trace_kind = allocate(n * sizeof *trace_kind);
    make_trace((int)n, trace_address, trace_kind);
    measure_begin();
    serve();
    measure_end("tycho", rank);
    const int status = check();
    free(trace_address);
    free(trace_kind);
    return status;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int status = 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    blocks = argc > 1 ? atoi(argv[1]) : 6;
    references = argc > 2 ? atoi(argv[2]) : 1000;
    caches = argc > 3 ? atoi(argv[3]) : 10;
    if (ranks >= 2 && blocks >= 1 && references >= 1 && (long)blocks * references <= MOST_REFERENCES && caches >= 1 &&
        caches <= MOST_CACHES) {
        status = simulate_all();
        report_order("tycho", rank, &order);
    } else if (rank == 0) {
        fprintf(stderr, "usage: tycho [BLOCKS [REFERENCES [CACHES]]], at most %d references in all, at most %d caches, on at least 2 ranks\n",
                MOST_REFERENCES, MOST_CACHES);
    }
    MPI_Finalize();
    return status;
}
