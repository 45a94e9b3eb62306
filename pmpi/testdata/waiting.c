/* A thread asks for the time while the main thread is inside MPI, and later calls MPI itself: its first values come into the trace late. */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include "orderhash.h"

static sem_t inside, outside;
static uint64_t hash = 1;

static void *ask(void *unused) {
  sem_wait(&inside);
  usleep(100000);
  for (int i = 0; i < 100; i++) {
    const double t = MPI_Wtime();
    hash = hash_bytes(hash, &t, sizeof t);
  }
  sem_wait(&outside);
  MPI_Barrier(MPI_COMM_SELF);
  const double t = MPI_Wtime();
  hash = hash_bytes(hash, &t, sizeof t);
  return unused;
}

int main(int argc, char **argv) {
  int provided, rank, got = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    pthread_t thread;
    sem_init(&inside, 0, 0);
    sem_init(&outside, 0, 0);
    pthread_create(&thread, NULL, ask, NULL);
    sem_post(&inside);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sem_post(&outside);
    pthread_join(thread, NULL);
  } else {
    usleep(400000);
    MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  printf("waiting: rank %d: %d %llx\n", rank, got, (unsigned long long)hash);
  MPI_Finalize();
  return 0;
}
