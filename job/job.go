package job

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/rankset"
)

// Options of a Job.
type Options struct {
	Ranks int          // 0..Ranks-1
	Log   *slog.Logger // nil: none
	// MergeWindow is how long a line of output waits for other ranks to print the same; 0 means DefaultMergeWindow,
	// negative: lines do not wait.
	MergeWindow time.Duration
}

// DefaultMergeWindow is long enough for ranks that print the same at the same time, and short enough not to be felt.
const DefaultMergeWindow = 100 * time.Millisecond

// A Job is a set of ranks that are debugged together. See the package comment for its rules.
type Job struct {
	n   int
	log *slog.Logger

	ctx    context.Context // ends with Close; the parent of every call to a backend
	cancel context.CancelFunc
	inbox  chan func() // messages to the owner goroutine
	done   chan struct{}
	wg     sync.WaitGroup // owner, calls in flight, event readers

	// owned
	ranks       []*rank
	focus       rankset.Set
	subscribers map[*Subscription]struct{}
	seq         uint64
	inFlight    int // commands, see "Idle" in the package comment
	pending     int // ranks with a stop pending
	gone        int // ranks that are Exited or Lost
	running     int // ranks that are Running
	idle        bool
	ended       bool // Ended was published
	held        bool // the ranks' output is held, because a subscriber is far behind
	idleWaiters map[chan struct{}]struct{}
	out         *merger
	wanted      breakpoints
	timer       *time.Timer // fires when output has waited long enough
}

// New returns a job of o.Ranks ranks, all Starting, with the focus on all of them. Call Close when it is no longer
// needed.
func New(o Options) *Job {
	if o.Ranks < 1 {
		panic(fmt.Sprintf("job: a job of %d ranks", o.Ranks))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MergeWindow == 0 {
		o.MergeWindow = DefaultMergeWindow
	}
	j := &Job{
		n: o.Ranks, log: o.Log, timer: time.NewTimer(time.Hour),
		inbox: make(chan func()), done: make(chan struct{}),
		ranks: make([]*rank, o.Ranks), focus: rankset.All(o.Ranks),
		subscribers: map[*Subscription]struct{}{}, idleWaiters: map[chan struct{}]struct{}{},
		out: newMerger(max(o.MergeWindow, 0), o.Ranks),
	}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	for i := range j.ranks {
		r := &rank{num: i}
		r.ctx, r.cancel = context.WithCancel(j.ctx)
		j.setPending(r, true) // of its stop at entry
		j.ranks[i] = r
	}
	j.wg.Go(j.run)
	return j
}

// Ranks is the number of ranks of the job.
func (j *Job) Ranks() int { return j.n }

// All is the set of all ranks of the job.
func (j *Job) All() rankset.Set { return rankset.All(j.n) }

// Close ends the model, not the ranks: call Kill first. Calls to backends are given up, waiting callers get ErrClosed,
// subscriptions deliver what they have and end. Close returns when the job's goroutines have ended; for those of
// subscriptions, which end when they are read to the end or closed, it does not wait. It may be called more than once.
func (j *Job) Close() {
	j.cancel()
	<-j.done
	j.wg.Wait()
}

// run is the owner goroutine.
func (j *Job) run() {
	defer close(j.done)
	for {
		message := func() { j.publishOutput(j.out.expired(time.Now())) }
		select {
		case message = <-j.inbox:
		case <-j.timer.C:
		case <-j.ctx.Done():
		}
		if j.ctx.Err() != nil { // first of all: what calls answer because of that is not news about their ranks
			j.publishOutput(j.out.flush())
			j.endSubscriptions()
			j.timer.Stop()
			return
		}
		message()
		j.settle()
	}
}

// settle publishes what follows from the state as a whole, after each message: the job's end, and idleness. Owner.
func (j *Job) settle() {
	if j.gone == j.n && !j.ended {
		j.ended = true
		j.publishOutput(j.out.flush())
		j.publish(Event{Ended: j.summary()})
	}
	idle := j.inFlight == 0 && j.pending == 0
	if idle && !j.idle {
		if j.running == 0 { // else more may come, and what waits may still be merged
			j.publishOutput(j.out.flush())
		}
		j.idle = true
		j.publish(Event{Idle: true})
		for w := range j.idleWaiters {
			close(w)
		}
		clear(j.idleWaiters)
	}
	j.idle = idle
	if at, waiting := j.out.deadline(); waiting {
		j.timer.Reset(time.Until(at))
	}
}

// call runs f on the owner goroutine and returns when it has run. The owner never blocks, so neither does call for
// long. After ErrClosed f has not run and will not.
func (j *Job) call(f func()) error {
	ran := make(chan struct{})
	select {
	case j.inbox <- func() { f(); close(ran) }:
	case <-j.done:
		return ErrClosed
	}
	select {
	case <-ran:
		return nil
	case <-j.done:
	}
	select {
	case <-ran: // it was the last thing that ran
		return nil
	default:
		return ErrClosed
	}
}

// post is call for those who do not wait: a rank's goroutines. After Close messages are dropped.
func (j *Job) post(f func()) {
	select {
	case j.inbox <- f:
	case <-j.done:
	}
}

// WaitIdle returns when the job is idle (see the package comment), at once if it is.
func (j *Job) WaitIdle(ctx context.Context) error {
	w := make(chan struct{})
	err := j.call(func() {
		if j.idle {
			close(w)
			return
		}
		j.idleWaiters[w] = struct{}{}
	})
	if err != nil {
		return err
	}
	select {
	case <-w:
		return nil
	case <-j.done:
		return ErrClosed
	case <-ctx.Done():
		j.post(func() { delete(j.idleWaiters, w) })
		return ctx.Err()
	}
}

// Status is a consistent snapshot of all ranks, index = rank.
func (j *Job) Status() (out []RankStatus, err error) {
	err = j.call(func() { out = j.statuses() })
	return out, err
}

func (j *Job) statuses() []RankStatus {
	out := make([]RankStatus, j.n)
	for i, r := range j.ranks {
		out[i] = r.status()
	}
	return out
}

// Idle tells whether the job is idle now; it may be otherwise by the time the caller looks.
func (j *Job) Idle() (idle bool, err error) {
	err = j.call(func() { idle = j.idle })
	return idle, err
}

// Stopping are the ranks whose stop is pending for another reason than a step, which may take as long as it likes.
func (j *Job) Stopping() (ranks rankset.Set, err error) {
	err = j.call(func() {
		for _, r := range j.ranks {
			if r.pending && !r.stepping {
				ranks = ranks.With(r.num)
			}
		}
	})
	return ranks, err
}

// SetFocus sets the rank set that commands of the front ends act on, and publishes it if it is another one than before.
func (j *Job) SetFocus(ranks rankset.Set) error {
	if err := j.checkRanks(ranks); err != nil {
		return err
	}
	return j.call(func() {
		if !ranks.Equal(j.focus) {
			j.focus = ranks
			j.publish(Event{Focus: &ranks})
		}
	})
}

// Focus is the rank set that commands of the front ends act on; all ranks at first.
func (j *Job) Focus() (focus rankset.Set, err error) {
	err = j.call(func() { focus = j.focus })
	return focus, err
}

// Remind publishes all ranks and breakpoints as they are once more, for subscribers that show them in another way now.
func (j *Job) Remind() error {
	return j.call(func() {
		for _, r := range j.ranks {
			j.publishRank(r)
		}
		for _, id := range sortedKeys(j.wanted.byID) {
			s := j.breakpointStatus(j.wanted.byID[id])
			j.publish(Event{Breakpoint: &s})
		}
	})
}

// Busy keeps the job from being idle until done is called: for what consists of several commands.
func (j *Job) Busy() (done func(), err error) {
	err = j.call(func() { j.inFlight++ })
	return func() { j.post(func() { j.inFlight-- }) }, err
}

// ReportCut publishes that the ranks are at a cut.
func (j *Job) ReportCut(c CutReached) error {
	return j.call(func() { j.publish(Event{Cut: &c}) })
}

// ReportProgress publishes p in the job's stream.
func (j *Job) ReportProgress(p Progress) error {
	return j.call(func() { j.publish(Event{Progress: &p}) })
}

// ReportOutput publishes text that comes from no rank, such as what the launcher says; o.Ranks is empty.
func (j *Job) ReportOutput(o Output) error {
	return j.call(func() { j.publish(Event{Output: &o}) })
}

// Backend is the rank's backend, for reads that concern one rank only: stack, scopes, variables, memory, evaluation in
// a frame. Whoever resumes or kills a rank through it makes the job's picture of that rank wrong.
func (j *Job) Backend(num int) (b backend.Backend, err error) {
	err = j.on(num, func(r *rank) error {
		if b = r.backend; b == nil {
			return fmt.Errorf("rank %d has no debugger yet", num)
		}
		return nil
	})
	return b, err
}
