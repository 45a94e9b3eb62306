package job

import (
	"context"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/rankset"
)

// Control reads, and where asked changes, the control blocks of ranks, all at the same time; request says what is asked
// of each. The ranks that answered are in the map; the error is a *RanksError about the others, in which what says what
// was asked.
func (j *Job) Control(ctx context.Context, ranks rankset.Set, what string,
	request func(rank int) backend.ControlRequest,
) (map[int]backend.ControlState, error) {
	if err := j.checkRanks(ranks); err != nil {
		return nil, err
	}
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
				s, err := r.backend.Control(ctx, request(num))
				return func() {
					if err == nil && s.Present && s.Events >= r.control.Events {
						r.control = s // an event may have told of a later moment while this answer was on its way
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
