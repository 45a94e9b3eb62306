package replayctl

import (
	"context"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// leg is one run to a cut, at which some of the calls that are visited have just ended.
type leg struct {
	cut    causal.Cut
	at     []int // indices of the events
	beyond rankset.Set
}

// itinerary plans runs to cuts, from where the ranks are, such that at the end of one of them each of the events is the
// last that its rank has completed. There are as few as possible: both ends of a message are seen at one cut if there
// is one. The errors are of the first event that cannot be had.
func itinerary(graph *causal.Graph, now causal.Cut, events []causal.EventID) ([]leg, error) {
	for _, e := range events {
		if now[e.Rank] >= e.Index {
			return nil, refuse("rank %d has left the call of event %s: it has completed event %d already. A replay "+
				"does not run backwards: start it anew to get there", e.Rank, e, now[e.Rank])
		}
	}
	all := make([]int, len(events))
	for i := range all {
		all[i] = i
	}
	if one, err := legTo(graph, now, events, all); err != nil || one.misses(events) < 0 {
		return []leg{one}, err
	}
	var first error
	for _, order := range orders(all) {
		legs, err := inOrder(graph, now, events, order)
		if err == nil {
			return legs, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// legTo is the least cut that can be reached and holds those events.
func legTo(graph *causal.Graph, now causal.Cut, events []causal.EventID, at []int) (leg, error) {
	own := make(causal.Cut, len(now))
	for _, i := range at {
		own[events[i].Rank] = max(own[events[i].Rank], events[i].Index)
	}
	own, err := graph.Closure(own)
	if err != nil {
		return leg{}, err
	}
	l := leg{at: at, cut: slices.Clone(now)}
	for r := range l.cut {
		l.cut[r] = max(l.cut[r], own[r])
	}
	// ranks may be where no cut is: within calls that others have ended with
	if l.cut, err = graph.Closure(l.cut); err != nil {
		return leg{}, err
	}
	for r := range l.cut {
		if l.cut[r] > own[r] {
			l.beyond = l.beyond.With(r)
		}
	}
	return l, nil
}

// misses is the index of an event at which its rank is not; -1 if there is none.
func (l *leg) misses(events []causal.EventID) int {
	for _, i := range l.at {
		if l.cut[events[i].Rank] != events[i].Index {
			return i
		}
	}
	return -1
}

func inOrder(graph *causal.Graph, now causal.Cut, events []causal.EventID, order []int) ([]leg, error) {
	var legs []leg
	for _, i := range order {
		l, err := legTo(graph, now, events, []int{i})
		if err != nil {
			return nil, err
		}
		if l.misses(events) >= 0 {
			e := events[i]
			return nil, refuse("the ranks cannot be stopped with rank %d at the end of event %s: by the time that "+
				"they have got so far, which is at %v, it has completed %d events, because its calls and those of "+
				"other ranks wait for each other", e.Rank, e, l.cut, l.cut[e.Rank])
		}
		legs, now = append(legs, l), l.cut
	}
	return legs, nil
}

// orders are all orders of a few things.
func orders(of []int) [][]int {
	if len(of) < 2 {
		return [][]int{of}
	}
	var all [][]int
	for i := range of {
		rest := slices.Delete(slices.Clone(of), i, i+1)
		for _, o := range orders(rest) {
			all = append(all, append([]int{of[i]}, o...))
		}
	}
	return all
}

// Visit brings ranks to the ends of calls, so that the calls can be looked at with what they were given: for each of a
// few events look is called, with its index, while its rank is stopped there and all others at a consistent cut. The
// calls are visited in the order that the recording allows. What cannot be had is refused before anything moves: a call
// that is over, one at whose end the ranks cannot be stopped, and all if ranks run freely.
func (c *Controller) Visit(events []causal.EventID, look func(ctx context.Context, index int) error) *Run {
	return c.run(func(ctx context.Context, graph *causal.Graph) error {
		now, err := c.whereStopped(ctx)
		if err != nil {
			return err
		}
		legs, err := itinerary(graph, now, events)
		if err != nil {
			return err
		}
		for _, l := range legs {
			names := make([]string, len(l.at))
			for k, i := range l.at {
				names[k] = events[i].String()
			}
			at := strings.Join(slices.Compact(names), " and ")
			if err := c.reach(ctx, target{at: at, cut: l.cut, beyond: l.beyond, leader: -1}); err != nil {
				return err
			}
			for _, i := range l.at {
				if err := look(ctx, i); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// whereStopped is where the ranks are, if none of them runs freely.
func (c *Controller) whereStopped(ctx context.Context) (causal.Cut, error) {
	if _, err := c.positions(ctx); err != nil { // of those that have ended, what was last known counts
		return nil, err
	}
	status, err := c.o.Job.Status()
	if err != nil {
		return nil, err
	}
	now := make(causal.Cut, len(status))
	running := rankset.Set{}
	for r, s := range status {
		now[r] = s.Control.Events
		state := s.Control.State
		if s.State == job.Running && !(s.Control.Present &&
			(state == abi.StateParked || state == abi.StateEnd || state == abi.StateFinalized)) {
			running = running.With(r)
		}
	}
	if !running.Empty() {
		return nil, refuse("the ranks [%s] are running: pause them first", running)
	}
	return now, nil
}
