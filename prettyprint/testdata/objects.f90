! Handles of every kind but datatypes, made from Fortran by two ranks: compiled with -cpp and one of -DMPIF_H, -DUSE_MPI, -DUSE_MPI_F08. The argument is a path for files.
!
! Rank 0 says "MADE name fhandle" for each; then "READY rank pid". It waits for a line on stdin, frees all, says "FREED name fhandle" for each, and "END", waits for another line, and ends.
#ifdef USE_MPI_F08
#define GIVEN(h) h%MPI_VAL
#define A(kind) type(MPI_/**/kind)
#else
#define GIVEN(h) h
#define A(kind) integer
#endif

module functions
  use iso_c_binding
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#ifdef MPIF_H
  include 'mpif.h'
#endif
  integer, save :: rank

contains

#ifdef USE_MPI_F08
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
  subroutine on_comm(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_NULL) print *, code
  end subroutine
  subroutine on_win(win, code)
    type(MPI_Win) :: win
    integer :: code
    if (win == MPI_WIN_NULL) print *, code
  end subroutine
  subroutine on_file(file, code)
    type(MPI_File) :: file
    integer :: code
    if (file == MPI_FILE_NULL) print *, code
  end subroutine
#else
  subroutine adding(in, inout, n, datatype)
    integer :: n, datatype, in(n), inout(n)
    inout = in + inout
    if (datatype == MPI_DATATYPE_NULL) print *, 'no datatype'
  end subroutine
  subroutine on_comm(comm, code)
    integer :: comm, code
    if (comm == MPI_COMM_NULL) print *, code
  end subroutine
  subroutine on_win(win, code)
    integer :: win, code
    if (win == MPI_WIN_NULL) print *, code
  end subroutine
  subroutine on_file(file, code)
    integer :: file, code
    if (file == MPI_FILE_NULL) print *, code
  end subroutine
#endif

  subroutine made(name, handle)
    character(*), intent(in) :: name
    integer, intent(in) :: handle
    if (rank == 0) write (*, '(3a,i0)') 'MADE ', name, ' ', handle
  end subroutine

  subroutine freed(name, handle)
    character(*), intent(in) :: name
    integer, intent(in) :: handle
    if (rank == 0) write (*, '(3a,i0)') 'FREED ', name, ' ', handle
    flush (6)
  end subroutine
end module

program objects
  use functions
  implicit none
  integer, parameter :: BYTES = MPI_ADDRESS_KIND, OFFSETS = MPI_OFFSET_KIND
  A(Op) :: commuting, ordered
  A(Errhandler) :: comm_handler, win_handler, file_handler, got
  A(Info) :: info, copied
  A(Win) :: window, dynamic
  A(File) :: file
  A(Group) :: world, one
  A(Comm) :: copy, grid
  A(Request) :: receive, waiting
  A(Datatype) :: column, etype, filetype
  integer, save, asynchronous, target :: box(8), other(8)
  integer :: ierr, dims(1), old, first(1)
  logical :: periods(1)
  integer(OFFSETS) :: displacement
  character(200) :: path, line
  character(20) :: representation
  interface
    integer(c_int) function getpid() bind(c)
      import :: c_int
    end function
  end interface

  call get_command_argument(1, path)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  if (rank == 1) path = trim(path)//' of rank 1'
  call MPI_Op_create(adding, .true., commuting, ierr)
  call made('commuting', GIVEN(commuting))
  call MPI_Op_create(adding, .false., ordered, ierr)
  call made('ordered', GIVEN(ordered))
  call MPI_Comm_create_errhandler(on_comm, comm_handler, ierr)
  call made('comm-handler', GIVEN(comm_handler))
  call MPI_Win_create_errhandler(on_win, win_handler, ierr)
  call made('win-handler', GIVEN(win_handler))
  call MPI_File_create_errhandler(on_file, file_handler, ierr)
  call made('file-handler', GIVEN(file_handler))
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, comm_handler, ierr)
  call MPI_Comm_get_errhandler(MPI_COMM_SELF, got, ierr)
  call made('got-handler', GIVEN(got))
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, ierr)

  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, 'first', '1', ierr)
  call MPI_Info_set(info, 'second  ', ' two  ', ierr)
  call MPI_Info_dup(info, copied, ierr)
  call MPI_Info_delete(info, 'first', ierr)
  call made('info', GIVEN(info))
  call made('copied', GIVEN(copied))

  call MPI_Win_create(box, 32_BYTES, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
  call MPI_Win_set_name(window, 'ghost cells  ', ierr)
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window, ierr)
  call made('window', GIVEN(window))
  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, dynamic, ierr)
  call made('dynamic', GIVEN(dynamic))

  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, column, ierr)
  call MPI_Type_commit(column, ierr)
  call MPI_File_open(MPI_COMM_SELF, trim(path)//'  ', MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, ierr)
  displacement = 16
  call MPI_File_set_view(file, displacement, MPI_INTEGER, column, 'native ', MPI_INFO_NULL, ierr)
  call made('file', GIVEN(file))
  call MPI_File_get_view(file, displacement, etype, filetype, representation, ierr)
  call made('etype', GIVEN(etype))
  call made('filetype', GIVEN(filetype))

  call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
  call made('world', GIVEN(world))
  first(1) = 0
  call MPI_Group_incl(world, 1, first, one, ierr)
  call made('one', GIVEN(one))
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
  call MPI_Comm_set_name(copy, 'the copy  ', ierr)
  call made('copy', GIVEN(copy))
  dims(1) = 2
  periods(1) = .true.
  call MPI_Cart_create(copy, 1, dims, periods, .false., grid, ierr)
  call made('grid', GIVEN(grid))
  call MPI_Irecv(other, 3, MPI_INTEGER, rank, 5, copy, receive, ierr)
  call made('receive', GIVEN(receive))
  call MPI_Recv_init(box, 1, column, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, waiting, ierr)
  call made('waiting', GIVEN(waiting))

  write (*, '(a,i0,a,i0)') 'READY ', rank, ' ', getpid()
  flush (6)
  if (rank == 0) read (*, '(a)') line

  old = GIVEN(receive)
  call MPI_Send(box, 3, MPI_INTEGER, rank, 5, copy, ierr)
  call MPI_Wait(receive, MPI_STATUS_IGNORE, ierr)
  call freed('receive', old)
  old = GIVEN(waiting)
  call MPI_Request_free(waiting, ierr)
  call freed('waiting', old)
  old = GIVEN(grid)
  call MPI_Comm_free(grid, ierr)
  call freed('grid', old)
  old = GIVEN(copy)
  call MPI_Comm_free(copy, ierr)
  call freed('copy', old)
  old = GIVEN(one)
  call MPI_Group_free(one, ierr)
  call freed('one', old)
  old = GIVEN(world)
  call MPI_Group_free(world, ierr)
  call freed('world', old)
  old = GIVEN(file)
  call MPI_File_close(file, ierr)
  call freed('file', old)
  old = GIVEN(column)
  call MPI_Type_free(column, ierr)
  call freed('column', old)
  call MPI_Win_unlock(rank, window, ierr)
  old = GIVEN(window)
  call MPI_Win_free(window, ierr)
  call freed('window', old)
  old = GIVEN(dynamic)
  call MPI_Win_free(dynamic, ierr)
  call freed('dynamic', old)
  old = GIVEN(copied)
  call MPI_Info_free(copied, ierr)
  call freed('copied', old)
  old = GIVEN(info)
  call MPI_Info_free(info, ierr)
  call freed('info', old)
  call MPI_Errhandler_free(got, ierr)
  old = GIVEN(comm_handler)
  call MPI_Errhandler_free(comm_handler, ierr)
  call freed('comm-handler', old)
  old = GIVEN(win_handler)
  call MPI_Errhandler_free(win_handler, ierr)
  call freed('win-handler', old)
  old = GIVEN(file_handler)
  call MPI_Errhandler_free(file_handler, ierr)
  call freed('file-handler', old)
  old = GIVEN(ordered)
  call MPI_Op_free(ordered, ierr)
  call freed('ordered', old)
  old = GIVEN(commuting)
  call MPI_Op_free(commuting, ierr)
  call freed('commuting', old)
  if (rank == 0) write (*, '(a)') 'END'
  flush (6)
  if (rank == 0) read (*, '(a)') line
  call MPI_Finalize(ierr)
end program
