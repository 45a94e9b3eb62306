package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
)

// Attach gives a rank its backend, before Launch. The job reads the backend's events from now on.
func (j *Job) Attach(num int, b backend.Backend, info Info) error {
	return j.on(num, func(r *rank) error {
		if r.backend != nil || r.state.Gone() {
			return fmt.Errorf("rank %d already has a debugger, and is %s", num, r.state)
		}
		r.backend, r.info = b, info
		if j.held && info.HoldOutput != nil {
			info.HoldOutput(true)
		}
		events := b.Events()
		j.wg.Go(func() { j.readEvents(r, events) })
		j.publishRank(r)
		return nil
	})
}

// Absent notes that a rank is not there and will not come; why follows "rank 3", as in "has no core file here". It is
// Lost from now on. A rank that has a backend cannot be absent.
func (j *Job) Absent(num int, why string) error {
	return j.on(num, func(r *rank) error {
		if r.backend != nil {
			return fmt.Errorf("rank %d has a debugger, so it is not absent", num)
		}
		if !r.state.Gone() {
			j.setLost(r, why)
		}
		return nil
	})
}

// Launch starts the program on every attached rank that was not launched yet, all at the same time, and returns when
// each has stopped at its entry or has failed. A rank that failed is Lost. The error is a *RanksError that names each
// rank that failed and why, equal reasons merged. Breakpoints that were set before are sent to each rank as soon as it
// is at its entry, before any later command.
func (j *Job) Launch(ctx context.Context, req backend.LaunchRequest) error {
	_, err := ask(ctx, j, j.All(), "launch "+req.Program, func(r *rank, a *answers[struct{}]) {
		if r.backend == nil || r.state != Starting || r.launching {
			return
		}
		r.launching = true
		a.expect(r.num)
		j.enqueue(r, func(ctx context.Context) func() {
			res, err := r.backend.Launch(ctx, req)
			return func() {
				j.launched(r, res, err)
				a.answer(r.num, struct{}{}, err)
			}
		})
	})
	return err
}

// launched takes the answer to Launch in. The stop at entry may have come as an event before, may come later, or not at
// all. Owner.
func (j *Job) launched(r *rank, res backend.LaunchResult, err error) {
	if err != nil {
		if !r.state.Gone() {
			j.setLost(r, "could not be launched: "+strings.TrimSuffix(err.Error(), "."))
		}
		return
	}
	r.can = res.Can
	if res.Pid != 0 {
		r.info.Pid = res.Pid
	}
	if r.state == Starting && !r.entered {
		r.entered = true
		j.setStopped(r, &res.Stop)
	} else {
		j.publishRank(r) // its process id is known now
	}
	for _, note := range res.Notes {
		j.publishOutput(j.out.add(time.Now(), r.num, "console", []byte(note+"\n")))
	}
	j.sendAllBreakpoints(r)
}

// Kill ends every rank and its debugger, and returns when all are gone or ctx ends; then the error is a *RanksError
// that names those that are not. Ranks that never had a backend are Lost.
func (j *Job) Kill(ctx context.Context) error {
	_, err := ask(ctx, j, j.All(), "end the job", func(r *rank, a *answers[struct{}]) {
		switch {
		case r.backend == nil && r.state != Lost:
			j.setLost(r, "was never started")
			return
		case r.backend == nil || r.finished:
			return
		}
		r.killed = true
		a.expect(r.num)
		// A rank is gone when its backend has ended, whatever Kill returned.
		r.await(func() bool { return r.finished }, func() { a.answer(r.num, struct{}{}, nil) })
		j.overtake(r, func(ctx context.Context) func() {
			err := r.backend.Kill(ctx)
			if _, ended := errors.AsType[*backend.EndedError](err); err == nil || ended || ctx.Err() != nil {
				return nil // the Ended event says the rest
			}
			return func() { a.answer(r.num, struct{}{}, err) }
		})
	})
	return err
}
