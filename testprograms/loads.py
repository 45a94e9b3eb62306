# MPICH from Python without mpi4py: ctypes loads the library, and looks its functions up in it.
#     loads.py LIBRARY
import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1])
WORLD, INT, ANY_SOURCE = 0x44000000, 0x4C000405, -2
rank, size, number = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
status = (ctypes.c_int * 5)()  # count, count and cancelled, source, tag, error
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
mpi.MPI_Comm_size(WORLD, ctypes.byref(size))
if rank.value == 0:
    order = 17
    for _ in range(20 * (size.value - 1)):
        mpi.MPI_Recv(ctypes.byref(number), 1, INT, ANY_SOURCE, 0, WORLD, status)
        order = (order * 31 + number.value + status[2]) % 2**32
    print("loads: order %08x" % order)
else:
    for i in range(20):
        number.value = 1000 * rank.value + i
        mpi.MPI_Send(ctypes.byref(number), 1, INT, 0, 0, WORLD)
mpi.MPI_Finalize()
