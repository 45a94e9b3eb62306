/* Loads its MPI library when it runs, as Python, Julia and plug-ins do: it is linked to none.
 *
 *     loads LIBRARY local|global [ROUNDS [PLUGIN]]
 *
 * Every rank but 0 sends numbers, which rank 0 receives from whoever comes first. With a PLUGIN (this file again, as a
 * library that is linked to MPI: -shared -fPIC -DPLUGIN), that sends and receives, loaded with RTLD_DEEPBIND. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLUGIN
#define CALL(function, ...) function(__VA_ARGS__)
#else
static void *library;

static void *symbol(void *in, const char *name) {
    void *found = dlsym(in, name);
    if (found == NULL) {
        fprintf(stderr, "loads: %s\n", dlerror());
        exit(1);
    }
    return found;
}

#define CALL(function, ...) ((__typeof__(&function))symbol(library, #function))(__VA_ARGS__)
#ifdef OPEN_MPI /* its constants are addresses in the library */
#undef MPI_COMM_WORLD
#undef MPI_INT
#define MPI_COMM_WORLD ((MPI_Comm)symbol(library, "ompi_mpi_comm_world"))
#define MPI_INT ((MPI_Datatype)symbol(library, "ompi_mpi_int"))
#endif
#endif

unsigned exchange(int rank, int ranks, int rounds) {
    unsigned hash = 17;
    for (int i = 0; i < rounds * (rank == 0 ? ranks - 1 : 1); i++) {
        int value = rank * 1000 + i;
        MPI_Status status;
        if (rank != 0) {
            CALL(MPI_Send, &value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        } else {
            CALL(MPI_Recv, &value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            hash = hash * 31 + (unsigned)(value + status.MPI_SOURCE); /* breakpoint: received */
        }
    }
    return hash;
}

#ifndef PLUGIN
static void *load(const char *path, int mode) {
    void *handle = dlopen(path, mode);
    if (handle == NULL) {
        fprintf(stderr, "loads: %s\n", dlerror());
        exit(1);
    }
    return handle;
}

int main(int argc, char **argv) {
    int rank, ranks, rounds = argc > 3 ? atoi(argv[3]) : 20;
    unsigned (*exchanged)(int, int, int) = exchange;
    library = load(argv[1], RTLD_NOW | (strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
    if (argc > 4) {
        void *plugin = load(argv[4], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        exchanged = (unsigned (*)(int, int, int))symbol(plugin, "exchange");
    }
    CALL(MPI_Init, &argc, &argv);
    CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size, MPI_COMM_WORLD, &ranks);
    unsigned hash = exchanged(rank, ranks, rounds);
    if (rank == 0) printf("loads: order %08x\n", hash);
    CALL(MPI_Finalize);
    return 0;
}
#endif
