package replayctl

import "github.com/cohort-debugger/cohort/job"

// A Hit is one time that a rank reaches a breakpoint: after its event Event, and before the next. Several hits may have
// the same Event; they are told apart by their order.
type Hit struct {
	Event       uint64
	Initialised bool // MPI was initialised; if not, nothing of any other rank happened before
}

// A Place is where a rank stands with regard to one breakpoint: after Event events, having hit the breakpoint Seen
// times since.
type Place struct {
	Event uint64
	Seen  int
}

// next finds the first hit that lies ahead of place, or -1. hits are in program order.
func next(hits []Hit, place Place) int {
	seen := 0
	for i, h := range hits {
		switch {
		case h.Event > place.Event:
			return i
		case h.Event == place.Event:
			seen++
			if seen > place.Seen {
				return i
			}
		}
	}
	return -1
}

// A candidate is the next hit of one rank at one breakpoint.
type candidate struct {
	breakpoint int // ID
	rank       int
	hit        Hit
	cut        []uint64 // the causal cut of (rank, hit.Event)
}

// first picks the candidate at which the job is to stop: one that no other candidate precedes. Candidate d precedes c
// if c's cut holds more events of d's rank than d's hit does, so that this rank would run through its own hit on the
// way to c's cut. Precedence is acyclic, being a suborder of happened-before; of several the one with the
// lowest rank, then the lowest breakpoint, is taken, so that a replay stops at the same places every time.
func first(candidates []candidate) (candidate, bool) {
	best, found := candidate{}, false
	for _, c := range candidates {
		if preceded(c, candidates) {
			continue
		}
		if !found || c.rank < best.rank || c.rank == best.rank && c.breakpoint < best.breakpoint {
			best, found = c, true
		}
	}
	return best, found
}

func preceded(c candidate, all []candidate) bool {
	for _, d := range all {
		switch {
		case d.rank != c.rank:
			if c.cut[d.rank] > d.hit.Event {
				return true
			}
		case d.hit.Event < c.hit.Event:
			return true
		}
	}
	return false
}

// places remembers, per breakpoint and rank, how often the rank has stopped at it since its last event.
type places map[key]Place

type key struct{ breakpoint, rank int }

// saw takes note of a stop of a rank.
func (p places) saw(s job.RankStatus) {
	if s.Stop == nil {
		return
	}
	for _, id := range s.Stop.Breakpoints {
		k := key{id, s.Rank}
		place := p[k]
		if place.Event != s.Stop.Control.Events {
			place = Place{Event: s.Stop.Control.Events}
		}
		place.Seen++
		p[k] = place
	}
}

// at tells where a rank with that many events stands.
func (p places) at(breakpoint, rank int, events uint64) Place {
	if place := p[key{breakpoint, rank}]; place.Event == events {
		return place
	}
	return Place{Event: events}
}
