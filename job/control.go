package job

import (
	"context"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/rankset"
)

// Control reads, and where asked changes, the control blocks of the ranks, all at the same time; see
// backend.ControlRequest. The ranks that answered are in the map; the error is a *RanksError about the others.
func (j *Job) Control(ctx context.Context, ranks rankset.Set, req backend.ControlRequest) (map[int]backend.ControlState,
	error,
) {
	if err := j.checkRanks(ranks); err != nil {
		return nil, err
	}
	return j.controlEach(ctx, ranks, "read the control block", func(int) backend.ControlRequest { return req })
}

// controlEach is Control with a request per rank.
func (j *Job) controlEach(ctx context.Context, ranks rankset.Set, what string,
	req func(rank int) backend.ControlRequest,
) (map[int]backend.ControlState, error) {
	g := newGather[backend.ControlState]()
	err := j.call(func() {
		for num := range ranks.Each {
			r := j.ranks[num]
			g.expect(num)
			if r.backend == nil {
				g.answer(num, backend.ControlState{}, &RankError{num, "it has no debugger yet"})
				continue
			}
			j.read(ctx, r, func(ctx context.Context) func() {
				s, err := r.backend.Control(ctx, req(num))
				return func() {
					if err == nil && s.Present && s.Events >= r.control.Events {
						r.control = s // an event may have told of a later moment while this answer was under way
					}
					g.answer(num, s, err)
				}
			})
		}
		g.sealIfComplete()
	})
	if err != nil {
		return nil, err
	}
	got, errs, err := g.wait(ctx, j)
	if err != nil {
		return nil, err
	}
	return got, ranksError(what, errs)
}
