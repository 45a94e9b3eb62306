! INTEGER handles of use mpi.
program handles_mpi
  use mpi
  implicit none
  integer :: ierr, column, copy, null, i, j
  double precision :: matrix(10, 4)
  logical :: flags(3)
  character(len=6) :: word
  complex :: z(2)
  integer :: parts
  call MPI_Init(ierr)
  do j = 1, 4
    do i = 1, 10
      matrix(i, j) = 100 * i + j
    end do
  end do
  flags = (/ .true., .false., .true. /)
  word = 'cohort'
  z = (/ (1.0, 2.0), (-3.5, 0.25) /)
  call MPI_Type_vector(4, 1, 10, MPI_DOUBLE_PRECISION, column, ierr)
  call MPI_Type_commit(column, ierr)
  call MPI_Type_contiguous(2, column, parts, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
  null = MPI_DATATYPE_NULL
  print *, matrix(1, 1), flags(1), word, z(1), null ! breakpoint: handles
  call MPI_Type_free(parts, ierr)
  call MPI_Type_free(column, ierr)
  call MPI_Comm_free(copy, ierr)
  call MPI_Finalize(ierr)
end program
