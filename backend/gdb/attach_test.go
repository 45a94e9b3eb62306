package gdb

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
)

// A process that is attached to is stopped where it is, belongs to one debugger, and runs on at the end.
func TestAttach(t *testing.T) {
	sleep := exec.Command("sleep", "600")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	request := backend.LaunchRequest{Attach: sleep.Process.Pid}
	first, second := newSession(t, Options{}), newSession(t, Options{})
	got, err := first.Launch(testContext(t), request)
	if err != nil {
		t.Fatal(err)
	}
	if got.Pid != sleep.Process.Pid || got.Stop.Reason != backend.ReasonPause || len(got.Stop.Frames) == 0 {
		t.Errorf("got %+v", got)
	}
	_, err = second.Launch(testContext(t), request)
	var refused *backend.LaunchError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "not permitted") ||
		!strings.Contains(refused.Reason, "ptrace_scope") {
		t.Errorf("a second debugger: %v", err)
	}
	if err := first.Kill(testContext(t)); err != nil {
		t.Error(err)
	}
	if err := sleep.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	// It has not ended before, and is not stopped: a process that is would not end by this.
	if err := sleep.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the process ended: %v", err)
	}
}
