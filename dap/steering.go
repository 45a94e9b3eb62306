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
)

// helm has at most one steered run of a debuggee under way: a Steering.Continue or RunTo. It ends by itself, or because
// someone pauses, goes on otherwise, or ends the job.
type helm struct {
	d *debuggee

	mu      sync.Mutex // guards the fields below; held for moments only
	cancel  context.CancelFunc
	done    chan struct{} // of the run under way; nil: none
	last    chan struct{} // of the last that steer has begun: closed when all is said about it; nil: none
	unmet   bool          // that one came to no stop, because the ranks came to their ends
	stopped bool          // no further run
}

// errGivenUp is how a steered run ends that somebody ended on purpose.
var errGivenUp error = &requestError{
	text:  "the run to the causal cut was given up: the job was ended, or another command made ranks run or pause",
	short: shortCancelled, quiet: true,
}

func newHelm(d *debuggee) *helm { return &helm{d: d} }

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

// steer runs a steered run for a request. It returns when the first rank runs, or the run has ended; a failure after
// that is shown as output.
func (h *helm) steer(k *call, run func(context.Context) error) error {
	w := k.awaitRunning()
	ctx, cancel := context.WithCancel(context.WithoutCancel(k.ctx)) // it outlives the request, and the client perhaps
	done := make(chan struct{})
	h.mu.Lock()
	if h.done != nil || h.stopped {
		h.mu.Unlock()
		cancel()
		return refuse("a run to a causal cut is under way already: pause it first, or wait for it")
	}
	h.cancel, h.done, h.last, h.unmet = cancel, done, done, false
	h.mu.Unlock()

	bar := k.c.newProgress("Steering to the causal cut", k.req.seq)
	result := make(chan error, 1)
	answered := make(chan struct{})
	go func() {
		defer close(done)
		err := run(ctx)
		if err != nil && ctx.Err() != nil {
			k.c.log.Debug("dap: a run to a causal cut was given up", "error", err)
			err = errGivenUp
		}
		bar.end("")
		unmet := (err == nil || errors.Is(err, errGivenUp)) && h.allGone(context.WithoutCancel(ctx))
		h.mu.Lock()
		h.cancel, h.done, h.unmet = nil, nil, unmet
		h.mu.Unlock()
		cancel()
		result <- err
		<-answered
		select {
		case err := <-result: // nobody waits for it any more
			if err != nil && !errors.Is(err, errGivenUp) {
				h.d.say("important", "The run to the causal cut failed: "+sentence(err.Error())+"\n")
			}
		default:
		}
	}()
	defer close(answered)
	select {
	case err := <-result:
		return err
	case <-w.running:
		return nil
	case <-k.ctx.Done():
		cancel()
		<-result //nolint:errcheck // says no more than that it was cancelled
		return context.Cause(k.ctx)
	}
}

// through is steer for a request that is answered when the run has ended; the run ends with the request, too.
func (h *helm) through(k *call, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	done := make(chan struct{})
	h.mu.Lock()
	if h.done != nil || h.stopped {
		h.mu.Unlock()
		return refuse("a run to a causal cut is under way already: pause it first, or wait for it")
	}
	h.cancel, h.done = cancel, done
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.cancel, h.done = nil, nil
		h.mu.Unlock()
		close(done)
	}()
	bar := k.c.newProgress("Steering to the calls", k.req.seq)
	defer bar.end("")
	err := run(ctx)
	switch {
	case err != nil && k.ctx.Err() != nil:
		return context.Cause(k.ctx)
	case err != nil && ctx.Err() != nil:
		k.c.log.Debug("dap: a run to calls of the recording was given up", "error", err)
		return errGivenUp
	}
	return err
}

// settled returns when no run is under way.
func (h *helm) settled(ctx context.Context) error {
	h.mu.Lock()
	done := h.done
	h.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// interrupt ends a run that is under way, and waits for that.
func (h *helm) interrupt() {
	h.mu.Lock()
	cancel, done := h.cancel, h.done
	h.mu.Unlock()
	if done != nil {
		cancel()
		<-done
	}
}

// allGone reports whether no rank is left.
func (h *helm) allGone(ctx context.Context) bool {
	status, err := h.d.Job.Status(ctx)
	return err == nil && !slices.ContainsFunc(status, func(s job.RankStatus) bool { return !s.State.Gone() })
}

// jobEnded is for a job that has ended by itself: it waits until all is said about a run that was under way, and adds
// that it came to nothing if so.
func (h *helm) jobEnded(ctx context.Context) {
	h.mu.Lock()
	h.stopped = true
	last := h.last
	h.mu.Unlock()
	if last == nil {
		return
	}
	select {
	case <-last:
	case <-ctx.Done():
		h.interrupt()
	}
	h.mu.Lock()
	unmet := h.unmet
	h.mu.Unlock()
	if unmet {
		h.d.say("console", "All ranks came to their ends before a causal breakpoint, or the cut that they were to go "+
			"to, was reached.\n")
	}
}

// release is interrupt, and no run begins after it.
func (h *helm) release() {
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	h.interrupt()
}

// needSteering is the job of the call if it is a replay.
func needSteering(k *call) (*debuggee, error) {
	d := k.c.debuggee()
	if d.Steering == nil {
		return nil, refuse("%s needs a replay, and %s", k.req.command, k.c.debuggee().notReplay())
	}
	return d, nil
}

func cut(k *call, a protocol.CutArguments) (any, error) {
	d, err := needSteering(k)
	if err != nil {
		return nil, err
	}
	if len(a.Cut) > 0 {
		return nil, refuse("%s computes the causal cut of an event, given as `at`; to go to positions of your own, use %s with `cut`",
			k.req.command, protocol.RequestRunTo)
	}
	at, err := checkEvent(k.req.command, a.At)
	if err != nil {
		return nil, err
	}
	return d.Steering.Cut(k.ctx, at)
}

func runTo(k *call, a protocol.CutArguments) (any, error) {
	d, err := needSteering(k)
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
	d.helm.interrupt()
	k.c.view.want(-1)
	if rank, index, ok := eventOf(a.At, d.Job.Ranks()); ok {
		k.c.view.wantEvent(rank, index)
	}
	return nil, d.helm.steer(k, func(ctx context.Context) error { return d.Steering.RunTo(ctx, a) })
}

// checkEvent refuses what is not RANK:INDEX; whether the recording has that event is Steering's affair.
func checkEvent(command, at string) (string, error) {
	at = strings.TrimSpace(at)
	rank, index, ok := strings.Cut(at, ":")
	if !ok || !isNumber(rank) || !isNumber(index) {
		return "", refuse("%s needs an event, written RANK:INDEX such as 2:17, but was given %s", command,
			quoteShort(at))
	}
	return at, nil
}

// eventOf takes RANK:INDEX apart; not ok if there is no such rank, which Steering refuses.
func eventOf(at string, ranks int) (rank int, index uint64, ok bool) {
	r, i, _ := strings.Cut(at, ":")
	rank, rankErr := strconv.Atoi(r)
	index, indexErr := strconv.ParseUint(i, 10, 64)
	return rank, index, rankErr == nil && indexErr == nil && rank < ranks
}

func isNumber(s string) bool {
	return s != "" && len(s) < 20 && strings.Trim(s, "0123456789") == ""
}
