package replayctl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/prose"
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

// sought is what a scout looks for on a rank: of a breakpoint, only what decides when the rank hits it. So neither its
// number, its mode, its ranks, nor any other breakpoint makes a scout look again.
type sought struct {
	rank                                      int
	source, function, condition, hitCondition string
	line                                      int
}

func soughtOf(b job.Breakpoint, rank int) sought {
	return sought{
		rank: rank, source: b.Source, function: b.Function, condition: b.Condition, hitCondition: b.HitCondition,
		line: b.Line,
	}
}

func (s sought) String() string {
	if s.source == "" {
		return s.function
	}
	return fmt.Sprintf("%s:%d", s.source, s.line)
}

// found is what a scout found of it.
type found struct {
	from     uint64 // hits before this position were not looked for
	hits     []hit  // in program order
	complete bool   // the rank's run ended: there are no further hits
	unset    string // why the breakpoint cannot be set, if so: unless it becomes possible later, it has no hits
}

// covers tells whether what was found holds the next hit, or shows that there is none.
func (f *found) covers(at progress) bool {
	return f != nil && f.from <= at.event && (f.complete || next(f.hits, at) >= 0)
}

// wanted is what a scout is to find out on one rank.
type wanted struct {
	rank   int
	from   uint64 // position from which hits count
	sought []sought
}

// learn sends out a scout if what is known does not reach far enough.
func (c *Controller) learn(ctx context.Context, all []candidate) error {
	list := map[int]*wanted{}
	for _, x := range all {
		if c.known[x.sought].covers(x.at) {
			continue
		}
		w := list[x.rank]
		if w == nil {
			w = &wanted{rank: x.rank, from: x.from}
			list[x.rank] = w
		}
		if x.sought.hitCondition != "" {
			w.from = 0 // hits are counted from the beginning
		}
		if !slices.Contains(w.sought, x.sought) {
			w.sought = append(w.sought, x.sought)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return c.send(ctx, list)
}

func (c *Controller) send(ctx context.Context, list map[int]*wanted) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ranks := rankset.New(slices.Collect(maps.Keys(list))...)
	c.o.Log.Debug("scout: starts", "ranks", ranks.String())
	scout, err := c.o.Scout(ctx, ranks)
	if err != nil {
		return fmt.Errorf("start the scout that looks for the breakpoint's event: %w", err)
	}
	defer func() {
		scout.Stop()
		c.o.Log.Debug("scout: gone")
	}()
	type result struct {
		*wanted
		found []*found
		err   error
	}
	results := make(chan result, len(list))
	for _, w := range list {
		go func() {
			f, err := explore(ctx, scout.Ranks[w.rank], w)
			results <- result{w, f, err}
		}()
	}
	var errs []error
	unset := map[string]string{}
	for range list {
		r := <-results
		if r.err != nil {
			errs = append(errs, fmt.Errorf("the scout's rank %d: %w", r.rank, r.err))
			cancel() // the others may wait for a rank that does not move
			continue
		}
		for i, s := range r.sought {
			f := r.found[i]
			c.known[s] = f
			c.o.Log.Debug("scout: explored", "rank", r.rank, "breakpoint", s, "hits", len(f.hits), "complete",
				f.complete)
			if f.unset != "" && len(f.hits) == 0 {
				unset[s.String()] = f.unset
			}
		}
	}
	for _, where := range slices.Sorted(maps.Keys(unset)) {
		c.o.Say(fmt.Sprintf("The causal breakpoint at %s cannot be set: %s", where, prose.Sentence(unset[where])))
	}
	return errors.Join(errs...)
}

// explore watches one rank of a scout until it has maxHits hits or the rank ends. The result has an element for each
// thing that is sought.
func explore(ctx context.Context, b backend.Backend, w *wanted) ([]*found, error) {
	all := make([]*found, len(w.sought))
	for i := range all {
		all[i] = &found{from: w.from}
	}
	over := func() ([]*found, error) {
		for _, f := range all {
			f.complete = true // it ended, crashed as recorded, or reached the end of the recording
		}
		return all, nil
	}
	if w.from > 0 {
		if done, err := skipTo(ctx, b, w.from); err != nil {
			return nil, err
		} else if done {
			return over()
		}
	}
	sources := map[string][]backend.SourceBreakpoint{}
	for i, s := range w.sought {
		sources[s.source] = append(sources[s.source], backend.SourceBreakpoint{
			ID: i + 1, Line: s.line, Function: s.function, Condition: s.condition, HitCondition: s.hitCondition,
		})
	}
	for source, list := range sources {
		got, err := b.SetBreakpoints(ctx, backend.SetBreakpointsRequest{Source: source, Breakpoints: list})
		if err != nil {
			return nil, err
		}
		for _, g := range got {
			if !g.Verified {
				all[g.ID-1].unset = g.Message
			}
		}
	}
	for total := 0; total < maxHits; {
		stop, err := resume(ctx, b)
		if err != nil {
			return nil, err
		}
		if stop == nil || stop.Reason == backend.ReasonSignal || stop.Reason == backend.ReasonStopPoint {
			return over()
		}
		for _, id := range stop.Breakpoints {
			f := all[id-1]
			f.hits = append(f.hits, hit{event: stop.Control.Events, initialised: stop.Control.State != abi.StateNew})
			total++
		}
	}
	// Take the breakpoints away and let the rank run on: others that are being explored may wait for its messages.
	for source := range sources {
		if _, err := b.SetBreakpoints(ctx, backend.SetBreakpointsRequest{Source: source}); err != nil {
			return nil, err
		}
	}
	return all, b.Resume(ctx, backend.ResumeRequest{Kind: backend.Continue})
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
		stop, parked, err := nextStop(ctx, b)
		switch {
		case err != nil:
			return false, err
		case parked:
			release := abi.ReleaseStop
			if _, err := b.Control(ctx, backend.ControlRequest{Release: &release}); err != nil {
				return false, err
			}
		case stop == nil, stop.Reason == backend.ReasonSignal:
			return true, nil
		case stop.Reason == backend.ReasonStopPoint:
			return stop.Control.Events < position, nil
		}
	}
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
		if stop, parked, err := nextStop(ctx, b); !parked {
			return stop, err
		}
	}
}

// nextStop waits until the rank stops, parks or ends; with neither it has ended, or is at the end of its recording,
// perhaps within a call that never returns.
func nextStop(ctx context.Context, b backend.Backend) (stop *backend.Stopped, parked bool, err error) {
	for {
		select {
		case e, ok := <-b.Events():
			switch {
			case !ok, e.Exited != nil, e.Ended != nil:
				return nil, false, nil
			case e.Stopped != nil:
				return e.Stopped, false, nil
			case e.Control != nil && e.Control.State == abi.StateEnd:
				return nil, false, nil
			case e.Control != nil && e.Control.State == abi.StateParked:
				return nil, true, nil
			}
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}
