! As objects.c, in mpi_f08. The argument is a path for a file.
module procedures
  use iso_c_binding
  use mpi_f08
  implicit none
contains
  subroutine adding(in, inout, n, datatype)
    type(c_ptr), value :: in, inout
    integer :: n
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, (/n/))
    call c_f_pointer(inout, b, (/n/))
    b = a + b
    if (datatype == MPI_DATATYPE_NULL) print *, 'no datatype'
  end subroutine
  subroutine on_error(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_NULL) print *, code
  end subroutine
end module

program objects_f08
  use procedures
  implicit none
  type(MPI_Request) :: request, waiting, nothing
  type(MPI_Status) :: status
  type(MPI_Win) :: window
  type(MPI_File) :: file
  type(MPI_Group) :: world, group
  type(MPI_Info) :: info
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: handler
  type(MPI_Datatype) :: column
  type(c_ptr) :: ghosts
  integer, asynchronous, target, save :: in(4), out(4)
  double precision, asynchronous, save :: late(6)
  integer :: ierr, first(1)
  integer(MPI_OFFSET_KIND) :: displacement
  character(200) :: path
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
