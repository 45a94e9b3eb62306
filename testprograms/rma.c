/* One-sided communication: every rank reads a value from the window of the next one, and counts itself at rank 0. */
#include <mpi.h>
#include <stdio.h>

/* MPICH 4.0.2 reads its own memory where a window of another rank on the same host is smaller than a page. */
enum { WINDOW_SIZE = 4096 };

struct shelf {
    int value;
    int counter;
};

int main(int argc, char **argv) {
    int rank, ranks, fetched = -1, ticket = -1;
    const int one = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct shelf *shelf;
    MPI_Win window;
    MPI_Win_allocate(WINDOW_SIZE, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shelf, &window);
    MPI_Win_fence(0, window);
    shelf->value = 100 + rank;
    shelf->counter = 0;
    MPI_Win_fence(0, window);
    MPI_Get(&fetched, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
    MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 1, MPI_SUM, window); /* which rank comes first is a race */
    MPI_Win_fence(0, window);
    const int wanted = 100 + (rank + 1) % ranks;
    const int wrong = fetched != wanted || ticket < 0 || ticket >= ranks || (rank == 0 && shelf->counter != ranks);
    printf("rma: rank %d: fetched %d, ticket %d: %s\n", rank, fetched, ticket, wrong ? "WRONG" : "right");
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong;
}
