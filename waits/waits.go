// Package waits finds out which rank waits for which: from the MPI calls that stopped ranks are in, their requests, and
// how many messages each has sent and received, all as the ranks' registries have them (pmpi/include/cohort_abi.h).
//
// Blocked ranks are the nodes of an AND-OR graph: MPI_Waitall and collectives wait for all of several ranks, a receive
// from MPI_ANY_SOURCE and MPI_Waitany for one of several. A rank can go on if it is not blocked, or if what it waits
// for has come, or may come from ranks that can go on; those that cannot, when no more can be found that can, wait for
// each other for ever. That is the release of Hilbrich et al., "A Graph Based Approach for MPI Deadlock Detection" (ICS
// 2009). Where it is not known what a rank waits for, the rank counts as one that can go on: what is called a deadlock
// is one.
//
// The package knows no debugger: it is pure, and safe for concurrent use.
package waits

import (
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
)

// Peers that are no rank of MPI_COMM_WORLD.
const (
	Any     = -1 // MPI_ANY_SOURCE; also of tags
	Null    = -2 // MPI_PROC_NULL: the operation waits for nobody
	Unknown = -3
)

// State is what is known of a rank.
type State string

// The states.
const (
	Stopped State = "stopped" // Rank.Calls and the rest are known
	Running State = "running" // nothing else is known
	Ended   State = "ended"   // it does nothing more
)

// A Rank is what one rank knows.
type Rank struct {
	State State `json:"state"`
	// Where is, of a stopped one, its place ("main at a.c:9"), of another one what it does.
	Where string `json:"where,omitempty"`
	Why   string `json:"why,omitempty"` // of a stopped one: why nothing of the following is known

	Calls   []Call          `json:"calls,omitempty"`   // that its threads are in
	Pending []Operation     `json:"pending,omitempty"` // of active requests, in the order in which they were posted
	Comms   map[uint64]Comm `json:"comms,omitempty"`   // that these are over, by the id that all members have for them
	Traffic []Traffic       `json:"traffic,omitempty"`
	// Live are the ids of the communicators that the rank has. What went over others it does not know any more.
	Live []uint64 `json:"live,omitempty"`
	// Uncounted is how many messages are missing in Traffic.
	Uncounted uint64 `json:"uncounted,omitempty"`
}

// A Call is one that a thread is in.
type Call struct {
	Name string `json:"name"`         // MPI_Waitall
	At   string `json:"at,omitempty"` // "a.c:31 in exchange"
	// Polls: it never waits for other ranks.
	Polls bool `json:"polls,omitempty"`
	// Any: it returns when one of its operations is complete, else when all are.
	Any bool `json:"any,omitempty"`
	// Ops are its own, or those of the requests that it waits for.
	Ops []Operation `json:"ops,omitempty"`
	// Whole is false where it is not known of all what it waits for.
	Whole bool `json:"whole,omitempty"`
}

// unclear reports whether it is not known of all what the call waits for.
func (c Call) unclear() bool {
	return !c.Polls && (!c.Whole || slices.ContainsFunc(c.Ops, func(op Operation) bool { return op.Kind == Other }))
}

// Kind is a kind of operation.
type Kind string

// The kinds.
const (
	Send       Kind = "send"
	Receive    Kind = "receive" // or a probe
	Collective Kind = "collective"
	Other      Kind = "other" // whom it waits for is not known
)

// An Operation is what a call or a request does.
type Operation struct {
	Kind Kind   `json:"kind"`
	Call string `json:"call"` // MPI_Irecv
	At   string `json:"at,omitempty"`
	Comm uint64 `json:"comm,omitempty"` // id; 0: not known
	Peer int    `json:"peer"`           // rank of MPI_COMM_WORLD, Any, Null or Unknown
	Tag  int    `json:"tag"`            // or Any
	// Request is the number that the rank has for its request, in the order of posting, from 1; 0: it has none.
	Request uint64           `json:"request,omitempty"`
	Mode    mpispec.SendMode `json:"mode,omitempty"` // of a send
	// Nth is, of a send, which of the messages that Traffic counts it is, from 1, and of a collective, which of those
	// over its communicator; 0: not known.
	Nth uint64 `json:"nth,omitempty"`
	// Probe: a receive that leaves the message where it is.
	Probe bool `json:"probe,omitempty"`
	// Of a collective:
	Root  int                `json:"root,omitempty"` // rank of MPI_COMM_WORLD, or Unknown
	From  []int              `json:"from,omitempty"` // those of whom it receives anything; nil: of all
	After mpispec.Dependence `json:"after,omitempty"`
}

// Comm is a communicator.
type Comm struct {
	Name    string `json:"name"`
	Members []int  `json:"members"` // ranks of MPI_COMM_WORLD; of an intercommunicator, both groups
}

// Traffic is what has gone between this rank and another, in one communicator and with one tag.
type Traffic struct {
	Comm     uint64 `json:"comm"`
	Peer     int    `json:"peer"` // rank of MPI_COMM_WORLD, or Collectives
	Tag      int    `json:"tag"`
	Sent     uint64 `json:"sent,omitempty"`     // messages that the rank has begun to send
	Received uint64 `json:"received,omitempty"` // by calls that have returned
}

// Collectives in place of a peer: Sent is how many collective calls over the communicator the rank has begun.
const Collectives = -4
