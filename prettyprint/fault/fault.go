// Package fault is the error of everything that decodes and shows MPI handles: a kind, for callers, and whole
// sentences, for users.
package fault

import (
	"errors"
	"fmt"
	"slices"
)

// Kind says what a caller can do about an [Error].
type Kind int

// The kinds of errors.
const (
	Usage        Kind = iota + 1 // the command's arguments are ill-formed
	Resolve                      // the resolver could not evaluate an expression
	NoInterposer                 // the program runs without libcohort.so, or the address is not a registry
	Version                      // the registry is of another version of Cohort
	NotReady                     // MPI is not initialised yet: there are no handles
	Unreadable                   // memory of the registry is not mapped
	Corrupt                      // the registry's bytes contradict themselves
	TooLarge                     // figures beyond what can be computed or what this reader accepts
	NotFound                     // no such handle was ever created, or it is uninitialised
	Freed                        // the handle was freed
	Null                         // a null handle, such as MPI_DATATYPE_NULL
	NotTracked                   // the registry of this run does not keep such handles
	NotDecoded                   // the type was made by a call that the interposer does not decode yet
	Address                      // a tree address that does not exist in the type
)

// Error is the error type of this package. Its message is made of whole sentences for the user: what was asked, what
// was found, and what to do where something can be done.
type Error struct {
	Kind    Kind
	Message string
	Address uint64 // where in the rank's memory, if it is about memory; else 0
	Err     error  // the cause, if another layer reported one
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether err is, or wraps, an [*Error] of one of these kinds.
func Is(err error, kinds ...Kind) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(kinds, e.Kind)
}

// Errorf makes an error of a kind, about an address in the rank's memory or 0.
func Errorf(kind Kind, addr uint64, format string, args ...any) *Error {
	return &Error{Kind: kind, Address: addr, Message: fmt.Sprintf(format, args...)}
}

// Corruptf is the error that the registry contradicts itself at an address.
func Corruptf(addr uint64, format string, args ...any) *Error {
	return Errorf(Corrupt, addr, "The registry in the rank's memory is damaged at 0x%x: %s. "+
		"The program may have overwritten it; no handle that depends on it can be shown.", addr,
		fmt.Sprintf(format, args...))
}
