/* RECEIVEBENCHMARK (Fig. 1 of Clemencon et al., "An Implementation of Race Detection and Deterministic Replay with MPI"):
 * each rank in turn is the receiver; all others send to it at once, and it takes their messages with wildcards.
 *
 *     mpiexec -n 4 ./wildcard MODE [N]
 *
 * runs it N times (100 by default). MODE says how the receiver takes a message: one row of the table `modes` below each.
 */
#include "times.h"
#include "wildcard.h"
#include "wildcard_blocking.h"
#include "wildcard_requests.h"

static const struct mode {
    const char *name;
    void (*receive)(void);
    void (*send)(int receiver);
} modes[] = {
    {"recv", receive_blocking, send_plain},       /* MPI_Recv */
    {"iprobe", receive_iprobe, send_plain},       /* MPI_Iprobe until a message is there, MPI_Recv */
    {"probe", receive_probe, send_plain},         /* MPI_Probe, MPI_Recv */
    {"mprobe", receive_mprobe, send_plain},       /* MPI_Mprobe, MPI_Mrecv */
    {"improbe", receive_improbe, send_plain},     /* MPI_Improbe until a message is there, MPI_Mrecv */
    {"imrecv", receive_imrecv, send_plain},       /* MPI_Improbe for all, MPI_Imrecv, MPI_Wait */
    {"sendrecv", receive_sendrecv, send_sendrecv}, /* MPI_Sendrecv on both sides */
    {"sendrecv_replace", receive_sendrecv_replace, send_sendrecv_replace},
    {"irecv", receive_waitany, send_plain},       /* MPI_Irecv, MPI_Waitany */
    {"waitany", receive_waitany, send_plain},     /* another name of it */
    {"waitsome", receive_waitsome, send_plain},   /* MPI_Irecv, MPI_Waitsome */
    {"waitall", receive_waitall, send_plain},     /* MPI_Irecv, MPI_Waitall */
    {"wait", receive_wait, send_plain},           /* MPI_Irecv, MPI_Wait */
    {"test", receive_test, send_plain},           /* MPI_Irecv, MPI_Test */
    {"get_status", receive_get_status, send_plain}, /* MPI_Irecv, MPI_Request_get_status, MPI_Wait */
    {"testall", receive_testall, send_plain},     /* MPI_Irecv, MPI_Testall */
    {"testany", receive_testany, send_plain},     /* MPI_Irecv, MPI_Testany */
    {"testsome", receive_testsome, send_plain},   /* MPI_Irecv, MPI_Testsome */
    {"persistent", receive_persistent, send_plain}, /* MPI_Recv_init, MPI_Start, MPI_Wait */
    {"startall", receive_startall, send_plain},   /* MPI_Recv_init, MPI_Startall, MPI_Waitany */
    {"cancel", receive_cancel, send_plain},       /* MPI_Irecv, MPI_Waitany, MPI_Cancel */
};

static const struct mode *find_mode(const char *name) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(modes[i].name, name) == 0) {
            return &modes[i];
        }
    }
    return NULL;
}

static void receive_benchmark(const struct mode *mode, int n) {
    for (int i = 0; i < n; i++) {
        for (int receiver = 0; receiver < ranks; receiver++) {
            if (receiver == rank) {
                mode->receive();
            } else {
                mode->send(receiver);
            }
        }
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const struct mode *mode = argc > 1 ? find_mode(argv[1]) : NULL;
    const int n = argc > 2 ? atoi(argv[2]) : 100;
    int status = 0;
    if (mode == NULL || n <= 0 || ranks < 2 || ranks > MAX_RANKS) {
        if (rank == 0) {
            fprintf(stderr, "usage: wildcard MODE [N], on 2 to %d ranks, N at least 1, MODE one of", MAX_RANKS);
            for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
                fprintf(stderr, " %s", modes[i].name);
            }
            fprintf(stderr, "\n");
        }
        status = 2;
    } else {
        measure_begin();
        receive_benchmark(mode, n);
        measure_end("wildcard", rank);
        free_persistent();
        report_order("wildcard", rank, &order);
        const long wanted = (long)n * (ranks * (ranks - 1) / 2 - rank);
        if (sum != wanted) {
            fprintf(stderr, "wildcard: wrong: rank %d received values that sum to %ld, not %ld\n", rank, sum, wanted);
            status = 1;
        }
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return status;
}
