package exactreplay

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// notCovered are the classes that record/replay refuses by name, with what it calls them. A class that is covered
// leaves this table.
var notCovered = map[string]string{
	"isendrecv": "MPI_Isendrecv",
}

// hashes are what a rank saw of a class.
type hashes struct {
	Order, Data  string
	Taken, Polls int64
}

type classRank struct {
	class string
	rank  int
}

var classLine = regexp.MustCompile(
	`(?m)^callclasses: rank (\d+) class (\S+) order ([0-9a-f]{16}) data ([0-9a-f]{16}) taken (\d+) polls (\d+)$`,
)

// parseClasses finds the lines of all classes and ranks, and insists on every one of them.
func parseClasses(text string, classes []string, ranks int) (map[classRank]hashes, error) {
	found := map[classRank]hashes{}
	for _, m := range classLine.FindAllStringSubmatch(text, -1) {
		rank, _ := strconv.Atoi(m[1]) // digits
		taken, _ := strconv.ParseInt(m[5], 10, 64)
		polls, _ := strconv.ParseInt(m[6], 10, 64)
		key := classRank{m[2], rank}
		if _, twice := found[key]; twice {
			return nil, fmt.Errorf("class %s has two lines of rank %d", key.class, key.rank)
		}
		found[key] = hashes{m[3], m[4], taken, polls}
	}
	for _, class := range classes {
		for rank := range ranks {
			if _, ok := found[classRank{class, rank}]; !ok {
				return nil, fmt.Errorf("there is no line of class %s and rank %d in the output:\n%s", class, rank, text)
			}
		}
	}
	return found, nil
}

// differences names the classes that differ, each with its first rank.
func differences(want, got map[classRank]hashes) []string {
	var all []string
	last := ""
	for _, key := range slices.SortedFunc(maps.Keys(want), func(a, b classRank) int {
		return strings.Compare(fmt.Sprintf("%s %3d", a.class, a.rank), fmt.Sprintf("%s %3d", b.class, b.rank))
	}) {
		if want[key] != got[key] && key.class != last {
			all = append(all, fmt.Sprintf("class %s: rank %d: recorded %+v, replayed %+v", key.class, key.rank,
				want[key], got[key]))
			last = key.class
		}
	}
	return all
}

// allClasses are the names that the program knows.
func allClasses(t *testing.T, program string) []string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), program, "list").Output() // before MPI_Init
	if err != nil {
		t.Fatalf("callclasses list: %v", err)
	}
	return strings.Fields(string(list))
}

// build compiles a test program as fast as users do: more of the MPI calls are close together then.
func build(t *testing.T, mpi mpitest.MPI, name string) string {
	t.Helper()
	return mpi.Build(t, name, "-O1")
}

// TestCallClasses: each class of call, recorded once, replayed twice with the senders slowed in other ways.
func TestCallClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "callclasses.c")
		var classes []string
		for _, class := range allClasses(t, program) {
			if _, not := notCovered[class]; !not {
				classes = append(classes, class)
			}
		}
		if len(classes) < 35 {
			t.Fatalf("only %d classes are covered: %v", len(classes), classes)
		}
		for _, ranks := range []int{2, 4, 7} {
			t.Run(fmt.Sprintf("%d ranks", ranks), func(t *testing.T) {
				callClasses(t, job{mpi: mpi, program: program, ranks: ranks, args: classes}, "order", 2)
			})
		}
		for _, mode := range modes[1:] {
			t.Run("mode "+mode, func(t *testing.T) {
				callClasses(t, job{mpi: mpi, program: program, ranks: 3, args: classes}, mode, 1)
			})
		}
	})
}

// callClasses records once and replays several times; the first replay of a recording without a graph leaves one, which
// is checked.
func callClasses(t *testing.T, j job, mode string, replays int) {
	t.Helper()
	ctx, dir := testContext(t), filepath.Join(t.TempDir(), "classes.cohort")
	text, err := j.record(ctx, dir, mode, 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := parseClasses(text, j.args, j.ranks)
	if err != nil {
		t.Fatal(err)
	}
	for i := range replays {
		seed := 2 + i
		full := i == 0 && mode != "full"
		text, err := j.replay(ctx, dir, full, seed)
		if err != nil {
			t.Fatalf("replay %d (PERTURB=%d): %v", i+1, seed, err)
		}
		got, err := parseClasses(text, j.args, j.ranks)
		if err != nil {
			t.Fatalf("replay %d: %v", i+1, err)
		}
		for _, d := range differences(want, got) {
			t.Errorf("replay %d (PERTURB=%d): %s", i+1, seed, d)
		}
		if full && mode == "order" {
			if err := sameDecisions(dir); err != nil {
				t.Errorf("the decisions of the replay are not the recorded ones: %v", err)
			}
		}
	}
	// one-sided calls order ranks in ways that traces do not show; what is not covered was found before
	but := append(sizeProblem(j.mpi), causal.ProblemUncovered)
	if err := checkGraph(dir, but...); err != nil {
		t.Error(err)
	}
}

// sizeProblem is what the graph may say of receives that were truncated: with MPICH their status has no count, and what
// is in the trace is what happened to be there.
func sizeProblem(mpi mpitest.MPI) []causal.ProblemKind {
	if mpi.Name == "mpich" {
		return []causal.ProblemKind{causal.ProblemSize}
	}
	return nil
}

// TestCallClassesRace shows that TestCallClasses can fail: without a recording, runs that are perturbed in other ways
// differ in nearly every class.
func TestCallClassesRace(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpi := mpitest.Need(t, "openmpi")
	program := build(t, mpi, "callclasses.c")
	classes := allClasses(t, program)
	const ranks = 4
	var first map[classRank]hashes
	differ := map[string]bool{}
	for seed := 1; seed <= 4; seed++ {
		cmd := mpi.Command(t.Context(), ranks, program, classes...)
		cmd.Env = append(cmd.Env, perturbed(seed)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("PERTURB=%d: %v", seed, err)
		}
		got, err := parseClasses(string(out), classes, ranks)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		for key := range first {
			if first[key] != got[key] {
				differ[key.class] = true
			}
		}
	}
	var alike []string
	for _, class := range classes {
		if !differ[class] {
			alike = append(alike, class)
		}
	}
	t.Logf("alike in all runs: %v", alike)
	if len(alike) > 10 {
		t.Errorf("%d of %d classes came out alike in four perturbed runs, so the replays prove little of them: %v",
			len(alike), len(classes), alike)
	}
}

// Classes that are not covered make a recording that names the call and that replay refuses.
func TestCallClassesNotCovered(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "callclasses.c")
		known := allClasses(t, program)
		for class, call := range notCovered {
			if !slices.Contains(known, class) {
				continue // an MPI 3
			}
			t.Run(class, func(t *testing.T) {
				j := job{mpi: mpi, program: program, ranks: 2, args: []string{class}}
				dir := filepath.Join(t.TempDir(), "class.cohort")
				var incomplete *decisions.IncompleteError
				if _, err := j.record(t.Context(), dir, "order", 1); !errors.As(err, &incomplete) ||
					incomplete.Call != call {
					t.Errorf("recording: %v; want it to be incomplete because of %s", err, call)
				}
				if _, err := j.replay(t.Context(), dir, false, 2); !errors.As(err, &incomplete) ||
					!strings.Contains(err.Error(), call) {
					t.Errorf("replaying: %v; want a refusal that names %s", err, call)
				}
			})
		}
	})
}
