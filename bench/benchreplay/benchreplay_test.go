package benchreplay

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

func TestElapsed(t *testing.T) {
	output := "det: rank 1 measured from 10.5 to 12.25\nsomething\ndet: rank 0 measured from 10.75 to 12.0\n"
	if got, err := elapsed(output, 2); err != nil || got != 1.5 {
		t.Errorf("got %v (%v), not 1.5", got, err)
	}
	if _, err := elapsed(output, 3); err == nil || !strings.Contains(err.Error(), "2 ranks of 3") {
		t.Errorf("a rank is missing, and the error is %v", err)
	}
}

func TestOrders(t *testing.T) {
	lines := []string{
		"tsp: rank 0 order 0123456789abcdef data 0123456789abcdef tasks 3 polls 9",
		"tsp: rank 1 order 1123456789abcdef data 0123456789abcdef tasks 3 polls 9",
	}
	got, err := orders(lines[1]+"\n\ntext\n"+lines[0]+"\n", 2)
	if err != nil || !slices.Equal(got, lines) {
		t.Errorf("got %q (%v)", got, err)
	}
	if got, err := orders("heat has none", 2); err != nil || !slices.Equal(got, []string{"", ""}) {
		t.Errorf("without lines: %q (%v)", got, err)
	}
	for _, bad := range []string{lines[0], lines[0] + "\n" + lines[0], lines[0] + "\n" +
		strings.Replace(lines[1], "rank 1", "rank 2", 1)} {
		if _, err := orders(bad, 2); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestRatio: the base depends on yielding.
func TestRatio(t *testing.T) {
	row := Row{Samples: map[Column][]Sample{Bare: {{Seconds: 1}}, Unrecorded: {{Seconds: 2}}, Order: {{Seconds: 3}}}}
	if ratio, _, ok := row.Ratio(Order); !ok || ratio != 3 {
		t.Errorf("without yielding the ratio is %v (%v), not 3", ratio, ok)
	}
	row.Yield = true
	if ratio, byRound, ok := row.Ratio(Order); !ok || ratio != 1.5 || byRound.Median != 1.5 {
		t.Errorf("with yielding the ratio is %v, by round %v (%v), not 1.5", ratio, byRound, ok)
	}
	if _, _, ok := row.Ratio(Full); ok {
		t.Error("there is a ratio of a column that was not measured")
	}
}

// tiny are the rows with the arguments for tests.
func tiny(names ...string) []Program {
	return slices.DeleteFunc(Programs(), func(p Program) bool { return !slices.Contains(names, p.Name) })
}

func TestProgramsHaveTheirSources(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Programs() {
		mpitest.Source(t, p.File)
		if seen[p.Name] || len(p.Tiny) == 0 {
			t.Errorf("%s is there twice, or has no arguments for tests", p.Name)
		}
		seen[p.Name] = true
	}
}

// TestOneRound runs every column of one program, on each MPI, and looks at the page.
func TestOneRound(t *testing.T) {
	if testing.Short() {
		t.Skip("several jobs; skipped in short mode")
	}
	for _, mpi := range mpitest.Names() {
		mpitest.Need(t, mpi)
	}
	var progress strings.Builder
	o := Options{
		Root: mpitest.Root(t), MPIs: mpitest.Names(), Programs: tiny("mesh"), Columns: Columns(), Rounds: 1,
		MostBare: 1, Tiny: true, Progress: &progress,
	}
	rows, err := Measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	report := Report{Machine: Look(t.Context(), o.MPIs), Rounds: 1, Rows: rows}
	var page strings.Builder
	if err := report.Markdown(&page, "notes of ours\n"); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{
		"| mesh 40 4 | 4 | ", "Open MPI", "MPICH", "| *mesh* | *10210* |",
		NotesMark + "\nnotes of ours\n",
	} {
		if !strings.Contains(page.String(), wanted) {
			t.Errorf("no %q in\n%s", wanted, page.String())
		}
	}
	for i := range rows {
		row := &rows[i]
		for _, column := range Columns() {
			if !slices.Contains(row.Absent, column) && len(row.Samples[column]) != 1 {
				t.Errorf("%s: %d samples of %s, not 1", row.MPI, len(row.Samples[column]), column)
			}
		}
		// 40 rows in 3 strips, 4 sweeps, 7 messages for each, and 3 to end with.
		if s := row.Samples[Order][0]; s.Messages != 3*4*7+3 || s.Wildcards == 0 || s.TraceBytes == 0 {
			t.Errorf("%s: the recording holds %+v", row.MPI, s)
		}
	}
	if n := strings.Count(progress.String(), "\n"); n != len(rows) {
		t.Errorf("%d lines of progress, not %d:\n%s", n, len(rows), progress.String())
	}
	if _, err := json.Marshal(report); err != nil {
		t.Error(err)
	}
}

// TestPaperProgramsReplay records and replays every application, tiny, in mode order on one MPI and in mode racing on
// the other: Measure insists on the same order and the same data in the replay.
func TestPaperProgramsReplay(t *testing.T) {
	if testing.Short() {
		t.Skip("many jobs; skipped in short mode")
	}
	programs := slices.DeleteFunc(Programs(), func(p Program) bool { return strings.HasPrefix(p.Name, "wildcard") })
	for i, mpi := range mpitest.Names() {
		t.Run(mpi, func(t *testing.T) {
			mpitest.Need(t, mpi)
			for j, program := range programs {
				columns := []Column{Order, Replay}
				if i == j%2 {
					columns = []Column{Racing}
				}
				rows, err := Measure(t.Context(), Options{
					Root: mpitest.Root(t), MPIs: []string{mpi}, Programs: []Program{program}, Columns: columns,
					Rounds: 1, Tiny: true,
				})
				switch {
				case err != nil:
					t.Error(err)
				case columns[0] == Racing && rows[0].Traced == nil:
					t.Errorf("%s: the recording in mode racing was not replayed", program.Name)
				case columns[0] == Racing && rows[0].Traced.Traced < rows[0].Traced.Least:
					t.Errorf("%s: less is traced than can be: %+v", program.Name, rows[0].Traced)
				case columns[0] == Racing:
					t.Logf("%s: %+v", program.Name, *rows[0].Traced)
				}
			}
		})
	}
}

// TestWrongAnswersEndIt: a program that says it is wrong has no figures.
func TestWrongAnswersEndIt(t *testing.T) {
	if testing.Short() {
		t.Skip("several jobs; skipped in short mode")
	}
	mpitest.Need(t, "mpich")
	wrong := Program{Name: "exitcode", File: "exitcode.c", Ranks: 2, Tiny: []string{"1", "5"}}
	for _, column := range []Column{Bare, Unrecorded, Order} {
		_, err := Measure(t.Context(), Options{
			Root: mpitest.Root(t), MPIs: []string{"mpich"}, Programs: []Program{wrong}, Columns: []Column{column},
			Rounds: 1, MostBare: 1, Tiny: true,
		})
		if err == nil || !strings.Contains(err.Error(), "status 5") {
			t.Errorf("%s: the error is %v", column, err)
		}
	}
}

func TestArgumentsNameDataFiles(t *testing.T) {
	root := mpitest.Root(t)
	for _, p := range tiny("tsp") {
		for _, yields := range []bool{false, true} {
			if got := p.arguments(root, false, yields); !slices.Equal(got,
				[]string{filepath.Join(root, "testprograms", "cities18.txt")}) {
				t.Errorf("the arguments are %q", got)
			}
		}
	}
	if p := tiny("heat")[0]; slices.Equal(p.arguments(root, false, false), p.arguments(root, false, true)) {
		t.Error("the sizes are the same with and without yielding")
	}
}
