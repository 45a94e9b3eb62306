package trace

import (
	"iter"

	"github.com/cohort-debugger/cohort/mpispec"
)

// Posting names a receive: the event that posted it, and of a Startall its index in the array.
type Posting struct {
	Event uint64
	Which uint32
}

// Posting names the receive that a MATCH is about.
func (m *Match) Posting() Posting { return Posting{m.Event - m.Back, m.Which} }

// Requests follows the requests of a rank through the events of its full trace, which name a request by the event that
// posted it, and a persistent one by its _init. R is what is known of a request in progress, I of a persistent one.
type Requests[I, R any] struct {
	open  map[uint64]R
	inits map[uint64]*Persistent[I, R]
}

// Persistent is a persistent request.
type Persistent[I, R any] struct {
	Init   I
	Starts int  // how often it was started
	Active bool // started, and not complete
	last   R
}

// Post adds the request that an event posted.
func (r *Requests[I, R]) Post(event uint64, request R) {
	if r.open == nil {
		r.open = map[uint64]R{}
	}
	r.open[event] = request
}

// Init adds the persistent request that an event made.
func (r *Requests[I, R]) Init(event uint64, init I) {
	if r.inits == nil {
		r.inits = map[uint64]*Persistent[I, R]{}
	}
	r.inits[event] = &Persistent[I, R]{Init: init}
}

// Persistent returns the persistent request that an event made; nil if there is none.
func (r *Requests[I, R]) Persistent(init uint64) *Persistent[I, R] { return r.inits[init] }

// Start makes a persistent request active.
func (p *Persistent[I, R]) Start(request R) { p.Starts, p.Active, p.last = p.Starts+1, true, request }

// Which is the index that names a receive of a Start or Startall: that in the array of a Startall, else 0.
func Which(op mpispec.Op, index int) uint32 {
	if op == mpispec.OpStartall {
		return uint32(index)
	}
	return 0
}

// Of returns the request in progress of that name.
func (r *Requests[I, R]) Of(name uint64) (request R, inProgress bool) {
	if p := r.inits[name]; p != nil {
		return p.last, p.Active
	}
	request, inProgress = r.open[name]
	return request, inProgress
}

// Complete takes in that an event has completed a request. Request_get_status leaves it in progress.
func (r *Requests[I, R]) Complete(e *Event, name uint64) {
	if e.Op == mpispec.OpRequestGetStatus {
		return
	}
	delete(r.open, name)
	if p := r.inits[name]; p != nil {
		p.Active = false
	}
}

// Free forgets a request, and returns it if it was in progress.
func (r *Requests[I, R]) Free(name uint64) (request R, inProgress bool) {
	request, inProgress = r.Of(name)
	delete(r.open, name)
	delete(r.inits, name)
	return request, inProgress
}

// Started yields what is known of the persistent requests that are active, in no order.
func (r *Requests[I, R]) Started() iter.Seq[R] {
	return func(yield func(R) bool) {
		for _, p := range r.inits {
			if p.Active && !yield(p.last) {
				return
			}
		}
	}
}
