! Integrates 4 / (1 + x**2) from 0 to 1, which is pi: the master (rank 0) hands out intervals, workers return their parts.
!
!     mpiexec -n 4 ./fintegrate [INTERVALS]
!
! The master takes the answers with wildcards, every other one after an MPI_Iprobe loop, so their order races. The sum does
! not: it is formed in the order of the intervals. Each rank prints the same line as the C programs (orderhash.h); the hashes
! are of another kind, because Fortran has no unsigned integers.
program fintegrate
    use mpi
    implicit none

    integer, parameter :: int64 = selected_int_kind(18), real64 = selected_real_kind(15)
    integer, parameter :: tag_interval = 1, tag_answer = 2, tag_stop = 3
    integer, parameter :: steps = 20000

    integer :: rank, ranks, intervals, ierr, exit_status
    integer(int64) :: order_hash, data_hash, tasks, failed_polls, failed_since

    order_hash = 7_int64
    data_hash = 7_int64
    tasks = 0
    failed_polls = 0
    failed_since = 0
    exit_status = 0

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    intervals = read_argument(200)
    if (ranks < 2 .or. intervals < 1) then
        if (rank == 0) print '(a)', 'fintegrate: usage: fintegrate [INTERVALS], at least 1, on at least 2 ranks'
        exit_status = 2
    else
        if (rank == 0) then
            call serve()
        else
            call work()
        end if
        call report()
    end if
    call MPI_Finalize(ierr)
    if (exit_status /= 0) call exit(exit_status)

contains

    integer function read_argument(default) result(value)
        integer, intent(in) :: default
        character(len=32) :: text
        integer :: status
        value = default
        if (command_argument_count() == 0) return
        call get_command_argument(1, text)
        read (text, *, iostat=status) value
        if (status /= 0) value = 0
    end function

    ! A hash that stays within 62 bits.
    integer(int64) function mix(hash, value) result(mixed)
        integer(int64), intent(in) :: hash, value
        mixed = modulo(modulo(hash * 1048583_int64, 2199023255531_int64) + modulo(value, 2199023255531_int64), &
                       2199023255531_int64)
    end function

    subroutine taken(source, tag)
        integer, intent(in) :: source, tag
        order_hash = mix(mix(mix(order_hash, int(source, int64)), int(tag, int64)), failed_since)
        failed_since = 0
    end subroutine

    subroutine hash_real(value)
        real(real64), intent(in) :: value
        data_hash = mix(data_hash, transfer(value, data_hash))
    end subroutine

    ! Waits by polling until a message is there.
    subroutine wait_for_message(status)
        integer, intent(out) :: status(MPI_STATUS_SIZE)
        logical :: arrived
        do
            call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, arrived, status, ierr)
            if (arrived) return
            failed_polls = failed_polls + 1
            failed_since = failed_since + 1
        end do
    end subroutine

    ! answer(1): the interval, as a number; answer(2): its part of the integral.
    subroutine receive_answer(answer, worker)
        real(real64), intent(out) :: answer(2)
        integer, intent(out) :: worker
        integer :: status(MPI_STATUS_SIZE)
        if (modulo(tasks, 2_int64) == 0) then
            call MPI_Recv(answer, 2, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
        else
            call wait_for_message(status)
            call MPI_Recv(answer, 2, MPI_DOUBLE_PRECISION, status(MPI_SOURCE), status(MPI_TAG), MPI_COMM_WORLD, status, ierr)
        end if
        call taken(status(MPI_SOURCE), status(MPI_TAG))
        call hash_real(answer(1))
        call hash_real(answer(2))
        worker = status(MPI_SOURCE)
        tasks = tasks + 1                    ! breakpoint: answer received
    end subroutine

    subroutine serve()
        real(real64) :: parts(intervals), answer(2), integral
        real(real64), parameter :: pi = 3.14159265358979323846_real64
        integer :: next, worker, outstanding
        next = 1
        outstanding = 0
        do worker = 1, ranks - 1
            call hand_out(worker, next, outstanding)
        end do
        do while (outstanding > 0)
            call receive_answer(answer, worker)
            outstanding = outstanding - 1
            parts(nint(answer(1))) = answer(2)
            call hand_out(worker, next, outstanding)
        end do
        integral = sum(parts)
        print '(a, f18.15)', 'fintegrate: integral ', integral
        if (abs(integral - pi) > 1e-9_real64) then
            print '(a, f18.15)', 'fintegrate: wrong: it is ', pi
            exit_status = 1
        end if
    end subroutine

    ! Gives a worker the next interval, or tells it to stop.
    subroutine hand_out(worker, next, outstanding)
        integer, intent(in) :: worker
        integer, intent(inout) :: next, outstanding
        real(real64) :: interval(1)
        if (next <= intervals) then
            interval(1) = next
            call MPI_Send(interval, 1, MPI_DOUBLE_PRECISION, worker, tag_interval, MPI_COMM_WORLD, ierr)
            next = next + 1
            outstanding = outstanding + 1
        else
            call MPI_Send(interval, 0, MPI_DOUBLE_PRECISION, worker, tag_stop, MPI_COMM_WORLD, ierr)
        end if
    end subroutine

    subroutine work()
        integer :: status(MPI_STATUS_SIZE)
        real(real64) :: interval(1), answer(2)
        do
            call MPI_Recv(interval, 1, MPI_DOUBLE_PRECISION, 0, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
            call taken(status(MPI_SOURCE), status(MPI_TAG))
            if (status(MPI_TAG) == tag_stop) return
            answer(1) = interval(1)
            answer(2) = part(nint(interval(1)))
            call hash_real(answer(2))
            tasks = tasks + 1
            call MPI_Send(answer, 2, MPI_DOUBLE_PRECISION, 0, tag_answer, MPI_COMM_WORLD, ierr)
        end do
    end subroutine

    ! One interval's part of the integral, by the midpoint rule.
    real(real64) function part(interval)
        integer, intent(in) :: interval
        real(real64) :: width, x
        integer :: step
        width = 1.0_real64 / (real(intervals, real64) * steps)
        part = 0
        do step = 1, steps
            x = ((interval - 1) * real(steps, real64) + step - 0.5_real64) * width
            part = part + 4 / (1 + x * x)
        end do
        part = part * width
    end function

    subroutine report()
        character(len=160) :: line
        call taken(-1, -1)
        write (line, '(a, i0, a, z16.16, a, z16.16, a, i0, a, i0)') 'fintegrate: rank ', rank, ' order ', order_hash, &
            ' data ', data_hash, ' tasks ', tasks, ' polls ', failed_polls
        call lower(line)
        print '(a)', trim(line)
        flush (6)
    end subroutine

    ! The edit descriptor Z writes capital letters.
    subroutine lower(text)
        character(len=*), intent(inout) :: text
        integer :: i
        do i = 1, len_trim(text)
            if (text(i:i) >= 'A' .and. text(i:i) <= 'F') text(i:i) = achar(iachar(text(i:i)) + 32)
        end do
    end subroutine
end program
