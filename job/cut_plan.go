package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// errLostRank and its like are reasons in a CutRefusedError; they follow "[ranks]".
var (
	errNotAtEntry = errors.New("it has not come to its entry yet")
	errNoControl  = errors.New("it runs without libcohort's control block, so its position is unknown")
)

// A cutPlan says for each rank what has to happen. Every rank is in exactly one of the sets.
type cutPlan struct {
	finished rankset.Set // has ended, at or before its position
	standing rankset.Set // stopped at its position, but not by an earlier cut: stays where it is
	parked   rankset.Set // waits at its position in its parking loop
	past     rankset.Set // runs at its position but cannot park: it has finished with MPI
	movers   rankset.Set // stands before its position
	unpark   rankset.Set // subset of movers: in its parking loop, at an earlier position
	errs     map[int]error
}

// standStill makes the ranks' positions knowable: whoever runs freely is interrupted. Ranks in their parking loop keep
// running there, for others may need their progress; their positions do not change. It returns the ranks that it
// stopped.
func (j *Job) standStill(ctx context.Context) (interrupted rankset.Set, err error) {
	states, err := j.positions(ctx)
	if err != nil {
		return rankset.Set{}, err
	}
	var moving rankset.Builder
	err = j.call(func() {
		for _, r := range j.ranks {
			c := states[r.num]
			if (r.state == Running || r.resuming) &&
				!(c.Present && (c.State == abi.StateParked || c.State == abi.StateFinalized)) {
				moving.Add(r.num)
				j.interrupt(r, nil)
			}
		}
	})
	if err != nil {
		return rankset.Set{}, err
	}
	interrupted = moving.Set()
	left, err := j.await(ctx, interrupted, func(r *rank) bool {
		return r.state != Running && !r.resuming || !r.pending // not pending: it could not be asked
	})
	if err != nil {
		return interrupted, fmt.Errorf("ranks %s were asked to stop, so that their positions are known, and have "+
			"not: %w", left, err)
	}
	return interrupted, nil
}

// positions reads the control blocks of all ranks that have one to read; ranks that cannot be asked are absent.
func (j *Job) positions(ctx context.Context) (map[int]backend.ControlState, error) {
	var ask rankset.Builder
	err := j.call(func() {
		for _, r := range j.ranks {
			if r.backend != nil && !r.finished {
				ask.Add(r.num)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	states, err := j.controlEach(ctx, ask.Set(), "read the position", func(int) backend.ControlRequest {
		return backend.ControlRequest{}
	})
	var some *RanksError
	if err != nil && !errors.As(err, &some) {
		return nil, err
	}
	return states, ctx.Err() // a rank that could not be read is judged by what is known of it
}

// planCut sorts the ranks. Its answer holds as long as nobody resumes a rank.
func (j *Job) planCut(ctx context.Context, req *RunToCutRequest) (*cutPlan, error) {
	states, err := j.positions(ctx)
	if err != nil {
		return nil, err
	}
	p := &cutPlan{errs: map[int]error{}}
	err = j.call(func() {
		for _, r := range j.ranks {
			c, ok := states[r.num]
			if !ok {
				c = r.control
			}
			p.place(r, c, req.Positions[r.num])
		}
	})
	if err == nil && len(p.errs) > 0 {
		err = &CutRefusedError{PerRank: p.errs}
	}
	return p, err
}

// place puts one rank into its set. Owner.
func (p *cutPlan) place(r *rank, c backend.ControlState, position uint64) {
	put := func(s *rankset.Set) { *s = s.With(r.num) }
	beyond := c.Present && c.Events > position
	switch {
	case beyond:
		p.errs[r.num] = &BeyondPositionError{r.num, position, c.Events}
	case r.state == Exited:
		put(&p.finished)
	case r.state == Lost:
		p.errs[r.num] = errors.New("it is lost: " + withoutSubject(r.lost))
	case r.state == Starting:
		p.errs[r.num] = errNotAtEntry
	case !c.Present:
		p.errs[r.num] = errNoControl
	case c.State == abi.StateDiverged, c.State == abi.StateRefused,
		c.State != abi.StateNew && c.Events < position && (c.State == abi.StateFinalized || c.State == abi.StateEnd):
		p.errs[r.num] = fmt.Errorf("it cannot go on to event %d: %s", position, blocked(c))
	case c.State == abi.StateNew || c.Events < position:
		put(&p.movers)
		if c.State == abi.StateParked {
			put(&p.unpark)
		}
	case inStopPoint(r) && c.State == abi.StateStopped && c.StopReason == abi.StopParked:
		put(&p.movers) // into its parking loop again, to give progress
	case r.state == Stopped:
		put(&p.standing)
	case c.State == abi.StateParked:
		put(&p.parked)
	case c.State == abi.StateFinalized, c.State == abi.StateEnd:
		put(&p.past)
	default:
		p.errs[r.num] = errors.New("it runs, although it was asked to stop, so its position is not certain")
	}
}

// blocked says why a rank cannot complete any more events.
func blocked(c backend.ControlState) string {
	switch c.State {
	case abi.StateDiverged:
		return "it left the recording: " + divergenceText(c.Divergence)
	case abi.StateRefused:
		return "libcohort refused: " + sentence(c.Message)
	case abi.StateEnd:
		return fmt.Sprintf("its recording ends after event %d.", c.Events)
	case abi.StateFinalized:
		return fmt.Sprintf("it finished with MPI after event %d.", c.Events)
	}
	return fmt.Sprintf("it is at event %d.", c.Events)
}

// await returns when ok holds for each of ranks; ok is asked when a rank changes, by the owner. When ctx ends it
// returns the ranks for which it does not hold.
func (j *Job) await(ctx context.Context, ranks rankset.Set, ok func(*rank) bool) (left rankset.Set, err error) {
	done := make(chan struct{})
	open := map[int]struct{}{}
	var remove func()
	check := func(r *rank) {
		if _, waiting := open[r.num]; waiting && ok(r) {
			delete(open, r.num)
			if len(open) == 0 {
				close(done)
			}
		}
	}
	err = j.call(func() {
		remove = j.addHook(check)
		for num := range ranks.Each {
			open[num] = struct{}{}
		}
		if len(open) == 0 {
			close(done)
		}
		for num := range ranks.Each {
			check(j.ranks[num])
		}
	})
	if err != nil {
		return ranks, err
	}
	select {
	case <-done:
	case <-j.done:
		return ranks, ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	if cerr := j.call(func() { remove(); left = rankset.New(sortedKeys(open)...) }); cerr != nil {
		return ranks, cerr
	}
	if left.Empty() {
		return left, nil
	}
	return left, err
}
