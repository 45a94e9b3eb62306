package prettyprint

import (
	"fmt"
	"slices"
)

// Envelope is what a call or request says of its message besides its type: a message is received by a call with a
// matching envelope (MPI-3.1, 3.2.3), or of a collective by the same call of the same communicator.
type Envelope struct {
	Call       string `json:"call"`
	Collective bool   `json:"collective,omitempty"`
	Comm       uint64 `json:"comm"` // the communicator's id that is the same in all ranks; 0: not known
	CommName   string `json:"commName,omitempty"`
	Self       int64  `json:"self"`              // of this rank, in MPI_COMM_WORLD; see Peer
	Peer       int64  `json:"peer"`              // in MPI_COMM_WORLD, or one of the numbers below
	Tag        int64  `json:"tag"`               // or anyRank, notKnown
	Request    string `json:"request,omitempty"` // of several that a call waits for: "request [2] of MPI_Waitall"
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
	anyRank  = -1
	nullRank = -2
	notKnown = -3
)

// envelope is that of the call's send or receive.
func (c *Call) envelope(receives bool) *Envelope {
	e := &Envelope{Call: c.name, Self: notKnown, Peer: notKnown, Tag: notKnown}
	if c.comm == nil {
		return e
	}
	e.Comm, e.CommName = c.comm.GlobalID(), c.comm.brief()
	members := c.comm.Members()
	if me := c.comm.Rank(); me < len(members) && members[me] != outsideWorld {
		e.Self = int64(members[me])
	}
	group := members
	if c.comm.Kind() == CommInter {
		group = c.comm.Remote()
	}
	peer, tag := "dest", []string{"sendtag", "tag"}
	if receives {
		peer, tag = "source", []string{"recvtag", "tag"}
	}
	if !c.fn.Has(peer) {
		e.Collective = true
		return e
	}
	switch n, err := c.given.number(peer); {
	case err != nil:
	case n == c.r.procNull():
		e.Peer = nullRank
	case n == c.r.anySource():
		e.Peer = anyRank
	case n >= 0 && n < int64(len(group)) && group[n] != outsideWorld:
		e.Peer = int64(group[n])
	}
	for _, t := range tag {
		if n, err := c.given.number(t); c.fn.Has(t) && err == nil {
			if e.Tag = n; n == anyTag {
				e.Tag = anyRank
			}
			break
		}
	}
	return e
}

// Apart says, in whole sentences, why the two sides are not those of one message, as far as their envelopes tell.
func (m *Matching) Apart() []string {
	s, r := m.Send.Envelope, m.Recv.Envelope
	if s == nil || r == nil {
		return nil
	}
	var out []string
	add := func(format string, args ...any) {
		out = append(out, "This send is not what this receive takes: "+fmt.Sprintf(format, args...))
	}
	if s.Comm != 0 && r.Comm != 0 && s.Comm != r.Comm {
		add("the send is in the communicator %s, and the receive in %s.", s.CommName, r.CommName)
	}
	if s.Collective != r.Collective || s.Collective && s.Call != r.Call &&
		!slices.Contains([]string{s.Call, r.Call}, "") {
		add("one is %s, the other %s.", s.Call, r.Call)
		return out
	}
	if s.Peer == nullRank || r.Peer == nullRank {
		add("one of them names MPI_PROC_NULL.")
		return out
	}
	if s.Peer >= 0 && r.Self >= 0 && s.Peer != r.Self {
		add("it goes to rank %d of MPI_COMM_WORLD, and the receive is in rank %d.", s.Peer, r.Self)
	}
	if r.Peer >= 0 && s.Self >= 0 && r.Peer != s.Self {
		add("the receive is from rank %d of MPI_COMM_WORLD, and the send is in rank %d.", r.Peer, s.Self)
	}
	if s.Tag >= 0 && r.Tag >= 0 && s.Tag != r.Tag {
		add("its tag is %d, and the receive's %d.", s.Tag, r.Tag)
	}
	return out
}
