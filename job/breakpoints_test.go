package job

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/rankset"
)

func TestBreakpointsAreMerged(t *testing.T) {
	b := launched(t, 5, Options{}, func(w *jobtest.World) {
		for _, r := range []int{1, 2} {
			w.Rank(r).NoCode = map[int]string{10: "There is no code at line 10 of main.c."}
		}
		w.Rank(3).Moved = map[int]int{10: 12}
		w.Rank(4).On(jobtest.SetBreakpoints, jobtest.Fail(errors.New("cannot insert")))
	})
	st := b.breakAt(10, ModeRank, rankset.Set{})
	if len(st) != 1 || !st[0].Verified || st[0].Line != 10 || st[0].Source != src {
		t.Fatalf("%+v", st)
	}
	wantText(t, "message", st[0].Message, "Verified on [0,3]. [1-2] There is no code at line 10 of main.c. [3] It is at line 12. It was "+
		"moved to the next line with code. [4] It could not be set: cannot insert.")

	st = b.breakAt(20, ModeRank, rankset.New(0))
	if !st[0].Verified || st[0].Message != "" {
		t.Errorf("%+v", st[0])
	}
	st = b.breakAt(10, ModeRank, rankset.New(1, 2))
	if st[0].Verified {
		t.Errorf("%+v", st[0])
	}
	wantText(t, "message", st[0].Message, "There is no code at line 10 of main.c.")
}

func TestBreakpointsGoOnlyToTheirRanks(t *testing.T) {
	b := launched(t, 4, Options{}, each(jobtest.Line(src, 5), jobtest.Line(src, 6), jobtest.Block("", nil)))
	if _, err := b.j.SetBreakpoints(b.ctx, src, []Breakpoint{
		{ID: 1, Source: src, Line: 5, Ranks: rankset.New(0, 1)},
		{ID: 2, Source: src, Line: 6, Ranks: rankset.New(1, 2)},
	}); err != nil {
		t.Fatal(err)
	}
	for r, want := range []string{"[1]", "[1 2]", "[2]", "[]"} {
		if got := fmt.Sprint(b.w.Rank(r).BreakpointIDs(src)); got != want {
			t.Errorf("rank %d has %s, want %s", r, got, want)
		}
	}
	if b.w.Rank(3).Called(jobtest.SetBreakpoints) != 0 {
		t.Error("rank 3 was asked for nothing")
	}
	b.resume(b.j.All(), backend.Continue)
	for r := range 3 {
		b.untilNow(r, Stopped)
	}
	wantText(t, "text", b.status(2).Text, "Rank 2 hit breakpoint 2 in main (main.c:6).")
	// Taken away again: only those that have some are asked.
	if _, err := b.j.SetBreakpoints(b.ctx, src, nil); err != nil {
		t.Fatal(err)
	}
	for r, want := range []int{2, 2, 2, 0} {
		if got := b.w.Rank(r).Called(jobtest.SetBreakpoints); got != want || len(b.w.Rank(r).BreakpointIDs(src)) != 0 {
			t.Errorf("rank %d was asked %d times, want %d", r, got, want)
		}
	}
}

func TestBreakpointsSetBeforeLaunch(t *testing.T) {
	b := newBench(t, 3, Options{}, each(jobtest.Enter("solve"), jobtest.Exit(0)))
	st, err := b.j.SetBreakpoints(b.ctx, "", []Breakpoint{{ID: 9, Function: "solve", Ranks: rankset.New(1, 2)}})
	b.must(err)
	if st[0].Verified {
		t.Error("verified before there is a program")
	}
	wantText(t, "message", st[0].Message, "It will be set when the rank has started.")
	b.must(b.j.Launch(b.ctx, backend.LaunchRequest{Program: "./prog"}))
	b.resume(b.j.All(), backend.Continue) // at once: breakpoints are in front of it in each rank's queue
	b.untilState(0, Exited)
	b.untilNow(1, Stopped)
	b.untilNow(2, Stopped)
	b.drain()
	var last *BreakpointStatus
	n := 0
	for _, e := range b.seen {
		if e.Breakpoint != nil {
			n++
			last = e.Breakpoint
		}
	}
	if last == nil || !last.Verified || last.Message != "" || n > 2 {
		t.Errorf("%d events, the last is %+v", n, last)
	}
}

func TestModeAllStopsEveryRank(t *testing.T) {
	b := launched(t, 4, Options{}, func(w *jobtest.World) {
		w.Rank(2).Program = []jobtest.Step{jobtest.Line(src, 5)}
	})
	b.breakAt(5, ModeAll, rankset.Set{})
	b.resume(rankset.New(0, 1, 2), backend.Continue)
	b.untilState(2, Stopped)
	b.idle()
	for r, want := range []backend.Reason{
		backend.ReasonPause, backend.ReasonPause, backend.ReasonBreakpoint,
		backend.ReasonEntry,
	} {
		if s := b.status(r); s.State != Stopped || s.Stop.Reason != want {
			t.Errorf("rank %d: %s", r, s.Text)
		}
	}
	if b.w.Rank(3).Called(jobtest.Interrupt) != 0 {
		t.Error("a rank that stood was interrupted")
	}
}

func TestModeFocusStopsTheFocus(t *testing.T) {
	b := launched(t, 4, Options{}, func(w *jobtest.World) {
		w.Rank(1).Program = []jobtest.Step{jobtest.Line(src, 5), jobtest.Line(src, 5)}
		w.Rank(3).Program = []jobtest.Step{jobtest.Line(src, 5)}
	})
	b.breakAt(5, ModeFocus, rankset.Set{})
	b.must(b.j.SetFocus(rankset.New(0, 1)))
	b.resume(rankset.New(0, 2, 3), backend.Continue)
	b.untilState(3, Stopped)
	b.idle()
	if s := b.status(0); s.State != Running {
		t.Errorf("rank 3, which is not in focus, has stopped another: %s", s.Text)
	}
	b.resume(rankset.New(1), backend.Continue)
	b.untilState(1, Stopped)
	b.untilState(0, Stopped)
	b.idle()
	if s := b.status(0); s.State != Stopped || s.Stop.Reason != backend.ReasonPause {
		t.Errorf("rank 0, in focus: %s", s.Text)
	}
	if s := b.status(2); s.State != Running {
		t.Errorf("rank 2, not in focus: %s", s.Text)
	}
}

func TestTemporaryBreakpoints(t *testing.T) {
	twice := each(jobtest.Line(src, 5), jobtest.Line(src, 5), jobtest.Block("", nil))
	for _, tt := range []struct {
		mode Mode
		left string // ranks that still have it when rank 1 has hit it
	}{{ModeRank, "[0 2]"}, {ModeFocus, "[]"}, {ModeAll, "[]"}} {
		t.Run(string(tt.mode), func(t *testing.T) {
			b := launched(t, 4, Options{}, twice)
			list := []Breakpoint{
				{ID: 7, Source: src, Line: 5, Ranks: rankset.New(0, 1, 2), Mode: tt.mode, Temporary: true},
			}
			_, err := b.j.SetBreakpoints(b.ctx, src, list)
			b.must(err)
			b.resume(rankset.New(1), backend.Continue)
			b.untilState(1, Stopped)
			b.idle()
			var left []int
			for r := range 4 {
				if len(b.w.Rank(r).BreakpointIDs(src)) > 0 {
					left = append(left, r)
				}
			}
			if fmt.Sprint(left) != tt.left {
				t.Errorf("ranks %v have it, want %s", left, tt.left)
			}
			if tt.mode == ModeRank {
				b.resume(rankset.New(0, 1, 2), backend.Continue)
				b.untilNow(0, Stopped)
				b.untilNow(2, Stopped)
				b.idle()
				if s := b.status(1); s.State != Running {
					t.Errorf("rank 1 has stopped at it again: %s", s.Text)
				}
			}
			e := b.until("its removal", func(e Event) bool { return e.Breakpoint != nil && e.Breakpoint.Removed })
			if e.Breakpoint.ID != 7 {
				t.Errorf("%+v was removed", e.Breakpoint)
			}
			// Who has not heard of that may want it once more.
			st, err := b.j.SetBreakpoints(b.ctx, src, list)
			b.must(err)
			if len(b.w.Rank(0).BreakpointIDs(src)) != 0 || st[0].Verified {
				t.Errorf("it is there again: %+v", st[0])
			}
		})
	}
}

func TestDisabledBreakpoints(t *testing.T) {
	b := launched(t, 2, Options{}, nil)
	bp := Breakpoint{ID: 3, Source: src, Line: 5}
	for _, disabled := range []bool{false, true, false} {
		bp.Disabled = disabled
		st, err := b.j.SetBreakpoints(b.ctx, src, []Breakpoint{bp})
		b.must(err)
		if has := len(b.w.Rank(1).BreakpointIDs(src)) > 0; has == disabled || st[0].Verified == disabled ||
			(st[0].Message == "It is disabled.") != disabled {
			t.Errorf("disabled %t: %+v", disabled, st[0])
		}
		all, err := b.j.Breakpoints()
		b.must(err)
		if len(all) != 1 || all[3] != st[0] {
			t.Errorf("all are %+v, want %+v", all, st[0])
		}
	}
}

func TestModeRankStopsOneRank(t *testing.T) {
	b := launched(t, 3, Options{}, func(w *jobtest.World) { w.Rank(1).Program = []jobtest.Step{jobtest.Line(src, 5)} })
	b.breakAt(5, "", rankset.Set{})
	b.resume(b.j.All(), backend.Continue)
	b.untilState(1, Stopped)
	b.idle()
	if b.status(0).State != Running || b.w.Rank(0).Called(jobtest.Interrupt) != 0 {
		t.Error("rank 0 was stopped too")
	}
}

func TestASlowRankGetsItsBreakpointLater(t *testing.T) {
	ready := make(chan struct{})
	b := launched(t, 3, Options{}, func(w *jobtest.World) {
		w.Rank(1).On(jobtest.SetBreakpoints, w.Rank(1).SlowUntil(ready))
	})
	ctx, cancel := context.WithCancel(b.ctx)
	go func() {
		for r := range 3 {
			b.w.Rank(r).WaitCalled(ctx, jobtest.SetBreakpoints, 1)
		}
		cancel()
	}()
	st, err := b.j.SetBreakpoints(ctx, src, []Breakpoint{{ID: 1, Source: src, Line: 5}})
	b.must(err)
	if st[0].Message != "Verified on [0,2]. [1] The rank's debugger has not answered yet." {
		t.Fatalf("%+v", st[0])
	}
	close(ready)
	b.idle()
	b.until("the late answer", func(e Event) bool {
		return e.Breakpoint != nil && e.Breakpoint.Message == ""
	})
}

func TestLateVerificationIsPublished(t *testing.T) {
	b := launched(t, 2, Options{}, func(w *jobtest.World) {
		for _, f := range w.Ranks() {
			f.NoCode = map[int]string{5: "The library is not loaded yet."}
		}
	})
	if st := b.breakAt(5, ModeRank, rankset.Set{}); st[0].Verified {
		t.Fatal(st)
	}
	b.drain()
	b.w.Rank(1).Emit(backend.Event{Changed: &backend.Breakpoint{ID: 5, Verified: true, Line: 6, Source: "/src/real.c"}})
	e := b.until("the change", func(e Event) bool { return e.Breakpoint != nil })
	if !e.Breakpoint.Verified || e.Breakpoint.Line != 6 || e.Breakpoint.Source != "/src/real.c" {
		t.Errorf("%+v", e.Breakpoint)
	}
	wantText(t, "message", e.Breakpoint.Message, "Verified on [1]. [0] The library is not loaded yet.")
}

func TestADebuggerThatAnswersTooLittle(t *testing.T) {
	b := launched(t, 1, Options{}, nil)
	w := &wantedBreakpoint{bp: Breakpoint{ID: 1}, perRank: map[int]backend.Breakpoint{}, failed: map[int]string{}}
	b.must(b.j.call(func() { b.j.breakpointsAnswered(b.j.ranks[0], []*wantedBreakpoint{w}, nil, nil) }))
	if w.failed[0] == "" {
		t.Error("a missing answer was taken for a good one")
	}
}
