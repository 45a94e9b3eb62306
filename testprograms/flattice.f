! Counts the points with whole coordinates in a disc: the first rank hands out rows, the others count the points in them.
!
!     mpiexec -n 4 ./flattice [RADIUS]
!
! Fortran with mpif.h, in fixed form. What it shows: rank 0 keeps one wildcard receive posted per worker and takes what is
! complete with MPI_WAITANY and MPI_WAITSOME in turn, so that sources and indices both race. The sum does not depend on it, and
! is compared with that of one process alone. Each rank prints the line of orderhash.h, with hashes of another kind.
      program flattice
      implicit none
      include 'mpif.h'
      integer mostworkers
      parameter (mostworkers = 256)
      integer rank, ranks, radius, ierr, wrong
      integer*8 total, alone, points
      integer row
      character*32 text
      integer*8 orderhash, datahash
      integer tasks
      common /hashes/ orderhash, datahash, tasks

      orderhash = 7
      datahash = 7
      tasks = 0
      wrong = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      radius = 60
      if (command_argument_count() .gt. 0) then
        call get_command_argument(1, text)
        read (text, *, iostat=ierr) radius
        if (ierr .ne. 0) radius = 0
      end if
      if (radius .lt. 1 .or. radius .gt. 1000000 .or. ranks .lt. 2
     &    .or. ranks .gt. mostworkers) then
        if (rank .eq. 0) print '(a)', 'flattice: usage: flattice ' //
     &    '[RADIUS], from 1 to 1000000, on 2 to 256 ranks'
        wrong = 2
      else
        if (rank .eq. 0) then
          call serve(radius, ranks - 1, total)
          alone = 0
          do row = -radius, radius
            alone = alone + points(radius, row)
          end do
          print '(a, i0)', 'flattice: points ', total
          if (total .ne. alone) then
            print '(a, i0)', 'flattice: wrong: there are ', alone
            wrong = 1
          end if
        else
          call work(radius)
        end if
        call report(rank)
      end if
      call MPI_FINALIZE(ierr)
      if (wrong .ne. 0) call exit(wrong)
      end

! The points of a row: those with x*x + y*y <= r*r.
      integer*8 function points(radius, y)
      implicit none
      integer radius, y
      integer*8 x, r, rest
      r = radius
      rest = r * r - int(y, 8) * y
      x = int(sqrt(dble(rest)), 8)
      do while (x * x .gt. rest)
        x = x - 1
      end do
      do while ((x + 1) * (x + 1) .le. rest)
        x = x + 1
      end do
      points = 2 * x + 1
      end

! A hash that stays within 62 bits.
      subroutine mix(hash, number)
      implicit none
      integer*8 hash, number
      hash = modulo(modulo(hash * 1048583_8, 2199023255531_8)
     &       + modulo(number, 2199023255531_8), 2199023255531_8)
      end

! A message was taken: from where, with which tag; the third is what else MPI chose, or the failed polls, of which there are none.
      subroutine taken(source, tag, chosen)
      implicit none
      integer source, tag, chosen
      integer*8 orderhash, datahash
      integer tasks
      common /hashes/ orderhash, datahash, tasks
      call mix(orderhash, int(source, 8))
      call mix(orderhash, int(tag, 8))
      call mix(orderhash, int(chosen, 8))
      end

! Gives a worker the next row, or tells it to stop.
      subroutine handout(worker, row, radius)
      implicit none
      include 'mpif.h'
      integer worker, row, radius, ierr
      integer*8 message(1)
      message(1) = row
      if (row .le. radius) then
        call MPI_SEND(message, 1, MPI_INTEGER8, worker, 1,
     &                MPI_COMM_WORLD, ierr)
      else
        call MPI_SEND(message, 0, MPI_INTEGER8, worker, 3,
     &                MPI_COMM_WORLD, ierr)
      end if
      row = row + 1
      end

! Rank 0. An answer is a row and the number of its points.
      subroutine serve(radius, workers, total)
      implicit none
      include 'mpif.h'
      integer radius, workers, mostworkers
      integer*8 total
      parameter (mostworkers = 256)
      integer*8 answers(2, mostworkers)
      integer requests(mostworkers), indices(mostworkers)
      integer statuses(MPI_STATUS_SIZE, mostworkers)
      integer row, i, k, got, left, rounds, ierr
      integer*8 orderhash, datahash
      integer tasks
      common /hashes/ orderhash, datahash, tasks
      total = 0
      row = -radius
      left = 2 * radius + 1
      rounds = 0
      do i = 1, workers
        requests(i) = MPI_REQUEST_NULL
      end do
      do i = 1, workers
        if (left - i .ge. 0) then
          call MPI_IRECV(answers(1, i), 2, MPI_INTEGER8,
     &      MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(i),
     &      ierr)
        end if
        call handout(i, row, radius)
      end do
      do while (left .gt. 0)
        rounds = rounds + 1
        got = 1
        if (modulo(rounds, 2) .eq. 0) then
          call MPI_WAITANY(workers, requests, indices(1),
     &                     statuses(1, 1), ierr)
        else
          call MPI_WAITSOME(workers, requests, got, indices,
     &                      statuses, ierr)
        end if
        do k = 1, got
          i = indices(k)
          call taken(statuses(MPI_SOURCE, k), statuses(MPI_TAG, k), i)
          call mix(datahash, answers(1, i))
          call mix(datahash, answers(2, i))
          tasks = tasks + 1
          total = total + answers(2, i)
          left = left - 1
! As many receives stay posted as answers are to come.
          if (left .ge. workers) call MPI_IRECV(answers(1, i), 2,
     &      MPI_INTEGER8, MPI_ANY_SOURCE, MPI_ANY_TAG,
     &      MPI_COMM_WORLD, requests(i), ierr)
          call handout(statuses(MPI_SOURCE, k), row, radius)
        end do
      end do
      end

      subroutine work(radius)
      implicit none
      include 'mpif.h'
      integer radius, ierr
      integer status(MPI_STATUS_SIZE)
      integer*8 row(1), answer(2), points
      integer*8 orderhash, datahash
      integer tasks
      common /hashes/ orderhash, datahash, tasks
      do
        call MPI_RECV(row, 1, MPI_INTEGER8, 0, MPI_ANY_TAG,
     &                MPI_COMM_WORLD, status, ierr)
        call taken(status(MPI_SOURCE), status(MPI_TAG), 0)
        if (status(MPI_TAG) .eq. 3) return
        answer(1) = row(1)
        answer(2) = points(radius, int(row(1)))
        call mix(datahash, answer(1))
        tasks = tasks + 1
        call MPI_SEND(answer, 2, MPI_INTEGER8, 0, 2, MPI_COMM_WORLD,
     &                ierr)
      end do
      end

! Fortran's Z writes capital letters.
      subroutine report(rank)
      implicit none
      integer rank, i
      character*160 line
      integer*8 orderhash, datahash
      integer tasks
      common /hashes/ orderhash, datahash, tasks
      call taken(-1, -1, 0)
      write (line, '(a, i0, a, z16.16, a, z16.16, a, i0, a)')
     &  'flattice: rank ', rank, ' order ', orderhash, ' data ',
     &  datahash, ' tasks ', tasks, ' polls 0'
      do i = 1, len_trim(line)
        if (line(i:i) .ge. 'A' .and. line(i:i) .le. 'F')
     &    line(i:i) = achar(iachar(line(i:i)) + 32)
      end do
      print '(a)', trim(line)
      flush (6)
      end
