package replayctl

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/rankset"
)

// ErrCancelled is the error of a Run that was cancelled before it came to its end.
var ErrCancelled = errors.New("causal run cancelled: another command resumed or paused ranks")

// A RefusedError says why a Run cannot get where it was to go. Nothing was moved.
type RefusedError struct{ Why error }

func (e *RefusedError) Error() string { return e.Why.Error() }
func (e *RefusedError) Unwrap() error { return e.Why }

// Refusal implements dap.Refusal.
func (e *RefusedError) Refusal() bool { return true }

// A BeyondPositionError: the rank has passed its position, and ranks do not run backwards.
type BeyondPositionError struct {
	Rank     int
	Position uint64 // asked for
	Events   uint64 // where it is
}

func (e *BeyondPositionError) Error() string {
	return fmt.Sprintf("it has completed %d events already and its position in the cut is %d; a replay does not run "+
		"backwards, so start it anew to get there", e.Events, e.Position)
}

// InconsistentError refuses a cut that is no state that the job can be in, and offers the consistent ones next to it.
type InconsistentError struct {
	Cut, Below, Above causal.Cut
	Why               *causal.InconsistentCutError // the pair of events
}

func (e *InconsistentError) Error() string {
	return fmt.Sprintf("The ranks cannot be stopped at %v: %v. The nearest consistent cuts are %v, earlier, and %v, "+
		"later.", e.Cut, e.Why, e.Below, e.Above)
}

func (e *InconsistentError) Unwrap() error { return e.Why }

// PassedError: a rank is beyond the end of a call that it was to be looked at in. Nothing was moved.
type PassedError struct {
	Event  causal.EventID
	Events uint64 // that its rank has completed
}

func (e *PassedError) Error() string {
	if e.Events == e.Event.Index {
		return fmt.Sprintf("Rank %d has left the call of event %s already. A replay does not run backwards: start it "+
			"anew to get there.", e.Event.Rank, e.Event)
	}
	return fmt.Sprintf("Rank %d has completed %d events already, and the call of event %s is behind it. A replay "+
		"does not run backwards: start it anew to get there.",
		e.Event.Rank, e.Events, e.Event)
}

// NoStopError: the ranks cannot be stopped so that a rank has just ended a call: no cut of the recording that can be
// reached from where the ranks are ends with it. Nothing was moved.
type NoStopError struct {
	Event causal.EventID
	Cut   causal.Cut // the least one that can be reached and holds the event
}

func (e *NoStopError) Error() string {
	return fmt.Sprintf("The ranks cannot be stopped with rank %d at the end of event %s: by the time that they have "+
		"got so far, which is at %v, it has completed %d events, "+
		"because its calls and those of other ranks wait for each other.", e.Event.Rank, e.Event, e.Cut,
		e.Cut[e.Event.Rank])
}

// RunningError: ranks run freely, so that it is not known from where they are to be steered. Nothing was moved.
type RunningError struct{ Ranks rankset.Set }

func (e *RunningError) Error() string {
	return fmt.Sprintf("The ranks [%s] are running: pause them first.", e.Ranks)
}

// A PartialCutError: a target was not reached, because a rank stopped for another reason, ended, or left its recording,
// or because the run was cancelled.
type PartialCutError struct {
	Stopped  map[int]string // the ranks that are the reason, and what happened to each, in a whole sentence
	Arrived  rankset.Set    // have reached their positions
	Underway rankset.Set    // have not, and are on their way to them
	// Still are those of Arrived that were stopped at their positions from the beginning and so gave no MPI progress:
	// if those on their way do not arrive, they may be waiting for one of these.
	Still rankset.Set
	Cause error // that of the run's context; nil if Stopped says it all
}

func (e *PartialCutError) Error() string {
	var b strings.Builder
	b.WriteString("the cut was not reached:")
	for _, r := range slices.Sorted(maps.Keys(e.Stopped)) {
		b.WriteString(" " + e.Stopped[r])
	}
	if e.Cause != nil {
		b.WriteString(" " + e.Cause.Error() + ".")
	}
	if !e.Arrived.Empty() {
		fmt.Fprintf(&b, " At their positions: [%s].", e.Arrived)
	}
	if !e.Underway.Empty() {
		fmt.Fprintf(&b, " Still on their way: [%s].", e.Underway)
	}
	if !e.Still.Empty() && !e.Underway.Empty() && e.Cause != nil {
		fmt.Fprintf(&b, " They may wait for MPI progress of ranks that were stopped at their positions: [%s].", e.Still)
	}
	return b.String()
}

func (e *PartialCutError) Unwrap() error { return e.Cause }
