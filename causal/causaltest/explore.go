package causaltest

import "github.com/cohort-debugger/cohort/trace"

// state is how far each rank is (twice the calls that have ended, and one more within a call), and which takes are
// matched.
type state struct {
	steps []byte
	taken []byte // 1: matched
}

func (p *program) start() state {
	return state{make([]byte, len(p.calls)), make([]byte, len(p.takes))}
}

func (s state) key() string { return string(s.steps) + string(s.taken) }

func (s state) clone() state {
	return state{append([]byte(nil), s.steps...), append([]byte(nil), s.taken...)}
}

func (s state) entered(rank, call int) bool { return int(s.steps[rank]) > 2*call }

// explorer looks for all that one take can take; or for takes that can take another message than they did.
type explorer struct {
	*program
	target int
	found  map[Choice]bool
	seen   map[string]bool
	left   int

	deviations bool
}

func (e *explorer) visit(s state) {
	if e.left <= 0 || e.seen[s.key()] {
		return
	}
	e.left--
	e.seen[s.key()] = true
	if e.deviations {
		for t := range e.takes {
			e.look(s, t)
		}
		if len(e.found) > 0 {
			return
		}
	} else {
		e.look(s, e.target)
	}
	for t := range e.takes {
		if t != e.target && !e.takes[t].probe && s.taken[t] == 0 && e.possible(s, t, e.takes[t].message) {
			next := s.clone()
			next.taken[t] = 1
			e.visit(next)
		}
	}
	for rank := range e.calls {
		if e.mayStep(s, rank) {
			next := s.clone()
			next.steps[rank]++
			e.visit(next)
		}
	}
}

// look notes what a take can take; of deviations only what it did not.
func (e *explorer) look(s state, t int) {
	take := &e.takes[t]
	if s.taken[t] == 1 || !s.entered(take.rank, take.at) {
		return
	}
	if take.probe && int(s.steps[take.rank]) > 2*take.at+1 { // it has returned
		return
	}
	for m := range e.messages {
		if (!e.deviations || m != take.message) && e.possible(s, t, m) {
			e.found[e.messages[m].name] = true
		}
	}
}

func (e *explorer) mayStep(s state, rank int) bool {
	step := int(s.steps[rank])
	if step%2 == 0 {
		return step/2 < len(e.calls[rank])
	}
	c := &e.calls[rank][step/2]
	for _, t := range c.takes {
		if s.taken[t] == 0 {
			return false
		}
	}
	for _, m := range c.sends {
		if !e.received(s, m) {
			return false
		}
	}
	for _, a := range c.entered {
		if a.call < 0 || !s.entered(a.rank, a.call) {
			return false
		}
	}
	return c.probe == none || c.probe != e.target && e.possible(s, c.probe, e.takes[c.probe].message)
}

// received says whether a synchronous send of the message may end.
func (e *explorer) received(s state, m int) bool {
	if start := e.messages[m].start; start != none {
		return s.entered(e.messages[m].dst, start)
	}
	return e.takenBy(s, m) != none
}

func (e *explorer) takenBy(s state, m int) int {
	for t := range e.takes {
		if s.taken[t] == 1 && e.takes[t].message == m {
			return t
		}
	}
	return none
}

func (t *take) fits(m *sent) bool {
	return t.rank == m.dst && t.comm == m.comm && (t.source == trace.AnySource || int(t.source) == m.src) &&
		(t.tag == trace.AnyTag || t.tag == m.tag)
}

// possible says whether a take can take (a probe see) a message now.
func (e *explorer) possible(s state, t, m int) bool {
	take, msg := &e.takes[t], &e.messages[m]
	waits := func(m int) bool { return s.entered(e.messages[m].src, e.messages[m].at) && e.takenBy(s, m) == none }
	if !take.fits(msg) || !s.entered(take.rank, take.at) || !waits(m) {
		return false
	}
	for other := range m { // of one sender, in the order sent
		if o := &e.messages[other]; o.src == msg.src && take.fits(o) && waits(other) {
			return false
		}
	}
	for other := range t { // of one rank, in the order posted
		if o := &e.takes[other]; o.rank == take.rank && !o.probe && s.taken[other] == 0 && s.entered(o.rank, o.at) &&
			o.fits(msg) {
			return false
		}
	}
	return true
}
