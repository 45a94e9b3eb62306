package dap

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/internal/prose"
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

// quietly is refuse for what whoever asks shows.
func quietly(format string, args ...any) error {
	return &requestError{text: fmt.Sprintf(format, args...), quiet: true}
}

// notStopped is the answer to a request that needs a stopped rank.
func notStopped(format string, args ...any) error {
	return &requestError{text: fmt.Sprintf(format, args...), short: shortNotStopped, quiet: true}
}

// Refusal is implemented by errors of a Starter that mean: nothing was started, because what was asked cannot work.
type Refusal interface {
	error
	Refusal() bool
}

// errorID tells those who start programs, and have to end with a status, whether trying again as it is makes sense.
func errorID(err error) int {
	var refusal Refusal
	if errors.As(err, new(*requestError)) || errors.As(err, &refusal) && refusal.Refusal() {
		return protocol.ErrorRefused
	}
	return protocol.ErrorFailed
}

// errCancelled is the cause of the context of a request that the client cancelled.
var errCancelled = errors.New("cancelled by the client")

// errGone is the cause of the contexts of a connection that has ended.
var errGone = errors.New("the connection has ended")

// describeError turns an error into what the client is told: the text, DAP's short form of it, and whether the editor
// shall show it by itself.
// Names of requests and of commands of the console keep their case.
func describeError(ctx context.Context, command, asked string, err error) (text, short string, show bool) {
	cause := context.Cause(ctx)
	text = prose.Sentence(err.Error(), command, asked)
	own, ours := errors.AsType[*requestError](err)
	_, state := errors.AsType[*backend.StateError](err)
	switch {
	case errors.Is(cause, errCancelled):
		return fmt.Sprintf("The request %s was cancelled.", command), shortCancelled, false
	case errors.Is(cause, errGone) && errors.Is(err, context.Canceled):
		return fmt.Sprintf("The request %s was cancelled because the session ends.", command), shortCancelled, false
	case ours:
		text = prose.Sentence(own.text, command, asked)
		return text, cmp.Or(own.short, text), !own.quiet
	case state:
		return text, shortNotStopped, false
	}
	return text, text, true
}

func sentence(text string) string { return prose.Sentence(text) }
