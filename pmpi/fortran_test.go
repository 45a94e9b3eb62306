package pmpi_test

import (
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
)

// TestFortranBindings records and replays one program in each binding; every binding must make the same number of
// events on both MPIs, so that a call that is not seen, or seen twice, is found.
func TestFortranBindings(t *testing.T) {
	const ranks = 3
	if testing.Short() {
		t.Skip("six programs, each recorded and replayed twice")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range []string{"MPIF_H", "USE_MPI", "USE_MPI_F08"} {
			prog := mpi.BuildFile(t, "testdata/bindings.f90", "-cpp", "-ffree-line-length-none",
				"-fallow-argument-mismatch", "-D"+binding)
			t.Run(binding, func(t *testing.T) {
				for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeFull} {
					t.Run(mode.String(), func(t *testing.T) { recordAndReplay(t, mpi, ranks, mode, prog) })
				}
				j := newJob(t, mpi, ranks, abi.ModeFull)
				output := j.run(prog)
				if strings.Contains(output, "wrong") {
					t.Errorf("the program found its own answers wrong:\n%s", output)
				}
				fromProgram(t, j, prog)
				// 10 rounds of what the program does; waitsome may take less calls, and Waitany below is the first
				// index.
				ops := countOps(t, j)
				for op, want := range map[string]int{
					"Comm_dup": 1, "Cart_create": 1, "Comm_free": 2, "Recv": 40, "Iprobe": 20, "Irecv": 61, "Isend": 20,
					"Send": 40, "Ssend": 20,
					"Waitany": 21, "Waitall": 20, "Allreduce": 10, "Bcast": 10, "Barrier": 1, "Finalize": 1,
				} {
					if ops[0][op] != want {
						t.Errorf("rank 0: %d events of %s, expected %d", ops[0][op], op, want)
					}
				}
			})
		}
	})
}

// fromProgram checks that the trace has every call of a job from where it stands in the program, and not from within an
// MPI's library.
func fromProgram(t *testing.T, j *job, prog string) {
	t.Helper()
	for rank := range j.ranks {
		modules, sites := map[uint64]string{}, map[uint64]string{}
		for _, rec := range records(t, j.traceDir, rank) {
			switch rec := rec.(type) {
			case *trace.Module:
				modules[rec.Index] = rec.Path
			case *trace.Site:
				sites[rec.Index] = modules[rec.Module]
			case *trace.Event:
				if sites[rec.Site] != prog {
					t.Errorf("rank %d: event %d, %s, is called from %q, not from the program", rank, rec.Index, rec.Op,
						sites[rec.Site])
				}
			}
		}
	}
}
