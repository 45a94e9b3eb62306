package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// A cutRun follows the movers until each has arrived, or one has not. Its fields but done are for the owner.
type cutRun struct {
	j    *Job
	req  *RunToCutRequest
	plan *cutPlan

	open    map[int]*mover
	arrived map[int]arrival
	stopped map[int]string
	cause   error
	over    bool
	done    chan struct{} // closed when open is empty or the cut is given up
}

type mover struct {
	ran    bool // it has been seen running since it was resumed
	asking bool // its last position is being read, after its exit
}

// How a mover arrived.
type arrival int

const (
	parkedThere   arrival = iota // in its parking loop
	stoppedThere                 // in a stop at its position, at the end of its recording
	runningThere                 // finished with MPI, and runs
	finishedThere                // has ended
)

func newCutRun(j *Job, req *RunToCutRequest, plan *cutPlan) *cutRun {
	c := &cutRun{
		j: j, req: req, plan: plan,
		open: map[int]*mover{}, arrived: map[int]arrival{}, stopped: map[int]string{}, done: make(chan struct{}),
	}
	for num := range plan.movers.Each {
		c.open[num] = &mover{}
	}
	for num := range plan.parked.Each {
		c.arrived[num] = parkedThere
	}
	for num := range plan.past.Each {
		c.arrived[num] = runningThere
	}
	for num := range plan.standing.Each {
		c.arrived[num] = stoppedThere
	}
	return c
}

// moveAll resumes the movers and returns when all have arrived.
func (c *cutRun) moveAll(ctx context.Context) error {
	waits, stopWaiting := context.WithCancel(ctx)
	defer stopWaiting()
	var remove func()
	err := c.j.call(func() {
		remove = c.j.addHook(c.changed)
		c.checkOver()
		for num := range c.plan.movers.Each {
			c.move(waits, c.j.ranks[num])
		}
	})
	if err != nil {
		return err
	}
	var cause error
	select {
	case <-c.done:
	case <-c.j.done:
		return ErrClosed
	case <-ctx.Done():
		cause = ctx.Err()
	}
	var partial *PartialCutError
	err = c.j.call(func() {
		remove()
		if cause == nil {
			cause = c.cause
		}
		if len(c.stopped) > 0 || cause != nil {
			partial = c.partial(cause)
		}
	})
	if err != nil {
		return err
	}
	if partial != nil {
		return partial
	}
	return nil
}

// partial describes where everyone is when the cut is given up. Owner.
func (c *cutRun) partial(cause error) *PartialCutError {
	c.over = true
	return &PartialCutError{
		Stopped: c.stopped, Cause: cause,
		Arrived: rankset.New(sortedKeys(c.arrived)...), Under: rankset.New(sortedKeys(c.open)...),
		Standing: c.plan.standing,
	}
}

// move resumes one rank and waits for the state in its control block to change. Owner.
func (c *cutRun) move(waits context.Context, r *rank) {
	if r.state != Stopped || r.resuming {
		c.fail(r.num, fmt.Sprintf("Rank %d is %s, and was expected to be stopped.", r.num, r.stateForPeople()))
		return
	}
	c.j.resume(r, backend.ResumeRequest{}, false, func(err error) {
		if err != nil {
			c.fail(r.num, fmt.Sprintf("Rank %d could not be resumed: %s", r.num, sentence(err.Error())))
		}
	})
	const arrivals = 1<<abi.StateParked | 1<<abi.StateDiverged | 1<<abi.StateEnd | 1<<abi.StateFinalized | 1<<abi.StateRefused
	c.j.read(waits, r, func(ctx context.Context) func() {
		s, err := r.backend.Control(ctx, backend.ControlRequest{Wait: arrivals})
		if ctx.Err() != nil {
			return nil // the wait was given up, or the backend has ended, which is an event of its own
		}
		return func() { c.reported(r, s, err) }
	})
}

// reported takes the answer of the wait in. Owner.
func (c *cutRun) reported(r *rank, s backend.ControlState, err error) {
	var ended *backend.EndedError
	switch {
	case errors.As(err, &ended):
		return // an event says so too
	case err != nil:
		c.fail(r.num, fmt.Sprintf("Rank %d could not be watched: %s", r.num, sentence(err.Error())))
		return
	}
	r.control = s
	position := c.req.Positions[r.num]
	switch s.State {
	case abi.StateParked, abi.StateFinalized, abi.StateEnd:
		if s.Events != position {
			c.fail(r.num, fmt.Sprintf("Rank %d passed its position %d or cannot reach it: %s", r.num, position,
				blocked(s)))
			return
		}
	case abi.StateDiverged, abi.StateRefused:
		c.fail(r.num, fmt.Sprintf("Rank %d cannot go on to event %d: %s", r.num, position, sentence(blocked(s))))
		return
	default:
		return // the rank has gone; an event says so
	}
	if s.State == abi.StateParked {
		c.arrive(r.num, parkedThere)
	} else {
		c.arrive(r.num, runningThere)
	}
}

// changed is told of every rank that changes. Owner.
func (c *cutRun) changed(r *rank) {
	if c.over {
		return
	}
	if how, there := c.arrived[r.num]; there {
		c.changedAfterArrival(r, how)
		return
	}
	m, moving := c.open[r.num]
	if !moving {
		return
	}
	switch r.state {
	case Running:
		m.ran = true
	case Stopped:
		if m.ran {
			c.stoppedOnTheWay(r)
		}
	case Exited:
		c.askLast(r, m)
	case Lost:
		c.fail(r.num, sentence(r.lost))
	case Starting: // a mover has come to its entry
	}
}

// changedAfterArrival: something happened to a rank that had arrived, before all had. One that has finished with MPI
// may exit, and one that is at the end of its recording stops by itself; anything else is a reason to give up. Owner.
func (c *cutRun) changedAfterArrival(r *rank, how arrival) {
	switch {
	case r.resuming: // it was faster than the answer to Resume
	case r.state == Running, how == stoppedThere && r.state == Stopped, how == finishedThere:
	case how == runningThere && r.state == Exited:
		c.arrived[r.num] = finishedThere
	case how == runningThere && atRecordingsEnd(r):
		c.arrived[r.num] = stoppedThere
	default:
		delete(c.arrived, r.num)
		s := r.status()
		c.stopped[r.num] = s.Text
		c.checkOver()
	}
}

// stoppedOnTheWay: only the end of the recording, at exactly the position, is an arrival. Owner.
func (c *cutRun) stoppedOnTheWay(r *rank) {
	if atRecordingsEnd(r) && r.stop.Control.Events == c.req.Positions[r.num] {
		c.arrive(r.num, stoppedThere)
		return
	}
	c.fail(r.num, r.stop.Text)
}

func atRecordingsEnd(r *rank) bool {
	return r.state == Stopped && r.stop.Reason == backend.ReasonStopPoint && stopReason(&r.stop.Control) == abi.StopEnd
}

// askLast reads the control block of a rank that has exited once more, for what is known of it may be old. Owner.
func (c *cutRun) askLast(r *rank, m *mover) {
	if m.asking {
		return
	}
	m.asking = true
	c.j.start(r, func(ctx context.Context) func() {
		s, err := r.backend.Control(ctx, backend.ControlRequest{})
		return func() {
			if err == nil && s.Present {
				r.control = s
			}
			c.exited(r)
		}
	}, func() {})
}

// exited decides whether a rank that has ended belongs to the cut. Owner.
func (c *cutRun) exited(r *rank) {
	position, last := c.req.Positions[r.num], r.control
	switch {
	case last.Present && last.Events == position, !last.Present && position == 0:
		c.arrive(r.num, finishedThere)
	case !last.Present:
		c.fail(r.num, fmt.Sprintf("Rank %d %s, and it is not known whether that was at its position %d.", r.num,
			exitText(*r.exit), position))
	default:
		c.fail(r.num, fmt.Sprintf("Rank %d %s after event %d, and its position is %d.", r.num, exitText(*r.exit),
			last.Events, position))
	}
}

func (c *cutRun) arrive(rank int, how arrival) {
	if _, moving := c.open[rank]; moving && !c.over {
		delete(c.open, rank)
		c.arrived[rank] = how
		c.checkOver()
	}
}

func (c *cutRun) fail(rank int, why string) {
	if _, moving := c.open[rank]; moving && !c.over {
		delete(c.open, rank)
		c.stopped[rank] = why
		c.checkOver()
	}
}

// checkOver ends the wait when all have arrived, or one has not. Owner.
func (c *cutRun) checkOver() {
	if !c.over && (len(c.open) == 0 || len(c.stopped) > 0) {
		c.over = true
		close(c.done)
	}
}
