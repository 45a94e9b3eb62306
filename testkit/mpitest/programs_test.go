package mpitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// run runs a program to its end and returns what it wrote to standard output and standard error, and its exit status.
func run(t *testing.T, mpi MPI, n int, prog string, args ...string) (output string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := mpi.Command(ctx, n, prog, args...)
	var buffer bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buffer, &buffer
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("%v: %v (%v)\n%s", cmd.Args, err, ctx.Err(), buffer.String())
	}
	return buffer.String(), cmd.ProcessState.ExitCode()
}

// succeed is run for a program that must exit with 0.
func succeed(t *testing.T, mpi MPI, n int, prog string, args ...string) string {
	t.Helper()
	output, status := run(t, mpi, n, prog, args...)
	if status != 0 {
		t.Fatalf("%s %v exited with %d:\n%s", prog, args, status, output)
	}
	return output
}

func programs(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.c", "*.f", "*.f90"} {
		paths, err := filepath.Glob(filepath.Join(Root(t), "testprograms", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			names = append(names, filepath.Base(path))
		}
	}
	if len(names) == 0 {
		t.Fatal("testprograms/ holds no programs")
	}
	return names
}

func TestProgramsBuildWithoutWarnings(t *testing.T) {
	EachParallel(t, func(t *testing.T, mpi MPI) {
		for _, name := range programs(t) {
			switch {
			case name == "nompi.c":
				BuildPlain(t, name, "-Werror")
			case filepath.Ext(name) == ".f":
				mpi.Build(t, name, "-Werror", "-Wno-unused-parameter") // mpif.h declares very many
			case filepath.Ext(name) == ".c":
				// gcc 12 misunderstands MPICH's MPI_STATUSES_IGNORE
				mpi.Build(t, name, "-Werror", "-Wno-stringop-overflow")
			default:
				mpi.Build(t, name, "-Werror")
			}
		}
	})
}

func TestPhases(t *testing.T) {
	EachParallel(t, func(t *testing.T, mpi MPI) {
		// Alone on its rank 0 it has nobody to wait for; with workers it may hang, which is what it is for.
		if output := succeed(t, mpi, 1, mpi.Build(t, "phases.c")); !strings.HasPrefix(output,
			"phases: rank 0 has the sum 0") {
			t.Errorf("printed %q", output)
		}
	})
}

func TestTsp(t *testing.T) {
	EachParallel(t, func(t *testing.T, mpi MPI) {
		prog := mpi.Build(t, "tsp.c")
		for _, cities := range []string{"cities10.txt", "cities12.txt", "cities15.txt", "cities18.txt"} {
			if cities == "cities18.txt" && (testing.Short() || mpi.Name != "mpich") {
				continue // it takes ten seconds of computing, whatever the MPI
			}
			wanted := optimum(t, cities)
			output := succeed(t, mpi, 4, prog, Source(t, cities))
			if !strings.Contains(output, fmt.Sprintf("tour length %d:", wanted)) {
				t.Errorf("%s: no tour of length %d in\n%s", cities, wanted, output)
			}
			orders, err := ParseOrders(output, 4)
			if err != nil {
				t.Fatal(err)
			}
			if handedOut := orders[1].Tasks + orders[2].Tasks + orders[3].Tasks; orders[0].Tasks != handedOut {
				t.Errorf("%s: the master handed out %d tasks, the workers received %d", cities, orders[0].Tasks,
					handedOut)
			}
		}
	})
}

// differs runs a program until its order hashes differ from those of the first run on every rank that must race, at
// most `most` times: the order is up to the machine, so no number of equal runs proves that it cannot differ.
func differs(t *testing.T, mpi MPI, ranks []int, prog string, args ...string) {
	t.Helper()
	const n, most = 4, 20
	var first []Order
	left := slices.Clone(ranks)
	for range most {
		orders, err := ParseOrders(succeed(t, mpi, n, prog, args...), n)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = orders
		}
		left = slices.DeleteFunc(left, func(rank int) bool { return orders[rank].Order != first[rank].Order })
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("%s %v: ranks %v took their messages in the same order in all of %d runs", prog, args, left, most)
}

func TestOrdersDiffer(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs; skipped in short mode")
	}
	EachParallel(t, func(t *testing.T, mpi MPI) {
		all := []int{0, 1, 2, 3}
		differs(t, mpi, all, mpi.Build(t, "tsp.c"), Source(t, "cities15.txt"))
		// Where ranks spin, as with MPICH, they take turns in mode recv, often the same ones in run after run.
		differs(t, mpi, all, mpi.Build(t, "wildcard.c"), "sendrecv", "20")
		differs(t, mpi, []int{0}, mpi.Build(t, "fintegrate.f90"))
	})
}

func TestWildcard(t *testing.T) {
	EachParallel(t, func(t *testing.T, mpi MPI) {
		prog := mpi.Build(t, "wildcard.c")
		modes := []string{
			"recv", "testsome", "iprobe", "probe", "mprobe", "improbe", "imrecv", "sendrecv", "sendrecv_replace",
			"irecv", "wait", "waitsome", "waitall",
			"test", "get_status", "testall", "testany", "persistent", "startall", "cancel",
		}
		if testing.Short() {
			modes = modes[:2]
		}
		for _, mode := range modes {
			orders, err := ParseOrders(succeed(t, mpi, 3, prog, mode, "10"), 3)
			if err != nil {
				t.Fatalf("%s: %v", mode, err)
			}
			for _, order := range orders {
				if order.Tasks != 20 {
					t.Errorf("%s: rank %d took %d messages, not 20", mode, order.Rank, order.Tasks)
				}
			}
		}
	})
}

func TestHeat(t *testing.T) {
	residual := regexp.MustCompile(`residual (\S+)`)
	EachParallel(t, func(t *testing.T, mpi MPI) {
		prog := mpi.Build(t, "heat.c")
		answers := map[string]bool{}
		for _, n := range []int{1, 2, 3, 4} {
			output := succeed(t, mpi, n, prog, "33", "40")
			match := residual.FindStringSubmatch(output)
			if match == nil || !strings.Contains(output, "right: ") {
				t.Fatalf("%d ranks: neither a residual nor a comparison in\n%s", n, output)
			}
			answers[match[1]] = true
		}
		if len(answers) != 1 {
			t.Errorf("the residual depends on the number of ranks: %v", answers)
		}
	})
}

func TestFintegrate(t *testing.T) {
	EachParallel(t, func(t *testing.T, mpi MPI) {
		output := succeed(t, mpi, 3, mpi.Build(t, "fintegrate.f90"), "50")
		if _, err := ParseOrders(output, 3); err != nil {
			t.Error(err)
		}
		if !strings.Contains(output, "integral  3.14159265") {
			t.Errorf("the integral is not pi:\n%s", output)
		}
	})
}

// TestSmallPrograms runs each program that ends by itself and looks for lines that it must print.
func TestSmallPrograms(t *testing.T) {
	cases := []struct {
		source string
		n      int
		args   []string
		status int
		lines  []string
	}{
		{"hello.c", 3, nil, 0, []string{"hello: rank 0 of 3", "hello: rank 1 of 3", "hello: rank 2 of 3"}},
		{"stdin.c", 2, nil, 0, []string{"stdin: rank 0: 0 lines", "stdin: rank 1: 0 lines"}},
		{"output.c", 2, []string{"1"}, 0, []string{
			"output: stdout line 1, the same on every rank", "output: stdout of rank 1",
			"output: stderr line 1, the same on every rank", "output: stderr of rank 1",
			"output: a last line that does not end",
		}},
		{"threads.c", 3, nil, 0, []string{
			"threads: rank 0: token 572, result 0",
			"threads: rank 2: token 572, result 6",
		}},
		{"thread_multiple.c", 2, nil, 0, []string{"thread_multiple: rank 0: ", "thread_multiple: rank 1: "}},
		{
			"uncovered.c", 2, nil, 0,
			[]string{"uncovered: rank 0: read 101: right", "uncovered: rank 1: read 100: right"},
		},
		{"rma.c", 3, nil, 0, []string{
			"rma: rank 0: fetched 101", "rma: rank 1: fetched 102",
			"rma: rank 2: fetched 100",
		}},
		{"datatypes.c", 2, nil, 0, []string{"datatypes: rank 0: right", "datatypes: rank 1: right"}},
		{"particles.c", 1, nil, 0, []string{"particles: rank 0: right"}},
		{"particles.c", 3, nil, 0, []string{
			"particles: rank 0: right", "particles: rank 1: right",
			"particles: rank 2: right",
		}},
		{"fparticles.f90", 1, nil, 0, []string{"fparticles: rank 0: right"}},
		{"fparticles.f90", 3, nil, 0, []string{
			"fparticles: rank 0: right", "fparticles: rank 1: right",
			"fparticles: rank 2: right",
		}},
		{"exitcode.c", 2, []string{"1", "5"}, 5, nil},
		{"othertag.c", 2, nil, 0, []string{"othertag: tag 1"}},
		{"exitcode.c", 2, []string{"0", "7", "abort"}, 7, nil},
		{"tsp.c", 2, []string{"no-such-file"}, 2, []string{"tsp: cannot open the cities file no-such-file"}},
		{"wildcard.c", 2, []string{"no-such-mode"}, 2, []string{"usage: wildcard"}},
		{"heat.c", 2, []string{"1"}, 2, []string{"usage: heat"}},
	}
	EachParallel(t, func(t *testing.T, mpi MPI) {
		for _, c := range cases {
			if testing.Short() && c.status != 0 {
				continue // Open MPI takes a second to end a job that failed
			}
			output, status := run(t, mpi, c.n, mpi.Build(t, c.source), c.args...)
			if status != c.status {
				t.Errorf("%s %v exited with %d, not %d:\n%s", c.source, c.args, status, c.status, output)
			}
			for _, line := range c.lines {
				if !strings.Contains(output, line) {
					t.Errorf("%s %v: no %q in\n%s", c.source, c.args, line, output)
				}
			}
		}
	})
}

// TestBadEnds: the others wait for a rank that is gone, so that run ends at all is the test. With what status is up to
// the launcher: that of MPICH 4.2.1 says 0.
func TestBadEnds(t *testing.T) {
	EachParallel(t, func(t *testing.T, mpi MPI) {
		run(t, mpi, 2, mpi.Build(t, "crash.c"), "1")
		run(t, mpi, 2, mpi.Build(t, "exitcode.c"), "0", "6", "early")
	})
}

func TestStdinReachesRankZero(t *testing.T) {
	EachParallel(t, func(t *testing.T, mpi MPI) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := mpi.Command(ctx, 2, mpi.Build(t, "stdin.c"))
		cmd.Stdin = strings.NewReader("one\ntwo\n")
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("stdin: %v\n%s", err, output)
		}
		for _, line := range []string{"stdin: line 1: one", "stdin: line 2: two", "stdin: rank 1: 2 lines"} {
			if !strings.Contains(string(output), line) {
				t.Errorf("no %q in\n%s", line, output)
			}
		}
	})
}

func TestNompi(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), BuildPlain(t, "nompi.c"), "a", "b c").CombinedOutput()
	if want := "nompi: argument 1: a\nnompi: argument 2: b c\nnompi: done\n"; err != nil || string(output) != want {
		t.Errorf("nompi: %v, wrote\n%swanted\n%s", err, output, want)
	}
}
