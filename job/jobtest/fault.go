package jobtest

import (
	"context"
	"slices"

	"github.com/cohort-debugger/cohort/backend"
)

// On has every later call of a method run hook first, without the lock: it may wait, end the Fake, or return an error,
// which then is the call's answer. A nil hook takes it away.
func (f *Fake) On(m Method, hook func(context.Context) error) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if hook == nil {
		delete(f.hooks, m)
		return
	}
	f.hooks[m] = hook
}

// Fail answers with err.
func Fail(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// SlowUntil waits until ready is closed before the request is carried out.
func (f *Fake) SlowUntil(ready <-chan struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-f.done:
			return nil // the caller then sees that the backend has ended
		}
	}
}

// NeverAnswer holds the request until its context or the backend ends.
func (f *Fake) NeverAnswer() func(context.Context) error { return f.SlowUntil(nil) }

// DieDuring ends the backend in the middle of the request.
func (f *Fake) DieDuring(why string) func(context.Context) error {
	return func(context.Context) error {
		f.End(why)
		return nil
	}
}

// FailLaunch has Launch fail as for something that the user can fix.
func (f *Fake) FailLaunch(program, reason string) {
	f.On(Launch, Fail(&backend.LaunchError{Program: program, Reason: reason}))
}

// request carries one request out. Serial ones wait for those that arrived before.
func (f *Fake) request(ctx context.Context, m Method, req any, serial bool, do func() error) error {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.calls = append(f.calls, Call{m, req})
	f.w.changed.Broadcast()
	if serial {
		f.tickets++
		mine := f.tickets
		f.line = append(f.line, mine)
		defer func() {
			f.line = slices.DeleteFunc(f.line, func(t int) bool { return t == mine })
			f.w.changed.Broadcast()
		}()
		if err := f.w.wait(ctx, func() bool { return f.ended || f.line[0] == mine }); err != nil {
			return err
		}
	}
	if hook := f.hooks[m]; hook != nil && !f.ended {
		f.w.mu.Unlock()
		err := hook(ctx)
		f.w.mu.Lock()
		if err != nil {
			return err
		}
	}
	switch {
	case f.ended:
		return &backend.EndedError{Why: f.endedWhy}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return do()
}
