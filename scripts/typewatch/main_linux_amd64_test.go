package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// runVar makes the test binary the command: its arguments are those of typewatch.
const runVar = "TYPEWATCH_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(runVar) == "1" {
		main()
	}
	os.Exit(m.Run())
}

// watched runs a program of testprograms with two watched ranks and returns their reports.
func watched(t *testing.T, mpi mpitest.MPI, program string, args ...string) (reports []string, output string,
	err error,
) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	lib, err := pmpi.Build(ctx, pmpi.Options{Mpicc: mpi.Mpicc})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	all := append([]string{"-lib", lib.Path, "-report", dir, mpi.Build(t, program)}, args...)
	cmd := mpi.Command(ctx, 2, "env", append([]string{runVar + "=1", self}, all...)...)
	text, err := cmd.CombinedOutput()
	files, globErr := filepath.Glob(filepath.Join(dir, "*.types"))
	if globErr != nil {
		t.Fatal(globErr)
	}
	for _, f := range files {
		report, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, string(report))
	}
	return reports, string(text), err
}

func TestEveryTypeIsDecoded(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs MPI programs")
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		reports, output, err := watched(t, mpi, "datatypes.c")
		if err != nil || len(reports) != 2 || strings.Count(output, "right") != 2 {
			t.Fatalf("%d reports, %v:\n%s", len(reports), err, output)
		}
		for _, r := range reports {
			for _, want := range []string{
				"status 0\n", "kind DARRAY 1\n", "kind F90_REAL 1\n", "kind STRUCT ",
				"types 16,",
			} {
				if !strings.Contains(r, want) || strings.Contains(r, "PROBLEM") {
					t.Errorf("no %q, or a problem, in\n%s", want, r)
				}
			}
		}
	})
}

// TestStatusIsThePrograms: what the program returns is what the launcher sees.
func TestStatusIsThePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs an MPI program")
	}
	reports, _, err := watched(t, mpitest.Need(t, "mpich"), "exitcode.c", "0", "3")
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() == 0 { //nolint:errorlint // Cmd returns it as it is
		t.Errorf("a program that fails: %v, %q", err, reports)
	}
}

func TestProblemsAreReported(t *testing.T) {
	w := watch{}
	for range mostProblems + 3 {
		w.problemf("something %d", 1)
	}
	if text := w.text(); strings.Count(text, "PROBLEM something 1\n") != mostProblems ||
		!strings.Contains(text, "PROBLEM and 3 more\n") {
		t.Error(text)
	}
	w = watch{}
	w.freed(strings.NewReader(""), 4096, 0)
	if text := w.text(); !strings.Contains(text, "PROBLEM the registry") || !strings.Contains(text, "types 1,") {
		t.Error(text)
	}
}
