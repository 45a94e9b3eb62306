package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/rankset"
)

func TestStepsOfSeveralRanks(t *testing.T) {
	b := launched(t, 3, Options{}, each(jobtest.Line(src, 2), jobtest.Line(src, 3), jobtest.Line(src, 4)))
	for line := 2; line <= 3; line++ {
		if got := b.resume(rankset.New(0, 2), backend.Next); got.String() != "0,2" {
			t.Fatalf("resumed %s", got)
		}
		b.idle() // a step is a stop pending, so this waits for both
		for r, want := range []int{line, 1, line} {
			if s := b.status(r); s.State != Stopped || s.Stop.Frames[0].Line != want {
				t.Errorf("rank %d: %s", r, s.Text)
			}
		}
	}
	wantText(t, "text", b.status(0).Text, "Rank 0 has finished its step in main (main.c:3).")
}

func TestResumeLeavesOutRanksThatAreNotStopped(t *testing.T) {
	b := launched(t, 3, Options{}, nil)
	b.resume(rankset.New(1), backend.Continue)
	if got := b.resume(b.j.All(), backend.Continue); got.String() != "0,2" {
		t.Errorf("resumed %s", got)
	}
	if b.w.Rank(1).Called(jobtest.Resume) != 1 {
		t.Error("rank 1 was resumed twice")
	}
	if _, err := b.j.Resume(b.ctx, rankset.New(0, 3), backend.ResumeRequest{Kind: backend.Continue}); err == nil ||
		!strings.Contains(err.Error(), "rank 3 was asked for") {
		t.Errorf("%v", err)
	}
	if _, err := b.j.Resume(b.ctx, rankset.Set{}, backend.ResumeRequest{Kind: backend.Continue}); err == nil ||
		err.Error() != "the command names no rank" {
		t.Errorf("%v", err)
	}
	if _, err := b.j.Resume(b.ctx, b.j.All(), backend.ResumeRequest{Kind: backend.Next, Thread: 2}); err == nil {
		t.Error("one thread of several ranks was accepted")
	}
}

func TestAFailedResumeLeavesTheRankStopped(t *testing.T) {
	b := launched(t, 2, Options{}, nil)
	b.w.Rank(1).On(jobtest.Resume, jobtest.Fail(errors.New("ptrace: operation not permitted")))
	got, err := b.j.Resume(b.ctx, b.j.All(), backend.ResumeRequest{Kind: backend.Next})
	if got.String() != "0" || err == nil || err.Error() != "cannot next: [1] ptrace: operation not permitted" {
		t.Fatalf("%s, %v", got, err)
	}
	if s := b.status(1); s.State != Stopped || s.Stop.Reason != backend.ReasonEntry {
		t.Errorf("%+v", s)
	}
	b.must(b.j.Interrupt(b.ctx, b.j.All()))
	b.idle() // and no stop is pending on it
	b.drain()
	for _, e := range b.seen {
		if e.RankChanged != nil && e.RankChanged.Rank == 1 && e.RankChanged.State == Running {
			t.Error("a rank that never ran was published as running")
		}
	}
}

func TestASlowRankDoesNotHoldUpTheOthers(t *testing.T) {
	ready := make(chan struct{})
	b := launched(t, 3, Options{}, each(jobtest.Line(src, 2), jobtest.Exit(3)))
	b.breakAt(2, ModeRank, rankset.Set{})
	b.w.Rank(1).On(jobtest.Resume, b.w.Rank(1).SlowUntil(ready))
	ctx, cancel := context.WithCancel(b.ctx)
	type answer struct {
		got rankset.Set
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		got, err := b.j.Resume(ctx, b.j.All(), backend.ResumeRequest{Kind: backend.Continue})
		answers <- answer{got, err}
	}()
	b.untilState(0, Stopped) // while rank 1 has not even answered
	b.untilNow(2, Stopped)
	b.resume(rankset.New(0), backend.Continue)
	b.untilState(0, Exited)
	cancel()
	a := <-answers
	if a.got.String() != "0,2" || !errors.Is(a.err, context.Canceled) {
		t.Fatalf("%s, %v", a.got, a.err)
	}
	if idle, _ := b.j.Idle(); idle {
		t.Error("idle although a command is in flight")
	}
	if s := b.status(1); s.State != Stopped {
		t.Errorf("rank 1 is %s before its debugger said that it runs", s.State)
	}
	close(ready)
	b.untilState(1, Running)
	b.untilState(1, Stopped)
	b.idle()
}

func TestInterrupt(t *testing.T) {
	b := launched(t, 3, Options{}, each(jobtest.Init(), jobtest.Block("MPI_Recv", nil)))
	b.resume(rankset.New(0, 1), backend.Continue)
	b.idle() // ranks that run freely do not keep it from being idle
	for r := range 2 {
		b.must(b.w.Rank(r).WaitIn(b.ctx, "MPI_Recv"))
	}
	b.must(b.j.Interrupt(b.ctx, b.j.All()))
	b.idle()
	s := b.status(0)
	wantText(t, "text", s.Text, "Rank 0 was paused in main (main.c:1).")
	if s.Hidden != 1 || s.Stop.Frames[0].ID.Level != 1 {
		t.Errorf("%d frames are hidden, %+v", s.Hidden, s.Stop.Frames)
	}
	if b.w.Rank(2).Called(jobtest.Interrupt) != 0 {
		t.Error("a stopped rank was interrupted")
	}
}

// Interrupt overtakes in the backend: sent during a Resume it would arrive first, have no effect, and its stop would be
// pending for ever.
func TestInterruptDuringResume(t *testing.T) {
	ready := make(chan struct{})
	b := launched(t, 1, Options{}, nil)
	b.w.Rank(0).On(jobtest.Resume, b.w.Rank(0).SlowUntil(ready))
	done := make(chan error, 1)
	go func() {
		_, err := b.j.Resume(b.ctx, b.j.All(), backend.ResumeRequest{Kind: backend.Continue})
		done <- err
	}()
	b.must(b.w.Rank(0).WaitCalled(b.ctx, jobtest.Resume, 1))
	b.must(b.j.Interrupt(b.ctx, b.j.All()))
	if b.w.Rank(0).Called(jobtest.Interrupt) != 0 {
		t.Fatal("the interrupt has overtaken")
	}
	close(ready)
	b.must(<-done)
	b.idle()
	if s := b.status(0); s.State != Stopped || s.Stop.Reason != backend.ReasonPause {
		t.Errorf("%+v", s)
	}
}

func TestAFailedInterruptIsNotPending(t *testing.T) {
	b := launched(t, 2, Options{}, nil)
	b.resume(b.j.All(), backend.Continue)
	b.w.Rank(0).On(jobtest.Interrupt, jobtest.Fail(errors.New("no permission")))
	err := b.j.Interrupt(b.ctx, b.j.All())
	if err == nil || err.Error() != "cannot pause: [0] no permission" {
		t.Errorf("%v", err)
	}
	b.idle()
	if a, c := b.status(0), b.status(1); a.State != Running || c.State != Stopped {
		t.Errorf("%s, %s", a.State, c.State)
	}
}

func TestWaitIdleEndsWithItsContext(t *testing.T) {
	b := launched(t, 1, Options{}, func(w *jobtest.World) { w.Rank(0).DeafToInterrupt = true })
	b.resume(b.j.All(), backend.Continue)
	b.must(b.j.Interrupt(b.ctx, b.j.All()))
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := b.j.WaitIdle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	b.w.Rank(0).Exit(0, "SIGKILL")
	b.idle()
}

func TestIdleIsPublishedOncePerEdge(t *testing.T) {
	b := launched(t, 3, Options{}, each(jobtest.Line(src, 2)))
	b.seen = nil
	b.resume(b.j.All(), backend.Next)
	b.idle()
	b.drain()
	idle, running := 0, 0
	for _, e := range b.seen {
		if e.Idle {
			idle++
		}
		if e.RankChanged != nil && e.RankChanged.State == Running {
			running++
		}
	}
	if idle != 1 || running != 3 {
		t.Errorf("%d times idle, %d times running", idle, running)
	}
	if e := b.seen[len(b.seen)-2]; !e.Idle {
		t.Errorf("idle was not last: %+v", e)
	}
}

func TestARankThatIsResumedByTheConsole(t *testing.T) {
	b := launched(t, 1, Options{}, nil)
	b.w.Rank(0).Emit(backend.Event{Resumed: true})
	b.untilState(0, Running)
	b.w.Rank(0).Emit(backend.Event{Stopped: &backend.Stopped{Reason: backend.ReasonStep, Text: "by a script"}})
	s := b.untilState(0, Stopped)
	wantText(t, "text", s.Text, "Rank 0 has finished its step. by a script.")
}

func TestFocus(t *testing.T) {
	b := launched(t, 4, Options{}, nil)
	if f, err := b.j.Focus(); err != nil || f.String() != "0-3" {
		t.Fatal(f, err)
	}
	b.must(b.j.SetFocus(rankset.New(1, 2)))
	e := b.until("focus", func(e Event) bool { return e.Focus != nil })
	if f, _ := b.j.Focus(); f.String() != "1-2" || e.Focus.String() != "1-2" {
		t.Error(f, e.Focus)
	}
	b.must(b.j.SetFocus(rankset.New(2, 1)))
	b.drain()
	for _, e := range b.seen[len(b.seen)-1:] {
		if e.Focus != nil {
			t.Error("an unchanged focus was published")
		}
	}
	if err := b.j.SetFocus(rankset.New(4)); err == nil {
		t.Error("a rank outside the job can be in focus")
	}
	if err := b.j.SetFocus(rankset.Set{}); err == nil {
		t.Error("the focus can be empty")
	}
}

func TestEvaluateMergesEqualAnswers(t *testing.T) {
	b := launched(t, 6, Options{}, func(w *jobtest.World) {
		for r, f := range w.Ranks() {
			f.Values = map[string]string{"n": "5"}
			if r == 3 {
				f.Values["n"] = "7"
			}
		}
		w.Rank(4).Values = nil
	})
	b.resume(rankset.New(5), backend.Continue)
	got, err := b.j.Evaluate(b.ctx, b.j.All(), backend.EvaluateRequest{Expression: "n", Context: backend.ContextWatch})
	b.must(err)
	want := []string{
		"[0-2] 5",
		"[3] 7",
		`[4] no symbol "n" in current context.`,
		"[5] cannot evaluate n: the rank is running.",
	}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i, m := range got {
		wantText(t, "result", m.String(), want[i])
	}
	if got[1].Result.Value != "7" || got[1].Result.Type != "int" {
		t.Errorf("%+v", got[1].Result)
	}
}

// Equal values at different addresses are equal answers; values that are addresses differ only if they do.
func TestEvaluateDoesNotCompareAddressesOfVariables(t *testing.T) {
	b := launched(t, 3, Options{}, func(w *jobtest.World) {
		for r, f := range w.Ranks() {
			f.OnEvaluate = func(req backend.EvaluateRequest) (res backend.EvaluateResult, err error) {
				res.Value, res.Address = "(int *) 0x7ffe10", uint64(r)
				if r == 2 {
					res.Value = "(int *) 0x7ffe20"
				}
				return res, nil
			}
		}
	})
	got, err := b.j.Evaluate(b.ctx, b.j.All(), backend.EvaluateRequest{Expression: "p"})
	b.must(err)
	if len(got) != 2 || got[0].String() != "[0-1] (int *) 0x7ffe10" || got[1].String() != "[2] (int *) 0x7ffe20" {
		t.Errorf("%v", got)
	}
}

func TestEvaluateUsesTheFirstVisibleFrame(t *testing.T) {
	frames := make(chan backend.FrameID, 1)
	b := launched(t, 1, Options{}, func(w *jobtest.World) {
		w.Rank(0).Program = []jobtest.Step{jobtest.Block("MPI_Recv", nil)}
		w.Rank(0).OnEvaluate = func(req backend.EvaluateRequest) (backend.EvaluateResult, error) {
			frames <- req.Frame
			return backend.EvaluateResult{}, nil
		}
	})
	b.resume(b.j.All(), backend.Continue)
	b.must(b.w.Rank(0).WaitIn(b.ctx, "MPI_Recv"))
	b.must(b.j.Interrupt(b.ctx, b.j.All()))
	b.idle()
	if _, err := b.j.Evaluate(b.ctx, b.j.All(), backend.EvaluateRequest{Expression: "x"}); err != nil {
		t.Fatal(err)
	}
	if f := <-frames; f != (backend.FrameID{Thread: 1, Level: 1}) {
		t.Errorf("evaluated in %+v", f)
	}
}

func TestEvaluateShowsWhoDidNotAnswer(t *testing.T) {
	b := launched(t, 3, Options{}, func(w *jobtest.World) {
		for _, f := range w.Ranks() {
			f.Values = map[string]string{"n": "5"}
		}
		w.Rank(1).On(jobtest.Evaluate, w.Rank(1).NeverAnswer())
	})
	ctx, cancel := context.WithCancel(b.ctx)
	go func() {
		b.w.Rank(1).WaitCalled(b.ctx, jobtest.Evaluate, 1)
		cancel()
	}()
	got, err := b.j.Evaluate(ctx, b.j.All(), backend.EvaluateRequest{Expression: "n", Context: backend.ContextREPL})
	b.must(err)
	for _, m := range got {
		if m.Ranks.Contains(1) && m.String() != "["+m.Ranks.String()+"] context canceled." &&
			m.String() != "["+m.Ranks.String()+"] it has not answered yet (context canceled)." {
			t.Errorf("%s", m)
		}
	}
	b.idle() // a console command that was given up is not in flight
}

func TestEvaluateShowsWhoDied(t *testing.T) {
	b := launched(t, 3, Options{}, func(w *jobtest.World) {
		for _, f := range w.Ranks() {
			f.Values = map[string]string{"n": "5"}
		}
		w.Rank(2).On(jobtest.Evaluate, w.Rank(2).DieDuring("gdb crashed"))
	})
	got, err := b.j.Evaluate(b.ctx, b.j.All(), backend.EvaluateRequest{Expression: "n"})
	b.must(err)
	if len(got) != 2 || got[0].String() != "[0-1] 5" ||
		got[1].String() != "[2] the debugger of this rank has ended: gdb crashed." {
		t.Errorf("%v", got)
	}
	b.untilState(2, Lost)
	b.idle()
}

func TestConsoleEvaluationIsACommand(t *testing.T) {
	ready := make(chan struct{})
	b := launched(t, 1, Options{}, func(w *jobtest.World) {
		w.Rank(0).Values = map[string]string{"n": "1"}
		w.Rank(0).On(jobtest.Evaluate, w.Rank(0).SlowUntil(ready))
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.j.Evaluate(b.ctx, b.j.All(), backend.EvaluateRequest{Expression: "n", Context: backend.ContextREPL})
	}()
	b.must(b.w.Rank(0).WaitCalled(b.ctx, jobtest.Evaluate, 1))
	if idle, _ := b.j.Idle(); idle {
		t.Error("idle during a console command")
	}
	close(ready)
	b.idle()
	<-done
}

func TestStackTraceHidesTheInterposer(t *testing.T) {
	b := launched(t, 1, Options{}, func(w *jobtest.World) {
		w.Rank(0).Program = []jobtest.Step{jobtest.Enter("exchange"), jobtest.Block("MPI_Recv", nil)}
	})
	b.resume(b.j.All(), backend.Continue)
	b.must(b.w.Rank(0).WaitIn(b.ctx, "MPI_Recv"))
	b.must(b.j.Interrupt(b.ctx, b.j.All()))
	b.idle()
	for _, thread := range []int{0, 1, 7} { // 7: not the one that stopped, so it has to be asked for
		res, err := b.j.StackTrace(b.ctx, 0, backend.StackTraceRequest{Thread: thread})
		b.must(err)
		if len(res.Frames) != 2 || res.Frames[0].Function != "exchange" || res.Frames[0].ID.Level != 1 ||
			res.Total != 2 {
			t.Errorf("thread %d: %+v", thread, res)
		}
		res, err = b.j.StackTrace(b.ctx, 0, backend.StackTraceRequest{Thread: thread, Start: 1, Count: 5})
		b.must(err)
		if len(res.Frames) != 1 || res.Frames[0].Function != "main" {
			t.Errorf("thread %d, from 1: %+v", thread, res)
		}
	}
}

func TestControl(t *testing.T) {
	b := launched(t, 3, Options{}, func(w *jobtest.World) {
		w.Rank(2).On(jobtest.Control, jobtest.Fail(&backend.UnsupportedError{What: "the control block"}))
	})
	at := uint64(7)
	got, err := b.j.Control(b.ctx, b.j.All(), "read the control block",
		func(int) backend.ControlRequest { return backend.ControlRequest{ParkAt: &at} })
	if err == nil || err.Error() != "cannot read the control block: [2] the control block is not supported by this "+
		"rank's debugger" {
		t.Errorf("%v", err)
	}
	if len(got) != 2 || !got[0].Present || b.w.Rank(0).ParkAt() != 7 || b.w.Rank(1).ParkAt() != 7 {
		t.Errorf("%v", got)
	}
}

func TestHalt(t *testing.T) {
	b := launched(t, 4, Options{}, each(jobtest.Block("", nil)))
	b.w.Rank(2).On(jobtest.Interrupt, jobtest.Fail(errors.New("no interrupt today")))
	resumed := make(chan struct{})
	b.w.Rank(1).On(jobtest.Resume, b.w.Rank(1).SlowUntil(resumed))
	b.resume(rankset.New(0, 2), backend.Continue)
	go b.j.Resume(b.ctx, rankset.New(1), backend.ResumeRequest{Kind: backend.Continue})
	b.must(b.w.Rank(1).WaitCalled(b.ctx, jobtest.Resume, 1))
	go func() { // it is about to run when it is to stop
		b.w.Rank(0).WaitCalled(b.ctx, jobtest.Interrupt, 1)
		close(resumed)
	}()
	halted, err := b.j.Halt(b.ctx, b.j.All())
	b.must(err)
	wantText(t, "halted", halted.String(), "0-2")
	for r, want := range []RankState{Stopped, Stopped, Running, Stopped} {
		if s := b.status(r); s.State != want {
			t.Errorf("rank %d is %s, want %s", r, s.State, want)
		}
	}
	b.w.Rank(3).DeafToInterrupt = true
	b.resume(rankset.New(3), backend.Continue)
	ctx, cancel := context.WithCancel(b.ctx)
	go func() {
		b.w.Rank(3).WaitCalled(b.ctx, jobtest.Interrupt, 1)
		cancel()
	}()
	if _, err := b.j.Halt(ctx, rankset.New(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("a rank that does not stop: %v", err)
	}
}

// A job is busy as long as its user says so, and tells what it has come to before that is over.
func TestBusy(t *testing.T) {
	b := launched(t, 1, Options{}, each(jobtest.Block("", nil)))
	done, err := b.j.Busy()
	b.must(err)
	if idle, err := b.j.Idle(); err != nil || idle {
		t.Errorf("idle: %v, %v", idle, err)
	}
	b.must(b.j.ReportCut(CutReached{At: "0:1"}))
	done()
	b.idle()
	b.until("the cut", func(e Event) bool {
		if e.Idle {
			t.Error("idle before the cut was told")
		}
		return e.Cut != nil && e.Cut.At == "0:1"
	})
}

// Hits are counted since the last event of the rank.
func TestHitsSinceTheLastEvent(t *testing.T) {
	b := launched(t, 1, Options{}, each(jobtest.Init(), jobtest.Line(src, 7), jobtest.Line(src, 7),
		jobtest.MPI("MPI_Send"), jobtest.Line(src, 8), jobtest.Line(src, 7)))
	b.breakAt(7, ModeRank, rankset.Set{})
	for _, want := range []string{"map[7:1]", "map[7:2]", "map[7:1]"} {
		b.resume(rankset.New(0), backend.Continue)
		b.untilState(0, Stopped)
		wantText(t, "hits", fmt.Sprint(b.status(0).Hits), want)
	}
}
