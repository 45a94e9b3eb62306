! Matched probes, persistent receives with wildcards, cancelled and freed receives, a generalized request, a group's communicator and an
! intercommunicator, in each Fortran binding: -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08. It prints the order line of testprograms/orderhash.h.
#ifdef USE_MPI_F08
#define COMM type(MPI_Comm)
#define GROUP type(MPI_Group)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define STATUS(n) type(MPI_Status) :: n
#define STATUSES(n) type(MPI_Status) :: n(64)
#define SOURCE(s) s%MPI_SOURCE
#define TAG(s) s%MPI_TAG
#else
#define COMM integer
#define GROUP integer
#define REQUEST integer
#define MESSAGE integer
#define STATUS(n) integer :: n(MPI_STATUS_SIZE)
#define STATUSES(n) integer :: n(MPI_STATUS_SIZE, 64)
#define SOURCE(s) s(MPI_SOURCE)
#define TAG(s) s(MPI_TAG)
#endif
module state
    implicit none
    integer, parameter :: int64 = selected_int_kind(18)
    integer(int64) :: order_hash = 7, data_hash = 7, tasks = 0, polls = 0
end module

program coverage
#ifdef USE_MPI_F08
    use mpi_f08
#endif
#ifdef USE_MPI
    use mpi
#endif
    use state
    implicit none
#ifdef MPIF_H
    include 'mpif.h'
#endif
    integer :: rank, ranks, ierr, round, receiver
    character(len=20) :: seed

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call get_environment_variable('PERTURB', seed)
    do round = 1, 2
        do receiver = 0, ranks - 1
            if (receiver == rank) then
                call by_mprobe()
                call by_improbe()
                call by_start()
                call by_startall()
                call by_cancel()
                call by_freed()
            else
                call send_all()
            end if
            call MPI_Barrier(MPI_COMM_WORLD, ierr)
        end do
    end do
    call by_groups()
    call by_grequest()
    write (*, '(a,i0,a,a,a,a,a,i0,a,i0)') 'coverage: rank ', rank, ' order ', hexadecimal(order_hash), ' data ', &
        hexadecimal(data_hash), ' tasks ', tasks, ' polls ', polls
    call MPI_Finalize(ierr)

contains

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
        order_hash = modulo(order_hash * 1048583_int64 + from + 7, 2199023255531_int64)
        tasks = tasks + 1
    end subroutine

    subroutine failed()
        polls = polls + 1
        data_hash = modulo(data_hash * 1048583_int64 + tasks, 2199023255531_int64)
    end subroutine

    subroutine check(fine, what)
        logical, intent(in) :: fine
        character(len=*), intent(in) :: what
        if (.not. fine) print *, 'wrong: ', what
    end subroutine

    ! Who sends first depends on the seed.
    subroutine send_all()
        integer :: i, k, spin
        real :: x
        x = 0
        spin = modulo(ichar(seed(1:1)) * 7 + rank * 5 + receiver, 4) * 200000
        do k = 1, 7
            do i = 1, spin
                x = x + sin(real(i))
            end do
            if (x > 1e30) print *, x
            if (k < 7 .or. rank == modulo(receiver + 1, ranks)) call MPI_Send(rank, 1, MPI_INTEGER, receiver, k, MPI_COMM_WORLD, ierr)
        end do
    end subroutine

    subroutine by_mprobe()
        integer :: k, value
        MESSAGE :: m(64)
        STATUS(st)
        do k = 1, ranks - 1
            call MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, m(k), st, ierr)
            call taken(SOURCE(st))
        end do
        do k = ranks - 1, 1, -1
            call MPI_Mrecv(value, 1, MPI_INTEGER, m(k), st, ierr)
            call check(value == SOURCE(st) .and. m(k) == MPI_MESSAGE_NULL, 'Mrecv')
            call taken(value)
        end do
        call MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, m(1), st, ierr)
        call check(m(1) == MPI_MESSAGE_NO_PROC, 'Mprobe of MPI_PROC_NULL')
        call MPI_Mrecv(value, 1, MPI_INTEGER, m(1), MPI_STATUS_IGNORE, ierr)
    end subroutine

    subroutine by_improbe()
        integer, volatile :: value
        integer :: k
        logical :: arrived
        MESSAGE :: m
        REQUEST :: r
        STATUS(st)
        do k = 1, ranks - 1
            do
                call MPI_Improbe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, arrived, m, st, ierr)
                if (arrived) exit
                call failed()
            end do
            call taken(SOURCE(st))
            call MPI_Imrecv(value, 1, MPI_INTEGER, m, r, ierr)
            call MPI_Wait(r, st, ierr)
            call check(value == SOURCE(st), 'Imrecv')
        end do
    end subroutine

    subroutine by_start()
        integer, volatile :: value
        integer :: k
        logical :: arrived
        REQUEST :: r
        STATUS(st)
        call MPI_Recv_init(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, r, ierr)
        do k = 1, ranks - 1
            call MPI_Start(r, ierr)
            if (modulo(k, 2) == 0) then
                call MPI_Wait(r, st, ierr)
            else
                do
                    call MPI_Test(r, arrived, st, ierr)
                    if (arrived) exit
                    call failed()
                end do
            end if
            call check(value == SOURCE(st) .and. .not. r == MPI_REQUEST_NULL, 'Start')
            call taken(value)
        end do
        call MPI_Request_free(r, ierr)
        call check(r == MPI_REQUEST_NULL, 'Request_free')
    end subroutine

    subroutine by_startall()
        integer, volatile :: values(64)
        integer :: k, index
        REQUEST :: r(64)
        STATUS(st)
        do k = 1, ranks - 1
            call MPI_Recv_init(values(k), 1, MPI_INTEGER, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, r(k), ierr)
        end do
        call MPI_Startall(ranks - 1, r, ierr)
        do k = 1, ranks - 1
            call MPI_Waitany(ranks - 1, r, index, st, ierr)
            call taken(64 * index + SOURCE(st))
        end do
        call MPI_Waitall(ranks - 1, r, MPI_STATUSES_IGNORE, ierr)
        do k = 1, ranks - 1
            call taken(values(k))
            call MPI_Request_free(r(k), ierr)
        end do
    end subroutine

    subroutine by_cancel()
        integer, volatile :: value
        integer :: left
        logical :: cancelled
        REQUEST :: r
        STATUS(st)
        left = ranks - 1
        do while (left > 0)
            call MPI_Irecv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, r, ierr)
            if (modulo(tasks, 3_int64) /= 0) call MPI_Cancel(r, ierr)
            call MPI_Wait(r, st, ierr)
            call MPI_Test_cancelled(st, cancelled, ierr)
            if (cancelled) then
                call taken(-2)
            else
                call check(value == SOURCE(st), 'a receive that was not cancelled')
                call taken(value)
                left = left - 1
            end if
        end do
    end subroutine

    ! One that is freed takes the first message of the sixth tag; one of the seventh is cancelled, or takes the one message there is.
    subroutine by_freed()
        integer, volatile, save :: hidden
        integer, volatile :: value
        integer :: k, from
        logical :: cancelled
        REQUEST :: r
        STATUS(st)
        call MPI_Irecv(hidden, 1, MPI_INTEGER, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, r, ierr)
        call MPI_Request_free(r, ierr)
        do k = 1, ranks - 2
            call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, st, ierr)
            call taken(SOURCE(st))
        end do
        from = modulo(rank + 1, ranks)
        call MPI_Irecv(value, 1, MPI_INTEGER, from, 7, MPI_COMM_WORLD, r, ierr)
        call MPI_Cancel(r, ierr)
        call MPI_Wait(r, st, ierr)
        call MPI_Test_cancelled(st, cancelled, ierr)
        if (cancelled) then
            call taken(-3)
            call MPI_Recv(value, 1, MPI_INTEGER, from, 7, MPI_COMM_WORLD, st, ierr)
        end if
        call check(value == from, 'an exact receive')
    end subroutine

    subroutine by_groups()
        COMM :: some, half, inter, both
        GROUP :: world, odd
        REQUEST :: r
        integer :: k, n, value, color, other, range(3, 1), sent
        STATUS(st)
        call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
        range(:, 1) = (/ modulo(rank, 2), ranks - 1, 2 /)
        call MPI_Group_range_incl(world, 1, range, odd, ierr)
        call MPI_Comm_create_group(MPI_COMM_WORLD, odd, 3, some, ierr)
        call MPI_Comm_size(some, n, ierr)
        do k = 0, n - 1
            call MPI_Isend(rank, 1, MPI_INTEGER, k, 8, some, r, ierr)
            call MPI_Request_free(r, ierr)
        end do
        do k = 1, n
            call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, some, st, ierr)
            call taken(value)
        end do
        color = 0
        if (rank >= ranks / 2) color = 1
        call MPI_Comm_split(MPI_COMM_WORLD, color, rank, half, ierr)
        other = ranks / 2
        if (color == 1) other = 0
        call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other, 9, inter, ierr)
        call MPI_Comm_remote_size(inter, n, ierr)
        sent = rank
        do k = 0, n - 1
            call MPI_Sendrecv(sent, 1, MPI_INTEGER, k, 10, value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 10, inter, st, ierr)
            call taken(value)
            call taken(SOURCE(st))
        end do
        call MPI_Intercomm_merge(inter, color == 1, both, ierr)
        call MPI_Bcast(value, 1, MPI_INTEGER, 0, both, ierr)
        call MPI_Comm_disconnect(both, ierr)
        call MPI_Comm_free(inter, ierr)
        call MPI_Comm_free(half, ierr)
        call MPI_Comm_free(some, ierr)
        call MPI_Group_free(odd, ierr)
        call MPI_Group_free(world, ierr)
    end subroutine

    subroutine by_grequest()
        external :: query, release, withdraw
        integer(kind=MPI_ADDRESS_KIND) :: extra
        integer, volatile :: value
        integer :: index
        logical :: done
        REQUEST :: r(2)
        STATUS(st)
        extra = 5
#ifndef USE_MPI_F08
        call MPI_Grequest_start(query, release, withdraw, extra, r(1), ierr)
        call MPI_Irecv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 11, MPI_COMM_SELF, r(2), ierr)
        call MPI_Test(r(1), done, st, ierr)
        call check(.not. done, 'a generalized request that nobody completed')
        call failed()
        call MPI_Send(rank, 1, MPI_INTEGER, 0, 11, MPI_COMM_SELF, ierr)
        call MPI_Waitany(2, r, index, st, ierr)
        call check(index == 2, 'a receive beside a generalized request')
        call taken(index)
        call MPI_Grequest_complete(r(1), ierr)
        call MPI_Wait(r(1), st, ierr)
#endif
    end subroutine
end program

subroutine query(extra, st, ierr)
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
    integer(kind=MPI_ADDRESS_KIND) :: extra
    STATUS(st)
    integer :: ierr
    call MPI_Status_set_elements(st, MPI_BYTE, int(extra), ierr)
    call MPI_Status_set_cancelled(st, .false., ierr)
    SOURCE(st) = MPI_UNDEFINED
    TAG(st) = MPI_UNDEFINED
    ierr = MPI_SUCCESS
end subroutine

subroutine release(extra, ierr)
    integer(kind=8) :: extra
    integer :: ierr
    extra = extra
    ierr = 0
end subroutine

subroutine withdraw(extra, complete, ierr)
    integer(kind=8) :: extra
    logical :: complete
    integer :: ierr
    if (complete) extra = extra
    ierr = 0
end subroutine
