package causaltest

import (
	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// Choice names a receive or probe: the call that posted it, and its place among the receives that the call posted.
type Choice struct {
	Post  causal.EventID
	Place int
}

// Alternatives are the messages that a receive or probe with a wildcard source could have taken: the one that it took,
// and all others that it takes in some execution that is this one in everything that came before. Messages are named by
// the event that sent them and their place among the messages of that call.
type Alternatives map[Choice]map[Choice]bool

// Explore finds, by going through all schedules, what each receive and probe with a wildcard source could have taken.
// Every rank makes the calls that it made, and every other receive takes the message that it took, or none; which of
// the steps that are possible comes next is tried out in all ways. What is possible are MPI's rules (MPI-3.1 section
// 3.5), without any algebra of happened-before: a receive can take a message if it is posted, the message is sent,
// nobody has taken it, no message of the same sender that fits it waits before it, and no receive that was posted
// earlier and waits fits it. Sends end without their receives, but for synchronous ones.
//
// ok is false if there are more than so many states, or the execution has something that is not modelled: a receive
// that was cancelled, or that never got a message.
func (x *Execution) Explore(states int) (all Alternatives, ok bool) {
	p := newProgram(x)
	if p == nil {
		return nil, false
	}
	all = Alternatives{}
	for t := range p.takes {
		if p.takes[t].source != trace.AnySource {
			continue
		}
		found := map[Choice]bool{}
		e := explorer{program: p, target: t, found: found, seen: map[string]bool{}, left: states}
		e.visit(p.start())
		if e.left <= 0 {
			return nil, false
		}
		all[p.takes[t].name] = found
	}
	return all, true
}

// Deviates says whether a replay can be another execution, in which some receive or probe takes another message, if
// those that told selects ask for exactly the message that they took, and the others for what they asked here. It goes
// through all schedules, as Explore does; ok is as there.
func (x *Execution) Deviates(told func(Choice) bool, states int) (deviates, ok bool) {
	p := newProgram(x)
	if p == nil {
		return false, false
	}
	for t := range p.takes {
		if take := &p.takes[t]; told(take.name) {
			take.source, take.tag = int32(p.messages[take.message].src), p.messages[take.message].tag
		}
	}
	e := explorer{
		program: p, target: none, found: map[Choice]bool{}, seen: map[string]bool{}, left: states,
		deviations: true,
	}
	e.visit(p.start())
	return len(e.found) > 0, e.left > 0 || len(e.found) > 0
}

// program is what the ranks of an execution do, with what each receive took.
type program struct {
	x        *Execution
	calls    [][]call // by rank
	messages []sent
	takes    []take
	members  map[uint32][]uint32
}

type sent struct {
	name     Choice
	src, dst int
	comm     uint32
	tag      int32
	at       int // the call of src that sends it
	// the call of dst from which it counts as received, when taken by a matched probe; none: by its match
	start       int
	synchronous bool
}

type take struct {
	name        Choice
	rank        int
	comm        uint32
	source, tag int32 // world rank, or trace.AnySource
	at          int   // the call that posts it
	probe       bool
	message     int
}

// call is one call: what must be so for it to end.
type call struct {
	takes   []int // that must have been matched
	sends   []int // that must have been received
	probe   int   // that must see its message
	entered []at  // calls that others must have entered
}

type at struct{ rank, call int }

const none = -1

type handle struct {
	take, send int
	entered    []at
}

// builder makes the program of one rank.
type rankBuilder struct {
	p        *program
	rank     int
	requests map[uint64]handle
	inits    map[uint64]*trace.Event
	now      int
	c        *call
}

func newProgram(x *Execution) *program {
	p := &program{x: x, members: map[uint32][]uint32{}}
	for rank, records := range x.Records {
		b := &rankBuilder{p: p, rank: rank, requests: map[uint64]handle{}, inits: map[uint64]*trace.Event{}}
		var calls []call
		for _, rec := range records {
			switch rec := rec.(type) {
			case *trace.Comm:
				p.members[rec.Index] = rec.Members
			case *trace.Event:
				calls = append(calls, call{probe: none})
				b.now, b.c = len(calls)-1, &calls[len(calls)-1]
				if !b.event(rec) {
					return nil
				}
			}
		}
		p.calls = append(p.calls, calls)
	}
	return p.matched()
}

// matched fills in what the truth says each take took; nil if one took nothing.
func (p *program) matched() *program {
	byName := map[Choice]int{}
	for m := range p.messages {
		byName[p.messages[m].name] = m
	}
	takeOf := map[Choice]int{}
	for t := range p.takes {
		p.takes[t].message = none
		takeOf[p.takes[t].name] = t
	}
	place := map[causal.EventID]int{}
	for _, m := range p.x.Messages {
		mine := byName[Choice{m.Send, place[m.Send]}]
		place[m.Send]++
		if t, ok := takeOf[Choice{m.Post, m.Place}]; ok && !m.Post.IsZero() {
			p.takes[t].message = mine
			if m.Start != m.Post {
				p.messages[mine].start = int(m.Start.Index) - 1
				if m.Start.IsZero() {
					p.messages[mine].start = 1 << 30
				}
			}
		}
		for _, probe := range m.Probes {
			if t, ok := takeOf[Choice{probe, 0}]; ok {
				p.takes[t].message = mine
			}
		}
	}
	for t := range p.takes {
		if p.takes[t].message == none {
			return nil
		}
	}
	return p
}

func (b *rankBuilder) event(e *trace.Event) bool {
	here := causal.EventID{Rank: b.rank, Index: e.Index}
	switch e.Op.Class() {
	case mpispec.ClassSend:
		m := b.send(here, 0, &e.Send, e.Op == mpispec.OpSsend || e.Op == mpispec.OpIssend)
		if e.Op >= mpispec.OpIsend {
			b.requests[e.Index] = handle{take: none, send: m}
		} else if m != none && e.Op == mpispec.OpSsend {
			b.c.sends = append(b.c.sends, m)
		}
	case mpispec.ClassRecv, mpispec.ClassSendrecv:
		if e.Op.Class() == mpispec.ClassSendrecv {
			b.send(here, 0, &e.Send, false)
		}
		if t := b.take(here, 0, e.Recv.Comm, e.Recv.AskedSource, e.Recv.AskedTag); e.Op != mpispec.OpMrecv &&
			t != none {
			b.c.takes = append(b.c.takes, t)
		}
	case mpispec.ClassIrecv:
		if e.Op == mpispec.OpImrecv {
			b.requests[e.Index] = handle{take: none, send: none}
			break
		}
		b.requests[e.Index] = handle{
			take: b.take(here, 0, e.Recv.Comm, e.Recv.AskedSource, e.Recv.AskedTag),
			send: none,
		}
	case mpispec.ClassProbe:
		t := b.take(here, 0, e.Recv.Comm, e.Recv.AskedSource, e.Recv.AskedTag)
		switch {
		case t == none:
		case e.Op == mpispec.OpProbe || e.Op == mpispec.OpIprobe:
			b.p.takes[t].probe, b.c.probe = true, t
		default:
			b.c.takes = append(b.c.takes, t)
		}
	case mpispec.ClassSendInit, mpispec.ClassRecvInit:
		b.inits[e.Index] = e
	case mpispec.ClassStart:
		b.start(here, e)
	case mpispec.ClassCompletion:
		for _, c := range e.Completed {
			if c.Class == trace.RequestOther {
				return false // cancelled
			}
			h := b.requests[c.Post]
			if h.take != none {
				b.c.takes = append(b.c.takes, h.take)
			}
			if h.send != none && b.p.messages[h.send].synchronous {
				b.c.sends = append(b.c.sends, h.send)
			}
			b.c.entered = append(b.c.entered, h.entered...)
		}
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassComm:
		b.collective(here, e)
	default:
		return e.Op != mpispec.OpCancel
	}
	return true
}

func (b *rankBuilder) start(here causal.EventID, e *trace.Event) {
	sends, takes := 0, 0
	for _, init := range e.Inits {
		a, h := b.inits[init], handle{take: none, send: none}
		if a.Op == mpispec.OpRecvInit {
			h.take = b.take(here, takes, a.Send.Comm, a.Send.Dest, a.Send.Tag)
			takes++
		} else if h.send = b.send(here, sends, &a.Send, a.Op == mpispec.OpSsendInit); h.send != none {
			sends++
		}
		b.requests[init] = h
	}
}

func (b *rankBuilder) send(here causal.EventID, place int, a *trace.SendArgs, synchronous bool) int {
	if a.Dest == trace.ProcNull {
		return none
	}
	b.p.messages = append(b.p.messages, sent{
		name: Choice{here, place}, src: b.rank, dst: int(b.p.members[a.Comm][a.Dest]), comm: a.Comm, tag: a.Tag,
		at: b.now, start: none,
		synchronous: synchronous,
	})
	return len(b.p.messages) - 1
}

func (b *rankBuilder) take(here causal.EventID, place int, comm uint32, source, tag int32) int {
	if source == trace.ProcNull {
		return none
	}
	if source != trace.AnySource {
		source = int32(b.p.members[comm][source])
	}
	b.p.takes = append(b.p.takes, take{
		name: Choice{here, place}, rank: b.rank, comm: comm, source: source, tag: tag,
		at: b.now,
	})
	return len(b.p.takes) - 1
}

func (b *rankBuilder) collective(here causal.EventID, e *trace.Event) {
	for _, c := range b.p.x.Collectives {
		for i := range c.Members {
			if c.Members[i].Entry != here {
				continue
			}
			var entered []at
			for j := range c.Members {
				if c.Follows(i, j) {
					entered = append(entered, at{c.Members[j].Rank, int(c.Members[j].Entry.Index) - 1})
				}
			}
			if c.Blocking {
				b.c.entered = entered
			} else {
				b.requests[e.Index] = handle{take: none, send: none, entered: entered}
			}
		}
	}
}
