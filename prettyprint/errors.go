package prettyprint

import (
	"errors"
	"fmt"
)

// ErrorKind says what a caller can do about an [Error].
type ErrorKind int

// The kinds of errors.
const (
	KindUsage        ErrorKind = iota + 1 // the command's arguments are ill-formed
	KindResolve                           // the resolver could not evaluate an expression
	KindNoInterposer                      // the program runs without libcohort.so, or the address is not a registry
	KindVersion                           // the registry is of another version of Cohort
	KindNotReady                          // MPI is not initialised yet: there are no handles
	KindUnreadable                        // memory of the registry is not mapped
	KindCorrupt                           // the registry's bytes contradict themselves
	KindTooLarge                          // figures beyond what can be computed or what this reader accepts
	KindNotFound                          // no such handle was ever created, or it is uninitialised
	KindFreed                             // the handle was freed
	KindNull                              // a null handle, such as MPI_DATATYPE_NULL
	KindNotKept                           // the registry of this run does not keep such handles
	KindNotDecoded                        // the type was made by a call that the interposer does not decode yet
	KindAddress                           // a tree address that does not exist in the type
)

// Error is the error type of this package. Its message is made of whole sentences for the user: what was asked, what
// was found, and what to do where something can be done.
type Error struct {
	Kind    ErrorKind
	Message string
	Address uint64 // where in the rank's memory, if it is about memory; else 0
	Err     error  // the cause, if another layer reported one
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsKind reports whether err is, or wraps, an [*Error] of that kind.
func IsKind(err error, kind ErrorKind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

func errorf(kind ErrorKind, addr uint64, format string, args ...any) *Error {
	return &Error{Kind: kind, Address: addr, Message: fmt.Sprintf(format, args...)}
}

func corrupt(addr uint64, format string, args ...any) *Error {
	return errorf(KindCorrupt, addr, "The registry in the rank's memory is damaged at 0x%x: %s. "+
		"The program may have overwritten it; no handle that depends on it can be shown.", addr,
		fmt.Sprintf(format, args...))
}
