package registry

import "math"

// The values of MPI_PROC_NULL and MPI_ROOT, which mpi.h defines as numbers.
func (r *Registry) ProcNull() int64 { return map[MPI]int64{MPICH: -1, OpenMPI: -2}[r.MPI()] }

func (r *Registry) AnySource() int64 { return map[MPI]int64{MPICH: -2, OpenMPI: -1}[r.MPI()] }

func (r *Registry) RootConst() int64 { return map[MPI]int64{MPICH: -3, OpenMPI: -4}[r.MPI()] }

const AnyTag = -1 // of both

// InPlace is MPI_IN_PLACE in C.
func (r *Registry) InPlace() uint64 {
	if r.Header.inPlace != 0 {
		return r.Header.inPlace
	}
	if r.MPI() == OpenMPI {
		return 1
	}
	return math.MaxUint64
}
