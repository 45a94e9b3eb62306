/* Ranks that send faster than rank 0 receives: how many messages wait there?
 *
 *     mpiexec -n 3 ./flood [MESSAGES [BYTES]]
 *
 * Every other rank sends MESSAGES messages of BYTES bytes to rank 0, which takes them with MPI_ANY_SOURCE and prints a hash of the order, how many messages waited
 * for it at most (sent by then, and not received), and the most memory that it had.
 *
 * FLOOD_COUNTERS names a file through which the ranks, on one host, count; without it rank 0 does not know how many wait. With FLOOD_FIRST=RANK the others begin when all
 * messages of that rank are received, and with FLOOD_LAST=RANK that rank begins when the others have sent all of theirs: neither is by way of MPI, so a replay is free to
 * be told something else. FLOOD_SLOW=RANK makes a rank wait 50 microseconds before each message.
 */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct counters {
    _Atomic long sent[64], received[64]; /* by sender */
};

static int rank, ranks;
static struct counters *counters;

static int told(const char *name) {
    const char *value = getenv(name);
    return value == NULL ? -1 : atoi(value);
}

static void fail(const char *what) {
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static struct counters *count_together(void) {
    static struct counters own;
    const char *path = getenv("FLOOD_COUNTERS");
    if (path == NULL) {
        return &own;
    }
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof own) != 0) {
        fail(path);
    }
    void *at = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        fail(path);
    }
    close(fd);
    return at;
}

static long sum(_Atomic long *of, int but) {
    long all = 0;
    for (int i = 1; i < ranks; i++) {
        all += i == but ? 0 : of[i];
    }
    return all;
}

static void send_all(long messages, int bytes) {
    const int first = told("FLOOD_FIRST"), last = told("FLOOD_LAST"), slow = told("FLOOD_SLOW");
    char *data = malloc((size_t)bytes + 1);
    memset(data, rank, (size_t)bytes + 1);
    while (first > 0 && first != rank && counters->received[first] < messages) {
        sched_yield();
    }
    while (last == rank && sum(counters->sent, rank) < messages * (ranks - 2)) {
        sched_yield();
    }
    for (long i = 0; i < messages; i++) {
        if (slow == rank) {
            const struct timespec t = {0, 50000};
            nanosleep(&t, NULL);
        }
        MPI_Send(data, bytes, MPI_BYTE, 0, (int)(i % 7), MPI_COMM_WORLD);
        counters->sent[rank]++;
    }
    free(data);
}

static long memory_kib(void) {
    char line[128];
    long most = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &most) == 1) {
            break;
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return most;
}

static void receive_all(long messages, int bytes) {
    char *data = malloc((size_t)bytes + 1);
    unsigned long hash = 0;
    long most = 0;
    const long before = memory_kib();
    for (long i = 0; i < messages * (ranks - 1); i++) {
        MPI_Status status;
        MPI_Recv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        const long waiting = sum(counters->sent, 0) - sum(counters->received, 0); /* the one that was just received is among them */
        most = waiting > most ? waiting : most;
        counters->received[status.MPI_SOURCE]++;
        hash = hash * 1099511628211ul + (unsigned long)(status.MPI_SOURCE * 64 + status.MPI_TAG + 1);
    }
    printf("flood: order %016lx\n", hash);
    printf("flood: at most %ld messages waited, rank 0 grew by %ld KiB\n", most, memory_kib() - before);
    free(data);
}

int main(int argc, char **argv) {
    const long messages = argc > 1 ? atol(argv[1]) : 1000;
    const int bytes = argc > 2 ? atoi(argv[2]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    counters = count_together();
    if (rank == 0) {
        receive_all(messages, bytes);
    } else {
        send_all(messages, bytes);
    }
    MPI_Finalize();
    return 0;
}
