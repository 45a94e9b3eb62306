! As objects.c, in mpif.h: handles are INTEGERs. The argument is a path for a file.
program objects_mpif
  implicit none
  include 'mpif.h'
  integer :: request, waiting, nothing, window, file, world, group, info, op, handler, column, ierr, first(1)
  integer :: status(MPI_STATUS_SIZE), in(4), out(4)
  double precision :: late(6)
  integer(MPI_OFFSET_KIND) :: displacement
  integer(MPI_ADDRESS_KIND) :: ghosts
  character(200) :: path
  external adding, on_error
  save in, out, late
  call get_command_argument(1, path)
  call MPI_Init(ierr)
  out = (/5, 6, 7, 8/)
  late = 0
  call MPI_Type_vector(3, 1, 2, MPI_DOUBLE_PRECISION, column, ierr)
  call MPI_Type_commit(column, ierr)
  call MPI_Send_init(out, 4, MPI_INTEGER, 0, 3, MPI_COMM_SELF, waiting, ierr)
  call MPI_Start(waiting, ierr)
  call MPI_Recv(in, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, status, ierr)
  call MPI_Wait(waiting, MPI_STATUS_IGNORE, ierr)
  call MPI_Irecv(late, 1, column, 0, 9, MPI_COMM_SELF, request, ierr)
  nothing = MPI_REQUEST_NULL
  call MPI_Win_allocate(32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, ghosts, window, ierr)
  call MPI_Win_set_name(window, 'ghosts', ierr)
  call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window, ierr)
  call MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, ierr)
  displacement = 8
  call MPI_File_set_view(file, displacement, MPI_DOUBLE_PRECISION, column, 'native', MPI_INFO_NULL, ierr)
  call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
  first(1) = 0
  call MPI_Group_incl(world, 1, first, group, ierr)
  call MPI_Group_free(world, ierr)
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, 'cb_nodes', '2', ierr)
  call MPI_Op_create(adding, .false., op, ierr)
  call MPI_Comm_create_errhandler(on_error, handler, ierr)
  print *, in(1), nothing == MPI_REQUEST_NULL ! breakpoint: handles
  call MPI_Cancel(request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Request_free(waiting, ierr)
  call MPI_Win_unlock(0, window, ierr)
  call MPI_Win_free(window, ierr)
  call MPI_File_close(file, ierr)
  call MPI_Group_free(group, ierr)
  call MPI_Info_free(info, ierr)
  call MPI_Op_free(op, ierr)
  call MPI_Errhandler_free(handler, ierr)
  call MPI_Type_free(column, ierr)
  call MPI_Finalize(ierr)
end program

subroutine adding(in, inout, n, datatype)
  integer :: n, datatype, in(n), inout(n)
  inout = in + inout
  if (datatype == 0) print *, 'no datatype'
end subroutine

subroutine on_error(comm, code)
  integer :: comm, code
  if (comm == 0) print *, code
end subroutine
