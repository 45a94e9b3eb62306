package dap

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

const (
	// stallEvery is how often ranks are looked at to find out whether they get on.
	stallEvery = time.Second
	// withinStall is how long all ranks may be within MPI calls, or poll, and none complete one, before that is told.
	withinStall = time.Minute
	// goneStall is the same once a rank has ended that did not end well: others may wait for it for ever.
	goneStall = 10 * time.Second
)

// waitStall answers when the ranks have run for so long without getting on, or the job has ended.
func waitStall(k *call, a protocol.StallArguments) (any, error) {
	if a.Seconds < 0 {
		return nil, refuse("%s was given %v seconds: write how long ranks may complete no MPI call", k.asked, a.Seconds)
	}
	tick := time.NewTicker(stallEvery)
	defer tick.Stop()
	fresh := stallWatch{limit: time.Duration(a.Seconds * float64(time.Second)), callName: k.c.srv.o.CallName}
	w := fresh
	for {
		select {
		case <-tick.C:
		case <-k.d.over:
			return protocol.StallBody{}, nil
		case <-k.ctx.Done():
			return nil, context.Cause(k.ctx)
		}
		status, err := k.d.Job.Status()
		if err != nil {
			return protocol.StallBody{}, nil //nolint:nilerr // the job has ended
		}
		stopping, err := k.d.Job.Stopping()
		running := inState(status, job.Running)
		if err != nil || !stopping.Empty() || running.Empty() || someRankIs(job.Stopped)(status) || k.steered() {
			w = fresh // ranks may wait for one that Cohort has stopped
			continue
		}
		w.lossy = slices.ContainsFunc(status, func(s job.RankStatus) bool {
			return s.State == job.Lost || s.State == job.Exited && (s.Exit.Signal != "" || s.Exit.Code != 0)
		})
		states, _ := k.look(running) // which of them have not answered shows
		if text := w.look(time.Now(), states, running.Len()); text != "" {
			return protocol.StallBody{Text: text}, nil
		}
	}
}

// stallWatch finds out for how long ranks that run have not got on.
type stallWatch struct {
	limit    time.Duration // in which no rank completes an MPI call; 0: withinStall if all are within one, or poll
	callName func(op int) string
	last     map[int]backend.ControlState
	lossy    bool // a rank has not ended well
	looked   time.Time
	still    time.Duration // no rank has completed a call
	within   time.Duration // and all were within one, or polled
}

// look takes in where the ranks are, of which running are asked. It returns what is known once they have not got on for
// the limit.
func (w *stallWatch) look(now time.Time, states map[int]backend.ControlState, running int) string {
	// A job that was suspended as a whole has not stood still meanwhile.
	passed := min(now.Sub(w.looked), 2*longestLook)
	before := w.last
	w.looked, w.last = now, states
	texts, moved, within, starting := map[int]string{}, before == nil, len(states) == running, false
	for r, s := range states {
		old, known := before[r]
		switch {
		case !s.Present:
			texts[r] = "where is not known, as Cohort's library is not in the program"
			within = false
		case s.State == abi.StateNew:
			texts[r] = "not through MPI_Init"
			within, starting = false, true
		case s.Current != 0:
			texts[r] = "in " + w.callName(s.CurrentOp)
		case s.Polls != old.Polls:
			texts[r] = "polling"
		default:
			texts[r] = "computing"
			within = false
		}
		moved = moved || known && s.Events != old.Events
	}
	switch {
	case moved:
		w.still, w.within = 0, 0
		return ""
	case !within:
		w.within = 0
	default:
		w.within += passed
	}
	w.still += passed
	limit, stood := withinStall, w.within
	if w.lossy {
		limit = goneStall
	}
	if w.limit > 0 {
		limit, stood = w.limit, w.still
	}
	if starting {
		limit = max(limit, withinStall)
	}
	if stood < limit {
		return ""
	}
	return fmt.Sprintf("no rank has completed an MPI call for %v; %s", limit, strings.Join(job.MergeTexts(texts), ", "))
}
