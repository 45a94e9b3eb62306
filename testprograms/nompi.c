/* A program without MPI (build it with cc, not with mpicc): it prints its arguments. */
#include <stdio.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        printf("nompi: argument %d: %s\n", i, argv[i]);
    }
    printf("nompi: done\n");
    return 0;
}
