package dap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/replayctl"
)

// controller is a dap.Controller whose runs the test decides.
type controller struct {
	replayctl.Runs

	run      func(ctx context.Context) error
	messages func(at string) (dap.RecordedMessages, error)
	visit    func(ctx context.Context, calls []dap.RecordedCall, look func(context.Context, int) error) error

	mu          sync.Mutex
	breakpoints []job.Breakpoint
	focus       rankset.Set
	to          protocol.CutArguments
}

func (s *controller) Continue(bps []job.Breakpoint, focus rankset.Set) *replayctl.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breakpoints, s.focus = bps, focus
	return s.Start(s.run)
}

func (s *controller) RunTo(at string, cut []uint64) *replayctl.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = protocol.CutArguments{At: at, Cut: cut}
	return s.Start(s.run)
}

func (s *controller) Cut(_ context.Context, at string) (protocol.CutBody, error) {
	if at != "2:17" {
		return protocol.CutBody{}, errors.New("rank 2 has only 30 events")
	}
	return protocol.CutBody{At: at, Positions: []uint64{3, 4}, Consistent: true, Text: "The causal cut of 2:17."}, nil
}

func (s *controller) Messages(_ context.Context, at string) (dap.RecordedMessages, error) {
	return s.messages(at)
}

func (s *controller) Visit(calls []dap.RecordedCall, look func(context.Context, int) error) *replayctl.Run {
	return s.Start(func(ctx context.Context) error { return s.visit(ctx, calls, look) })
}

// replayed is a client of a replay whose ranks have stopped at their entry.
func replayed(t *testing.T, program func(string) []jobtest.Step) (*bench, *controller, *daptest.Client, *dap.Started) {
	t.Helper()
	s := &controller{}
	var started dap.Started
	b := newBench(t, 2, program, func(b *bench) {
		b.starts.change = func(st *dap.Started) { st.Controller = s; started = *st }
	})
	c := b.client()
	c.Launch(protocol.LaunchArguments{Recording: "/rec.cohort", StopOnEntry: true})
	got := c.SetBreakpointsWith(b.src, bp(10, func(b *protocol.SourceBreakpoint) { b.Mode = "causal" }))
	if got[0].Id == 0 || got[0].Message != "" && got[0].Verified {
		t.Fatalf("a causal breakpoint in a replay: %+v", got)
	}
	c.ConfigurationDone()
	c.Expect(append(all(2, "entry"), daptest.Idle())...)
	return b, s, c, &started
}

func TestCausalContinue(t *testing.T) {
	_, s, c, started := replayed(t, endless)
	reached := make(chan struct{})
	s.run = func(ctx context.Context) error {
		defer close(reached)
		_, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue})
		return err
	}
	var body godap.ContinueResponseBody
	c.Do("continue", godap.ContinueArguments{ThreadId: 1}, &body)
	c.Expect(all(2, "breakpoint")...)
	<-reached
	if len(s.breakpoints) != 1 || s.breakpoints[0].Mode != job.ModeCausal || s.breakpoints[0].Line != 10 ||
		s.focus.Len() != 2 {
		t.Errorf("the Controller was asked with %+v, %s", s.breakpoints, s.focus)
	}
	c.Disconnect()
}

// The attention goes to the rank that leads to the cut, also when others reach their positions first.
func TestCausalContinueShowsTheLeader(t *testing.T) {
	program := func(string) []jobtest.Step { return []jobtest.Step{jobtest.Block("", nil)} }
	b, s, c, started := replayed(t, program)
	s.run = func(ctx context.Context) error {
		_, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue})
		return err
	}
	c.Do("continue", godap.ContinueArguments{ThreadId: 1}, nil)
	c.Expect(daptest.RankIs(0, "running"), daptest.RankIs(1, "running"))
	b.world.Rank(0).Stop(backend.Stopped{Reason: backend.ReasonStopPoint})
	position := c.Expect(daptest.Stopped(0, "stop point"))[0]
	b.world.Rank(1).Stop(backend.Stopped{Reason: backend.ReasonBreakpoint})
	leader := c.Expect(daptest.Stopped(1, "breakpoint"))[0]
	if !stopped(t, position).PreserveFocusHint || stopped(t, leader).PreserveFocusHint {
		t.Errorf("attention: %s, %s", position, leader)
	}
	c.Disconnect()
}

// The attention goes to the rank whose event was asked for.
func TestRunToShowsTheRankOfTheEvent(t *testing.T) {
	program := func(string) []jobtest.Step { return []jobtest.Step{jobtest.Block("", nil)} }
	b, s, c, started := replayed(t, program)
	s.run = func(ctx context.Context) error {
		_, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue})
		return err
	}
	c.Do(protocol.RequestRunTo, protocol.CutArguments{At: "1:5"}, nil)
	c.Expect(daptest.RankIs(0, "running"), daptest.RankIs(1, "running"))
	b.world.Rank(0).Stop(backend.Stopped{Reason: backend.ReasonStopPoint})
	other := c.Expect(daptest.Stopped(0, "stop point"))[0]
	b.world.Rank(1).Stop(backend.Stopped{Reason: backend.ReasonStopPoint})
	asked := c.Expect(daptest.Stopped(1, "stop point"))[0]
	if !stopped(t, other).PreserveFocusHint || stopped(t, asked).PreserveFocusHint {
		t.Errorf("attention: %s, %s", other, asked)
	}
	c.Disconnect()
}

// The plan fails before any rank was moved: that is the answer, and nothing has changed.
func TestCausalContinueRefused(t *testing.T) {
	_, s, c, _ := replayed(t, endless)
	s.run = func(context.Context) error { return errors.New("the breakpoint is never reached in this recording") }
	c.Refused("continue", godap.ContinueArguments{ThreadId: 1}, "never reached")
	c.Refused("continue", godap.ContinueArguments{ThreadId: 1}, "never reached") // and again
	c.Disconnect()
}

// The same of the first run, which configurationDone begins: the session continues, with the ranks at their entry. The
// breakpoint is verified again when a run can begin.
func TestFirstCausalRunRefused(t *testing.T) {
	s := &controller{}
	var started dap.Started
	b := newBench(t, 2, endless, func(b *bench) {
		b.starts.change = func(st *dap.Started) { st.Controller = s; started = *st }
	})
	c := b.client()
	c.Launch(protocol.LaunchArguments{Recording: "/rec.cohort"})
	causal := c.SetBreakpointsWith(b.src, bp(10, func(b *protocol.SourceBreakpoint) { b.Mode = "causal" }))[0].Id
	plain := c.SetBreakpointsWith("/elsewhere.c", bp(11, func(*protocol.SourceBreakpoint) {}))[0].Id
	s.run = func(context.Context) error { return errors.New("the scout cannot start") }
	c.ConfigurationDone()
	c.Expect(append(all(2, "entry"), daptest.Output("important", "The scout cannot start."),
		breakpointIs(causal, false, "The scout cannot start."))...)
	c.Refused("continue", godap.ContinueArguments{ThreadId: 1}, "scout cannot start") // and again
	s.run = func(ctx context.Context) error {
		_, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue})
		return err
	}
	c.Do("continue", godap.ContinueArguments{ThreadId: 1}, nil)
	c.Expect(append(all(2, "breakpoint"), breakpointIs(causal, true, ""))...)
	for _, e := range c.Seen("breakpoint") {
		var body godap.BreakpointEventBody
		if err := e.Decode(&body); err != nil || body.Breakpoint.Id == plain && !body.Breakpoint.Verified &&
			body.Breakpoint.Message == "The scout cannot start." {
			t.Errorf("%s: %v", e, err)
		}
	}
	c.Disconnect()
}

// breakpointIs expects that a breakpoint has become verified, or not, with this message.
func breakpointIs(id int, verified bool, message string) daptest.Expectation {
	name := fmt.Sprintf("breakpoint %d: verified %v, %q", id, verified, message)
	return daptest.That(name, func(e daptest.Event) (daptest.Verdict, string) {
		var body godap.BreakpointEventBody
		if e.Name == "breakpoint" && e.Decode(&body) == nil && body.Breakpoint.Id == id &&
			body.Breakpoint.Verified == verified && body.Breakpoint.Message == message {
			return daptest.Met, ""
		}
		return daptest.NotYet, ""
	})
}

// A run that fails after ranks have moved is told as output.
func TestCausalContinueFailsLater(t *testing.T) {
	_, s, c, started := replayed(t, endless)
	fail := make(chan struct{})
	s.run = func(ctx context.Context) error {
		if _, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue}); err != nil {
			return err
		}
		<-fail
		return errors.New("rank 1 left the recording")
	}
	c.Do("continue", godap.ContinueArguments{ThreadId: 1}, nil)
	close(fail)
	c.Expect(daptest.Output("important", "Rank 1 left the recording."))
	// Who waits for the ranks, as a script does, has it as the answer, once.
	c.Refused(protocol.RequestWaitIdle, protocol.WaitArguments{Ranks: "0-1"}, "Rank 1 left the recording.")
	c.Do(protocol.RequestWaitIdle, protocol.WaitArguments{Ranks: "0-1"}, nil)
	c.Disconnect()
}

// Pausing ends the steered run, and then stops the ranks.
func TestPauseEndsACausalRun(t *testing.T) {
	program := func(string) []jobtest.Step { return []jobtest.Step{jobtest.Block("MPI_Recv", nil)} }
	_, s, c, started := replayed(t, program)
	ended := make(chan error, 1)
	s.run = func(ctx context.Context) error {
		// The pause may come while a part of the ranks is still being resumed; then Resume ends with ctx.
		_, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue})
		<-ctx.Done()
		ended <- errors.Join(ctx.Err(), err)
		return ctx.Err()
	}
	c.Do("continue", godap.ContinueArguments{ThreadId: 1}, nil)
	c.Pause(0)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v", err)
	}
	c.Expect(all(2, "pause")...)
	c.Disconnect()
}

// So does the end of the session, and cancel while the run is still being planned.
func TestACausalRunEndsWithTheSession(t *testing.T) {
	_, s, c, _ := replayed(t, endless)
	begun := make(chan struct{}, 2)
	s.run = func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	call, err := c.Send("continue", godap.ContinueArguments{ThreadId: 1})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	c.Do("cancel", godap.CancelArguments{RequestId: call.Seq}, nil)
	var refusal *daptest.RequestError
	if err := call.Wait(context.Background(), nil); !asRefusal(err, &refusal) || refusal.Message != "cancelled" {
		t.Errorf("the cancelled continue: %v", err)
	}
	if _, err = c.Send("continue", godap.ContinueArguments{ThreadId: 1}); err != nil {
		t.Fatal(err)
	}
	<-begun
	c.Disconnect()
}

// Who stops the session while the run is still being planned is not shown an error for it.
func TestStopDuringACausalRun(t *testing.T) {
	_, s, c, _ := replayed(t, endless)
	begun := make(chan struct{})
	s.run = func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return errors.New("a look ahead was broken off") // not known as a cancellation
	}
	call, err := c.Send("continue", godap.ContinueArguments{ThreadId: 1})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	c.Do("terminate", nil, nil)
	var refusal *daptest.RequestError
	if err := call.Wait(context.Background(), nil); !asRefusal(err, &refusal) || refusal.Shown ||
		refusal.Message != "cancelled" {
		t.Errorf("the continue: %+v (%v)", refusal, err)
	}
	c.Expect(daptest.Terminated())
	c.Disconnect()
}

func TestCutRequests(t *testing.T) {
	_, s, c, started := replayed(t, endless)
	var cut protocol.CutBody
	c.Do(protocol.RequestCut, protocol.CutArguments{At: " 2:17 "}, &cut)
	if !slices.Equal(cut.Positions, []uint64{3, 4}) || cut.At != "2:17" {
		t.Errorf("cut: %+v", cut)
	}
	if got := c.Console("cut 2:17", 0); got != "The causal cut of 2:17.\n0:3 1:4" {
		t.Errorf("console cut: %q", got)
	}
	for _, bad := range []string{"", "2", "2:", ":3", "a:b", "2:17:4", "-1:2"} {
		c.Refused(protocol.RequestCut, protocol.CutArguments{At: bad}, "RANK:INDEX")
	}
	c.Refused(protocol.RequestCut, protocol.CutArguments{At: "2:99"}, "only 30 events")
	c.Refused(protocol.RequestCut, protocol.CutArguments{Cut: []uint64{1, 2}}, protocol.RequestRunTo)
	c.Refused(protocol.RequestRunTo, protocol.CutArguments{At: "2:17", Cut: []uint64{1, 2}}, "give one of them")
	c.Refused(protocol.RequestRunTo, protocol.CutArguments{Cut: []uint64{1, 2, 3}}, "3 positions", "2 ranks")

	s.run = func(ctx context.Context) error {
		_, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue})
		return err
	}
	if got := c.Console("runto 2:17", 0); got != "All ranks run to the causal cut of 2:17." || s.to.At != "2:17" {
		t.Errorf("runto: %q, asked %+v", got, s.to)
	}
	c.Expect(all(2, "breakpoint")...)
	c.Disconnect()
}

// A live job has no cuts.
func TestCutNeedsReplay(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.running()
	c.Refused(protocol.RequestCut, protocol.CutArguments{At: "1:2"}, "needs a replay", "cohort record")
	c.Refused(protocol.RequestRunTo, protocol.CutArguments{At: "1:2"}, "needs a replay")
	c.Disconnect()
}

func asRefusal(err error, into **daptest.RequestError) bool { return errors.As(err, into) }

// All ranks end on the way, without a stop: the user hears of it before the job's end is told.
func TestCausalContinueToTheEnd(t *testing.T) {
	program := func(string) []jobtest.Step { return []jobtest.Step{jobtest.Exit(0)} }
	for name, late := range map[string]bool{
		"the run ends with the ranks":    false,
		"it continues until it is ended": true,
	} {
		t.Run(name, func(t *testing.T) {
			_, s, c, started := replayed(t, program)
			s.run = func(ctx context.Context) error {
				sub := started.Job.Subscribe(job.Everything)
				defer sub.Close()
				if _, err := started.Job.Resume(ctx, rankset.All(2),
					backend.ResumeRequest{Kind: backend.Continue}); err != nil {
					return err
				}
				if late {
					<-ctx.Done()
					return ctx.Err()
				}
				for e := range sub.Events() {
					if e.Ended != nil {
						break
					}
				}
				return nil
			}
			c.Do("continue", godap.ContinueArguments{ThreadId: 1}, nil)
			c.Expect(daptest.Output("console", "All ranks came to their ends before a causal breakpoint"))
			c.Expect(daptest.Output("console", "The job has ended"))
			c.Expect(daptest.Terminated())
		})
	}
}
