package pmpi_test

import (
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// TestForkedChildIsInert: the trace and the counters are the rank's alone.
func TestForkedChildIsInert(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		j := newJob(t, mpi, 1, abi.ModeFull)
		j.cmdEnv = []string{"OMPI_MCA_mpi_warn_on_fork=0"}
		j.run(mpi.BuildFile(t, "testdata/fork.c"))
		ops := countOps(t, j)[0]
		if p := j.controls[0].Progress(); p.Events != 3 || ops["Isend"] != 1 || ops["Wait"] != 1 ||
			ops["Finalize"] != 1 {
			t.Errorf("found %v, %+v", ops, p)
		}
	})
}

// TestUncoveredPrograms: programs that use what is not covered are named in the control block and in the trace.
func TestUncoveredPrograms(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for source, call := range map[string]string{
			"uncovered.c":       "MPI_Win_allocate_shared",
			"thread_multiple.c": "MPI_THREAD_MULTIPLE",
		} {
			t.Run(strings.TrimSuffix(source, ".c"), func(t *testing.T) {
				j := newJob(t, mpi, 2, abi.ModeFull)
				j.start.Flags = abi.FlagYield
				j.run(mpi.Build(t, source, "-pthread"))
				for rank, c := range j.controls {
					p := c.Progress()
					if p.Incomplete == 0 || !strings.Contains(p.IncompleteCall, call) {
						t.Errorf("rank %d: %d calls not covered, the first %q; expected one with %q", rank,
							p.Incomplete, p.IncompleteCall, call)
					}
					if h := open(t, j, rank).Header(); h.IncompleteCall != p.IncompleteCall {
						t.Errorf("rank %d: the header names %q, the control block %q", rank, h.IncompleteCall,
							p.IncompleteCall)
					}
				}
				dumpTraces(t, j.traceDir, j.ranks)
			})
		}
	})
}
