package causal

import "fmt"

// Cut is a position per rank: how many of its events it holds. Position 0 is after MPI_Init.
type Cut []uint64

func (c Cut) String() string { return fmt.Sprint([]uint64(c)) }

// CausalCut returns the least cut that holds the event and all that it needs: every other rank is at the earliest
// position at which the event can have happened. It is consistent. The package comment says how it differs from the
// vector time.
func (g *Graph) CausalCut(rank int, index uint64) (Cut, error) {
	if err := g.check(EventID{rank, index}); err != nil {
		return nil, err
	}
	cut := make(Cut, len(g.ranks))
	cut[rank] = index
	return g.close(cut), nil
}

// Closure returns the least consistent cut that holds the given one.
func (g *Graph) Closure(cut Cut) (Cut, error) {
	if err := g.checkSize(cut); err != nil {
		return nil, err
	}
	return g.close(cut), nil
}

// close returns the least closed cut that holds all of cut.
func (g *Graph) close(cut Cut) Cut {
	s := g.take()
	defer g.scratch.Put(s)
	need := func(rank int, index uint64) {
		if index > s.want[rank] {
			s.want[rank] = index
			s.enqueue(rank)
		}
	}
	for r, index := range cut {
		need(r, index)
	}
	for r, ok := s.next(); ok; r, ok = s.next() {
		lo, hi := s.closed[r], s.want[r]
		s.closed[r] = hi
		events := &g.ranks[r]
		for e := lo + 1; e <= hi; e++ {
			for _, d := range events.of(e) {
				if d.kind() != depCollective {
					need(d.rank(), d.index())
				} else if s.seen[d.index()] != s.query {
					s.seen[d.index()] = s.query
					g.instances[d.index()].eachWhole(need)
				}
			}
		}
	}
	return append(Cut(nil), s.want...)
}

func (g *Graph) checkSize(cut Cut) error {
	if len(cut) != len(g.ranks) {
		return &CutSizeError{Positions: len(cut), Ranks: len(g.ranks)}
	}
	for r, index := range cut {
		if err := g.check(EventID{r, index}); err != nil {
			return err
		}
	}
	return nil
}

func (k depKind) relation() Relation {
	switch k {
	case depMessage:
		return RelationMessage
	case depProbe:
		return RelationProbe
	case depSync, depLarge:
		return RelationSync
	case depControl:
		return RelationControl
	case depCollective:
	}
	return RelationCollective
}

// missing returns an event that the cut must hold if it holds rank:index, and does not; nil if there is none.
func (g *Graph) missing(cut Cut, rank int, index uint64) *InconsistentCutError {
	for _, d := range g.ranks[rank].of(index) {
		var out EventID
		if d.kind() != depCollective {
			if e := (EventID{d.rank(), d.index()}); e.Index > cut[e.Rank] {
				out = e
			}
		} else {
			g.instances[d.index()].eachWhole(func(q int, event uint64) {
				if out.IsZero() && event > cut[q] {
					out = EventID{q, event}
				}
			})
		}
		if !out.IsZero() {
			in := EventID{rank, index}
			return &InconsistentCutError{
				Send: out, Receive: in, Relation: d.kind().relation(), SendOp: g.op(out),
				RecvOp: g.op(in),
			}
		}
	}
	return nil
}

// CheckCut accepts a consistent cut. Otherwise it returns an *InconsistentCutError with the first receive (of the
// lowest rank) whose send is not in the cut, or a *CutSizeError or *NoEventError for a cut of another shape.
func (g *Graph) CheckCut(cut Cut) error {
	if err := g.checkSize(cut); err != nil {
		return err
	}
	if bad := g.firstLack(cut); bad != nil {
		return bad
	}
	return nil
}

func (g *Graph) firstLack(cut Cut) *InconsistentCutError {
	for r, last := range cut {
		for e := uint64(1); e <= last; e++ {
			if bad := g.missing(cut, r, e); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// NearestConsistent returns the greatest consistent cut that the given one holds, and the least one that holds the
// given one. Both equal a cut that is consistent.
func (g *Graph) NearestConsistent(cut Cut) (below, above Cut, err error) {
	if err := g.checkSize(cut); err != nil {
		return nil, nil, err
	}
	return g.shrink(cut), g.close(cut), nil
}

// shrink takes out of a cut each event that needs another which is not there, then those that need what was taken out, and so on.
func (g *Graph) shrink(cut Cut) Cut {
	rev := g.reverse()
	below := append(Cut(nil), cut...)
	type span struct {
		rank   int
		lo, hi uint64 // lo < event <= hi were taken out
	}
	var out []span
	remove := func(rank int, index uint64) {
		if index <= below[rank] {
			out = append(out, span{rank, index - 1, below[rank]})
			below[rank] = index - 1
		}
	}
	for r, last := range cut {
		for e := uint64(1); e <= last; e++ {
			if g.missing(cut, r, e) != nil {
				remove(r, e)
				break
			}
		}
	}
	for len(out) > 0 {
		s := out[len(out)-1]
		out = out[:len(out)-1]
		for e := s.lo + 1; e <= s.hi; e++ {
			for _, d := range rev[s.rank].of(e) {
				if d.kind() != depCollective {
					remove(d.rank(), d.index())
					continue
				}
				in := g.instances[d.index()]
				for j := range in.parts {
					if exit := in.parts[j].exit; exit != 0 {
						remove(in.comm.world[j], exit)
					}
				}
			}
		}
	}
	return below
}

// reverse is, by event, what a cut cannot hold without that event: single events, or (depCollective) all exits of an
// instance.
type reverse []rankEvents

func (g *Graph) reverse() reverse {
	g.reverseOnce.Do(func() {
		edges := make([][]edge, len(g.ranks))
		for r := range g.ranks {
			events := &g.ranks[r]
			for e := uint64(1); e <= events.last(); e++ {
				for _, d := range events.of(e) {
					if d.kind() != depCollective {
						edges[d.rank()] = append(edges[d.rank()], edge{d.index(), packDep(d.kind(), r, e)})
					}
				}
			}
		}
		for id, in := range g.instances {
			in.eachWhole(func(rank int, event uint64) {
				edges[rank] = append(edges[rank], edge{event, packDep(depCollective, 0, uint64(id))})
			})
		}
		g.reversed = make(reverse, len(g.ranks))
		for r := range g.ranks {
			g.reversed[r] = newRankEvents(g.ranks[r].ops, edges[r])
			edges[r] = nil
		}
	})
	return g.reversed
}
