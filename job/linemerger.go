package job

import (
	"sync"
	"time"
)

// LineMerger merges the output of ranks that run without a Job, in the same way. Its methods may be called from any
// goroutine.
type LineMerger struct {
	mu     sync.Mutex
	merger *merger
	show   func(Output)
	wake   *time.Timer
}

// NewLineMerger makes one for n ranks. show gets each line once, in order, one call at a time, when all that may join
// it have done so or the window has passed.
func NewLineMerger(window time.Duration, n int, show func(Output)) *LineMerger {
	l := &LineMerger{merger: newMerger(window, n), show: show}
	l.wake = time.AfterFunc(time.Hour, l.expire)
	return l
}

// Add takes what a rank has printed.
func (l *LineMerger) Add(rank int, category string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.give(l.merger.add(time.Now(), rank, category, data))
}

func (l *LineMerger) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.give(l.merger.expired(time.Now()))
}

// give shows output and sets the clock. The caller holds mu.
func (l *LineMerger) give(list []Output) {
	for _, o := range list {
		l.show(o)
	}
	if at, waiting := l.merger.deadline(); waiting {
		l.wake.Reset(max(0, time.Until(at)))
	}
}

// Close shows what is still held back; nothing may be added after it.
func (l *LineMerger) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake.Stop()
	for _, o := range l.merger.flush() {
		l.show(o)
	}
}
