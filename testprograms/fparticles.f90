! Ranks on a ring: each sends particles, and then a row of its matrix, to the rank on its right. A place to look at MPI's handles
! and at what its calls do with their buffers from; the pages in docs/ do so.
!
!     mpiexec -n 2 ./fparticles
!
! Fortran with `use mpi_f08`; particles.c is the same in C.
module fparticles_types
    use mpi_f08
    implicit none

    integer, parameter :: rows = 10, columns = 4, particles = 2
    integer, parameter :: tag_count = 1, tag_particles = 2, tag_row = 3

    type :: particle
        sequence
        integer :: id
        character :: name(7)
        double precision :: position(2)
    end type

contains

    subroutine make_particle_type(particle_type)
        type(MPI_Datatype), intent(out) :: particle_type
        integer(MPI_ADDRESS_KIND), parameter :: displacements(3) = [0, 4, 16]
        call MPI_Type_create_struct(3, [1, 7, 2], displacements, &
                                    [MPI_INTEGER, MPI_CHARACTER, MPI_DOUBLE_PRECISION], particle_type)
        call MPI_Type_commit(particle_type)
    end subroutine

    ! A row of a matrix is not contiguous in Fortran.
    subroutine make_row_type(row_type)
        type(MPI_Datatype), intent(out) :: row_type
        call MPI_Type_vector(columns, 1, rows, MPI_DOUBLE_PRECISION, row_type)
        call MPI_Type_commit(row_type)
        call MPI_Type_set_name(row_type, 'row')
    end subroutine

    subroutine make_ring(ring)
        type(MPI_Comm), intent(out) :: ring
        integer :: ranks
        call MPI_Comm_size(MPI_COMM_WORLD, ranks)
        call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)
        call MPI_Comm_set_name(ring, 'ring')
    end subroutine

    ! Tells whether what came is what the rank on the left has sent.
    subroutine exchange(matrix, ring, particle_type, row_type, right_data)
        double precision, intent(in) :: matrix(rows, columns)
        type(MPI_Comm), intent(in) :: ring
        type(MPI_Datatype), intent(in) :: particle_type, row_type
        logical, intent(out) :: right_data
        type(particle) :: mine(particles), theirs(particles)
        double precision :: halo(2 * columns)
        type(MPI_Request) :: request
        type(MPI_Status) :: status
        integer :: rank, left, right, coming, received

        call MPI_Comm_rank(ring, rank)
        call MPI_Cart_shift(ring, 0, 1, left, right)
        mine(1) = particle(10 * rank + 1, ['a', 'l', 'p', 'h', 'a', ' ', ' '], [0.5d0, 1.5d0])
        mine(2) = particle(10 * rank + 2, ['b', 'e', 't', 'a', ' ', ' ', ' '], [-0.5d0, 2.5d0])
        theirs = particle(0, ' ', 0)
        halo = 0

        call MPI_Irecv(halo, size(halo), MPI_DOUBLE_PRECISION, left, tag_row, ring, request)
        call MPI_Sendrecv(particles, 1, MPI_INTEGER, right, tag_count, coming, 1, MPI_INTEGER, left, tag_count, ring, status)
        call MPI_Sendrecv(mine, particles, particle_type, right, tag_particles, & ! breakpoint: particles
                          theirs, coming, particle_type, left, MPI_ANY_TAG, ring, MPI_STATUS_IGNORE)
        call MPI_Send(matrix(3, 1), 1, row_type, right, tag_row, ring) ! breakpoint: row
        call MPI_Wait(request, status)

        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, received) ! breakpoint: received
        right_data = coming == particles .and. theirs(2)%id == 10 * left + 2 .and. received == columns &
                     .and. nint(halo(4)) == 100 * left + 34
    end subroutine
end module

program fparticles
    use fparticles_types
    implicit none

    double precision :: matrix(rows, columns)
    type(MPI_Datatype) :: particle_type, row_type
    type(MPI_Comm) :: ring
    integer :: rank, i, j
    logical :: right

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    do j = 1, columns
        do i = 1, rows
            matrix(i, j) = 100 * rank + 10 * i + j
        end do
    end do
    call make_particle_type(particle_type)
    call make_row_type(row_type)
    call make_ring(ring)
    call exchange(matrix, ring, particle_type, row_type, right)
    print '(a, i0, a, a)', 'fparticles: rank ', rank, ': ', merge('right', 'WRONG', right)
    call MPI_Comm_free(ring)
    call MPI_Type_free(row_type)
    call MPI_Type_free(particle_type)
    call MPI_Finalize()
    if (.not. right) stop 1
end program
