package recording

import (
	"errors"

	"github.com/cohort-debugger/cohort/trace"
)

// ErrMissing is what is the matter with a rank's trace that is not there, in an error of Open.
var ErrMissing = errors.New("missing")

// noRecording refuses a path that is no recording.
func noRecording(path, reason string) error {
	return trace.Refuse("the path %s is not a Cohort recording: %s. Name a directory that \"cohort record\" has made",
		path, reason)
}

// otherRanks refuses what disagrees with the recording about the number of ranks.
func otherRanks(path string, found, want int) error {
	return trace.Refuse("%s has %d ranks where %d were expected: the parts of the recording are not of one run. "+
		"Restore them, or record again", path, found, want)
}
