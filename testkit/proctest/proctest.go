// Package proctest is about the processes that tests start: how one ends, and how it ends with its test.
//
// **Invariant:** nothing here depends on which thread forked. The kernel's parent-death signal is sent when that thread
// ends, which in a test that starts jobs may be long before the process does.
package proctest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// EndWithParent makes a helper process, such as a test binary that another has started, end by SIGKILL as soon as its
// parent has ended, however that ended: a test binary that is killed, or that `go test` stops at its timeout, runs no
// cleanup. Call it first of all. The error says why it cannot be done; then the helper should not continue.
func EndWithParent() error {
	parent := os.Getppid()
	fd, err := unix.PidfdOpen(parent, 0)
	if err != nil {
		return fmt.Errorf("watching the parent, process %d: %w", parent, err)
	}
	if os.Getppid() != parent {
		return fmt.Errorf("the parent, process %d, has ended already", parent)
	}
	go func() {
		if err := awaitEnd(fd, -1); err != nil {
			fmt.Fprintf(os.Stderr, "waiting for the end of the parent, process %d: %v\n", parent, err)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // cannot fail
	}()
	return nil
}

// NoExitPause lets programs with the race detector that this process starts end at once: by itself the detector has
// each sleep for a second at its end, and a job has one such program for each rank. Call it in TestMain.
func NoExitPause() error {
	const pause = "atexit_sleep_ms"
	options := os.Getenv("GORACE")
	if strings.Contains(options, pause) {
		return nil
	}
	if err := os.Setenv("GORACE", strings.TrimSpace(options+" "+pause+"=0")); err != nil {
		return fmt.Errorf("telling the race detector not to wait: %w", err)
	}
	return nil
}

// awaitEnd waits for the end of the process of a pidfd, without limit if that is negative.
func awaitEnd(fd int, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		timeout := -1
		if limit >= 0 {
			timeout = max(0, int(time.Until(deadline).Milliseconds()))
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, timeout)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("polling a pidfd: %w", err)
		case n == 0:
			return fmt.Errorf("it has not ended after %v", limit)
		default:
			return nil
		}
	}
}

// patience is how long a process may take to end after it was killed, on a machine that is busy.
const patience = time.Minute

// WaitGone waits until a process has ended, be it a child or not. A child that nobody waits for counts as ended.
func WaitGone(t testing.TB, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if err := awaitEnd(fd, patience); err != nil {
		t.Errorf("process %d: %v", pid, err)
	}
}
