package cohorttest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// cleanVar asks a test binary to be the process that cleans up after another; its value is base of that.
const cleanVar = "COHORT_TEST_CLEAN"

// base is the directory of all that a test process has: its cohort, and its workplaces. Set by Main.
var base string

// Main runs the tests of a package, and cleans up: its last act is os.Exit.
func Main(m *testing.M) {
	if dir, ok := os.LookupEnv(cleanVar); ok {
		if err := cleanUp(os.Stdin, dir); err != nil {
			fmt.Fprintln(os.Stderr, "cohorttest: cleaning up:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	status, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cohorttest:", err)
		status = 1
	}
	os.Exit(status)
}

func runTests(m *testing.M) (status int, err error) {
	if err := proctest.NoExitPause(); err != nil {
		return 0, err
	}
	for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
		if err := os.Setenv(name, "1"); err != nil {
			return 0, err
		}
	}
	// Not t.TempDir: names of sockets are short.
	if base, err = os.MkdirTemp("", "cohort-test-*"); err != nil {
		return 0, err
	}
	ended, err := startCleaner(base)
	if err != nil {
		return 0, errors.Join(err, os.RemoveAll(base))
	}
	status = m.Run()
	return status, ended()
}

// startCleaner starts the process that cleans up when this one has ended, however that was; the function that it
// returns has it do so now, and waits.
func startCleaner(dir string) (ended func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), cleanVar+"="+dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting what cleans up after the tests: %w", err)
	}
	return func() error { return errors.Join(in.Close(), cmd.Wait()) }, nil
}

// cleanUp waits for the end of the process that has the other end of the pipe, and removes what it has left.
func cleanUp(pipe io.Reader, dir string) error {
	if _, err := io.Copy(io.Discard, pipe); err != nil {
		return err
	}
	left := awaitNone(func() []string {
		killMarked(dir)
		return marked(dir)
	})
	if len(left) > 0 {
		return fmt.Errorf("these processes do not end: %v", left)
	}
	return os.RemoveAll(dir)
}
