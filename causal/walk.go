package causal

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// walk goes through all points of a run in an order that it could have had. As a rule everything happens as early as it
// can.
//
// In a lazy walk messages are sent as late as possible: one is sent when a rank cannot continue without it. And a rank
// does not leave a send of Options.SyncBytes before its receive was posted, nor a blocking collective before all have
// entered it, because an MPI may make it wait. Where the run cannot be explained so (ranks that send to each other
// first, and receive then) the smallest of the sends that block each other is taken not to have waited, and so on.
// Where it may as well have been a collective that did not wait, the order of what follows is a guess (unsure).
//
// A rank that was ended within a call had begun it, after all its events: others may have gone on because of that.
type walk struct {
	g *Graph
	// enter and leave are called for the points in their order. sends are those of the event, as indices in the sends
	// of the rank; they are valid during the call.
	enter   func(rank int, event uint64, sends []int)
	leave   func(rank int, event uint64)
	entered []uint64 // by rank: the last event that was entered
	done    []uint64 // by rank: the last event that has ended
	blocked []block  // by rank: what it waits for
	waiting [][]int  // by rank: who waits for it
	ready   []int    // ranks that can continue
	sends   []int    // by rank: the first of its sends that was not entered
	scratch []int

	lazy     bool
	postings [][]int           // by rank: the takes that receive a message, in the order of the events that post them
	posted   []int             // by rank: of these, those that are posted
	got      []int             // by rank: how many messages were sent to it
	last     map[EventID][]dep // what the end of an event follows in calls that did not end
	relaxed  map[relaxed]bool
	turn     int
	unsure   []int          // posted, when the part of the order began that is a guess; nil: it is none here
	sureFrom map[int]uint64 // by rank: that part is over when these have been entered
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

func (g *Graph) walk(leave func(rank int, event uint64)) *walk {
	n := len(g.ranks)
	w := &walk{
		g: g, enter: func(int, uint64, []int) {}, leave: leave,
		entered: make([]uint64, n), done: make([]uint64, n), blocked: make([]block, n), waiting: make([][]int, n),
		sends: make([]int, n), posted: make([]int, n), got: make([]int, n), postings: make([][]int, n),
	}
	for r := range g.ranks {
		w.blocked[r].rank = -1
		w.ready = append(w.ready, r)
	}
	return w
}

func (g *Graph) lazyWalk() *walk {
	w := g.walk(nil)
	w.lazy, w.last, w.relaxed, w.sureFrom = true, map[EventID][]dep{}, map[relaxed]bool{}, map[int]uint64{}
	follow := func(r int, event uint64, kind depKind, other uint32) {
		e := EventID{r, event}
		w.last[e] = append(w.last[e], packDep(kind, int(other), g.Events(int(other))+1))
	}
	for r := range g.ranks {
		takes := g.ranks[r].takes
		for i := range takes {
			t := &takes[i]
			switch {
			case t.send != none:
				if t.start != 0 && (t.kind == takeReceive || t.kind == takeMatched) {
					w.postings[r] = append(w.postings[r], i)
				}
			case t.unmatched():
				follow(r, max(t.post, t.settled()), depMessage, t.ch.src)
			}
		}
		slices.SortStableFunc(w.postings[r], func(a, b int) int { return cmp.Compare(takes[a].start, takes[b].start) })
		for i := range g.ranks[r].sends {
			s := &g.ranks[r].sends[i]
			if kind, waits := s.sync(g.syncBytes); waits && s.take == none && !s.void && s.done != 0 &&
				g.isCut(int(s.ch.dst)) {
				follow(r, s.done, kind, s.ch.dst)
			}
		}
	}
	return w
}

// run visits all points. It returns where ranks block each other, which no run could get over; nil as a rule.
func (w *walk) run() (blocked []EventID) {
	for {
		for len(w.ready) > 0 {
			r := w.ready[len(w.ready)-1]
			w.ready = w.ready[:len(w.ready)-1]
			w.advance(r)
		}
		sender, cycle := w.next()
		switch {
		case sender >= 0:
			w.begin(sender)
			w.advance(sender)
		case cycle < 0:
			return nil
		case !w.relax(cycle):
			for r := range w.g.ranks {
				if w.done[r] < w.g.Events(r) {
					blocked = append(blocked, EventID{r, w.done[r] + 1})
				}
			}
			return blocked
		}
	}
}

// advance takes a rank to where it waits for another, or in a lazy walk to the beginning of its next send.
func (w *walk) advance(r int) {
	w.blocked[r].rank = -1
	for w.done[r] < w.g.Events(r) {
		e := w.done[r] + 1
		if w.entered[r] < e {
			if w.lazy && len(w.nextSends(r)) > 0 {
				return
			}
			w.begin(r)
		}
		if b := w.waitsFor(r, e); b.rank >= 0 {
			w.blocked[r] = b
			w.waiting[b.rank] = append(w.waiting[b.rank], r)
			return
		}
		w.done[r] = e
		takes, postings := w.g.ranks[r].takes, w.postings[r]
		for w.posted[r] < len(postings) && takes[postings[w.posted[r]]].start <= e {
			w.posted[r]++
		}
		w.leave(r, e)
	}
	if w.entered[r] == w.done[r] {
		w.entered[r]++ // what is behind the end of its trace
		w.wake(r)
	}
}

// nextSends returns what the event sends that a rank is to enter next; it is valid until the next call.
func (w *walk) nextSends(r int) []int {
	w.scratch = w.scratch[:0]
	sends := w.g.ranks[r].sends
	for i := w.sends[r]; i < len(sends) && sends[i].event == w.entered[r]+1; i++ {
		if !sends[i].void {
			w.scratch = append(w.scratch, i)
		}
	}
	return w.scratch
}

// begin enters the next event of a rank.
func (w *walk) begin(r int) {
	w.settle()
	sends, of := w.g.ranks[r].sends, w.nextSends(r)
	w.entered[r]++
	e := w.entered[r]
	for w.sends[r] < len(sends) && sends[w.sends[r]].event == e {
		w.sends[r]++
	}
	for _, i := range of {
		w.got[sends[i].ch.dst]++
	}
	w.enter(r, e, of)
	w.wake(r)
}

// wake lets those continue that waited for what a rank has entered.
func (w *walk) wake(r int) {
	if len(w.waiting[r]) == 0 {
		return
	}
	w.waiting[r] = slices.DeleteFunc(w.waiting[r], func(q int) bool {
		b := &w.blocked[q]
		if b.rank != r { // it was relaxed, and waits for another now
			return true
		}
		if b.need <= w.entered[r] {
			w.ready = append(w.ready, q)
			return true
		}
		return false
	})
}

// waitsFor returns what the end of event e of rank r has to wait for: first what it follows in any case.
func (w *walk) waitsFor(r int, e uint64) block {
	found := block{rank: -1}
	look := func(q int, entry uint64) {
		if found.rank < 0 && w.entered[q] < entry {
			found.rank, found.need = q, entry
		}
	}
	deps, last := w.g.ranks[r].of(e), w.last[EventID{r, e}]
	for _, deps := range [...][]dep{deps, last} {
		for _, d := range deps {
			switch d.kind() {
			case depMessage, depProbe, depSync:
				look(d.rank(), d.index())
			case depCollective:
				in := w.g.instances[d.index()]
				in.eachDependence(in.comm.member[r], look)
			case depLarge, depControl:
			}
		}
	}
	if found.rank >= 0 || !w.lazy {
		return found
	}
	for _, deps := range [...][]dep{deps, last} {
		for _, d := range deps {
			if len(w.relaxed) > 0 && w.relaxed[relaxed{EventID{r, e}, d}] {
				continue
			}
			switch d.kind() {
			case depLarge:
				look(d.rank(), d.index())
			case depCollective:
				in := w.g.instances[d.index()]
				for j := range in.parts {
					q, entry := in.comm.world[j], in.parts[j].entry
					if entry != 0 {
						look(q, entry)
					} else if w.g.isCut(q) {
						look(q, w.g.Events(q)+1)
					}
				}
			case depMessage, depProbe, depSync, depControl:
			}
			if found.rank >= 0 {
				found.soft, found.dep = true, d
				return found
			}
		}
	}
	return found
}

// next chooses the rank that is to send: one without whose message another cannot continue, or one that has to get
// there, or else the one whose receiver has the fewest messages to keep. If ranks wait for each other, it returns one
// of these as cycle.
func (w *walk) next() (sender, cycle int) {
	n := len(w.g.ranks)
	chained, idle, least := -1, -1, 0
	cycle = -1
	for i := range n {
		r := (w.turn + i) % n
		switch b := w.blocked[r]; {
		case w.done[r] == w.g.Events(r):
		case b.rank < 0:
			if kept := w.kept(r); idle < 0 || kept < least {
				idle, least = r, kept
			}
		case b.need == w.entered[b.rank]+1 && w.blocked[b.rank].rank < 0:
			w.turn = r
			return b.rank, -1
		case chained < 0:
			end := w.follow(r)
			if w.blocked[end].rank < 0 {
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
func (w *walk) follow(r int) int {
	for range w.g.ranks {
		if w.blocked[r].rank < 0 {
			break
		}
		r = w.blocked[r].rank
	}
	return r
}

// kept is how many messages there are, more than receives, at those that a rank is about to send to.
func (w *walk) kept(r int) int {
	kept := math.MinInt
	for _, i := range w.nextSends(r) {
		q := w.g.ranks[r].sends[i].ch.dst
		kept = max(kept, w.got[q]-w.posted[q])
	}
	return kept
}

// relax lets one of the ranks continue that wait for each other: of those that send, the one with the smallest message,
// since whether an MPI waits depends on the size. If one of several that may have waited is in a collective, or waits
// for a receive that the trace does not have, it may have been that which did not: then it is not certain in which
// order the ranks got from where they are to where the others wait for them to be, and so of what happens meanwhile
// neither.
func (w *walk) relax(cycle int) bool {
	w.settle()
	chosen, soft, guess := -1, 0, false
	var least uint64
	until := map[int]uint64{}
	for r, first := cycle, true; first || r != cycle; r, first = w.blocked[r].rank, false {
		b := &w.blocked[r]
		until[b.rank] = b.need
		if !b.soft {
			continue
		}
		soft++
		bytes := ^uint64(0) // collectives come last
		if b.dep.kind() == depLarge {
			bytes = w.bytes(r, w.done[r]+1, b.dep)
		}
		if b.dep.kind() != depLarge || b.need > w.g.Events(b.rank) {
			guess = true
		}
		if chosen < 0 || bytes < least {
			chosen, least = r, bytes
		}
	}
	if chosen < 0 {
		return false
	}
	if guess && soft > 1 {
		if w.unsure == nil {
			w.unsure = slices.Clone(w.posted)
		}
		for r, entry := range until {
			w.sureFrom[r] = max(w.sureFrom[r], entry)
		}
	}
	w.relaxed[relaxed{EventID{chosen, w.done[chosen] + 1}, w.blocked[chosen].dep}] = true
	w.ready = append(w.ready, chosen)
	return true
}

// settle ends a part that is a guess.
func (w *walk) settle() {
	if w.unsure == nil {
		return
	}
	maps.DeleteFunc(w.sureFrom, func(r int, entry uint64) bool { return w.entered[r] >= entry })
	if len(w.sureFrom) == 0 {
		w.unsure = nil
	}
}

// bytes is the size of the largest message that event e of rank r completes the sending of, and whose receive is posted
// where d says: if an MPI waits for any of them, it waits for that.
func (w *walk) bytes(r int, e uint64, d dep) (most uint64) {
	sends, takes := w.g.ranks[r].sends, w.g.ranks[d.rank()].takes
	for i := w.sends[r] - 1; i >= 0; i-- {
		s := &sends[i]
		if s.done == e && int(s.ch.dst) == d.rank() &&
			(s.take != none && takes[s.take].start == d.index() || s.take == none && d.index() > w.g.Events(d.rank())) {
			most = max(most, s.bytes)
		}
		if s.event == e {
			break // it completes what it sends itself, and nothing else
		}
	}
	return most
}
