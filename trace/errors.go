package trace

import (
	"errors"
	"fmt"
)

// What a FormatError is about; for errors.Is.
var (
	ErrNotTrace  = errors.New("not a Cohort trace")
	ErrTruncated = errors.New("truncated")
	ErrChecksum  = errors.New("checksum mismatch")
	ErrMalformed = errors.New("malformed")
)

// FormatError says what is wrong with a file, where, and what was expected there.
type FormatError struct {
	Path   string
	Offset int64  // byte offset in the file
	What   string // the structure or record that was being read
	Want   string
	Got    string
	Kind   error // ErrNotTrace, ErrTruncated, ErrChecksum or ErrMalformed
}

func (e *FormatError) Error() string {
	advice := "else record again"
	if !errors.Is(e.Kind, ErrNotTrace) {
		advice = "else \"cohort trace repair\" saves what is whole, or record again"
	}
	return e.Fault() + ". If it was copied, copy it again; " + advice
}

// Fault is what is wrong, without advice.
func (e *FormatError) Fault() string {
	return fmt.Sprintf("%s: %v at byte %d (%s): expected %s, found %s", e.Path, e.Kind, e.Offset, e.What, e.Want, e.Got)
}

func (e *FormatError) Unwrap() error { return e.Kind }

// RuleError is a rule of the format that a record breaks.
type RuleError struct{ Want, Got string }

func (e *RuleError) Error() string { return "expected " + e.Want + ", found " + e.Got }

// broken makes a RuleError; got is a format.
func broken(want, got string, args ...any) *RuleError {
	return &RuleError{want, fmt.Sprintf(got, args...)}
}

// RefusedError is a trace or recording that cannot be used for what was asked: it is of another version or run, is not
// whole, or does not hold what is needed. The text says why, and what to do.
type RefusedError struct{ error }

func (e *RefusedError) Unwrap() error { return e.error }

// Refuse makes a RefusedError as fmt.Errorf does.
func Refuse(format string, args ...any) error { return &RefusedError{fmt.Errorf(format, args...)} }

// RefuseVersion refuses a file of a version that this Cohort does not read.
func RefuseVersion(what, path string, found, supported int64) error {
	return Refuse("the %s %s is of version %d; this cohort reads version %d only. Use the cohort that made it, or "+
		"record again", what, path, found, supported)
}

// RefuseMode refuses a trace or recording whose mode this version does not know, or cannot use.
func RefuseMode(path, mode string) error {
	return Refuse("the recording %s was made in mode %q; this cohort reads the modes \"order\", \"racing\" and "+
		"\"full\"", path, mode)
}
