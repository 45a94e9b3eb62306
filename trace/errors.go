package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
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
	return e.fault() + ". " + advice
}

// fault is what is wrong, without advice.
func (e *FormatError) fault() string {
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

// NotRecordingError is a path that is no recording.
type NotRecordingError struct {
	Path   string
	Reason string
	Err    error // may be nil
}

func (e *NotRecordingError) Error() string {
	s := fmt.Sprintf("The path %s is not a Cohort recording: %s", e.Path, e.Reason)
	if e.Err != nil && !errors.Is(e.Err, fs.ErrNotExist) { // that something is not there is the reason already
		s += ": " + e.Err.Error()
	}
	return s + ". Name a directory that \"cohort record\" has made."
}

func (e *NotRecordingError) Unwrap() error { return e.Err }

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

// IncompleteError is a recording that lacks decisions, because the program made a call that record/replay does not
// cover. Event is the number of the first such call, Site its index among the SITE records (0: unknown), Count how many
// there were. Module and Offset say where that call is in an object file ("": unknown); Place is that for people, such
// as "heat.c:12 in main", if somebody has found it out.
type IncompleteError struct {
	Path  string
	Rank  int
	Call  string
	Event uint64
	Site  uint64
	Count uint64

	Module string
	Offset uint64
	Place  string
}

func (e *IncompleteError) locate(sites map[uint64]Site, modules []*Module) {
	site, ok := sites[e.Site]
	if !ok {
		return
	}
	for _, m := range modules {
		if m.Index == site.Module {
			e.Module, e.Offset = m.Path, site.Offset
		}
	}
}

func (e *IncompleteError) Error() string {
	count := ""
	if e.Call != overtakenCall {
		if count = fmt.Sprintf(" (%d such calls in all)", e.Count); e.Count == 1 {
			count = " (once)"
		}
	}
	return fmt.Sprintf("The recording %s is incomplete: %s%s. %sA replay may depart from it; --incomplete-ok "+
		"(incompleteOk in a launch request) tries all the same.",
		e.Path, e.What(), count, e.advice())
}

// overtakenCall stands for a receive, where others name a call that is not covered.
const overtakenCall = "a wildcard receive that was under way when the rank ended, had taken a message, and did not " +
	"say which"

// What says what is missing, as a part of a sentence.
func (e *IncompleteError) What() string {
	if e.Call == overtakenCall {
		return fmt.Sprintf("rank %d ended (in event %d:%d) while a receive with a wildcard was under way that had "+
			"taken a message which was still on its way, "+
			"and a later call had been given the next one; which message the first took is not known", e.Rank, e.Rank,
			e.Event)
	}
	return fmt.Sprintf("rank %d called %s (event %d:%d%s), which record/replay does not cover", e.Rank, e.Call, e.Rank,
		e.Event, At(e.Place))
}

// advice is what the user can do about it; a sentence, or nothing.
func (e *IncompleteError) advice() string {
	if strings.HasPrefix(e.Call, "MPI_THREAD_MULTIPLE") {
		return "Calls of several threads can be replayed if one thread at a time calls MPI: put a lock around the " +
			"program's MPI calls, and record again. "
	}
	return ""
}

// At is how a place is said after an event: ", heat.c:12 in main"; nothing if it is not known.
func At(place string) string {
	if place == "" {
		return ""
	}
	return ", " + place
}
