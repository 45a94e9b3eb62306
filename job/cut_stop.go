package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// stopAll ends the cut when all ranks are at their positions: it stops every rank but the leader where it is, then lets
// the leader go on, and returns when each has stopped or ended.
func (c *cutRun) stopAll(ctx context.Context) error {
	leader := c.req.Leader
	var parked, past, standingLeader rankset.Builder
	watch := &stopWatch{c: c, open: map[int]bool{}, done: make(chan struct{})}
	err := c.j.call(func() {
		for _, r := range c.j.ranks {
			switch {
			case r.state.Gone():
				continue
			case r.state == Stopped && !r.resuming:
				// one that is being resumed may park before its debugger has said that it runs
				if r.num != leader {
					continue
				}
				standingLeader.Add(r.num)
			case c.arrivedAs(r.num, parkedThere):
				parked.Add(r.num)
			default:
				past.Add(r.num)
			}
			watch.open[r.num] = r.state == Stopped
		}
		watch.begin()
	})
	if err != nil {
		return err
	}
	defer watch.remove()
	if err := c.freeze(ctx, parked.Set().Without(leader), past.Set().Without(leader)); err != nil {
		return err
	}
	if leader >= 0 {
		if err := c.sendLeader(ctx, parked.Set().Contains(leader), standingLeader.Set().Contains(leader)); err != nil {
			return err
		}
	}
	if err := watch.wait(ctx); err != nil {
		return err
	}
	if err := c.verify(); err != nil {
		return err
	}
	if leader < 0 {
		return nil
	}
	return c.dropGuard(ctx)
}

func (c *cutRun) arrivedAs(rank int, how arrival) bool {
	a, ok := c.arrived[rank]
	return ok && a == how
}

// freeze stops the ranks other than the leader. The parked ones are told to call cohort_stop_here; one that has
// finished with MPI cannot be told, and is interrupted.
func (c *cutRun) freeze(ctx context.Context, parked, past rankset.Set) error {
	if !parked.Empty() {
		stop := abi.ReleaseStop
		_, err := c.j.controlEach(ctx, parked, "stop at the position", func(int) backend.ControlRequest {
			return backend.ControlRequest{Release: &stop}
		})
		if err != nil && !allEnded(err) {
			return &PartialCutError{Arrived: c.j.All(), Cause: err}
		}
	}
	if past.Empty() {
		return nil
	}
	if err := c.j.Interrupt(ctx, past); err != nil && !allEnded(err) {
		return &PartialCutError{Arrived: c.j.All(), Cause: err}
	}
	return nil
}

// allEnded tells whether err is only about ranks whose backends have ended; their events say the rest.
func allEnded(err error) bool {
	var some *RanksError
	if !errors.As(err, &some) {
		return false
	}
	for _, e := range some.PerRank {
		if _, ended := errors.AsType[*backend.EndedError](e); !ended {
			return false
		}
	}
	return true
}

// sendLeader lets the leader go on to its breakpoint.
func (c *cutRun) sendLeader(ctx context.Context, parked, standing bool) error {
	leader := rankset.New(c.req.Leader)
	var err error
	switch {
	case parked:
		goOn := abi.ReleaseGo
		_, err = c.j.controlEach(ctx, leader, "go on from the position", func(int) backend.ControlRequest {
			return backend.ControlRequest{Release: &goOn}
		})
	case standing:
		_, err = c.j.Resume(ctx, leader, backend.Continue, 0)
	}
	if err != nil && !allEnded(err) {
		return &PartialCutError{Arrived: c.j.All(), Cause: err}
	}
	return nil
}

// A stopWatch waits for ranks to stop.
type stopWatch struct {
	c      *cutRun
	open   map[int]bool // owner; value: it stood still at the beginning, and has to be seen running first
	done   chan struct{}
	remove func()
}

// begin is for the owner, when open holds the ranks.
func (w *stopWatch) begin() {
	remove := w.c.j.addHook(w.changed)
	w.remove = func() { w.c.j.post(remove) }
	if len(w.open) == 0 {
		close(w.done)
	}
}

func (w *stopWatch) changed(r *rank) {
	mustRun, waiting := w.open[r.num]
	if !waiting {
		return
	}
	switch {
	case r.state == Running:
		w.open[r.num] = false
		return
	case r.state == Stopped && mustRun:
		return
	}
	delete(w.open, r.num)
	if len(w.open) == 0 {
		close(w.done)
	}
}

func (w *stopWatch) wait(ctx context.Context) error {
	select {
	case <-w.done:
		return nil
	case <-w.c.j.done:
		return ErrClosed
	case <-ctx.Done():
	}
	p := &PartialCutError{Stopped: map[int]string{}, Cause: ctx.Err()}
	err := w.c.j.call(func() {
		for _, num := range sortedKeys(w.open) {
			p.Stopped[num] = fmt.Sprintf("Rank %d reached its position and was released, and has not stopped since.",
				num)
		}
		p.Arrived = w.c.j.All()
	})
	return errors.Join(err, p)
}

// verify looks whether everyone stands where the cut says: a cut that is not the one that was asked for must not be
// published.
func (c *cutRun) verify() error {
	p := &PartialCutError{Stopped: map[int]string{}}
	err := c.j.call(func() {
		for _, r := range c.j.ranks {
			position, at := c.req.Positions[r.num], r.control.Events
			switch {
			case r.state == Lost:
				p.Stopped[r.num] = sentence(r.lost)
			case r.state == Exited && r.exit.Signal != "" && !c.plan.finished.Contains(r.num) &&
				!c.arrivedAs(r.num, finishedThere):
				p.Stopped[r.num] = fmt.Sprintf("Rank %d %s.", r.num, exitText(*r.exit))
			case r.state != Stopped || r.num == c.req.Leader:
			case at != position:
				p.Stopped[r.num] = fmt.Sprintf("Rank %d stopped after event %d, and its position is %d.", r.num, at,
					position)
			default:
				p.Arrived = p.Arrived.With(r.num)
			}
		}
	})
	if err != nil || len(p.Stopped) == 0 {
		return err
	}
	return p
}

// dropGuard takes the leader's guard away: it has done its work, and would stop the next continue.
func (c *cutRun) dropGuard(ctx context.Context) error {
	never := abi.Never
	_, err := c.j.controlEach(ctx, rankset.New(c.req.Leader), "take the guard away", func(int) backend.ControlRequest {
		return backend.ControlRequest{GuardAt: &never}
	})
	if err == nil || allEnded(err) {
		return nil
	}
	gone := false
	if cerr := c.j.call(func() { gone = c.j.ranks[c.req.Leader].state.Gone() }); cerr != nil || gone {
		return cerr
	}
	return err
}
