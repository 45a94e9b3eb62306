package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/trace"
)

// The exit statuses of cohort. Those of `cohort record` are the program's own, see docs of that command.
const (
	exitOK          = 0
	exitFailure     = 1   // something went wrong on the way
	exitUsage       = 2   // refused before anything was started: bad flags, or bad input
	exitDiverged    = 3   // the replay left the recording
	exitInterrupted = 130 // ended by Ctrl-C (128 + SIGINT); other signals likewise
)

// exitError ends a command with a status. Err nil: everything has been said already.
type exitError struct {
	Code int
	Err  error
}

func (e *exitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

func (e *exitError) Unwrap() error { return e.Err }

// usageError is what cobra says about flags and arguments.
func usageError(format string, args ...any) error {
	return &exitError{Code: exitUsage, Err: fmt.Errorf(format, args...)}
}

// exitStatus maps an error to a status; the one place that does.
func exitStatus(err error) int {
	var exit *exitError
	var interrupted *interruptedError
	var refused *launch.RefusedError
	var program *pmpi.ProgramError
	var missing *pmpi.MissingError
	var notRecording *trace.NotRecordingError
	var exists *trace.ExistsError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &interrupted):
		return 128 + int(interrupted.signal)
	case errors.As(err, &refused), errors.As(err, &program), errors.As(err, &missing), errors.As(err, &notRecording), errors.As(err, &exists):
		return exitUsage
	default:
		return exitFailure
	}
}

// sayError prints what the error says, if that has not been said.
func sayError(std streams, err error) {
	var exit *exitError
	if errors.As(err, &exit) && exit.Err == nil {
		return
	}
	fmt.Fprintf(std.Err, "cohort: %s\n", strings.TrimRight(err.Error(), "\n")) //nolint:errcheck // nowhere else to say it
}

// interruptedError is the cause with which a command's context ends after a signal.
type interruptedError struct{ signal syscall.Signal }

func (e *interruptedError) Error() string { return "interrupted by " + e.signal.String() }

// withSignals gives a context that ends when cohort is asked to end (Ctrl-C, SIGTERM, SIGHUP), with an *interruptedError as its cause. A second
// signal kills cohort as if it had no handler; its agents notice and end the ranks.
func withSignals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(&interruptedError{signal: s.(syscall.Signal)})
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
