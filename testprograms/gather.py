# mpi4py: every rank but 0 sends Python objects, which rank 0 receives from whoever comes first.
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def collect(rounds):
    order, status = 17, MPI.Status()
    for _ in range(rounds * (size - 1)):
        number = comm.recv(source=MPI.ANY_SOURCE, status=status)
        order = (order * 31 + number + status.Get_source()) % 2**32
    return order


if rank == 0:
    print("gather: order %08x" % collect(20))
else:
    for i in range(20):
        comm.send(1000 * rank + i, dest=0)
