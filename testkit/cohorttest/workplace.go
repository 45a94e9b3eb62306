package cohorttest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// Patience bounds every wait for something that must happen; what can no longer happen fails at once. It only ends what
// hangs, however busy the machine is.
const Patience = 5 * time.Minute

// Workplace is where one test runs cohort: its own directories, and a mark on all processes.
type Workplace struct {
	T      *testing.T
	MPI    mpitest.MPI
	Dir    string
	Cohort string          // its path
	Ctx    context.Context //nolint:containedctx // ends with the test
}

var workplaces atomic.Int64

// New checks at the end of the test that no process and no directory of a job is left. Tests that have a workplace run
// whole jobs, and are skipped in short mode.
func New(t *testing.T, mpi mpitest.MPI) *Workplace {
	t.Helper()
	Slow(t)
	if base == "" {
		t.Fatal("cohorttest: the package has no TestMain that calls cohorttest.Main")
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	dir := filepath.Join(base, strconv.FormatInt(workplaces.Add(1), 10))
	w := &Workplace{T: t, MPI: mpi, Dir: dir, Cohort: binary(t), Ctx: ctx}
	if err := os.MkdirAll(w.Path("run"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.NothingLeft()
		killMarked(dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Slow skips tests of whole jobs in short mode.
func Slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs whole jobs; skipped in short mode")
	}
}

// Left returns the processes and the directories of jobs that are left, after a moment for those that are about to go.
func (w *Workplace) Left() []string {
	return awaitNone(func() []string {
		dirs, err := filepath.Glob(w.Path("run/*"))
		if err != nil {
			return []string{err.Error()}
		}
		return append(w.Processes(), dirs...)
	})
}

// NothingLeft checks that no process and no directory of a job is left.
func (w *Workplace) NothingLeft() {
	w.T.Helper()
	if left := w.Left(); len(left) > 0 {
		w.T.Errorf("left behind: %v", left)
	}
}

// Processes lists the processes that were started here: "PID COMMAND".
func (w *Workplace) Processes() []string { return marked(w.Dir) }

// Path is that of a file here.
func (w *Workplace) Path(name string) string { return filepath.Join(w.Dir, name) }

// Variables are what is special in the environment of processes here: their mark, where jobs have their directories,
// and cohort first on PATH.
func (w *Workplace) Variables() []string {
	return []string{
		markVar + "=" + w.Dir, "XDG_RUNTIME_DIR=" + w.Path("run"),
		"PATH=" + filepath.Dir(w.Cohort) + ":" + os.Getenv("PATH"),
	}
}

// Command prepares a cohort. One that hangs is asked for its goroutines when the test's patience ends.
func (w *Workplace) Command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.Ctx, w.Cohort, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = EndLimit
	cmd.Dir = w.Dir
	cmd.Env = append(w.MPI.Env(), w.Variables()...)
	return cmd
}

// Run runs cohort to its end, with empty input.
func (w *Workplace) Run(args ...string) (output string, status int) {
	w.T.Helper()
	cmd := w.Command(args...)
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		w.T.Fatalf("cohort %v: %v\n%s", args, err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
