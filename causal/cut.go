package causal

import "slices"

// Cut is a position per rank: how many of its events it holds. Position 0 is after MPI_Init.
type Cut []uint64

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
	return slices.Clone(s.want)
}

func (g *Graph) checkSize(cut Cut) error {
	if len(cut) != len(g.ranks) {
		return refuse("the cut has %d positions but the run has %d ranks", len(cut), len(g.ranks))
	}
	for r, index := range cut {
		if err := g.check(EventID{r, index}); err != nil {
			return err
		}
	}
	return nil
}

// missing returns an event that the cut must hold if it holds rank:index, and does not; nil if there is none.
func (g *Graph) missing(cut Cut, rank int, index uint64) *InconsistentCutError {
	for _, d := range g.ranks[rank].of(index) {
		var out EventID
		need := func(q int, event uint64) {
			if out.IsZero() && event > cut[q] {
				out = EventID{q, event}
			}
		}
		if d.kind() == depCollective {
			g.instances[d.index()].eachWhole(need)
		} else {
			need(d.rank(), d.index())
		}
		if !out.IsZero() {
			in, rel := EventID{rank, index}, relations[d.kind()]
			return &InconsistentCutError{
				Send: out, Receive: in, Relation: rel.name, why: rel.why, sendOp: g.op(out), receiveOp: g.op(in),
			}
		}
	}
	return nil
}

// CheckCut accepts a consistent cut. Otherwise it returns an *InconsistentCutError with the first receive (of the
// lowest rank) whose send is not in the cut, or a *RefusedError for a cut of another shape.
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
	return g.below(cut), g.close(cut), nil
}

// below takes out of a cut each event that needs another which is not there, then those that need what was taken out,
// and so on.
func (g *Graph) below(cut Cut) Cut {
	cut = slices.Clone(cut)
	for again := true; again; {
		again = false
		for r := range cut {
			for e := uint64(1); e <= cut[r]; e++ {
				if g.missing(cut, r, e) != nil {
					cut[r], again = e-1, true
				}
			}
		}
	}
	return cut
}
