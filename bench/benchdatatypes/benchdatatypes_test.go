package benchdatatypes

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOneRound measures everything once on one MPI, with next to no work, and looks at the page. It says nothing about
// times.
func TestOneRound(t *testing.T) {
	if testing.Short() {
		t.Skip("runs MPI programs, under gdb too")
	}
	mpitest.Need(t, "mpich")
	var progress strings.Builder
	r, err := Measure(t.Context(), Options{
		MPIs: []string{"mpich"}, Rounds: 1, Tiny: true, Elements: 100,
		Progress: &progress,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Pairs) != len(Kinds()) || len(r.Views["mpich"]) != 4 || len(r.Loops["mpich"]) != len(loops()) {
		t.Errorf("%+v", r)
	}
	for _, p := range r.Pairs {
		if len(p.Bare) != 1 || len(p.Loaded) != 1 || p.Bare[0].Seconds <= 0 || p.Loaded[0].Seconds <= 0 ||
			p.Bare[0].Late == 0 {
			t.Errorf("%+v", p)
		}
	}
	var page strings.Builder
	if err := r.Markdown(&page, "notes of ours\n"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"MPICH", "(depth 50), and freed, 20 times", "mpipp is faster by",
		NotesMark + "\nnotes of ours\n",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in\n%s", want, page.String())
		}
	}
	if n := strings.Count(progress.String(), "\n"); n != len(Kinds())+4+len(loops()) {
		t.Errorf("%d lines of progress:\n%s", n, progress.String())
	}
}

// TestFailuresAreReported: a program that cannot be measured ends the benchmark with what it wrote.
func TestFailuresAreReported(t *testing.T) {
	if testing.Short() {
		t.Skip("runs an MPI program")
	}
	mpi := mpitest.Need(t, "mpich")
	if _, err := Measure(t.Context(), Options{MPIs: []string{"nompi"}, Rounds: 1}); err == nil {
		t.Error("an MPI that does not exist was measured")
	}
	p, err := build(t.Context(), "mpich", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p.create = mpi.Build(t, "exitcode.c")
	if _, err := p.run(t.Context(), Kinds()[0], 1, false); err == nil || !strings.Contains(err.Error(), "it wrote") {
		t.Errorf("a program without figures: %v", err)
	}
}
