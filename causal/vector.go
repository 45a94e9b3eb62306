package causal

import (
	"cmp"
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

// HappenedBefore reports whether the entry of a precedes the exit of b; of an event and itself, false.
func (g *Graph) HappenedBefore(a, b EventID) (bool, error) {
	for _, e := range []EventID{a, b} {
		if err := g.check(e); err != nil {
			return false, err
		}
	}
	if a == b {
		return false, nil
	}
	if a.Rank == b.Rank {
		return a.Index < b.Index, nil
	}
	v, err := g.VectorTime(b.Rank, b.Index)
	return err == nil && a.Index > 0 && v[a.Rank] >= a.Index, err
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
	s := g.scratch.Get().(*scratch) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	for r := range s.entry {
		s.entry[r], s.want[r], s.closed[r], s.queued[r] = 0, 0, 0, false
	}
	s.queue = s.queue[:0]
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

// order goes through all events in an order in which each exit comes after what it follows, and stores vector times on
// the way. If there is no such order it returns a *CycleError.
func (g *Graph) order() error {
	o := g.walk(func(r int, e uint64) {
		if e%g.every == 0 {
			s := g.take()
			s.past(r, e)
			g.stored[r] = append(g.stored[r], s.entry...)
			g.scratch.Put(s)
		}
	})
	var blocked []EventID
	for r := range g.ranks {
		if o.done[r] < g.Events(r) {
			blocked = append(blocked, EventID{r, o.done[r] + 1})
		}
	}
	if len(blocked) > 0 {
		slices.SortFunc(blocked, func(a, b EventID) int { return cmp.Compare(a.Rank, b.Rank) })
		unknown := 0
		for _, p := range g.problems {
			if p.Kind == ProblemUnknown {
				unknown++
			}
		}
		return &CycleError{Blocked: blocked, Unknown: unknown}
	}
	return nil
}

type waiter struct {
	rank int
	need uint64 // exits of the rank that is waited for
}

type orderer struct {
	g       *Graph
	visit   func(r int, e uint64)
	done    []uint64 // exits so far; the event after them has been entered
	ready   []int
	waiting [][]waiter
}

// walk calls visit for all events, in an order in which each exit comes after the entries that it follows, and so after
// the exits before these.
func (g *Graph) walk(visit func(r int, e uint64)) *orderer {
	o := &orderer{g: g, visit: visit, done: make([]uint64, len(g.ranks)), waiting: make([][]waiter, len(g.ranks))}
	for r := range g.ranks {
		o.ready = append(o.ready, r)
	}
	for len(o.ready) > 0 {
		r := o.ready[0]
		o.ready = o.ready[1:]
		o.run(r)
	}
	return o
}

// run advances rank r until it has to wait for another's entry.
func (o *orderer) run(r int) {
	events := &o.g.ranks[r]
	for o.done[r] < events.last() {
		e := o.done[r] + 1
		for _, d := range events.of(e) {
			if q, need, ok := o.missing(r, d); !ok {
				o.waiting[q] = append(o.waiting[q], waiter{r, need})
				return
			}
		}
		o.visit(r, e)
		o.done[r] = e
		if len(o.waiting[r]) > 0 {
			o.waiting[r] = slices.DeleteFunc(o.waiting[r], func(w waiter) bool {
				if w.need > e {
					return false
				}
				o.ready = append(o.ready, w.rank)
				return true
			})
		}
	}
}

// missing returns a rank that has not entered an event that the exit depends on, and how many exits it needs for that.
func (o *orderer) missing(r int, d dep) (rank int, need uint64, ok bool) {
	switch d.kind() {
	case depMessage, depProbe, depSync:
		rank, need = d.rank(), d.index()-1
		return rank, need, o.done[rank] >= need
	case depCollective:
		ok = true
		in := o.g.instances[d.index()]
		in.eachDependence(in.comm.member[r], func(q int, entry uint64) {
			if ok && o.done[q] < entry-1 {
				rank, need, ok = q, entry-1, false
			}
		})
		return rank, need, ok
	case depLarge, depControl:
	}
	return 0, 0, true
}
