package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// Resume resumes the stopped ones among ranks and returns when each runs, with the set of those that do; ranks that
// are not stopped are left out. req.Thread must be 0 if several ranks are named. A rank that was stopped in its parking
// loop (see package replayctl) is released too. The error is a *RanksError about ranks that could not be resumed.
func (j *Job) Resume(ctx context.Context, ranks rankset.Set, req backend.ResumeRequest) (rankset.Set, error) {
	if req.Thread != 0 && ranks.Len() > 1 {
		return rankset.Set{}, fmt.Errorf("thread %d was named for ranks %s; a thread can be named for one rank only",
			req.Thread, ranks)
	}
	got, err := ask(ctx, j, ranks, req.Kind.String(), func(r *rank, a *answers[struct{}]) {
		if r.state == Stopped && !r.resuming {
			a.expect(r.num)
			j.resume(r, req, func(err error) { a.answer(r.num, struct{}{}, err) })
		}
	})
	return rankset.New(sortedKeys(got)...), err
}

// resume sends Resume to a Stopped rank. It stays Stopped until the backend has said that it runs. If it was stopped in
// its parking loop it is released first, or it would stay there for ever. answered is called when the answer has been
// processed. Owner.
func (j *Job) resume(r *rank, req backend.ResumeRequest, answered func(error)) {
	unpark := r.stop.Control.Present && r.stop.Control.State == abi.StateParked
	r.resuming = true
	r.resumes++
	number := r.resumes
	if req.Kind != backend.Continue {
		r.stepping = true
		j.setPending(r, true)
	}
	j.enqueue(r, func(ctx context.Context) func() {
		var err error
		if unpark {
			release := abi.ReleaseGo
			if _, err = r.backend.Control(ctx, backend.ControlRequest{Release: &release}); err != nil {
				err = fmt.Errorf("release it from its parking position: %w", err)
			}
		}
		if err == nil {
			err = r.backend.Resume(ctx, req)
		}
		return func() {
			if r.resuming && r.resumes == number { // else a stop or exit that followed was faster
				j.resumed(r, err)
			}
			answered(err)
		}
	})
}

// resumed takes the answer to Resume in. Owner.
func (j *Job) resumed(r *rank, err error) {
	r.resuming = false
	if err != nil {
		j.setPending(r, false)
		r.interrupt, r.stepping = false, false
		r.changed()
		return
	}
	j.setRunning(r)
	if r.interrupt {
		r.interrupt = false
		j.sendInterrupt(r, nil)
	}
}

// Interrupt asks the running ones among ranks to stop and returns when each was asked; their stops follow in the stream
// (WaitIdle waits for them). It has no effect on the others. The error is a *RanksError about ranks that could not be
// asked.
func (j *Job) Interrupt(ctx context.Context, ranks rankset.Set) error {
	_, err := ask(ctx, j, ranks, "pause", j.interrupt)
	return err
}

// Halt stops the running ones among ranks, and those that are about to run, and returns when each of them has stopped,
// ended, or could not be asked; halted are those that were not stopped before.
func (j *Job) Halt(ctx context.Context, ranks rankset.Set) (halted rankset.Set, err error) {
	_, err = ask(ctx, j, ranks, "pause", func(r *rank, a *answers[struct{}]) {
		if r.state != Running && !r.resuming {
			return
		}
		halted = halted.With(r.num)
		a.expect(r.num)
		j.interrupt(r, nil)
		r.await(func() bool { return !r.pending }, func() { a.answer(r.num, struct{}{}, nil) })
	})
	return halted, err
}

// interrupt asks a rank to stop if it runs or is about to. Interrupt overtakes in the backend, so one that would arrive
// before a Resume that is under way is held back until that is answered. a may be nil. Owner.
func (j *Job) interrupt(r *rank, a *answers[struct{}]) {
	switch {
	case r.resuming:
		j.setPending(r, true)
		r.interrupt = true
	case r.state == Running:
		j.setPending(r, true)
		j.sendInterrupt(r, a)
	}
}

func (j *Job) sendInterrupt(r *rank, a *answers[struct{}]) {
	if a != nil {
		a.expect(r.num)
	}
	epoch := r.epoch
	j.overtake(r, func(ctx context.Context) func() {
		err := r.backend.Interrupt(ctx)
		return func() {
			if err != nil {
				j.log.Warn("a rank could not be interrupted", "rank", r.num, "error", err)
				if r.state == Running && r.epoch == epoch {
					j.setPending(r, r.stepping) // no other stop will follow
					r.changed()
				}
			}
			if a != nil {
				a.answer(r.num, struct{}{}, err)
			}
		}
	})
}

// Control reads, and where asked changes, the control blocks of ranks, all at the same time; request says what is asked
// of each. The ranks that answered are in the map; the error is a *RanksError about the others, in which what says what
// was asked.
func (j *Job) Control(ctx context.Context, ranks rankset.Set, what string,
	request func(rank int) backend.ControlRequest,
) (map[int]backend.ControlState, error) {
	return ask(ctx, j, ranks, what, func(r *rank, a *answers[backend.ControlState]) {
		a.expect(r.num)
		if r.backend == nil {
			a.answer(r.num, backend.ControlState{}, errors.New("it has no debugger yet"))
			return
		}
		j.read(ctx, r, func(ctx context.Context) func() {
			s, err := r.backend.Control(ctx, request(r.num))
			return func() {
				if err == nil && s.Present && s.Events >= r.control.Events {
					r.control = s // an event may have told of a later moment while this answer was on its way
				}
				a.answer(r.num, s, err)
			}
		})
	})
}

// Evaluate evaluates an expression on each of ranks at the same time. If req.Frame is zero the frame is each rank's
// UserFrame; else it is the one req.Frame.Level levels above the innermost frame that is not Internal, of thread
// req.Frame.Thread (0: the one that stopped). Equal answers are merged, and so are equal errors; the results are
// ordered by their lowest rank. A rank that runs, or has not answered when ctx ends, has its own
// entry with Err. The error is not nil only if nobody could be asked.
func (j *Job) Evaluate(ctx context.Context, ranks rankset.Set, req backend.EvaluateRequest) ([]MergedResult, error) {
	got, err := ask(ctx, j, ranks, "evaluate", func(r *rank, a *answers[backend.EvaluateResult]) {
		a.expect(r.num)
		j.evaluate(ctx, r, req, a)
	})
	failed, some := errors.AsType[*RanksError](err)
	switch {
	case some:
		return mergeResults(got, failed.PerRank), nil
	case err != nil:
		return nil, err
	}
	return mergeResults(got, nil), nil
}

func (j *Job) evaluate(ctx context.Context, r *rank, req backend.EvaluateRequest, a *answers[backend.EvaluateResult]) {
	if r.state != Stopped || r.resuming {
		a.answer(r.num, backend.EvaluateResult{}, &backend.StateError{
			Asked: "evaluate " + prose.Clip(req.Expression, 60),
			State: r.stateForPeople(),
		})
		return
	}
	if req.Frame == (backend.FrameID{}) {
		req.Frame.Level = UserFrame(r.stop.Frames)
	}
	if req.Frame.Thread == 0 {
		req.Frame.Thread = r.stop.Thread
	}
	if req.Frame.Thread == r.stop.Thread {
		req.Frame.Level += r.hidden
	}
	evaluate := func(ctx context.Context) func() {
		res, err := r.backend.Evaluate(ctx, req)
		return func() { a.answer(r.num, res, err) }
	}
	if req.Context != backend.ContextREPL {
		j.read(ctx, r, evaluate)
		return
	}
	// A console line may do anything, so it is a command: in order with the others, and not idle until it is answered.
	j.enqueue(r, bounded(ctx, evaluate))
}

func (r *rank) stateForPeople() string {
	if r.state == Stopped && r.resuming {
		return "about to run"
	}
	return r.state.String()
}

func mergeResults(got map[int]backend.EvaluateResult, errs map[int]error) []MergedResult {
	type key struct{ text, err, file string }
	keys := make(map[int]key, len(got)+len(errs))
	for r, v := range got {
		k := key{text: cmp.Or(v.Text, v.Value)}
		if v.File != nil {
			k.file = v.File.Name + "\x00" + string(v.File.Data)
		}
		keys[r] = k
	}
	for r, err := range errs {
		keys[r] = key{err: prose.Stop(err.Error())}
	}
	groups := groupBy(keys)
	out := make([]MergedResult, len(groups))
	for i, g := range groups {
		out[i] = MergedResult{Ranks: g.ranks, Text: g.key.text, Err: g.key.err, Result: got[g.ranks.Min()]}
	}
	return out
}
