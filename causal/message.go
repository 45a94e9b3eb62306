package causal

import (
	"sort"

	"github.com/cohort-debugger/cohort/mpispec"
)

// Message is one message of the run. Events that the traces do not have are zero.
type Message struct {
	Send    EventID // the call that sent it (of a persistent one: its Start)
	Post    EventID // the call that posted the receive that took it; of a matched probe the Mprobe
	Receive EventID // the call that completed that receive
	Comm    uint64  // global id
	Tag     int32
	Bytes   uint64 // as sent
}

// MessageRef names a message of a Graph: Graph.Message has what it is.
type MessageRef struct {
	src  int32
	send int32 // index in the sender's sends
}

func (g *Graph) sendOf(m MessageRef) *sendRec { return &g.ranks[m.src].sends[m.send] }

// takeOf is the receive that took a message; nil if there is none.
func (g *Graph) takeOf(s *sendRec) *takeRec {
	if s.take == none {
		return nil
	}
	return &g.ranks[s.ch.dst].takes[s.take]
}

// sender is the call that sent a message.
func (g *Graph) sender(m MessageRef) EventID { return EventID{int(m.src), g.sendOf(m).event} }

// Message returns a message of this graph.
func (g *Graph) Message(m MessageRef) Message {
	s := g.sendOf(m)
	msg := Message{Send: g.sender(m), Comm: s.ch.comm, Tag: s.ch.tag, Bytes: s.bytes}
	if t := g.takeOf(s); t != nil {
		dst := int(s.ch.dst)
		msg.Post = EventID{dst, t.post}
		if t.done != 0 {
			msg.Receive = EventID{dst, t.done}
		}
	}
	return msg
}

// Part says what an event does with a message.
type Part string

// The parts of events in messages. A blocking call both begins and completes its part: it has the first of the two.
const (
	PartSends     Part = "sends"                               // or begins to
	PartReceives  Part = "receives"                            // or begins to: it was given the receive's buffer
	PartPosts     Part = "takes, for a later call to receive," // it is a matched probe
	PartSees      Part = "sees"                                // it is another probe
	PartCompletes Part = "completes the receive of"
	PartSent      Part = "completes the send of"
)

// Exchange is a message with the calls that were given its two buffers.
type Exchange struct {
	Message
	Part Part // of the event that was asked about
	To   int  // the rank that the message was sent to
	// Start is the call that was given the buffer of the receive: Post, but of a matched probe the Mrecv or Imrecv. It
	// is zero if no call of the traces is.
	Start EventID
	// SendWhich and StartWhich are places in the array of a Startall; else 0.
	SendWhich, StartWhich uint32
}

// Exchanges returns the messages that an event has a part in: none or one for most, several for a Sendrecv, Startall or
// Waitall. Those that it sends come first, then those that it posts a receive of or has seen, then those that it
// completes. A message that an event has several parts in is there once, with the first.
func (g *Graph) Exchanges(e EventID) ([]Exchange, error) {
	if err := g.check(e); err != nil {
		return nil, err
	}
	r := &g.ranks[e.Rank]
	var all []Exchange
	seen := map[MessageRef]bool{}
	add := func(m MessageRef, part Part) {
		s := g.sendOf(m)
		if seen[m] || s.void {
			return
		}
		seen[m] = true
		x := Exchange{Message: g.Message(m), Part: part, To: int(s.ch.dst), SendWhich: s.which}
		if t := g.takeOf(s); t != nil && t.start != 0 {
			x.Start, x.StartWhich = EventID{x.To, t.start}, t.which
		}
		all = append(all, x)
	}
	at := sort.Search(len(r.sends), func(i int) bool { return r.sends[i].event >= e.Index })
	for ; at < len(r.sends) && r.sends[at].event == e.Index; at++ {
		add(MessageRef{int32(e.Rank), int32(at)}, PartSends)
	}
	var completed []MessageRef
	for i := range r.takes {
		t := &r.takes[i]
		m := MessageRef{int32(t.ch.src), int32(t.send)}
		switch {
		case t.send == none || t.kind == takeVoid:
		case t.kind == takeProbe && t.post == e.Index:
			add(m, PartSees)
		case t.start == e.Index:
			add(m, PartReceives)
		case t.post == e.Index:
			add(m, PartPosts)
		case t.done == e.Index:
			completed = append(completed, m)
		}
	}
	for _, m := range completed {
		add(m, PartCompletes)
	}
	for i := range r.sends {
		if r.sends[i].done == e.Index {
			add(MessageRef{int32(e.Rank), int32(i)}, PartSent)
		}
	}
	return all, nil
}

// Member is one rank's part in a collective. Entry is zero if the rank did not make the call, Exit if it did not
// complete it.
type Member struct {
	Rank        int
	Entry, Exit EventID
}

// Collective is one collective call of all members of a communicator.
type Collective struct {
	Comm uint64 // global id; 0 for MPI_Finalize
	// in the communicator's sequence of collectives, from 1; 0 for a call over the communicator that it makes
	Place   int
	Op      mpispec.Op
	Root    int32 // rank in the communicator, or trace.NoRoot
	Inter   bool  // over an intercommunicator: Members are those of both groups
	Members []Member
}

// CollectiveOf returns the collective that an event begins or completes; ok is false if it has no part in one, or the
// graph no such event. Of a Waitall that completes several it is the first.
func (g *Graph) CollectiveOf(e EventID) (c Collective, ok bool) {
	if g.check(e) != nil || e.Index == 0 {
		return Collective{}, false
	}
	for _, in := range g.instances {
		if j, member := in.comm.member[e.Rank]; member &&
			(in.parts[j].entry == e.Index || in.parts[j].exit == e.Index) {
			return in.collective(), true
		}
	}
	return Collective{}, false
}

func (in *instance) collective() Collective {
	c := Collective{Comm: in.comm.id, Place: in.place, Op: in.op, Root: in.root, Inter: in.comm.inter}
	for j, p := range in.parts {
		m := Member{Rank: in.comm.world[j]}
		if p.entry != 0 {
			m.Entry = EventID{m.Rank, p.entry}
		}
		if p.exit != 0 {
			m.Exit = EventID{m.Rank, p.exit}
		}
		c.Members = append(c.Members, m)
	}
	return c
}
