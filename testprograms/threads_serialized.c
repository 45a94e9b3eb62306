/* Ranks whose threads take turns to call MPI (MPI_THREAD_SERIALIZED).
 *
 *     mpiexec -n 4 ./threads_serialized [turns|free [MESSAGES]]
 *
 * Every rank sends MESSAGES messages to each other rank, from one thread, while its other threads take what comes for it, with
 * wildcards; one lock lets one of them into MPI at a time. What it shows:
 *   turns  thread after thread takes a message (the default): the order of the rank's calls is the program's, only the
 *          messages race
 *   free   whoever gets the lock: which thread takes a message, and when the sender's calls come between, is up to the scheduler
 * Either way the messages that a rank takes must add up. The order hash of a rank also covers which thread took each message.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderhash.h"

enum { TAG = 7, RECEIVERS = 3 };

static int rank, ranks, messages, in_turns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards MPI and all that follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long taken;  /* messages, by all threads */
static long sent;   /* likewise */
static long sum;
static struct order order = ORDER_INIT;

static long wanted(void) {
    return (long)messages * (ranks - 1);
}

/* In turns a message is sent, one is taken, one is sent, ... Whoever has sent the fewest of all ranks has been sent as many by the
 * others, so nobody waits for ever. */
static int my_turn(int thread) {
    const int senders = sent == taken && sent < wanted();
    return !in_turns || taken == wanted() || (senders ? thread == 0 : taken % RECEIVERS == thread - 1);
}

static void await_turn(int thread) {
    while (!my_turn(thread)) {
        pthread_cond_wait(&changed, &lock);
    }
}

/* One message, or none where none is there and it is nobody's turn in particular. Returns whether all have been taken. */
static int take(int thread) {
    if (taken == wanted()) {
        return 1;
    }
    int value, arrived = 1;
    MPI_Status status;
    if (!in_turns) {
        MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &arrived, &status);
    }
    if (!arrived) {
        order_failed(&order);
        return 0;
    }
    MPI_Recv(&value, 1, MPI_INT, in_turns ? MPI_ANY_SOURCE : status.MPI_SOURCE, TAG, MPI_COMM_WORLD, &status); /* breakpoint: thread receives */
    order_taken(&order, status.MPI_SOURCE, thread);
    order_data(&order, &value, sizeof value);
    order.tasks++;
    sum += value;
    taken++;
    return 0;
}

static void *receive(void *argument) {
    const int thread = *(const int *)argument;
    for (int done = 0; !done;) {
        pthread_mutex_lock(&lock);
        await_turn(thread);
        done = take(thread);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        if (!in_turns) {
            sched_yield();
        }
    }
    return NULL;
}

static void *send_all(void *unused) {
    (void)unused;
    for (int k = 0; k < messages; k++) {
        for (int distance = 1; distance < ranks; distance++) {
            const int value = rank * messages + k;
            pthread_mutex_lock(&lock);
            await_turn(0);
            MPI_Send(&value, 1, MPI_INT, (rank + distance) % ranks, TAG, MPI_COMM_WORLD);
            sent++;
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}

static void start(pthread_t *thread, void *(*body)(void *), void *argument) {
    if (pthread_create(thread, NULL, body, argument) != 0) {
        fprintf(stderr, "threads_serialized: rank %d cannot create a thread\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static int run_threads(void) {
    pthread_t sender, receivers[RECEIVERS];
    int number[RECEIVERS];
    start(&sender, send_all, NULL);
    for (int i = 0; i < RECEIVERS; i++) {
        number[i] = i + 1;
        start(&receivers[i], receive, &number[i]);
    }
    pthread_join(sender, NULL);
    for (int i = 0; i < RECEIVERS; i++) {
        pthread_join(receivers[i], NULL);
    }
    long all = 0;
    for (int other = 0; other < ranks; other++) {
        all += other == rank ? 0 : (long)messages * ((long)other * messages) + (long)messages * (messages - 1) / 2;
    }
    if (sum != all) {
        fprintf(stderr, "threads_serialized: wrong: rank %d took messages that sum to %ld, not %ld\n", rank, sum, all);
    }
    return sum != all;
}

int main(int argc, char **argv) {
    int provided, status = 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *mode = argc > 1 ? argv[1] : "turns";
    in_turns = strcmp(mode, "turns") == 0;
    messages = argc > 2 ? atoi(argv[2]) : 20;
    if (provided < MPI_THREAD_SERIALIZED) {
        fprintf(stderr, "threads_serialized: this MPI does not provide MPI_THREAD_SERIALIZED\n");
    } else if ((in_turns || strcmp(mode, "free") == 0) && messages >= 1 && messages <= 10000 && ranks >= 2) {
        status = run_threads();
        report_order("threads_serialized", rank, &order);
    } else if (rank == 0) {
        fprintf(stderr, "usage: threads_serialized [turns|free [MESSAGES]], MESSAGES from 1 to 10000, on at least 2 ranks\n");
    }
    MPI_Finalize();
    return status;
}
