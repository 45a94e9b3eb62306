package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/script"
	"github.com/cohort-debugger/cohort/session"
)

// The exit statuses of cohort. Those of `cohort record` are the program's own, see docs of that command.
const (
	exitOK          = 0
	exitFailure     = 1   // something went wrong on the way
	exitUsage       = 2   // refused before anything was started: bad flags, or bad input
	exitDiverged    = 3   // the replay left the recording
	exitExpectation = 4   // an expectation of a script is unmet or unmeetable
	exitProgram     = 5   // batch: the program crashed, aborted or failed
	exitNoProgress  = 6   // batch: the ranks did not get on
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

// endWith ends a command that has said everything with a status.
func endWith(status int) error {
	if status == exitOK {
		return nil
	}
	return &exitError{Code: status}
}

// usageError is what cobra says about flags and arguments.
func usageError(format string, args ...any) error {
	return &exitError{Code: exitUsage, Err: fmt.Errorf(format, args...)}
}

// exitStatus maps an error to a status; the one place that does.
func exitStatus(err error) int {
	var exit *exitError
	var interrupted *interruptedError
	var request *client.RequestError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &interrupted):
		return 128 + int(interrupted.signal)
	case errors.As(err, &request):
		// Of what a debugging session asks only launch comes before anything has been started.
		if request.Command == "launch" && request.ID == protocol.ErrorRefused {
			return exitUsage
		}
		return exitFailure
	case errors.Is(err, script.ErrExpectation):
		return exitExpectation
	case session.IsRefusal(err):
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
	text := strings.TrimRight(err.Error(), "\n")
	if exit == nil { // else it was written here, and may end with a command to be copied
		text = prose.Sentence(text)
	}
	fmt.Fprintf(std.Err, "cohort: %s\n", text) //nolint:errcheck // nowhere else to say it
}

// interruptedError is the cause with which a command's context ends after a signal.
type interruptedError struct{ signal syscall.Signal }

func (e *interruptedError) Error() string { return "interrupted by " + unix.SignalName(e.signal) }

// withSignals gives a context that ends when cohort is asked to end (Ctrl-C, SIGTERM, SIGHUP), with an
// *interruptedError as its cause. A second signal kills cohort as if it had no handler; its agents notice and end the
// ranks. Somebody who receives from interrupts, which may be nil, gets a Ctrl-C instead, which then ends nothing.
func withSignals(parent context.Context, interrupts chan<- struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGINT && offered(interrupts) {
					continue
				}
				signal.Stop(signals)
				cancel(
					&interruptedError{signal: s.(syscall.Signal)},
				) //nolint:errcheck,forcetypeassert // what Notify was given
			case <-done:
			}
			return
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// offered tells whether somebody was waiting for an interrupt, and has it now.
func offered(interrupts chan<- struct{}) bool {
	select {
	case interrupts <- struct{}{}:
		return true
	default:
		return false
	}
}
