package pmpi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// result is what two runs are compared by: the order lines of a program that prints them, or else all that it printed.
func result(t *testing.T, output string, ranks int) any {
	t.Helper()
	if !strings.Contains(output, " order ") {
		return output
	}
	o, err := mpitest.ParseOrders(output, ranks)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestReplayIsTheRecording records with each mode, replays (writing a full trace at the same time), and replays once
// more from that full trace.
func TestReplayIsTheRecording(t *testing.T) {
	const ranks = 3
	wildcards := []string{
		"recv", "iprobe", "probe", "sendrecv", "waitany", "waitsome", "waitall", "testany",
		"testsome",
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.Build(t, "wildcard.c")
		for _, wildcard := range wildcards {
			if testing.Short() && wildcard != "iprobe" && wildcard != "waitsome" {
				continue
			}
			for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeFull} {
				t.Run(wildcard+"/"+mode.String(), func(t *testing.T) {
					recordAndReplay(t, mpi, ranks, mode, prog, wildcard, "30")
				})
			}
		}
	})
}

func recordAndReplay(t *testing.T, mpi mpitest.MPI, ranks int, mode abi.Mode, prog string, args ...string) {
	t.Helper()
	record := newJob(t, mpi, ranks, mode)
	record.start.Flags = abi.FlagYield
	want := result(t, record.run(prog, args...), ranks)
	dumpTraces(t, record.traceDir, ranks)
	events := make([]uint64, ranks)
	for rank, c := range record.controls {
		p := c.Progress()
		if p.State != abi.StateFinalized || p.Incomplete != 0 {
			t.Fatalf("rank %d: %+v", rank, p)
		}
		events[rank] = p.Events
	}

	first := replay(t, record, decisions.Options{})
	if diff := cmp.Diff(want, result(t, first.run(prog, args...), ranks)); diff != "" {
		t.Fatalf("the replay differs from the recording:\n%s", diff)
	}
	for rank, c := range first.controls {
		if p := c.Progress(); p.Events != events[rank] || p.State != abi.StateFinalized {
			t.Errorf("rank %d: recorded %d events, replayed %+v", rank, events[rank], p)
		}
	}
	dumpTraces(t, first.traceDir, ranks)
	second := replay(t, first, decisions.Options{})
	if diff := cmp.Diff(want, result(t, second.run(prog, args...), ranks)); diff != "" {
		t.Fatalf("the replay of the graph differs from the recording:\n%s", diff)
	}
}

func replay(t *testing.T, record *job, opt decisions.Options) *job {
	t.Helper()
	j := newJob(t, record.mpi, record.ranks, abi.ModeReplay)
	j.start.Flags = abi.FlagYield
	j.decisions = decide(t, record.traceDir, record.ranks, opt)
	return j
}

// TestProgramsReplay: whole programs, in order mode and from the graph.
func TestProgramsReplay(t *testing.T) {
	const ranks = 4
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, p := range []struct {
			source string
			args   []string
		}{
			{"tsp.c", []string{mpitest.Source(t, "cities10.txt")}},
			{"fintegrate.f90", []string{"100"}},
			{"heat.c", []string{"16"}},
		} {
			t.Run(p.source, func(t *testing.T) {
				if testing.Short() && p.source != "tsp.c" {
					t.Skip("slow")
				}
				recordAndReplay(t, mpi, ranks, abi.ModeOrder, mpi.Build(t, p.source), p.args...)
			})
		}
	})
}
