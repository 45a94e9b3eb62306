package causal

import (
	"fmt"

	"github.com/cohort-debugger/cohort/mpispec"
)

// RefusedError is a question that cannot be answered: the run does not have what was asked about, or the trace does not
// tell enough of it.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// relations says, by kind of dependence, why one event needs another.
var relations = [...]struct{ name, why string }{ //nolint:gochecknoglobals // a table
	depMessage:    {"message", "its message is sent by"},
	depProbe:      {"probe", "its message is sent by"},
	depSync:       {"sync", "it ends only once its message can be received by"},
	depLarge:      {"sync", "it ends only once its message can be received by"},
	depCollective: {"collective", "it belongs to one collective with"},
	depControl:    {"control", "it is held back, as buffering is bounded, until the end of"},
}

// InconsistentCutError is a cut that holds Receive but not Send, although Receive needs Send. Relation says why: of a
// "message" or "probe" a message is received without having been sent; for "sync" Receive is the call that ends a
// synchronous (or large, see Options.SyncBytes) send and Send the post of its receive; for "collective" they are two
// calls of one collective, which is taken whole; for "control" the replay holds Receive back until Send has ended.
type InconsistentCutError struct {
	Send     EventID `json:"send"`
	Receive  EventID `json:"receive"`
	Relation string  `json:"relation"`

	why               string
	sendOp, receiveOp mpispec.Op
}

func (e *InconsistentCutError) Error() string {
	return fmt.Sprintf("the cut is not consistent: it holds %s (%s), but %s %s (%s), which it does not hold",
		e.Receive, e.receiveOp.Call(), e.why, e.Send, e.sendOp.Call())
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
	return p.Kind != ProblemSend && p.Kind != ProblemPending && p.Kind != ProblemCollective
}

func (p Problem) String() string { return fmt.Sprintf("%s %s: %s", p.Event, p.Kind, p.Note) }
