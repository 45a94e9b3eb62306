/* A random program: what it does with MPI is derived from a seed, by all ranks alike, so that no run of it deadlocks, whatever the timing.
 *
 *     mpiexec -n 4 ./randomprog SEED PHASES [WITHOUT]
 *
 * PHASES is how many phases there are, or which of them are run: "12", "3,5", "0-3,7". A phase is the same whether others are run or not, so that a run that
 * fails can be made smaller. WITHOUT leaves features out, a letter each: m matched probes, p persistent receives, c cancel, i intercommunicators, f freed requests,
 * t polls (tests, Iprobe), n nonblocking collectives, k communicators that are made in a phase.
 *
 * Each rank keeps hashes per phase, as callclasses.c does per class:
 *
 *     randomprog: rank 2 phase 5 exchange order 0123456789abcdef data 0123456789abcdef taken 31 polls 812
 *
 * They are printed at the end, or, with EACH=1 in the environment, by each rank as soon as the phase is over.
 *
 * PERTURB=SEED in the environment slows ranks here and there, in a way that has nothing to do with SEED.
 *
 * Why nothing deadlocks: in an exchange each receiver's receives have patterns that split its messages into disjoint groups (all; by tag; by source; ...), as many receives for
 * a group as it has messages; so any order of matching satisfies all. Sends that block are used only where their receives are posted before anything
 * blocks, or where senders do not receive and receivers take whatever comes. A phase ends with a barrier over its communicator.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "orderhash.h"

enum { MAX_RANKS = 16, MAX_MESSAGES = 96, LARGEST = 70000, TAGS = 4, TAG_NEVER = 77, TAG_STOP = 9, MAX_PHASES = 4096, MAX_REQUESTS = 3 * MAX_MESSAGES };

/* ------------------------------------------------------------------ randomness: of the plan (the same on all ranks), of the rank, of the perturbation */

struct rng { uint64_t state; };

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static struct rng seeded(uint64_t a, uint64_t b, uint64_t c) { return (struct rng){mix(mix(mix(a) ^ b) ^ c)}; }
static int below(struct rng *r, int n) {
    r->state = mix(r->state);
    return (int)(r->state % (uint64_t)n);
}
static int chance(struct rng *r, int percent) { return below(r, 100) < percent; }

static long perturb_seed = -1;
static struct rng timing;
static struct rng mine; /* this rank's, in this phase */

static void perturb(void) {
    if (perturb_seed < 0 || !chance(&timing, 30)) {
        return;
    }
    const struct timespec t = {0, 1000L * below(&timing, chance(&timing, 10) ? 3000 : 300)};
    nanosleep(&t, NULL);
}

/* ------------------------------------------------------------------ what is hashed */

static struct order order;
static int world_rank, world_size, wrong;
static uint64_t ids_expected, ids_taken; /* sums over what was to come, and what came */
static const char *without = "";

static int with(char feature) { return strchr(without, feature) == NULL; }
static void decided(int what) { order.order_hash = hash_bytes(order.order_hash, &what, sizeof what); }
static void failed(void) {
    order_failed(&order);
    sched_yield();
}

/* ------------------------------------------------------------------ communicators */

struct group { MPI_Comm comm; int rank, size, peers, inter; uint64_t id; }; /* peers: whom it can send to */

static void describe(struct group *g) {
    MPI_Group world, theirs;
    int first = 0, zero = 0;
    MPI_Comm_rank(g->comm, &g->rank);
    MPI_Comm_size(g->comm, &g->size);
    MPI_Comm_test_inter(g->comm, &g->inter);
    g->peers = g->size;
    if (g->inter) {
        MPI_Comm_remote_size(g->comm, &g->peers);
        g->id = 99; /* there is one at a time */
        return;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(g->comm, &theirs);
    MPI_Group_translate_ranks(theirs, 1, &zero, world, &first);
    MPI_Group_free(&world);
    MPI_Group_free(&theirs);
    g->id = (uint64_t)first; /* members of disjoint communicators of one kind make other plans */
}

enum kind { DUP, SPLIT, CART, SPLIT_OF_DUP, SELF, INTER, KINDS };
static MPI_Comm pool[KINDS];

static MPI_Comm make(enum kind kind) {
    MPI_Comm comm = MPI_COMM_NULL, part;
    const int periodic = 1;
    switch (kind) {
    case DUP: MPI_Comm_dup(MPI_COMM_WORLD, &comm); break;
    case SPLIT: MPI_Comm_split(MPI_COMM_WORLD, world_rank * 3 / 2 % 2, -world_rank, &comm); break;
    case CART: MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &periodic, 0, &comm); break;
    case SPLIT_OF_DUP:
        MPI_Comm_dup(MPI_COMM_WORLD, &part);
        MPI_Comm_split(part, 0, world_size - world_rank, &comm);
        MPI_Comm_free(&part);
        break;
    case SELF: MPI_Comm_dup(MPI_COMM_SELF, &comm); break;
    default:
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &part);
        MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - world_rank % 2, 5, &comm);
        MPI_Comm_free(&part);
    }
    return comm;
}

static struct group borrow(enum kind kind) {
    struct group g;
    if (pool[kind] == MPI_COMM_NULL) {
        pool[kind] = make(kind);
    }
    g.comm = pool[kind];
    describe(&g);
    return g;
}

/* ------------------------------------------------------------------ messages */

struct message { int from, to, tag, bytes, id; }; /* ranks in the communicator; from is in the group that is not the receiver's if it is an intercommunicator */
struct slot { int source, tag; };                 /* what a receive asks for */

static char in[MAX_MESSAGES][LARGEST * 2], out[MAX_MESSAGES][LARGEST * 2];
static MPI_Datatype strided; /* 3 bytes in 5 */
static MPI_Datatype types[4];

static void make_types(void) {
    const int lengths[2] = {1, 2}, places[2] = {3, 0};
    MPI_Datatype three;
    MPI_Type_contiguous(3, MPI_BYTE, &three);
    MPI_Type_create_resized(three, 0, 5, &strided);
    MPI_Type_commit(&strided);
    types[0] = MPI_BYTE;
    types[1] = three;
    MPI_Type_indexed(2, lengths, places, MPI_BYTE, &types[2]); /* 3 bytes, not in order */
    types[3] = strided;
    for (int i = 1; i < 3; i++) {
        MPI_Type_commit(&types[i]);
    }
}

static void free_types(void) {
    for (int i = 1; i < 4; i++) {
        MPI_Type_free(&types[i]);
    }
}

/* UCX 1.13 below MPICH 4.0 fails an assertion in MPI_Mrecv of some messages that are sent by rendezvous (seed 7, phase 19 of an earlier version of this program): so phases
 * have large messages or matched probes. */
static int large_messages;

static int some_bytes(struct rng *plan) {
    const int n = below(plan, large_messages ? 100 : 92);
    return 12 + (n < 70 ? 3 * below(plan, 20) : n < 92 ? 3 * below(plan, 2000) : LARGEST - 100 - 3 * below(plan, 3000)) / 3 * 3;
}

/* Every message is a multiple of 3 bytes, as one of the types has it. `count` elements of `type` hold it. */
static void compose(char *buffer, const struct message *m, MPI_Datatype *type, int *count) {
    const int kind = below(&mine, 4);
    *type = types[kind];
    *count = kind == 0 ? m->bytes : m->bytes / 3;
    memset(buffer, 'a' + m->id % 26, LARGEST * 2);
    memcpy(buffer, &m->id, sizeof m->id);
}

static int last_source; /* of the message that was taken last */

static void taken(int index, const char *message, const MPI_Status *status) {
    int bytes;
    MPI_Get_elements(status, MPI_BYTE, &bytes);
    last_source = status->MPI_SOURCE;
    decided(index);
    decided(bytes);
    order_taken(&order, status->MPI_SOURCE, status->MPI_TAG);
    order_data(&order, message, (size_t)bytes / 3 * 5); /* as strided needs the most room */
    order.tasks++;
    ids_taken += mix((uint64_t)status->MPI_SOURCE * 1000003u + (uint64_t)status->MPI_TAG * 1009u + (uint64_t)bytes);
}

static void expect(int source, int tag, int bytes) { ids_expected += mix((uint64_t)source * 1000003u + (uint64_t)tag * 1009u + (uint64_t)bytes); }

/* ------------------------------------------------------------------ things that are complete by themselves, and polls that lead to nothing */

static void sprinkle(struct group *g) {
    int flag = 0, index = 0;
    MPI_Status status;
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    char byte = 0;
    if (!chance(&mine, 25)) {
        return;
    }
    switch (below(&mine, 9)) {
    case 0: MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, g->comm); break;
    case 1: MPI_Recv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, g->comm, &status); break;
    case 2:
        MPI_Irecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, g->comm, &none[0]);
        MPI_Waitany(2, none, &index, &status);
        decided(index);
        break;
    case 3: MPI_Waitall(2, none, MPI_STATUSES_IGNORE); break;
    case 4:
        if (with('t')) {
            MPI_Iprobe(MPI_ANY_SOURCE, TAG_NEVER, g->comm, &flag, &status);
            failed();
        }
        break;
    case 5: /* is anything there? What is found is not taken */
        if (with('t')) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, g->comm, &flag, &status);
            if (flag) {
                order_taken(&order, status.MPI_SOURCE, status.MPI_TAG);
            } else {
                failed();
            }
        }
        break;
    case 6:
        MPI_Sendrecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, &byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, g->comm, MPI_STATUS_IGNORE);
        break;
    case 7:
        if (with('t')) {
            MPI_Testany(2, none, &index, &flag, &status);
            decided(flag);
        }
        break;
    default:
        MPI_Isend(&byte, 0, MPI_BYTE, MPI_PROC_NULL, 0, g->comm, &none[1]);
        MPI_Wait(&none[1], &status);
    }
}

/* ------------------------------------------------------------------ completing requests */

enum { WAIT_EACH, WAITALL, WAITANY, WAITSOME, MIXED_WAITS, WITHOUT_POLLS, TEST_EACH = WITHOUT_POLLS, TEST_TURNS, TESTALL, TESTANY, TESTSOME, GET_STATUS, MIXED, METHODS };

static MPI_Request requests[MAX_REQUESTS];
static MPI_Status statuses[MAX_REQUESTS];
static int indices[MAX_REQUESTS], is_done[MAX_REQUESTS];

/* Requests 0..receives-1 receive into in[]; the others are sends and collectives. */
static void completed(int index, int receives, const MPI_Status *status) {
    is_done[index] = 1;
    if (index < receives) {
        taken(index, in[index], status);
    } else {
        order_taken(&order, -5, index);
    }
}

static int nth_open(int n, int nth) {
    for (int i = 0;; i = (i + 1) % n) {
        if (!is_done[i] && nth-- == 0) {
            return i;
        }
    }
}

/* One step of completing requests lo..hi-1, of which some are open. Returns how many were completed. */
static int step(int method, int lo, int hi, int receives) {
    int index = 0, count = 0, flag = 0;
    MPI_Status status;
    switch (method) {
    case WAITANY:
        MPI_Waitany(hi - lo, requests + lo, &index, &status);
        completed(lo + index, receives, &status);
        return 1;
    case WAITSOME: MPI_Waitsome(hi - lo, requests + lo, &count, indices, statuses); break;
    case TESTANY:
        MPI_Testany(hi - lo, requests + lo, &index, &flag, &status);
        if (flag) {
            completed(lo + index, receives, &status);
        } else {
            failed();
        }
        return flag;
    default: /* TESTSOME */
        MPI_Testsome(hi - lo, requests + lo, &count, indices, statuses);
        if (count == 0) {
            failed();
        }
    }
    decided(count);
    for (int i = 0; i < count; i++) {
        completed(lo + indices[i], receives, &statuses[i]);
    }
    return count;
}

static int test_one(int i, int receives) {
    int flag = 0;
    MPI_Status status;
    MPI_Test(&requests[i], &flag, &status);
    if (flag) {
        completed(i, receives, &status);
    } else {
        failed();
    }
    return flag;
}

static void complete_all(struct group *g, int n, int receives) {
    const int method = below(&mine, with('t') ? METHODS : WITHOUT_POLLS);
    int left = n, flag = 0;
    MPI_Status status;
    memset(is_done, 0, sizeof is_done);
    decided(method);
    while (left > 0) {
        perturb();
        switch (method) {
        case WAITALL:
            MPI_Waitall(n, requests, statuses);
            for (int i = 0; i < n; i++) {
                completed(i, receives, &statuses[i]);
            }
            left = 0;
            break;
        case TESTALL:
            MPI_Testall(n, requests, &flag, statuses);
            if (!flag) {
                failed();
                break;
            }
            for (int i = 0; i < n; i++) {
                completed(i, receives, &statuses[i]);
            }
            left = 0;
            break;
        case WAIT_EACH: {
            const int i = nth_open(n, below(&mine, left));
            MPI_Wait(&requests[i], &status);
            completed(i, receives, &status);
            left--;
            break;
        }
        case TEST_EACH: {
            const int i = nth_open(n, below(&mine, left));
            while (!test_one(i, receives)) {
            }
            left--;
            break;
        }
        case TEST_TURNS:
            for (int i = 0; i < n; i++) {
                if (!is_done[i]) {
                    left -= test_one(i, receives);
                }
            }
            break;
        case GET_STATUS: {
            const int i = nth_open(n, below(&mine, left));
            MPI_Request_get_status(requests[i], &flag, &status);
            if (!flag) {
                failed();
            } else {
                if (i < receives) {
                    decided(status.MPI_SOURCE);
                }
                MPI_Wait(&requests[i], &status);
                completed(i, receives, &status);
                left--;
            }
            break;
        }
        case MIXED_WAITS:
        case MIXED: {
            const int in_range = nth_open(n, below(&mine, left));
            const int lo = below(&mine, in_range + 1), hi = in_range + 1 + below(&mine, n - in_range);
            static const int steps[4] = {WAITANY, WAITSOME, TESTANY, TESTSOME};
            left -= step(steps[below(&mine, method == MIXED ? 4 : 2)], lo, hi, receives);
            break;
        }
        default: left -= step(method, 0, n, receives);
        }
        if (left > 0) {
            sprinkle(g);
        }
    }
}

/* ------------------------------------------------------------------ receiving one message */

static void ask_and_take(struct group *g, const struct slot *s, int index) {
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int flag = 0, bytes = 0, how = below(&mine, 10);
    if (!with('t') && (how == 3 || how == 5 || how == 6 || how == 8)) {
        how = 0;
    }
    if ((!with('m') || large_messages) && (how == 4 || how == 5 || how == 6)) {
        how = 2;
    }
    if (!with('p') && how == 9) {
        how = 1;
    }
    decided(how);
    char *into = in[index];
    memset(into, 0, sizeof in[index]);
    switch (how) {
    case 1:
        MPI_Irecv(into, LARGEST, MPI_BYTE, s->source, s->tag, g->comm, &request);
        sprinkle(g);
        MPI_Wait(&request, &status);
        break;
    case 2:
        MPI_Probe(s->source, s->tag, g->comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        decided(bytes);
        MPI_Recv(into, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, g->comm, &status);
        break;
    case 3:
        for (;;) {
            MPI_Iprobe(s->source, s->tag, g->comm, &flag, &status);
            if (flag) {
                break;
            }
            failed();
        }
        MPI_Recv(into, LARGEST, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, g->comm, &status);
        break;
    case 4:
        MPI_Mprobe(s->source, s->tag, g->comm, &message, &status);
        sprinkle(g);
        MPI_Mrecv(into, LARGEST, MPI_BYTE, &message, &status);
        break;
    case 5:
    case 6:
        for (;;) {
            MPI_Improbe(s->source, s->tag, g->comm, &flag, &message, &status);
            if (flag) {
                break;
            }
            failed();
        }
        decided(status.MPI_SOURCE);
        if (how == 5) {
            MPI_Mrecv(into, LARGEST, MPI_BYTE, &message, &status);
        } else {
            MPI_Imrecv(into, LARGEST, MPI_BYTE, &message, &request);
            MPI_Wait(&request, &status);
        }
        break;
    case 7: MPI_Recv(into, LARGEST / 3, strided, s->source, s->tag, g->comm, &status); break;
    case 8:
        MPI_Irecv(into, LARGEST, MPI_BYTE, s->source, s->tag, g->comm, &request);
        for (;;) {
            MPI_Test(&request, &flag, &status);
            if (flag) {
                break;
            }
            failed();
        }
        break;
    case 9:
        MPI_Recv_init(into, LARGEST, MPI_BYTE, s->source, s->tag, g->comm, &request);
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        MPI_Request_free(&request);
        break;
    default: MPI_Recv(into, LARGEST, MPI_BYTE, s->source, s->tag, g->comm, &status);
    }
    taken(index, into, &status);
}

enum { CALLS = 6, WIDTH = 8 };
static double given[CALLS][WIDTH * MAX_RANKS], got[CALLS][WIDTH * MAX_RANKS]; /* of collectives */

/* ------------------------------------------------------------------ phase: exchange */

static struct message plan_of[MAX_MESSAGES];
static struct slot slots[MAX_MESSAGES];

/* Patterns that split this rank's messages into groups. */
static int make_slots(struct group *g, int messages, int anything) {
    int n = 0;
    const int style = anything ? 0 : below(&mine, 4), choice = below(&mine, 1 << 16);
    for (int i = 0; i < messages; i++) {
        const struct message *m = &plan_of[i];
        if (m->to != g->rank) {
            continue;
        }
        const int by_tag = choice >> m->tag % 16 & 1, by_source = choice >> m->from % 16 & 1;
        switch (style) {
        case 0: slots[n] = (struct slot){MPI_ANY_SOURCE, MPI_ANY_TAG}; break;
        case 1: slots[n] = (struct slot){by_tag ? m->from : MPI_ANY_SOURCE, m->tag}; break;
        case 2: slots[n] = (struct slot){m->from, by_source ? m->tag : MPI_ANY_TAG}; break;
        default: slots[n] = (struct slot){m->from, m->tag};
        }
        expect(m->from, m->tag, m->bytes);
        n++;
    }
    for (int i = n - 1; i > 0; i--) {
        const int j = below(&mine, i + 1);
        const struct slot s = slots[i];
        slots[i] = slots[j];
        slots[j] = s;
    }
    return n;
}

enum sends { SEND_NONBLOCKING, SEND_ANY, SEND_READY };

/* Sends this rank's messages; returns how many requests that left, at requests[at]... *persistent is set if one is persistent. */
static int post_sends(struct group *g, int messages, enum sends kinds, int at, int *persistent) {
    int n = 0;
    for (int i = 0; i < messages; i++) {
        const struct message *m = &plan_of[i];
        MPI_Datatype type;
        int count;
        /* In an intercommunicator `from` is a rank of the sender's group for messages of either direction, so that a plan holds both. */
        if (m->from != g->rank) {
            continue;
        }
        compose(out[i], m, &type, &count);
        perturb();
        MPI_Request *request = &requests[at + n];
        switch (below(&mine, kinds == SEND_NONBLOCKING ? 6 : kinds == SEND_ANY ? 10 : 12)) {
        case 0:
        case 1: MPI_Isend(out[i], count, type, m->to, m->tag, g->comm, request); break;
        case 2: MPI_Issend(out[i], count, type, m->to, m->tag, g->comm, request); break;
        case 3: MPI_Ibsend(out[i], count, type, m->to, m->tag, g->comm, request); break;
        case 4:
            MPI_Send_init(out[i], count, type, m->to, m->tag, g->comm, request);
            MPI_Start(request);
            *persistent = 1;
            break;
        case 5:
            /* MPICH 4.0 loses a message to oneself whose request is freed. */
            if (with('f') && chance(&mine, 50) && (g->inter || m->to != m->from)) { /* out[i] stays as it is until the barrier at the end of the phase, for it is received then */
                MPI_Isend(out[i], count, type, m->to, m->tag, g->comm, request);
                MPI_Request_free(request);
                n--;
            } else {
                MPI_Ssend_init(out[i], count, type, m->to, m->tag, g->comm, request);
                MPI_Startall(1, request);
                *persistent = 1;
            }
            break;
        case 6:
        case 7:
            MPI_Send(out[i], count, type, m->to, m->tag, g->comm);
            n--;
            break;
        case 8:
            MPI_Ssend(out[i], count, type, m->to, m->tag, g->comm);
            n--;
            break;
        case 9:
            MPI_Bsend(out[i], count, type, m->to, m->tag, g->comm);
            n--;
            break;
        case 10:
            MPI_Rsend(out[i], count, type, m->to, m->tag, g->comm);
            n--;
            break;
        default: MPI_Irsend(out[i], count, type, m->to, m->tag, g->comm, request);
        }
        n++;
    }
    return n;
}

static void free_persistent(int from, int to) {
    for (int i = from; i < to; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            MPI_Request_free(&requests[i]);
        }
    }
}

static void post_receives(struct group *g, int n) {
    const int persistent = with('p') && chance(&mine, 30), startall = chance(&mine, 50);
    for (int i = 0; i < n; i++) {
        const int as_strided = chance(&mine, 20);
        memset(in[i], 0, sizeof in[i]);
        if (persistent) {
            MPI_Recv_init(in[i], as_strided ? LARGEST / 3 : LARGEST, as_strided ? strided : MPI_BYTE, slots[i].source, slots[i].tag, g->comm, &requests[i]);
            if (!startall) {
                MPI_Start(&requests[i]);
            }
        } else {
            MPI_Irecv(in[i], as_strided ? LARGEST / 3 : LARGEST, as_strided ? strided : MPI_BYTE, slots[i].source, slots[i].tag, g->comm, &requests[i]);
        }
        perturb();
    }
    if (persistent && startall) {
        MPI_Startall(n, requests);
    }
}

static void exchange(struct group *g, struct rng *plan) {
    /* In an intercommunicator both groups have the same plan, so that it must not depend on the size of one. */
    const int both = g->inter && g->peers < g->size ? g->peers : g->size;
    const int messages = 1 + below(plan, 4 * both > 24 ? 24 : 4 * both);
    int persistent = 0;
    large_messages = chance(plan, 50);
    const int mode = below(plan, g->inter ? 2 : 3), ready = chance(plan, 30), collective_too = chance(plan, 30) && with('n');
    const int one_receiver = below(plan, both), to_one = chance(plan, 60);
    for (int i = 0; i < messages; i++) {
        struct message *m = &plan_of[i];
        *m = (struct message){below(plan, both), below(plan, both), below(plan, TAGS), some_bytes(plan), i};
        if (to_one && !g->inter) {
            m->to = one_receiver;
        }
        if (mode == 2) { /* senders do not receive: the even ranks send to the odd ones */
            m->from -= m->from % 2;
            m->to += 1 - m->to % 2;
            if (m->to >= g->size) {
                m->to = 1;
            }
        }
    }
    if (mode == 2 && g->size < 2) {
        return;
    }
    const int receives = make_slots(g, messages, mode == 2);
    switch (mode) {
    case 0: { /* sends that do not block, then receives of any kind */
        const int some = chance(&mine, 50);
        int sent;
        if (some) { /* one after another */
            sent = post_sends(g, messages, SEND_NONBLOCKING, 0, &persistent);
            for (int i = 0; i < receives; i++) {
                sprinkle(g);
                ask_and_take(g, &slots[i], i);
            }
            complete_all(g, sent, 0);
            free_persistent(0, sent);
        } else {
            sent = post_sends(g, messages, SEND_NONBLOCKING, receives, &persistent);
            post_receives(g, receives);
            complete_all(g, receives + sent, receives);
            free_persistent(0, receives + sent);
        }
        break;
    }
    case 1: { /* receives are posted first */
        post_receives(g, receives);
        if (ready) {
            MPI_Barrier(g->comm);
        }
        int all = receives;
        if (collective_too) {
            given[0][0] = world_rank + 0.25;
            got[0][0] = 0;
            MPI_Iallreduce(given[0], got[0], 1, MPI_DOUBLE, MPI_SUM, g->comm, &requests[all++]);
        }
        all += post_sends(g, messages, ready ? SEND_READY : SEND_ANY, all, &persistent);
        complete_all(g, all, receives);
        free_persistent(0, all);
        if (collective_too) {
            order_data(&order, got[0], sizeof(double));
        }
        break;
    }
    default:
        if (receives > 0) {
            for (int i = 0; i < receives; i++) {
                sprinkle(g);
                ask_and_take(g, &slots[i], i);
            }
        } else {
            const int sent = post_sends(g, messages, SEND_ANY, 0, &persistent);
            complete_all(g, sent, 0);
            free_persistent(0, sent);
        }
    }
}

/* ------------------------------------------------------------------ phase: master and workers. Who works how much depends on the order */

static void master(struct group *g, struct rng *plan) {
    int tasks = 1 + below(plan, 12);
    const int root = below(plan, g->size);
    MPI_Status status;
    if (g->rank != root) {
        int task = -1;
        for (int done = 0;; done++) {
            perturb();
            memcpy(out[0], &task, sizeof task);
            if (chance(&mine, 50)) {
                MPI_Send(out[0], 12, MPI_BYTE, root, below(&mine, TAGS), g->comm);
            } else {
                MPI_Ssend(out[0], 12, MPI_BYTE, root, below(&mine, TAGS), g->comm);
            }
            MPI_Recv(&task, 1, MPI_INT, root, MPI_ANY_TAG, g->comm, &status);
            order_taken(&order, task, status.MPI_TAG);
            if (status.MPI_TAG == TAG_STOP) {
                return;
            }
        }
    }
    const struct slot any = {MPI_ANY_SOURCE, MPI_ANY_TAG};
    for (int workers = g->size - 1; workers > 0;) {
        ask_and_take(g, &any, 0);
        tasks--;
        if (tasks < 0) {
            workers--;
        }
        MPI_Send(&tasks, 1, MPI_INT, last_source, tasks < 0 ? TAG_STOP : 1 + below(&mine, 3), g->comm);
    }
    ids_taken = ids_expected; /* the tags of the requests are the workers' own affair */
}

/* ------------------------------------------------------------------ phase: each rank sends one message per round, and takes any that is for it
 * Small messages: a rank whose message of this round is not taken waits for one of another round, so that they must be buffered. */

static void rounds(struct group *g, struct rng *plan) {
    const int n = 1 + below(plan, 6), replace = chance(plan, 30);
    for (int k = 0; k < n; k++) {
        const int to = (g->rank + below(plan, g->size)) % g->size;
        struct message m = {g->rank, to, k % TAGS, replace ? 300 : 12 + 3 * below(&mine, 200), g->rank};
        MPI_Datatype type;
        MPI_Request request;
        MPI_Status status;
        int count;
        compose(out[0], &m, &type, &count);
        memset(in[0], 0, sizeof in[0]);
        perturb();
        switch (replace ? 9 : below(&mine, 4)) {
        case 0:
            MPI_Irecv(in[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, g->comm, &request);
            MPI_Send(out[0], count, type, to, m.tag, g->comm);
            MPI_Wait(&request, &status);
            break;
        case 1:
            MPI_Isend(out[0], count, type, to, m.tag, g->comm, &request);
            ask_and_take(g, &(struct slot){MPI_ANY_SOURCE, MPI_ANY_TAG}, 0);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            continue;
        case 9:
            MPI_Sendrecv_replace(out[0], count, type, to, m.tag, MPI_ANY_SOURCE, MPI_ANY_TAG, g->comm, &status);
            memcpy(in[0], out[0], 3);
            break;
        default: MPI_Sendrecv(out[0], count, type, to, m.tag, in[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, g->comm, &status);
        }
        taken(k, in[0], &status);
    }
    ids_taken = ids_expected; /* only the senders know the sizes */
}

/* ------------------------------------------------------------------ phase: cancelled receives */

static void cancels(struct group *g, struct rng *plan) {
    const int each = 1 + below(plan, 4), root = below(plan, g->size), self = g->size == 1;
    MPI_Request never, request;
    MPI_Status status;
    int was = 0, tries = 0;
    MPI_Irecv(out[1], 10, MPI_BYTE, chance(&mine, 50) ? MPI_ANY_SOURCE : root, TAG_NEVER, g->comm, &never);
    if (g->rank != root) {
        for (int k = 0; k < each; k++) {
            const struct message m = {g->rank, root, k % TAGS, some_bytes(&mine), k};
            MPI_Datatype type;
            int count;
            compose(out[0], &m, &type, &count);
            perturb();
            MPI_Send(out[0], count, type, root, m.tag, g->comm);
        }
    } else {
        for (int left = self ? 0 : each * (g->size - 1); left > 0;) {
            const int persistent = with('p') && chance(&mine, 30);
            memset(in[0], 0, sizeof in[0]);
            if (persistent) {
                MPI_Recv_init(in[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, g->comm, &request);
                MPI_Start(&request);
            } else {
                MPI_Irecv(in[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, chance(&mine, 50) ? MPI_ANY_TAG : left % TAGS, g->comm, &request);
            }
            perturb();
            if (++tries % 3 != 0) {
                MPI_Cancel(&request);
            } else if (!persistent) { /* its tag may never come */
                MPI_Cancel(&request);
                MPI_Wait(&request, &status);
                MPI_Test_cancelled(&status, &was);
                decided(was);
                if (was) {
                    MPI_Recv(in[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, g->comm, &status);
                }
                taken(0, in[0], &status);
                left--;
                continue;
            }
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &was);
            decided(was);
            if (!was) {
                taken(0, in[0], &status);
                left--;
            }
            if (persistent) {
                MPI_Request_free(&request);
            }
        }
    }
    MPI_Cancel(&never);
    MPI_Wait(&never, &status);
    MPI_Test_cancelled(&status, &was);
    decided(was);
    ids_taken = ids_expected;
}

/* ------------------------------------------------------------------ phase: collectives */

static int counts[MAX_RANKS], places[MAX_RANKS];

/* Blocking if request is NULL. */
static void collective(struct group *g, int which, int root, int n, int call, MPI_Request *request) {
    double *a = given[call], *b = got[call];
    MPI_Comm c = g->comm;
    if (g->inter) {
        which %= 3;
    }
    switch (which) {
#define ROW(number, blocking, nonblocking, ...)   \
    case number:                                  \
        if (request == NULL) {                    \
            blocking(__VA_ARGS__);                \
        } else {                                  \
            nonblocking(__VA_ARGS__, request);    \
        }                                         \
        break
        ROW(0, MPI_Barrier, MPI_Ibarrier, c);
        ROW(1, MPI_Allreduce, MPI_Iallreduce, a, b, n, MPI_DOUBLE, MPI_SUM, c);
        ROW(2, MPI_Allgather, MPI_Iallgather, a, n, MPI_DOUBLE, b, n, MPI_DOUBLE, c);
        ROW(3, MPI_Bcast, MPI_Ibcast, g->rank == root ? a : b, n, MPI_DOUBLE, root, c);
        ROW(4, MPI_Reduce, MPI_Ireduce, a, b, n, MPI_DOUBLE, MPI_PROD, root, c);
        ROW(5, MPI_Gather, MPI_Igather, a, n, MPI_DOUBLE, b, n, MPI_DOUBLE, root, c);
        ROW(6, MPI_Scatter, MPI_Iscatter, a, n, MPI_DOUBLE, b, n, MPI_DOUBLE, root, c);
        ROW(7, MPI_Alltoall, MPI_Ialltoall, a, n, MPI_DOUBLE, b, n, MPI_DOUBLE, c);
        ROW(8, MPI_Scan, MPI_Iscan, a, b, n, MPI_DOUBLE, MPI_SUM, c);
        ROW(9, MPI_Exscan, MPI_Iexscan, a, b, n, MPI_DOUBLE, MPI_MAX, c);
        ROW(10, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, a, b, n, MPI_DOUBLE, MPI_SUM, c);
        ROW(11, MPI_Allgatherv, MPI_Iallgatherv, a, counts[g->rank], MPI_DOUBLE, b, counts, places, MPI_DOUBLE, c);
        ROW(12, MPI_Alltoallv, MPI_Ialltoallv, a, counts, places, MPI_DOUBLE, b, counts, places, MPI_DOUBLE, c);
    default: break;
    }
}

static void collectives(struct group *g, struct rng *plan) {
    const int calls = 1 + below(plan, CALLS);
    int pending = 0;
    for (int i = 0; i < MAX_RANKS; i++) {
        counts[i] = 2; /* of Alltoallv: the same for all pairs */
        places[i] = 3 * i;
    }
    memset(got, 0, sizeof got);
    for (int call = 0; call < calls; call++) {
        for (int i = 0; i < WIDTH * MAX_RANKS; i++) {
            given[call][i] = 1.0 / (1 + world_rank + 3 * i + call);
        }
        const int which = below(plan, 13), root = below(plan, g->size), n = 1 + below(plan, WIDTH), nonblocking = chance(plan, 50) && with('n');
        perturb();
        collective(g, which, root, n, call, nonblocking ? &requests[pending] : NULL);
        pending += nonblocking;
        sprinkle(g);
    }
    complete_all(g, pending, 0);
    order_data(&order, got, sizeof got);
}

/* ------------------------------------------------------------------ phase: communicators that come and go */

static uint64_t seed;

static void communicators(struct group *g, struct rng *plan) {
    struct group sub = {.comm = MPI_COMM_NULL};
    MPI_Request request;
    MPI_Group all, some;
    int flag = 0, members[MAX_RANKS], n = 0;
    const int how = below(plan, 5), pick = below(plan, 1 << 16), again = below(plan, 1 << 16);
    perturb();
    switch (how) {
    case 0: MPI_Comm_dup(g->comm, &sub.comm); break;
    case 1: MPI_Comm_split(g->comm, pick >> g->rank & 1, again >> g->rank & 3, &sub.comm); break;
    case 2:
        MPI_Comm_idup(g->comm, &sub.comm, &request);
        while (with('t') && !flag) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            if (!flag) {
                failed();
            }
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 3:
        for (int i = g->size - 1; i >= 0; i--) {
            if (pick >> i & 1) {
                members[n++] = i;
            }
        }
        MPI_Comm_group(g->comm, &all);
        MPI_Group_incl(all, n, members, &some);
        if (again % 2 == 0) {
            MPI_Comm_create(g->comm, some, &sub.comm);
        } else if (pick >> g->rank & 1) {
            MPI_Comm_create_group(g->comm, some, 3, &sub.comm);
        }
        MPI_Group_free(&all);
        MPI_Group_free(&some);
        break;
    default: MPI_Comm_split(g->comm, pick >> g->rank & 1 ? MPI_UNDEFINED : 3, -g->rank, &sub.comm);
    }
    if (sub.comm == MPI_COMM_NULL) {
        return;
    }
    describe(&sub);
    struct rng own = seeded(seed, (uint64_t)pick, sub.id);
    exchange(&sub, &own);
    MPI_Comm_free(&sub.comm); /* its messages are all received or on their way to receives that are waited for */
}

/* ------------------------------------------------------------------ all */

enum { TEXT = 1 << 18 };

static const char *run_phase(int phase) {
    struct rng choice = seeded(seed, (uint64_t)phase, 12345);
    enum kind kind = (enum kind)below(&choice, KINDS);
    int what = below(&choice, 100);
    if (chance(&choice, 50) && kind > SPLIT) { /* mostly big ones */
        kind = DUP;
    }
    if (kind == INTER && (world_size < 2 || !with('i'))) {
        kind = SPLIT;
    }
    struct group g = borrow(kind);
    struct rng plan = seeded(seed, (uint64_t)phase, 1000 + g.id);
    const char *name;
    mine = seeded(seed, (uint64_t)phase, 2000000 + (uint64_t)world_rank);
    timing = seeded((uint64_t)perturb_seed, (uint64_t)phase, (uint64_t)world_rank);
    order = (struct order)ORDER_INIT;
    ids_expected = ids_taken = 0;
    large_messages = 0;
    if (what < 50 || (g.inter && what < 75)) {
        name = "exchange";
        exchange(&g, &plan);
    } else if (what < 62 && g.size > 1 && !g.inter) {
        name = "master";
        master(&g, &plan);
    } else if (what < 72 && !g.inter) {
        name = "rounds";
        rounds(&g, &plan);
    } else if (what < 80 && with('c') && !g.inter) {
        name = "cancels";
        cancels(&g, &plan);
    } else if (what < 90 && with('k') && !g.inter) {
        name = "communicators";
        communicators(&g, &plan);
    } else {
        name = "collectives";
        collectives(&g, &plan);
    }
    MPI_Barrier(g.comm);
    if (ids_taken != ids_expected) {
        fprintf(stderr, "randomprog: wrong: rank %d did not get what was sent to it in phase %d (%s)\n", world_rank, phase, name);
        wrong = 1;
    }
    order_taken(&order, -1, -1);
    return name;
}

static void say(char *text) {
    static char from[TEXT];
    if (world_rank != 0) {
        MPI_Send(text, (int)strlen(text) + 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        return;
    }
    fputs(text, stdout);
    for (int source = 1; source < world_size; source++) {
        MPI_Recv(from, TEXT, MPI_CHAR, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fputs(from, stdout);
    }
    fflush(stdout);
}

/* "12": the first twelve; "3,5": these; "0-3,7". Returns how many, or -1. */
static int parse_phases(const char *text, int *phases) {
    int n = 0;
    char *end;
    if (strpbrk(text, ",-") == NULL) {
        n = (int)strtol(text, &end, 10);
        for (int i = 0; i < n && i < MAX_PHASES; i++) {
            phases[i] = i;
        }
        return *end == 0 && n > 0 && n <= MAX_PHASES ? n : -1;
    }
    while (*text != 0) {
        const long first = strtol(text, &end, 10);
        long last = first;
        if (end == text || first < 0) {
            return -1;
        }
        if (*end == '-') {
            last = strtol(end + 1, &end, 10);
        }
        for (long p = first; p <= last; p++) {
            if (n == MAX_PHASES) {
                return -1;
            }
            phases[n++] = (int)p;
        }
        if (*end != 0 && *end != ',') {
            return -1;
        }
        text = *end == ',' ? end + 1 : end;
    }
    return n;
}

int main(int argc, char **argv) {
    static char text[TEXT];
    static int phases[MAX_PHASES];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    const int n = argc > 2 ? parse_phases(argv[2], phases) : -1;
    if (n < 0 || world_size > MAX_RANKS) {
        fprintf(stderr, "usage: randomprog SEED PHASES [WITHOUT], on at most %d ranks; PHASES is a number or a list such as 3,5-7\n", MAX_RANKS);
        MPI_Finalize();
        return 2;
    }
    seed = strtoull(argv[1], NULL, 10);
    if (argc > 3) {
        without = argv[3];
    }
    if (getenv("PERTURB") != NULL) {
        perturb_seed = atol(getenv("PERTURB"));
    }
    for (int k = 0; k < KINDS; k++) {
        pool[k] = MPI_COMM_NULL;
    }
    int bsend_bytes = 64 << 20;
    char *bsend_buffer = malloc((size_t)bsend_bytes);
    MPI_Buffer_attach(bsend_buffer, bsend_bytes);
    make_types();
    for (int i = 0; i < n; i++) {
        const char *name = run_phase(phases[i]);
        const size_t used = strlen(text);
        const int length = snprintf(text + used, TEXT - used, "randomprog: rank %d phase %d %s order %016llx data %016llx taken %ld polls %ld\n", world_rank, phases[i], name,
                 (unsigned long long)order.order_hash, (unsigned long long)order.data_hash, order.tasks, order.failed_polls);
        if (getenv("EACH") != NULL) {
            if (write(1, text + used, (size_t)length) != length) {
                abort();
            }
            text[0] = 0;
        }
    }
    say(text);
    for (int k = 0; k < KINDS; k++) {
        if (pool[k] != MPI_COMM_NULL) {
            MPI_Comm_free(&pool[k]);
        }
    }
    free_types();
    MPI_Buffer_detach(&bsend_buffer, &bsend_bytes);
    free(bsend_buffer);
    MPI_Finalize();
    return wrong;
}
