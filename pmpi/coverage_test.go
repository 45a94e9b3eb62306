package pmpi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// perturbed makes a job's program delay its senders in a way of the seed's.
func (j *job) perturbed(seed int) *job {
	j.cmdEnv = append(j.cmdEnv, fmt.Sprintf("PERTURB=%d", seed))
	return j
}

// lines are those of a program whose ranks write in any order.
func lines(output string) []string { return slices.Sorted(strings.Lines(output)) }

// recordPerturbed records a program that prints what it saw, and replays it so many times with its senders delayed in
// other ways: from the recording, which makes the event graph that it returns, then from that.
func recordPerturbed(t *testing.T, mpi mpitest.MPI, ranks int, mode abi.Mode, replays int, prog string,
	args ...string,
) *job {
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
	for seed := 2; seed < 2+replays; seed++ {
		j := replay(t, from, decisions.Options{}).perturbed(seed)
		if seed == 4 {
			j.traceDir = ""
		}
		if diff := cmp.Diff(lines(want), lines(j.run(prog, args...))); diff != "" {
			t.Fatalf("the replay with seed %d differs from the recording:\n%s", seed, diff)
		}
		for rank, c := range j.controls {
			if p, was := c.Progress(), record.controls[rank].Progress(); p.State != abi.StateFinalized ||
				p.Events != was.Events {
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
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/coverage.c", "-I"+mpitest.Root(t)+"/testprograms", "-Wno-stringop-overflow")
		for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeRacing, abi.ModeFull} {
			t.Run(mode.String(), func(t *testing.T) {
				if testing.Short() && mode != abi.ModeOrder {
					t.Skip("slow")
				}
				const ranks = 4
				replays := 3
				if mode != abi.ModeOrder {
					replays = 1
				}
				graph := recordPerturbed(t, mpi, ranks, mode, replays, prog)
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

// TestFortranCoverage is TestCoverage for the Fortran bindings: every binding must make the same calls on both MPIs,
// each seen once.
func TestFortranCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("six programs, each recorded and replayed")
	}
	const ranks, rounds = 3, 2
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range []string{"MPIF_H", "USE_MPI", "USE_MPI_F08"} {
			t.Run(binding, func(t *testing.T) {
				prog := mpi.BuildFile(t, "testdata/coverage.f90", "-cpp", "-ffree-line-length-none",
					"-fallow-argument-mismatch", "-D"+binding)
				graph := recordPerturbed(t, mpi, ranks, abi.ModeOrder, 1, prog)
				wellMatched(t, graph)
				if output := graph.output.String(); strings.Contains(output, "wrong") {
					t.Errorf("the program found its own answers wrong:\n%s", output)
				}
				others := rounds * (ranks - 1)
				want := map[string]int{
					"Mprobe": others + rounds, "Mrecv": others + rounds, "Improbe": others, "Imrecv": others,
					"Recv_init": rounds + others,
					"Start":     others, "Startall": rounds, "Comm_create_group": 1, "Intercomm_create": 1,
					"Intercomm_merge": 1, "Comm_disconnect": 1,
					"Request_free": rounds + others + rounds + 2, "Grequest_start": 1,
				}
				if binding == "USE_MPI_F08" {
					want["Grequest_start"] = 0
				}
				got := countOps(t, graph)[0]
				for op, n := range want {
					if got[op] != n {
						t.Errorf("rank 0: %d events of %s, expected %d", got[op], op, n)
					}
				}
			})
		}
	})
}

// TestRefused: what stays uncovered is named in the recording, also if the rank is killed.
func TestRefused(t *testing.T) {
	cases := []struct{ arg, call, only string }{
		{"freed-pending", "MPI_Request_free of a receive not yet matched", ""},
		{"freed-killed", "MPI_Request_free of a receive not yet matched", ""},
		{"freed-known-killed", "", ""},
		{"comm-free", "MPI_Comm_free while a persistent receive has it", ""},
		{"spawn", "MPI_Comm_spawn", ""},
		{"agree", "MPIX_Comm_agree", "mpich"},
		{"grequest", "MPIX_Grequest_start", "mpich"},
		{"partitioned", "MPI_Psend_init", "mpich"},
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, c := range cases {
			if c.only != "" && mpi.Name != c.only {
				continue
			}
			t.Run(c.arg, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
				defer cancel()
				j := newJob(t, mpi, 1, abi.ModeOrder)
				j.launch(ctx, mpi.BuildFile(t, "testdata/refused.c"), c.arg)
				if err := <-j.done; ctx.Err() != nil {
					t.Fatalf("the program did not end: %v\n%s", err, j.describe())
				}
				_, err := decisions.Build(open(t, j, 0), decisions.Options{})
				var incomplete *decisions.IncompleteError
				switch {
				case c.call == "":
					if err != nil {
						t.Errorf("the recording cannot be replayed: %v", err)
					}
				case !errors.As(err, &incomplete) || incomplete.Call != c.call:
					t.Errorf("found %v, expected a refusal that names %s\n%s", err, c.call, j.describe())
				}
			})
		}
	})
}
