module shared
  integer :: total = 7
  type point
    real(8) :: x, y
    integer :: tags(3)
  end type
end module

program prog
  use shared
  implicit none
  integer :: i, a(5), b(2:4,0:1), huge2(40,60), rank, size
  real(8), allocatable :: field(:)
  character(len=5) :: word
  logical :: flag
  type(point) :: p
  allocate(field(0:4999))
  word = 'hello'; rank = 3; size = 4
  flag = .true.
  do i = 1, 5
    a(i) = i * i
    call bump(a, i)
  end do
  b = 3
  b(3,1) = 31
  huge2 = 0
  huge2(7,50) = 750
  field = 1.5d0
  field(4000) = 4000
  p%x = 1; p%y = 2; p%tags = [4, 5, 6]
  total = total + sum(a)           ! line 31
  if (total /= 67) stop 3
contains
  subroutine bump(arr, n)
    integer, intent(inout) :: arr(:)
    integer, intent(in) :: n
    arr(n) = arr(n) + 1            ! line 37
  end subroutine
end program
