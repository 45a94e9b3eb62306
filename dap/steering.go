package dap

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/replayctl"
)

// errRunCancelled is how a causal run ends that somebody ended on purpose.
var errRunCancelled error = &requestError{text: replayctl.ErrCancelled.Error(), short: shortCancelled, quiet: true}

// runError is what a run that is over has come to, for people.
func runError(run *replayctl.Run) error {
	if err := run.Err(); !errors.Is(err, replayctl.ErrCancelled) {
		return err
	}
	return errRunCancelled
}

// steeredRun is the last causal run that a request has started.
type steeredRun struct {
	told  chan struct{} // closed when the run is over and everything about it was reported
	unmet bool          // it came to no stop, because the ranks came to their ends
	late  error         // why it has failed after its request was answered
}

// steeredWait is a request that waits for the first rank to run, as the client's stream of events will see it.
type steeredWait struct {
	running  chan struct{} // closed by noticeRunning
	answered chan struct{} // closed when the answer is queued
}

// noticeRunning is told of each rank that runs, before the client is: a request that waits for that is answered first.
func (c *client) noticeRunning() {
	c.srv.mu.Lock()
	w := c.steered
	c.steered = nil
	c.srv.mu.Unlock()
	if w == nil {
		return
	}
	close(w.running)
	select {
	case <-w.answered:
	case <-c.ctx.Done():
	}
}

// steer starts a causal run for a request. It returns when the first rank runs, or the run is over; a failure after
// that is shown as output. The run outlives the request, and perhaps the client.
func (k *call) steer(start func() *replayctl.Run) error {
	d, mu := k.d, &k.c.srv.mu
	s := &steeredRun{told: make(chan struct{})}
	w := &steeredWait{running: make(chan struct{}), answered: make(chan struct{})}
	mu.Lock()
	d.steered, k.c.steered = s, w
	mu.Unlock()
	k.onAnswered(func() {
		mu.Lock()
		k.c.steered = nil
		mu.Unlock()
		close(w.answered)
	})
	run := start()
	bar := k.c.newProgress("Running to the causal cut", k.req.seq)
	late := make(chan bool, 1) // whether the run is not over when the request is answered
	go func() {
		defer close(s.told)
		<-run.Done()
		bar.end("")
		err := runError(run)
		cancelled := errors.Is(err, errRunCancelled)
		if cancelled {
			d.srv.o.Log.Debug("dap: a causal run was cancelled", "error", run.Err())
		}
		s.unmet = (err == nil || cancelled) && !d.anyRank(func(s job.RankStatus) bool { return !s.State.Gone() })
		<-w.answered
		switch {
		case !<-late || err == nil || cancelled:
		case d.stoppedOnTheWay(err):
			d.say("important", sentence(err.Error())+"\n")
		default:
			s.late = err
			d.say("important", "The run to the causal cut failed: "+sentence(err.Error())+"\n")
		}
	}()
	select {
	case <-w.running:
		late <- true
		return nil
	case <-run.Done():
	case <-k.ctx.Done():
	}
	late <- false
	return k.through(run)
}

// stoppedOnTheWay reports whether a causal run has ended only because ranks stopped for reasons of the user's, such as
// another breakpoint: that is a stop like any other, and no failure.
func (d *debuggee) stoppedOnTheWay(err error) bool {
	partial, ok := errors.AsType[*replayctl.PartialCutError](err)
	if !ok || partial.Cause != nil {
		return false
	}
	status, err := d.Job.Status()
	if err != nil {
		return false
	}
	for rank := range partial.Stopped {
		s := &status[rank]
		if s.State != job.Stopped || s.Stop.Reason != backend.ReasonBreakpoint && s.Stop.Reason != backend.ReasonData {
			return false
		}
	}
	return true
}

// continueSteered is continue where causal breakpoints are set. They are told to be unverified while it cannot be done.
func (k *call) continueSteered(ranks rankset.Set) error {
	d := k.d
	k.c.view.wantLeader()
	err := k.steer(func() *replayctl.Run { return d.Controller.Continue(d.breakpoints.all(), ranks) })
	if errors.Is(err, errRunCancelled) || k.ctx.Err() != nil {
		return err
	}
	why := ""
	if err != nil {
		why = sentence(err.Error())
	}
	if d.breakpoints.setUnreachable(why) {
		k.onAnswered(func() { d.Job.Remind() })
	}
	return err
}

// through waits until a run is over, which it is also when the request ends.
func (k *call) through(run *replayctl.Run) error {
	select {
	case <-run.Done():
		return runError(run)
	case <-k.ctx.Done():
		run.Cancel()
		<-run.Done()
		return context.Cause(k.ctx)
	}
}

// runFailure is why the last causal run has failed after it was answered, when it is over. It is returned once.
func (k *call) runFailure() error {
	mu := &k.c.srv.mu
	mu.Lock()
	s := k.d.steered
	mu.Unlock()
	if s == nil {
		return nil
	}
	select {
	case <-s.told:
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
	mu.Lock()
	defer mu.Unlock()
	err := s.late
	s.late = nil
	return err
}

// cancelRun ends the causal run in progress, if there is one, and returns when it is over.
func (d *debuggee) cancelRun() {
	if d.Controller != nil {
		d.Controller.Cancel()
	}
}

// tellUnmet is for a job that has ended by itself: it waits until a run that was in progress is over and was reported,
// and adds that it came to nothing if so.
func (d *debuggee) tellUnmet(ctx context.Context) {
	d.srv.mu.Lock()
	s := d.steered
	d.srv.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case <-s.told:
	case <-ctx.Done():
		d.cancelRun()
		<-s.told
	}
	if s.unmet {
		d.say("console", "All ranks came to their ends before a causal breakpoint, or the cut that they were to go "+
			"to, was reached.\n")
	}
}

// needReplay is the controller of the call's job, if that is a replay.
func needReplay(k *call) (Controller, error) {
	if k.d.Controller == nil {
		return nil, refuse("%s needs a replay, and %s", k.asked, k.d.notReplay())
	}
	return k.d.Controller, nil
}

func cut(k *call, a protocol.CutArguments) (any, error) {
	controller, err := needReplay(k)
	if err != nil {
		return nil, err
	}
	if len(a.Cut) > 0 {
		return nil, refuse("%s computes the causal cut of an event, given as `at`; to go to positions of your own, "+
			"use %s with `cut`", k.asked, protocol.RequestRunTo)
	}
	at, _, _, err := k.event(a.At)
	if err != nil {
		return nil, err
	}
	return controller.Cut(k.ctx, at)
}

func runTo(k *call, a protocol.CutArguments) (any, error) {
	controller, err := needReplay(k)
	n := k.d.Job.Ranks()
	switch {
	case err != nil:
		return nil, err
	case a.At != "" && len(a.Cut) > 0:
		return nil, refuse("%s was given both `at` and `cut`: give one of them", k.asked)
	case len(a.Cut) > 0 && len(a.Cut) != n:
		return nil, refuse("%s was given a cut of %d positions, but the job has %d ranks: give one position for each "+
			"rank", k.asked, len(a.Cut), n)
	case len(a.Cut) > 0:
		k.c.view.want(-1)
	default:
		at, rank, index, err := k.event(a.At)
		if err != nil {
			return nil, err
		}
		a.At = at
		k.c.view.wantEvent(rank, index)
	}
	return nil, k.steer(func() *replayctl.Run { return controller.RunTo(a.At, a.Cut) })
}

// event takes RANK:INDEX apart; whether the recording has that event is the Controller's affair.
func (k *call) event(text string) (at string, rank int, index uint64, err error) {
	at = strings.TrimSpace(text)
	r, i, _ := strings.Cut(at, ":")
	number, rankErr := strconv.ParseUint(r, 10, 31) // no sign
	index, indexErr := strconv.ParseUint(i, 10, 64)
	if rankErr != nil || indexErr != nil {
		err = refuse("%s needs an event, written RANK:INDEX such as 2:17, but was given %s", k.asked, quoteShort(at))
	}
	return at, int(number), index, err
}

func isNumber(s string) bool {
	return s != "" && len(s) < 20 && strings.Trim(s, "0123456789") == ""
}
