package replayctl

import "github.com/cohort-debugger/cohort/causal"

// A hit is one time that a rank reaches a breakpoint: after an event, and before the next. Several hits may have the
// same event; they are told apart by their order.
type hit struct {
	event       uint64
	initialised bool // MPI was initialised; if not, nothing of any other rank happened before
}

// progress is how far a rank has come with regard to one breakpoint: the events that it has completed, and how often it
// has hit the breakpoint since.
type progress struct {
	event uint64
	hits  int
}

// next finds the first hit that lies ahead, or -1. hits are in program order.
func next(hits []hit, at progress) int {
	seen := 0
	for i, h := range hits {
		switch {
		case h.event > at.event:
			return i
		case h.event == at.event:
			seen++
			if seen > at.hits {
				return i
			}
		}
	}
	return -1
}

// A candidate is one rank at one breakpoint, and its next hit there.
type candidate struct {
	key
	sought sought
	from   uint64 // the events of the rank
	at     progress
	hit    hit
	cut    causal.Cut // of (rank, hit.event)
}

type key struct{ breakpoint, rank int }

// first picks the candidate at which the job is to stop: one that no other candidate precedes. Candidate d precedes c
// if c's cut holds more events of d's rank than d's hit does, so that this rank would run through its own hit on the
// way to c's cut. Precedence is acyclic, being a suborder of happened-before; of several the one with the
// lowest rank, then the lowest breakpoint, is chosen, so that a replay stops at the same places every time. nil: there
// are none.
func first(candidates []candidate) (best *candidate) {
	for i := range candidates {
		c := &candidates[i]
		if preceded(c, candidates) {
			continue
		}
		if best == nil || c.rank < best.rank || c.rank == best.rank && c.breakpoint < best.breakpoint {
			best = c
		}
	}
	return best
}

func preceded(c *candidate, all []candidate) bool {
	for _, d := range all {
		switch {
		case d.rank != c.rank:
			if c.cut[d.rank] > d.hit.event {
				return true
			}
		case d.hit.event < c.hit.event:
			return true
		}
	}
	return false
}
