// Package pmpi owns the interposer libcohort.so: its C sources (embedded in the binary), building it with the user's
// own MPI compiler, the cache of built libraries, and the questions that must be answered before: which MPI a program
// is linked to (Inspect), and where that MPI's mpiexec and mpicc are (FindMPI).
//
// **Invariant:** a program is never executed to find out about it.
//
// **Invariant:** a library in the cache is complete: it appears there by a rename, so concurrent builders and readers
// see all or nothing.
//
// **Invariant:** the C code allocates nothing on the message path after warm-up, prints nothing, and ends nobody's
// process.
package pmpi

// MPI is a family of MPI libraries. The values are those of the registry and the trace header.
type MPI int

// The families.
const (
	UnknownMPI MPI = 0
	MPICH      MPI = 1
	OpenMPI    MPI = 2
)

// String is the name that --mpi takes: "mpich" or "openmpi".
func (m MPI) String() string {
	if f, ok := families[m]; ok {
		return f.name
	}
	return "unknown MPI"
}

// Title is the name as its makers write it.
func (m MPI) Title() string {
	if f, ok := families[m]; ok {
		return f.title
	}
	return "an unknown MPI"
}
