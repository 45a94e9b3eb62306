! The same program for each Fortran binding: -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08. Every rank in turn receives from all others with wildcards, in
! several ways, and prints the order line of testprograms/orderhash.h.
#ifdef USE_MPI_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define STATUS(n) type(MPI_Status) :: n
#define STATUSES(n) type(MPI_Status) :: n(64)
#define SOURCE(s) s%MPI_SOURCE
#define SOURCE_OF(s, i) s(i)%MPI_SOURCE
#else
#define COMM integer
#define REQUEST integer
#define DATATYPE integer
#define STATUS(n) integer :: n(MPI_STATUS_SIZE)
#define STATUSES(n) integer :: n(MPI_STATUS_SIZE, 64)
#define SOURCE(s) s(MPI_SOURCE)
#define SOURCE_OF(s, i) s(MPI_SOURCE, i)
#endif
program bindings
#ifdef USE_MPI_F08
    use mpi_f08
#endif
#ifdef USE_MPI
    use mpi
#endif
    implicit none
#ifdef MPIF_H
    include 'mpif.h'
#endif
    integer, parameter :: int64 = selected_int_kind(18)
    integer :: rank, ranks, ierr, round, receiver, shift
    integer(int64) :: order_hash = 7, data_hash = 7, tasks = 0, polls = 0
    COMM :: world, ring
    DATATYPE :: column
    integer :: everyone(1)
    logical :: periodic(1)
    real :: matrix(4, 4), sums(2)

    call MPI_Init(ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, world, ierr)
    call MPI_Comm_rank(world, rank, ierr)
    call MPI_Comm_size(world, ranks, ierr)
    shift = first_index()
    everyone(1) = ranks
    periodic(1) = .true.
    call MPI_Cart_create(world, 1, everyone, periodic, .false., ring, ierr)
    call MPI_Type_vector(4, 1, 4, MPI_REAL, column, ierr)
    call MPI_Type_commit(column, ierr)
    matrix = real(rank)
    do round = 1, 10
        do receiver = 0, ranks - 1
            if (receiver == rank) then
                call by_recv()
                call by_iprobe()
                call by_waitany()
                call by_waitsome()
            else
                call MPI_Send(rank, 1, MPI_INTEGER, receiver, 1, world, ierr)
                call MPI_Send(rank, 1, MPI_INTEGER, receiver, 2, world, ierr)
                call MPI_Ssend(matrix, 1, column, receiver, 3, world, ierr)
                call send_nonblocking(receiver)
            end if
        end do
        sums = 1.0
        call MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_REAL, MPI_SUM, ring, ierr)
        if (any(sums /= real(ranks))) print *, 'wrong sum', sums
        call MPI_Bcast(matrix, 16, MPI_REAL, 0, world, ierr)
        matrix = real(rank)
    end do
    call MPI_Barrier(world, ierr)
    call MPI_Type_free(column, ierr)
    call MPI_Comm_free(ring, ierr)
    call MPI_Comm_free(world, ierr)
    write (*, '(a,i0,a,a,a,a,a,i0,a,i0)') 'bindings: rank ', rank, ' order ', hexadecimal(order_hash), ' data ', &
        hexadecimal(data_hash), ' tasks ', tasks, ' polls ', polls
    call MPI_Finalize(ierr)

contains

    ! 1, but for the mpi_f08 of MPICH 4.0, which counts from 0; this returns what to add.
    integer function first_index() result(shift)
        integer :: index, value
        REQUEST :: requests(1)
        STATUS(st)
        call MPI_Irecv(value, 1, MPI_INTEGER, MPI_PROC_NULL, 5, world, requests(1), ierr)
        call MPI_Waitany(1, requests, index, st, ierr)
        shift = 1 - index
    end function

    character(len=16) function hexadecimal(value) result(text)
        integer(int64), intent(in) :: value
        integer :: i
        write (text, '(z16.16)') value
        do i = 1, 16
            if (text(i:i) >= 'A') text(i:i) = achar(iachar(text(i:i)) + 32)
        end do
    end function

    subroutine taken(from)
        integer, intent(in) :: from
        order_hash = modulo(order_hash * 1048583_int64 + from + 1, 2199023255531_int64)
        tasks = tasks + 1
    end subroutine

    subroutine by_recv()
        integer :: k, value
        STATUS(st)
        do k = 2, ranks
            call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, world, st, ierr)
            if (value /= SOURCE(st)) print *, 'wrong value', value
            call taken(SOURCE(st))
        end do
    end subroutine

    subroutine by_iprobe()
        integer :: k, value
        logical :: arrived
        STATUS(st)
        do k = 2, ranks
            do
                call MPI_Iprobe(MPI_ANY_SOURCE, 2, world, arrived, st, ierr)
                if (arrived) exit
                polls = polls + 1
            end do
            call MPI_Recv(value, 1, MPI_INTEGER, SOURCE(st), 2, world, MPI_STATUS_IGNORE, ierr)
            data_hash = modulo(data_hash * 1048583_int64 + polls, 2199023255531_int64)
            call taken(value)
        end do
    end subroutine

    subroutine by_waitany()
        integer :: k, index
        REQUEST :: requests(64)
        real :: columns(4, 64)
        STATUS(st)
        do k = 1, ranks - 1
            call MPI_Irecv(columns(1, k), 4, MPI_REAL, MPI_ANY_SOURCE, 3, world, requests(k), ierr)
        end do
        do k = 1, ranks - 1
            call MPI_Waitany(ranks - 1, requests, index, st, ierr)
            index = index + shift
            if (any(columns(:, index) /= real(SOURCE(st)))) print *, 'wrong column', columns(:, index)
            call taken(64 * index + SOURCE(st))
        end do
    end subroutine

    subroutine by_waitsome()
        integer :: k, left, n, values(64), indices(64)
        REQUEST :: requests(64)
        STATUSES(sts)
        do k = 1, ranks - 1
            call MPI_Irecv(values(k), 1, MPI_INTEGER, MPI_ANY_SOURCE, 4, world, requests(k), ierr)
        end do
        left = ranks - 1
        do while (left > 0)
            call MPI_Waitsome(ranks - 1, requests, n, indices, sts, ierr)
            indices(1:n) = indices(1:n) + shift
            do k = 1, n
                if (values(indices(k)) /= SOURCE_OF(sts, k)) print *, 'wrong value', values(indices(k))
                call taken(64 * indices(k) + SOURCE_OF(sts, k))
            end do
            left = left - n
        end do
    end subroutine

    subroutine send_nonblocking(to)
        integer, intent(in) :: to
        REQUEST :: requests(2)
        integer :: other
        call MPI_Isend(rank, 1, MPI_INTEGER, to, 4, world, requests(1), ierr)
        call MPI_Irecv(other, 1, MPI_INTEGER, MPI_PROC_NULL, 5, world, requests(2), ierr)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    end subroutine
end program
