package replayctl

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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

func refuse(format string, args ...any) error { return &RefusedError{fmt.Errorf(format, args...)} }

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
