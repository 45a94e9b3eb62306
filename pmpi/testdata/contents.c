/* Rank 0 sends messages in pairs to rank 1: those of a pair carry the same bytes (tag 0) or not (tag 1), in different ways. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { EQUAL, OTHER };
enum { PAGE = 4096, WHOLE = 1 << 20 /* the most that is looked into */ };

static char sink[4 << 20];

static void receive(int n) {
  for (int i = 0; i < n; i++) MPI_Recv(sink, sizeof sink, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void isend(const void *buf, int count, MPI_Datatype type, int tag) {
  MPI_Request request;
  MPI_Isend(buf, count, type, 1, tag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A message whose last page nobody can read until it is received. */
static void unreadable(void) {
  char *buf = mmap(NULL, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MPI_Request request;
  mprotect(buf + WHOLE - PAGE, PAGE, PROT_NONE);
  MPI_Isend(buf, WHOLE, MPI_CHAR, 0, 2, MPI_COMM_SELF, &request);
  mprotect(buf + WHOLE - PAGE, PAGE, PROT_READ);
  MPI_Recv(sink, WHOLE, MPI_CHAR, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchange(const void *buf, int count, MPI_Datatype type, int tag) {
  MPI_Sendrecv(buf, count, type, 1, tag, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) receive(26);
  if (rank == 0) {
    int a = 5, b = 6, matrix[6][6], column[6];
    for (int i = 0; i < 36; i++) (&matrix[0][0])[i] = i * i;
    for (int i = 0; i < 6; i++) column[i] = matrix[i][2];
    /* 1: a number, twice */
    MPI_Send(&a, 1, MPI_INT, 1, EQUAL, MPI_COMM_WORLD);
    isend(&a, 1, MPI_INT, EQUAL);
    /* 2: two numbers */
    MPI_Send(&a, 1, MPI_INT, 1, OTHER, MPI_COMM_WORLD);
    exchange(&b, 1, MPI_INT, OTHER);
    /* 3: a column of a matrix, and a copy of it */
    MPI_Datatype vector, swapped, absolute;
    MPI_Type_vector(6, 1, 6, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Send(&matrix[0][2], 1, vector, 1, EQUAL, MPI_COMM_WORLD);
    MPI_Ssend(column, 6, MPI_INT, 1, EQUAL, MPI_COMM_WORLD);
    /* 4: it and another column */
    isend(&matrix[0][2], 1, vector, OTHER);
    MPI_Send(&matrix[0][3], 1, vector, 1, OTHER, MPI_COMM_WORLD);
    /* 5: the same six numbers of memory without gaps, in another order: a typemap counts, not its extent */
    MPI_Type_create_hindexed(2, (int[]){3, 3}, (MPI_Aint[]){12, 0}, MPI_INT, &swapped);
    MPI_Type_commit(&swapped);
    MPI_Send(column, 6, MPI_INT, 1, OTHER, MPI_COMM_WORLD);
    MPI_Send(column, 1, swapped, 1, OTHER, MPI_COMM_WORLD);
    /* 6: a pair type has a gap, whose bytes are not sent */
    struct { double value; int at; } x, y;
    memset(&x, 1, sizeof x);
    memset(&y, 2, sizeof y);
    x.value = y.value = 2.5;
    x.at = y.at = 7;
    MPI_Send(&x, 1, MPI_DOUBLE_INT, 1, EQUAL, MPI_COMM_WORLD);
    MPI_Send(&y, 1, MPI_DOUBLE_INT, 1, EQUAL, MPI_COMM_WORLD);
    /* 7: 100,001 bytes that differ in the last */
    char *large = calloc(1, 2 << 20);
    MPI_Send(large, 100001, MPI_CHAR, 1, OTHER, MPI_COMM_WORLD);
    large[100000] = 1;
    MPI_Send(large, 100001, MPI_CHAR, 1, OTHER, MPI_COMM_WORLD);
    /* 8: words that change places */
    memset(large, 0, 100);
    large[8] = 1;
    MPI_Send(large, 72, MPI_CHAR, 1, OTHER, MPI_COMM_WORLD);
    large[8] = 0;
    large[40] = 1;
    MPI_Send(large, 72, MPI_CHAR, 1, OTHER, MPI_COMM_WORLD);
    /* 9: a persistent send and an ordinary one; its datatype has been freed meanwhile */
    MPI_Request persistent[4];
    MPI_Datatype freed;
    MPI_Type_dup(vector, &freed);
    MPI_Send_init(&matrix[0][2], 1, freed, 1, EQUAL, MPI_COMM_WORLD, &persistent[0]);
    MPI_Type_free(&freed);
    MPI_Start(&persistent[0]);
    MPI_Wait(&persistent[0], MPI_STATUS_IGNORE);
    MPI_Send(column, 6, MPI_INT, 1, EQUAL, MPI_COMM_WORLD);
    /* 10 and 11: two started at once, with one to nobody between them; the second start sends another number */
    MPI_Send_init(&a, 1, MPI_INT, 1, OTHER, MPI_COMM_WORLD, &persistent[1]);
    MPI_Send_init(&a, 1, MPI_INT, MPI_PROC_NULL, OTHER, MPI_COMM_WORLD, &persistent[2]);
    MPI_Ssend_init(&b, 1, MPI_INT, 1, OTHER, MPI_COMM_WORLD, &persistent[3]);
    for (int k = 0; k < 2; k++) {
      MPI_Startall(3, persistent + 1);
      MPI_Waitall(3, persistent + 1, MPI_STATUSES_IGNORE);
      a = 7;
    }
    a = 5;
    for (int k = 0; k < 4; k++) MPI_Request_free(&persistent[k]);
    /* 12: what is received takes the place of what was sent */
    int here = a;
    MPI_Request self;
    MPI_Isend(&b, 1, MPI_INT, 0, OTHER, MPI_COMM_WORLD, &self);
    MPI_Sendrecv_replace(&here, 1, MPI_INT, 1, OTHER, 0, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&self, MPI_STATUS_IGNORE);
    /* and what is not or cannot be looked into, or nothing */
    MPI_Aint address;
    MPI_Get_address(column, &address);
    MPI_Type_create_hindexed(1, (int[]){6}, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Send(MPI_BOTTOM, 1, absolute, 1, 2, MPI_COMM_WORLD);
    MPI_Send(large, 2 << 20, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    MPI_Send(large, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    MPI_Send(&a, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD);
    unreadable();
    free(large);
    MPI_Type_free(&vector);
    MPI_Type_free(&swapped);
    MPI_Type_free(&absolute);
  }
  MPI_Finalize();
  return 0;
}
