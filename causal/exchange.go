package causal

import (
	"sort"

	"github.com/cohort-debugger/cohort/mpispec"
)

// Part says what an event has to do with a message.
type Part int

// The parts of events in messages. A blocking call both begins and completes its part: it has the first of the two.
const (
	PartSends     Part = iota + 1 // it sends the message, or begins to
	PartReceives                  // it begins to receive it: it is the call that was given the receive's buffer
	PartPosts                     // it took the message out of the channel for a later call to receive: a matched probe
	PartSees                      // a probe that saw it
	PartCompletes                 // it completes the receive
	PartSent                      // it completes the send
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
	r := &g.messages.ranks[e.Rank]
	var all []Exchange
	seen := map[MessageRef]bool{}
	add := func(src, send int, part Part) {
		ref := MessageRef{int32(src), int32(send)}
		if s := &g.messages.ranks[src].sends[send]; !seen[ref] && !s.void {
			seen[ref] = true
			all = append(all, g.messages.exchange(src, s, part))
		}
	}
	at := sort.Search(len(r.sends), func(i int) bool { return r.sends[i].event >= e.Index })
	for ; at < len(r.sends) && r.sends[at].event == e.Index; at++ {
		add(e.Rank, at, PartSends)
	}
	var completed []int
	for i := range r.takes {
		t := &r.takes[i]
		switch {
		case t.send == none || t.kind == takeVoid:
		case t.kind == takeProbe && t.post == e.Index:
			add(int(t.ch.src), t.send, PartSees)
		case t.start == e.Index:
			add(int(t.ch.src), t.send, PartReceives)
		case t.post == e.Index:
			add(int(t.ch.src), t.send, PartPosts)
		case t.done == e.Index:
			completed = append(completed, i)
		}
	}
	for _, i := range completed {
		add(int(r.takes[i].ch.src), r.takes[i].send, PartCompletes)
	}
	for i := range r.sends {
		if r.sends[i].done == e.Index {
			add(e.Rank, i, PartSent)
		}
	}
	return all, nil
}

func (m *messages) exchange(rank int, s *sendRec, part Part) Exchange {
	x := Exchange{Message: m.ofSend(rank, s), Part: part, To: int(s.ch.dst), SendWhich: s.which}
	if s.take != none {
		t := &m.ranks[s.ch.dst].takes[s.take]
		if t.start != 0 {
			x.Start, x.StartWhich = EventID{int(s.ch.dst), t.start}, t.which
		}
	}
	return x
}

// CollectiveOf returns the collective that an event begins or completes; ok is false if it has no part in one, or the
// graph no such event. Of a Waitall that completes several it is the first.
func (g *Graph) CollectiveOf(e EventID) (c Collective, ok bool) {
	if g.check(e) != nil || e.Index == 0 {
		return Collective{}, false
	}
	for _, in := range g.instances {
		if in.op == mpispec.OpNone {
			continue
		}
		if j, member := in.comm.member[e.Rank]; member &&
			(in.parts[j].entry == e.Index || in.parts[j].exit == e.Index) {
			return in.collective(), true
		}
	}
	return Collective{}, false
}

func (in *instance) collective() Collective {
	c := Collective{Comm: in.comm.id, Place: in.place, Op: in.op, Root: in.root, Inter: in.comm.inter}
	for j := range in.parts {
		m := Member{Rank: in.comm.world[j]}
		if p := &in.parts[j]; p.entry != 0 {
			m.Entry = EventID{m.Rank, p.entry}
			if p.exit != 0 {
				m.Exit = EventID{m.Rank, p.exit}
			}
		}
		c.Members = append(c.Members, m)
	}
	return c
}
