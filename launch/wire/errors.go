package wire

import (
	"context"
	"errors"

	"github.com/cohort-debugger/cohort/backend"
)

// ErrorKind keeps the type of an error across the connection.
type ErrorKind int

// The kinds.
const (
	KindOther ErrorKind = iota
	KindEnded
	KindState
	KindLaunch
	KindUnsupported
	KindCanceled
	KindDeadline
)

// Error is an error on the wire. Text is the whole of it; A and B are the fields of the typed ones.
type Error struct {
	Kind ErrorKind
	Text string
	A, B string
}

// ErrorOf converts an error for the wire; nil stays nil.
func ErrorOf(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Text: err.Error()}
	var (
		ended       *backend.EndedError
		state       *backend.StateError
		launch      *backend.LaunchError
		unsupported *backend.UnsupportedError
	)
	switch {
	case errors.As(err, &ended):
		e.Kind, e.A = KindEnded, ended.Why
	case errors.As(err, &state):
		e.Kind, e.A, e.B = KindState, state.Asked, state.State
	case errors.As(err, &launch):
		e.Kind, e.A, e.B = KindLaunch, launch.Program, launch.Reason
	case errors.As(err, &unsupported):
		e.Kind, e.A = KindUnsupported, unsupported.What
	case errors.Is(err, context.Canceled):
		e.Kind = KindCanceled
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = KindDeadline
	}
	return e
}

// Err is the inverse of ErrorOf: the same text, and the same type under errors.As and errors.Is.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	var typed error
	switch e.Kind {
	case KindEnded:
		typed = &backend.EndedError{Why: e.A}
	case KindState:
		typed = &backend.StateError{Asked: e.A, State: e.B}
	case KindLaunch:
		typed = &backend.LaunchError{Program: e.A, Reason: e.B}
	case KindUnsupported:
		typed = &backend.UnsupportedError{What: e.A}
	case KindCanceled:
		typed = context.Canceled
	case KindDeadline:
		typed = context.DeadlineExceeded
	default:
		return errors.New(e.Text)
	}
	if typed.Error() == e.Text {
		return typed
	}
	return &wrapped{text: e.Text, err: typed}
}

// wrapped has the words that the other side put around a typed error.
type wrapped struct {
	text string
	err  error
}

func (w *wrapped) Error() string { return w.text }
func (w *wrapped) Unwrap() error { return w.err }
