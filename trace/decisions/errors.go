package decisions

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/trace"
)

// IncompleteError is a recording without all decisions, because the program made a call that record/replay does not
// cover. Event is the number of the first such call, Count how many there were. Module and Offset say where that call
// is in an object file ("": unknown); Place is that for people, such as "heat.c:12 in main", if somebody has found it
// out.
type IncompleteError struct {
	Path  string
	Rank  int
	Call  string
	Event uint64
	Count uint64

	Module string
	Offset uint64
	Place  string
}

// locate finds where a call site is, if it is known.
func (e *IncompleteError) locate(site trace.Site, modules []*trace.Module) {
	for _, m := range modules {
		if site.Index != 0 && m.Index == site.Module {
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
	return fmt.Sprintf("the recording %s is incomplete: %s%s. %sA replay may depart from it; --incomplete-ok "+
		"(incompleteOk in a launch request) tries all the same",
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
	switch {
	case strings.Contains(e.Call, "racing mode"):
		return "Nothing was recorded: record again with --mode order. "
	case strings.HasPrefix(e.Call, "MPI_THREAD_MULTIPLE"):
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
