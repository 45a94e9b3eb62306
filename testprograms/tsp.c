/* A travelling-salesman solver: parallel branch and bound with a master (rank 0) and workers.
 *
 *     mpiexec -n 4 ./tsp cities18.txt
 *
 * The program of section 5.3 of Clemencon et al., "An Implementation of Race Detection and Deterministic Replay with MPI":
 * the master keeps a queue of tasks (beginnings of tours) and hands them out as workers ask; workers report better tours as
 * they find them and hear of those of others. Both sides poll with MPI_Iprobe and wildcards, so the order in which
 * messages are taken, and the number of polls that find nothing, differ from run to run; the answer does not.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderhash.h"
#include "times.h"
#include "tsp_cities.h"

enum { MASTER = 0 };
enum { PREFIX = 3 };                /* cities in a task: the first is always city 0 */
enum { NODES_BETWEEN_POLLS = 200 }; /* how often a worker that computes looks for a better bound */

enum message_tag {
    TAG_REQUEST = 1, /* worker to master: I am idle */
    TAG_TASK,        /* master to worker: a prefix to extend */
    TAG_TOUR,        /* worker to master: a tour better than all that I know of */
    TAG_BOUND,       /* master to worker: the length of the best tour so far */
    TAG_STOP         /* master to worker: no task is left */
};

struct task {
    int prefix[PREFIX];
    int bound; /* the length of the best tour when it was handed out */
};

/* length, then the cities in the order of the tour. */
struct tour {
    int length;
    int city[MAX_CITIES];
};

static int rank, ranks;
static struct cities cities;
static struct order order = ORDER_INIT;
static int tasks_received; /* by this worker */

/* ---- the worker ---- */

static struct tour best; /* only the length, where it came from the master */
static int path[MAX_CITIES];
static long nodes;

static void receive_bound(void) {
    int length;
    MPI_Recv(&length, 1, MPI_INT, MASTER, TAG_BOUND, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    order_data(&order, &length, sizeof length);
    if (length < best.length) {
        best.length = length;
    }
}

/* Takes one message if there is one, and says which; 0 if there is none. */
static int poll_message(MPI_Status *status) {
    int arrived;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, status);
    if (!arrived) {
        order_failed(&order);
        return 0;
    }
    order_taken(&order, status->MPI_SOURCE, status->MPI_TAG);
    return status->MPI_TAG;
}

static void unexpected(int tag) {
    fprintf(stderr, "tsp: rank %d received a message with tag %d, which nobody should have sent\n", rank, tag);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Called every few nodes while a task is computed. */
static void look_for_bounds(void) {
    MPI_Status status;
    int tag = poll_message(&status);
    if (tag == TAG_BOUND) {
        receive_bound();
    } else if (tag != 0) {
        unexpected(tag);
    }
}

/* Extends the path, whose first `depth` cities have the given length, in all ways that may beat the best tour. */
static void search(int depth, int length) {
    if (++nodes % NODES_BETWEEN_POLLS == 0) {
        look_for_bounds();
    }
    if (depth == cities.count) {
        int total = length + cities.distance[path[depth - 1]][path[0]];
        if (total < best.length) {
            best.length = total;
            memcpy(best.city, path, sizeof path);
            MPI_Send(&best, 1 + cities.count, MPI_INT, MASTER, TAG_TOUR, MPI_COMM_WORLD);
        }
        return;
    }
    if (length + least_completion(&cities, path, depth) >= best.length) {
        return;
    }
    int candidate[MAX_CITIES];
    int candidates = nearest_unvisited(&cities, path, depth, candidate);
    for (int i = 0; i < candidates; i++) {
        path[depth] = candidate[i];
        search(depth + 1, length + cities.distance[path[depth - 1]][candidate[i]]);
    }
}

/* Asks the master for a task and waits for it. 0 when there is none left. */
static int receive_task(struct task *task) {
    MPI_Send(NULL, 0, MPI_INT, MASTER, TAG_REQUEST, MPI_COMM_WORLD);
    for (;;) {
        MPI_Status status;
        int tag = poll_message(&status);
        switch (tag) {
        case 0:
            sched_yield();
            break;
        case TAG_BOUND:
            receive_bound();
            break;
        case TAG_TASK:
            MPI_Recv(task, PREFIX + 1, MPI_INT, MASTER, TAG_TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            order_data(&order, task, sizeof *task);
            tasks_received++;
            return 1; /* breakpoint: task received */
        case TAG_STOP:
            MPI_Recv(NULL, 0, MPI_INT, MASTER, TAG_STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            return 0;
        default:
            unexpected(tag);
        }
    }
}

static void work(void) {
    struct task task;
    best.length = greedy_tour(&cities, best.city);
    while (receive_task(&task)) {
        if (task.bound < best.length) {
            best.length = task.bound;
        }
        memcpy(path, task.prefix, sizeof task.prefix);
        search(PREFIX, path_length(&cities, path, PREFIX));
    }
    order.tasks = tasks_received;
}

/* ---- the master ---- */

static struct task *queue;
static int queue_length, next_task;

/* Fills the queue with all prefixes. */
static void build_queue(void) {
    const int n = cities.count;
    queue = malloc((size_t)n * (size_t)n * sizeof *queue);
    if (queue == NULL) {
        fprintf(stderr, "tsp: no memory for the queue of tasks\n");
        MPI_Abort(MPI_COMM_WORLD, 3);
        return;
    }
    for (int a = 1; a < n; a++) {
        for (int b = 1; b < n; b++) {
            if (a != b) {
                queue[queue_length++] = (struct task){.prefix = {0, a, b}};
            }
        }
    }
}

/* Bounds are sent without waiting: a worker that is itself sending to the master could not receive. */
struct bound_message {
    int length;
    MPI_Request request;
    struct bound_message *next;
};

static struct bound_message *bounds_sent;

static void send_bound(int worker) {
    struct bound_message *message = malloc(sizeof *message);
    if (message == NULL) {
        fprintf(stderr, "tsp: no memory for a message\n");
        MPI_Abort(MPI_COMM_WORLD, 3);
        return;
    }
    message->length = best.length;
    message->next = bounds_sent;
    bounds_sent = message;
    MPI_Isend(&message->length, 1, MPI_INT, worker, TAG_BOUND, MPI_COMM_WORLD, &message->request);
}

static void finish_bounds(void) {
    while (bounds_sent != NULL) {
        struct bound_message *message = bounds_sent;
        bounds_sent = message->next;
        MPI_Wait(&message->request, MPI_STATUS_IGNORE);
        free(message);
    }
}

static void receive_tour(int worker) {
    struct tour tour;
    MPI_Recv(&tour, 1 + cities.count, MPI_INT, worker, TAG_TOUR, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    order_data(&order, &tour, (size_t)(1 + cities.count) * sizeof(int));
    if (tour.length >= best.length) {
        return; /* two workers found tours at the same time: the better one came first */
    }
    best = tour;
    for (int other = 1; other < ranks; other++) {
        if (other != worker) {
            send_bound(other);
        }
    }
}

/* Answers an idle worker. 0 if it was told to stop. */
static int answer_request(int worker) {
    MPI_Recv(NULL, 0, MPI_INT, worker, TAG_REQUEST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (next_task == queue_length) {
        MPI_Send(NULL, 0, MPI_INT, worker, TAG_STOP, MPI_COMM_WORLD);
        return 0;
    }
    struct task *task = &queue[next_task++];
    task->bound = best.length;
    MPI_Send(task, PREFIX + 1, MPI_INT, worker, TAG_TASK, MPI_COMM_WORLD);
    order.tasks++;
    return 1;
}

static void serve(void) {
    int working = ranks - 1;
    build_queue();
    best.length = greedy_tour(&cities, best.city);
    while (working > 0) {
        MPI_Status status;
        int tag = poll_message(&status);
        switch (tag) {
        case 0:
            sched_yield();
            break;
        case TAG_TOUR:
            receive_tour(status.MPI_SOURCE);
            break;
        case TAG_REQUEST:
            working -= !answer_request(status.MPI_SOURCE);
            break;
        default:
            unexpected(tag);
        }
    }
    finish_bounds();
    free(queue);
}

/* Prints the tour and checks it: it must visit every city once, be as long as it says, and be the known optimum. */
static int report_tour(void) {
    char line[100 + 4 * MAX_CITIES];
    int used = snprintf(line, sizeof line, "tsp: tour length %d:", best.length);
    for (int i = 0; i < cities.count; i++) {
        used += snprintf(line + used, sizeof line - (size_t)used, " %d", best.city[i]);
    }
    snprintf(line + used, sizeof line - (size_t)used, "\n");
    fputs(line, stdout);
    if (!is_tour(&cities, best.city)) {
        fprintf(stderr, "tsp: wrong: that is not a tour of all %d cities\n", cities.count);
        return 1;
    }
    int length = path_length(&cities, best.city, cities.count) + cities.distance[best.city[cities.count - 1]][best.city[0]];
    if (length != best.length) {
        fprintf(stderr, "tsp: wrong: that tour has length %d\n", length);
        return 1;
    }
    if (cities.optimum != 0 && cities.optimum != best.length) {
        fprintf(stderr, "tsp: wrong: the shortest tour has length %d\n", cities.optimum);
        return 1;
    }
    return 0;
}

/* The master reads the file, and all start together. 0, or an exit status if the arguments are of no use. */
static int set_up(int argc, char **argv) {
    const char *problem = NULL;
    if (argc != 2) {
        problem = "usage: tsp CITIES-FILE";
    } else if (ranks < 2) {
        problem = "it needs at least 2 ranks: a master and a worker";
    } else if (rank == MASTER) {
        problem = read_cities(argv[1], PREFIX, &cities);
    }
    if (problem != NULL && rank == MASTER) {
        fprintf(stderr, "tsp: %s\n", problem);
    }
    int status = problem != NULL ? 2 : 0;
    MPI_Bcast(&status, 1, MPI_INT, MASTER, MPI_COMM_WORLD);
    if (status == 0) {
        MPI_Bcast(&cities, sizeof cities / sizeof(int), MPI_INT, MASTER, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return status;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = set_up(argc, argv);
    if (status == 0) {
        long all_nodes = 0;
        measure_begin();
        if (rank == MASTER) {
            serve();
            measure_end("tsp", rank);
            status = report_tour();
        } else {
            work();
            measure_end("tsp", rank);
        }
        MPI_Reduce(&nodes, &all_nodes, 1, MPI_LONG, MPI_SUM, MASTER, MPI_COMM_WORLD);
        order_data(&order, &all_nodes, sizeof all_nodes);
        report_order("tsp", rank, &order);
    }
    MPI_Finalize();
    return status;
}
