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
// but where the run shows that it did not. Where the run does not show which of several calls did not wait, a part of
// the order is a guess, and what happens in that part waits only for what was before it: then whatever the MPI waited
// for, there is an order of that part that agrees.
//
// What follows from the messages of the program in any case is not enforced again. The Graph must have been built with
// the SyncBytes of the MPI. A *RefusedError is of a limit below 1, or of a run of which it is not known what waits for
// what. It takes one pass over the events; memory is a vector of all ranks for each message under way at most.
func (g *Graph) BoundBuffering(limit int) (*Bounding, error) {
	if limit < 1 {
		return nil, refuse("a bound of %d messages: at least one must be let through", limit)
	}
	if p := g.unboundable(); p != nil {
		return nil, refuse("it is not known of all calls of the run which of them waits for which other (%s), so to "+
			"hold back messages could let ranks wait for ever", p)
	}
	n := len(g.ranks)
	b := bounder{
		walk: g.lazyWalk(), known: newKnown(g), out: &Bounding{Limit: limit, Reached: make([]int, n)},
		to: make([]addressee, n), sent: make([][]bool, n),
	}
	b.enter, b.leave = b.begun, b.known.leave
	for r := range g.ranks {
		b.sent[r] = make([]bool, len(g.ranks[r].sends))
		b.to[r].place = make([]int, len(g.ranks[r].takes))
		for place, i := range b.postings[r] {
			b.to[r].place[i] = place + 1
		}
	}
	if blocked := b.run(); blocked != nil {
		return nil, noOrder(blocked)
	}
	return b.out, nil
}

// WithControl returns the graph of the same run for replays that heed control messages: its cuts are those that the
// ranks of such a replay can be stopped at. What happened before what is as it was.
func (g *Graph) WithControl(all []ControlMessage) (*Graph, error) {
	edges := make([][]edge, len(g.ranks))
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
		ranks: slices.Clone(g.ranks), instances: g.instances, problems: g.problems, every: g.every,
		stored: g.stored, syncBytes: g.syncBytes,
	}
	for r, added := range edges {
		for e := uint64(1); e <= g.Events(r); e++ {
			for _, d := range g.ranks[r].of(e) {
				added = append(added, edge{e, d})
			}
		}
		to.ranks[r] = newRankEvents(g.ranks[r].rankLog, added)
	}
	return to, nil
}

// unboundable returns a problem of a graph that may not have an order that its run has.
func (g *Graph) unboundable() *Problem {
	for i := range g.problems {
		switch p := &g.problems[i]; p.Kind {
		case ProblemUncovered, ProblemRequest, ProblemSize:
			return p
		case ProblemReceive, ProblemProbe: // within the last call of a rank that was cut short, or else:
			if slices.ContainsFunc(g.ranks[p.Event.Rank].takes, func(t takeRec) bool {
				return t.unmatched() && !g.isCut(int(t.ch.src))
			}) {
				return p
			}
		case ProblemUnknown:
			// a wildcard receive that took nothing in the recording is not posted in a replay; with exact arguments it
			// may be
			if slices.ContainsFunc(g.ranks[p.Event.Rank].takes, func(t takeRec) bool {
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
	*walk
	known *known
	out   *Bounding
	to    []addressee
	sent  [][]bool // by sending rank and send
}

// addressee is a rank as a receiver of messages.
type addressee struct {
	place  []int // by take: which of the postings it is, from 1; 0: it receives nothing
	sent   int   // messages so far
	passed int   // postings that the last message has to wait for
	gone   int   // of these, those whose message is sent
}

func (b *bounder) begun(r int, e uint64, sends []int) {
	received := 0
	for _, i := range sends {
		s := &b.g.ranks[r].sends[i]
		b.send(r, i, s)
		if s.take != none {
			received++
		}
	}
	b.known.enter(r, e, received)
}

// send counts a message, and finds what it has to wait for.
func (b *bounder) send(r, i int, s *sendRec) {
	q := int(s.ch.dst)
	to, takes, postings := &b.to[q], b.g.ranks[q].takes, b.postings[q]
	// gone says whether the message of a posting is sent.
	gone := func(posting int) bool {
		t := &takes[postings[posting]]
		return b.sent[t.ch.src][t.send]
	}
	// Where the order is a guess, nothing waits for what comes in that part of it.
	posted := b.posted[q]
	if b.unsure != nil {
		posted = b.unsure[q]
	}
	b.sent[r][i] = true
	to.sent++
	if s.take != none {
		if place := to.place[s.take]; place != 0 && place <= to.passed {
			to.gone++
		}
	}
	for ; to.sent-to.gone > b.out.Limit && to.passed < posted; to.passed++ {
		if gone(to.passed) {
			to.gone++
		}
	}
	b.out.Reached[q] = max(b.out.Reached[q], to.sent-to.gone)
	if to.passed == 0 || q == r || takes[postings[to.passed-1]].start <= b.known.ended[r][q] {
		return
	}
	// As it must wait, it waits until half of them are gone, so that not each of the messages that follow needs a
	// control message.
	last, waiting := to.passed, to.sent-to.gone
	for ; waiting > max(1, b.out.Limit/2) && last < posted; last++ {
		if gone(last) {
			waiting--
		}
	}
	after := takes[postings[last-1]].start
	b.known.learn(r, q, after)
	b.out.Control = append(b.out.Control, ControlMessage{After: EventID{q, after}, Before: EventID{r, s.event}})
}
