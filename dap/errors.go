package dap

import (
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
)

// Short forms that DAP defines for a failed response's `message`; editors know them.
const (
	shortCancelled  = "cancelled"
	shortNotStopped = "notStopped"
)

// A requestError is an answer for people: whole sentences that say what was asked, what was found and what to do.
type requestError struct {
	text  string
	short string // DAP's short form, or "" for the text itself
	quiet bool   // the editor need not show it by itself
}

func (e *requestError) Error() string { return e.text }

// refuse makes a requestError.
func refuse(format string, args ...any) error {
	return &requestError{text: fmt.Sprintf(format, args...)}
}

// notStopped is the answer to a request that needs a stopped rank.
func notStopped(format string, args ...any) error {
	return &requestError{text: fmt.Sprintf(format, args...), short: shortNotStopped, quiet: true}
}

// errCancelled is the cause of the context of a request that the client cancelled.
var errCancelled = errors.New("cancelled by the client")

// errGone is the cause of the contexts of a connection that has ended.
var errGone = errors.New("the connection has ended")

// describeError turns an error into what the client is told: the text, DAP's short form of it, and whether the editor shall show it by itself.
func describeError(ctx context.Context, command string, err error) (text, short string, show bool) {
	var own *requestError
	var state *backend.StateError
	switch cause := context.Cause(ctx); {
	case cause != nil && errors.Is(cause, errCancelled):
		return fmt.Sprintf("The request %s was cancelled.", command), shortCancelled, false
	case cause != nil && errors.Is(cause, errGone) && errors.Is(err, context.Canceled):
		return fmt.Sprintf("The request %s was given up because the session ends.", command), shortCancelled, false
	case errors.As(err, &own):
		short = own.short
		if short == "" {
			short = sentence(own.text)
		}
		return sentence(own.text), short, !own.quiet
	case errors.As(err, &state):
		return sentence(err.Error()), shortNotStopped, false
	default:
		return sentence(err.Error()), sentence(err.Error()), true
	}
}

// sentence gives text a capital at its start, if it starts with a plain word, and a full stop at its end.
func sentence(text string) string {
	if text == "" {
		return text
	}
	b := []byte(text)
	// Names of programs, files and DAP requests at the start keep their case: only a word of small letters that is followed by a blank is a plain one.
	for i, c := range b {
		if c == ' ' {
			if i > 0 && !keepCase(string(b[:i])) {
				b[0] -= 'a' - 'A'
			}
			break
		}
		if c < 'a' || c > 'z' {
			break
		}
	}
	switch b[len(b)-1] {
	case '.', '!', '?', '\n', ':', '"', '`':
		return string(b)
	}
	return string(b) + "."
}

// keepCase tells whether a word is the name of a request or a program rather than English.
func keepCase(word string) bool {
	switch word {
	case "initialize", "launch", "attach", "disconnect", "terminate", "cancel", "continue", "next", "pause", "threads", "source", "scopes", "variables",
		"evaluate", "completions", "cut", "runto", "ranks", "focus":
		return true
	case "cohort", "gdb", "mpipp", "mpiexec", "mpirun", "srun":
		return true
	}
	return false
}
