package pmpi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/internal/mpitest"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// perturbed makes a job's program delay its senders in a way of the seed's.
func (j *job) perturbed(seed int) *job {
	j.cmdEnv = append(j.cmdEnv, fmt.Sprintf("PERTURB=%d", seed))
	return j
}

// recordPerturbed records a program that prints what it saw, and replays it with its senders delayed in other ways: from the recording,
// which makes an event graph, from that, and once more.
func recordPerturbed(t *testing.T, mpi mpitest.MPI, ranks int, mode abi.Mode, prog string, args ...string) *job {
	t.Helper()
	record := newJob(t, mpi, ranks, mode).perturbed(1)
	record.start.Flags = abi.FlagYield
	want := record.run(prog, args...)
	for rank, c := range record.controls {
		if p := c.Progress(); p.State != abi.StateFinalized || p.Incomplete != 0 {
			t.Fatalf("rank %d: %+v", rank, p)
		}
	}
	from := record
	for seed := 2; seed <= 4; seed++ {
		j := replay(t, from, trace.DecisionOptions{}).perturbed(seed)
		if seed == 4 {
			j.traceDir = ""
		}
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(j.run(prog, args...), "\n")); diff != "" {
			t.Fatalf("the replay with seed %d differs from the recording:\n%s", seed, diff)
		}
		for rank, c := range j.controls {
			if p, was := c.Progress(), record.controls[rank].Progress(); p.State != abi.StateFinalized || p.Events != was.Events {
				t.Errorf("rank %d: recorded %+v, replayed %+v", rank, was, p)
			}
		}
		if from == record {
			from = j
		}
	}
	return from
}

// TestCoverage goes through what no other test program has: see testdata/coverage.c.
func TestCoverage(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/coverage.c", "-I"+mpitest.Root(t)+"/testprograms", "-Wno-stringop-overflow")
		for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeFull} {
			t.Run(mode.String(), func(t *testing.T) {
				if testing.Short() && mode == abi.ModeFull {
					t.Skip("slow")
				}
				const ranks = 4
				graph := recordPerturbed(t, mpi, ranks, mode, prog)
				wellMatched(t, graph)
			})
		}
	})
}

// wellMatched insists that the event graph of a job's traces holds no doubt.
func wellMatched(t *testing.T, j *job) {
	t.Helper()
	all := make([][]trace.Record, j.ranks)
	for rank := range all {
		all[rank] = records(t, j.traceDir, rank)
	}
	g, err := causal.Build(all, causal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range g.Problems() {
		t.Error(p)
	}
}
