/* What racing mode must and must not trace, a scene each, and whether it leaves the program's data alone.
 *
 *     mpiexec -n 4 ./racing SCENE [ROUNDS]
 *
 * Rank 0 receives with MPI_ANY_SOURCE (in relay and gossip all do). Each receive is a line of output ("racing: took SOURCE TAG DATA"), written at once, so that a rank that kills itself has said what it had
 * taken. With RACING_KILL=N in the environment it ends itself with SIGKILL after the N-th; PERTURB=SEED slows the senders.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, ranks, rounds = 10, kill_at = -1, taken;
static unsigned seed;

static void slow(void) {
    const char *perturb = getenv("PERTURB");
    if (perturb == NULL) {
        return;
    }
    if (seed == 0) {
        seed = (unsigned)atoi(perturb) * 7919u + (unsigned)rank * 104729u + 1;
    }
    seed = seed * 1664525u + 1013904223u;
    const struct timespec t = {0, (long)(seed >> 12) % 400000};
    nanosleep(&t, NULL);
}

static void took(const MPI_Status *status, int data) {
    char line[80];
    const int n = snprintf(line, sizeof line, "racing: took %d %d %d\n", status->MPI_SOURCE, status->MPI_TAG, data);
    if (write(1, line, (size_t)n) != n) {
        abort();
    }
    if (++taken == kill_at) {
        raise(SIGKILL);
    }
}

static void take(int source, int tag) {
    MPI_Status status;
    int data = -1;
    MPI_Recv(&data, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &status);
    took(&status, data);
}

static void give(int to, int tag, int data) {
    slow();
    MPI_Send(&data, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }

/* All at once: of ranks - 1 messages that race with each other all but one must be traced. */
static void race(void) {
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            for (int k = 1; k < ranks; k++) {
                take(MPI_ANY_SOURCE, 1);
            }
        } else {
            give(0, 1, 100 * i + rank);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Block races: each sends several, and no round is separate from the next. */
static void block(void) {
    if (rank == 0) {
        for (int k = 0; k < rounds * 5 * (ranks - 1); k++) {
            take(MPI_ANY_SOURCE, MPI_ANY_TAG);
        }
        return;
    }
    for (int i = 0; i < rounds; i++) {
        slow();
        for (int k = 0; k < 5; k++) {
            const int data = 1000 * i + 10 * rank + k;
            MPI_Send(&data, 1, MPI_INT, 0, k % 2, MPI_COMM_WORLD);
        }
    }
}

/* A token goes round, and who has it sends: the messages are all causally ordered, the order known by way of third ranks. */
static void token(void) {
    int token = 0;
    for (int i = 0; i < rounds; i++) {
        for (int holder = 1; holder < ranks; holder++) {
            if (rank == 0) {
                take(MPI_ANY_SOURCE, 1);
                MPI_Send(&token, 1, MPI_INT, holder, 2, MPI_COMM_WORLD); /* rank 0 took it */
            } else if (rank == holder) {
                give(0, 1, 100 * i + rank);
                MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            const int next = holder % (ranks - 1) + 1;
            if (rank == holder && next != holder) {
                MPI_Send(&token, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
            } else if (rank == next && next != holder) {
                MPI_Recv(&token, 1, MPI_INT, holder, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
    }
}

/* One sender at a time, kept apart by a collective. */
static void apart(int how) {
    int all[64] = {0}, sum = 0;
    for (int i = 0; i < rounds; i++) {
        const int sender = i % (ranks - 1) + 1;
        if (rank == 0) {
            take(MPI_ANY_SOURCE, 1);
        } else if (rank == sender) {
            give(0, 1, 100 * i + rank);
        }
        switch (how) {
        case 0: MPI_Barrier(MPI_COMM_WORLD); break;
        case 1: MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
        case 2: MPI_Allgather(&i, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD); break;
        default: MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD); break;
        }
    }
}

/* Named sources: nothing to trace. */
static void exact(void) {
    for (int i = 0; i < rounds; i++) {
        for (int k = 1; k < ranks; k++) {
            if (rank == 0) {
                take(k, MPI_ANY_TAG);
            } else if (rank == k) {
                give(0, i % 3, 100 * i + rank);
            }
        }
    }
}

/* Rank 1's message is taken; those of the others are there, or will be, and never are. */
static void unreceived(void) {
    if (rank == 1) {
        give(0, 1, 1);
    } else if (rank > 1) {
        int data;
        MPI_Recv(&data, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        give(0, 1, rank);
    } else {
        MPI_Request requests[64];
        int data = 0;
        for (int k = 2; k < ranks; k++) {
            MPI_Isend(&data, 1, MPI_INT, k, 2, MPI_COMM_WORLD, &requests[k]);
        }
        take(1, 1); /* makes sure that it is 1's that the next one can't take */
        MPI_Waitall(ranks - 2, requests + 2, MPI_STATUSES_IGNORE);
        take(MPI_ANY_SOURCE, 1); /* the first of the others; the rest stays */
    }
}

/* Receives that are under way together, and are completed in any order. */
static void window(void) {
    enum { WIDTH = 4 };
    MPI_Request requests[WIDTH];
    int data[WIDTH], left = rounds * (ranks - 1), posted = 0;
    if (rank != 0) {
        for (int i = 0; i < rounds; i++) {
            give(0, i % 2, 100 * i + rank);
        }
        return;
    }
    for (int k = 0; k < WIDTH; k++) {
        requests[k] = MPI_REQUEST_NULL;
    }
    for (; left > 0; left--) {
        MPI_Status status;
        int k;
        for (k = 0; k < WIDTH && posted < rounds * (ranks - 1); k++) {
            if (requests[k] == MPI_REQUEST_NULL) {
                MPI_Irecv(&data[k], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[k]);
                posted++;
            }
        }
        MPI_Waitany(WIDTH, requests, &k, &status);
        took(&status, data[k]);
    }
}

/* A message goes round in laps, with another stride in each, and all take it with MPI_ANY_SOURCE: nothing races, and everybody can know that who knows of the receives of all the
 * others, by way of third ranks. */
static void relay(void) {
    int data = 0, stride = 1;
    for (int lap = 0; lap < rounds; lap++) {
        do {
            stride = stride % ranks + 1;
        } while (gcd(stride, ranks) != 1);
        if (rank != 0) {
            take(MPI_ANY_SOURCE, 1);
        }
        MPI_Send(&data, 1, MPI_INT, (rank + stride) % ranks, 1, MPI_COMM_WORLD);
        if (rank == 0) {
            take(MPI_ANY_SOURCE, 1);
        }
    }
}

/* Everybody sends to everybody in turn, and takes as many as come. */
static void gossip(void) {
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 3; k++) {
            give((rank + 1 + (7 * i + 3 * k) % (ranks - 1)) % ranks, k, 1000 * i + 10 * rank + k);
        }
        for (int k = 0; k < 3; k++) {
            take(MPI_ANY_SOURCE, MPI_ANY_TAG);
        }
    }
}

/* ------------------------------------------------------------------ the program's data */

static void check(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "racing: rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

enum { BIG = 300000 };
static unsigned char out[BIG + 64], in[BIG + 64];

static void untouched_but(int from, int to, const char *what) {
    for (int i = 0; i < (int)sizeof in; i++) {
        check(in[i] == (i >= from && i < to ? (unsigned char)(i - from + 7) : 0xEE), what);
    }
}

static void data(void) {
    const int peer = rank ^ 1, sizes[] = {0, 1, 8, 100, 4000, 4030, 4096, 16320, 16384, 65536, 70000, BIG};
    MPI_Status status;
    MPI_Request request[2];
    int count, flag;
    if (peer >= ranks) {
        return;
    }
    for (int i = 0; i < (int)sizeof out; i++) {
        out[i] = (unsigned char)(i + 7);
    }
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const int n = sizes[k];
        for (int room = n; room <= n + 33 && room <= BIG; room += 33) { /* whole, and shorter than the receive */
            memset(in, 0xEE, sizeof in);
            MPI_Sendrecv(out, n, MPI_BYTE, peer, 1, in + 5, room, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            check(count == n && status.MPI_SOURCE == peer, "Sendrecv: count or source");
            untouched_but(5, 5 + n, "Sendrecv: data");
            memset(in, 0xEE, sizeof in);
            MPI_Irecv(in + 5, room, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request[0]);
            MPI_Isend(out, n, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request[1]);
            do {
                MPI_Request_get_status(request[0], &flag, &status);
            } while (!flag);
            MPI_Get_count(&status, MPI_BYTE, &count);
            check(count == n, "Request_get_status: count");
            untouched_but(5, 5 + n, "Request_get_status: data");
            MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
            memset(in, 0xEE, sizeof in);
            MPI_Recv_init(in + 5, room, MPI_BYTE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request[0]);
            MPI_Send_init(out, n, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &request[1]);
            for (int again = 0; again < 2; again++) {
                MPI_Startall(2, request);
                MPI_Wait(&request[0], &status);
                MPI_Wait(&request[1], MPI_STATUS_IGNORE);
                MPI_Get_count(&status, MPI_BYTE, &count);
                check(count == n, "persistent: count");
                untouched_but(5, 5 + n, "persistent: data");
            }
            MPI_Request_free(&request[0]);
            MPI_Request_free(&request[1]);
        }
        /* Every second byte, from an absolute address; the datatype is freed before the message is there. */
        MPI_Datatype strided, absolute;
        MPI_Aint at;
        const int one = 1;
        memset(in, 0xEE, sizeof in);
        MPI_Type_vector(n / 2, 1, 2, MPI_BYTE, &strided);
        MPI_Get_address(in + 1, &at);
        MPI_Type_create_struct(1, &one, &at, &strided, &absolute);
        MPI_Type_commit(&absolute);
        MPI_Irecv(MPI_BOTTOM, 1, absolute, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &request[0]);
        MPI_Type_free(&absolute);
        MPI_Type_free(&strided);
        MPI_Send(out, n / 2, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
        MPI_Wait(&request[0], &status);
        for (int i = 0; i < n / 2; i++) {
            check(in[1 + 2 * i] == out[i] && in[2 + 2 * i] == 0xEE, "strided: data");
        }
        /* In place; probed; through MPI_Bsend; a message that ends within an element. */
        memset(in, 0xEE, sizeof in);
        memcpy(in + 5, out, (size_t)n);
        MPI_Sendrecv_replace(in + 5, n, MPI_BYTE, peer, 5, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
        untouched_but(5, 5 + n, "Sendrecv_replace: data");
        char *attached = malloc((size_t)n + MPI_BSEND_OVERHEAD);
        MPI_Buffer_attach(attached, n + MPI_BSEND_OVERHEAD);
        MPI_Bsend(out, n, MPI_BYTE, peer, 6, MPI_COMM_WORLD);
        MPI_Probe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        check(count == n, "Probe: count");
        memset(in, 0xEE, sizeof in);
        MPI_Recv(in + 5, count, MPI_BYTE, status.MPI_SOURCE, 6, MPI_COMM_WORLD, &status);
        untouched_but(5, 5 + n, "Bsend: data");
        MPI_Buffer_detach(&attached, &count);
        free(attached);
        memset(in, 0xEE, sizeof in);
        MPI_Datatype three;
        MPI_Type_contiguous(3, MPI_BYTE, &three);
        MPI_Type_commit(&three);
        MPI_Isend(out, n, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &request[1]);
        MPI_Recv(in + 5, n / 3 + 1, three, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
        MPI_Get_elements(&status, three, &count);
        check(count == n, "a broken element: count");
        untouched_but(5, 5 + n, "a broken element: data");
        MPI_Wait(&request[1], MPI_STATUS_IGNORE);
        MPI_Type_free(&three);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send(out, 50, MPI_BYTE, peer, 8, MPI_COMM_WORLD);
    int class, rc = MPI_Recv(in, 49, MPI_BYTE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &status);
    MPI_Error_class(rc, &class);
    check(class == MPI_ERR_TRUNCATE, "truncation is an error");
    printf("racing: rank %d has its data\n", rank);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *scene = argc > 1 ? argv[1] : "race";
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    kill_at = getenv("RACING_KILL") != NULL ? atoi(getenv("RACING_KILL")) : -1;
    if (strcmp(scene, "race") == 0) {
        race();
    } else if (strcmp(scene, "block") == 0) {
        block();
    } else if (strcmp(scene, "token") == 0) {
        token();
    } else if (strcmp(scene, "barrier") == 0) {
        apart(0);
    } else if (strcmp(scene, "allreduce") == 0) {
        apart(1);
    } else if (strcmp(scene, "allgather") == 0) {
        apart(2);
    } else if (strcmp(scene, "bcast") == 0) {
        apart(3);
    } else if (strcmp(scene, "exact") == 0) {
        exact();
    } else if (strcmp(scene, "unreceived") == 0) {
        unreceived();
    } else if (strcmp(scene, "window") == 0) {
        window();
    } else if (strcmp(scene, "relay") == 0) {
        relay();
    } else if (strcmp(scene, "gossip") == 0) {
        gossip();
    } else if (strcmp(scene, "data") == 0) {
        data();
    } else {
        fprintf(stderr, "racing: there is no scene %s\n", scene);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
