! Every constructor of datatypes, called from Fortran: compiled with -cpp and one of -DMPIF_H, -DUSE_MPI, -DUSE_MPI_F08, and -DOLD_NAMES where MPI has those of MPI-1.
!
! For each type a line, as testdata/live.c prints it, with 0 for the handle in C:
!   TYPE name 0 fhandle size lb extent true_lb true_extent count buffer packed-bytes-in-hex
! and NAMED name fhandle. Then "READY 0 pid", and it waits for a line on stdin.
#ifdef USE_MPI_F08
#define HANDLE type(MPI_Datatype)
#define VALUE_OF(t) t%MPI_VAL
#else
#define HANDLE integer
#define VALUE_OF(t) t
#endif

module shown
  use iso_c_binding
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#ifdef MPIF_H
  include 'mpif.h'
#endif
  integer, parameter :: HALF = 65536, ROOM = 65536, COUNT_OF = 2
  integer(1), target, save :: memory(-HALF:HALF - 1)
  integer(1), target, save :: packed(ROOM)
  integer, save :: ierr

contains

  subroutine show(name, t)
    character(*), intent(in) :: name
    HANDLE, intent(in) :: t
    HANDLE :: own ! the handle of a predefined type is a constant
    integer :: size, position, i
    integer(MPI_ADDRESS_KIND) :: lb, extent, true_lb, true_extent
    call MPI_Type_size(t, size, ierr)
    call MPI_Type_get_extent(t, lb, extent, ierr)
    call MPI_Type_get_true_extent(t, true_lb, true_extent, ierr)
    own = t
    call MPI_Type_commit(own, ierr)
    position = 0
    call MPI_Pack(memory(0), COUNT_OF, t, packed, ROOM, position, MPI_COMM_SELF, ierr)
    write (*, '(a,a,a,i0,5(1x,i0),1x,i0,a,z0,1x)', advance='no') 'TYPE ', name, ' 0x0 ', VALUE_OF(t), size, lb, extent, true_lb, true_extent, COUNT_OF, &
      ' 0x', transfer(c_loc(memory(0)), 0_c_intptr_t)
    do i = 1, position
      write (*, '(z2.2)', advance='no') packed(i)
    end do
    if (position == 0) write (*, '(a)', advance='no') '-'
    write (*, '(a)') ''
  end subroutine

  subroutine named(name, t)
    character(*), intent(in) :: name
    HANDLE, intent(in) :: t
    if (VALUE_OF(t) /= VALUE_OF(MPI_DATATYPE_NULL)) call show(name, t)
  end subroutine
end module

program constructors
  use shown
  implicit none
  HANDLE :: t, u, column
  character(16) :: line
  integer :: i

  do i = -HALF, HALF - 1
    memory(i) = transfer(iand(ieor(i*131, ishft(i, -8)*7), 255), 1_1)
  end do
  call MPI_Init(ierr)

  call named('MPI_CHARACTER', MPI_CHARACTER)
  call named('MPI_LOGICAL', MPI_LOGICAL)
  call named('MPI_INTEGER', MPI_INTEGER)
  call named('MPI_REAL', MPI_REAL)
  call named('MPI_DOUBLE_PRECISION', MPI_DOUBLE_PRECISION)
  call named('MPI_COMPLEX', MPI_COMPLEX)
  call named('MPI_DOUBLE_COMPLEX', MPI_DOUBLE_COMPLEX)
  call named('MPI_BYTE', MPI_BYTE)
  call named('MPI_PACKED', MPI_PACKED)
  call named('MPI_INTEGER1', MPI_INTEGER1)
  call named('MPI_INTEGER2', MPI_INTEGER2)
  call named('MPI_INTEGER4', MPI_INTEGER4)
  call named('MPI_INTEGER8', MPI_INTEGER8)
  call named('MPI_REAL4', MPI_REAL4)
  call named('MPI_REAL8', MPI_REAL8)
  call named('MPI_REAL16', MPI_REAL16)
  call named('MPI_COMPLEX8', MPI_COMPLEX8)
  call named('MPI_COMPLEX16', MPI_COMPLEX16)
  call named('MPI_2INTEGER', MPI_2INTEGER)
  call named('MPI_2REAL', MPI_2REAL)
  call named('MPI_2DOUBLE_PRECISION', MPI_2DOUBLE_PRECISION)
  call named('MPI_AINT', MPI_AINT)
  call named('MPI_OFFSET', MPI_OFFSET)

  call MPI_Type_contiguous(5, MPI_REAL, t, ierr)
  call show('contiguous', t)
  call MPI_Type_contiguous(0, MPI_REAL, t, ierr)
  call show('empty', t)
  call MPI_Type_vector(4, 2, 5, MPI_DOUBLE_PRECISION, column, ierr)
  call show('vector', column)
  call MPI_Type_vector(3, 1, -2, MPI_INTEGER, t, ierr)
  call show('backwards', t)
  call MPI_Type_create_hvector(3, 2, 100_MPI_ADDRESS_KIND, column, t, ierr)
  call show('hvector', t)
  call MPI_Type_create_hvector(3, 1, -36_MPI_ADDRESS_KIND, MPI_COMPLEX, t, ierr)
  call show('hvector_backwards', t)
  call MPI_Type_indexed(4, [1, 0, 3, 2], [7, 1, 0, 4], MPI_INTEGER2, t, ierr)
  call show('indexed', t)
  call MPI_Type_create_hindexed(3, [2, 1, 3], [40_MPI_ADDRESS_KIND, -17_MPI_ADDRESS_KIND, 3_MPI_ADDRESS_KIND], MPI_CHARACTER, t, ierr)
  call show('hindexed', t)
  call MPI_Type_create_indexed_block(3, 2, [9, 3, 0], MPI_REAL8, t, ierr)
  call show('indexed_block', t)
  call MPI_Type_create_hindexed_block(3, 2, [90_MPI_ADDRESS_KIND, 33_MPI_ADDRESS_KIND, -60_MPI_ADDRESS_KIND], MPI_INTEGER4, t, ierr)
  call show('hindexed_block', t)
  call MPI_Type_dup(column, u, ierr)
  call show('dup', u)
  ! freed, but used by the struct
  call MPI_Type_dup(column, u, ierr)
  call MPI_Type_create_struct(4, [1, 7, 2, 1], [0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, 400_MPI_ADDRESS_KIND], &
    [MPI_INTEGER, MPI_CHARACTER, MPI_DOUBLE_PRECISION, u], t, ierr)
  call MPI_Type_free(u, ierr)
  call show('struct', t)
  call MPI_Type_set_name(t, 'named in Fortran  ', ierr)
  write (*, '(a,i0,a)') 'NAMED ', VALUE_OF(t), ' named in Fortran'
  call MPI_Type_create_resized(t, -8_MPI_ADDRESS_KIND, 1000_MPI_ADDRESS_KIND, u, ierr)
  call show('resized', u)

  call subarrays
  call darrays
  call fortran_90
#ifdef OLD_NAMES
  call old_names
#endif

  write (*, '(a,i0)') 'READY 0 ', getpid()
  flush (6)
  read (*, '(a)') line
  call MPI_Finalize(ierr)

contains

  subroutine subarrays
    integer :: order
    HANDLE :: a
    do order = 1, 2
      call MPI_Type_create_subarray(1, [9], [4], [3], order_of(order), MPI_INTEGER, a, ierr)
      call show('subarray1'//letter(order), a)
      call MPI_Type_create_subarray(2, [5, 4], [2, 3], [1, 0], order_of(order), MPI_DOUBLE_PRECISION, a, ierr)
      call show('subarray2'//letter(order), a)
      call MPI_Type_create_subarray(3, [3, 4, 5], [2, 1, 3], [1, 3, 1], order_of(order), MPI_CHARACTER, a, ierr)
      call show('subarray3'//letter(order), a)
      call MPI_Type_create_subarray(2, [4, 3], [4, 3], [0, 0], order_of(order), MPI_REAL, a, ierr)
      call show('subarray_whole'//letter(order), a)
    end do
  end subroutine

  integer function order_of(order)
    integer, intent(in) :: order
    order_of = merge(MPI_ORDER_C, MPI_ORDER_FORTRAN, order == 1)
  end function

  character function letter(order)
    integer, intent(in) :: order
    letter = merge('C', 'F', order == 1)
  end function

  ! All pairs of distributions on all grids of up to 3 x 2 processes, for each of their ranks.
  subroutine darrays
    integer, parameter :: DISTRIBUTIONS = 7
    integer :: dist(DISTRIBUTIONS), arg(DISTRIBUTIONS), one, two, rows, columns, rank, order
    character(64) :: name
    HANDLE :: a
    dist = [MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE]
    arg = [MPI_DISTRIBUTE_DFLT_DARG, 0, MPI_DISTRIBUTE_DFLT_DARG, 1, 2, 3, MPI_DISTRIBUTE_DFLT_DARG]
    do order = 1, 2
      do one = 1, DISTRIBUTIONS
        do two = 1, DISTRIBUTIONS
          do rows = 1, 3
            if (dist(one) == MPI_DISTRIBUTE_NONE .and. rows > 1) cycle
            do columns = 1, 2
              if (dist(two) == MPI_DISTRIBUTE_NONE .and. columns > 1) cycle
              if (rows == 1 .and. columns == 1) cycle
              rank = mod(one + 3*two + rows, rows*columns)
              call MPI_Type_create_darray(rows*columns, rank, 2, [7, 5], [dist(one), dist(two)], &
                [given(arg(one), 7, rows), given(arg(two), 5, columns)], [rows, columns], &
                order_of(order), MPI_REAL, a, ierr)
              write (name, '(a,2(i0,a),i0,a,i0,a,i0)') 'darray', one, '-', two, letter(order), rows, 'x', columns, 'rank', rank
              call show(trim(name), a)
            end do
          end do
        end do
      end do
    end do
    do rank = 0, 11
      call MPI_Type_create_darray(12, rank, 3, [5, 4, 7], [MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC], &
        [2, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG], [2, 2, 3], MPI_ORDER_FORTRAN, MPI_INTEGER2, a, ierr)
      write (name, '(a,i0)') 'darray3rank', rank
      call show(trim(name), a)
    end do
  end subroutine

  ! 0 stands for a block that is larger than need be.
  integer function given(arg, size, procs)
    integer, intent(in) :: arg, size, procs
    given = merge((size + procs - 1)/procs + 1, arg, arg == 0)
  end function

  subroutine fortran_90
    HANDLE :: a
    call MPI_Type_create_f90_real(6, 30, a, ierr)
    call show('f90_real_single', a)
    call MPI_Type_create_f90_real(15, MPI_UNDEFINED, a, ierr)
    call show('f90_real_double', a)
    call MPI_Type_create_f90_real(MPI_UNDEFINED, 300, a, ierr)
    call show('f90_real_range', a)
    call MPI_Type_contiguous(3, a, u, ierr)
    call show('of_f90_real', u)
    call MPI_Type_create_f90_complex(6, 30, a, ierr)
    call show('f90_complex_single', a)
    call MPI_Type_create_f90_complex(15, 300, a, ierr)
    call show('f90_complex_double', a)
    call MPI_Type_create_f90_integer(2, a, ierr)
    call show('f90_integer_2', a)
    call MPI_Type_create_f90_integer(9, a, ierr)
    call show('f90_integer_9', a)
    call MPI_Type_create_f90_integer(18, a, ierr)
    call show('f90_integer_18', a)
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, a, ierr)
    call show('match_real_4', a)
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, a, ierr)
    call show('match_real_8', a)
    call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, a, ierr)
    call show('match_integer_2', a)
    call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, a, ierr)
    call show('match_integer_8', a)
    call MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 8, a, ierr)
    call show('match_complex_8', a)
    call MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, a, ierr)
    call show('match_complex_16', a)
    call MPI_Type_vector(2, 1, 2, a, u, ierr)
    call show('of_match_size', u)
  end subroutine

#ifdef OLD_NAMES
  ! In MPI-1 an address is a default INTEGER.
  subroutine old_names
    integer :: a, b
    external MPI_TYPE_HVECTOR, MPI_TYPE_HINDEXED, MPI_TYPE_STRUCT
    call MPI_TYPE_HVECTOR(3, 2, 40, MPI_INTEGER, a, ierr)
    call show_old('old_hvector', a)
    call MPI_TYPE_HINDEXED(2, [3, 1], [50, 0], MPI_REAL, b, ierr)
    call show_old('old_hindexed', b)
    call MPI_TYPE_STRUCT(3, [1, 2, 1], [0, 8, 300], [MPI_INTEGER, MPI_DOUBLE_PRECISION, a], b, ierr)
    call show_old('old_struct', b)
    ! The paper's Fig. 1
    call MPI_TYPE_STRUCT(5, [1, 5, 7, 2, 1], [-4, 0, 47, 76, 100], [MPI_LB, MPI_INTEGER, MPI_CHARACTER, MPI_DOUBLE_PRECISION, MPI_UB], b, ierr)
    call show_old('old_fig1', b)
  end subroutine

  subroutine show_old(name, a)
    character(*), intent(in) :: name
    integer :: a
    call show(name, a)
  end subroutine
#endif
end program
