package replayctl

import (
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// maxHits bounds the hits that one scout looks for per rank; each costs a stop of the debugger (some milliseconds).
// When they are used up another scout goes out.
const maxHits = 100

// A Scout is a second replay of the recording in which some ranks have a debugger and the others run free.
type Scout struct {
	Ranks map[int]backend.Backend // launched and stopped at their entry; the other ranks run
	// Stop ends the replay and everything that belongs to it, and returns when all is gone.
	Stop func()
}

// StartScout starts one.
type StartScout func(ctx context.Context, debugged rankset.Set) (*Scout, error)

// wanted is what a scout is to find out on one rank.
type wanted struct {
	rank        int
	from        uint64 // position from which hits count
	breakpoints []job.Breakpoint
}

// found is what it found: hits by breakpoint ID, in program order.
type found struct {
	rank     int
	from     uint64
	hits     map[int][]Hit
	complete bool // the rank's run ended: there are no further hits
}

// covers tells whether what was found holds the next hit after place of that breakpoint, or shows that there is none.
func (f *found) covers(breakpoint int, place Place) bool {
	return f != nil && f.from <= place.Event && (f.complete || next(f.hits[breakpoint], place) >= 0)
}

// explore watches one rank of a scout until it has maxHits hits or the rank ends.
func explore(ctx context.Context, b backend.Backend, w wanted) (*found, error) {
	f := &found{rank: w.rank, from: w.from, hits: map[int][]Hit{}}
	if w.from > 0 {
		if done, err := skipTo(ctx, b, w.from); done || err != nil {
			f.complete = true
			return f, err
		}
	}
	if err := plant(ctx, b, w.breakpoints); err != nil {
		return nil, err
	}
	for total := 0; total < maxHits; {
		stop, err := resume(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("the scout's rank %d: %w", w.rank, err)
		}
		if stop == nil || stop.Reason == backend.ReasonSignal || stop.Reason == backend.ReasonStopPoint {
			f.complete = true // it ended, crashed as recorded, or reached the end of the recording
			return f, nil
		}
		for _, id := range stop.Breakpoints {
			f.hits[id] = append(f.hits[id],
				Hit{Event: stop.Control.Events, Initialised: stop.Control.State != abi.StateNew})
			total++
		}
	}
	return f, letGo(ctx, b, w.breakpoints)
}

// letGo takes the breakpoints away and lets the rank run on: others that are being explored may wait for its messages.
func letGo(ctx context.Context, b backend.Backend, list []job.Breakpoint) error {
	for _, bp := range list {
		if _, err := b.SetBreakpoints(ctx, backend.SetBreakpointsRequest{Source: bp.Source}); err != nil {
			return err
		}
	}
	return b.Resume(ctx, backend.ResumeRequest{Kind: backend.Continue})
}

// skipTo runs the rank to a position, where breakpoints begin to count; done if it ended before.
func skipTo(ctx context.Context, b backend.Backend, position uint64) (done bool, err error) {
	if _, err := b.Control(ctx, backend.ControlRequest{ParkAt: &position}); err != nil {
		return false, err
	}
	if err := b.Resume(ctx, backend.ResumeRequest{Kind: backend.Continue}); err != nil {
		return false, err
	}
	for {
		select {
		case e, ok := <-b.Events():
			switch {
			case !ok, e.Exited != nil, e.Ended != nil:
				return true, nil
			case e.Control != nil && e.Control.State == abi.StateEnd:
				return true, nil
			case e.Control != nil && e.Control.State == abi.StateParked:
				release := abi.ReleaseStop
				if _, err := b.Control(ctx, backend.ControlRequest{Release: &release}); err != nil {
					return false, err
				}
			case e.Stopped != nil && e.Stopped.Reason == backend.ReasonStopPoint:
				return e.Stopped.Control.Events < position, nil
			case e.Stopped != nil && e.Stopped.Reason == backend.ReasonSignal:
				return true, nil
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func plant(ctx context.Context, b backend.Backend, list []job.Breakpoint) error {
	bySource := map[string][]backend.SourceBreakpoint{}
	for _, bp := range list {
		bySource[bp.Source] = append(bySource[bp.Source], backend.SourceBreakpoint{
			ID: bp.ID, Line: bp.Line, Function: bp.Function, Condition: bp.Condition, HitCondition: bp.HitCondition,
		})
	}
	for source, bps := range bySource {
		got, err := b.SetBreakpoints(ctx, backend.SetBreakpointsRequest{Source: source, Breakpoints: bps})
		if err != nil {
			return err
		}
		for _, g := range got {
			if !g.Verified {
				return fmt.Errorf("the breakpoint cannot be set in the scout: %s", g.Message)
			}
		}
	}
	return nil
}

// resume continues and waits for the next stop; nil if the rank ended.
func resume(ctx context.Context, b backend.Backend) (*backend.Stopped, error) {
	if err := b.Resume(ctx, backend.ResumeRequest{Kind: backend.Continue}); err != nil {
		if _, ended := errors.AsType[*backend.EndedError](err); ended {
			return nil, nil
		}
		return nil, err
	}
	for {
		select {
		case e, ok := <-b.Events():
			switch {
			case !ok, e.Exited != nil, e.Ended != nil:
				return nil, nil
			case e.Stopped != nil:
				return e.Stopped, nil
			case e.Control != nil && e.Control.State == abi.StateEnd:
				return nil, nil // within a call that may never return
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
