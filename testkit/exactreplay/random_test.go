package exactreplay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// randomWithout leaves features of testprograms/randomprog.c out that are not covered yet: letters of its third
// argument.
const randomWithout = ""

// SoakVar is for how many minutes TestRandomPrograms continues; SeedVar is its first seed, instead of one that the
// clock gives.
const (
	SoakVar = "COHORT_SOAK"
	SeedVar = "COHORT_SEED"
)

// random is one random program.
type random struct {
	seed   uint64
	phases []int
	ranks  int
	mode   string
}

func (r random) args() []string {
	list := make([]string, len(r.phases))
	for i, phase := range r.phases {
		list[i] = strconv.Itoa(phase)
	}
	return []string{strconv.FormatUint(r.seed, 10), strings.Join(list, ",") + ",", randomWithout}
}

func (r random) String() string {
	return fmt.Sprintf("cohort record --mode %s -n %d --env PERTURB=1 -o r.cohort -- randomprog %s", r.mode, r.ranks,
		strings.Join(r.args(), " "))
}

var phaseLine = regexp.MustCompile(
	`(?m)^randomprog: rank (\d+) phase (\d+) (\S+) (order [0-9a-f]{16} data [0-9a-f]{16} taken \d+ polls \d+)$`,
)

// parsePhases returns what each rank saw of each phase, by "phase 3 (exchange), rank 2", in the order in which they
// were printed.
func parsePhases(text string, r random) (names []string, seen map[string]string, err error) {
	seen = map[string]string{}
	for _, m := range phaseLine.FindAllStringSubmatch(text, -1) {
		name := fmt.Sprintf("phase %s (%s), rank %s", m[2], m[3], m[1])
		names = append(names, name)
		seen[name] = m[4]
	}
	if want := len(r.phases) * r.ranks; len(seen) != want || len(names) != want {
		return nil, nil, fmt.Errorf("there are %d lines in the output, not %d:\n%s", len(names), want, text)
	}
	return names, seen, nil
}

// try records the program, replays it (each second time with bounded buffering), and compares. Each run is perturbed in
// another way.
func (r random) try(ctx context.Context, j job, dir string, replays int) error {
	j.args, j.ranks = r.args(), r.ranks
	text, err := j.record(ctx, dir, r.mode, 1)
	if err != nil {
		return err
	}
	names, want, err := parsePhases(text, r)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	for i := range replays {
		full := i == 0 && r.mode != "full"
		var text string
		if i%2 == 0 {
			text, err = j.replay(ctx, dir, full, 2+i)
		} else { // with control messages, which leave a rank little room
			text, err = j.replayBounded(ctx, dir, i, 2+i)
		}
		if err != nil {
			return fmt.Errorf("replay %d: %w", i+1, err)
		}
		_, got, err := parsePhases(text, r)
		if err != nil {
			return fmt.Errorf("replay %d: %w", i+1, err)
		}
		for _, name := range names {
			if want[name] != got[name] {
				return fmt.Errorf("replay %d: %s: recorded %s, replayed %s", i+1, name, want[name], got[name])
			}
		}
		if full && r.mode == "order" {
			if err := sameDecisions(dir); err != nil {
				return fmt.Errorf("the decisions of the replay are not the recorded ones: %w", err)
			}
		}
	}
	return checkGraph(dir)
}

// smaller looks for fewer phases with which the program still fails, as long as the time lasts. Most failures need
// luck, so each candidate has several tries.
func (r random) smaller(ctx context.Context, j job, dir func() string, replays int, err error) (random, error) {
	const tries = 3
	deadline := time.Now().Add(2 * time.Minute)
	for size := (len(r.phases) + 1) / 2; size >= 1; {
		found := false
		for from := 0; from < len(r.phases) && len(r.phases) > 1; from += size {
			candidate := r
			candidate.phases = append(append([]int{}, r.phases[:from]...), r.phases[min(from+size, len(r.phases)):]...)
			if len(candidate.phases) == 0 {
				continue
			}
			for range tries {
				if time.Now().After(deadline) || ctx.Err() != nil {
					return r, err
				}
				if why := candidate.try(ctx, j, dir(), replays); why != nil {
					r, err, found = candidate, why, true
					break
				}
			}
			if found {
				break
			}
		}
		switch {
		case found:
			size = min(size, (len(r.phases)+1)/2)
		case size == 1:
			return r, err
		default:
			size = (size + 1) / 2
		}
	}
	return r, err
}

func phasesUpTo(n int) []int {
	phases := make([]int, n)
	for i := range phases {
		phases[i] = i
	}
	return phases
}

// TestRandomPrograms records random programs and replays them, in each mode.
func TestRandomPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	minutes, err := strconv.ParseFloat(os.Getenv(SoakVar), 64)
	if os.Getenv(SoakVar) != "" && err != nil {
		t.Fatalf("%s is %q, not a number of minutes: %v", SoakVar, os.Getenv(SoakVar), err)
	}
	if minutes > 0 {
		soak(t, time.Duration(minutes*float64(time.Minute)))
		return
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "randomprog.c")
		for i, mode := range modes {
			r := random{seed: uint64(i + 1), phases: phasesUpTo(30), ranks: 3 + i%2, mode: mode}
			t.Run(fmt.Sprintf("%s-seed%d", mode, r.seed), func(t *testing.T) {
				must(t, job{mpi: mpi, program: program}, r, 2)
			})
		}
	})
}

// must reports a failure with the smallest program that was found to have it.
func must(t *testing.T, j job, r random, replays int) bool {
	t.Helper()
	scratch, n := t.TempDir(), 0
	dir := func() string {
		if n > 0 { // the one before
			os.RemoveAll(filepath.Join(scratch, fmt.Sprintf("%d.cohort", n)))
		}
		n++
		return filepath.Join(scratch, fmt.Sprintf("%d.cohort", n))
	}
	ctx := testContext(t)
	err := r.try(ctx, j, dir(), replays)
	if err == nil {
		os.RemoveAll(filepath.Join(scratch, "1.cohort"))
		return true
	}
	if errors.As(err, new(*decisions.IncompleteError)) {
		t.Errorf("%s %s\n%v", j.mpi.Name, r, err)
		return false
	}
	small, why := r.smaller(ctx, j, dir, replays, err)
	t.Errorf("%s %s\n%v\nmade smaller: %s\n%v", j.mpi.Name, r, err, small, why)
	return false
}

// soak continues for a while, with five replays each.
func soak(t *testing.T, length time.Duration) {
	t.Helper()
	seed := uint64(time.Now().Unix()) * 1000
	if s := os.Getenv(SeedVar); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("%s is %q: %v", SeedVar, s, err)
		}
	}
	var jobs []job
	for _, name := range mpitest.Names() {
		mpi := mpitest.Need(t, name)
		jobs = append(jobs, job{mpi: mpi, program: build(t, mpi, "randomprog.c")})
	}
	runs, failures := 0, 0
	for end := time.Now().Add(length); time.Now().Before(end) && failures < 5; seed++ {
		for i, j := range jobs {
			r := random{
				seed: seed, phases: phasesUpTo(40), ranks: 2 + int(seed/uint64(len(modes)))%4,
				mode: modes[(int(seed)+i)%len(modes)],
			}
			runs++
			if !must(t, j, r, 5) {
				failures++
			}
		}
	}
	t.Logf("%d random programs were recorded and replayed five times; %d failed", runs, failures)
}
