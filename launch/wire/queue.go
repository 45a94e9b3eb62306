package wire

import (
	"context"
	"sync"
)

// Queue is an unbounded first-in-first-out queue between goroutines. Its zero value is not usable; see NewQueue.
type Queue[T any] struct {
	mu      sync.Mutex
	items   []T
	closed  bool
	changed chan struct{} // closed and replaced whenever something changed
}

// NewQueue makes an empty queue.
func NewQueue[T any]() *Queue[T] { return &Queue[T]{changed: make(chan struct{})} }

// Push adds an item and tells whether the queue was still open.
func (q *Queue[T]) Push(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.items = append(q.items, item)
	q.signal()
	return true
}

// Close lets what is queued be taken and nothing be added. A second Close does nothing.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.signal()
	}
}

func (q *Queue[T]) signal() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Pop waits for an item; ok is false when the queue is closed and empty, or ctx has ended.
func (q *Queue[T]) Pop(ctx context.Context) (item T, ok bool) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			item = q.items[0]
			var zero T
			q.items[0] = zero
			if q.items = q.items[1:]; len(q.items) == 0 {
				q.items = nil
				q.signal() // for Drained
			}
			q.mu.Unlock()
			return item, true
		}
		closed, changed := q.closed, q.changed
		q.mu.Unlock()
		if closed {
			return item, false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return item, false
		}
	}
}

// Below waits until fewer than n items are queued, or the queue is closed, and tells whether that is so; false: ctx
// ended first. It is the way to slow down whoever fills the queue, who then waits until it is empty, not for each
// single item.
func (q *Queue[T]) Below(ctx context.Context, n int) bool {
	for {
		q.mu.Lock()
		fine, changed := len(q.items) < n || q.closed, q.changed
		q.mu.Unlock()
		if fine {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
