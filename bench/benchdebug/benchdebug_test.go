package benchdebug

import (
	"os"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/bench/benchreplay"
)

// The page has a row for each step and a column for each number of ranks, with the medians and the ratios' median.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	r := &Report{
		Machine: benchreplay.Machine{MPIs: map[string]string{"mpich": "MPICH 4"}},
		Options: Options{MPIs: []string{"mpich"}, Rounds: 3},
	}
	for _, ranks := range []int{8, 32} {
		row := Row{MPI: "mpich", Ranks: ranks, Ours: map[step][]float64{}, Bare: map[step][]float64{}}
		for _, s := range steps {
			row.Ours[s], row.Bare[s] = []float64{2, 4, 9}, []float64{4, 2, 3}
		}
		row.Agent, row.Gdb, row.BareGdb = []float64{5e6}, []float64{60e6}, []float64{58e6}
		r.Rows = append(r.Rows, row)
	}
	var b strings.Builder
	if err := r.Markdown(&b, "notes\n"); err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if want := "| " + string(s) + " | 4 / 3 s, ×2.00 | 4 / 3 s, ×2.00 |\n"; !strings.Contains(b.String(), want) {
			t.Errorf("the page has no line %q:\n%s", want, b.String())
		}
	}
	for _, want := range []string{"| 8 ranks | 32 ranks |", "5.0 MB, 60 (58) MB", NotesMark + "\nnotes\n", "## MPICH 4"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestShareOfMemory(t *testing.T) {
	t.Parallel()
	if here := shareOf(os.Getpid()); here < 100<<10 {
		t.Errorf("this process has %d bytes", here)
	}
}
