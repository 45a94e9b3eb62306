package exactreplay

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// TestFailingCalls: calls that return an error replay as they were, whatever the mode, and leave an event graph without
// doubts. One with a wildcard that failed, so that nobody knows what it would have taken, is refused by name; so is a
// call that returned because one request had failed, and left others.
func TestFailingCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "failing.c")
		for _, mode := range modes {
			kinds := []string{"cut", "wrong", "wild"}
			if mode == "order" {
				kinds = append(kinds, "one", "left") // the same code in every mode
			}
			for _, kind := range kinds {
				t.Run(mode+"/"+kind, func(t *testing.T) {
					failing(t, job{mpi: mpi, program: program, ranks: 3, args: []string{kind}}, mode)
				})
			}
		}
	})
}

func failing(t *testing.T, j job, mode string) {
	t.Helper()
	ctx, dir := testContext(t), filepath.Join(t.TempDir(), "failing.cohort")
	text, err := j.record(ctx, dir, mode, 1)
	refused := map[string]string{
		"wild": "wildcard that failed",
		"left": "MPI_Waitall that left requests pending",
	}[j.args[0]]
	if j.args[0] == "one" && strings.Contains(text, "pending") {
		refused = "that left requests pending" // the other message was late
	}
	if refused != "" {
		if lacks, ok := errors.AsType[*decisions.IncompleteError](err); !ok || !strings.Contains(lacks.Call, refused) {
			t.Fatalf("recording: %v; want it to be refused because of %s", err, refused)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := j.replay(ctx, dir, mode != "full", 2)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := ownLines(text, "failing:"), ownLines(again, "failing:"); a != b || a == "" {
		t.Errorf("recorded:\n%s\nreplayed:\n%s", a, b)
	}
	if err := checkGraph(dir, sizeProblem(j.mpi)...); err != nil {
		t.Error(err)
	}
}
