package pmpi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/internal/mpitest"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

func orders(t *testing.T, output string, ranks int) []mpitest.Order {
	t.Helper()
	o, err := mpitest.ParseOrders(output, ranks)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestReplayIsTheRecording records with each mode, replays (writing a full trace at the same time), and replays once more from that full trace.
func TestReplayIsTheRecording(t *testing.T) {
	const ranks = 3
	wildcards := []string{"recv", "iprobe", "probe", "sendrecv", "waitany", "waitsome", "waitall", "testany", "testsome"}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.Build(t, "wildcard.c")
		for _, wildcard := range wildcards {
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
	want := orders(t, record.run(prog, args...), ranks)
	dumpTraces(t, record.traceDir, ranks)
	events := make([]uint64, ranks)
	for rank, c := range record.controls {
		p := c.Progress()
		if p.State != abi.StateFinalized || p.Incomplete != 0 {
			t.Fatalf("rank %d: %+v", rank, p)
		}
		events[rank] = p.Events
	}

	first := replay(t, record, trace.DecisionOptions{})
	if diff := cmp.Diff(want, orders(t, first.run(prog, args...), ranks)); diff != "" {
		t.Fatalf("the replay differs from the recording:\n%s", diff)
	}
	for rank, c := range first.controls {
		if p := c.Progress(); p.Events != events[rank] || p.State != abi.StateFinalized {
			t.Errorf("rank %d: recorded %d events, replayed %+v", rank, events[rank], p)
		}
	}
	dumpTraces(t, first.traceDir, ranks)
	second := replay(t, first, trace.DecisionOptions{})
	if diff := cmp.Diff(want, orders(t, second.run(prog, args...), ranks)); diff != "" {
		t.Fatalf("the replay of the graph differs from the recording:\n%s", diff)
	}
}

func replay(t *testing.T, record *job, opt trace.DecisionOptions) *job {
	t.Helper()
	j := newJob(t, record.mpi, record.ranks, abi.ModeReplay)
	j.start.Flags = abi.FlagYield
	j.decisions = decide(t, record.traceDir, record.ranks, opt)
	return j
}
