/* A process whose memory is known: it says where, and then dies, or waits for a debugger at `here`. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char known[1 << 16] = "known text";

static void *wait_for_ever(void *arg) {
    pause();
    return arg;
}

void here(void) { getpid(); }

int main(int argc, char **argv) {
    for (size_t i = 16; i < sizeof known; i++) known[i] = (char)(i * 7);
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    printf("%p\n", (void *)known);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "die") == 0) *(volatile int *)0x10 = 1;
    here();
    return 0;
}
