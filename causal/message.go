package causal

import (
	"cmp"
	"iter"
	"slices"
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

// Message returns a message of this graph.
func (g *Graph) Message(m MessageRef) Message {
	return g.messages.ofSend(int(m.src), &g.messages.ranks[m.src].sends[m.send])
}

type rankMessages struct {
	sends  []sendRec
	takes  []takeRec
	byDone []int32 // takes that were completed in another call than their post, by that call
}

type messages struct{ ranks []rankMessages }

func newRankMessages(in *ingest) rankMessages {
	r := rankMessages{sends: in.sends, takes: in.takes}
	for i := range in.takes {
		if t := &in.takes[i]; t.done != 0 && t.done != t.post {
			r.byDone = append(r.byDone, int32(i))
		}
	}
	slices.SortFunc(r.byDone, func(a, b int32) int { return cmp.Compare(in.takes[a].done, in.takes[b].done) })
	return r
}

func (m *messages) ofSend(rank int, s *sendRec) Message {
	msg := Message{Send: EventID{rank, s.event}, Comm: s.ch.comm, Tag: s.ch.tag, Bytes: s.bytes}
	if s.take == none {
		return msg
	}
	dst := int(s.ch.dst)
	t := &m.ranks[dst].takes[s.take]
	msg.Post = EventID{dst, t.post}
	if t.done != 0 {
		msg.Receive = EventID{dst, t.done}
	}
	return msg
}

// MessageOf returns the messages that an event sends, posts the receive of, receives, or has seen by a probe: none or
// one for most, several for a Sendrecv, Startall or Waitall.
func (g *Graph) MessageOf(e EventID) ([]Message, error) {
	if err := g.check(e); err != nil {
		return nil, err
	}
	r := &g.messages.ranks[e.Rank]
	var all []Message
	at := sort.Search(len(r.sends), func(i int) bool { return r.sends[i].event >= e.Index })
	for ; at < len(r.sends) && r.sends[at].event == e.Index; at++ {
		all = append(all, g.messages.ofSend(e.Rank, &r.sends[at]))
	}
	taken := func(t *takeRec) {
		if t.send != none {
			src := int(t.ch.src)
			all = append(all, g.messages.ofSend(src, &g.messages.ranks[src].sends[t.send]))
		}
	}
	at = sort.Search(len(r.takes), func(i int) bool { return r.takes[i].post >= e.Index })
	for ; at < len(r.takes) && r.takes[at].post == e.Index; at++ {
		taken(&r.takes[at])
	}
	at = sort.Search(len(r.byDone), func(i int) bool { return r.takes[r.byDone[i]].done >= e.Index })
	for ; at < len(r.byDone) && r.takes[r.byDone[at]].done == e.Index; at++ {
		taken(&r.takes[r.byDone[at]])
	}
	return all, nil
}

// Messages iterates over all messages, by sender and send.
func (g *Graph) Messages() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for rank := range g.messages.ranks {
			r := &g.messages.ranks[rank]
			for i := range r.sends {
				if !r.sends[i].void && !yield(g.messages.ofSend(rank, &r.sends[i])) {
					return
				}
			}
		}
	}
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

// Collectives iterates over all collectives, by communicator and place.
func (g *Graph) Collectives() iter.Seq[Collective] {
	return func(yield func(Collective) bool) {
		for _, in := range g.instances {
			if in.op == mpispec.OpNone { // nobody reached MPI_Finalize
				continue
			}
			if !yield(in.collective()) {
				return
			}
		}
	}
}
