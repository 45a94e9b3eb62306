package mpitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// paperPrograms are the programs of the papers, and what others there are in which messages race, with arguments that
// make them quick. What each must print, whoever gets what, says that it got the answer; its own check has said so by
// its exit status.
func paperPrograms() []struct {
	source string
	args   []string
	line   string
} {
	return []struct {
		source string
		args   []string
		line   string
	}{
		{"bicgstab.c", []string{"100", "5"}, "bicgstab: 100 rows, band of 11, "},
		{"det.c", []string{"20", "2"}, "det: matrix 0, 20 x 20: "},
		{"line.c", []string{"500"}, "line: 500 segments, 166 intersections"},
		{"mesh.c", []string{"40", "4"}, "mesh: 40 x 40 points, 4 sweeps, last change "},
		{"mult.c", []string{"20"}, "mult: 20 x 20"},
		{"sys.c", []string{"20"}, "sys: 20 equations, largest element "},
		{"tycho.c", []string{"3", "500", "6"}, "tycho: 1500 references, 6 caches, "},
		{"flattice.f", []string{"10"}, "flattice: points 317"},
		{"fmandel.f90", []string{"15"}, "fmandel: iterations "},
		{"threads_serialized.c", []string{"turns", "4"}, ""},
		{"threads_serialized.c", []string{"free", "4"}, ""},
	}
}

// TestPaperPrograms runs each on 2, 4 and 7 ranks, with the MPIs by turns. What they print besides the order lines must
// depend on neither.
func TestPaperPrograms(t *testing.T) {
	t.Parallel()
	sizes := []int{2, 4, 7}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for i, c := range paperPrograms() {
		t.Run(c.source+"/"+c.args[0], func(t *testing.T) {
			t.Parallel()
			answers := map[string]bool{}
			for k, n := range sizes {
				mpi := Need(t, Names()[(i+k)%len(Names())])
				output := succeed(t, mpi, n, mpi.Build(t, c.source), c.args...)
				if _, err := ParseOrders(output, n); err != nil {
					t.Errorf("%s, %d ranks: %v", mpi.Name, n, err)
				}
				if !strings.Contains(output, c.line) {
					t.Errorf("%s, %d ranks: no %q in\n%s", mpi.Name, n, c.line, output)
				}
				answers[withoutOrders(output)] = true
			}
			// How sums over all ranks are rounded depends on their number.
			if len(answers) != 1 && c.source != "bicgstab.c" {
				t.Errorf("the answer depends on the MPI or on the number of ranks: %v", answers)
			}
		})
	}
}

// withoutOrders is what a program printed apart from the lines of each rank.
func withoutOrders(output string) string {
	var rest strings.Builder
	for line := range strings.Lines(output) {
		if !orderLine.MatchString(line) {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

// TestPaperProgramsCheckThemselves breaks each program in one place, where a message is received or used, and wants its
// check to say so.
func TestPaperProgramsCheckThemselves(t *testing.T) {
	if testing.Short() {
		t.Skip("many builds; skipped in short mode")
	}
	t.Parallel()
	mpi := Need(t, "mpich")
	mutants := []struct {
		source, right, wrong string
		args                 []string
	}{
		{"bicgstab.c", "sum += row[", "sum += (1 + 1e-6) * row[", []string{"100", "5"}},
		{
			"det.c", "multiply(&product, part);",
			"multiply(&product, (struct product){part.mantissa, part.exponent + 1});", nil,
		},
		{"line.c", "found.pairs += more.pairs;", "found.pairs += more.pairs + 1;", nil},
		{"mesh.c", "strip[0] * STRIP_ROWS + 1", "(strip[0] ^ (strip[0] == 2)) * STRIP_ROWS + 1", nil},
		{"mult.c", "c[j] += factor * row[j];", "c[j] += factor * row[j == 7 ? 8 : j];", nil},
		{"sys.c", "right[i] -= column[i] * x[k];", "right[i] -= column[i] * x[k] * (1 - 1e-6);", nil},
		{"tycho.c", "int i = 0; i < head[1]; i++", "int i = 0; i < head[1] - 1; i++", nil},
		{"wildcard.c", "report_order(", "sum++; report_order(", []string{"recv", "5"}},
		{"flattice.f", "total = total + answers(2, i)", "total = total + 2", nil},
		{"fmandel.f90", "total = total + answer(2)", "total = total + answer(1)", nil},
		{"threads_serialized.c", "sum += value;", "sum += status.MPI_SOURCE;", nil},
	}
	for _, m := range mutants {
		t.Run(m.source, func(t *testing.T) {
			t.Parallel()
			output, status := run(t, mpi, 2, mutant(t, mpi, m.source, m.right, m.wrong), m.args...)
			if status != 1 || !strings.Contains(strings.ToLower(output), "wrong") {
				t.Errorf("with %q instead of %q it exited with %d:\n%s", m.wrong, m.right, status, output)
			}
		})
	}
}

// TestPaperProgramsRefuseArguments: they say how they are called, and exit with 2.
func TestPaperProgramsRefuseArguments(t *testing.T) {
	if testing.Short() {
		t.Skip("many programs; skipped in short mode")
	}
	t.Parallel()
	mpi := Need(t, "mpich")
	for _, c := range paperPrograms() {
		output, status := run(t, mpi, 2, mpi.Build(t, c.source), "0")
		name, _, _ := strings.Cut(c.source, ".")
		if status != 2 || !strings.Contains(output, "usage: "+name) {
			t.Errorf("%s 0 exited with %d and said\n%s", c.source, status, output)
		}
	}
}

// mutant builds a program in which one piece of text is another.
func mutant(t *testing.T, mpi MPI, source, right, wrong string) string {
	t.Helper()
	content, err := os.ReadFile(Source(t, source))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(content), right); n != 1 {
		t.Fatalf("%s holds %q %d times, not once", source, right, n)
	}
	path := filepath.Join(t.TempDir(), source)
	if err := os.WriteFile(path, []byte(strings.Replace(string(content), right, wrong, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	compiler := mpi.Mpicc
	if strings.HasPrefix(filepath.Ext(source), ".f") {
		compiler = mpi.Mpifort
	}
	binary := strings.TrimSuffix(path, filepath.Ext(path))
	flags := append([]string{"-I", filepath.Dir(Source(t, source))}, buildFlags...)
	if err := compile(compiler, path, flags, binary); err != nil {
		t.Fatal(err)
	}
	return binary
}
