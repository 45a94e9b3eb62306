// Package queue is how Cohort's goroutines hand events and messages to each other: from a rank's debugger over the
// connection of its agent and the job to the clients.
//
// # Why nothing is lost, nothing grows without bound and nothing waits for ever
//
// Whoever pushes never waits. An owner goroutine (a job, a debugger, a connection's reader) that waited for a consumer
// could not answer that very consumer, which may be waiting for an answer. So queues are bounded where things arise:
//
//   - Answers: one per request, and requests in progress are limited by those who send them.
//   - State events: each follows a request (a stop needs a resume), or happens a few times in a rank's life.
//   - Output: the agent of a rank reads no more of its terminal or pipe than its window (package launch/pump), and the
//     window opens again as the job takes the output. While a subscriber of the job is behind, the job lets no window
//     open (backend.Backend's HoldOutput). So a program that prints faster than the slowest client reads waits in its
//     own write, as it would for a slow terminal. What was written before a stop or an end is read beyond the window,
//     and is at most what the kernel keeps of a terminal or pipe: therefore stops, ends and answers never wait for
//     room.
//
// Nobody who handles events waits for a reader either. While a DAP client has not read what it was sent last, output is
// held back in the queue of its subscription (Hold), and what happens besides overtakes it: so a stop, or an answer, is
// behind some 100 KiB of output at most, however much of it waits.
//
// What cannot be slowed (messages that a debugger prints at log points) is bounded by the queue's limit. A queue that
// overflows is closed: what was pushed before is delivered, and then the stream ends, so there is never one with a gap.
package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Errors of Push.
var (
	ErrClosed = errors.New("the queue is closed")
	ErrFull   = errors.New("the queue is full")
)

// Queue is a first-in-first-out queue between any number of goroutines that push and one that takes. What is held back
// is overtaken.
type Queue[T any] struct {
	limit int
	weigh func(T) int

	mu      sync.Mutex
	items   []T
	weight  int
	held    func(T) bool  // what is held back; nil: nothing
	closed  error         // why nothing more is taken in; nil: open
	changed chan struct{} // closed at the next change; nil: nobody waits for one
}

// New makes an empty queue whose items may weigh limit together; a single one is taken in whatever it weighs. A nil
// weigh means 1 each.
func New[T any](limit int, weigh func(T) int) *Queue[T] {
	if weigh == nil {
		weigh = func(T) int { return 1 }
	}
	return &Queue[T]{limit: limit, weigh: weigh}
}

// Push adds an item and never waits. ErrClosed and ErrFull mean that it was not added; after ErrFull the queue is
// closed.
func (q *Queue[T]) Push(item T) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		return q.closed
	}
	defer q.signal()
	w := q.weigh(item)
	if len(q.items) > 0 && q.weight+w > q.limit {
		q.closed = ErrFull
		return ErrFull
	}
	q.items = append(q.items, item)
	q.weight += w
	return nil
}

// Close lets what is queued be taken and nothing be added. A second Close does nothing.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = ErrClosed
		q.signal()
	}
}

// Discard closes the queue and drops what is in it.
func (q *Queue[T]) Discard() {
	q.Close()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items, q.weight = nil, 0
	q.signal()
}

// Overflowed tells whether the queue was closed because it was full.
func (q *Queue[T]) Overflowed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return errors.Is(q.closed, ErrFull)
}

// Weight is what the queued items weigh.
func (q *Queue[T]) Weight() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.weight
}

// Hold leaves items of a kind in the queue, and lets others overtake them, until it is called again; nil lets all go.
func (q *Queue[T]) Hold(kind func(T) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = kind
	q.signal()
}

// Ready tells whether there is an item that is not held back.
func (q *Queue[T]) Ready() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.next() < len(q.items)
}

// next is the place of the item that is taken next; behind the last if there is none. q.mu is held.
func (q *Queue[T]) next() int {
	if q.held == nil {
		return 0
	}
	for i, item := range q.items {
		if !q.held(item) {
			return i
		}
	}
	return len(q.items)
}

// signal wakes whoever waits for a change. q.mu is held.
func (q *Queue[T]) signal() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// await locks q.mu when the condition holds; false: ctx has ended first.
func (q *Queue[T]) await(ctx context.Context, condition func() bool) bool {
	for {
		q.mu.Lock()
		if condition() {
			return true
		}
		if q.changed == nil {
			q.changed = make(chan struct{})
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Pop waits for an item that is not held back; ok is false when the queue is closed and empty, or ctx has ended.
func (q *Queue[T]) Pop(ctx context.Context) (item T, ok bool) {
	at := 0
	if !q.await(ctx, func() bool {
		at = q.next()
		return at < len(q.items) || q.closed != nil && len(q.items) == 0
	}) {
		return item, false
	}
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return item, false
	}
	item = q.items[at]
	if at > 0 {
		q.items = slices.Delete(q.items, at, at+1)
	} else {
		var none T
		q.items[0] = none // let go of what it points to
		q.items = q.items[1:]
	}
	if len(q.items) == 0 {
		q.items = nil
	}
	q.weight -= q.weigh(item)
	q.signal()
	return item, true
}

// Below waits until the items weigh less than that, or the queue is closed; false: ctx ended first.
func (q *Queue[T]) Below(ctx context.Context, weight int) bool {
	ok := q.await(ctx, func() bool { return q.weight < weight || q.closed != nil })
	if ok {
		q.mu.Unlock()
	}
	return ok
}

// Chan delivers the items on a channel, until the queue is closed and empty or ctx ends; then the channel is closed. To
// be called once, by the one who takes.
func (q *Queue[T]) Chan(ctx context.Context) <-chan T {
	out := make(chan T)
	go func() {
		defer close(out)
		for {
			item, ok := q.Pop(ctx)
			if !ok {
				return
			}
			select {
			case out <- item:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
