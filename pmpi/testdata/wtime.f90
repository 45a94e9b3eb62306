! Control flow that depends on MPI_Wtime, in each Fortran binding: -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08.
program wtime
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
    integer :: rank, ierr, rounds, most
    double precision :: from, t, tick, total
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    tick = MPI_Wtick()
    from = MPI_Wtime()
    rounds = 0
    total = 0
    do
        t = MPI_Wtime() - from
        if (t > 0.003d0) exit
        total = total + t
        rounds = rounds + 1
    end do
    call MPI_Allreduce(rounds, most, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
    do while (rounds < most) ! as many messages as there are rounds too few
        call MPI_Barrier(MPI_COMM_SELF, ierr)
        rounds = rounds + max(1, most / 50)
    end do
    print '(a, i0, a, i0, a, i0, a, es24.16, a, es24.16)', 'wtime: rank ', rank, ' rounds ', rounds, ' most ', most, ' total ', total, ' tick ', tick
    call MPI_Finalize(ierr)
end program
