package pmpi_test

import (
	"path/filepath"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

func callsProgram(t *testing.T, mpi mpitest.MPI) string {
	t.Helper()
	return mpi.BuildFile(t, "testdata/calls.c", "-I"+filepath.Join(mpitest.Root(t), "testprograms"))
}

// TestCallClasses records and replays every class of calls that is covered, with and without yielding.
func TestCallClasses(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := callsProgram(t, mpi)
		for _, ranks := range []int{2, 3} {
			if testing.Short() && ranks > 2 {
				continue
			}
			for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeFull} {
				recordAndReplay(t, mpi, ranks, mode, prog)
			}
		}
		t.Run("spinning", func(t *testing.T) {
			if testing.Short() {
				t.Skip("MPICH spins: slow on a small machine")
			}
			j := newJob(t, mpi, 2, abi.ModeFull)
			j.run(prog)
		})
	})
}
