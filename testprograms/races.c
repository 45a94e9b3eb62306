/* Races of each kind, in rounds that a barrier keeps apart: however the messages arrive, each round has the same races.
 *
 *     mpiexec -n 4 ./races [die]
 *
 * In each round every other rank sends a message to rank 0, which takes them one by one. With "die" rank 0 kills itself in the second round, when
 * it has taken one message and the others are on their way.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

enum { MAX_RANKS = 64 };

static int rank, ranks, sum;

static void send_number(int number) {
    MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD); /* send: number */
}

/* As many numbers as the rank. */
static void send_many(void) {
    int numbers[MAX_RANKS] = {0};
    MPI_Send(numbers, rank, MPI_INT, 0, 1, MPI_COMM_WORLD); /* send: many */
}

/* A column of a matrix; only rank 1's has another number in it. */
static void send_column(void) {
    int matrix[3][3] = {{0}};
    matrix[1][2] = rank == 1;
    MPI_Datatype column;
    MPI_Type_vector(3, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Send(&matrix[0][2], 1, column, 0, 1, MPI_COMM_WORLD); /* send: column */
    MPI_Type_free(&column);
}

/* Two messages on the way of a persistent request, which is not looked into. */
static void send_persistent(void) {
    MPI_Request request;
    MPI_Send_init(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Start(&request); /* send: persistent */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void receive(int source) {
    int numbers[MAX_RANKS] = {0};
    MPI_Recv(numbers, MAX_RANKS, MPI_INT, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* receive: plain */
    sum += numbers[0];
}

static void receive_probed(void) {
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status); /* receive: probe */
    receive(status.MPI_SOURCE);
}

static void receive_all(void) {
    static int numbers[MAX_RANKS];
    MPI_Request requests[MAX_RANKS];
    MPI_Status statuses[MAX_RANKS];
    for (int k = 1; k < ranks; k++) {
        MPI_Irecv(&numbers[k], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[k]); /* receive: posted */
    }
    MPI_Waitall(ranks - 1, requests + 1, statuses);
    for (int k = 1; k < ranks; k++) {
        sum += numbers[k];
    }
}

/* The sender's number is not asked for: MPI_ANY_TAG alone makes no race. */
static void receive_any_tag(int source) {
    int number;
    MPI_Recv(&number, 1, MPI_INT, source, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += number;
}

static void round_of(int number) {
    for (int source = 1; rank == 0 && source < ranks; source++) {
        switch (number) {
        case 0: case 1: case 2: case 3: case 4:
            receive(MPI_ANY_SOURCE);
            break;
        case 5:
            receive_probed();
            break;
        case 6:
            receive_all();
            return;
        case 7:
            receive_any_tag(source);
            break;
        case 8:
            receive(source);
            break;
        }
    }
    if (rank > 0) {
        switch (number) {
        case 0: /* equal */
            send_number(42);
            break;
        case 1: /* other lengths */
            send_many();
            break;
        case 2: /* one that differs */
            send_column();
            break;
        case 3: /* content unknown */
            send_persistent();
            break;
        case 4: /* other contents, of two places */
            if (rank == 1) {
                send_column();
            } else {
                send_number(rank);
            }
            break;
        default:
            send_number(rank);
        }
    }
}

static void die(void) {
    if (rank > 0) {
        send_number(rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        receive(MPI_ANY_SOURCE);
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int number = 0; number <= 8; number++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (argc > 1 && number == 1) {
            die();
        }
        round_of(number);
    }
    if (rank == 0) {
        const int all = ranks * (ranks - 1) / 2;
        const int wanted = 42 * (ranks - 1) + all + (all - 1) + 4 * all;
        printf("races: the sum is %d\n", sum);
        if (sum != wanted) {
            fprintf(stderr, "races: wrong: it should be %d\n", wanted);
            MPI_Finalize();
            return 1;
        }
    }
    MPI_Finalize();
    return 0;
}
