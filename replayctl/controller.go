package replayctl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// Options of a Controller.
type Options struct {
	Job *job.Job // a replay, launched
	// Graph returns the event graph of the recording; the first call may take as long as a replay, and reports its
	// progress by itself.
	Graph func(ctx context.Context) (*causal.Graph, error)
	Scout StartScout
	// Say tells the user of what does not end a request, in whole sentences; nil: nobody is told.
	Say func(text string)
	Log *slog.Logger
}

// A Controller steers one replay. Its methods may be called from any goroutine and are carried out one at a time.
type Controller struct {
	o   Options
	sub *job.Subscription

	busy chan struct{} // holds one token: who has it steers, and owns known
	// known is what scouts found, by rank. It stays true for the whole replay, for one set of breakpoints.
	known    map[int]*found
	knownFor string

	mu     sync.Mutex // guards places
	places places
	done   chan struct{}
}

// New returns a Controller; Close it before its job.
func New(o Options) *Controller {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	c := &Controller{
		o: o, sub: o.Job.Subscribe(job.WithoutOutput), busy: make(chan struct{}, 1), known: map[int]*found{},
		places: places{}, done: make(chan struct{}),
	}
	c.busy <- struct{}{}
	go c.watch()
	return c
}

// Close ends the controller's subscription to the job.
func (c *Controller) Close() {
	c.sub.Close()
	<-c.done
}

func (c *Controller) watch() {
	defer close(c.done)
	for e := range c.sub.Events() {
		if e.RankChanged != nil && e.RankChanged.State == job.Stopped {
			c.mu.Lock()
			c.places.saw(*e.RankChanged)
			c.mu.Unlock()
		}
	}
}

func (c *Controller) place(breakpoint, rank int, events uint64) Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.places.at(breakpoint, rank, events)
}

// enter waits for its turn.
func (c *Controller) enter(ctx context.Context) (leave func(), err error) {
	select {
	case <-c.busy:
		return func() { c.busy <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// NoHitError: no rank reaches a causal breakpoint any more in the rest of the recording.
type NoHitError struct{ Breakpoints int }

func (e *NoHitError) Error() string {
	if e.Breakpoints == 1 {
		return "The causal breakpoint is not reached again in the rest of this recording."
	}
	return fmt.Sprintf("None of the %d causal breakpoints is reached again in the rest of this recording.",
		e.Breakpoints)
}

// Continue runs the job to the next hit of a causal breakpoint: its rank stops there, every other rank at its causal
// past. With no further hit the ranks stay where they are and the error is a *NoHitError. The errors of job.RunToCut
// are passed on.
func (c *Controller) Continue(ctx context.Context, breakpoints []job.Breakpoint) error {
	leave, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	graph, err := c.o.Graph(ctx)
	if err != nil {
		return fmt.Errorf("the event graph that a causal breakpoint needs cannot be had: %w", err)
	}
	missed := map[key]Place{} // hits that the scout saw and the job had passed before the breakpoint was set
	for {
		status, err := c.o.Job.Status(ctx)
		if err != nil {
			return err
		}
		target, err := c.choose(ctx, graph, breakpoints, status, missed)
		if err != nil {
			return err
		}
		how, err := c.runTo(ctx, target, status)
		if err != nil || how == hitReached {
			return err
		}
		if how == hitEnded {
			c.o.Say(fmt.Sprintf("Rank %d ended without meeting the causal breakpoint: its next hit in the recording, "+
				"after its event %d, lay behind it already.",
				target.rank, target.hit.Event))
		}
		// The leader came to its next event, or its end, without a stop at the breakpoint: that hit lies behind it.
		k := key{target.breakpoint, target.rank}
		place := missed[k]
		if place.Event != target.hit.Event {
			place = Place{Event: target.hit.Event}
		}
		place.Seen++
		missed[k] = place
		c.o.Log.Debug("causal breakpoint: hit was passed already", "breakpoint", target.breakpoint, "rank", target.rank,
			"event", target.hit.Event)
	}
}

// choose finds the hit to run to.
func (c *Controller) choose(ctx context.Context, graph *causal.Graph, breakpoints []job.Breakpoint,
	status []job.RankStatus, missed map[key]Place,
) (candidate, error) {
	place := func(id int, s job.RankStatus) Place {
		p := c.place(id, s.Rank, s.Control.Events)
		if m := missed[key{id, s.Rank}]; m.Event == p.Event {
			p.Seen = max(p.Seen, m.Seen)
		} else if m.Event > p.Event {
			p = m
		}
		return p
	}
	if err := c.learn(ctx, status, breakpoints, place); err != nil {
		return candidate{}, err
	}
	var candidates []candidate
	for _, b := range breakpoints {
		for _, s := range status {
			if !watches(b, s) {
				continue
			}
			hits := c.known[s.Rank].hits[b.ID]
			i := next(hits, place(b.ID, s))
			if i < 0 {
				continue
			}
			cut, err := positions(graph, s.Rank, hits[i])
			if err != nil {
				return candidate{}, err
			}
			candidates = append(candidates, candidate{breakpoint: b.ID, rank: s.Rank, hit: hits[i], cut: cut})
		}
	}
	target, ok := first(candidates)
	if !ok {
		return candidate{}, &NoHitError{Breakpoints: len(breakpoints)}
	}
	return target, nil
}

func watches(b job.Breakpoint, s job.RankStatus) bool {
	return !s.State.Gone() && (b.Ranks.Len() == 0 || b.Ranks.Contains(s.Rank))
}

// positions is the causal cut of a hit. A hit before MPI_Init has nothing in its past.
func positions(graph *causal.Graph, rank int, hit Hit) ([]uint64, error) {
	if hit.Event == 0 {
		return make([]uint64, graph.Ranks()), nil
	}
	cut, err := graph.CausalCut(rank, hit.Event)
	if err != nil {
		return nil, err
	}
	return cut, nil
}

// learn sends out a scout if what is known does not reach far enough.
func (c *Controller) learn(ctx context.Context, status []job.RankStatus, breakpoints []job.Breakpoint,
	place func(int, job.RankStatus) Place,
) error {
	if signature := fmt.Sprintf("%+v", breakpoints); signature != c.knownFor {
		c.known, c.knownFor = map[int]*found{}, signature
	}
	var list []wanted
	ranks := rankset.Set{}
	for _, s := range status {
		w := wanted{rank: s.Rank, from: s.Control.Events}
		enough := true
		for _, b := range breakpoints {
			if !watches(b, s) {
				continue
			}
			w.breakpoints = append(w.breakpoints, b)
			enough = enough && c.known[s.Rank].covers(b.ID, place(b.ID, s))
			if b.HitCondition != "" {
				w.from = 0 // hits are counted from the beginning
			}
		}
		if len(w.breakpoints) > 0 && !enough {
			list = append(list, w)
			ranks = ranks.Union(rankset.New(s.Rank))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return c.send(ctx, ranks, list)
}

func (c *Controller) send(ctx context.Context, ranks rankset.Set, list []wanted) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.o.Log.Debug("scout: starts", "ranks", ranks.String())
	scout, err := c.o.Scout(ctx, ranks)
	if err != nil {
		return fmt.Errorf("the scout that looks for the breakpoint's event cannot start: %w", err)
	}
	defer func() {
		scout.Stop()
		c.o.Log.Debug("scout: gone")
	}()
	c.o.Log.Debug("scout: ranks are at their entry", "ranks", ranks.String())
	type result struct {
		found *found
		err   error
	}
	results := make(chan result, len(list))
	for _, w := range list {
		go func() {
			f, err := explore(ctx, scout.Ranks[w.rank], w)
			results <- result{f, err}
		}()
	}
	var errs []error
	for range list {
		r := <-results
		if r.err != nil {
			errs = append(errs, r.err)
			cancel() // the others may wait for a rank that stands still
			continue
		}
		c.o.Log.Debug("scout: explored", "rank", r.found.rank, "hits", len(r.found.hits), "complete", r.found.complete)
		c.known[r.found.rank] = r.found
	}
	return errors.Join(errs...)
}

// reachable is the least cut that can be reached from where the ranks are: replays do not run backwards, and so a rank
// that an earlier stop (at a hit that is concurrent with this one) has brought further than this hit's past stays. It
// is consistent, being the union of two consistent cuts.
func reachable(target candidate, status []job.RankStatus) (cut []uint64, beyond rankset.Set) {
	cut = slices.Clone(target.cut)
	for _, s := range status {
		if s.Rank != target.rank && s.Control.Events > cut[s.Rank] {
			cut[s.Rank] = s.Control.Events
			beyond = beyond.With(s.Rank)
		}
	}
	return cut, beyond
}

// What became of a run to a hit.
type outcome int

const (
	hitReached outcome = iota // the leader has stopped
	hitPassed                 // it has come to its next event first
	hitEnded                  // it has ended first
)

// runTo runs the job to a hit.
func (c *Controller) runTo(ctx context.Context, target candidate, status []job.RankStatus) (outcome, error) {
	positions, beyond := reachable(target, status)
	request := job.RunToCutRequest{
		At: fmt.Sprintf("%d:%d", target.rank, target.hit.Event), Positions: positions, Beyond: beyond,
		Leader: target.rank, GuardLeader: target.hit.Event,
	}
	if !target.hit.Initialised {
		return c.runBeforeInit(ctx, target.rank, status)
	}
	c.o.Log.Debug("running to a cut", "at", request.At, "positions", request.Positions)
	if err := c.runToCut(ctx, request); err != nil {
		return 0, err
	}
	c.o.Log.Debug("reached the cut", "at", request.At)
	status, err := c.o.Job.Status(ctx)
	if err != nil {
		return 0, err
	}
	switch s := status[target.rank]; {
	case s.Stop == nil:
		return hitEnded, nil
	case s.Stop.Reason == backend.ReasonStopPoint && s.Stop.Control.StopReason == abi.StopGuard:
		return hitPassed, nil
	}
	return hitReached, nil
}

// runBeforeInit runs a rank to a hit before MPI_Init. Nothing of any other rank happened before: they stay where they
// are. No guard can tell that the hit lies behind the rank already: then it waits in MPI_Init for the others. So the
// user is told, and a rank that was let go before and runs has passed the hit.
func (c *Controller) runBeforeInit(ctx context.Context, rank int, status []job.RankStatus) (outcome, error) {
	if status[rank].State != job.Stopped {
		return hitPassed, nil
	}
	c.o.Say(fmt.Sprintf("Rank %d goes on to a hit before MPI_Init; nothing of other ranks happened before that, and "+
		"they stay where they are. If rank %d is past the hit already, "+
		"it runs into MPI_Init and waits there: continue again.", rank, rank))
	_, err := c.o.Job.Resume(ctx, rankset.New(rank), backend.Continue, 0)
	if err == nil {
		err = c.o.Job.WaitIdle(ctx)
	}
	return hitReached, err
}

// InconsistentError refuses a cut that is no state that the job can be in, and offers the consistent ones next to it.
type InconsistentError struct {
	Cut, Below, Above causal.Cut
	Why               *causal.InconsistentCutError // the pair of events
}

func (e *InconsistentError) Error() string {
	return fmt.Sprintf("The ranks cannot stand at %v: %v. The nearest consistent cuts are %v, earlier, and %v, later.",
		e.Cut, e.Why, e.Below, e.Above)
}

func (e *InconsistentError) Unwrap() error { return e.Why }

// RunTo runs every rank to its position in a consistent cut; at names it for people. A cut that is not consistent is
// refused with an *InconsistentError.
func (c *Controller) RunTo(ctx context.Context, at string, cut []uint64) error {
	leave, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	graph, err := c.o.Graph(ctx)
	if err != nil {
		return err
	}
	var lack *causal.InconsistentCutError
	switch err := graph.CheckCut(cut); {
	case errors.As(err, &lack):
		below, above, err := graph.NearestConsistent(cut)
		if err != nil {
			return err
		}
		return &InconsistentError{Cut: cut, Below: below, Above: above, Why: lack}
	case err != nil:
		return err
	}
	return c.runToCut(ctx, job.RunToCutRequest{At: at, Positions: cut, Leader: -1, GuardLeader: abi.Never})
}
