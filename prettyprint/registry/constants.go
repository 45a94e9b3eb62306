package registry

import (
	"math"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// constants are what mpi.h defines as numbers.
var constants = map[abi.MPI]struct{ procNull, anySource, root int64 }{
	abi.MPICH:   {-1, -2, -3},
	abi.OpenMPI: {-2, -1, -4},
}

func (r *Registry) ProcNull() int64  { return constants[r.MPI()].procNull }
func (r *Registry) AnySource() int64 { return constants[r.MPI()].anySource }
func (r *Registry) RootConst() int64 { return constants[r.MPI()].root }

const AnyTag = -1 // of both

// InPlace is MPI_IN_PLACE in C.
func (r *Registry) InPlace() uint64 {
	switch {
	case r.Header.InPlace != 0:
		return r.Header.InPlace
	case r.MPI() == abi.OpenMPI:
		return 1
	}
	return math.MaxUint64
}
