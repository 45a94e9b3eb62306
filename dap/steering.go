package dap

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
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
}

// steeredWait is a request that waits for the first rank to run, as the client's stream of events will see it.
type steeredWait struct {
	running  chan struct{} // closed by noticeRunning
	answered chan struct{} // closed when the answer is queued
	once     sync.Once
}

// noticeRunning is told of each rank that runs, before the client is: a request that waits for that is answered first.
func (c *client) noticeRunning() {
	c.mu.Lock()
	w := c.steered
	c.mu.Unlock()
	if w == nil {
		return
	}
	w.once.Do(func() { close(w.running) })
	select {
	case <-w.answered:
	case <-c.ctx.Done():
	}
}

// awaitRunning registers a steeredWait until the call is answered.
func (k *call) awaitRunning() *steeredWait {
	w := &steeredWait{running: make(chan struct{}), answered: make(chan struct{})}
	k.c.mu.Lock()
	k.c.steered = w
	k.c.mu.Unlock()
	k.onAnswered(func() {
		k.c.mu.Lock()
		k.c.steered = nil
		k.c.mu.Unlock()
		close(w.answered)
	})
	return w
}

// steer starts a causal run for a request. It returns when the first rank runs, or the run is over; a failure after
// that is shown as output. The run outlives the request, and perhaps the client.
func (k *call) steer(start func() *replayctl.Run) error {
	d, s := k.c.debuggee(), &steeredRun{told: make(chan struct{})}
	w := k.awaitRunning()
	d.mu.Lock()
	d.steered = s
	d.mu.Unlock()
	run := start()
	bar := k.c.newProgress("Running to the causal cut", k.req.seq)
	answered, late := make(chan struct{}), make(chan bool, 1)
	k.onAnswered(func() { close(answered) })
	go func() {
		defer close(s.told)
		<-run.Done()
		bar.end("")
		err := runError(run)
		cancelled := errors.Is(err, errRunCancelled)
		if cancelled {
			d.srv.log.Debug("dap: a causal run was cancelled", "error", run.Err())
		}
		s.unmet = (err == nil || cancelled) && d.allGone()
		<-answered
		if <-late && err != nil && !cancelled {
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

// cancelRun ends the causal run in progress, if there is one, and returns when it is over.
func (d *debuggee) cancelRun() {
	if d.Controller != nil {
		d.Controller.Cancel()
	}
}

// allGone reports whether no rank is left.
func (d *debuggee) allGone() bool {
	status, err := d.Job.Status() // answered at once
	return err == nil && !slices.ContainsFunc(status, func(s job.RankStatus) bool { return !s.State.Gone() })
}

// tellUnmet is for a job that has ended by itself: it waits until a run that was in progress is over and was reported,
// and adds that it came to nothing if so.
func (d *debuggee) tellUnmet(ctx context.Context) {
	d.mu.Lock()
	s := d.steered
	d.mu.Unlock()
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

// needReplay is the job of the call if it is a replay.
func needReplay(k *call) (*debuggee, error) {
	d := k.c.debuggee()
	if d.Controller == nil {
		return nil, refuse("%s needs a replay, and %s", k.req.command, k.c.debuggee().notReplay())
	}
	return d, nil
}

func cut(k *call, a protocol.CutArguments) (any, error) {
	d, err := needReplay(k)
	if err != nil {
		return nil, err
	}
	if len(a.Cut) > 0 {
		return nil, refuse("%s computes the causal cut of an event, given as `at`; to go to positions of your own, use "+
			"%s with `cut`",
			k.req.command, protocol.RequestRunTo)
	}
	at, err := checkEvent(k.req.command, a.At)
	if err != nil {
		return nil, err
	}
	return d.Controller.Cut(k.ctx, at)
}

func runTo(k *call, a protocol.CutArguments) (any, error) {
	d, err := needReplay(k)
	if err != nil {
		return nil, err
	}
	switch {
	case a.At != "" && len(a.Cut) > 0:
		return nil, refuse("%s was given both `at` and `cut`: give one of them", k.req.command)
	case len(a.Cut) > 0 && len(a.Cut) != d.Job.Ranks():
		return nil, refuse("%s was given a cut of %d positions, but the job has %d ranks: give one position for each "+
			"rank", k.req.command, len(a.Cut), d.Job.Ranks())
	case len(a.Cut) == 0:
		if a.At, err = checkEvent(k.req.command, a.At); err != nil {
			return nil, err
		}
	}
	k.c.view.want(-1)
	if rank, index, ok := eventOf(a.At, d.Job.Ranks()); ok {
		k.c.view.wantEvent(rank, index)
	}
	return nil, k.steer(func() *replayctl.Run { return d.Controller.RunTo(a.At, a.Cut) })
}

// checkEvent refuses what is not RANK:INDEX; whether the recording has that event is the Controller's affair.
func checkEvent(command, at string) (string, error) {
	at = strings.TrimSpace(at)
	rank, index, ok := strings.Cut(at, ":")
	if !ok || !isNumber(rank) || !isNumber(index) {
		return "", refuse("%s needs an event, written RANK:INDEX such as 2:17, but was given %s", command,
			quoteShort(at))
	}
	return at, nil
}

// eventOf takes RANK:INDEX apart; not ok if there is no such rank, which the Controller refuses.
func eventOf(at string, ranks int) (rank int, index uint64, ok bool) {
	r, i, _ := strings.Cut(at, ":")
	rank, rankErr := strconv.Atoi(r)
	index, indexErr := strconv.ParseUint(i, 10, 64)
	return rank, index, rankErr == nil && indexErr == nil && rank < ranks
}

func isNumber(s string) bool {
	return s != "" && len(s) < 20 && strings.Trim(s, "0123456789") == ""
}
