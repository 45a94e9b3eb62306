/* Requests, windows, files, groups, infos, operations, error handlers and statuses that are there at one line. The argument is a path for a file. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void adding(void *in, void *inout, int *n, MPI_Datatype *type) {
  for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
  (void)type;
}

static void on_error(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int in[4] = {1, 2, 3, 4}, out[4] = {5, 6, 7, 8}, first = 0, memory[8] = {0}, *ghosts;
  double late[6] = {0};
  MPI_Datatype column;
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Request request, waiting, sending, nothing = MPI_REQUEST_NULL, both[2];
  MPI_Status status, statuses[2];
  MPI_Send_init(out, 4, MPI_INT, 0, 3, MPI_COMM_SELF, &waiting);
  MPI_Start(&waiting);
  MPI_Recv(in, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status);
  MPI_Wait(&waiting, &statuses[0]);
  memset(&statuses[1], 0, sizeof statuses[1]);
  MPI_Irecv(late, 1, column, 0, 9, MPI_COMM_SELF, &request);
  MPI_Irecv(memory, 2, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &both[0]);
  both[1] = MPI_REQUEST_NULL;
  MPI_Win window, none = MPI_WIN_NULL;
  MPI_Win_allocate(32, sizeof *ghosts, MPI_INFO_NULL, MPI_COMM_SELF, &ghosts, &window);
  MPI_Win_set_name(window, "ghosts");
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_File file, closed = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_SELF, argc > 1 ? argv[1] : "objects.out", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 8, MPI_DOUBLE, column, "native", MPI_INFO_NULL);
  MPI_Group group, empty = MPI_GROUP_EMPTY, gone;
  MPI_Comm_group(MPI_COMM_WORLD, &gone);
  MPI_Group_incl(gone, 1, &first, &group);
  MPI_Group_free(&gone);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "2");
  MPI_Op op, sum = MPI_SUM;
  MPI_Op_create(adding, 0, &op);
  MPI_Errhandler handler, fatal = MPI_ERRORS_ARE_FATAL;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Isend(out, 1, MPI_INT, 0, 6, MPI_COMM_SELF, &sending);
  MPI_Message message;
  MPI_Mprobe(0, 6, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
  printf("%d %d %d\n", in[0], nothing == both[1], closed == MPI_FILE_NULL && none == MPI_WIN_NULL); /* breakpoint: handles */
  MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Cancel(&both[0]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  MPI_Request_free(&waiting);
  MPI_Win_unlock(0, window);
  MPI_Win_free(&window);
  MPI_File_close(&file);
  MPI_Group_free(&group);
  MPI_Info_free(&info);
  MPI_Op_free(&op);
  MPI_Errhandler_free(&handler);
  MPI_Type_free(&column);
  MPI_Finalize();
  return empty != MPI_GROUP_EMPTY || sum != MPI_SUM || fatal != MPI_ERRORS_ARE_FATAL;
}
