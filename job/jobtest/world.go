package jobtest

import (
	"context"
	"sync"
)

// A World is the set of ranks that talk to each other. One lock guards all of it: these are tests, and clarity counts.
type World struct {
	mu      sync.Mutex
	changed *sync.Cond // broadcast after every change
	fakes   []*Fake
	closed  bool
	end     chan struct{} // closed by Close
	wg      sync.WaitGroup
}

// New returns a World of n ranks that have not been launched. Call Close at the end of the test, after the job's Close.
func New(n int) *World {
	w := &World{end: make(chan struct{})}
	w.changed = sync.NewCond(&w.mu)
	for i := range n {
		w.fakes = append(w.fakes, newFake(w, i))
	}
	return w
}

// Rank returns the backend of a rank.
func (w *World) Rank(i int) *Fake { return w.fakes[i] }

// Ranks returns all of them.
func (w *World) Ranks() []*Fake { return w.fakes }

// Close ends all ranks and returns when their goroutines have ended.
func (w *World) Close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.end)
		for _, f := range w.fakes {
			f.dead = true
			f.endLocked("the test is over")
		}
		w.changed.Broadcast()
	}
	w.mu.Unlock()
	w.wg.Wait()
}

// wait returns when cond holds, which is asked under the lock, or ctx ends. The lock is held before and after.
func (w *World) wait(ctx context.Context, cond func() bool) error {
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})
	defer stop()
	for !cond() {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.changed.Wait()
	}
	return nil
}
