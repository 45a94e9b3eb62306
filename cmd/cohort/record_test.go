package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// cohortCommand prepares this test binary as cohort; testscript put it into PATH.
func cohortCommand(t *testing.T, mpi mpitest.MPI, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("cohort")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // it hangs: its goroutines are printed
	cmd.WaitDelay = endLimit
	cmd.Env = mpi.Env()
	return cmd
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := err.(*exec.ExitError) //nolint:errorlint // exec returns it as it is
	if !ok {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

func TestExitStatuses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := mpi.Build(t, "exitcode.c")
		dir := func() string { return filepath.Join(t.TempDir(), "r.cohort") }
		for name, c := range map[string]struct {
			args []string
			code int
			says string
		}{
			"no command":      {[]string{"frobnicate"}, exitUsage, "There is no command"},
			"no flag":         {[]string{"record", "--frobnicate"}, exitUsage, "cohort help record"},
			"no program":      {[]string{"record", "-o", dir()}, exitUsage, "No program was named"},
			"before the dash": {[]string{"record", "-o", dir(), "x", "--", program}, exitUsage, "stands before"},
			"no output":       {[]string{"record", "--", program}, exitUsage, "-o NAME.cohort"},
			"missing":         {[]string{"record", "-o", dir(), "--", "/nosuch"}, exitUsage, "does not exist"},
			"not MPI": {
				[]string{"record", "-o", dir(), "--", mpitest.BuildPlain(t, "nompi.c")},
				exitUsage,
				"not linked to an MPI",
			},
			"not executable": {
				[]string{"record", "-o", dir(), "--", mpitest.Source(t, "hello.c")},
				exitUsage,
				"not executable",
			},
			"no recording": {[]string{"replay", "/nosuch.cohort"}, exitUsage, "no such directory"},
			"status": {
				[]string{"record", "-n", "2", "-o", dir(), "--", program, "1", "3"},
				3,
				"exited with status 3",
			},
			"status, labelled": {
				[]string{"record", "-n", "2", "-o", dir(), "--label", "--", program, "1", "4"},
				4,
				"exited with status 4",
			},
			"signal": {
				[]string{"record", "-n", "2", "-o", dir(), "--", mpi.Build(t, "crash.c"), "1"},
				128 + 11, "was ended by SIGSEGV",
			},
			"ranks": {[]string{"record", "-n", "0", "-o", dir(), "--", program}, exitUsage, "at least 1"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cmd := cohortCommand(t, mpi, c.args...)
				out, err := cmd.CombinedOutput()
				if code := exitCode(t, err); code != c.code || !strings.Contains(string(out), c.says) {
					t.Errorf("status %d, want %d; it said:\n%s\nwant %q", code, c.code, out, c.says)
				}
			})
		}
	})
}

// Ctrl-C ends the run and tells what was kept; that replays.
func TestCtrlC(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		dir := filepath.Join(t.TempDir(), "r.cohort")
		cmd := cohortCommand(t, mpi, "record", "-n", "2", "-o", dir, "--", mpi.Build(t, "deadlock.c"))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for range 2 { // both are past MPI_Init: a rank that is not has no trace, and its run cannot be replayed
			if line, err := lines.ReadString('\n'); !strings.HasPrefix(line, "deadlock: rank ") || err != nil {
				t.Fatalf("it said %q, %v\n%s", line, err, stderr.String())
			}
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, lines); err != nil {
			t.Error(err)
		}
		if code := exitCode(t, cmd.Wait()); code != exitInterrupted ||
			!strings.Contains(stderr.String(), "kept in "+dir) {
			t.Errorf("status %d, want %d; it said:\n%s", code, exitInterrupted, stderr.String())
		}
		replay := cohortCommand(t, mpi, "replay", dir)
		text, err := replay.CombinedOutput()
		if code := exitCode(t, err); code != exitOK || !strings.Contains(string(text), "cut short") {
			t.Errorf("replay: status %d; it said:\n%s", code, text)
		}
	})
}

func TestLabels(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich")
	cmd := cohortCommand(t, mpi, "record", "-n", "4", "--label", "-o", filepath.Join(t.TempDir(), "r.cohort"), "--",
		mpi.Build(t, "output.c"), "3")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for i, line := range strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n") {
		if !strings.HasPrefix(line, "[") {
			t.Errorf("line %d has no label: %q", i, line)
		}
	}
	// Equal lines are shown once, unless the ranks were far apart; so often all of them.
	if n := strings.Count(stdout.String(), "stdout line 1, the same on every rank\n"); n < 1 || n > 4 {
		t.Errorf("a line of four ranks is shown %d times", n)
	}
	if !strings.Contains(stdout.String(), "[3] output: stdout of rank 3\n") ||
		!strings.Contains(stderr.String(), "[3] output: stderr of rank 3\n") {
		t.Errorf("stdout:\n%s\nstderr:\n%s", stdout.String(), stderr.String())
	}
}
