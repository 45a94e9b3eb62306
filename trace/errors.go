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
	advice := "If it was copied, copy it again; else record again."
	if !errors.Is(e.Kind, ErrNotTrace) {
		advice = "If it was copied, copy it again; else \"cohort trace repair\" saves what is whole, or record again."
	}
	return e.Fault() + ". " + advice
}

// Fault is what is wrong, without advice.
func (e *FormatError) Fault() string {
	return fmt.Sprintf("%s: %v at byte %d (%s): expected %s, found %s", e.Path, e.Kind, e.Offset, e.What, e.Want, e.Got)
}

func (e *FormatError) Unwrap() error { return e.Kind }

// VersionError is a file of a version that this Cohort does not read.
type VersionError struct {
	Path             string
	What             string // "trace file", "recording"
	Found, Supported int64
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("The %s %s is of version %d; this cohort reads version %d only. Use the cohort that made it, "+
		"or record again.",
		e.What, e.Path, e.Found, e.Supported)
}

// ModeError is a trace or recording whose mode this version does not know, or cannot use.
type ModeError struct {
	Path string
	Mode string
}

func (e *ModeError) Error() string {
	return fmt.Sprintf("The recording %s was made in mode %q; this cohort reads the modes \"order\", \"racing\" and "+
		"\"full\".", e.Path, e.Mode)
}
