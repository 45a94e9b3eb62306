package causal

import (
	"cmp"
	"math"
	"slices"
)

// lazy goes through all points of a run in an order that it could have had, and in which messages are sent as late as
// possible: one is sent when a rank cannot continue without it. Everything else happens as early as it can.
//
// A rank does not leave a send of Options.SyncBytes before its receive was posted, nor a blocking collective before all
// have entered it, because an MPI may make it wait. Where the run cannot be explained so (ranks that send to each other
// first, and receive then) the smallest of the sends that block each other is taken not to have waited, and so
// on.
//
// A rank that was ended within a call had begun it, after all its events: others may have gone on because of that.
type lazy struct {
	g        *Graph
	visitor  visitor
	postings [][]int  // by rank: the takes that receive a message, in the order of the events that post them
	posted   []int    // by rank: of these, those that are posted
	entered  []uint64 // by rank: the last event that was entered
	done     []uint64 // by rank: the last event that has ended
	sends    []int    // by rank: the first of its sends that was not entered
	got      []int    // by rank: how many messages were sent to it
	relaxed  map[relaxed]bool
	last     map[EventID][]int // the ranks whose last call, which did not end, the end of an event follows
	blocked  []block           // by rank: what it waits for
	waiting  [][]int           // by rank: who waits for it
	ready    []int             // ranks that can continue
	turn     int
	scratch  []int
}

// visitor sees the points of a run in their order. sends are those of the event, as indices in the sends of the rank.
type visitor interface {
	enter(rank int, event uint64, sends []int)
	leave(rank int, event uint64)
}

// block is why a rank does not leave an event: another has not entered one. rank -1: it is not blocked.
type block struct {
	rank int
	need uint64
	soft bool // an MPI may wait for that, and need not
	dep  dep  // why
}

// relaxed is what an event did not wait for although an MPI may.
type relaxed struct {
	EventID
	dep dep
}

func newLazy(g *Graph, v visitor) *lazy {
	n := len(g.ranks)
	l := &lazy{
		g: g, visitor: v, postings: make([][]int, n), posted: make([]int, n), entered: make([]uint64, n),
		done:  make([]uint64, n),
		sends: make([]int, n), got: make([]int, n), relaxed: map[relaxed]bool{}, last: map[EventID][]int{},
		blocked: make([]block, n), waiting: make([][]int, n),
	}
	for r := range g.ranks {
		takes := g.messages.ranks[r].takes
		for i := range takes {
			t := &takes[i]
			if t.unmatched() {
				e := EventID{r, max(t.post, t.done)}
				if t.kind != takeReceive {
					e.Index = t.post
				}
				l.last[e] = append(l.last[e], int(t.ch.src))
			}
			if t.send != none && t.start != 0 && (t.kind == takeReceive || t.kind == takeMatched) {
				l.postings[r] = append(l.postings[r], i)
			}
		}
		slices.SortStableFunc(l.postings[r], func(a, b int) int { return cmp.Compare(takes[a].start, takes[b].start) })
		l.blocked[r].rank = -1
		l.ready = append(l.ready, r)
	}
	return l
}

// run visits all points. It returns where ranks block each other, which no run could get over; nil as a rule.
func (l *lazy) run() (blocked []EventID) {
	for {
		for len(l.ready) > 0 {
			r := l.ready[len(l.ready)-1]
			l.ready = l.ready[:len(l.ready)-1]
			l.goOn(r)
		}
		sender, cycle := l.next()
		switch {
		case sender >= 0:
			l.enter(sender)
			l.goOn(sender)
		case cycle >= 0:
			if !l.relax(cycle) {
				for r := range l.g.ranks {
					if l.done[r] < l.g.Events(r) {
						blocked = append(blocked, EventID{r, l.done[r] + 1})
					}
				}
				return blocked
			}
		default:
			return nil
		}
	}
}

// goOn takes a rank to the beginning of its next send, or to where it waits for another.
func (l *lazy) goOn(r int) {
	l.blocked[r].rank = -1
	for l.done[r] < l.g.Events(r) {
		e := l.done[r] + 1
		if l.entered[r] < e {
			if l.atSend(r) {
				return
			}
			l.enter(r)
		}
		if b := l.waitsFor(r, e); b.rank >= 0 {
			l.blocked[r] = b
			l.waiting[b.rank] = append(l.waiting[b.rank], r)
			return
		}
		l.done[r] = e
		takes, postings := l.g.messages.ranks[r].takes, l.postings[r]
		for l.posted[r] < len(postings) && takes[postings[l.posted[r]]].start <= e {
			l.posted[r]++
		}
		l.visitor.leave(r, e)
	}
	if l.entered[r] == l.done[r] {
		l.entered[r]++ // what is behind the end of its trace
		l.wake(r)
	}
}

// atSend says whether a rank is about to enter an event that sends something.
func (l *lazy) atSend(r int) bool { return l.entered[r] == l.done[r] && len(l.nextSends(r)) > 0 }

// nextSends returns what the event sends that a rank is to enter next; it is valid until the next call.
func (l *lazy) nextSends(r int) []int {
	l.scratch = l.scratch[:0]
	sends := l.g.messages.ranks[r].sends
	for i := l.sends[r]; i < len(sends) && sends[i].event == l.entered[r]+1; i++ {
		if !sends[i].void {
			l.scratch = append(l.scratch, i)
		}
	}
	return l.scratch
}

func (l *lazy) enter(r int) {
	sends, of := l.g.messages.ranks[r].sends, l.nextSends(r)
	l.entered[r]++
	e := l.entered[r]
	for l.sends[r] < len(sends) && sends[l.sends[r]].event == e {
		l.sends[r]++
	}
	for _, i := range of {
		l.got[sends[i].ch.dst]++
	}
	l.visitor.enter(r, e, of)
	l.wake(r)
}

// wake lets those continue that waited for what a rank has entered.
func (l *lazy) wake(r int) {
	l.waiting[r] = slices.DeleteFunc(l.waiting[r], func(q int) bool {
		b := &l.blocked[q]
		if b.rank != r { // it was relaxed, and waits for another now
			return true
		}
		if b.need <= l.entered[r] {
			l.ready = append(l.ready, q)
			return true
		}
		return false
	})
}

// waitsFor returns what the end of event e of rank r has to wait for: first what it follows in any case.
func (l *lazy) waitsFor(r int, e uint64) block {
	found := block{rank: -1}
	look := func(q int, entry uint64) {
		if found.rank < 0 && l.entered[q] < entry {
			found.rank, found.need = q, entry
		}
	}
	deps := l.g.ranks[r].of(e)
	for _, d := range deps {
		switch d.kind() {
		case depMessage, depProbe, depSync:
			look(d.rank(), d.index())
		case depCollective:
			in := l.g.instances[d.index()]
			in.eachDependence(in.comm.member[r], look)
		case depLarge, depControl:
		}
	}
	if len(l.last) > 0 {
		for _, q := range l.last[EventID{r, e}] {
			look(q, l.g.Events(q)+1)
		}
	}
	if found.rank >= 0 {
		return found
	}
	for _, d := range deps {
		if len(l.relaxed) > 0 && l.relaxed[relaxed{EventID{r, e}, d}] {
			continue
		}
		switch d.kind() {
		case depLarge:
			look(d.rank(), d.index())
		case depCollective:
			in := l.g.instances[d.index()]
			for j := range in.parts {
				q, entry := in.comm.world[j], in.parts[j].entry
				if entry == 0 {
					entry = l.g.Events(q) + 1
				}
				if entry <= l.g.Events(q) || l.g.isCut(q) {
					look(q, entry)
				}
			}
		case depMessage, depProbe, depSync, depControl:
		}
		if found.rank >= 0 {
			found.soft, found.dep = true, d
			break
		}
	}
	return found
}

// next chooses the rank that is to send: one without whose message another cannot continue, or one that has to get there,
// or else the one whose receiver has the fewest messages to keep. If ranks wait for each other, it returns one of these
// as cycle.
func (l *lazy) next() (sender, cycle int) {
	n := len(l.g.ranks)
	chained, idle, least := -1, -1, 0
	cycle = -1
	for i := range n {
		r := (l.turn + i) % n
		switch b := l.blocked[r]; {
		case l.done[r] == l.g.Events(r):
		case b.rank < 0:
			if kept := l.kept(r); idle < 0 || kept < least {
				idle, least = r, kept
			}
		case b.need == l.entered[b.rank]+1 && l.blocked[b.rank].rank < 0:
			l.turn = r
			return b.rank, -1
		case chained < 0:
			end := l.follow(r)
			if l.blocked[end].rank < 0 {
				chained = end
			} else {
				cycle = end
			}
		}
	}
	switch {
	case chained >= 0:
		return chained, -1
	case cycle >= 0:
		return -1, cycle
	default:
		return idle, -1
	}
}

// follow goes from a rank that is blocked to the one that it waits for, and on: to one that is not blocked, or around a
// cycle.
func (l *lazy) follow(r int) int {
	for range l.g.ranks {
		if l.blocked[r].rank < 0 {
			break
		}
		r = l.blocked[r].rank
	}
	return r
}

// kept is how many messages there are, more than receives, at those that a rank is about to send to.
func (l *lazy) kept(r int) int {
	kept := math.MinInt
	for _, i := range l.nextSends(r) {
		q := l.g.messages.ranks[r].sends[i].ch.dst
		kept = max(kept, l.got[q]-l.posted[q])
	}
	return kept
}

// relax lets one of the ranks continue that wait for each other: of those that send, the one with the smallest message,
// since whether an MPI waits depends on the size.
func (l *lazy) relax(cycle int) bool {
	chosen := -1
	var least uint64
	for r, first := cycle, true; first || r != cycle; r, first = l.blocked[r].rank, false {
		b := &l.blocked[r]
		if !b.soft {
			continue
		}
		bytes := ^uint64(0) // collectives come last
		if b.dep.kind() == depLarge {
			bytes = l.bytes(r, l.done[r]+1, b.dep)
		}
		if chosen < 0 || bytes < least {
			chosen, least = r, bytes
		}
	}
	if chosen < 0 {
		return false
	}
	l.relaxed[relaxed{EventID{chosen, l.done[chosen] + 1}, l.blocked[chosen].dep}] = true
	l.ready = append(l.ready, chosen)
	return true
}

// bytes is the size of the smallest message that event e of rank r completes the sending of, and whose receive is
// posted where d says.
func (l *lazy) bytes(r int, e uint64, d dep) uint64 {
	least := ^uint64(0)
	sends, takes := l.g.messages.ranks[r].sends, l.g.messages.ranks[d.rank()].takes
	for i := l.sends[r] - 1; i >= 0; i-- {
		s := &sends[i]
		if s.done == e && int(s.ch.dst) == d.rank() && s.take != none && takes[s.take].start == d.index() {
			least = min(least, s.bytes)
		}
		if s.event == e {
			break // it completes what it sends itself, and nothing else
		}
	}
	return least
}
