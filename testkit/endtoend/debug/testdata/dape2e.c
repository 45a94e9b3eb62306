/* What the end-to-end tests of the debug adapter look at: breakpoints in a function that is called once a round, steps over MPI calls, a loop that ends when a
 * debugger says so, a receive that waits until then, and variables of each kind. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 4, POINTS = 250 };

struct inner {
    int count;
    double weight;
};

struct sample {
    int id;
    char name[8];
    struct inner inner;
    struct sample *next;
};

static int rank, ranks, total, received;
static volatile int released; /* set by the debugger */
static volatile long spins;

static int work(int round) {
    int value = round * 10 + rank;
    total += value; /* mark: work */
    return value;
}

static int twice(int x) {
    int result = 2 * x; /* mark: twice */
    return result;
}

static void ring(void) {
    int out = rank, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % ranks, 1, &in, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);         /* mark: sendrecv ends */
    received = in;                           /* mark: received */
    received = twice(received);              /* mark: call twice */
    MPI_Barrier(MPI_COMM_WORLD);             /* mark: barrier */
    printf("ring: rank %d %d\n", rank, received); /* mark: print */
    fflush(stdout);
}

/* Rank 0 waits in MPI for the last rank, which waits for the debugger. */
static void wait_for_release(void) {
    int token = 42;
    if (rank == ranks - 1) {
        while (!released) {
            usleep(1000);
            spins++; /* mark: spin */
        }
        MPI_Send(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    } else if (rank == 0) {
        token = 0;
        MPI_Recv(&token, 1, MPI_INT, ranks - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* mark: wait */
        printf("token %d\n", token);
        fflush(stdout);
    }
}

static double show(void) {
    double points[POINTS];
    struct sample second = {2, "second", {20, 2.5}, NULL}, first = {1, "first", {10, 1.5}, &second};
    MPI_Datatype column;
    MPI_Comm even;
    for (int i = 0; i < POINTS; i++) {
        points[i] = rank + i / 1000.0;
    }
    MPI_Type_vector(3, 1, 5, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &even);
    MPI_Comm_set_name(even, "parity");
    struct sample *chosen = &first;
    double sum = points[3] + chosen->inner.weight; /* mark: variables */
    MPI_Comm_free(&even);
    MPI_Type_free(&column);
    return sum;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 1; round <= ROUNDS; round++) {
        work(round);
    }
    ring(); /* mark: call ring */
    double sum = show();
    wait_for_release(); /* mark: call wait */
    MPI_Finalize();
    return sum < 0;
}
