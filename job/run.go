package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// Resume resumes the stopped ones among ranks and returns when each runs, with the set of those that do; ranks that
// are not stopped are left out. thread is the debugger's number of the thread that a step is about, 0 the one that
// stopped; it must be 0 if several ranks are named. A rank that was stopped in its parking loop (see package replayctl)
// is released too. The error is a *RanksError about ranks that could not be resumed.
func (j *Job) Resume(ctx context.Context, ranks rankset.Set, kind backend.ResumeKind, thread int) (rankset.Set, error) {
	return j.resumeAll(ctx, ranks, backend.ResumeRequest{Kind: kind, Thread: thread})
}

// ResumeInstruction is Resume with steps by one instruction of the machine instead of one line.
func (j *Job) ResumeInstruction(ctx context.Context, ranks rankset.Set, kind backend.ResumeKind,
	thread int,
) (rankset.Set, error) {
	return j.resumeAll(ctx, ranks,
		backend.ResumeRequest{Kind: kind, Thread: thread, Instruction: kind != backend.Continue})
}

func (j *Job) resumeAll(ctx context.Context, ranks rankset.Set, req backend.ResumeRequest) (rankset.Set, error) {
	if err := j.checkRanks(ranks); err != nil {
		return rankset.Set{}, err
	}
	if req.Thread != 0 && ranks.Len() > 1 {
		return rankset.Set{}, fmt.Errorf("thread %d was named for ranks %s; a thread can be named for one rank only",
			req.Thread, ranks)
	}
	g := newGather[struct{}]()
	err := j.call(func() {
		for num := range ranks.Each {
			r := j.ranks[num]
			if r.state != Stopped || r.resuming {
				continue
			}
			g.expect(num)
			j.resume(r, req, func(err error) { g.answer(num, struct{}{}, err) })
		}
		g.sealIfComplete()
	})
	if err != nil {
		return rankset.Set{}, err
	}
	got, errs, err := g.wait(ctx, j)
	if err != nil {
		return rankset.Set{}, err
	}
	return rankset.New(sortedKeys(got)...), ranksError(req.Kind.String(), errs)
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
		j.callHooks(r)
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
	if err := j.checkRanks(ranks); err != nil {
		return err
	}
	g := newGather[struct{}]()
	err := j.call(func() {
		for num := range ranks.Each {
			j.interrupt(j.ranks[num], g)
		}
		g.sealIfComplete()
	})
	if err != nil {
		return err
	}
	_, errs, err := g.wait(ctx, j)
	if err != nil {
		return err
	}
	return ranksError("pause", errs)
}

// Halt stops the running ones among ranks, and those that are about to run, and returns when each of them has stopped,
// ended, or could not be asked; halted are those that were not stopped before.
func (j *Job) Halt(ctx context.Context, ranks rankset.Set) (halted rankset.Set, err error) {
	if err := j.checkRanks(ranks); err != nil {
		return rankset.Set{}, err
	}
	g := newGather[struct{}]()
	var remove func()
	err = j.call(func() {
		remove = j.addHook(func(r *rank) {
			if !r.pending {
				g.answer(r.num, struct{}{}, nil)
			}
		})
		for num := range ranks.Each {
			if r := j.ranks[num]; r.state == Running || r.resuming {
				halted = halted.With(num)
				g.expect(num)
				j.interrupt(r, nil)
			}
		}
		g.sealIfComplete()
	})
	if err != nil {
		return rankset.Set{}, err
	}
	defer j.post(func() { remove() })
	_, errs, err := g.wait(ctx, j)
	if err != nil {
		return halted, err
	}
	return halted, ranksError("pause", errs)
}

// interrupt asks a rank to stop if it runs or is about to. Interrupt overtakes in the backend, so one that would arrive
// before a Resume that is under way is held back until that is answered. g may be nil. Owner.
func (j *Job) interrupt(r *rank, g *gather[struct{}]) {
	switch {
	case r.resuming:
		j.setPending(r, true)
		r.interrupt = true
	case r.state == Running:
		j.setPending(r, true)
		j.sendInterrupt(r, g)
	}
}

func (j *Job) sendInterrupt(r *rank, g *gather[struct{}]) {
	if g != nil {
		g.expect(r.num)
	}
	epoch := r.epoch
	j.overtake(r, func(ctx context.Context) func() {
		err := r.backend.Interrupt(ctx)
		return func() {
			if err != nil {
				j.log.Warn("a rank could not be interrupted", "rank", r.num, "error", err)
				if r.state == Running && r.epoch == epoch {
					j.setPending(r, r.stepping) // no other stop will follow
					j.callHooks(r)
				}
			}
			if g != nil {
				g.answer(r.num, struct{}{}, err)
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
	if err := j.checkRanks(ranks); err != nil {
		return nil, err
	}
	g := newGather[backend.ControlState]()
	err := j.call(func() {
		for num := range ranks.Each {
			r := j.ranks[num]
			g.expect(num)
			if r.backend == nil {
				g.answer(num, backend.ControlState{}, errors.New("it has no debugger yet"))
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

// Evaluate evaluates an expression on each of ranks at the same time. If req.Frame is zero the frame is each rank's
// UserFrame; else it is the one req.Frame.Level levels above the innermost frame that is not Internal, of thread
// req.Frame.Thread (0: the one that stopped). Equal answers are merged, and so are equal errors; the results are
// ordered by their lowest rank. A rank that runs, or has not answered when ctx ends, has its own
// entry with Err. The error is not nil only if nobody could be asked.
func (j *Job) Evaluate(ctx context.Context, ranks rankset.Set, req backend.EvaluateRequest) ([]MergedResult, error) {
	if err := j.checkRanks(ranks); err != nil {
		return nil, err
	}
	g := newGather[backend.EvaluateResult]()
	err := j.call(func() {
		for num := range ranks.Each {
			g.expect(num)
			j.evaluate(ctx, j.ranks[num], req, g)
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
	return mergeResults(got, errs), nil
}

func (j *Job) evaluate(ctx context.Context, r *rank, req backend.EvaluateRequest, g *gather[backend.EvaluateResult]) {
	if r.state != Stopped || r.resuming {
		g.answer(r.num, backend.EvaluateResult{}, &backend.StateError{
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
	ask := func(ctx context.Context) func() {
		res, err := r.backend.Evaluate(ctx, req)
		return func() { g.answer(r.num, res, err) }
	}
	if req.Context != backend.ContextREPL {
		j.read(ctx, r, ask)
		return
	}
	// A console line may do anything, so it is a command: in order with the others, and not idle until it is answered.
	j.enqueue(r, func(rankCtx context.Context) func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(rankCtx, cancel)()
		return ask(ctx)
	})
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
		k := key{text: resultText(v)}
		if v.File != nil {
			k.file = v.File.Name + "\x00" + string(v.File.Data)
		}
		keys[r] = k
	}
	for r, err := range errs {
		why := err.Error()
		if no, ok := errors.AsType[*NoAnswerError](err); ok {
			why = no.Error()
		}
		keys[r] = key{err: sentence(why)}
	}
	groups := groupBy(keys)
	out := make([]MergedResult, len(groups))
	for i, g := range groups {
		out[i] = MergedResult{Ranks: g.ranks, Text: g.key.text, Err: g.key.err, Result: got[g.ranks.Min()]}
	}
	return out
}

func resultText(v backend.EvaluateResult) string {
	if v.Text != "" {
		return v.Text
	}
	return v.Value
}
