package wire

import (
	"cmp"
	"context"
	"errors"

	"github.com/cohort-debugger/cohort/backend"
)

// Error is an error that has crossed the connection: the same text, and under errors.As and errors.Is what it was
// before, if that is an error of package backend or of a context.
type Error struct {
	Text               string
	Typed              error // nil, or one of the pointers that init registers
	Canceled, Deadline bool
}

// ErrorOf converts an error for the wire; nil stays nil.
func ErrorOf(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{
		Text: err.Error(), Canceled: errors.Is(err, context.Canceled),
		Deadline: errors.Is(err, context.DeadlineExceeded),
	}
	e.Typed = cmp.Or(as[*backend.EndedError](err), as[*backend.StateError](err), as[*backend.LaunchError](err),
		as[*backend.UnsupportedError](err))
	return e
}

// as is the error of a type that an error is or wraps, or nil.
func as[T error](err error) error {
	if typed, ok := errors.AsType[T](err); ok {
		return typed
	}
	return nil
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the error of package backend that the error was or wrapped.
func (e *Error) Unwrap() error { return e.Typed }

// Is reports whether the error was that of a context.
func (e *Error) Is(target error) bool {
	return e.Canceled && target == context.Canceled || e.Deadline && target == context.DeadlineExceeded
}
