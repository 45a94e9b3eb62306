package causal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
)

// ControlMessage is an order that a replay adds: Before must not begin until After has ended. They are events of two
// ranks.
type ControlMessage struct{ After, Before EventID }

// Bounding is what BoundBuffering found.
type Bounding struct {
	Limit int
	// Control is in an order in which each rank sends its own, and each receives its own.
	Control []ControlMessage
	// Reached is, of each rank, how many messages to it can be sent and not have their receives posted at any time, if
	// the control messages are heeded. It is more than Limit where the program sends more before it receives. Calls
	// within which a rank was ended are not counted.
	Reached []int
}

// Most returns the greatest number of Reached, and the first rank that has it.
func (b *Bounding) Most() (rank, messages int) {
	for r, n := range b.Reached {
		if n > messages {
			rank, messages = r, n
		}
	}
	return rank, messages
}

// BoundBuffering finds control messages with which no more than limit messages are ever sent to a rank that it has not
// posted the receives of, as far as the run allows that. A replay that delays receives, because each waits for its
// recorded message, needs them where senders would fill the memory.
//
// The idea is Netzer & Miller's ("Optimal Tracing and Replay for Debugging Message-Passing Parallel Programs", section
// 4.2): a control message from the receiver keeps a message back until an earlier one is received. Theirs restores the
// recorded order of arrival, with one message at most in a channel. A trace does not have that order, and parallelism
// is worth keeping; so here all points of the run (entries and exits of events, see the package comment) are put into
// one total order that the run could have had, in which messages are sent as late as possible. In that order the
// messages to a rank have numbers. Message j is held back until so many receives are posted that, of messages 1 to j,
// at most limit are without; or, where the order does not have that many receives before the sending of j,
// until those are posted that it has; and then until half of limit is free, so that there are fewer control messages.
// Whenever j is the last message that was sent, all that were sent are among 1 to j: so the bound holds at every
// instant. And since all that is added agrees with one order, in which the run can happen, it adds no deadlock. That
// order respects, too, what an MPI may wait for though no data flows (Options.SyncBytes; all of a blocking collective),
// but where the run shows that it did not.
//
// What follows from the messages of the program in any case is not enforced again. The Graph must have been built with
// the SyncBytes of the MPI. Errors: a limit below 1; *UnboundableError. It takes one pass over the events; memory is a
// vector of all ranks for each message under way at most.
func (g *Graph) BoundBuffering(limit int) (*Bounding, error) {
	if limit < 1 {
		return nil, fmt.Errorf("a bound of %d messages: at least one must be let through", limit)
	}
	if p := g.unboundable(); p != nil {
		return nil, &UnboundableError{*p}
	}
	b := bounder{
		known: newKnown(g), out: &Bounding{Limit: limit, Reached: make([]int, len(g.ranks))},
		to: make([]addressee, len(g.ranks)), number: make([][]int, len(g.ranks)),
	}
	b.lazy = newLazy(g, &b)
	for r := range g.ranks {
		m := &g.messages.ranks[r]
		b.number[r] = make([]int, len(m.sends))
		b.to[r].place = make([]int, len(m.takes))
		for place, i := range b.postings[r] {
			b.to[r].place[i] = place + 1
		}
	}
	if blocked := b.run(); blocked != nil {
		return nil, &CycleError{Blocked: blocked}
	}
	return b.out, nil
}

// WithControl returns the graph of the same run for replays that heed control messages: its cuts are those that the
// ranks of such a replay can be stopped at. What happened before what is as it was.
func (g *Graph) WithControl(all []ControlMessage) (*Graph, error) {
	edges := make([][]edge, len(g.ranks))
	for r := range g.ranks {
		events := &g.ranks[r]
		for e := uint64(1); e <= events.last(); e++ {
			for _, d := range events.of(e) {
				edges[r] = append(edges[r], edge{e, d})
			}
		}
	}
	for _, c := range all {
		for _, e := range []EventID{c.After, c.Before} {
			if err := g.check(e); err != nil || e.Index == 0 {
				return nil, errors.Join(fmt.Errorf("a control message from %s to %s", c.After, c.Before), err)
			}
		}
		edges[c.Before.Rank] = append(edges[c.Before.Rank],
			edge{c.Before.Index, packDep(depControl, c.After.Rank, c.After.Index)})
	}
	to := &Graph{
		ranks: make([]rankEvents, len(g.ranks)), instances: g.instances, problems: g.problems,
		messages: g.messages, every: g.every, stored: g.stored,
	}
	for r := range g.ranks {
		to.ranks[r] = newRankEvents(g.ranks[r].ops, edges[r])
		to.ranks[r].sites, to.ranks[r].declared = g.ranks[r].sites, g.ranks[r].declared
	}
	to.scratch.New = func() any { return newScratch(to) }
	return to, nil
}

// UnboundableError is a run of which it is not known what waits for what.
type UnboundableError struct{ Problem Problem }

func (e *UnboundableError) Error() string {
	return fmt.Sprintf("it is not known of all calls of the run which of them waits for which other (%s), so to hold "+
		"back messages could let ranks wait for ever", e.Problem)
}

// unboundable returns a problem of a graph that may not have an order that its run has.
func (g *Graph) unboundable() *Problem {
	for i := range g.problems {
		switch p := &g.problems[i]; p.Kind {
		case ProblemUncovered, ProblemRequest, ProblemSize:
			return p
		case ProblemReceive, ProblemProbe: // within the last call of a rank that was cut short, or else:
			if slices.ContainsFunc(g.messages.ranks[p.Event.Rank].takes, func(t takeRec) bool {
				return t.unmatched() && !g.isCut(int(t.ch.src))
			}) {
				return p
			}
		case ProblemUnknown:
			// a wildcard receive that took nothing in the recording is not posted in a replay; with exact arguments it
			// may be
			if slices.ContainsFunc(g.messages.ranks[p.Event.Rank].takes, func(t takeRec) bool {
				return t.cancelled && t.known && t.kind != takeVoid && t.done == 0 && !t.freed
			}) {
				return p
			}
		case ProblemSend, ProblemPending, ProblemCollective:
		}
	}
	return nil
}

// isCut says whether a rank was ended before MPI_Finalize.
func (g *Graph) isCut(rank int) bool {
	last := g.Events(rank)
	return last == 0 || g.ranks[rank].ops[last-1] != mpispec.OpFinalize
}

// unmatched is a receive or probe that ended, and there is no send.
func (t *takeRec) unmatched() bool {
	return t.known && t.send == none && t.kind != takeVoid && (t.done != 0 || t.kind != takeReceive)
}

// bounder follows the lazy order.
type bounder struct {
	*lazy
	known  *known
	out    *Bounding
	to     []addressee
	number [][]int // by sending rank and send: which of the messages to its receiver it is, from 1; 0: not sent yet
}

// addressee is a rank as a receiver of messages.
type addressee struct {
	place  []int // by take: which of the postings it is, from 1; 0: it receives nothing
	sent   int   // messages so far
	passed int   // postings that the last message has to wait for
	gone   int   // of these, those whose message is sent
}

func (b *bounder) enter(r int, e uint64, sends []int) {
	for _, i := range sends {
		b.send(r, i, &b.g.messages.ranks[r].sends[i])
	}
	b.known.enter(r, e, b.messagesOf(r, sends))
}

func (b *bounder) leave(r int, e uint64) { b.known.leave(r, e) }

// messagesOf counts those that are received.
func (b *bounder) messagesOf(r int, sends []int) (n int) {
	for _, i := range sends {
		if b.g.messages.ranks[r].sends[i].take != none {
			n++
		}
	}
	return n
}

// send gives a message its number, and finds what it has to wait for.
func (b *bounder) send(r, i int, s *sendRec) {
	q := int(s.ch.dst)
	to, takes, postings := &b.to[q], b.g.messages.ranks[q].takes, b.postings[q]
	to.sent++
	b.number[r][i] = to.sent
	if s.take != none {
		if place := to.place[s.take]; place != 0 && place <= to.passed {
			to.gone++
		}
	}
	for to.sent-to.gone > b.out.Limit && to.passed < b.posted[q] {
		t := &takes[postings[to.passed]]
		if b.number[t.ch.src][t.send] != 0 {
			to.gone++
		}
		to.passed++
	}
	b.out.Reached[q] = max(b.out.Reached[q], to.sent-to.gone)
	if to.passed == 0 || q == r {
		return
	}
	if takes[postings[to.passed-1]].start <= b.known.ended[r].of[q] {
		return
	}
	// As it must wait, it waits until half of them are gone, so that not each of the messages that follow needs a
	// control message.
	i, gone := to.passed, to.gone
	for ; to.sent-gone > max(1, b.out.Limit/2) && i < b.posted[q]; i++ {
		if t := &takes[postings[i]]; b.number[t.ch.src][t.send] != 0 {
			gone++
		}
	}
	after := takes[postings[i-1]].start
	b.known.learn(r, q, after)
	b.out.Control = append(b.out.Control, ControlMessage{After: EventID{q, after}, Before: EventID{r, s.event}})
}
