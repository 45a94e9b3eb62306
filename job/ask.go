package job

import (
	"context"
	"fmt"

	"github.com/cohort-debugger/cohort/rankset"
)

// answers are those of several ranks to one caller. All but done is for the owner; after done got and errs are the
// caller's.
type answers[T any] struct {
	missing map[int]bool
	got     map[int]T
	errs    map[int]error
	done    chan struct{} // closed when none is missing
}

// ask returns what ranks have answered when all of them have, or ctx ends. start runs on the owner, for each of ranks:
// it expects the rank's answer if it asks it. The error is a *RanksError about ranks that have failed, or not answered;
// what says what was asked.
func ask[T any](ctx context.Context, j *Job, ranks rankset.Set, what string, start func(*rank, *answers[T])) (
	map[int]T, error,
) {
	if err := j.checkRanks(ranks); err != nil {
		return nil, err
	}
	const starting = -1 // no rank: what is asked is not complete yet
	a := &answers[T]{
		missing: map[int]bool{starting: true}, got: map[int]T{}, errs: map[int]error{}, done: make(chan struct{}),
	}
	if err := j.call(func() {
		for num := range ranks.Each {
			start(j.ranks[num], a)
		}
		a.found(starting)
	}); err != nil {
		return nil, err
	}
	select {
	case <-a.done:
	case <-j.done:
		return nil, ErrClosed
	case <-ctx.Done():
		if err := j.call(func() {
			for r := range a.missing {
				a.errs[r] = fmt.Errorf("it has not answered yet (%w)", ctx.Err())
			}
			clear(a.missing)
		}); err != nil {
			return nil, err
		}
	}
	if len(a.errs) > 0 {
		return a.got, &RanksError{What: what, PerRank: a.errs}
	}
	return a.got, nil
}

func (a *answers[T]) expect(rank int) { a.missing[rank] = true }

// answer takes an answer in, unless the caller has given up.
func (a *answers[T]) answer(rank int, v T, err error) {
	switch {
	case !a.missing[rank]:
		return
	case err != nil:
		a.errs[rank] = err
	default:
		a.got[rank] = v
	}
	a.found(rank)
}

func (a *answers[T]) found(rank int) {
	if delete(a.missing, rank); len(a.missing) == 0 {
		close(a.done)
	}
}
