package pmpi_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/internal/mpitest"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

func testdata(t *testing.T, mpi mpitest.MPI, name string, flags ...string) string {
	t.Helper()
	return mpi.BuildFile(t, filepath.Join("testdata", name), append([]string{"-I" + filepath.Join(mpitest.Root(t), "testprograms")}, flags...)...)
}

// sorted are the lines of an output whose ranks may come in any order.
func sorted(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// exact records a program and replays it; the replay must print what the recording did. It returns the recording and the replay, whose trace is full.
func exact(t *testing.T, mpi mpitest.MPI, ranks int, mode abi.Mode, flags abi.Flags, prog string, args ...string) (record, again *job) {
	t.Helper()
	record = newJob(t, mpi, ranks, mode)
	record.start.Flags = abi.FlagYield | flags
	want := sorted(record.run(prog, args...))
	for rank, c := range record.controls {
		if p := c.Progress(); p.State != abi.StateFinalized || p.Incomplete != 0 {
			t.Fatalf("rank %d: %+v", rank, p)
		}
	}
	again = replay(t, record, trace.DecisionOptions{})
	again.start.Flags |= flags
	if diff := cmp.Diff(want, sorted(again.run(prog, args...))); diff != "" {
		t.Fatalf("the replay differs from the recording:\n%s", diff)
	}
	return record, again
}

// values counts the values of each kind in a trace, by thread.
func values(t *testing.T, dir string, rank int) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, r := range records(t, dir, rank) {
		if v, ok := r.(*trace.Value); ok {
			name := v.What.String()
			if v.Thread != 0 {
				name += " of another thread"
			}
			n[name]++
		}
	}
	return n
}

// TestWtimeReplays: a program whose control flow depends on MPI_Wtime, in a second thread and inside a reduction too, sees the same times again, also from the full trace that the
// replay wrote.
func TestWtimeReplays(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := testdata(t, mpi, "wtime.c")
		for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeFull} {
			t.Run(mode.String(), func(t *testing.T) {
				record, again := exact(t, mpi, 3, mode, 0, prog)
				for rank := range 3 {
					want, got := values(t, record.traceDir, rank), values(t, again.traceDir, rank)
					if want["MPI_Wtime"] < 100 || want["MPI_Wtick"] != 1 || want["MPI_Wtime of another thread"] < 2 {
						t.Errorf("rank %d: %v", rank, want)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("rank %d was given in replay (-recorded +given):\n%s", rank, diff)
					}
				}
				if mode == abi.ModeOrder {
					third := replay(t, again, trace.DecisionOptions{})
					if diff := cmp.Diff(sorted(record.output.String()), sorted(third.run(prog))); diff != "" {
						t.Errorf("the replay of the graph differs from the recording:\n%s", diff)
					}
				}
			})
		}
	})
}

func TestWtimeReplaysInFortran(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range []string{"MPIF_H", "USE_MPI", "USE_MPI_F08"} {
			t.Run(binding, func(t *testing.T) {
				if testing.Short() && binding != "USE_MPI_F08" {
					t.Skip("one binding is enough")
				}
				prog := mpi.BuildFile(t, "testdata/wtime.f90", "-cpp", "-ffree-line-length-none", "-fallow-argument-mismatch", "-D"+binding)
				record, _ := exact(t, mpi, 2, abi.ModeOrder, 0, prog)
				if got := values(t, record.traceDir, 1); got["MPI_Wtime"] < 10 || got["MPI_Wtick"] != 1 {
					t.Errorf("rank 1: %v", got)
				}
			})
		}
	})
}
