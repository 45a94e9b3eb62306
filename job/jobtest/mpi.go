package jobtest

import (
	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// controlBlock behaves as struct cohort_control does.
type controlBlock struct {
	state           abi.State
	reason          abi.StopReason
	events, current uint64
	parkAt, guardAt uint64
	generation      int // of release
	release         abi.Release
	acted           int // generation that the rank acted upon last
	divergence      *backend.Divergence
	message         string
}

// settled is what ControlRequest.Wait waits for.
func (c *controlBlock) settled() bool {
	switch c.state {
	case abi.StateParked:
		return c.parkAt == abi.Never
	case abi.StateDiverged, abi.StateEnd, abi.StateFinalized, abi.StateRefused:
		return true
	}
	return false
}

func (f *Fake) snapshot() backend.ControlState {
	if f.NoControl {
		return backend.ControlState{}
	}
	c := &f.ctl
	s := backend.ControlState{
		Present: true, State: c.state, StopReason: c.reason, Events: c.events, Current: c.current,
		Divergence: c.divergence, Message: c.message,
	}
	if c.current != 0 {
		s.CurrentOp = 1 // whichever it is
	}
	return s
}

func (f *Fake) setState(state abi.State) {
	f.ctl.state = state
	switch state {
	case abi.StateParked, abi.StateDiverged, abi.StateEnd, abi.StateFinalized, abi.StateRefused:
		s := f.snapshot()
		f.emit(backend.Event{Control: &s})
	}
	f.w.changed.Broadcast()
}

// Position is how many events the rank has completed.
func (f *Fake) Position() uint64 {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return f.ctl.events
}

// ParkAt is what the control block says.
func (f *Fake) ParkAt() uint64 {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return f.ctl.parkAt
}

// GuardAt is what the control block says.
func (f *Fake) GuardAt() uint64 {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return f.ctl.guardAt
}

// Init is MPI_Init: position 0.
func Init() Step {
	return func(f *Fake) bool {
		f.inMPI = "MPI_Init"
		f.setState(abi.StateRunning)
		ok := f.park()
		f.inMPI = ""
		return ok
	}
}

// MPI is one event: a call of the named function, which completes at once.
func MPI(function string) Step { return event(function, func() bool { return true }) }

// Events is n events.
func Events(n int) Step {
	return func(f *Fake) bool {
		for range n {
			if !MPI("MPI_Send")(f) {
				return false
			}
		}
		return true
	}
}

// Receive is one event: MPI_Recv of the message that rank from sends with its event number sent. The sender keeps the
// message in its own buffer, as MPI does with large ones: it arrives only while the sender runs (its parking loop
// included) after having sent it, or has exited.
func Receive(from int, sent uint64) Step {
	return func(f *Fake) bool {
		other := f.w.fakes[from]
		return event("MPI_Recv", func() bool {
			return other.ctl.events >= sent && (other.launched && !other.stopped || other.dead)
		})(f)
	}
}

// Barrier is one event: the call that is event `number` on every rank. It completes when each rank has entered it, and
// those that have not left it run.
func Barrier(number uint64) Step {
	return func(f *Fake) bool {
		return event("MPI_Barrier", func() bool {
			for _, o := range f.w.fakes {
				entered := o.ctl.events >= number || o.ctl.current == number
				if !entered || o.stopped && o.ctl.events < number {
					return false
				}
			}
			return true
		})(f)
	}
}

// event runs one MPI call as the interposer does: the guard at its beginning, the position at its end.
func event(function string, complete func() bool) Step {
	return func(f *Fake) bool {
		c := &f.ctl
		f.inMPI = function
		defer func() { f.inMPI = "" }()
		if c.guardAt != abi.Never && c.events >= c.guardAt {
			c.current = c.events + 1
			c.reason = abi.StopGuard
			if !f.stopHere(abi.StateStopped) {
				return false
			}
			f.setState(abi.StateRunning)
		}
		c.current = c.events + 1
		f.w.changed.Broadcast()
		if !f.until(complete) {
			return false
		}
		c.events++
		c.current = 0
		f.w.changed.Broadcast()
		return f.park()
	}
}

// park waits for a release if the rank is at its position.
func (f *Fake) park() bool {
	c := &f.ctl
	for !f.NoControl && c.parkAt != abi.Never && c.events >= c.parkAt {
		c.parkAt = abi.Never
		f.setState(abi.StateParked)
		if !f.until(func() bool { return c.generation != c.acted }) {
			return false
		}
		c.acted = c.generation
		if c.release == abi.ReleaseStop {
			c.reason = abi.StopParked
			if !f.stopHere(abi.StateStopped) {
				return false
			}
		}
		f.setState(abi.StateRunning)
	}
	return true
}

// stopHere is cohort_stop_here. The control block's stop_reason is only written for the state STOPPED, by the caller.
func (f *Fake) stopHere(state abi.State) bool {
	f.setState(state)
	f.stop(backend.Stopped{Reason: backend.ReasonStopPoint})
	return f.run()
}

// Diverge leaves the recording; the rank waits to be ended.
func Diverge(d backend.Divergence) Step {
	return func(f *Fake) bool {
		f.ctl.divergence = &d
		f.stopHere(abi.StateDiverged)
		return f.until(func() bool { return false })
	}
}

// RecordingEnds is the end of a recording that was cut short; the rank waits to be ended.
func RecordingEnds() Step {
	return func(f *Fake) bool {
		f.stopHere(abi.StateEnd)
		return f.until(func() bool { return false })
	}
}

// Refuse has the interposer refuse to replay.
func Refuse(message string) Step {
	return func(f *Fake) bool {
		f.ctl.message = message
		f.setState(abi.StateRefused)
		return f.until(func() bool { return false })
	}
}

// Finalize is MPI_Finalize, the last event. After it the rank cannot park any more.
func Finalize() Step {
	return func(f *Fake) bool {
		f.inMPI = "MPI_Finalize"
		defer func() { f.inMPI = "" }()
		f.ctl.events++
		f.ctl.parkAt = abi.Never
		f.setState(abi.StateFinalized)
		return true
	}
}

// control carries a ControlRequest out, but for Wait.
func (f *Fake) control(req backend.ControlRequest) {
	if req.ParkAt != nil {
		f.ctl.parkAt = *req.ParkAt
	}
	if req.GuardAt != nil {
		f.ctl.guardAt = *req.GuardAt
	}
	if req.Release != nil {
		f.ctl.release = *req.Release
		f.ctl.generation++
	}
	f.w.changed.Broadcast()
}
