package replayctl

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A Run is something that makes the ranks of a replay move by the recording. Its methods may be called from any
// goroutine.
type Run struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // set before done is closed
}

// Done is closed when the run is over.
func (r *Run) Done() <-chan struct{} { return r.done }

// Err is why the run did not get where it was to go: nil if it did, ErrCancelled (wrapped) if it was cancelled before.
// It is valid when the run is over.
func (r *Run) Err() error { return r.err }

// Cancel ends the run; it does not wait for that.
func (r *Run) Cancel() { r.cancel() }

// Runs has at most one Run in progress. The zero value is ready for use; its methods may be called from any goroutine.
type Runs struct {
	last   atomic.Pointer[Run]
	closed atomic.Bool
}

// Start cancels the run in progress, if there is one, and carries out steer when that is over. The context ends when
// the run is cancelled.
func (r *Runs) Start(steer func(ctx context.Context) error) *Run {
	ctx, cancel := context.WithCancel(context.Background())
	run := &Run{cancel: cancel, done: make(chan struct{})}
	before := r.last.Swap(run)
	if r.closed.Load() {
		cancel()
	}
	go func() {
		defer close(run.done)
		defer cancel()
		if before != nil {
			before.Cancel()
			<-before.done
		}
		if run.err = ctx.Err(); run.err == nil {
			run.err = steer(ctx)
		}
		if run.err != nil && ctx.Err() != nil {
			run.err = fmt.Errorf("%w (%w)", ErrCancelled, run.err)
		}
	}()
	return run
}

// Last is the run that was started last; nil if none was.
func (r *Runs) Last() *Run { return r.last.Load() }

// Cancel ends the run in progress, if there is one, and returns when it is over.
func (r *Runs) Cancel() {
	if run := r.Last(); run != nil {
		run.Cancel()
		<-run.done
	}
}

// Close is Cancel, and runs that are started later are cancelled at once.
func (r *Runs) Close() {
	r.closed.Store(true)
	r.Cancel()
}
