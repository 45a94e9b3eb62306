package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/rankset"
)

func TestLaunchStopsEveryRankAtItsEntry(t *testing.T) {
	for _, asEvent := range []bool{false, true} {
		t.Run(fmt.Sprintf("event %v", asEvent), func(t *testing.T) {
			b := launched(t, 3, Options{}, func(w *jobtest.World) {
				for _, f := range w.Ranks() {
					f.EntryEvent = asEvent
				}
			})
			for r := range 3 {
				s := b.status(r)
				if s.State != Stopped || s.Stop.Reason != backend.ReasonEntry || s.Pid != 1000+r || s.Host != "host" {
					t.Errorf("rank %d: %+v", r, s)
				}
				wantText(t, "text", s.Text, fmt.Sprintf("Rank %d is at its entry in main (main.c:1).", r))
			}
			b.resume(b.j.All(), backend.Continue)
			b.must(b.j.Interrupt(b.ctx, b.j.All()))
			b.idle()
			if s := b.status(1); s.Stop.Reason != backend.ReasonPause {
				t.Errorf("an entry stop was taken twice: %+v", s.Stop)
			}
		})
	}
}

func TestLaunchNamesTheRanksThatFailed(t *testing.T) {
	b := newBench(t, 5, Options{}, func(w *jobtest.World) {
		for _, r := range []int{0, 2} {
			w.Rank(r).FailLaunch("./prog", "The file ./prog is not executable; run chmod +x on it.")
		}
		w.Rank(4).On(jobtest.Launch, w.Rank(4).DieDuring("gdb was killed"))
	})
	err := b.j.Launch(b.ctx, backend.LaunchRequest{Program: "./prog"})
	var some *RanksError
	var launch *backend.LaunchError
	if !errors.As(err, &some) || !errors.As(err, &launch) || !slices.Equal(sortedKeys(some.PerRank), []int{0, 2, 4}) {
		t.Fatalf("%v", err)
	}
	wantText(t, "error", err.Error(), "cannot launch ./prog: [0,2] The file ./prog is not executable; run chmod +x "+
		"on it.; [4] the debugger of this rank has ended: gdb was killed")
	b.idle()
	for r, want := range []RankState{Lost, Stopped, Lost, Stopped, Lost} {
		if s := b.status(r); s.State != want {
			t.Errorf("rank %d is %s, want %s", r, s.State, want)
		}
	}
	if b.resume(b.j.All(), backend.Continue).String() != "1,3" {
		t.Error("the ranks that were launched are not usable")
	}
}

func TestLaunchDoesNotWaitForAHangingRankBeyondTheContext(t *testing.T) {
	ready := make(chan struct{})
	b := newBench(t, 3, Options{}, func(w *jobtest.World) { w.Rank(1).On(jobtest.Launch, w.Rank(1).SlowUntil(ready)) })
	ctx, cancel := context.WithCancel(b.ctx)
	go func() {
		b.w.Rank(1).WaitCalled(b.ctx, jobtest.Launch, 1)
		cancel()
	}()
	err := b.j.Launch(ctx, backend.LaunchRequest{Program: "./prog"})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "it has not answered yet") {
		t.Fatalf("%v", err)
	}
	if idle, _ := b.j.Idle(); idle {
		t.Error("idle although a launch is in flight")
	}
	for _, r := range []int{0, 2} { // the others are not held up
		b.untilNow(r, Stopped)
	}
	close(ready) // it was only slow
	b.idle()
	if s := b.status(1); s.State != Stopped {
		t.Errorf("rank 1 is %s", s.State)
	}
}

func TestARankHasOneDebugger(t *testing.T) {
	b := launched(t, 2, Options{}, nil)
	if err := b.j.Attach(0, b.w.Rank(0), Info{}); err == nil ||
		err.Error() != "rank 0 already has a debugger, and is stopped" {
		t.Errorf("attaching twice: %v", err)
	}
	b.w.Rank(1).End("gdb crashed")
	b.untilState(1, Lost)
	b.idle()
	b.must(b.j.Launch(b.ctx, backend.LaunchRequest{Program: "./prog"}))
	if b.w.Rank(0).Called(jobtest.Launch) != 1 {
		t.Error("rank 0 was launched twice")
	}
}

func TestEndedIsPublishedOnceWithASummary(t *testing.T) {
	b := launched(t, 5, Options{}, func(w *jobtest.World) {
		for _, r := range []int{0, 1, 2} {
			w.Rank(r).Program = []jobtest.Step{jobtest.Exit(0)}
		}
		w.Rank(3).Program = []jobtest.Step{jobtest.Signal("SIGSEGV", "Segmentation fault", 0x10)}
		w.Rank(4).Program = []jobtest.Step{jobtest.DebuggerDies("the connection was cut")}
	})
	b.resume(b.j.All(), backend.Continue)
	s := b.untilState(3, Stopped)
	wantText(t, "text", s.Text, "Rank 3 received SIGSEGV (Segmentation fault) for address 0x10 in main (main.c:1).")
	b.resume(rankset.New(3), backend.Continue)
	end := b.until("the end", func(e Event) bool { return e.Ended != nil }).Ended
	wantText(t, "summary", end.Summary,
		"[0-2] exited with code 0, [3] was killed by SIGSEGV, [4] is lost: the connection was cut")
	wantText(t, "lost", b.status(4).Text, "Rank 4 is lost: the connection was cut.")
	b.must(b.j.Kill(b.ctx))
	b.j.Close()
	for e := range b.sub.Events() {
		if e.Ended != nil {
			t.Error("Ended came twice")
		}
	}
}

func TestARankThatDiesLeavesTheOthersUsable(t *testing.T) {
	b := launched(t, 3, Options{}, func(w *jobtest.World) {
		w.Rank(1).Program = []jobtest.Step{jobtest.Killed("SIGKILL")}
	})
	b.resume(b.j.All(), backend.Continue)
	s := b.untilState(1, Exited)
	wantText(t, "text", s.Text, "Rank 1 was killed by SIGKILL.")
	b.must(b.j.Interrupt(b.ctx, b.j.All()))
	b.idle()
	for _, r := range []int{0, 2} {
		if s := b.status(r); s.State != Stopped {
			t.Errorf("rank %d is %s", r, s.State)
		}
	}
}

func TestKill(t *testing.T) {
	b := launched(t, 3, Options{}, nil)
	b.resume(rankset.New(0), backend.Continue)
	b.must(b.j.Kill(b.ctx))
	b.idle()
	end := b.until("the end", func(e Event) bool { return e.Ended != nil }).Ended
	wantText(t, "summary", end.Summary, "[0-2] was killed by SIGKILL")
	if _, err := b.j.Resume(b.ctx, b.j.All(), backend.ResumeRequest{Kind: backend.Continue}); err != nil {
		t.Errorf("resuming nobody: %v", err)
	}
}

func TestKillNamesTheRanksThatRefuse(t *testing.T) {
	b := launched(t, 3, Options{}, func(w *jobtest.World) {
		w.Rank(0).On(jobtest.Kill, jobtest.Fail(errors.New("the agent refused")))
	})
	err := b.j.Kill(b.ctx)
	if err == nil || err.Error() != "cannot end the job: [0] the agent refused" {
		t.Errorf("%v", err)
	}
	b.idle()
	if s := b.status(0); s.State != Stopped {
		t.Errorf("rank 0 is %s", s.State)
	}
}

func TestKillNamesTheRanksThatDoNotAnswer(t *testing.T) {
	b := launched(t, 3, Options{}, func(w *jobtest.World) { w.Rank(2).On(jobtest.Kill, w.Rank(2).NeverAnswer()) })
	ctx, cancel := context.WithCancel(b.ctx)
	gone := make(chan struct{})
	n := 0
	b.must(b.j.call(func() {
		for _, r := range b.j.ranks[:2] {
			r.await(func() bool { return r.finished }, func() {
				if n++; n == 2 {
					close(gone)
				}
			})
		}
	}))
	go func() {
		b.w.Rank(2).WaitCalled(b.ctx, jobtest.Kill, 1)
		<-gone
		b.j.call(func() {}) // Kill has seen it too
		cancel()
	}()
	err := b.j.Kill(ctx)
	if err == nil || err.Error() != "cannot end the job: [2] it has not answered yet (context canceled)" {
		t.Errorf("%v", err)
	}
}

func TestKillBeforeAnythingWasLaunched(t *testing.T) {
	w := jobtest.New(1)
	defer w.Close()
	j := New(Options{Ranks: 2})
	defer j.Close()
	if err := j.Attach(0, w.Rank(0), Info{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := j.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if err := j.WaitIdle(ctx); err != nil {
		t.Fatal(err)
	}
	s, err := j.Status()
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "rank 0", s[0].Text, "Rank 0 was terminated at your request.")
	wantText(t, "rank 1", s[1].Text, "Rank 1 was never started.")
}

func TestCloseFreesEveryone(t *testing.T) {
	b := launched(t, 2, Options{}, func(w *jobtest.World) { w.Rank(1).On(jobtest.Resume, w.Rank(1).NeverAnswer()) })
	errs := make(chan error, 2)
	go func() {
		_, err := b.j.Resume(b.ctx, b.j.All(), backend.ResumeRequest{Kind: backend.Continue})
		errs <- err
	}()
	b.must(b.w.Rank(1).WaitCalled(b.ctx, jobtest.Resume, 1))
	go func() { errs <- b.j.WaitIdle(b.ctx) }()
	b.j.Close()
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := b.j.Status(); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	for range b.sub.Events() { // it ends
	}
	late := b.j.Subscribe(Everything)
	for range late.Events() {
		t.Error("an event after the end")
	}
	b.j.Close()
}

func TestAttachRefusesRanksOutsideTheJob(t *testing.T) {
	b := newBench(t, 2, Options{}, nil)
	err := b.j.Attach(2, b.w.Rank(1), Info{})
	if err == nil || err.Error() != "rank 2 was asked for, but the job has ranks 0 to 1" {
		t.Errorf("%v", err)
	}
	if _, err := b.j.Backend(-1); err == nil {
		t.Error("rank -1 has a backend")
	}
}
