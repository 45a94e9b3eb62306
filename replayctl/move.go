package replayctl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// A target is where a run brings the ranks. Its cut is consistent.
type target struct {
	at     string      // what the cut belongs to, such as the event "2:17", for job.CutReached
	cut    causal.Cut  // how many events of each rank are in it; 0 is "after MPI_Init"
	beyond rankset.Set // whose positions lie beyond what `at` asks for, because they were there before; likewise
	// leader is the rank that continues from its position to its breakpoint when all have reached theirs; -1: none.
	leader int
	// guard stops the leader before its event guard+1 if it has not met its breakpoint by then; it is not below the
	// leader's position.
	guard uint64
}

// reach brings every rank to its position in the target and stops it there, and then lets the leader continue to its
// breakpoint. The errors are *RefusedError and *PartialCutError.
//
// Ranks that were stopped at their positions by an earlier target park there again. Ranks that are stopped at their
// positions for another reason (a breakpoint, a step) stay. Ranks that have ended at or before their positions, and
// ranks that end on the way at exactly their positions (such as one that never initialises MPI, whose position is 0),
// belong to the cut as they are.
//
// Every other rank gets its position as park_at and is resumed. When all have parked, all but the leader are released
// into cohort_stop_here, where the debugger stops them; the leader is released to continue, until it stops or ends: at
// its breakpoint, or at the guard.
//
// # Why this does not deadlock
//
// Let rank p be on its way to its position i in a consistent cut. Every event that p:i depends on lies at or before the
// other ranks' positions, so nobody has to go beyond its own position for p to reach i, and by induction over the order
// of events everyone's calls complete. That is true of calls, but MPI needs more than calls of the user: it needs
// progress, and that it makes only inside MPI. In two cases a rank that is at its position already still owes some.
//
//   - MPI may hold a message back in the sender's buffers (rendezvous, flow control) after the call that sent it has
//     returned. Whoever receives it needs the sender to enter MPI again.
//   - A consistent cut takes collectives whole: a position may be the exit of a collective that others have entered and
//     not left, and they may need this rank's help to leave.
//
// So no rank is stopped by its debugger while another is still moving: it parks, which is a loop that tests for
// progress, and ranks are stopped only when none moves any more. The leader parks as well, because its breakpoint would
// freeze it while others may need it. From its position to its breakpoint it calls no MPI function (the guard sees to
// that), so it needs nobody when it continues; and as everybody is at their position by then, nobody needs it.
//
// The induction needs ranks that give progress, and one kind does not: a rank in state still, that was stopped in its
// own code at its position, where it cannot park without leaving that line. If another rank needs it, the run
// continues until it is cancelled; the error then names who was still and who did not arrive.
func (c *Controller) reach(ctx context.Context, to target) error {
	c.o.Log.Debug("moving to a cut", "at", to.at, "positions", to.cut)
	err := c.moveTo(ctx, to)
	if _, partial := errors.AsType[*PartialCutError](err); partial {
		c.abandon(context.WithoutCancel(ctx))
	}
	c.o.Log.Debug("moved to a cut", "at", to.at, "error", err)
	return err
}

// abandonTime bounds how long the ranks may take to be told to stop.
const abandonTime = 10 * time.Second

// abandon lifts the stop points and stops the ranks. Otherwise those that had not arrived would stop much later, at
// positions that nobody wants any more, those that had would wait in their parking loops for ever, and both would look
// as if they ran. A rank that has ended meanwhile cannot be told, and need not be.
func (c *Controller) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, abandonTime)
	defer cancel()
	j := c.o.Job
	_, controlErr := j.Control(ctx, j.All(), "lift the stop points", stopNowhere)
	if err := errors.Join(controlErr, j.Interrupt(ctx, j.All())); err != nil {
		c.o.Log.Debug("abandoning a cut", "error", err)
	}
}

func stopNowhere(int) backend.ControlRequest {
	never := uint64(abi.Never)
	return backend.ControlRequest{ParkAt: &never, GuardAt: &never}
}

// state is what a rank does on the way to a target; the package comment has the transitions.
type state int

const (
	moving state = iota
	parked
	past
	still
	ended
	stopping
	arrived
	failed
)

// A member is one rank on the way to a target.
type member struct {
	state  state
	status job.RankStatus   // as the job's stream of events tells it
	from   *backend.Stopped // the stop at which it was when it set out; nil: it ran
	why    string           // of failed: a whole sentence
}

// stopped tells whether it has stopped since it set out.
func (t *member) stopped() bool { return t.status.State == job.Stopped && t.status.Stop != t.from }

// A move is all ranks on the way to a target. Its goroutine is that of the run.
type move struct {
	job   *job.Job
	to    target
	ranks []member
	sub   *job.Subscription

	ctx     context.Context // of what is asked of the ranks
	cancel  context.CancelFunc
	asking  sync.WaitGroup
	answers chan answer
}

// An answer is what became of something that was asked of ranks.
type answer struct {
	what   string // what the ranks were asked to be: "resumed"
	states map[int]backend.ControlState
	err    error
}

// moveTo is reach without abandoning.
func (c *Controller) moveTo(ctx context.Context, to target) error {
	j := c.o.Job
	halted, err := c.halt(ctx)
	var m *move
	if err == nil {
		m, err = c.setOut(ctx, to)
	}
	if err != nil {
		if !halted.Empty() {
			_, again := j.Resume(context.WithoutCancel(ctx), halted, backend.ResumeRequest{Kind: backend.Continue})
			err = errors.Join(err, again)
		}
		return err
	}
	defer m.end()
	if err := m.setPositions(ctx); err != nil {
		return err
	}
	m.beginMoving()
	if err := m.await(ctx, moving); err != nil {
		return err
	}
	m.beginStopping()
	if err := m.await(ctx, stopping); err != nil {
		return err
	}
	if err := m.verify(); err != nil {
		return err
	}
	if to.leader >= 0 { // the guard has done its work, and would stop the next continue
		if _, err := j.Control(ctx, rankset.New(to.leader), "take the guard away", stopNowhere); err != nil &&
			!hasEnded(perRank(err, rankset.New(to.leader))[to.leader]) {
			return err
		}
	}
	reached := job.CutReached{At: to.at, Leader: to.leader, Positions: to.cut, Beyond: to.beyond}
	for r, t := range m.ranks {
		if t.status.State == job.Exited && r != to.leader {
			reached.Finished = reached.Finished.With(r)
		}
	}
	return j.ReportCut(reached)
}

// halt halts the ranks that run freely, so that all positions are certain. Ranks in their parking loops keep
// running there, for others may need their progress; their positions do not change.
func (c *Controller) halt(ctx context.Context) (halted rankset.Set, err error) {
	states, err := c.positions(ctx)
	if err != nil {
		return rankset.Set{}, err
	}
	running := c.o.Job.All()
	for r, s := range states {
		if s.Present && (s.State == abi.StateParked || s.State == abi.StateFinalized) {
			running = running.Without(r)
		}
	}
	if running.Empty() {
		return rankset.Set{}, nil
	}
	return c.o.Job.Halt(ctx, running)
}

// positions reads the control blocks; ranks that cannot be asked are absent, and judged by what is known of them.
func (c *Controller) positions(ctx context.Context) (map[int]backend.ControlState, error) {
	states, err := c.o.Job.Control(ctx, c.o.Job.All(), "read the position", func(int) backend.ControlRequest {
		return backend.ControlRequest{}
	})
	var some *job.RanksError
	if err != nil && !errors.As(err, &some) {
		return nil, err
	}
	return states, ctx.Err()
}

// setOut gives each rank its first state. It holds as long as nobody resumes a rank.
func (c *Controller) setOut(ctx context.Context, to target) (*move, error) {
	states, err := c.positions(ctx)
	if err != nil {
		return nil, err
	}
	m := &move{job: c.o.Job, to: to, sub: c.o.Job.Subscribe(job.WithoutOutput), answers: make(chan answer)}
	m.ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	status := m.sub.Ranks
	if len(status) == 0 {
		m.end()
		return nil, job.ErrClosed
	}
	errs := map[int]error{}
	for r, s := range status {
		if c, ok := states[r]; ok {
			s.Control = c
		}
		t := member{status: s, from: s.Stop}
		if t.state, err = firstState(s, to.cut[r]); err != nil {
			errs[r] = err
		}
		m.ranks = append(m.ranks, t)
	}
	if len(errs) > 0 {
		m.end()
		return nil, &RefusedError{&job.RanksError{What: "run to the cut", PerRank: errs}}
	}
	return m, nil
}

// Reasons why a rank cannot set out; they follow "[ranks]".
var (
	errNotAtEntry = errors.New("it has not come to its entry yet")
	errNoControl  = errors.New("it runs without libcohort's control block, so its position is unknown")
	errRuns       = errors.New("it runs, although it was asked to stop, so its position is not certain")
)

// firstState is what a rank does at first on its way to a position.
func firstState(s job.RankStatus, position uint64) (state, error) {
	c := s.Control
	switch at := c.State; {
	case c.Present && c.Events > position:
		return failed, fmt.Errorf("it has completed %d events already and its position in the cut is %d; a replay "+
			"does not run backwards, so start it anew to get there", c.Events, position)
	case s.State == job.Exited:
		return ended, nil
	case s.State == job.Lost:
		return failed, errors.New("it " + s.Lost)
	case s.State == job.Starting:
		return failed, errNotAtEntry
	case !c.Present:
		return failed, errNoControl
	case at == abi.StateDiverged, at == abi.StateRefused,
		c.Events < position && (at == abi.StateFinalized || at == abi.StateEnd):
		return failed, fmt.Errorf("it cannot continue to event %d: %s", position, job.Blocked(c))
	case at == abi.StateNew, c.Events < position,
		// into its parking loop again, to give progress
		s.State == job.Stopped && s.Stop.Reason == backend.ReasonStopPoint && at == abi.StateStopped &&
			c.StopReason == abi.StopParked:
		return moving, nil
	case s.State == job.Stopped:
		return still, nil
	case at == abi.StateParked:
		return parked, nil
	case at == abi.StateFinalized, at == abi.StateEnd:
		return past, nil
	}
	return failed, errRuns
}

// setPositions writes park_at and guard_at of every rank, also of those that stay: what an earlier target left there
// would stop them later.
func (m *move) setPositions(ctx context.Context) error {
	live := m.all().Minus(m.in(ended))
	if live.Empty() {
		return nil
	}
	_, err := m.job.Control(ctx, live, "set the position", func(r int) backend.ControlRequest {
		q := stopNowhere(r)
		if m.ranks[r].state == moving {
			q.ParkAt = &m.to.cut[r]
		}
		if r == m.to.leader {
			q.GuardAt = &m.to.guard
		}
		return q
	})
	if err == nil {
		return nil
	}
	// Take back what was set. The ranks that failed are named by err already.
	_, _ = m.job.Control(context.WithoutCancel(ctx), live, "take the position back", stopNowhere)
	return fmt.Errorf("run to the cut: %w", err)
}

func (m *move) all() rankset.Set { return rankset.All(len(m.ranks)) }

// in are the ranks in a state.
func (m *move) in(s state) rankset.Set {
	var ranks []int
	for r, t := range m.ranks {
		if t.state == s {
			ranks = append(ranks, r)
		}
	}
	return rankset.New(ranks...)
}

type asked func(ctx context.Context, ranks rankset.Set) (map[int]backend.ControlState, error)

// ask has something done beside the move. Errors are about ranks that cannot be `what`.
func (m *move) ask(ranks rankset.Set, what string, do asked) {
	if ranks.Empty() {
		return
	}
	m.asking.Go(func() {
		a := answer{what: what}
		a.states, a.err = do(m.ctx, ranks)
		select {
		case m.answers <- a:
		case <-m.ctx.Done():
		}
	})
}

// The things that are asked.

func (m *move) control(req backend.ControlRequest) asked {
	return func(ctx context.Context, ranks rankset.Set) (map[int]backend.ControlState, error) {
		return m.job.Control(ctx, ranks, "use the control block", func(int) backend.ControlRequest { return req })
	}
}

func (m *move) release(how abi.Release) asked {
	return m.control(backend.ControlRequest{Release: &how})
}

func (m *move) resume(ctx context.Context, ranks rankset.Set) (map[int]backend.ControlState, error) {
	_, err := m.job.Resume(ctx, ranks, backend.ResumeRequest{Kind: backend.Continue})
	return nil, err
}

func (m *move) interrupt(ctx context.Context, ranks rankset.Set) (map[int]backend.ControlState, error) {
	return nil, m.job.Interrupt(ctx, ranks)
}

// beginMoving lets the ranks go that are not at their positions, and waits for each to arrive.
func (m *move) beginMoving() {
	var resume, release rankset.Set
	for r := range m.in(moving).Each {
		if m.ranks[r].status.State == job.Stopped {
			resume = resume.With(r)
		} else { // parked, at an earlier position
			release = release.With(r)
		}
		m.ask(rankset.New(r), "watched", m.control(backend.ControlRequest{Wait: true}))
	}
	m.ask(resume, "resumed", m.resume)
	m.ask(release, "released", m.release(abi.ReleaseGo))
}

// beginStopping stops the ranks that are at their positions and run, and lets the leader continue. The parked ones are
// told to call cohort_stop_here; one that has finished with MPI cannot be told, and is interrupted.
func (m *move) beginStopping() {
	leader := rankset.Set{}
	if m.to.leader >= 0 {
		leader = rankset.New(m.to.leader)
	}
	waiting, running, stays := m.in(parked), m.in(past), m.in(still).Intersect(leader)
	for r := range waiting.Union(running).Union(stays).Each {
		m.ranks[r].state = stopping
	}
	m.ask(waiting.Minus(leader), "stopped", m.release(abi.ReleaseStop))
	m.ask(running.Minus(leader), "stopped", m.interrupt)
	m.ask(waiting.Intersect(leader), "released", m.release(abi.ReleaseGo))
	m.ask(stays, "resumed", m.resume)
}

// await processes events and answers until no rank is in the state any more. It ends at once when a rank fails.
func (m *move) await(ctx context.Context, s state) error {
	for !m.in(s).Empty() {
		if !m.in(failed).Empty() {
			return m.partial(nil)
		}
		select {
		case e, ok := <-m.sub.Events():
			if !ok {
				return job.ErrClosed
			}
			if e.RankChanged != nil {
				m.ranks[e.RankChanged.Rank].status = *e.RankChanged
				m.changed(e.RankChanged.Rank)
			}
		case a := <-m.answers:
			m.answered(a)
		case <-ctx.Done():
			return m.partial(ctx.Err())
		}
	}
	if !m.in(failed).Empty() {
		return m.partial(nil)
	}
	return nil
}

// changed is the transition of a rank whose status has changed.
func (m *move) changed(r int) {
	t := &m.ranks[r]
	s, position := &t.status, m.to.cut[r]
	atEnd := t.stopped() && s.Stop.Reason == backend.ReasonStopPoint && job.AtRecordingEnd(s.Stop.Control)
	switch t.state {
	case moving:
		switch c := s.Control; {
		case atEnd && c.Events == position:
			t.state = still
		case t.stopped(), s.State == job.Lost:
			t.fail(s.Text)
		case s.State != job.Exited:
		case c.Events == position:
			t.state = ended
		default:
			t.fail(fmt.Sprintf("%s after event %d, and its position is %d.", strings.TrimSuffix(s.Text, "."), c.Events,
				position))
		}
	case parked, still:
		if s.State.Gone() || t.state == parked && t.stopped() {
			t.fail(s.Text)
		}
	case past:
		switch {
		case s.State == job.Exited:
			t.state = ended
		case atEnd:
			t.state = still
		case t.stopped(), s.State == job.Lost:
			t.fail(s.Text)
		}
	case stopping:
		if t.stopped() || s.State.Gone() {
			t.state = arrived
		}
	case ended, arrived, failed:
	}
}

func (t *member) fail(why string) { t.state, t.why = failed, why }

// answered is the transition of the ranks that something was asked of.
func (m *move) answered(a answer) {
	for r, err := range perRank(a.err, m.all()) {
		if t := &m.ranks[r]; !hasEnded(err) && (t.state == moving || t.state == stopping) { // else an event says it
			t.fail(fmt.Sprintf("Rank %d could not be %s: %s.", r, a.what, strings.TrimSuffix(err.Error(), ".")))
		}
	}
	for r, c := range a.states {
		t, position := &m.ranks[r], m.to.cut[r]
		if t.state != moving {
			continue
		}
		switch at := c.State; {
		case a.what != "watched", at == abi.StateNew, at == abi.StateRunning, at == abi.StateStopped:
			// It was released, or has gone, which an event tells.
		case at == abi.StateDiverged, at == abi.StateRefused:
			t.fail(fmt.Sprintf("Rank %d cannot continue to event %d: %s", r, position, job.Blocked(c)))
		case c.Events != position:
			t.fail(fmt.Sprintf("Rank %d passed its position %d or cannot reach it: %s", r, position, job.Blocked(c)))
		case at == abi.StateParked:
			t.state = parked
		default:
			t.state = past
		}
	}
}

// perRank is an error by rank; one that is about none is about all.
func perRank(err error, all rankset.Set) map[int]error {
	var some *job.RanksError
	if err == nil {
		return nil
	}
	if errors.As(err, &some) {
		return some.PerRank
	}
	errs := map[int]error{}
	for r := range all.Each {
		errs[r] = err
	}
	return errs
}

// hasEnded tells whether an error of a rank's debugger means that it has ended; an event says the rest.
func hasEnded(err error) bool {
	_, ended := errors.AsType[*backend.EndedError](err)
	return ended || errors.Is(err, context.Canceled)
}

// verify looks whether everyone is where the target says: a cut that is not the one that was asked for must not be
// reported.
func (m *move) verify() error {
	for r := range m.ranks {
		t := &m.ranks[r]
		s, position := t.status, m.to.cut[r]
		switch {
		case s.State == job.Lost, s.State == job.Exited && s.Exit.Signal != "" && t.state == arrived:
			t.fail(s.Text)
		case s.State == job.Stopped && r != m.to.leader && s.Control.Events != position:
			t.fail(fmt.Sprintf("Rank %d stopped after event %d, and its position is %d.", r, s.Control.Events,
				position))
		}
	}
	if m.in(failed).Empty() {
		return nil
	}
	return m.partial(nil)
}

// end gives up what is still being asked of the ranks.
func (m *move) end() {
	m.cancel()
	m.sub.Close()
	m.asking.Wait()
}

// partial describes where everyone is.
func (m *move) partial(cause error) *PartialCutError {
	e := &PartialCutError{Stopped: map[int]string{}, Underway: m.in(moving), Still: m.in(still), Cause: cause}
	e.Arrived = m.all().Minus(e.Underway).Minus(m.in(failed))
	for r, t := range m.ranks {
		switch {
		case t.state == failed:
			e.Stopped[r] = t.why
		case t.state == stopping && cause != nil:
			e.Stopped[r] = fmt.Sprintf("Rank %d reached its position and was released, and has not stopped since.", r)
		}
	}
	return e
}
