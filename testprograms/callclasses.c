/* Every class of MPI call whose outcome depends on timing, in one run: each has its own communicator, its own hashes, and a line per rank that
 * names it.
 *
 *     mpiexec -n 4 ./callclasses [CLASS...]      (all of them by default; "list" prints their names)
 *
 *     callclasses: rank 2 class waitsome order 0123456789abcdef data 0123456789abcdef taken 31 polls 812
 *
 * The order hash covers what MPI decided (sources, tags, indices, counts, what was cancelled, how many polls failed), the data hash what the
 * messages held. A replay is exact when each class has the same hashes on each rank.
 *
 * PERTURB=SEED in the environment delays the senders: which of them is slow depends on the seed, so that runs with other seeds take their
 * messages in another order (PERTURB_STEP: by so many microseconds, 400 by default). A replay with another seed can only pass because the order is enforced, not by luck.
 *
 * In most classes one rank receives and all ranks send to it, itself included; each of its receives can take any message that is there. The sends are
 * nonblocking, of all modes and of sizes below and above the eager limits.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orderhash.h"

enum { MAX_RANKS = 16, EACH = 3, MAX_TAKEN = MAX_RANKS * EACH, LARGEST = 70000, BSEND_BUFFER = 16 << 20 };
enum { TAG_ONE = 1, TAG_TWO = 2, TAG_NEVER = 99 };

static MPI_Comm comm; /* of the class that is running */
static int rank, ranks, class_number;
static struct order order;

/* ------------------------------------------------------------------ perturbation */

static long perturb_seed = -1, perturb_step = 400;
static uint64_t perturb_state;

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void pause_for(long microseconds) {
    const struct timespec t = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&t, NULL);
}

/* Which ranks are slow is another matter in each class and with each seed. */
static void perturb_begin(void) {
    perturb_state = mix((uint64_t)perturb_seed * 1000003u + (uint64_t)class_number * 1009u + (uint64_t)rank);
    if (perturb_seed >= 0) {
        pause_for((long)(perturb_state % (uint64_t)ranks) * perturb_step);
    }
}

static void perturb(void) {
    if (perturb_seed >= 0) {
        perturb_state = mix(perturb_state);
        if (perturb_state % 2 == 0) {
            pause_for((long)(perturb_state / 2 % (uint64_t)perturb_step));
        }
    }
}

/* ------------------------------------------------------------------ messages */

static char sent[EACH][LARGEST], taken_into[MAX_TAKEN][LARGEST];
static MPI_Request sending[EACH];

static int tag_of(int seq) { return seq % 2 == 0 ? TAG_ONE : TAG_TWO; }

static int bytes_of(int sender, int seq) {
    switch ((sender * 5 + seq * 3 + class_number) % 8) {
    case 0: return LARGEST;
    case 1: return 5000;
    default: return 16 + 8 * seq + sender;
    }
}

static void fill(char *message, int bytes, int sender, int seq) {
    memset(message, 'a' + (sender * EACH + seq) % 26, (size_t)bytes);
    const int head[3] = {sender, seq, class_number};
    memcpy(message, head, sizeof head);
}

/* What MPI decided, and what came with it. */
static void taken(const char *message, const MPI_Status *status) {
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    order_taken(&order, status->MPI_SOURCE, status->MPI_TAG);
    order_data(&order, &bytes, sizeof bytes);
    if (bytes > 0) {
        order_data(&order, message, (size_t)bytes);
    }
    order.tasks++;
}

static void decided(int what) { order.order_hash = hash_bytes(order.order_hash, &what, sizeof what); }

/* A poll failed. Yielding lets the senders run where there are more ranks than cores. */
static void failed(void) {
    order_failed(&order);
    sched_yield();
}

/* All ranks send EACH messages, in all modes. */
static void post_sends(int receiver) {
    perturb_begin();
    for (int seq = 0; seq < EACH; seq++) {
        const int bytes = bytes_of(rank, seq), tag = tag_of(seq);
        fill(sent[seq], bytes, rank, seq);
        switch ((rank + seq + class_number) % 4) {
        case 0: MPI_Isend(sent[seq], bytes, MPI_BYTE, receiver, tag, comm, &sending[seq]); break;
        case 1: MPI_Issend(sent[seq], bytes, MPI_BYTE, receiver, tag, comm, &sending[seq]); break;
        case 2: MPI_Ibsend(sent[seq], bytes, MPI_BYTE, receiver, tag, comm, &sending[seq]); break;
        default:
            MPI_Send_init(sent[seq], bytes, MPI_BYTE, receiver, tag, comm, &sending[seq]);
            MPI_Start(&sending[seq]);
        }
        perturb();
    }
}

static void finish_sends(void) {
    MPI_Waitall(EACH, sending, MPI_STATUSES_IGNORE);
    for (int seq = 0; seq < EACH; seq++) {
        if (sending[seq] != MPI_REQUEST_NULL) {
            MPI_Request_free(&sending[seq]); /* persistent */
        }
    }
}

/* Two rounds with a receiver each. */
static void gather_at_receivers(void (*receive)(int total)) {
    for (int round = 0; round < 2; round++) {
        const int receiver = (class_number + round) % ranks;
        post_sends(receiver);
        if (rank == receiver) {
            receive(ranks * EACH);
        }
        finish_sends();
        MPI_Barrier(comm);
    }
}

/* ------------------------------------------------------------------ receives that block */

static void take_recv(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        MPI_Recv(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        taken(taken_into[0], &status);
    }
}
static void run_recv(void) { gather_at_receivers(take_recv); }

static void take_recv_tag(int total) {
    for (int tag = TAG_ONE; tag <= TAG_TWO; tag++) {
        for (int k = 0; k < total; k++) {
            if (tag_of(k % EACH) == tag) {
                MPI_Status status;
                MPI_Recv(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &status);
                taken(taken_into[0], &status);
            }
        }
    }
}
static void run_recv_tag(void) { gather_at_receivers(take_recv_tag); }

static void take_recv_source(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        MPI_Recv(taken_into[0], LARGEST, MPI_BYTE, k % ranks, MPI_ANY_TAG, comm, &status);
        taken(taken_into[0], &status);
    }
}
static void run_recv_source(void) { gather_at_receivers(take_recv_source); }

/* Who sent it is in the message only. */
static void take_recv_ignore(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Recv(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
        order_data(&order, taken_into[0], 3 * sizeof(int));
        order.tasks++;
    }
}
static void run_recv_ignore(void) { gather_at_receivers(take_recv_ignore); }

/* Another rank is told whom to send to next: what happens depends on what was taken. */
static void run_chain(void) {
    perturb_begin();
    for (int round = 0; round < 4; round++) {
        if (rank == 0) {
            for (int k = 1; k < ranks; k++) {
                int x;
                MPI_Status status;
                MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, TAG_ONE, comm, &status);
                taken((const char *)&x, &status);
                MPI_Send(&k, 1, MPI_INT, status.MPI_SOURCE, TAG_TWO, comm);
            }
        } else {
            int place;
            perturb();
            MPI_Send(&rank, 1, MPI_INT, 0, TAG_ONE, comm);
            MPI_Recv(&place, 1, MPI_INT, 0, TAG_TWO, comm, MPI_STATUS_IGNORE);
            decided(place);
            for (int k = 0; k < place; k++) {
                perturb();
            }
        }
    }
}

/* ------------------------------------------------------------------ Irecv and its completions */

static MPI_Request receiving[MAX_TAKEN];
static MPI_Status statuses[MAX_TAKEN];
static int indices[MAX_TAKEN];

static void post_receives(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Irecv(taken_into[k], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receiving[k]);
    }
}

static void completed(int index, const MPI_Status *status) {
    decided(index);
    taken(taken_into[index], status);
}

static void wait_each(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        MPI_Wait(&receiving[k], &status);
        completed(k, &status);
    }
}

static void wait_each_backwards(int total) {
    for (int k = total - 1; k >= 0; k--) {
        MPI_Status status;
        MPI_Wait(&receiving[k], &status);
        completed(k, &status);
    }
}

static void wait_all(int total) {
    MPI_Waitall(total, receiving, statuses);
    for (int k = 0; k < total; k++) {
        completed(k, &statuses[k]);
    }
}

static void wait_all_ignore(int total) {
    MPI_Waitall(total, receiving, MPI_STATUSES_IGNORE);
    for (int k = 0; k < total; k++) {
        order_data(&order, taken_into[k], 3 * sizeof(int));
        order.tasks++;
    }
}

static void wait_any(int total) {
    for (int k = 0; k < total; k++) {
        int index;
        MPI_Status status;
        MPI_Waitany(total, receiving, &index, &status);
        completed(index, &status);
    }
}

static void wait_any_ignore(int total) {
    for (int k = 0; k < total; k++) {
        int index;
        MPI_Waitany(total, receiving, &index, MPI_STATUS_IGNORE);
        decided(index);
        order_data(&order, taken_into[index], 3 * sizeof(int));
        order.tasks++;
    }
}

static void wait_some(int total) {
    for (int left = total; left > 0;) {
        int count;
        MPI_Waitsome(total, receiving, &count, indices, statuses);
        decided(count);
        for (int i = 0; i < count; i++) {
            completed(indices[i], &statuses[i]);
        }
        left -= count;
        perturb(); /* so that several are complete at once */
    }
}

static void test_each(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        for (;;) {
            int done;
            MPI_Test(&receiving[k], &done, &status);
            if (done) {
                break;
            }
            failed();
        }
        completed(k, &status);
    }
}

/* As a program does that works while it waits: one test of each request per turn. */
static void test_in_turn(int total) {
    for (int left = total; left > 0;) {
        for (int k = 0; k < total; k++) {
            int done;
            MPI_Status status;
            if (receiving[k] == MPI_REQUEST_NULL) {
                continue;
            }
            MPI_Test(&receiving[k], &done, &status);
            if (done) {
                completed(k, &status);
                left--;
            } else {
                failed();
            }
        }
    }
}

static void test_all(int total) {
    for (;;) {
        int done;
        MPI_Testall(total, receiving, &done, statuses);
        if (done) {
            break;
        }
        failed();
    }
    for (int k = 0; k < total; k++) {
        completed(k, &statuses[k]);
    }
}

static void test_any(int total) {
    for (int left = total; left > 0;) {
        int index, done;
        MPI_Status status;
        MPI_Testany(total, receiving, &index, &done, &status);
        if (done) {
            completed(index, &status);
            left--;
        } else {
            failed();
        }
    }
}

static void test_some(int total) {
    for (int left = total; left > 0;) {
        int count;
        MPI_Testsome(total, receiving, &count, indices, statuses);
        if (count == 0) {
            failed();
            continue;
        }
        decided(count);
        for (int i = 0; i < count; i++) {
            completed(indices[i], &statuses[i]);
        }
        left -= count;
        perturb();
    }
}

static void get_status_each(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        for (;;) {
            int done;
            MPI_Request_get_status(receiving[k], &done, &status);
            if (done) {
                break;
            }
            failed();
        }
        decided(status.MPI_SOURCE);
        decided(status.MPI_TAG);
        MPI_Wait(&receiving[k], &status);
        completed(k, &status);
    }
}

#define NONBLOCKING(name)                                \
    static void take_irecv_##name(int total) {           \
        post_receives(total);                            \
        name(total);                                     \
    }                                                    \
    static void run_##name(void) { gather_at_receivers(take_irecv_##name); }
NONBLOCKING(wait_each)
NONBLOCKING(wait_each_backwards)
NONBLOCKING(wait_all)
NONBLOCKING(wait_all_ignore)
NONBLOCKING(wait_any)
NONBLOCKING(wait_any_ignore)
NONBLOCKING(wait_some)
NONBLOCKING(test_each)
NONBLOCKING(test_in_turn)
NONBLOCKING(test_all)
NONBLOCKING(test_any)
NONBLOCKING(test_some)
NONBLOCKING(get_status_each)

/* Receives with other wildcards side by side: what one takes the other cannot. */
static void take_mixed(int total) {
    for (int k = 0; k < total; k++) {
        const int tag = tag_of(k % EACH);
        MPI_Irecv(taken_into[k], LARGEST, MPI_BYTE, tag == TAG_ONE ? MPI_ANY_SOURCE : k / EACH, tag, comm, &receiving[k]);
    }
    wait_some(total);
}
static void run_mixed(void) { gather_at_receivers(take_mixed); }

/* A window of receives that is refilled: posts and completions alternate. */
static void take_window(int total) {
    enum { WINDOW = 3 };
    int posted = 0, done = 0;
    for (; posted < WINDOW && posted < total; posted++) {
        MPI_Irecv(taken_into[posted], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receiving[posted]);
    }
    const int slots = posted;
    for (; done < total; done++) {
        int index;
        MPI_Status status;
        MPI_Waitany(slots, receiving, &index, &status);
        completed(index, &status);
        if (posted < total) {
            MPI_Irecv(taken_into[index], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receiving[index]);
            posted++;
        }
    }
}
static void run_window(void) { gather_at_receivers(take_window); }

/* ------------------------------------------------------------------ probes */

static void take_probe(int total) {
    for (int k = 0; k < total; k++) {
        int bytes;
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        decided(bytes);
        MPI_Recv(taken_into[0], bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
        taken(taken_into[0], &status);
    }
}
static void run_probe(void) { gather_at_receivers(take_probe); }

/* The receive has the wildcards of the probe: MPI gives it the message that was probed. */
static void take_probe_wild(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Status seen, status;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &seen);
        decided(seen.MPI_SOURCE);
        MPI_Recv(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        taken(taken_into[0], &status);
    }
}
static void run_probe_wild(void) { gather_at_receivers(take_probe_wild); }

static void take_iprobe(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        for (;;) {
            int there;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, &status);
            if (there) {
                break;
            }
            failed();
        }
        MPI_Recv(taken_into[0], LARGEST, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
        taken(taken_into[0], &status);
    }
}
static void run_iprobe(void) { gather_at_receivers(take_iprobe); }

/* No wildcard, but when it is there is a race. */
static void take_iprobe_exact(int total) {
    int left[MAX_RANKS];
    for (int source = 0; source < ranks; source++) {
        left[source] = EACH;
    }
    for (int k = 0; k < total;) {
        for (int source = 0; source < ranks; source++) {
            int there;
            MPI_Status status;
            if (left[source] == 0) {
                continue;
            }
            const int tag = tag_of(EACH - left[source]);
            MPI_Iprobe(source, tag, comm, &there, &status);
            if (!there) {
                failed();
                continue;
            }
            MPI_Recv(taken_into[0], LARGEST, MPI_BYTE, source, tag, comm, &status);
            taken(taken_into[0], &status);
            left[source]--;
            k++;
        }
    }
}
static void run_iprobe_exact(void) { gather_at_receivers(take_iprobe_exact); }

static void take_mprobe(int total) {
    for (int k = 0; k < total; k++) {
        int bytes;
        MPI_Message message;
        MPI_Status status;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        decided(status.MPI_SOURCE);
        MPI_Mrecv(taken_into[0], bytes, MPI_BYTE, &message, &status);
        taken(taken_into[0], &status);
    }
}
static void run_mprobe(void) { gather_at_receivers(take_mprobe); }

/* All messages are matched first, and received in another order. */
static void take_mprobe_later(int total) {
    static MPI_Message messages[MAX_TAKEN];
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        MPI_Mprobe(MPI_ANY_SOURCE, k % EACH == 0 ? TAG_TWO : TAG_ONE, comm, &messages[k], &status);
        decided(status.MPI_SOURCE);
        decided(status.MPI_TAG);
    }
    for (int k = 0; k < total; k++) {
        const int index = total - 1 - k;
        MPI_Imrecv(taken_into[index], LARGEST, MPI_BYTE, &messages[index], &receiving[index]);
    }
    wait_any(total);
}
static void run_mprobe_later(void) { gather_at_receivers(take_mprobe_later); }

static void take_improbe(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Message message;
        MPI_Status status;
        for (;;) {
            int there;
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, &message, &status);
            if (there) {
                break;
            }
            failed();
        }
        MPI_Mrecv(taken_into[0], LARGEST, MPI_BYTE, &message, &status);
        taken(taken_into[0], &status);
    }
}
static void run_improbe(void) { gather_at_receivers(take_improbe); }

static void take_improbe_imrecv(int total) {
    for (int k = 0; k < total;) {
        int there;
        MPI_Message message;
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, &message, MPI_STATUS_IGNORE);
        if (there) {
            MPI_Imrecv(taken_into[k], LARGEST, MPI_BYTE, &message, &receiving[k]);
            k++;
        } else {
            failed();
        }
    }
    test_some(total);
}
static void run_improbe_imrecv(void) { gather_at_receivers(take_improbe_imrecv); }

/* ------------------------------------------------------------------ exchanges: every rank takes any message that is for it
 * Small messages, but where sources are exact: a rank may take a message of a later round, so that its sender's must be buffered. */

enum { EXCHANGES = 6 };

static void run_sendrecv(void) {
    perturb_begin();
    for (int k = 0; k < EXCHANGES; k++) {
        const int bytes = 16 + 8 * k + rank;
        MPI_Status status;
        fill(sent[0], bytes, rank, k);
        perturb();
        MPI_Sendrecv(sent[0], bytes, MPI_BYTE, (rank + k) % ranks, k, taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        taken(taken_into[0], &status);
    }
}

static void run_sendrecv_ignore(void) {
    perturb_begin();
    for (int k = 0; k < EXCHANGES; k++) {
        fill(sent[0], 64, rank, k);
        perturb();
        MPI_Sendrecv(sent[0], 64, MPI_BYTE, (rank + k) % ranks, k, taken_into[0], 64, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
        order_data(&order, taken_into[0], 64);
        order.tasks++;
    }
}

static void run_sendrecv_replace(void) {
    perturb_begin();
    for (int k = 0; k < EXCHANGES; k++) {
        MPI_Status status;
        memset(sent[0], 0, LARGEST);
        fill(sent[0], LARGEST, rank, k);
        perturb();
        MPI_Sendrecv_replace(sent[0], k % 2 == 0 ? 64 : LARGEST, MPI_BYTE, (rank + k) % ranks, 0, (rank + ranks - k % ranks) % ranks, MPI_ANY_TAG, comm, &status);
        taken(sent[0], &status);
    }
    for (int k = 0; k < EXCHANGES; k++) {
        MPI_Status status;
        fill(sent[0], 64, rank, k);
        perturb();
        MPI_Sendrecv_replace(sent[0], 64, MPI_BYTE, (rank + k) % ranks, k, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        taken(sent[0], &status);
    }
}

/* ------------------------------------------------------------------ persistent requests */

static void init_receives(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Recv_init(taken_into[k], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receiving[k]);
    }
}

static void free_receives(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Request_free(&receiving[k]);
    }
}

static void take_start_wait(int total) {
    init_receives(1);
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        MPI_Start(&receiving[0]);
        MPI_Wait(&receiving[0], &status);
        completed(0, &status);
    }
    free_receives(1);
}
static void run_start_wait(void) { gather_at_receivers(take_start_wait); }

/* As many requests as ranks, started EACH times. */
#define PERSISTENT(name)                                        \
    static void take_startall_##name(int total) {               \
        const int some = total / EACH;                          \
        init_receives(some);                                    \
        for (int round = 0; round < EACH; round++) {            \
            if (round == 1) {                                   \
                for (int k = some - 1; k >= 0; k--) {           \
                    MPI_Start(&receiving[k]);                   \
                }                                               \
            } else {                                            \
                MPI_Startall(some, receiving);                  \
            }                                                   \
            name(some);                                         \
        }                                                       \
        free_receives(some);                                    \
    }                                                           \
    static void run_startall_##name(void) { gather_at_receivers(take_startall_##name); }
PERSISTENT(wait_all)
PERSISTENT(wait_any)
PERSISTENT(wait_some)
PERSISTENT(test_each)
PERSISTENT(test_all)
PERSISTENT(test_any)
PERSISTENT(test_some)

/* In what order sends complete is a race too: those that wait for their receives. */
static void persistent_sends(void) {
    enum { ROUNDS = 3 };
    MPI_Request requests[MAX_RANKS];
    perturb_begin();
    if (rank == 0) {
        int done[MAX_RANKS];
        for (int to = 1; to < ranks; to++) {
            fill(sent[0], 64, rank, 0);
            if (to % 2 == 0) {
                MPI_Ssend_init(sent[0], 64, MPI_BYTE, to, TAG_ONE, comm, &requests[to - 1]);
            } else {
                MPI_Send_init(sent[0], LARGEST, MPI_BYTE, to, TAG_ONE, comm, &requests[to - 1]);
            }
        }
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Startall(ranks - 1, requests);
            for (int left = ranks - 1; left > 0;) {
                int count, index;
                switch (round) {
                case 0:
                    MPI_Waitany(ranks - 1, requests, &index, MPI_STATUS_IGNORE);
                    decided(index);
                    left--;
                    break;
                case 1:
                    MPI_Testsome(ranks - 1, requests, &count, done, MPI_STATUSES_IGNORE);
                    if (count == 0) {
                        failed();
                        break;
                    }
                    order_taken(&order, count, done[0]);
                    left -= count;
                    break;
                default:
                    MPI_Waitsome(ranks - 1, requests, &count, done, MPI_STATUSES_IGNORE);
                    for (int i = 0; i < count; i++) {
                        decided(done[i]);
                    }
                    left -= count;
                }
            }
        }
        for (int to = 1; to < ranks; to++) {
            MPI_Request_free(&requests[to - 1]);
        }
    } else {
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Status status;
            perturb();
            MPI_Recv(taken_into[0], LARGEST, MPI_BYTE, 0, TAG_ONE, comm, &status);
            taken(taken_into[0], &status);
        }
    }
}

/* ------------------------------------------------------------------ sends */

/* The modes that block. All receives are posted before the ready sends. */
static void blocking_sends(void) {
    perturb_begin();
    if (rank == 0) {
        const int total = (ranks - 1) * 4;
        for (int k = 0; k < total; k++) {
            MPI_Irecv(taken_into[k], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, TAG_ONE, comm, &receiving[k]);
        }
        MPI_Barrier(comm);
        wait_some(total);
    } else {
        fill(sent[0], LARGEST, rank, 0);
        MPI_Barrier(comm);
        perturb();
        MPI_Rsend(sent[0], 40 + rank, MPI_BYTE, 0, TAG_ONE, comm);
        perturb();
        MPI_Ssend(sent[0], 41 + rank, MPI_BYTE, 0, TAG_ONE, comm);
        MPI_Bsend(sent[0], 42 + rank, MPI_BYTE, 0, TAG_ONE, comm);
        perturb();
        MPI_Send(sent[0], rank % 2 == 0 ? LARGEST : 100, MPI_BYTE, 0, TAG_ONE, comm);
    }
}

static void issend_completion(void) {
    MPI_Request requests[MAX_RANKS];
    perturb_begin();
    for (int round = 0; round < 2; round++) {
        if (rank == 0) {
            for (int to = 1; to < ranks; to++) {
                MPI_Issend(&rank, 1, MPI_INT, to, TAG_ONE, comm, &requests[to - 1]);
            }
            for (int left = ranks - 1; left > 0;) {
                int index, done;
                MPI_Testany(ranks - 1, requests, &index, &done, MPI_STATUS_IGNORE);
                if (done) {
                    order_taken(&order, index, 0);
                    left--;
                } else {
                    failed();
                }
            }
        } else {
            int x;
            perturb_begin();
            MPI_Recv(&x, 1, MPI_INT, 0, TAG_ONE, comm, MPI_STATUS_IGNORE);
        }
    }
}

static void freed_sends(void) {
    perturb_begin();
    if (rank == 0) {
        take_recv((ranks - 1) * EACH);
    } else {
        for (int seq = 0; seq < EACH; seq++) {
            MPI_Request request;
            fill(sent[seq], bytes_of(rank, seq), rank, seq);
            MPI_Isend(sent[seq], bytes_of(rank, seq), MPI_BYTE, 0, tag_of(seq), comm, &request);
            MPI_Request_free(&request);
            perturb();
        }
    }
    MPI_Barrier(comm);
}

/* ------------------------------------------------------------------ cancel */

static void cancelled(MPI_Request *request) {
    int was;
    MPI_Status status;
    MPI_Cancel(request);
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &was);
    decided(was);
    if (!was) {
        taken(taken_into[0], &status);
    }
}

static void take_with_cancel_never(int total) {
    MPI_Request never[2];
    MPI_Irecv(taken_into[1], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, TAG_NEVER, comm, &never[0]);
    MPI_Irecv(taken_into[1], LARGEST, MPI_BYTE, (rank + 1) % ranks, TAG_NEVER, comm, &never[1]);
    take_recv(total);
    cancelled(&never[0]);
    cancelled(&never[1]);
}
static void run_cancel_never(void) { gather_at_receivers(take_with_cancel_never); }

/* A receive is cancelled while its message may be on its way: the message is taken by it, or by the next receive. MPI need not make progress in a
 * receive that is cancelled at once, so that every third is let be. */
static void take_with_cancel_race(int total) {
    int tries = 0;
    for (int k = 0; k < total;) {
        int was;
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
        perturb();
        if (++tries % 3 != 0) {
            MPI_Cancel(&request);
        }
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &was);
        decided(was);
        if (was) {
            failed();
        } else {
            taken(taken_into[0], &status);
            k++;
        }
    }
}
static void run_cancel_race(void) { gather_at_receivers(take_with_cancel_race); }

static void take_with_cancel_persistent(int total) {
    MPI_Request request;
    MPI_Recv_init(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    int tries = 0;
    for (int k = 0; k < total;) {
        int was;
        MPI_Status status;
        MPI_Start(&request);
        perturb();
        if (++tries % 3 != 0) {
            MPI_Cancel(&request);
        }
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &was);
        decided(was);
        if (!was) {
            taken(taken_into[0], &status);
            k++;
        } else {
            failed();
        }
    }
    MPI_Request_free(&request);
}
static void run_cancel_persistent(void) { gather_at_receivers(take_with_cancel_persistent); }

/* ------------------------------------------------------------------ what is complete by itself */

static void nothing_to_wait_for(void) {
    MPI_Request none[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, inactive;
    MPI_Status status;
    int index = 7, count = 7, done = 7;
    perturb_begin();
    MPI_Waitany(3, none, &index, &status);
    decided(index == MPI_UNDEFINED);
    MPI_Waitsome(3, none, &count, indices, statuses);
    decided(count == MPI_UNDEFINED);
    MPI_Testany(3, none, &index, &done, &status);
    decided(done * 2 + (index == MPI_UNDEFINED));
    MPI_Testsome(3, none, &count, indices, statuses);
    decided(count == MPI_UNDEFINED);
    MPI_Testall(3, none, &done, statuses);
    decided(done);
    MPI_Test(&none[0], &done, &status);
    decided(done);
    MPI_Wait(&none[0], &status);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Waitany(0, NULL, &index, &status);
    decided(index == MPI_UNDEFINED);
    MPI_Request_get_status(MPI_REQUEST_NULL, &done, &status);
    decided(done);

    MPI_Recv(taken_into[0], 4, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &status);
    decided(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Probe(MPI_PROC_NULL, MPI_ANY_TAG, comm, &status);
    decided(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, comm, &done, &status);
    decided(done * 2 + (status.MPI_SOURCE == MPI_PROC_NULL));
    MPI_Irecv(taken_into[0], 4, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &none[1]);
    MPI_Isend(taken_into[0], 4, MPI_BYTE, MPI_PROC_NULL, 0, comm, &none[2]);
    MPI_Waitall(3, none, statuses);
    decided(statuses[1].MPI_SOURCE == MPI_PROC_NULL);
    MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, taken_into[0], 4, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &status);

    /* Inactive beside active. */
    MPI_Recv_init(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, TAG_ONE, comm, &inactive);
    MPI_Wait(&inactive, &status);
    decided(status.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Test(&inactive, &done, &status);
    decided(done);
    MPI_Request both[3] = {inactive, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Waitany(3, both, &index, &status);
    decided(index == MPI_UNDEFINED);
    MPI_Irecv(taken_into[1], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, TAG_TWO, comm, &both[1]);
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % ranks, TAG_TWO, comm);
    MPI_Waitany(3, both, &index, &status);
    completed(index, &status);
    MPI_Request_free(&inactive);
}

/* A message that is too long for the receive: an error, which the program handles. */
static void take_truncated(int total) {
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(comm, &before);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int k = 0; k < total; k++) {
        int class_of;
        MPI_Status status;
        const int rc = MPI_Recv(taken_into[0], 20, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        MPI_Error_class(rc, &class_of);
        decided(class_of == MPI_ERR_TRUNCATE);
        order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
    }
    MPI_Comm_set_errhandler(comm, before);
    MPI_Errhandler_free(&before);
}
static void run_truncated(void) { gather_at_receivers(take_truncated); }

/* ------------------------------------------------------------------ collectives */

static void subtract(void *in, void *inout, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) {
        ((double *)inout)[i] = ((double *)in)[i] - 0.5 * ((double *)inout)[i];
    }
}

static void blocking_collectives(void) {
    double x[MAX_RANKS], y[MAX_RANKS * MAX_RANKS];
    MPI_Op op;
    perturb_begin();
    MPI_Op_create(subtract, 0, &op);
    for (int i = 0; i < MAX_RANKS; i++) {
        x[i] = 1.0 / (rank + i + 3);
    }
    memset(y, 0, sizeof y);
#define DO(call)                               \
    perturb();                                 \
    call;                                      \
    order_data(&order, y, sizeof y)
    DO(MPI_Barrier(comm));
    DO(MPI_Bcast(y, 5, MPI_DOUBLE, ranks - 1, comm));
    DO(MPI_Gather(x, 2, MPI_DOUBLE, y, 2, MPI_DOUBLE, 0, comm));
    DO(MPI_Scatter(y, 2, MPI_DOUBLE, x, 2, MPI_DOUBLE, 0, comm));
    DO(MPI_Allgather(x, 3, MPI_DOUBLE, y, 3, MPI_DOUBLE, comm));
    DO(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, y, 3, MPI_DOUBLE, comm));
    DO(MPI_Alltoall(x, 1, MPI_DOUBLE, y, 1, MPI_DOUBLE, comm));
    DO(MPI_Reduce(x, y, MAX_RANKS, MPI_DOUBLE, op, 0, comm));
    DO(MPI_Allreduce(x, y, MAX_RANKS, MPI_DOUBLE, MPI_SUM, comm));
    DO(MPI_Allreduce(MPI_IN_PLACE, y, MAX_RANKS, MPI_DOUBLE, op, comm));
    DO(MPI_Reduce_scatter_block(x, y, 1, MPI_DOUBLE, MPI_SUM, comm));
    DO(MPI_Scan(x, y, 4, MPI_DOUBLE, op, comm));
    DO(MPI_Exscan(x, y, 4, MPI_DOUBLE, MPI_MAX, comm));
    MPI_Op_free(&op);
}

/* Started together, completed in whatever order. */
static void nonblocking_collectives(void) {
    enum { CALLS = 8 };
    double x[MAX_RANKS], y[CALLS][MAX_RANKS * MAX_RANKS];
    MPI_Request requests[CALLS];
    for (int i = 0; i < MAX_RANKS; i++) {
        x[i] = 1.0 / (rank + i + 3);
    }
    for (int round = 0; round < 4; round++) {
        memset(y, 0, sizeof y);
        y[1][0] = rank == 0 ? 17 + round : 0;
        perturb_begin();
        MPI_Ibarrier(comm, &requests[0]);
        MPI_Ibcast(y[1], 4, MPI_DOUBLE, 0, comm, &requests[1]);
        MPI_Iallreduce(x, y[2], 4, MPI_DOUBLE, MPI_SUM, comm, &requests[2]);
        perturb();
        MPI_Igather(x, 2, MPI_DOUBLE, y[3], 2, MPI_DOUBLE, 0, comm, &requests[3]);
        MPI_Iallgather(x, 2, MPI_DOUBLE, y[4], 2, MPI_DOUBLE, comm, &requests[4]);
        MPI_Ialltoall(x, 1, MPI_DOUBLE, y[5], 1, MPI_DOUBLE, comm, &requests[5]);
        MPI_Iscan(x, y[6], 3, MPI_DOUBLE, MPI_SUM, comm, &requests[6]);
        MPI_Ireduce(x, y[7], 3, MPI_DOUBLE, MPI_SUM, ranks - 1, comm, &requests[7]);
        for (int left = CALLS; left > 0;) {
            int index, count, done;
            switch (round) {
            case 0:
                MPI_Waitany(CALLS, requests, &index, MPI_STATUS_IGNORE);
                decided(index);
                left--;
                break;
            case 1:
                MPI_Testsome(CALLS, requests, &count, indices, MPI_STATUSES_IGNORE);
                if (count == 0) {
                    failed();
                    break;
                }
                order_taken(&order, count, indices[0]);
                left -= count;
                break;
            case 2:
                MPI_Testany(CALLS, requests, &index, &done, MPI_STATUS_IGNORE);
                if (!done) {
                    failed();
                    break;
                }
                order_taken(&order, index, 0);
                left--;
                break;
            default:
                MPI_Testall(CALLS, requests, &done, MPI_STATUSES_IGNORE);
                if (!done) {
                    failed();
                    break;
                }
                order_taken(&order, 0, 0);
                left = 0;
            }
        }
        order_data(&order, y, sizeof y);
    }
}

/* Sends, receives and a collective in one array. */
static void mixed_requests(void) {
    for (int round = 0; round < 3; round++) {
        MPI_Request requests[2 * MAX_RANKS + 1];
        const int total = 2 * ranks + 1;
        double x = rank + round, sum = 0;
        perturb_begin();
        MPI_Iallreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, &requests[0]);
        for (int peer = 0; peer < ranks; peer++) {
            MPI_Irecv(taken_into[peer], 64, MPI_BYTE, MPI_ANY_SOURCE, round, comm, &requests[1 + peer]);
        }
        for (int peer = 0; peer < ranks; peer++) {
            fill(sent[0], 64, rank, 0);
            perturb();
            MPI_Issend(sent[0], 64, MPI_BYTE, peer, round, comm, &requests[1 + ranks + peer]);
        }
        for (int left = total; left > 0;) {
            int count;
            if (round % 2 == 0) {
                MPI_Waitsome(total, requests, &count, indices, statuses);
            } else {
                MPI_Testsome(total, requests, &count, indices, statuses);
                if (count == 0) {
                    failed();
                    continue;
                }
            }
            order_taken(&order, count, -3);
            for (int i = 0; i < count; i++) {
                decided(indices[i]);
                if (indices[i] >= 1 && indices[i] <= ranks) {
                    taken(taken_into[indices[i] - 1], &statuses[i]);
                }
            }
            left -= count;
        }
        order_data(&order, &sum, sizeof sum);
    }
}

static void neighborhoods(void) {
    MPI_Comm ring;
    const int periodic = 1;
    MPI_Cart_create(comm, 1, &ranks, &periodic, 0, &ring);
    for (int round = 0; round < 3; round++) {
        int mine[2] = {rank * 10 + round, rank * 10 + round + 1}, theirs[4] = {0, 0, 0, 0}, done = 0;
        MPI_Request request;
        perturb_begin();
        MPI_Ineighbor_alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, ring, &request);
        while (!done) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            if (!done) {
                failed();
            }
        }
        order_taken(&order, 0, 0);
        order_data(&order, theirs, sizeof theirs);
        MPI_Neighbor_allgather(mine, 2, MPI_INT, theirs, 2, MPI_INT, ring);
        order_data(&order, theirs, sizeof theirs);
    }
    MPI_Comm_free(&ring);
}

static void communicator_idup(void) {
    MPI_Comm copy;
    MPI_Request request;
    int done = 0;
    perturb_begin();
    MPI_Comm_idup(comm, &copy, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            failed();
        }
    }
    order_taken(&order, 0, 0);
    MPI_Comm before = comm;
    comm = copy;
    gather_at_receivers(take_recv);
    comm = before;
    MPI_Comm_free(&copy);
}

/* ------------------------------------------------------------------ communicators */

/* Ranks that are not those of MPI_COMM_WORLD. */
static void split_reversed(void) {
    MPI_Comm before = comm;
    const int old_rank = rank, old_ranks = ranks;
    MPI_Comm_split(before, rank % 2, -rank, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    gather_at_receivers(take_recv);
    gather_at_receivers(take_iprobe);
    gather_at_receivers(take_irecv_wait_some);
    MPI_Comm_free(&comm);
    comm = before;
    rank = old_rank;
    ranks = old_ranks;
}

/* Same source and tag on two communicators. */
static void two_communicators(void) {
    MPI_Comm both[2] = {comm, MPI_COMM_NULL};
    MPI_Comm_dup(comm, &both[1]);
    perturb_begin();
    if (rank == 0) {
        for (int left = 2 * (ranks - 1); left > 0;) {
            for (int c = 0; c < 2; c++) {
                int there;
                MPI_Status status;
                MPI_Iprobe(MPI_ANY_SOURCE, TAG_ONE, both[c], &there, &status);
                if (!there) {
                    failed();
                    continue;
                }
                MPI_Recv(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, TAG_ONE, both[c], &status);
                decided(c);
                taken(taken_into[0], &status);
                left--;
            }
        }
    } else {
        MPI_Request requests[2];
        const int first = (int)(mix((uint64_t)(perturb_seed + rank)) % 2);
        for (int k = 0; k < 2; k++) {
            const int c = k == 0 ? first : 1 - first;
            fill(sent[c], 64 + c, rank, c);
            MPI_Isend(sent[c], 64 + c, MPI_BYTE, 0, TAG_ONE, both[c], &requests[c]);
            perturb();
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(comm);
    MPI_Comm_free(&both[1]);
}

/* The even ranks and the odd ones: sources are ranks of the other group. */
static void intercommunicator(void) {
    MPI_Comm half, inter, merged;
    int others;
    MPI_Comm_split(comm, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 3, &inter);
    MPI_Comm_remote_size(inter, &others);
    perturb_begin();
    MPI_Request requests[2 * MAX_RANKS];
    for (int peer = 0; peer < others; peer++) {
        fill(sent[0], 64, rank, 0);
        perturb();
        MPI_Isend(sent[0], 64, MPI_BYTE, peer, TAG_ONE, inter, &requests[2 * peer]);
        MPI_Isend(sent[0], 64, MPI_BYTE, peer, TAG_TWO, inter, &requests[2 * peer + 1]);
    }
    for (int k = 0; k < others; k++) {
        MPI_Status status;
        MPI_Recv(taken_into[0], 64, MPI_BYTE, MPI_ANY_SOURCE, TAG_ONE, inter, &status);
        taken(taken_into[0], &status);
    }
    for (int k = 0; k < others; k++) {
        MPI_Irecv(taken_into[k], 64, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &receiving[k]);
    }
    wait_any(others);
    MPI_Waitall(2 * others, requests, MPI_STATUSES_IGNORE);
    double x = rank, sum = 0;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, inter);
    order_data(&order, &sum, sizeof sum);
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    MPI_Comm before = comm;
    const int old_rank = rank;
    comm = merged;
    MPI_Comm_rank(comm, &rank);
    gather_at_receivers(take_recv);
    comm = before;
    rank = old_rank;
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* ------------------------------------------------------------------ one-sided */

enum { CELLS = 8 };
static int64_t cells[CELLS];

static MPI_Win window(void) {
    MPI_Win win;
    memset(cells, 0, sizeof cells);
    MPI_Win_create(cells, sizeof cells, sizeof *cells, MPI_INFO_NULL, comm, &win);
    return win;
}

/* What the window holds in the end, which is a matter of order too. */
static void free_window(MPI_Win win) {
    MPI_Barrier(comm);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    order_data(&order, cells, sizeof cells);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
}

/* Who is given which number? */
static void fetch_and_op(void) {
    MPI_Win win = window();
    perturb_begin();
    for (int k = 0; k < 6; k++) {
        int64_t one = 1, before = -1;
        perturb();
        MPI_Win_lock(k % 2 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 1, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        order_taken(&order, (int)before, 0);
    }
    free_window(win);
}

/* A lock that ranks spin for. Not rank 0, which has it: Open MPI 4.1 crashes in a swap with oneself. */
static void compare_and_swap(void) {
    MPI_Win win = window();
    perturb_begin();
    MPI_Win_lock_all(0, win);
    for (int k = 0; k < 2 && rank != 0; k++) {
        const int64_t free_ = 0, mine = rank + 1;
        int64_t owner = -1;
        for (;;) {
            MPI_Compare_and_swap(&mine, &free_, &owner, MPI_INT64_T, 0, 0, win);
            MPI_Win_flush(0, win);
            if (owner == free_) {
                break;
            }
            decided((int)owner);
            failed();
        }
        int64_t turn = 0, one = 1;
        MPI_Fetch_and_op(&one, &turn, MPI_INT64_T, 0, 2, MPI_SUM, win);
        MPI_Win_flush(0, win);
        order_taken(&order, (int)turn, k);
        MPI_Compare_and_swap(&free_, &mine, &owner, MPI_INT64_T, 0, 0, win);
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    free_window(win);
}

static void get_accumulate(void) {
    MPI_Win win = window();
    perturb_begin();
    MPI_Win_lock_all(0, win);
    for (int k = 0; k < 4; k++) {
        const int64_t mine[2] = {rank * 10 + k, k};
        int64_t before[2] = {-1, -1};
        perturb();
        MPI_Get_accumulate(mine, 2, MPI_INT64_T, before, 2, MPI_INT64_T, (class_number + k) % ranks, 4, 2, MPI_INT64_T, MPI_REPLACE, win);
        MPI_Win_flush_all(win);
        order_taken(&order, (int)before[0], (int)before[1]);
    }
    MPI_Win_unlock_all(win);
    free_window(win);
}

/* The last one is what stays. */
static void put_exclusive(void) {
    MPI_Win win = window();
    perturb_begin();
    for (int k = 0; k < 4; k++) {
        const int64_t mine = rank * 10 + k;
        int64_t before = -1;
        perturb();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, k % ranks, 0, win);
        MPI_Get(&before, 1, MPI_INT64_T, k % ranks, 3, 1, MPI_INT64_T, win);
        MPI_Win_flush(k % ranks, win);
        MPI_Put(&mine, 1, MPI_INT64_T, k % ranks, 3, 1, MPI_INT64_T, win);
        MPI_Win_unlock(k % ranks, win);
        order_taken(&order, (int)before, k);
    }
    free_window(win);
}

static void fences(void) {
    MPI_Win win = window();
    perturb_begin();
    MPI_Win_fence(0, win);
    for (int k = 0; k < 3; k++) {
        const int64_t mine = rank * 10 + k, one = 1;
        int64_t got = -1;
        perturb();
        MPI_Put(&mine, 1, MPI_INT64_T, (rank + 1) % ranks, k, 1, MPI_INT64_T, win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 7, 1, MPI_INT64_T, MPI_SUM, win);
        MPI_Win_fence(0, win);
        MPI_Get(&got, 1, MPI_INT64_T, (rank + ranks - 1) % ranks, k, 1, MPI_INT64_T, win);
        MPI_Win_fence(0, win);
        order_data(&order, &got, sizeof got);
    }
    free_window(win);
}

/* ------------------------------------------------------------------ time */

static void wall_clock(void) {
    perturb_begin();
    for (int k = 0; k < 5; k++) {
        const double now = MPI_Wtime();
        order.order_hash = hash_bytes(order.order_hash, &now, sizeof now);
        perturb();
    }
}

#if MPI_VERSION >= 4
/* ------------------------------------------------------------------ MPI 4 */

static void take_large_counts(int total) {
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        MPI_Request request;
        switch (k % 3) {
        case 0: MPI_Recv_c(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status); break;
        case 1:
            MPI_Irecv_c(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
            MPI_Wait(&request, &status);
            break;
        default:
            MPI_Recv_init_c(taken_into[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
            MPI_Start(&request);
            MPI_Wait(&request, &status);
            MPI_Request_free(&request);
        }
        taken(taken_into[0], &status);
    }
}
static void run_large_counts(void) { gather_at_receivers(take_large_counts); }

static void persistent_collectives(void) {
    double x[2] = {rank, 0}, sum[2] = {0, 0};
    MPI_Request requests[2];
    MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(x, sum, 2, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &requests[1]);
    for (int k = 0; k < 3; k++) {
        x[1] = k;
        perturb_begin();
        MPI_Startall(2, requests);
        for (int i = 0; i < 2; i++) { /* MPICH 4.0 takes them for active after a Testsome */
            int done = 0;
            while (!done) {
                MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
                if (!done) {
                    failed();
                }
            }
            order_taken(&order, i, k);
        }
        order_data(&order, sum, sizeof sum);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void isendrecv(void) {
    MPI_Status status;
    MPI_Request request;
    perturb_begin();
    fill(sent[0], 64, rank, 0);
    MPI_Isendrecv(sent[0], 64, MPI_BYTE, (rank + 1) % ranks, 0, taken_into[0], 64, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    MPI_Wait(&request, &status);
    taken(taken_into[0], &status);
}
#endif

/* ------------------------------------------------------------------ buffers that are named by their addresses alone: MPI_BOTTOM */

enum { NUMBERS = 3, LETTERS = 20 };

static MPI_Datatype at_addresses(int *numbers, char *letters) {
    const int lengths[2] = {NUMBERS, LETTERS};
    const MPI_Datatype types[2] = {MPI_INT, MPI_CHAR};
    MPI_Aint at[2];
    MPI_Datatype type;
    MPI_Get_address(numbers, &at[0]);
    MPI_Get_address(letters, &at[1]);
    MPI_Type_create_struct(2, lengths, at, types, &type);
    MPI_Type_commit(&type);
    return type;
}

static void absolute_addresses(void) {
    int numbers[NUMBERS] = {rank, 2, 3}, in_numbers[NUMBERS];
    char letters[LETTERS] = "from", in_letters[LETTERS], public[sizeof numbers + LETTERS] = "window";
    MPI_Datatype from = at_addresses(numbers, letters), into = at_addresses(in_numbers, in_letters);
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Win window;
    perturb_begin();
    MPI_Isend(MPI_BOTTOM, 1, from, 0, TAG_ONE, comm, &requests[0]);
    MPI_Bsend_init(MPI_BOTTOM, 1, from, 0, TAG_TWO, comm, &requests[1]);
    MPI_Start(&requests[1]);
    for (int k = 0; rank == 0 && k < 2 * ranks; k++) {
        memset(in_numbers, 0, sizeof in_numbers);
        MPI_Recv(MPI_BOTTOM, 1, into, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
        order_data(&order, in_numbers, sizeof in_numbers);
        order_data(&order, in_letters, sizeof in_letters);
    }
    for (int left = 2, count = 0; left > 0; left -= count) {
        MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
        if (count == MPI_UNDEFINED) {
            fputs("callclasses: MPI_Waitsome does not know of a send that was started\n", stderr);
            MPI_Abort(comm, 1);
        }
        decided(count);
        decided(indices[0]);
    }
    MPI_Request_free(&requests[1]);
    MPI_Sendrecv_replace(MPI_BOTTOM, 1, from, (rank + 1) % ranks, TAG_ONE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    order_taken(&order, status.MPI_SOURCE, numbers[0]);
    MPI_Win_create(public, sizeof public, 1, MPI_INFO_NULL, comm, &window);
    MPI_Win_fence(0, window);
    MPI_Get(MPI_BOTTOM, 1, into, (rank + 1) % ranks, 0, (int)sizeof public, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    order_data(&order, in_letters, sizeof in_letters);
    MPI_Win_free(&window);
    MPI_Type_free(&from);
    MPI_Type_free(&into);
}

/* Open MPI gives a persistent request another handle if it is started while the copy of its last message is still on the way. */
enum { LONG_MESSAGE = 20000, STARTS = 4 };

static void restarted(void) {
    static int out[LONG_MESSAGE], in[LONG_MESSAGE];
    MPI_Request request;
    MPI_Status status;
    perturb_begin();
    MPI_Bsend_init(out, LONG_MESSAGE, MPI_INT, 0, TAG_ONE, comm, &request);
    for (int k = 0; k < STARTS; k++) {
        for (int i = 0; i < LONG_MESSAGE; i++) {
            out[i] = 1000 * rank + k + i;
        }
        if (k % 2 == 0) {
            MPI_Start(&request);
        } else {
            MPI_Startall(1, &request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(comm); /* nothing is received before all are started */
    for (int k = 0; rank == 0 && k < STARTS * ranks; k++) {
        MPI_Recv(in, LONG_MESSAGE, MPI_INT, MPI_ANY_SOURCE, TAG_ONE, comm, &status);
        order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
        order_data(&order, in, sizeof in);
    }
    MPI_Request_free(&request);
    MPI_Barrier(comm); /* the buffer for such sends is large enough for one of these */
}

/* ------------------------------------------------------------------ all of them */

static const struct class {
    const char *name;
    void (*run)(void);
} classes[] = {
    {"recv", run_recv},
    {"recv-tag", run_recv_tag},
    {"recv-source", run_recv_source},
    {"recv-status-ignore", run_recv_ignore},
    {"recv-answered", run_chain},
    {"irecv-wait", run_wait_each},
    {"irecv-wait-backwards", run_wait_each_backwards},
    {"irecv-waitall", run_wait_all},
    {"irecv-waitall-ignore", run_wait_all_ignore},
    {"irecv-waitany", run_wait_any},
    {"irecv-waitany-ignore", run_wait_any_ignore},
    {"irecv-waitsome", run_wait_some},
    {"irecv-test", run_test_each},
    {"irecv-test-in-turn", run_test_in_turn},
    {"irecv-testall", run_test_all},
    {"irecv-testany", run_test_any},
    {"irecv-testsome", run_test_some},
    {"irecv-mixed", run_mixed},
    {"irecv-window", run_window},
    {"request-get-status", run_get_status_each},
    {"probe", run_probe},
    {"probe-recv-wildcard", run_probe_wild},
    {"iprobe", run_iprobe},
    {"iprobe-exact", run_iprobe_exact},
    {"mprobe-mrecv", run_mprobe},
    {"mprobe-imrecv", run_mprobe_later},
    {"improbe-mrecv", run_improbe},
    {"improbe-imrecv", run_improbe_imrecv},
    {"sendrecv", run_sendrecv},
    {"sendrecv-status-ignore", run_sendrecv_ignore},
    {"sendrecv-replace", run_sendrecv_replace},
    {"start-wait", run_start_wait},
    {"startall-waitall", run_startall_wait_all},
    {"startall-waitany", run_startall_wait_any},
    {"startall-waitsome", run_startall_wait_some},
    {"startall-test", run_startall_test_each},
    {"startall-testall", run_startall_test_all},
    {"startall-testany", run_startall_test_any},
    {"startall-testsome", run_startall_test_some},
    {"send-persistent", persistent_sends},
    {"send-blocking", blocking_sends},
    {"issend-testany", issend_completion},
    {"isend-request-free", freed_sends},
    {"cancel-never", run_cancel_never},
    {"cancel-race", run_cancel_race},
    {"cancel-persistent", run_cancel_persistent},
    {"null-and-inactive", nothing_to_wait_for},
    {"truncate", run_truncated},
    {"collectives", blocking_collectives},
    {"icollectives", nonblocking_collectives},
    {"mixed-requests", mixed_requests},
    {"neighborhoods", neighborhoods},
    {"comm-idup", communicator_idup},
    {"comm-split", split_reversed},
    {"two-communicators", two_communicators},
    {"intercommunicator", intercommunicator},
    {"rma-fetch-and-op", fetch_and_op},
    {"rma-compare-and-swap", compare_and_swap},
    {"rma-get-accumulate", get_accumulate},
    {"rma-put-exclusive", put_exclusive},
    {"rma-fence", fences},
    {"wtime", wall_clock},
    {"absolute-addresses", absolute_addresses},
    {"bsend-init-restarted", restarted},
#if MPI_VERSION >= 4
    {"large-counts", run_large_counts},
    {"collectives-persistent", persistent_collectives},
    {"isendrecv", isendrecv},
#endif
};
enum { CLASSES = sizeof classes / sizeof *classes, TEXT = CLASSES * 160 };

static void run_class(int number, MPI_Comm world) {
    class_number = number;
    order = (struct order)ORDER_INIT;
    MPI_Comm_dup(world, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    classes[number].run();
    order_taken(&order, -1, -1);
    MPI_Comm_free(&comm);
}

static void report(char *text, size_t room, const char *name) {
    const size_t used = strlen(text);
    snprintf(text + used, room - used, "callclasses: rank %d class %s order %016llx data %016llx taken %ld polls %ld\n", rank, name,
             (unsigned long long)order.order_hash, (unsigned long long)order.data_hash, order.tasks, order.failed_polls);
}

static int wanted(const char *name, int argc, char **argv) {
    int found = argc <= 1;
    for (int i = 1; i < argc; i++) {
        found = found || strcmp(argv[i], name) == 0;
    }
    return found;
}

static int known(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        int found = 0;
        for (int c = 0; c < CLASSES; c++) {
            found = found || strcmp(argv[i], classes[c].name) == 0;
        }
        if (!found) {
            fprintf(stderr, "callclasses: there is no class %s; \"callclasses list\" prints all\n", argv[i]);
            return 0;
        }
    }
    return 1;
}

/* One rank writes for all, so that no launcher mixes their lines. */
static void say(char *text) {
    static char from[TEXT];
    if (rank != 0) {
        MPI_Send(text, (int)strlen(text) + 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        return;
    }
    fputs(text, stdout);
    for (int source = 1; source < ranks; source++) {
        MPI_Recv(from, TEXT, MPI_CHAR, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fputs(from, stdout);
    }
    fflush(stdout);
}

int main(int argc, char **argv) {
    static char text[TEXT];
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (int c = 0; c < CLASSES; c++) {
            puts(classes[c].name);
        }
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2 || ranks > MAX_RANKS || !known(argc, argv)) {
        fprintf(stderr, "callclasses: needs 2 to %d ranks, and names of classes or nothing\n", MAX_RANKS);
        MPI_Finalize();
        return 2;
    }
    if (getenv("PERTURB") != NULL) {
        perturb_seed = atol(getenv("PERTURB"));
    }
    if (getenv("PERTURB_STEP") != NULL) {
        perturb_step = atol(getenv("PERTURB_STEP"));
    }
    if (perturb_step < 1) {
        perturb_step = 1;
    }
    char *bsend_buffer = malloc(BSEND_BUFFER);
    int bsend_bytes;
    MPI_Buffer_attach(bsend_buffer, BSEND_BUFFER);
    for (int c = 0; c < CLASSES; c++) {
        if (wanted(classes[c].name, argc, argv)) {
            run_class(c, MPI_COMM_WORLD);
            report(text, sizeof text, classes[c].name);
        }
    }
    MPI_Buffer_detach(&bsend_buffer, &bsend_bytes);
    free(bsend_buffer);
    say(text);
    MPI_Finalize();
    return 0;
}
