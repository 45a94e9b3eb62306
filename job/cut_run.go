package job

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// RunToCut brings every rank of a replay to its position and stops it there, and then lets the leader go on to its
// breakpoint. The cut must be consistent, and the ranks must follow the recording from which it was computed; that is
// the caller's part (package replayctl).
//
// Ranks that an earlier cut stopped at their positions park there again. Ranks that stand at their positions for
// another reason (a breakpoint, a step) stay. Ranks that run freely are stopped first, because a moving rank has no
// certain position. If any rank is beyond its position, lost or unable to reach it, a *CutRefusedError names it, and
// nothing has been moved (ranks that were stopped for the question run again). Ranks that have
// ended at or before their positions, and ranks that end on the way at exactly their positions (such as one that never
// initialises MPI, whose position is 0), belong to the cut as they are.
//
// Every other rank gets its position as park_at and is resumed. When all have parked, all but the leader are released
// into cohort_stop_here, where the debugger stops them; the leader is released to go on, until it stops or exits (its
// breakpoint, or the guard). Then the cut is published, and returned.
//
// If a rank stops for another reason on the way (a breakpoint of the user's, a signal, a pause), ends early or leaves
// its recording, the cut is given up: *PartialCutError.
//
// # Why this does not deadlock
//
// Suppose rank p is to complete its event i, and its cut is the causal one. Everything that happened before p:i lies at
// or before the other ranks' positions, and in real time it completes before p completes i, for p:i depends on it. Two
// things do not follow from the causal order alone. First, MPI may hold a sender's message back
// in the sender's buffers (rendezvous, flow control) after the call that sent it has returned: whoever receives it
// needs the sender to go on entering MPI. Second, a cut takes collectives whole: a rank's position may lie at the exit
// of a collective that others have entered but not left, and they may need its help to leave. In both cases
// the rank at its position must keep giving MPI progress. So no rank is stopped by its debugger while another is still
// on its way: it parks, which is a loop that tests for progress, until all have parked; only then are they stopped. The
// leader parks at its last event as well, before it goes on to the breakpoint, for the breakpoint would freeze it while
// others may still need its progress. Between that event and its breakpoint the leader calls no MPI function (the guard
// sees to it), so it needs nobody then.
//
// The argument has one gap, which is documented rather than papered over: a rank that stood stopped in its own code at
// its position when RunToCut began gives no progress. If another one needs it, RunToCut does not return before ctx
// ends; the error then says who stood still and who did not arrive.
func (j *Job) RunToCut(ctx context.Context, req RunToCutRequest) (*CutReached, error) {
	if err := j.checkCut(&req); err != nil {
		return nil, err
	}
	busy := false
	err := j.call(func() {
		if busy = j.steering; !busy {
			j.steering = true
			j.inFlight++ // the job is not idle until the cut is reached or given up
		}
	})
	if err != nil {
		return nil, err
	}
	if busy {
		return nil, &CutRefusedError{Reason: "The job is on its way to another cut; wait for it, or pause the ranks " +
			"to give it up."}
	}
	cut, err := j.runToCut(ctx, &req)
	end := j.call(func() {
		if err == nil {
			j.publish(Event{Cut: cut})
		}
		j.steering = false
		j.inFlight--
	})
	if err == nil {
		err = end
	}
	if err != nil {
		return nil, err
	}
	return cut, nil
}

func (j *Job) runToCut(ctx context.Context, req *RunToCutRequest) (*CutReached, error) {
	interrupted, err := j.standStill(ctx)
	var plan *cutPlan
	if err == nil {
		plan, err = j.planCut(ctx, req)
	}
	if err != nil {
		return nil, errors.Join(err, j.letGo(interrupted))
	}
	if err := j.leaveParking(ctx, plan.unpark); err != nil {
		return nil, err
	}
	if err := j.setPositions(ctx, req, plan); err != nil {
		return nil, err
	}
	run := newCutRun(j, req, plan)
	if err := run.moveAll(ctx); err != nil {
		return nil, err
	}
	if err := run.stopAll(ctx); err != nil {
		return nil, err
	}
	cut := &CutReached{At: req.At, Leader: req.Leader, Positions: req.Positions, Beyond: req.Beyond}
	err = j.call(func() {
		for _, r := range j.ranks {
			if r.state == Exited && r.num != req.Leader {
				cut.Finished = cut.Finished.With(r.num)
			}
		}
	})
	return cut, err
}

// letGo resumes ranks that were stopped only to learn their positions.
func (j *Job) letGo(ranks rankset.Set) error {
	if ranks.Empty() {
		return nil
	}
	_, err := j.Resume(j.ctx, ranks, backend.Continue, 0)
	return err
}

// leaveParking brings ranks that wait in their parking loop at an earlier position out of it, into a stop. Their state
// would otherwise still say PARKED for a moment after they have gone on, and be taken for an arrival at the new
// position.
func (j *Job) leaveParking(ctx context.Context, ranks rankset.Set) error {
	if ranks.Empty() {
		return nil
	}
	stop := abi.ReleaseStop
	_, err := j.controlEach(ctx, ranks, "leave the parking position", func(int) backend.ControlRequest {
		return backend.ControlRequest{Release: &stop}
	})
	if err != nil {
		return err
	}
	failed := map[int]string{}
	err = j.call(func() {
		for num := range ranks.Each {
			r := j.ranks[num]
			if r.state == Stopped && !inStopPoint(r) { // stopped inside the loop by a pause: let it run into the stop
				j.resume(r, backend.ResumeRequest{}, false, func(err error) {
					if err != nil {
						failed[num] = fmt.Sprintf("Rank %d could not be resumed: %s", num, sentence(err.Error()))
						j.callHooks(r)
					}
				})
			}
		}
	})
	if err != nil {
		return err
	}
	left, err := j.await(ctx, ranks, func(r *rank) bool {
		return r.state.Gone() || inStopPoint(r) || failed[r.num] != ""
	})
	p := &PartialCutError{Stopped: map[int]string{}, Under: left, Cause: err}
	if cerr := j.call(func() { maps.Copy(p.Stopped, failed) }); cerr != nil {
		return cerr
	}
	if p.Cause != nil || len(p.Stopped) > 0 {
		return p
	}
	return nil
}

func inStopPoint(r *rank) bool {
	return r.state == Stopped && !r.resuming && r.stop.Reason == backend.ReasonStopPoint
}

// setPositions writes park_at and guard_at of every rank, also of those that stay: what an earlier cut left there would
// stop them later.
func (j *Job) setPositions(ctx context.Context, req *RunToCutRequest, plan *cutPlan) error {
	live := j.All().Minus(plan.finished)
	never := abi.Never
	request := func(rank int) backend.ControlRequest {
		c := backend.ControlRequest{ParkAt: &never, GuardAt: &never}
		if plan.movers.Contains(rank) {
			c.ParkAt = &req.Positions[rank]
		}
		if rank == req.Leader {
			c.GuardAt = &req.GuardLeader
		}
		return c
	}
	_, err := j.controlEach(ctx, live, "set the position", request)
	if err == nil {
		return nil
	}
	// Take back what was set. The ranks that failed are named by err already.
	_, undo := j.controlEach(j.ctx, live, "take the position back", func(int) backend.ControlRequest {
		return backend.ControlRequest{ParkAt: &never, GuardAt: &never}
	})
	if undo != nil {
		j.log.Warn("positions could not be taken back", "error", undo)
	}
	return fmt.Errorf("run to the cut: %w", err)
}
