! Draws the Mandelbrot set, as numbers: rank 0 hands out rows, the others count iterations for their points.
!
!     mpiexec -n 4 ./fmandel [ROWS]
!
! Fortran with `use mpi_f08`. What it shows: rank 0 takes the answers with wildcards in four ways, one after the other: a probe and
! a receive, an Iprobe loop, a receive alone, and a nonblocking receive that is tested. Their order races; the sum of all
! iterations does not depend on it, and is compared with that of one process alone. Each rank prints the line of orderhash.h, with
! hashes of another kind.
module fmandel_hashes
    use mpi_f08
    implicit none

    integer, parameter :: int64 = selected_int_kind(18), real64 = selected_real_kind(15)
    integer(int64) :: order_hash = 7, data_hash = 7, tasks = 0, failed_polls = 0, failed_since = 0

contains

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

    subroutine failed()
        failed_polls = failed_polls + 1
        failed_since = failed_since + 1
    end subroutine

    subroutine report(rank)
        integer, intent(in) :: rank
        character(len=160) :: line
        integer :: i
        call taken(-1, -1)
        write (line, '(a, i0, a, z16.16, a, z16.16, a, i0, a, i0)') 'fmandel: rank ', rank, ' order ', order_hash, &
            ' data ', data_hash, ' tasks ', tasks, ' polls ', failed_polls
        do i = 1, len_trim(line) ! the edit descriptor Z writes capital letters
            if (line(i:i) >= 'A' .and. line(i:i) <= 'F') line(i:i) = achar(iachar(line(i:i)) + 32)
        end do
        print '(a)', trim(line)
        flush (6)
    end subroutine
end module

program fmandel
    use fmandel_hashes
    implicit none

    integer, parameter :: tag_row = 1, tag_answer = 2, tag_stop = 3
    integer, parameter :: columns = 80, most_iterations = 500

    integer :: rank, ranks, rows, exit_status

    exit_status = 0
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    rows = read_argument(60)
    if (ranks < 2 .or. rows < 1) then
        if (rank == 0) print '(a)', 'fmandel: usage: fmandel [ROWS], at least 1, on at least 2 ranks'
        exit_status = 2
    else
        if (rank == 0) then
            call serve()
        else
            call work()
        end if
        call report(rank)
    end if
    call MPI_Finalize()
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

    ! The iterations of all points of a row together.
    integer(int64) function iterations(row) result(total)
        integer, intent(in) :: row
        complex(real64) :: c, z
        integer :: column, i
        total = 0
        do column = 1, columns
            c = cmplx(-2 + 3 * (column - 0.5_real64) / columns, -1.5_real64 + 3 * (row - 0.5_real64) / rows, real64)
            z = 0
            do i = 1, most_iterations
                z = z * z + c
                if (real(z)**2 + aimag(z)**2 > 4) exit
                total = total + 1
            end do
        end do
    end function

    ! answer(1): the row; answer(2): its iterations.
    subroutine receive_answer(answer, worker)
        integer(int64), intent(out) :: answer(2)
        integer, intent(out) :: worker
        type(MPI_Status) :: status
        type(MPI_Request) :: request
        logical :: arrived
        select case (modulo(tasks, 4_int64))
        case (0)
            call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status)
            call MPI_Recv(answer, 2, MPI_INTEGER8, status%MPI_SOURCE, status%MPI_TAG, MPI_COMM_WORLD, status)
        case (1)
            do
                call MPI_Iprobe(MPI_ANY_SOURCE, tag_answer, MPI_COMM_WORLD, arrived, status)
                if (arrived) exit
                call failed()
            end do
            call MPI_Recv(answer, 2, MPI_INTEGER8, status%MPI_SOURCE, tag_answer, MPI_COMM_WORLD, status)
        case (2)
            call MPI_Recv(answer, 2, MPI_INTEGER8, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status)
        case default
            call MPI_Irecv(answer, 2, MPI_INTEGER8, MPI_ANY_SOURCE, tag_answer, MPI_COMM_WORLD, request)
            do
                call MPI_Test(request, arrived, status)
                if (arrived) exit
                call failed()
            end do
        end select
        call taken(status%MPI_SOURCE, status%MPI_TAG)
        data_hash = mix(mix(data_hash, answer(1)), answer(2))
        worker = status%MPI_SOURCE
        tasks = tasks + 1                    ! breakpoint: row received
    end subroutine

    subroutine serve()
        integer(int64) :: answer(2), total, alone
        integer :: next, worker, outstanding, row
        next = 1
        outstanding = 0
        total = 0
        do worker = 1, ranks - 1
            call hand_out(worker, next, outstanding)
        end do
        do while (outstanding > 0)
            call receive_answer(answer, worker)
            outstanding = outstanding - 1
            total = total + answer(2)
            call hand_out(worker, next, outstanding)
        end do
        alone = 0
        do row = 1, rows
            alone = alone + iterations(row)
        end do
        print '(a, i0)', 'fmandel: iterations ', total
        if (total /= alone) then
            print '(a, i0)', 'fmandel: wrong: they are ', alone
            exit_status = 1
        end if
    end subroutine

    ! Gives a worker the next row, or tells it to stop.
    subroutine hand_out(worker, next, outstanding)
        integer, intent(in) :: worker
        integer, intent(inout) :: next, outstanding
        integer :: row(1)
        row(1) = next
        if (next <= rows) then
            call MPI_Send(row, 1, MPI_INTEGER, worker, tag_row, MPI_COMM_WORLD)
            next = next + 1
            outstanding = outstanding + 1
        else
            call MPI_Send(row, 0, MPI_INTEGER, worker, tag_stop, MPI_COMM_WORLD)
        end if
    end subroutine

    subroutine work()
        type(MPI_Status) :: status
        integer :: row(1)
        integer(int64) :: answer(2)
        do
            call MPI_Recv(row, 1, MPI_INTEGER, 0, MPI_ANY_TAG, MPI_COMM_WORLD, status)
            call taken(status%MPI_SOURCE, status%MPI_TAG)
            if (status%MPI_TAG == tag_stop) return
            answer(1) = row(1)
            answer(2) = iterations(row(1))
            data_hash = mix(data_hash, answer(2))
            tasks = tasks + 1
            call MPI_Send(answer, 2, MPI_INTEGER8, 0, tag_answer, MPI_COMM_WORLD)
        end do
    end subroutine
end program
