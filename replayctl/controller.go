package replayctl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

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
	// progress by itself. It may be called by several goroutines at once.
	Graph func(ctx context.Context) (*causal.Graph, error)
	Scout StartScout
	// Say tells the user of what does not end a run, in whole sentences; nil: nobody is told.
	Say func(text string)
	Log *slog.Logger
}

// A Controller steers one replay; see the package comment. Close it before its job.
type Controller struct {
	Runs

	o     Options
	known map[sought]*found // by scouts; true for the whole replay. Owned by the run in progress.
}

// New returns a Controller.
func New(o Options) *Controller {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	return &Controller{o: o, known: map[sought]*found{}}
}

// run starts a run with the event graph. The job is not idle until it is over.
func (c *Controller) run(steer func(ctx context.Context, graph *causal.Graph) error) *Run {
	return c.Start(func(ctx context.Context) error {
		done, err := c.o.Job.Busy()
		if err != nil {
			return err
		}
		defer done()
		graph, err := c.o.Graph(ctx)
		if err != nil {
			return err
		}
		return steer(ctx, graph)
	})
}

// Continue runs the job to the next hit of one of the causal breakpoints among those given: its rank stops there, every
// other rank at its causal past. Other breakpoints stop their ranks as ever, which ends the run with an error. If there
// is no further hit the ranks of focus continue without one.
func (c *Controller) Continue(breakpoints []job.Breakpoint, focus rankset.Set) *Run {
	breakpoints = slices.DeleteFunc(slices.Clone(breakpoints), func(b job.Breakpoint) bool {
		return b.Mode != job.ModeCausal || b.Disabled
	})
	return c.run(func(ctx context.Context, graph *causal.Graph) error {
		return c.toNextHit(ctx, graph, breakpoints, focus)
	})
}

func (c *Controller) toNextHit(ctx context.Context, graph *causal.Graph, breakpoints []job.Breakpoint,
	focus rankset.Set,
) error {
	missed := map[key]progress{} // hits that the scout saw and the job had passed before the breakpoint was set
	for ctx.Err() == nil {
		status, err := c.o.Job.Status()
		if err != nil {
			return err
		}
		next, err := c.choose(ctx, graph, breakpoints, status, missed)
		if err != nil {
			return err
		}
		if next == nil {
			return c.continueWithout(ctx, breakpoints, status, focus)
		}
		passed, err := c.toHit(ctx, next, status)
		if err != nil || !passed {
			return err
		}
		// The leader came to its next event, or its end, without a stop at the breakpoint: that hit lies behind it.
		at := missed[next.key]
		if at.event != next.hit.event {
			at = progress{event: next.hit.event}
		}
		at.hits++
		missed[next.key] = at
		c.o.Log.Debug("causal breakpoint: hit was passed already", "breakpoint", next.breakpoint, "rank", next.rank,
			"event", next.hit.event)
	}
	return ctx.Err()
}

// choose finds the hit to run to; nil: there is none.
func (c *Controller) choose(ctx context.Context, graph *causal.Graph, breakpoints []job.Breakpoint,
	status []job.RankStatus, missed map[key]progress,
) (*candidate, error) {
	var all []candidate
	for _, b := range breakpoints {
		for _, s := range status {
			if s.State.Gone() || b.Ranks.Len() > 0 && !b.Ranks.Contains(s.Rank) {
				continue
			}
			k := key{b.ID, s.Rank}
			at := progress{event: s.Control.Events, hits: s.Hits[b.ID]}
			if m := missed[k]; m.event == at.event {
				at.hits = max(at.hits, m.hits)
			} else if m.event > at.event {
				at = m
			}
			all = append(all, candidate{key: k, sought: soughtOf(b, s.Rank), from: s.Control.Events, at: at})
		}
	}
	if err := c.learn(ctx, all); err != nil {
		return nil, err
	}
	var ahead []candidate
	for _, x := range all {
		hits := c.known[x.sought].hits
		i := next(hits, x.at)
		if i < 0 {
			continue
		}
		x.hit = hits[i]
		var err error
		if x.cut, err = cutOf(graph, x.rank, x.hit); err != nil {
			return nil, err
		}
		ahead = append(ahead, x)
	}
	return first(ahead), nil
}

// cutOf is the causal cut of a hit. A hit before MPI_Init has nothing in its past.
func cutOf(graph *causal.Graph, rank int, hit hit) (causal.Cut, error) {
	if hit.event == 0 {
		return make(causal.Cut, graph.Ranks()), nil
	}
	return graph.CausalCut(rank, hit.event)
}

// toHit runs the job to a hit. The leader may have passed it before its breakpoint was set: then it stops at the guard,
// or ends.
func (c *Controller) toHit(ctx context.Context, x *candidate, status []job.RankStatus) (passed bool, err error) {
	if !x.hit.initialised {
		return c.toHitBeforeInit(ctx, x.rank, status)
	}
	to := target{
		at: causal.EventID{Rank: x.rank, Index: x.hit.event}.String(), leader: x.rank, guard: x.hit.event,
	}
	to.cut, to.beyond = reachable(x, status)
	if err := c.reach(ctx, to); err != nil {
		return false, err
	}
	if status, err = c.o.Job.Status(); err != nil {
		return false, err
	}
	stop := status[x.rank].Stop
	if stop == nil {
		c.o.Say(fmt.Sprintf("Rank %d ended without meeting the causal breakpoint: its next hit in the recording, "+
			"after its event %d, lay behind it already.", x.rank, x.hit.event))
		return true, nil
	}
	return stop.Reason == backend.ReasonStopPoint && stop.Control.StopReason == abi.StopGuard, nil
}

// reachable is the least cut that can be reached from where the ranks are: replays do not run backwards, and so a rank
// that an earlier stop (at a hit that is concurrent with this one) has brought further than this hit's past stays. It
// is consistent, being the union of two consistent cuts.
func reachable(x *candidate, status []job.RankStatus) (cut causal.Cut, beyond rankset.Set) {
	cut = slices.Clone(x.cut)
	for _, s := range status {
		if s.Rank != x.rank && s.Control.Events > cut[s.Rank] {
			cut[s.Rank] = s.Control.Events
			beyond = beyond.With(s.Rank)
		}
	}
	return cut, beyond
}

// toHitBeforeInit runs a rank to a hit before MPI_Init. Nothing of any other rank happened before: they stay where they
// are. No guard can tell that the hit lies behind the rank already: then it waits in MPI_Init for the others. So the
// user is told, and a rank that was let go before and runs has passed the hit.
func (c *Controller) toHitBeforeInit(ctx context.Context, rank int, status []job.RankStatus) (passed bool, err error) {
	if status[rank].State != job.Stopped {
		return true, nil
	}
	c.o.Say(fmt.Sprintf("Rank %d continues to a hit before MPI_Init; nothing of other ranks happened before that, and "+
		"they stay where they are. If rank %d is past the hit already, it runs into MPI_Init and waits there: "+
		"continue again.", rank, rank))
	_, err = c.o.Job.Resume(ctx, rankset.New(rank), backend.ResumeRequest{Kind: backend.Continue})
	return false, err
}

// continueWithout lets the ranks of the focus continue without a hit ahead: the rest of the run is ordinary. Why they
// do, and from where, is reported.
func (c *Controller) continueWithout(ctx context.Context, breakpoints []job.Breakpoint, before []job.RankStatus,
	focus rankset.Set,
) error {
	why := "The causal breakpoint is not reached again in the rest of this recording."
	if n := len(breakpoints); n != 1 {
		why = fmt.Sprintf("None of the %d causal breakpoints is reached again in the rest of this recording.", n)
	}
	resumed, err := c.o.Job.Resume(ctx, focus, backend.ResumeRequest{Kind: backend.Continue})
	if err != nil {
		return errors.Join(errors.New(why), err)
	}
	c.o.Say(why + " " + whoContinues(before, resumed))
	return nil
}

// whoContinues says which ranks continue and from which positions, and what the others do.
func whoContinues(before []job.RankStatus, resumed rankset.Set) string {
	var from []string
	var gone, running, stopped rankset.Set
	for _, s := range before {
		switch {
		case resumed.Contains(s.Rank):
			from = append(from, fmt.Sprintf("%d:%d", s.Rank, s.Control.Events))
		case s.State.Gone():
			gone = gone.With(s.Rank)
		case s.State == job.Stopped:
			stopped = stopped.With(s.Rank)
		default:
			running = running.With(s.Rank)
		}
	}
	if gone.Len() == len(before) {
		return "All ranks have ended."
	}
	var parts []string
	if len(from) > 0 {
		parts = append(parts, fmt.Sprintf("Ranks [%s] continue, from %s", resumed, strings.Join(from, " ")))
	}
	for _, other := range []struct {
		ranks rankset.Set
		how   string
	}{{running, "running"}, {stopped, "stopped, not in focus"}, {gone, "ended"}} {
		if !other.ranks.Empty() {
			parts = append(parts, fmt.Sprintf("[%s]: %s", other.ranks, other.how))
		}
	}
	return strings.Join(parts, "; ") + "."
}

// RunTo runs every rank to its position in the causal cut of an event, at, written as "2:17"; without one in the cut
// that is given. A cut that is not consistent is refused, and the consistent ones next to it are named.
func (c *Controller) RunTo(at string, cut []uint64) *Run {
	return c.run(func(ctx context.Context, graph *causal.Graph) error {
		cut := causal.Cut(cut)
		if at != "" {
			event, err := causal.ParseEventID(at)
			if err == nil {
				cut, err = graph.CausalCut(event.Rank, event.Index)
			}
			if err != nil {
				return &RefusedError{err}
			}
		}
		if err := checkCut(graph, cut); err != nil {
			return &RefusedError{err}
		}
		return c.reach(ctx, target{at: at, cut: cut, leader: -1})
	})
}

func checkCut(graph *causal.Graph, cut causal.Cut) error {
	err := graph.CheckCut(cut)
	if !errors.As(err, new(*causal.InconsistentCutError)) {
		return err
	}
	below, above, nearErr := graph.NearestConsistent(cut)
	return errors.Join(nearErr, fmt.Errorf("the ranks cannot be stopped at %v: %w. The nearest consistent cuts are "+
		"%v, earlier, and %v, later", cut, err, below, above))
}
