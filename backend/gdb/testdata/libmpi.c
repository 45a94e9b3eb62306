/* Stands for an MPI library: a thread of its own, and one call. */
#include <pthread.h>
#include <unistd.h>
static void *progress(void *arg) { for (;;) usleep(1000); return arg; }
int MPI_Init(int *argc, char ***argv) { pthread_t t; return pthread_create(&t, NULL, progress, NULL); }
int MPI_Barrier(int comm) { return comm; }
