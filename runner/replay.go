package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// ReplayResult is what became of a replay.
type ReplayResult struct {
	Recording *recording.Recording
	Job       launch.Result
	Elapsed   time.Duration
	Ranks     []RankReplay
	CutShort  bool // the recording ends before the program's end
	Stalled   bool // ended because nothing moved
	Within    bool // ... and all ranks were within MPI calls
	Graph     bool // the event graph was written
	Events    uint64
	Decisions uint64
	Control   uint64 // control messages that were sent
	// Unrecorded are the functions that gave the program a time or random numbers that are not recorded.
	Unrecorded []string
}

// RankReplay is how far one rank got.
type RankReplay struct {
	Events   uint64 // replayed
	Recorded uint64
	// Divergence: the rank made a call that is not the recorded one.
	Divergence *backend.Divergence
	Recent     []backend.RecentCall // the last calls of a rank that left its recording, oldest first
	Refused    string               // what the interposer says it cannot do
	// Short: the rank ended, or was ended, before it got to the end of its recording; the sentence says how.
	Short string
	// Excuse: the rank is short for a reason that lies in the recording: another one called MPI_Abort, or its recording
	// ends sooner.
	Excuse string
}

// OK tells whether nothing diverged and all ranks got to their ends.
func (r *ReplayResult) OK() bool {
	return !slices.ContainsFunc(r.Ranks, func(rank RankReplay) bool {
		return rank.Divergence != nil || rank.Refused != "" || rank.Short != "" && rank.Excuse == ""
	})
}

// Hint is a sentence about what may have made the replay go wrong; empty if nothing did, or nothing is known.
func (r *ReplayResult) Hint() string {
	if r.OK() {
		return ""
	}
	return unrecordedHint(r.Unrecorded)
}

// unrecordedHint says why a replay can leave its recording that does not hold what these functions gave the program.
func unrecordedHint(functions []string) string {
	if len(functions) == 0 {
		return ""
	}
	return strings.Join(functions, ", ") + " gave the program what is not recorded. If what it does depends on that, " +
		"record it with --record-time."
}

// Diverged tells whether a rank made another call than the recorded one.
func (r *ReplayResult) Diverged() bool {
	return slices.ContainsFunc(r.Ranks, func(rank RankReplay) bool { return rank.Divergence != nil })
}

// Replay runs a recording again, without a debugger. When ctx ends the run is ended, and the result comes with the
// error. An error without a result means that nothing was started.
func Replay(ctx context.Context, o ReplayOptions) (*ReplayResult, error) {
	p, err := PrepareReplay(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, n := range p.Notes {
		o.notef("%s", n)
	}
	p.hold()
	scratch := ""
	if o.Full && p.Recording.Meta.Mode != abi.ModeFull.String() {
		if scratch, err = p.Recording.GraphScratch(); err != nil {
			return nil, err
		}
		defer os.RemoveAll(scratch) // moved away, or scratch in a recording
		// A rank opens its trace after it has gone to its own directory.
		if p.Launch.Interpose.TraceDir, err = filepath.Abs(scratch); err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
	}
	started := time.Now()
	session, err := launch.Start(ctx, p.Launch)
	if err != nil {
		return nil, err
	}
	for _, n := range session.Notes() {
		o.notef("%s", n)
	}
	w := newWatch(session, p, o)
	job := w.run(ctx)
	result := w.result(job)
	result.Elapsed = time.Since(started)
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	if scratch != "" && result.OK() {
		if err := p.Recording.InstallGraph(scratch); err != nil {
			return result, fmt.Errorf("keeping the event graph of the replay: %w", err)
		}
		result.Graph = true
	}
	return result, nil
}

// hold makes ranks that were ended outside MPI stand at the end of their recording, in a loop that gives MPI progress,
// until the others are at theirs. What such a rank does next may be what ended it: with it would go what its MPI has
// not sent off yet, and what it has not taken in would fill a queue in which others still have messages to put.
func (p *Prepared) hold() {
	for _, d := range p.Decisions {
		d.Hold = !d.Finalized && d.Ended == abi.EndedNot && d.CurrentOp == mpispec.OpNone
	}
}

// watch follows a replay. Its run goroutine owns it.
type watch struct {
	session       *launch.Session
	prepared      *Prepared
	options       ReplayOptions
	events        chan rankEvent
	at            []abi.State // of each rank, as far as it matters
	over          []bool      // the program has gone
	last          []backend.ControlState
	stalled       bool
	stalledWithin bool // all ranks were within MPI calls then

	letGo     []bool // a rank need not wait at the end of its recording any more
	allWithin bool   // when it was looked at last, all ranks were within MPI calls, or at their ends
	starting  bool   // when it was looked at last, a rank had not left MPI_Init

	gone []bool // over, when the replay was ended because it stood still
}

type rankEvent struct {
	rank  int
	event backend.Event
	end   bool // no more events of this rank
}

const (
	// tick is how often progress is looked at.
	tick = 200 * time.Millisecond
	// longestLook is how long it may take from one look to the next: a second for the ranks' answers, and as much on a
	// busy machine.
	longestLook = 2 * time.Second
	// cutStall is how long the others may be within MPI calls, and none get on, once one rank is at the end of a
	// recording that was cut short.
	cutStall = 10 * time.Second
	// withinStall is how long all ranks may be within MPI calls, and none get on: a rank that sends something else than
	// when it was recorded is no divergence before the next check, and another may wait for ever for what was recorded.
	withinStall = time.Minute
)

func newWatch(session *launch.Session, p *Prepared, o ReplayOptions) *watch {
	n := len(session.Ranks())
	w := &watch{
		session: session, prepared: p, options: o, events: make(chan rankEvent),
		at: make([]abi.State, n), over: make([]bool, n), letGo: make([]bool, n), last: make([]backend.ControlState, n),
	}
	for i, rank := range session.Ranks() {
		go func() {
			for event := range rank.Backend().Events() {
				w.events <- rankEvent{rank: i, event: event}
			}
			w.events <- rankEvent{rank: i, end: true}
		}()
	}
	return w
}

// run returns when the job has ended and all its events have been seen.
func (w *watch) run(ctx context.Context) launch.Result {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	interrupted := ctx.Done()
	stopping := false
	stop := func() {
		if !stopping {
			stopping = true
			go func() {
				now, cancel := context.WithTimeout(context.Background(), stopTimeout)
				defer cancel()
				w.session.Stop(now)
			}()
		}
	}
	answers := make(chan []backend.ControlState, 1)
	asking := false
	looked, still, seen := time.Now(), time.Duration(0), uint64(0)
	for open := len(w.at); open > 0; {
		select {
		case e := <-w.events:
			if e.end {
				open--
				w.over[e.rank] = true
			} else {
				w.take(e)
			}
			if w.finished() {
				stop()
			} else if w.allWait() {
				w.letContinue()
			}
		case <-ticker.C:
			if !asking && !stopping {
				asking = true
				// that the replay is being ended does not matter
				go func() { answers <- controls(context.WithoutCancel(ctx), w.session) }()
			}
		case states := <-answers:
			asking = false
			// A job that was suspended as a whole has not stood still meanwhile.
			still += min(time.Since(looked), longestLook)
			looked = time.Now()
			if sum := w.progress(states); sum != seen {
				still, seen = 0, sum
			}
			limit := w.stallLimit()
			switch {
			case limit == 0 || still <= limit || stopping:
			case w.letContinue():
				still = 0
			default:
				w.stalled, w.stalledWithin, w.gone = true, w.allWithin, slices.Clone(w.over)
				stop()
			}
		case <-interrupted:
			interrupted = nil
			stop()
		}
	}
	if asking {
		<-answers
	}
	return w.session.Wait()
}

// allWait tells whether no rank has anything left to do until those continue that wait at the end of their recording.
func (w *watch) allWait() bool {
	for i, state := range w.at {
		if !w.over[i] && state != abi.StateEnd && state != abi.StateFinalized && state != abi.StateParked {
			return false
		}
	}
	return true
}

// letContinue releases the ranks that wait at the end of their recording; false: there is none.
func (w *watch) letContinue() bool {
	some := false
	release := abi.ReleaseGo
	for i, rank := range w.session.Ranks() {
		if w.at[i] != abi.StateParked || w.over[i] || w.letGo[i] {
			continue
		}
		w.letGo[i], some = true, true
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
			defer cancel()
			// One that has gone needs no telling; one that cannot be told is ended with the others.
			_, _ = rank.Backend().Control(ctx, backend.ControlRequest{Release: &release})
		}()
	}
	return some
}

// controls reads the control blocks of all ranks; it takes a second at most. Those that cannot be read are zero.
func controls(ctx context.Context, session *launch.Session) []backend.ControlState {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	states := make([]backend.ControlState, len(session.Ranks()))
	for i, rank := range session.Ranks() {
		if state, err := rank.Backend().Control(ctx, backend.ControlRequest{}); err == nil {
			states[i] = state
		}
	}
	return states
}

// progress notes the positions and returns a number that changes whenever a rank does something.
func (w *watch) progress(states []backend.ControlState) uint64 {
	var activity uint64
	w.allWithin, w.starting = true, false
	for i, s := range states {
		w.starting = w.starting || s.State == abi.StateNew && !w.over[i]
		if s.Present && s.Events >= w.last[i].Events {
			w.last[i].Events, w.last[i].Polls = s.Events, s.Polls
		}
		activity += w.last[i].Events + w.last[i].Polls + s.Current
		atEnd := w.at[i] == abi.StateEnd || w.at[i] == abi.StateParked || w.at[i] == abi.StateFinalized
		if s.Current == 0 && !w.over[i] && !atEnd {
			w.allWithin = false // it computes: it may do so for as long as it likes
		}
	}
	w.report()
	return activity
}

func (w *watch) report() {
	if w.options.Progress == nil {
		return
	}
	var done uint64
	for i, d := range w.prepared.Decisions {
		done += min(w.last[i].Events, d.LastEvent)
	}
	w.options.Progress(done, w.prepared.Total())
}

func (w *watch) take(e rankEvent) {
	switch {
	case e.event.Control != nil:
		w.snapshot(e.rank, *e.event.Control)
		w.at[e.rank] = e.event.Control.State
	case e.event.Exited != nil, e.event.Ended != nil:
		w.over[e.rank] = true
	}
}

// snapshot notes what a rank's control block says. A divergence is located while its process lives; a later snapshot
// may not have that.
func (w *watch) snapshot(rank int, s backend.ControlState) {
	if before := w.last[rank]; before.Divergence != nil && (before.Divergence.File != "" || s.Divergence == nil) {
		s.Divergence, s.Recent = before.Divergence, before.Recent
	}
	w.last[rank] = s
}

// finished tells whether there is nothing to wait for: a rank left the recording, or every rank is at its end and one
// of them cannot end by itself.
func (w *watch) finished() bool {
	waiting, running := false, false
	for i, state := range w.at {
		switch {
		case w.over[i]:
		case state == abi.StateDiverged, state == abi.StateRefused:
			return true
		case state == abi.StateEnd:
			waiting = true
		default:
			running = true
		}
	}
	return waiting && !running
}

func (w *watch) stallLimit() time.Duration {
	if limit := w.options.StallTimeout; limit > 0 {
		if w.starting { // MPI_Init takes seconds where the machine is busy
			limit = max(limit, withinStall)
		}
		return limit
	}
	if !w.allWithin {
		return 0
	}
	for i, state := range w.at {
		// A rank whose program has gone before MPI_Finalize leaves others waiting for it as well.
		if state == abi.StateEnd || state == abi.StateParked || w.over[i] && state != abi.StateFinalized {
			return cutStall
		}
	}
	return withinStall
}

// result judges how far each rank got.
func (w *watch) result(job launch.Result) *ReplayResult {
	r := &ReplayResult{
		Recording: w.prepared.Recording, Job: job, CutShort: w.prepared.CutShort(), Stalled: w.stalled,
		Within: w.stalledWithin,
	}
	aborted := false
	for i := range w.at {
		if c := job.Ranks[i].Control; c.Present {
			w.snapshot(i, c)
		}
		aborted = aborted || w.last[i].CurrentOp == int(mpispec.OpAbort)
	}
	w.report()
	r.Unrecorded = w.prepared.Unrecorded()
	for i, d := range w.prepared.Decisions {
		last := w.last[i]
		rank := RankReplay{Events: last.Events, Recorded: d.LastEvent, Divergence: last.Divergence}
		if last.Divergence != nil {
			rank.Recent = last.Recent
		}
		if last.State == abi.StateRefused {
			rank.Refused = last.Message
		}
		if last.Events < d.LastEvent && rank.Divergence == nil && rank.Refused == "" {
			rank.Short = fmt.Sprintf("rank %d got to event %d of %d (%s)", i, last.Events, d.LastEvent, w.why(i, job))
			switch ended := w.prepared.ended(); {
			case aborted:
				rank.Excuse = "because a rank called MPI_Abort, as recorded"
			case w.stalled && last.CurrentOp == int(mpispec.OpFinalize) && last.Events+1 == d.LastEvent &&
				d.Finalized && r.CutShort:
				rank.Excuse = "because MPI_Finalize waits for ranks whose recordings end before theirs"
			case ended >= 0 && w.stalled:
				rank.Excuse = fmt.Sprintf("because it waits for what is missing from the recording of rank %d: %s",
					ended,
					w.prepared.Decisions[ended].Ended)
			}
		}
		r.Events += min(last.Events, d.LastEvent)
		r.Decisions += last.Decisions
		for _, g := range d.Grants {
			if g.Event <= last.Events {
				r.Control++
			}
		}
		r.Ranks = append(r.Ranks, rank)
	}
	return r
}

// why says how a rank came not to reach its end.
func (w *watch) why(rank int, job launch.Result) string {
	end := job.Ranks[rank]
	switch {
	case w.stalled && !w.gone[rank] && w.last[rank].CurrentOp != int(mpispec.OpNone):
		return "the replay stood still, and it was in " + mpispec.Op(w.last[rank].CurrentOp).Call()
	case w.stalled && !w.gone[rank]:
		return "the replay stood still"
	case end.Stopped && end.Exit != nil && end.Exit.Signal == "SIGKILL":
		return "the replay was ended"
	default:
		return end.String()
	}
}
