package job

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// RunToCutRequest names a cut and how to end at it.
type RunToCutRequest struct {
	// At is what the cut belongs to, such as the event "2:17"; it is only passed on to CutReached.
	At string
	// Positions has one element per rank: how many of its events are in the cut. 0 is "after MPI_Init".
	Positions []uint64
	// Beyond are ranks whose positions lie beyond what At asks for, because they had gone so far before; it is only
	// passed on to CutReached.
	Beyond rankset.Set
	// Leader is the rank that goes on from its position to its breakpoint when all ranks have reached theirs; -1: none,
	// all stop at their positions.
	Leader int
	// GuardLeader stops the leader before its event GuardLeader+1 if it has not met its breakpoint by then; Never: no
	// guard. It is not below the leader's position.
	GuardLeader uint64
}

// A CutRefusedError says why a cut cannot be reached. Nothing was moved.
type CutRefusedError struct {
	Reason  string // whole sentence about the request; "" if ranks are the reason
	PerRank map[int]error
}

func (e *CutRefusedError) Error() string {
	if e.Reason != "" {
		return e.Reason
	}
	return (&RanksError{What: "run to the cut", PerRank: e.PerRank}).Error()
}

// Unwrap lets errors.As find a rank's error, such as a *BeyondPositionError.
func (e *CutRefusedError) Unwrap() []error { return (&RanksError{PerRank: e.PerRank}).Unwrap() }

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

// A PartialCutError: the cut was given up on the way, because a rank stopped for another reason, ended, left its
// recording or the caller's context ended. Ranks that had not reached their positions keep them as the place where they
// will park when they go on. Ranks that had reached theirs wait there in their parking loop, giving MPI
// progress, until another RunToCut or, after a pause, Resume lets them go.
type PartialCutError struct {
	Stopped map[int]string // the ranks that are the reason, and what happened to each, in a whole sentence
	Arrived rankset.Set    // have reached their positions
	Under   rankset.Set    // have not, and are on their way to them
	// Standing are those of Arrived that stood stopped at their positions from the beginning and so gave no MPI
	// progress: if those on their way do not arrive, they may be waiting for one of these.
	Standing rankset.Set
	Cause    error // the context's error, or that of a rank's debugger; nil if Stopped says it all
}

func (e *PartialCutError) Error() string {
	var b strings.Builder
	b.WriteString("the cut was not reached:")
	for _, r := range sortedKeys(e.Stopped) {
		b.WriteString(" " + e.Stopped[r])
	}
	if e.Cause != nil {
		b.WriteString(" " + sentence(e.Cause.Error()))
	}
	if !e.Arrived.Empty() {
		fmt.Fprintf(&b, " At their positions: [%s].", e.Arrived)
	}
	if !e.Under.Empty() {
		fmt.Fprintf(&b, " Still on their way: [%s].", e.Under)
	}
	if !e.Standing.Empty() && !e.Under.Empty() && e.Cause != nil {
		fmt.Fprintf(&b, " They may wait for MPI progress of ranks that stood stopped at their positions: [%s].",
			e.Standing)
	}
	return b.String()
}

func (e *PartialCutError) Unwrap() error { return e.Cause }

// checkCut refuses a request that makes no sense for this job.
func (j *Job) checkCut(req *RunToCutRequest) error {
	refuse := func(format string, args ...any) error {
		return &CutRefusedError{Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(req.Positions) != j.n:
		return refuse("The cut has %d positions, but the job has %d ranks.", len(req.Positions), j.n)
	case req.Leader < -1 || req.Leader >= j.n:
		return refuse("The cut's leader is rank %d, but the job has %s.", req.Leader, rankset.Of(j.n))
	case req.Leader >= 0 && req.GuardLeader < req.Positions[req.Leader]:
		return refuse("The cut's leader, rank %d, is to stop before event %d, which lies before its position %d.",
			req.Leader, req.GuardLeader+1, req.Positions[req.Leader])
	}
	for r, p := range req.Positions {
		if p == abi.Never {
			return refuse("The cut has no position for rank %d.", r)
		}
	}
	return nil
}
