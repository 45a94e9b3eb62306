package causal

import (
	"fmt"
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
)

// VectorTime returns, of each rank, the last event whose entry precedes the exit of the event (its own for its own
// rank); 0 is none.
func (g *Graph) VectorTime(rank int, index uint64) ([]uint64, error) {
	if err := g.check(EventID{rank, index}); err != nil {
		return nil, err
	}
	s := g.take()
	defer g.scratch.Put(s)
	s.past(rank, index)
	return slices.Clone(s.entry), nil
}

// scratch is the state of one query. It finds, for one event, of every rank the last event that is needed: `entry`.
// `want` are the exits of a rank whose dependences must be followed for that, `closed` those that have been.
type scratch struct {
	g                   *Graph
	entry, want, closed []uint64
	queue               []int // ranks with want > closed
	queued              []bool
	seen                []uint32 // instances whose members have all been raised, by query number
	query               uint32
}

func (g *Graph) take() *scratch {
	s, used := g.scratch.Get().(*scratch)
	if !used {
		n := len(g.ranks)
		return &scratch{
			g: g, entry: make([]uint64, n), want: make([]uint64, n), closed: make([]uint64, n), queued: make([]bool, n),
			seen: make([]uint32, len(g.instances)), query: 1,
		}
	}
	clear(s.entry)
	clear(s.want)
	clear(s.closed)
	s.query++
	if s.query == 0 {
		clear(s.seen)
		s.query = 1
	}
	return s
}

func (s *scratch) enqueue(rank int) {
	if s.want[rank] > s.closed[rank] && !s.queued[rank] {
		s.queued[rank] = true
		s.queue = append(s.queue, rank)
	}
}

func (s *scratch) next() (rank int, ok bool) {
	n := len(s.queue)
	if n == 0 {
		return 0, false
	}
	rank = s.queue[n-1]
	s.queue = s.queue[:n-1]
	s.queued[rank] = false
	return rank, true
}

// reach notes that the entry of rank:index is in the past, and so all exits of the rank before it.
func (s *scratch) reach(rank int, index uint64) {
	if index > s.entry[rank] {
		s.entry[rank] = index
		s.want[rank] = max(s.want[rank], index-1)
		s.enqueue(rank)
	}
}

// past computes the vector time of an event into s.entry. Of each rank that it comes to, it starts from the last stored
// vector time, and follows the dependences of the events after it.
func (s *scratch) past(rank int, index uint64) {
	s.entry[rank], s.want[rank] = index, index
	s.enqueue(rank)
	for r, ok := s.next(); ok; r, ok = s.next() {
		lo, hi := s.closed[r], s.want[r]
		if hi <= lo {
			continue
		}
		if at := hi / s.g.every * s.g.every; at > lo {
			lo = s.merge(r, at, lo)
		}
		s.closed[r] = max(s.closed[r], hi)
		events := &s.g.ranks[r]
		for e := lo + 1; e <= hi; e++ {
			for _, d := range events.of(e) {
				s.follow(r, d)
			}
		}
	}
}

// merge takes in the stored vector time of the exit of r:at, if there is one (there is none yet while the graph is
// built). It returns up to which exit of r that closes.
func (s *scratch) merge(r int, at, lo uint64) uint64 {
	n := uint64(len(s.g.ranks))
	stored := s.g.stored[r]
	place := min(at/s.g.every, uint64(len(stored))/n)
	if at = place * s.g.every; at <= lo {
		return lo
	}
	for q, v := range stored[(place-1)*n : place*n] {
		s.entry[q] = max(s.entry[q], v)
		if v > 0 {
			s.closed[q] = max(s.closed[q], v-1) // what precedes an entry precedes all before it
		}
	}
	s.closed[r] = max(s.closed[r], at)
	return at
}

func (s *scratch) follow(r int, d dep) {
	switch d.kind() {
	case depMessage, depProbe, depSync:
		s.reach(d.rank(), d.index())
	case depCollective:
		in := s.g.instances[d.index()]
		if in.dep == mpispec.AfterAll {
			if s.seen[d.index()] == s.query {
				return
			}
			s.seen[d.index()] = s.query
		}
		in.eachDependence(in.comm.member[r], s.reach)
	case depLarge, depControl:
	}
}

// order stores vector times. Events of which each needs another one to have begun have no order in any execution: then
// the traces are not of one run, or a message was matched wrongly.
func (g *Graph) order() error {
	blocked := g.walk(func(r int, e uint64) {
		if e%g.every == 0 {
			s := g.take()
			s.past(r, e)
			g.stored[r] = append(g.stored[r], s.entry...)
			g.scratch.Put(s)
		}
	}).run()
	unknown := 0
	for _, p := range g.problems {
		if p.Kind == ProblemUnknown {
			unknown++
		}
	}
	switch {
	case blocked == nil:
		return nil
	case unknown > 0:
		return fmt.Errorf("the events of the traces have no order: %v wait for each other. Of %d wildcard receives "+
			"the traces do not tell which message they took, so that others were matched wrongly", blocked, unknown)
	}
	return noOrder(blocked)
}

func noOrder(blocked []EventID) error {
	return fmt.Errorf("the events of the traces have no order: %v wait for each other, so the traces are not of one "+
		"run", blocked)
}
