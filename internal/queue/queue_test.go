package queue_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/internal/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func TestBelow(t *testing.T) {
	q := queue.New[int](100, nil)
	for i := range 3 {
		if !q.Below(ended, 3) {
			t.Fatalf("%d items are not below 3", i)
		}
		if err := q.Push(i); err != nil {
			t.Fatal(err)
		}
	}
	if q.Below(ended, 3) {
		t.Error("3 items are below 3")
	}
	waited := make(chan bool)
	go func() { waited <- q.Below(testContext(t), 3) }()
	for want := range 3 {
		if got, ok := q.Pop(testContext(t)); !ok || got != want {
			t.Errorf("popped %d %v, want %d", got, ok, want)
		}
	}
	if !<-waited {
		t.Error("an empty queue is not below 3")
	}
}

// What was pushed before the end is delivered, nothing is taken in after it, and nobody waits any more.
func TestClose(t *testing.T) {
	q := queue.New[int](100, nil)
	if err := q.Push(3); err != nil {
		t.Fatal(err)
	}
	q.Close()
	q.Close()
	if err := q.Push(4); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("pushing to a closed queue: %v", err)
	}
	if !q.Below(ended, 0) {
		t.Error("somebody waits for room in a closed queue")
	}
	if got, ok := q.Pop(testContext(t)); !ok || got != 3 {
		t.Errorf("what was queued before the end is %d %v", got, ok)
	}
	if _, ok := q.Pop(testContext(t)); ok {
		t.Error("a closed, empty queue gives items")
	}
}

func TestCloseWakesWhoWaits(t *testing.T) {
	q := queue.New[int](1, nil)
	popped := make(chan bool)
	go func() {
		_, ok := q.Pop(context.Background())
		popped <- ok
	}()
	q.Close()
	if <-popped {
		t.Error("a closed, empty queue gave an item")
	}
	full := queue.New[int](1, nil)
	if err := full.Push(1); err != nil {
		t.Fatal(err)
	}
	waited := make(chan bool)
	go func() { waited <- full.Below(context.Background(), 1) }()
	full.Discard()
	if !<-waited {
		t.Error("a discarded queue is not below its limit")
	}
	if n := full.Weight(); n != 0 {
		t.Errorf("a discarded queue weighs %d", n)
	}
}

// A queue that overflows ends after what was in it: there is no gap.
func TestOverflow(t *testing.T) {
	q := queue.New(10, func(n int) int { return n })
	if err := q.Push(20); err != nil { // a single item is taken in whatever it weighs
		t.Fatal(err)
	}
	if err := q.Push(1); !errors.Is(err, queue.ErrFull) || !q.Overflowed() {
		t.Fatalf("a full queue: %v", err)
	}
	if err := q.Push(0); !errors.Is(err, queue.ErrFull) {
		t.Errorf("after it was full: %v", err)
	}
	var got []int
	for n := range q.Chan(testContext(t)) {
		got = append(got, n)
	}
	if len(got) != 1 || got[0] != 20 {
		t.Errorf("delivered %v", got)
	}
}

// What is held back is overtaken and keeps its order; it is not lost when the queue is closed meanwhile.
func TestHold(t *testing.T) {
	odd := func(n int) bool { return n%2 == 1 }
	q := queue.New[int](100, nil)
	q.Hold(odd)
	for n := range 6 {
		if err := q.Push(n); err != nil {
			t.Fatal(err)
		}
	}
	pop := func(want ...int) {
		t.Helper()
		for _, w := range want {
			if got, ok := q.Pop(testContext(t)); !ok || got != w {
				t.Fatalf("popped %d %v, want %d", got, ok, w)
			}
		}
	}
	pop(0, 2, 4)
	if _, ok := q.Pop(ended); ok || q.Ready() || q.Weight() != 3 {
		t.Errorf("what is held back was given out, or is ready (%v), or is lost: %d are there", q.Ready(), q.Weight())
	}
	q.Close()
	if _, ok := q.Pop(ended); ok {
		t.Error("what is held back was given out at the end")
	}
	popped := make(chan bool)
	go func() {
		n, ok := q.Pop(testContext(t))
		popped <- ok && n == 1
	}()
	q.Hold(nil)
	if !<-popped {
		t.Error("what was let go did not come")
	}
	pop(3, 5)
	if _, ok := q.Pop(testContext(t)); ok || q.Weight() != 0 {
		t.Errorf("a closed queue, of which all was taken, weighs %d", q.Weight())
	}
}

// The order of each that pushes is kept, and a channel whose reader has gone leaves nothing behind (goleak).
func TestChan(t *testing.T) {
	const each, pushers = 1000, 4
	q := queue.New[[2]int](each*pushers, nil)
	var group sync.WaitGroup
	for p := range pushers {
		group.Go(func() {
			for i := range each {
				if err := q.Push([2]int{p, i}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { group.Wait(); q.Close() }()
	next := [pushers]int{}
	for item := range q.Chan(testContext(t)) {
		if item[1] != next[item[0]] {
			t.Fatalf("pusher %d: %d came, not %d", item[0], item[1], next[item[0]])
		}
		next[item[0]]++
	}
	if next != [pushers]int{each, each, each, each} {
		t.Errorf("delivered %v", next)
	}

	ctx, cancel := context.WithCancel(testContext(t))
	q = queue.New[[2]int](10, nil)
	if err := q.Push([2]int{}); err != nil {
		t.Fatal(err)
	}
	c := q.Chan(ctx)
	cancel()
	for range c { // closed, whether or not the item came first
	}
}
