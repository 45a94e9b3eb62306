package datatype

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Envelope is what a call or request says of its message besides its type: a message is received by a call with a
// matching envelope (MPI-3.1, 3.2.3), or of a collective by the same call of the same communicator.
type Envelope struct {
	Call       string `json:"call"`
	Collective bool   `json:"collective,omitempty"`
	Comm       uint64 `json:"comm"` // the communicator's id that is the same in all ranks; 0: not known
	CommName   string `json:"commName,omitempty"`
	Self       int64  `json:"self"` // of this rank, in MPI_COMM_WORLD; see Peer
	Peer       int64  `json:"peer"` // in MPI_COMM_WORLD, or one of the numbers below
	Tag        int64  `json:"tag"`  // or anyRank, notKnown
	// Of a collective: the rank that it names as its root, in MPI_COMM_WORLD, or NotKnown; and its operation.
	Root    int64  `json:"root"`
	Op      string `json:"op,omitempty"`
	Request string `json:"request,omitempty"` // of several that a call waits for: "request [2] of MPI_Waitall"
}

// Name is the call, and which of several requests it made, for people.
func (e *Envelope) Name() string {
	if e.Request == "" {
		return e.Call
	}
	return e.Call + ", " + e.Request
}

// Numbers of an Envelope that are no ranks.
const (
	AnyRank  = -1
	NullRank = -2
	NotKnown = -3
)

// Apart says, in whole sentences, why the two sides are not those of one message, as far as their envelopes tell.
func (m *Matching) Apart() []string {
	if m.Send.Envelope == nil || m.Recv.Envelope == nil {
		return nil
	}
	return m.Send.Envelope.Apart(m.Recv.Envelope)
}

// Apart is [Matching.Apart] for the envelopes of a send and a receive, or of two calls of which one is collective.
func (e *Envelope) Apart(r *Envelope) []string {
	if e.Collective || r.Collective {
		return e.apartAsCollective(r)
	}
	var out []string
	add := func(format string, args ...any) {
		out = append(out, "This receive does not match this send: "+fmt.Sprintf(format, args...))
	}
	if e.Comm != 0 && r.Comm != 0 && e.Comm != r.Comm {
		add("the send is in the communicator %s, and the receive in %s.", e.CommName, r.CommName)
	}
	if e.Peer == NullRank || r.Peer == NullRank {
		add("one of them names MPI_PROC_NULL.")
		return out
	}
	if e.Peer >= 0 && r.Self >= 0 && e.Peer != r.Self {
		add("it goes to rank %d of MPI_COMM_WORLD, and the receive is in rank %d.", e.Peer, r.Self)
	}
	if r.Peer >= 0 && e.Self >= 0 && r.Peer != e.Self {
		add("the receive is from rank %d of MPI_COMM_WORLD, and the send is in rank %d.", r.Peer, e.Self)
	}
	if e.Tag >= 0 && r.Tag >= 0 && e.Tag != r.Tag {
		add("its tag is %d, and the receive's %d.", e.Tag, r.Tag)
	}
	return out
}

// apartAsCollective says, in whole sentences, why two calls, of which one is collective, are not of one collective.
func (e *Envelope) apartAsCollective(o *Envelope) (out []string) {
	add := func(what, one, other string) {
		out = append(out, fmt.Sprintf("These calls are not of one collective: %s is %s in %s, and %s in %s.", what, one,
			e.where(), other, o.where()))
	}
	if e.Comm != 0 && o.Comm != 0 && e.Comm != o.Comm {
		add("the communicator", e.CommName, o.CommName)
	}
	if e.Collective != o.Collective || e.Call != o.Call && e.Call != "" && o.Call != "" {
		add("the call", e.Call, o.Call)
		return out
	}
	if e.Root >= 0 && o.Root >= 0 && e.Root != o.Root {
		add("the root", fmt.Sprintf("rank %d of MPI_COMM_WORLD", e.Root),
			fmt.Sprintf("rank %d of MPI_COMM_WORLD", o.Root))
	}
	if e.Op != "" && o.Op != "" && e.Op != o.Op {
		add("the operation", e.Op, o.Op)
	}
	return out
}

func (e *Envelope) where() string {
	if e.Self < 0 {
		return "another rank"
	}
	return fmt.Sprintf("rank %d", e.Self)
}

// PickMatch chooses, of what a rank sends and what another receives, the two that belong together by their envelopes,
// the first if there are several (messages do not overtake each other, MPI-3.1, 3.5). note says, in a whole sentence,
// that there were others; it is empty if there were none. Neither list is empty.
func PickMatch(sends, recvs []Side) (send, recv Side, note string, err error) {
	fits, first := 0, [2]int{}
	for i := range sends {
		for j := range recvs {
			if m := (Matching{Send: sends[i], Recv: recvs[j]}); len(m.Apart()) == 0 {
				if fits++; fits == 1 {
					first = [2]int{i, j}
				}
			}
		}
	}
	all := fmt.Sprintf("Of %s and %s", view.Plural(int64(len(sends)), "send"),
		view.Plural(int64(len(recvs)), "receive"))
	switch {
	case len(sends) == 1 && len(recvs) == 1: // whatever it is that keeps them apart is said
	case fits == 0:
		return send, recv, "", fault.Errorf(fault.NotFound, 0,
			"%s none fit each other by communicator, rank and tag: %s; %s.",
			all, listSides(sends, "sends", " to "), listSides(recvs, "receives", " from "))
	case fits > 1:
		note = all + " that could be meant, the first that fit each other by communicator, rank and tag are " +
			"compared; name a request to choose another."
	}
	return sends[first[0]], recvs[first[1]], note, nil
}

func listSides(sides []Side, verb, how string) string {
	const few = 4
	var out []string
	for _, s := range sides[:min(len(sides), few)] {
		text := s.what()
		if s.Envelope != nil {
			text = s.Envelope.Call + " " + verb + " " + text + s.Envelope.text(how)
		}
		out = append(out, text)
	}
	if len(sides) > few {
		out = append(out, fmt.Sprintf("%d more", len(sides)-few))
	}
	return strings.Join(out, "; ")
}

// text is whom the message is for, or from: " to rank 2, tag 7".
func (e *Envelope) text(how string) (out string) {
	switch {
	case e.Peer == AnyRank:
		out = how + "any rank"
	case e.Peer == NullRank:
		out = how + "MPI_PROC_NULL"
	case e.Peer >= 0:
		out = fmt.Sprintf("%srank %d", how, e.Peer)
	}
	switch {
	case e.Tag == AnyRank:
		out += ", any tag"
	case e.Tag >= 0:
		out += fmt.Sprintf(", tag %d", e.Tag)
	}
	return out
}
