/* Two threads call MPI under one lock (MPI_THREAD_SERIALIZED). Which gets the lock first is what the environment's FIRST says: 0 (the default) or 1. A replay in which it is
 * the other cannot go on: the thread that has the lock is out of its turn, and the one whose turn it is waits for the lock. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first;

static void *call(void *argument) {
  const int me = *(int *)argument;
  if (me != first) usleep(200000);
  pthread_mutex_lock(&lock);
  MPI_Barrier(MPI_COMM_SELF);
  usleep(300000); /* the other comes meanwhile */
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int argc, char **argv) {
  int provided, number[2] = {0, 1};
  pthread_t threads[2];
  first = getenv("FIRST") != NULL && atoi(getenv("FIRST")) == 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, call, &number[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  MPI_Finalize();
  return 0;
}
