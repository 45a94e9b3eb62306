package dap

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

const (
	// lookEvery is how often ranks that run are looked at while they are waited for.
	lookEvery = 200 * time.Millisecond
	// stuckLooks is how many looks in a row must find that no running rank has got on.
	stuckLooks = 5
	// longestLook bounds the ranks' answers about where they are.
	longestLook = time.Second
)

// outcome is how a wait for ranks has ended.
type outcome int

const (
	allStill outcome = iota // none of them runs, and the job is idle
	stuck                   // a rank has stopped, and those that run wait for it, or for each other
	tooLate                 // the time is over
	jobEnded
)

// awaitStops waits until none of the ranks runs and the job is idle. limit bounds that; 0: nothing does. With orStuck
// it also ends when a rank has stopped and those that still run cannot get on without it.
func (k *call) awaitStops(ranks rankset.Set, limit time.Duration, orStuck bool) (outcome, error) {
	ctx := k.ctx
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	found, watch := allStill, standstill{k: k}
	status, err := k.awaitRanks(ctx, func(status []job.RankStatus) bool {
		return !slices.ContainsFunc(status, func(s job.RankStatus) bool {
			return s.State == job.Running && ranks.Contains(s.Rank)
		})
	}, func(status []job.RankStatus) bool {
		if orStuck && watch.look(status) {
			found = stuck
		}
		return found == stuck
	})
	switch {
	case ctx.Err() != nil && k.ctx.Err() == nil:
		return tooLate, k.catchUp()
	case err == nil && !slices.ContainsFunc(status, func(s job.RankStatus) bool { return !s.State.Gone() }):
		return jobEnded, nil // the rest of it follows
	}
	return found, err
}

// awaitRanks waits until the ranks are as wanted and the job is idle, or enough, which is asked at each look, says so.
// The client has been told then of what led there. No ranks: the job has ended first.
func (k *call) awaitRanks(ctx context.Context, wanted, enough func([]job.RankStatus) bool) ([]job.RankStatus, error) {
	d := k.d
	sub := d.Job.Subscribe(job.WithoutOutput)
	defer sub.Close()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	looked := false
	for {
		if over, _ := d.ended(); over {
			return nil, nil
		}
		idle, err := d.Job.Idle()
		if err != nil {
			return nil, err
		}
		status, err := d.Job.Status()
		if err != nil {
			return nil, err
		}
		if idle && wanted(status) || looked && enough(status) {
			return status, k.catchUp()
		}
		looked = false
		select {
		case _, ok := <-sub.Events():
			if !ok {
				return nil, nil
			}
		case <-look.C:
			looked = true
		case <-d.over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// standstill finds out whether ranks that run wait for one that has stopped.
type standstill struct {
	k     *call
	last  map[int]backend.ControlState
	looks int // in a row that found nobody who had got on
}

// look tells whether it is so. A rank that computes gets on; one that is within an MPI call, or polls, does when it has
// come to another event. Of a rank that has no control block nothing is known, so it holds up nothing.
func (w *standstill) look(status []job.RankStatus) bool {
	running := inState(status, job.Running)
	stopping, err := w.k.d.Job.Stopping()
	if err != nil || !stopping.Empty() || running.Empty() || !someRankIs(job.Stopped)(status) || w.k.steered() {
		w.looks = 0
		return false
	}
	now, late := w.k.look(running)
	waiting := w.last != nil && !late
	for r := range running.Each {
		before, s := w.last[r], now[r]
		computes := s.Current == 0 && s.Polls == before.Polls
		if s.Present && (s.Events != before.Events || computes) {
			waiting = false
		}
	}
	w.last = now
	w.looks++
	if !waiting {
		w.looks = 0
	}
	return w.looks >= stuckLooks
}

// look asks ranks where they are, which the job then knows, too. late: some have not answered in time, and are left
// out.
func (k *call) look(ranks rankset.Set) (states map[int]backend.ControlState, late bool) {
	ctx, cancel := context.WithTimeout(k.ctx, longestLook)
	defer cancel()
	states, err := k.d.Job.Control(ctx, ranks, "where they are", func(int) backend.ControlRequest {
		return backend.ControlRequest{}
	})
	if err != nil {
		k.d.srv.o.Log.Debug("dap: ranks were asked where they are", "error", err)
	}
	return states, errors.Is(err, context.DeadlineExceeded)
}

// steered tells whether a causal run is in progress.
func (k *call) steered() bool {
	k.d.srv.mu.Lock()
	defer k.d.srv.mu.Unlock()
	if k.d.steered == nil {
		return false
	}
	select {
	case <-k.d.steered.told:
		return false
	default:
		return true
	}
}

// waitIdle answers when the job is idle, and with ranks when those have stopped, too.
func waitIdle(k *call, a protocol.WaitArguments) (any, error) {
	if a.Ranks == "" {
		if err := k.d.Job.WaitIdle(k.ctx); err != nil {
			return nil, err
		}
		if err := k.catchUp(); err != nil {
			return nil, err
		}
		return k.ranksBody()
	}
	ranks, err := rankset.Parse(a.Ranks, k.d.Job.Ranks())
	if err != nil {
		return nil, err
	}
	how, err := k.awaitStops(ranks, 0, true)
	switch {
	case err != nil:
		return nil, err
	case how == jobEnded:
		if _, err := k.afterEnd(); err != nil {
			return nil, err
		}
	}
	if err := k.runFailure(); err != nil {
		return nil, err
	}
	return k.ranksBody()
}

// duration reads how long a line of the console lets ranks run. "": for as long as they like.
func duration(k *call, text string, bareSeconds bool) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && bareSeconds {
		text = strconv.FormatFloat(seconds, 'f', -1, 64) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, refuse("%s was given %s, which is no time to wait: write it as in %s 10s or %s 2m", k.asked,
			quoteShort(text), k.asked, k.asked)
	}
	return d, nil
}
