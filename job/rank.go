package job

import (
	"context"
	"maps"
	"slices"

	"github.com/cohort-debugger/cohort/backend"
)

// rank is one rank with its backend.
type rank struct {
	num    int
	ctx    context.Context // ends with the backend, or the job
	cancel context.CancelFunc

	// owned
	backend   backend.Backend // nil: not attached yet
	info      Info
	can       backend.Capabilities
	state     RankState
	stop      *backend.Stopped // of a Stopped rank; as RankStatus.Stop
	hidden    int
	epoch     uint64 // counts stops: tells whether something cached of a stop is still valid
	exit      *backend.Exited
	control   backend.ControlState
	hits      map[int]int // as RankStatus.Hits, since event hitsAt; replaced, never changed
	hitsAt    uint64
	lost      string
	launching bool // Launch was sent
	entered   bool // the stop at entry was seen
	killed    bool // Kill was sent
	finished  bool // the backend has ended
	pending   bool // a stop is pending
	resuming  bool // Resume was sent, and neither answered nor overtaken by an event
	resumes   int  // counts Resumes, so that a late answer is not taken for that of a later one
	stepping  bool // the last Resume was a step, which has not ended
	interrupt bool // to be interrupted as soon as Resume is answered

	queue []command // waiting, in order
	busy  bool      // a command is with the backend

	waiting []waiter
}

// A waiter is told once when something has become true of a rank.
type waiter struct {
	reached func() bool
	then    func()
}

// await looks at each change of the rank's state, control block or backend. Owner.
func (r *rank) await(reached func() bool, then func()) {
	r.waiting = append(r.waiting, waiter{reached, then})
}

// changed tells those who wait. Owner.
func (r *rank) changed() {
	r.waiting = slices.DeleteFunc(r.waiting, func(w waiter) bool {
		reached := w.reached()
		if reached {
			w.then()
		}
		return reached
	})
}

// A command is a request to a rank's backend, carried out in a goroutine of its own. What it returns is run by the
// owner.
type command func(context.Context) (then func())

// enqueue carries the command out after all that were enqueued before it on this rank, and counts it as in flight.
// Owner.
func (j *Job) enqueue(r *rank, c command) {
	j.inFlight++
	r.queue = append(r.queue, c)
	j.next(r)
}

func (j *Job) next(r *rank) {
	if r.busy || len(r.queue) == 0 {
		return
	}
	c := r.queue[0]
	r.queue[0] = nil
	r.queue = r.queue[1:]
	r.busy = true
	j.start(r, c, func() {
		r.busy = false
		j.inFlight--
		j.next(r)
	})
}

// overtake carries the command out at once, beside those that were enqueued, and counts it as in flight. For Interrupt,
// Control and Kill. Owner.
func (j *Job) overtake(r *rank, c command) {
	j.inFlight++
	j.start(r, c, func() { j.inFlight-- })
}

// start runs c beside the owner, then what c returned and after on the owner.
func (j *Job) start(r *rank, c command, after func()) {
	j.wg.Go(func() {
		then := c(r.ctx)
		j.post(func() {
			if then != nil {
				then()
			}
			after()
		})
	})
}

// bounded is a command whose context also ends with ctx.
func bounded(ctx context.Context, c command) command {
	return func(rankCtx context.Context) func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(rankCtx, cancel)()
		return c(ctx)
	}
}

// read carries out a request that changes nothing; it is not a command. Owner.
func (j *Job) read(ctx context.Context, r *rank, c command) { j.start(r, bounded(ctx, c), func() {}) }

// setPending notes whether a stop is pending. Owner.
func (j *Job) setPending(r *rank, pending bool) {
	if pending == r.pending {
		return
	}
	r.pending = pending
	if pending {
		j.pending++
	} else {
		j.pending--
	}
}

// setState changes the state and the counters that follow from it; the caller publishes. Owner.
func (j *Job) setState(r *rank, s RankState) {
	if s.Gone() && !r.state.Gone() {
		j.gone++
	}
	if r.state == Running {
		j.running--
	}
	if s == Running {
		j.running++
	}
	r.state = s
	if s != Stopped {
		r.stop, r.hidden = nil, 0
	}
	if s == Stopped || s.Gone() {
		j.setPending(r, false)
		r.interrupt, r.stepping = false, false
	}
	if s.Gone() {
		r.resuming = false
	}
}

// publishRank publishes the status of r. Owner.
func (j *Job) publishRank(r *rank) {
	s := r.status()
	j.publish(Event{RankChanged: &s})
	r.changed()
}

// countHits notes that the rank has stopped at breakpoints. Owner.
func (r *rank) countHits(ids []int) {
	if len(ids) == 0 {
		return
	}
	hits := map[int]int{}
	if r.hitsAt == r.control.Events {
		maps.Copy(hits, r.hits)
	}
	for _, id := range ids {
		hits[id]++
	}
	r.hits, r.hitsAt = hits, r.control.Events
}

// status is the snapshot for others. Owner.
func (r *rank) status() RankStatus {
	s := RankStatus{
		Rank: r.num, State: r.state, Host: r.info.Host, Pid: r.info.Pid, Can: r.can,
		Stop: r.stop, Hidden: r.hidden, Exit: r.exit, Control: r.control, Lost: r.lost,
	}
	if r.hitsAt == r.control.Events {
		s.Hits = r.hits
	}
	s.Text = statusText(&s)
	return s
}
