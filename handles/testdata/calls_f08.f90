! Calls of MPI whose buffers the debugger shows among the locals: a rank alone, that sends to itself.
program calls_f08
  use mpi_f08
  implicit none
  integer :: ierr, i, j
  type(MPI_Datatype) :: row
  type(MPI_Status) :: status
  double precision :: matrix(10, 4), ghost(4)
  call MPI_Init(ierr)
  do j = 1, 4
    do i = 1, 10
      matrix(i, j) = 100 * i + j
    end do
  end do
  ghost = 0
  call MPI_Type_vector(4, 1, 10, MPI_DOUBLE_PRECISION, row, ierr)
  call MPI_Type_commit(row, ierr)
  call MPI_Sendrecv(matrix(3, 1), 1, row, 0, 5, & ! breakpoint: sendrecv
                    ghost, size(ghost), MPI_DOUBLE_PRECISION, 0, 5, &
                    comm=MPI_COMM_WORLD, status=status)
  call MPI_Bcast(matrix(:, 2), 10, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr) ! breakpoint: section
  call MPI_Bcast(matrix(2, :), 4, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr) ! breakpoint: strided
  print *, ghost(1), status%MPI_SOURCE ! breakpoint: status
  call MPI_Type_free(row, ierr)
  call MPI_Finalize(ierr)
end program
