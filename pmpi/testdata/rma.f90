! One-sided communication in each Fortran binding: -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08. Who gets which ticket is a race.
program rma
#ifdef USE_MPI_F08
    use mpi_f08
#endif
#ifdef USE_MPI
    use mpi
#endif
    use iso_c_binding
    implicit none
#ifdef MPIF_H
    include 'mpif.h'
#endif
#ifdef USE_MPI_F08
    type(MPI_Win) :: window, other
#else
    integer :: window, other
#endif
    integer :: rank, ranks, ierr, i, one, ticket, seen, fetched
    integer, target, asynchronous :: shelf(64)
    integer(kind=MPI_ADDRESS_KIND) :: bytes, place
    type(c_ptr) :: memory
    integer, pointer :: shared(:)
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    shelf = 0
    one = 1
    seen = 0
    bytes = 256
    call MPI_Win_create(shelf, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
#ifndef MPIF_H
    call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, other, ierr)
    call c_f_pointer(memory, shared, [64])
    shared = 0
    call MPI_Win_fence(0, other, ierr)
    place = 0
    call MPI_Put(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), place, 1, MPI_INTEGER, other, ierr)
    call MPI_Win_fence(0, other, ierr)
    seen = shared(1)
#endif
    do i = 1, 10
        place = 5
        ticket = -1
        fetched = -1
        call MPI_Win_fence(0, window, ierr)
        call MPI_Fetch_and_op(one, ticket, MPI_INTEGER, 0, place, MPI_SUM, window, ierr)
        call MPI_Win_fence(0, window, ierr)
        call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window, ierr)
        place = 7
        call MPI_Get(fetched, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, window, ierr)
        call MPI_Win_flush(0, window, ierr)
        call MPI_Put(rank, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, window, ierr)
        call MPI_Win_unlock(0, window, ierr)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        seen = mod(seen * 31 + ticket * 7 + fetched, 1000003)
    end do
    call MPI_Win_fence(0, window, ierr)
    print '(a, i0, a, i0, a, i0, a, i0)', 'rma: rank ', rank, ' saw ', seen, ' counter ', shelf(6), ' last ', shelf(8)
    call MPI_Win_free(window, ierr)
#ifndef MPIF_H
    call MPI_Win_free(other, ierr)
#endif
    call MPI_Finalize(ierr)
end program
