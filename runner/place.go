package runner

import (
	"fmt"
	"path/filepath"

	"github.com/cohort-debugger/cohort/internal/sourceline"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// placeOf finds out where in the program the first call is that is not covered: "heat.c:12 in main", or as much of it
// as can be told.
func placeOf(incomplete *decisions.IncompleteError) string {
	if incomplete.Module == "" {
		return ""
	}
	file, err := sourceline.Open(incomplete.Module)
	if err != nil {
		return "" // a place that is not known is no reason to fail
	}
	defer file.Close() //nolint:errcheck // read only
	at := file.At(incomplete.Offset)
	switch {
	case at.File != "" && at.Function != "":
		return fmt.Sprintf("%s:%d in %s", filepath.Base(at.File), at.Line, at.Function)
	case at.File != "":
		return fmt.Sprintf("%s:%d", filepath.Base(at.File), at.Line)
	case at.Function != "":
		return "in " + at.Function
	}
	return "in " + filepath.Base(incomplete.Module)
}

// recordedPlace is the place that recording.json has for it.
func recordedPlace(meta *recording.Meta, incomplete *decisions.IncompleteError) string {
	if incomplete.Rank < len(meta.PerRank) {
		if i := meta.PerRank[incomplete.Rank].Incomplete; i != nil && i.Call == incomplete.Call {
			return i.Place
		}
	}
	return ""
}
