package recording

import (
	"errors"
	"fmt"
	"io/fs"
)

// PathError is a path that is no recording.
type PathError struct {
	Path   string
	Reason string
	Err    error // may be nil
}

func (e *PathError) Error() string {
	s := fmt.Sprintf("The path %s is not a Cohort recording: %s", e.Path, e.Reason)
	if e.Err != nil && !errors.Is(e.Err, fs.ErrNotExist) { // that something is not there is the reason already
		s += ": " + e.Err.Error()
	}
	return s + ". Name a directory that \"cohort record\" has made."
}

func (e *PathError) Unwrap() error { return e.Err }

// ExistsError refuses to overwrite a recording.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("The directory %s holds a recording already; choose another name, remove it, or overwrite it "+
		"with --force.", e.Path)
}

// MissingRankError is a recording that lacks the trace of a rank.
type MissingRankError struct {
	Dir, Path   string
	Rank, Ranks int
}

func (e *MissingRankError) Error() string {
	return fmt.Sprintf("The recording %s is of %d ranks but %s, the trace of rank %d, is missing. "+
		"Copy it there from where the recording was made, or record again.", e.Dir, e.Ranks, e.Path, e.Rank)
}

// RankCountError is a disagreement about the number of ranks.
type RankCountError struct {
	Path        string // what disagrees with the recording
	Found, Want int
}

func (e *RankCountError) Error() string {
	return fmt.Sprintf("%s has %d ranks where %d were expected: the parts of the recording are not of one run. "+
		"Restore them, or record again.", e.Path, e.Found, e.Want)
}

// NoGraphError is a recording without full traces.
type NoGraphError struct{ Dir string }

func (e *NoGraphError) Error() string {
	return fmt.Sprintf("The recording %s holds decisions only; replay it once in full mode to obtain its event graph.",
		e.Dir)
}

// GraphMismatchError is a full trace that does not belong to the recording in whose directory it is.
type GraphMismatchError struct {
	Dir             string
	Rank            int
	Recorded, Graph uint64 // events
}

func (e *GraphMismatchError) Error() string {
	return fmt.Sprintf("The full trace of rank %d in %s has %d events but the recording has %d: they are not of the "+
		"same run.",
		e.Rank, e.Dir, e.Graph, e.Recorded)
}

// ProgramError is a program that is not the one that was recorded.
type ProgramError struct {
	Dir             string
	Recorded, Found Program
}

func (e *ProgramError) Error() string {
	return fmt.Sprintf("%s is not the program of the recording %s: its %s is %s, the recorded program (%s) had %s %s. "+
		"Build the recorded version again, or record anew.",
		e.Found.Path, e.Dir, e.Found.IDKind, e.Found.ID, e.Recorded.Path, e.Recorded.IDKind, e.Recorded.ID)
}
