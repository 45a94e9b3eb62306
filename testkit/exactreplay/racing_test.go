package exactreplay

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// What racing mode traces is compared with what the event graph of a full replay says about the same run: package
// causal finds the races from whole vector times, in an algorithm of its own, which is tested against all interleavings
// of small programs.

// receiveID names a receive or probe with a wildcard: the call that posted it and, of a Startall, which of its
// receives.
type receiveID struct {
	causal.EventID
	which uint32
}

// tracedReceives are the receives and blocking probes whose outcome is in a recording in racing mode.
func tracedReceives(rec *recording.Recording) (map[receiveID]bool, error) {
	traced := map[receiveID]bool{}
	for rank := range rec.Meta.Ranks {
		d, err := rec.Decisions(rank, decisions.Options{})
		if err != nil {
			return nil, err
		}
		if !d.Sparse {
			return nil, fmt.Errorf("the decisions of rank %d are not those of racing mode", rank)
		}
		for i := range d.Matches {
			if m := &d.Matches[i]; !m.Never && !m.Op.IsPoll() {
				traced[receiveID{causal.EventID{Rank: rank, Index: m.Event}, m.Which}] = true
			}
		}
	}
	return traced, nil
}

// raceReport compares the traced receives of a recording with the races of its graph.
type raceReport struct {
	wildcards, racing, traced int
	missed                    []string // raced and not traced: replay could go wrong
	needless                  []string // traced, and no race
}

func compareRaces(dir string) (*raceReport, error) {
	rec, err := recording.Open(dir)
	if err != nil {
		return nil, err
	}
	traced, err := tracedReceives(rec)
	if err != nil {
		return nil, err
	}
	traces, err := rec.Graph()
	if err != nil {
		return nil, err
	}
	graph, err := causal.Load(traces, causal.Options{})
	if err != nil {
		return nil, err
	}
	r := &raceReport{traced: len(traced)}
	places := map[receiveID]bool{}
	_, err = graph.EachWildcard(func(p *causal.RacePoint) bool {
		op, _ := graph.Op(p.Post)
		if op.IsPoll() {
			return true // always recorded
		}
		id := receiveID{p.Post, uint32(p.Place)}
		places[id] = true
		r.wildcards++
		races := len(p.Others) > 0 || p.Hidden > 0
		if races {
			r.racing++
		}
		switch text := fmt.Sprintf("%v (%v, receive %d), %d others, %d hidden", p.Post, op, p.Place, len(p.Others),
			p.Hidden); {
		case races && !traced[id]:
			r.missed = append(r.missed, text)
		case !races && traced[id]:
			r.needless = append(r.needless, text)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for id := range traced {
		if !places[id] {
			r.needless = append(r.needless,
				fmt.Sprintf("%v (%d), which the graph does not know as a receive from any source", id.EventID,
					id.which))
		}
	}
	slices.Sort(r.needless)
	return r, nil
}

// racingScenes are scenes of testprograms/racing.c, with how many receives must be traced; -1: what the event graph
// says.
var racingScenes = []struct {
	name   string
	traced func(ranks, rounds int) int
}{
	// all but one of each round: races are transitive there
	{"race", func(ranks, rounds int) int { return rounds * (ranks - 2) }},
	{"block", nil},
	{"window", nil},
	{"token", none},
	{"barrier", none},
	{"allreduce", none},
	{"allgather", none},
	{"bcast", none},
	{"exact", none},
	{"unreceived", func(ranks, _ int) int { return 1 }},
}

func none(int, int) int { return 0 }

// ownLines are the lines that a program wrote itself.
func ownLines(text, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestRacing: what racing mode traces is enough for replay, and no more than the event graph of the same run asks for.
func TestRacing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "racing.c")
		const ranks, rounds = 4, 12
		for seed, scene := range racingScenes {
			t.Run(scene.name, func(t *testing.T) {
				j := job{mpi: mpi, program: program, ranks: ranks, args: []string{scene.name, strconv.Itoa(rounds)}}
				r := replaysAlike(t, j, "racing:", seed)
				if scene.traced != nil && r.traced != scene.traced(ranks, rounds) {
					t.Errorf("%d receives were traced, want %d", r.traced, scene.traced(ranks, rounds))
				}
			})
		}
	})
}

// TestRacingManyRanks: in a world of more ranks than a header has room for, what a message cannot tell is taken not to
// be known: more may be traced than races, never less.
func TestRacingManyRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts large jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "racing.c")
		for _, scene := range []string{"relay", "gossip"} {
			t.Run(scene, func(t *testing.T) {
				j := job{mpi: mpi, program: program, ranks: 17, args: []string{scene, "4"}}
				r := replaysAndTraces(t, j, "racing:", 5)
				if scene == "relay" && (r.racing != 0 || r.traced == 0) {
					t.Errorf("%d receives raced, want none; %d were traced, want those whose clocks did not come "+
						"round in time", r.racing, r.traced)
				}
			})
		}
	})
}

// TestRacingRandom does the same with random programs.
func TestRacingRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	seeds := 1
	if n, err := strconv.Atoi(os.Getenv("RACING_SEEDS")); err == nil {
		seeds = n
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "randomprog.c")
		for seed := 1; seed <= seeds; seed++ {
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
				replaysAlike(t, job{
					mpi: mpi, program: program, ranks: 3 + seed%3,
					args: []string{strconv.Itoa(seed), "12"},
				}, "randomprog:", seed)
			})
		}
	})
}

// replaysAlike records in racing mode, replays with other delays (twice when soaking), and compares what was traced
// with the races of the first replay's graph.
func replaysAlike(t *testing.T, j job, prefix string, seed int) *raceReport {
	t.Helper()
	r := replaysAndTraces(t, j, prefix, seed)
	for _, needless := range r.needless {
		t.Errorf("traced without a race: %s", needless)
	}
	if r.traced != r.racing {
		t.Errorf("%d of %d wildcard receives raced, %d were traced", r.racing, r.wildcards, r.traced)
	}
	return r
}

// replaysAndTraces is replaysAlike for what may be traced without need.
func replaysAndTraces(t *testing.T, j job, prefix string, seed int) *raceReport {
	t.Helper()
	ctx, dir := testContext(t), filepath.Join(t.TempDir(), "racing.cohort")
	text, err := j.record(ctx, dir, "racing", seed)
	if err != nil {
		t.Fatal(err)
	}
	replays := 1
	if os.Getenv("COHORT_SOAK") != "" {
		replays = 2
	}
	for i := range replays {
		again, err := j.replay(ctx, dir, i == 0, seed+1+i)
		if err != nil {
			t.Fatalf("replay %d: %v", i+1, err)
		}
		if a, b := ownLines(text, prefix), ownLines(again, prefix); a != b || a == "" {
			t.Fatalf("recorded:\n%s\nreplay %d:\n%s", a, i+1, b)
		}
	}
	r, err := compareRaces(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, missed := range r.missed {
		t.Errorf("a race that was not traced: %s", missed)
	}
	return r
}

// TestRacingData: messages with a header leave the program's data, counts and errors as they were.
func TestRacingData(t *testing.T) {
	if testing.Short() {
		t.Skip("starts jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "racing.c")
		for _, yield := range []runner.Yield{"on", "off"} {
			t.Run("yield "+string(yield), func(t *testing.T) {
				ctx, dir := testContext(t), filepath.Join(t.TempDir(), "data.cohort")
				j := job{mpi: mpi, program: program, ranks: 2, args: []string{"data"}}
				var out outputs
				common := j.common(&out)
				common.Yield = yield
				r, err := runner.Record(ctx, runner.RecordOptions{
					Common: common, Ranks: j.ranks, Program: program, Args: j.args, Dir: dir, Mode: "racing",
				})
				text := ownLines(out.all(j.ranks), "racing:")
				if err != nil || r.Status() != 0 || strings.Count(text, "has its data") != j.ranks {
					t.Fatalf("%v\n%s", err, out.all(j.ranks))
				}
				again, err := j.replay(ctx, dir, false, 1)
				if err != nil || ownLines(again, "racing:") != text {
					t.Fatalf("replay: %v\n%s", err, again)
				}
			})
		}
	})
}

// TestRacingKilled: what was undecided when a rank was killed is in its trace all the same.
func TestRacingKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "racing.c")
		for i, scene := range []string{"race", "block", "token", "bcast"} {
			t.Run(scene, func(t *testing.T) {
				ctx, dir := testContext(t), filepath.Join(t.TempDir(), "killed.cohort")
				j := job{mpi: mpi, program: program, ranks: 4, args: []string{scene, "20"}}
				var out outputs
				r, err := runner.Record(ctx, runner.RecordOptions{
					Common: j.common(&out), Ranks: j.ranks, Program: program, Args: j.args, Dir: dir, Mode: "racing",
					Env: append(perturbed(i), fmt.Sprintf("RACING_KILL=%d", 8+i)),
				})
				if err != nil || r.Status() == 0 {
					t.Fatalf("recording: %v", err)
				}
				text := ownLines(out.all(j.ranks), "racing: took")
				if n := strings.Count(text, "\n"); n != 8+i {
					t.Fatalf("%d receives were reported before rank 0 was killed:\n%s", n, out.all(j.ranks))
				}
				for k := range 2 {
					again, err := j.replay(ctx, dir, false, 10+k)
					if err != nil {
						t.Fatalf("replay %d: %v", k+1, err)
					}
					if again := ownLines(again, "racing: took"); again != text {
						t.Fatalf("recorded:\n%s\nreplay %d:\n%s", text, k+1, again)
					}
				}
			})
		}
	})
}
