package causal

import (
	"fmt"

	"github.com/cohort-debugger/cohort/mpispec"
)

// NoEventError asks for an event that the run does not have.
type NoEventError struct {
	Event EventID
	Ranks int
	Last  uint64 // events of that rank, if there is such a rank
}

func (e *NoEventError) Error() string {
	if e.Event.Rank < 0 || e.Event.Rank >= e.Ranks {
		return fmt.Sprintf("there is no event %s: the run has ranks 0 to %d", e.Event, e.Ranks-1)
	}
	return fmt.Sprintf("there is no event %s: rank %d has events 1 to %d", e.Event, e.Event.Rank, e.Last)
}

// CutSizeError is a cut with the wrong number of positions.
type CutSizeError struct{ Positions, Ranks int }

func (e *CutSizeError) Error() string {
	return fmt.Sprintf("the cut has %d positions but the run has %d ranks", e.Positions, e.Ranks)
}

// CollectiveMismatchError is two ranks that made different calls at the same place of a communicator's sequence of
// collectives.
type CollectiveMismatchError struct {
	Comm   uint64 // global id
	Place  int    // from 1
	A, B   EventID
	CallA  mpispec.Op
	CallB  mpispec.Op
	RootA  int32 // trace.NoRoot if none
	RootB  int32
	IsRoot bool // the calls agree, their roots do not
}

func (e *CollectiveMismatchError) Error() string {
	where := fmt.Sprintf("collective call number %d on communicator %#x", e.Place, e.Comm)
	if e.IsRoot {
		return fmt.Sprintf("%s is %s with root %d at %s but with root %d at %s", where, e.CallA.Call(), e.RootA, e.A,
			e.RootB, e.B)
	}
	return fmt.Sprintf("%s is %s at %s but %s at %s", where, e.CallA.Call(), e.A, e.CallB.Call(), e.B)
}

// CommError is a communicator whose declarations contradict each other, or the run.
type CommError struct {
	Rank   int
	Comm   uint64 // global id
	Reason string
}

func (e *CommError) Error() string {
	return fmt.Sprintf("communicator %#x as rank %d declares it: %s", e.Comm, e.Rank, e.Reason)
}

// TraceError is an event that does not fit the ones before it.
type TraceError struct {
	Event  EventID
	Reason string
}

func (e *TraceError) Error() string { return fmt.Sprintf("event %s: %s", e.Event, e.Reason) }

// CycleError is a set of events of which each needs another one to have begun: no execution has that order, so the
// traces are not of one run, or a message was matched wrongly.
type CycleError struct {
	Blocked []EventID // per rank that is concerned, the event that cannot end
	Unknown int       // receives whose message the traces do not tell (ProblemUnknown): they may be the cause
}

func (e *CycleError) Error() string {
	if e.Unknown > 0 {
		return fmt.Sprintf("the events of the traces have no order: %v wait for each other. Of %d wildcard receives "+
			"the traces do not "+
			"tell which message they took, so that others were matched wrongly", e.Blocked, e.Unknown)
	}
	return fmt.Sprintf("the events of the traces have no order: %v wait for each other, so the traces are not of one "+
		"run", e.Blocked)
}

// Relation says why one event needs another.
type Relation string

// The relations.
const (
	RelationMessage Relation = "message" // a receive needs its send
	RelationProbe   Relation = "probe"   // a probe needs the send of what it saw
	// a synchronous (or large, see Options.SyncBytes) send needs the post of its receive
	RelationSync       Relation = "sync"
	RelationCollective Relation = "collective" // a collective is taken whole
	RelationControl    Relation = "control"    // the replay holds an event back until another has ended (WithControl)
)

// InconsistentCutError is a cut that holds Receive but not Send, although Receive needs Send. For RelationMessage and
// RelationProbe that is a message that is received without having been sent. For RelationSync Receive is the call that
// ends a synchronous send and Send the post of its receive; for RelationCollective they are two calls of one
// collective.
type InconsistentCutError struct {
	Send     EventID    `json:"send"`
	Receive  EventID    `json:"receive"`
	Relation Relation   `json:"relation"`
	SendOp   mpispec.Op `json:"-"`
	RecvOp   mpispec.Op `json:"-"`
}

func (e *InconsistentCutError) Error() string {
	why := "its message is sent by"
	switch e.Relation {
	case RelationSync:
		why = "it ends only once its message can be received by"
	case RelationCollective:
		why = "it belongs to one collective with"
	case RelationControl:
		why = "it is held back, as buffering is bounded, until the end of"
	case RelationMessage, RelationProbe:
	}
	return fmt.Sprintf("the cut is not consistent: it holds %s (%s), but %s %s (%s), which it does not hold",
		e.Receive, e.RecvOp.Call(), why, e.Send, e.SendOp.Call())
}

// ProblemKind says what has no partner.
type ProblemKind string

// The kinds of problems.
const (
	ProblemSend       ProblemKind = "unreceived send"       // no receive in the traces takes the message
	ProblemReceive    ProblemKind = "unmatched receive"     // it completed, but no send in the traces fits
	ProblemProbe      ProblemKind = "unmatched probe"       // likewise for a probe
	ProblemPending    ProblemKind = "uncompleted receive"   // posted with exact arguments, completion not in the trace
	ProblemUnknown    ProblemKind = "unknown receive"       // the same with a wildcard: it may have taken a message
	ProblemRequest    ProblemKind = "unknown request"       // a completion of a request of which the trace has no post
	ProblemCollective ProblemKind = "incomplete collective" // some members did not make the call
	ProblemUncovered  ProblemKind = "uncovered call"        // by record/replay: it may have sent or received anything
	// received bytes are not the sent bytes: the match is doubtful
	ProblemSize ProblemKind = "sizes differ"
)

// Problem is something in the traces that could not be put into the graph, or is in it with a doubt.
type Problem struct {
	Kind  ProblemKind `json:"kind"`
	Event EventID     `json:"event"`
	Note  string      `json:"note"` // what was looked for
}

// Doubtful reports whether the problem may mean that messages were matched wrongly, so that vector times and cuts can
// be wrong. Messages and collectives that the run did not finish are no reason to doubt the others.
func (p Problem) Doubtful() bool {
	switch p.Kind {
	case ProblemReceive, ProblemProbe, ProblemUnknown, ProblemRequest, ProblemUncovered, ProblemSize:
		return true
	case ProblemSend, ProblemPending, ProblemCollective:
	}
	return false
}

func (p Problem) String() string { return fmt.Sprintf("%s %s: %s", p.Event, p.Kind, p.Note) }
