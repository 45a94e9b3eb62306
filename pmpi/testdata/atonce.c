/* MPI_THREAD_MULTIPLE is provided. Without an argument only the main thread calls MPI. With "late", a second thread calls MPI, but never while the main thread does. With "at-once" a
 * thread of rank 0 waits in MPI_Recv for a message that rank 1 sends when it has one of rank 0's main thread: calls overlap. */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static sem_t ready;
static MPI_Comm own;

static void *receive(void *into) {
  sem_post(&ready);
  MPI_Recv(into, 1, MPI_INT, MPI_ANY_SOURCE, 7, own, MPI_STATUS_IGNORE);
  return NULL;
}

static void *pass_on(void *token) {
  int rank, ranks;
  MPI_Comm_rank(own, &rank);
  MPI_Comm_size(own, &ranks);
  MPI_Sendrecv_replace(token, 1, MPI_INT, (rank + 1) % ranks, 7, MPI_ANY_SOURCE, 7, own, MPI_STATUS_IGNORE);
  return NULL;
}

int main(int argc, char **argv) {
  int provided, rank, got = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int at_once = argc > 1 && strcmp(argv[1], "at-once") == 0, late = argc > 1 && strcmp(argv[1], "late") == 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  pthread_t thread;
  if (at_once && rank == 0) {
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, receive, &got);
    sem_wait(&ready);
    usleep(500000);
    MPI_Send(&rank, 1, MPI_INT, 1, 8, own); /* only then is there a message for the thread */
    pthread_join(thread, NULL);
  } else if (at_once) {
    MPI_Recv(&got, 1, MPI_INT, 0, 8, own, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, 0, 7, own);
  }
  for (int i = 0; late && i < 20; i++) {
    if (i == 0) got = rank;
    pthread_create(&thread, NULL, pass_on, &got);
    pthread_join(thread, NULL);
    pass_on(&got);
  }
  MPI_Comm_free(&own);
  printf("atonce: rank %d: provided %d, got %d\n", rank, provided == MPI_THREAD_MULTIPLE, got);
  MPI_Finalize();
  return 0;
}
