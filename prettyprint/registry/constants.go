package registry

import (
	"math"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// The values of MPI_PROC_NULL and MPI_ROOT, which mpi.h defines as numbers.
func (r *Registry) ProcNull() int64 {
	return map[abi.MPI]int64{abi.MPICH: -1, abi.OpenMPI: -2}[r.MPI()]
}

func (r *Registry) AnySource() int64 {
	return map[abi.MPI]int64{abi.MPICH: -2, abi.OpenMPI: -1}[r.MPI()]
}

func (r *Registry) RootConst() int64 {
	return map[abi.MPI]int64{abi.MPICH: -3, abi.OpenMPI: -4}[r.MPI()]
}

const AnyTag = -1 // of both

// InPlace is MPI_IN_PLACE in C.
func (r *Registry) InPlace() uint64 {
	if r.Header.InPlace != 0 {
		return r.Header.InPlace
	}
	if r.MPI() == abi.OpenMPI {
		return 1
	}
	return math.MaxUint64
}
