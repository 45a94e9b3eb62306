package jobtest

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Clock is a job.Clock that stands still until Advance moves it.
type Clock struct {
	mu      sync.Mutex
	changed *sync.Cond
	now     time.Time
	timers  map[*timer]struct{}
}

type timer struct {
	at time.Time
	c  chan time.Time
}

// NewClock returns a Clock that stands at an arbitrary time.
func NewClock() *Clock {
	c := &Clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), timers: map[*timer]struct{}{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Now implements job.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// NewTimer implements job.Clock.
func (c *Clock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.now.Add(d), c: make(chan time.Time, 1)}
	if d <= 0 {
		t.c <- c.now
		return t.c, func() {}
	}
	c.timers[t] = struct{}{}
	c.changed.Broadcast()
	return t.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

// Advance moves the time on and lets the timers that are due fire.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for t := range c.timers {
		if !t.at.After(c.now) {
			t.c <- c.now
			delete(c.timers, t)
		}
	}
}

// WaitTimer returns when a timer is set, which tells that output has arrived and waits.
func (c *Clock) WaitTimer(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	defer stop()
	for len(c.timers) == 0 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("waiting for a timer to be set: %w", err)
		}
		c.changed.Wait()
	}
	return nil
}
