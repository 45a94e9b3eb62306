#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static pthread_barrier_t ready;
volatile long spins;
static void *work(void *arg) { pthread_barrier_wait(&ready); for (;;) spins++; return arg; }
static void started(void) { spins = 1; }
int main(int argc, char **argv) {
  sigset_t all;
  pthread_t t;
  sigfillset(&all);
  if (argc > 1) pthread_sigmask(SIG_BLOCK, &all, NULL);
  pthread_barrier_init(&ready, NULL, 2);
  pthread_create(&t, NULL, work, NULL);
  pthread_barrier_wait(&ready);
  started();
  for (;;) usleep(1000);
}
