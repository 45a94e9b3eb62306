/* Windows over memory that cannot be read, at all or any more: unmapped before MPI_Win_free ("unmapped"), with a page that
 * is protected ("protected"), or none ("null"). None of it is accessed. Without Cohort the program ends well. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, SIZE = 4 * PAGE };

int main(int argc, char **argv) {
  int rank;
  const char *part = argc > 1 ? argv[1] : "unmapped";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory[0] = (char)(rank + 1);
  memory[3 * PAGE] = 7;
  if (strcmp(part, "protected") == 0) mprotect(memory + PAGE, PAGE, PROT_NONE);
  MPI_Win window;
  MPI_Win_create(strcmp(part, "null") == 0 ? NULL : memory, SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(part, "protected") == 0) {
    memory[3 * PAGE] = 8;
    MPI_Barrier(MPI_COMM_WORLD);
    mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE);
    memory[PAGE] = 9;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int sum = memory[0] + memory[3 * PAGE] + (strcmp(part, "protected") == 0 ? memory[PAGE] : 0);
  if (strcmp(part, "unmapped") == 0) munmap(memory, SIZE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  printf("gone: rank %d: %d\n", rank, sum);
  MPI_Finalize();
  return 0;
}
