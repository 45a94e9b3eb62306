package tool_test

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/internal/tool"
)

func TestAsk(t *testing.T) {
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	out, err := tool.Ask(t.Context(), "sh", "-c", `echo "to stdout, $LC_ALL"; echo to stderr >&2`)
	if want := "to stdout, C\nto stderr\n"; err != nil || out != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
	var exit *exec.ExitError
	if out, err := tool.Ask(t.Context(), "sh", "-c", "echo why; exit 3"); !errors.As(err, &exit) ||
		exit.ExitCode() != 3 || out != "why\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := tool.Ask(t.Context(), "/nonexistent"); err == nil {
		t.Error("a program that is not there answered")
	}
}

// A program that has ended may have left another that holds its output.
func TestAskDoesNotWaitForStrangers(t *testing.T) {
	start := time.Now()
	out, err := tool.Ask(t.Context(), "sh", "-c", "sleep 100 & echo $!")
	took := time.Since(start)
	var stranger int
	if _, scanErr := fmt.Sscan(out, &stranger); scanErr != nil {
		t.Fatalf("it said %q: %v", out, scanErr)
	}
	if err := syscall.Kill(stranger, syscall.SIGKILL); err != nil {
		t.Errorf("the program left behind: %v", err)
	}
	if !errors.Is(err, exec.ErrWaitDelay) || took >= tool.Timeout {
		t.Errorf("%v after %v", err, took)
	}
}
