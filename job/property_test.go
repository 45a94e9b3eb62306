package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/rankset"
)

// A watcher checks what a subscriber must be able to rely on, from the stream alone.
type watcher struct {
	seq     uint64
	states  []RankState
	history []string
	ended   int
	output  map[int]string
}

func newWatcher(ranks []RankStatus) *watcher {
	w := &watcher{output: map[int]string{}}
	for _, r := range ranks {
		w.states = append(w.states, r.State)
	}
	return w
}

// legal are the changes of a rank's state that may be seen; the same state may be published again.
var legal = map[RankState][]RankState{
	Starting: {Stopped, Lost, Exited},
	Stopped:  {Running, Exited, Lost, Stopped},
	Running:  {Stopped, Exited, Lost, Running},
	Exited:   {Exited},
	Lost:     {Lost},
}

func (w *watcher) take(e Event) error {
	if w.seq != 0 && e.Seq != w.seq+1 {
		return fmt.Errorf("event %d follows event %d", e.Seq, w.seq)
	}
	w.seq = e.Seq
	kinds := 0
	for _, set := range []bool{
		e.RankChanged != nil, e.Output != nil, e.Breakpoint != nil, e.Idle, e.Ended != nil,
		e.Focus != nil, e.Cut != nil, e.Progress != nil,
	} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("event %d has %d kinds", e.Seq, kinds)
	}
	switch {
	case e.RankChanged != nil:
		s := e.RankChanged
		from := w.states[s.Rank]
		if s.State != from && !slices.Contains(legal[from], s.State) {
			return fmt.Errorf("rank %d went from %s to %s", s.Rank, from, s.State)
		}
		if (s.State == Stopped) != (s.Stop != nil) || (s.State == Exited) != (s.Exit != nil) ||
			(s.State == Lost) != (s.Lost != "") || s.Text == "" {
			return fmt.Errorf("rank %d is %s with %+v", s.Rank, s.State, s)
		}
		w.states[s.Rank] = s.State
		w.history = append(w.history, fmt.Sprintf("%d %s", s.Rank, s.State))
	case e.Output != nil:
		for r := range e.Output.Ranks.Each {
			w.output[r] += e.Output.Text
		}
	case e.Idle:
		for r, s := range w.states {
			if s == Starting {
				return fmt.Errorf("idle while rank %d is starting", r)
			}
		}
		w.history = append(w.history, "idle")
	case e.Ended != nil:
		w.ended++
		for r, s := range w.states {
			if !s.Gone() {
				return fmt.Errorf("ended while rank %d is %s", r, s)
			}
		}
	}
	return nil
}

// checkInvariants compares the job's counters with what they count. Owner.
func (j *Job) checkInvariants() error {
	pending, gone, running := 0, 0, 0
	for _, r := range j.ranks {
		if r.pending {
			pending++
		}
		if r.state.Gone() {
			gone++
		}
		if r.state == Running {
			running++
		}
		if r.pending && r.state != Running && r.state != Starting && !r.resuming {
			return fmt.Errorf("a stop is pending on rank %d, which is %s", r.num, r.state)
		}
	}
	if pending != j.pending || gone != j.gone || running != j.running || j.inFlight < 0 {
		return fmt.Errorf("counted %d pending, %d gone, %d running; kept %d, %d, %d; %d in flight", pending, gone,
			running, j.pending, j.gone, j.running, j.inFlight)
	}
	return nil
}

// Random commands, faults and events, several callers at once. Whatever happens: the stream is consistent, two
// subscribers see the same, no output is lost, the counters count, and in the end the job is idle exactly when nothing
// is open.
func TestRandomSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "ranks")
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w := jobtest.New(n)
		defer w.Close()
		for _, f := range w.Ranks() {
			f.EntryEvent = rapid.Bool().Draw(t, "entry event")
			f.Program = []jobtest.Step{jobtest.Init()}
			for i := range rapid.IntRange(0, 6).Draw(t, "lines") {
				f.Program = append(f.Program, jobtest.Line(src, i+1))
			}
			if rapid.Bool().Draw(t, "exits") {
				f.Program = append(f.Program, jobtest.Exit(rapid.IntRange(0, 1).Draw(t, "code")))
			}
		}
		j := New(Options{Ranks: n, MergeWindow: time.Hour})
		defer j.Close()
		subs := []*Subscription{j.Subscribe(Everything), j.Subscribe(Everything)}
		for i, f := range w.Ranks() {
			if err := j.Attach(i, f, Info{}); err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Bool().Draw(t, "breakpoints first") {
			if _, err := j.SetBreakpoints(ctx, src,
				[]Breakpoint{{ID: 1, Source: src, Line: 2, Mode: ModeAll}}); err != nil {
				t.Fatal(err)
			}
		}
		printed := map[int]string{}
		running := make(chan struct{}, 100)
		async := 0
		background := func(do func()) { // another caller, at the same time
			async++
			go func() {
				do()
				running <- struct{}{}
			}()
		}
		some := func() rankset.Set {
			set := rankset.New(rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID[int]).Draw(t, "some")...)
			return set
		}
		background(func() { j.Launch(ctx, backend.LaunchRequest{Program: "./prog"}) })
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			f := w.Rank(rapid.IntRange(0, n-1).Draw(t, "rank"))
			switch what := rapid.IntRange(0, 11).Draw(t, "what"); what {
			case 0, 1, 2:
				set, kind := some(), backend.ResumeKind(rapid.IntRange(0, 3).Draw(t, "kind"))
				background(func() { j.Resume(ctx, set, backend.ResumeRequest{Kind: kind}) })
			case 3, 4:
				set := some()
				background(func() { j.Interrupt(ctx, set) })
			case 5:
				f.Stop(backend.Stopped{Reason: backend.ReasonSignal, Signal: "SIGUSR1"})
			case 6:
				bp := Breakpoint{
					ID: 1, Source: src, Line: rapid.IntRange(1, 6).Draw(t, "line"), Ranks: some(),
					Mode: rapid.SampledFrom([]Mode{ModeRank, ModeAll}).Draw(t, "mode"),
				}
				background(func() { j.SetBreakpoints(ctx, src, []Breakpoint{bp}) })
			case 7:
				text := rapid.SampledFrom([]string{"a\n", "b", "b\n", "c\nd\n"}).Draw(t, "text")
				if !f.Ended() {
					f.Print("stdout", text)
					printed[f.Rank] += text
				}
			case 8:
				set := some()
				background(func() {
					j.Evaluate(ctx, set, backend.EvaluateRequest{Expression: "x", Context: backend.ContextREPL})
				})
			case 9:
				if rapid.IntRange(0, 3).Draw(t, "dies") == 0 {
					f.End("it crashed")
				}
			case 10:
				if rapid.IntRange(0, 3).Draw(t, "is killed") == 0 {
					f.Exit(0, "SIGKILL")
				}
			case 11:
				m := rapid.SampledFrom([]jobtest.Method{
					jobtest.Resume, jobtest.Interrupt, jobtest.SetBreakpoints,
					jobtest.Evaluate,
				}).Draw(t, "method")
				if rapid.Bool().Draw(t, "fails") {
					f.On(m, jobtest.Fail(fmt.Errorf("no %s today", m)))
				} else {
					f.On(m, nil)
				}
			}
			var broken error
			if err := j.call(func() { broken = j.checkInvariants() }); err != nil || broken != nil {
				t.Fatal(err, broken)
			}
		}
		for range async {
			<-running
		}
		// All answers are in. What remains are steps that do not end and interrupts that failed; end them.
		for _, f := range w.Ranks() {
			f.On(jobtest.Interrupt, nil)
		}
		if err := j.Interrupt(ctx, j.All()); err != nil && !allEnded(err) {
			t.Fatal(err)
		}
		if err := j.WaitIdle(ctx); err != nil {
			status, _ := j.Status()
			t.Fatalf("%v: %+v", err, status)
		}
		var broken error
		var inFlight, pending int
		if err := j.call(func() {
			broken, inFlight, pending = j.checkInvariants(), j.inFlight, j.pending
		}); err != nil || broken != nil || inFlight+pending != 0 {
			t.Fatal(err, broken, inFlight, pending)
		}
		if err := j.Kill(ctx); err != nil {
			t.Fatal(err)
		}
		if err := j.WaitIdle(ctx); err != nil {
			t.Fatal(err)
		}
		status, err := j.Status()
		if err != nil {
			t.Fatal(err)
		}
		j.Close()

		var first *watcher
		for i, s := range subs {
			v := newWatcher(s.Ranks)
			for e := range s.Events() {
				if err := v.take(e); err != nil {
					t.Fatalf("%v, after %v", err, v.history)
				}
			}
			if v.ended != 1 {
				t.Fatalf("Ended came %d times", v.ended)
			}
			for r := range n {
				if v.output[r] != printed[r] {
					t.Fatalf("rank %d printed %q, and %q was shown", r, printed[r], v.output[r])
				}
				if v.states[r] != status[r].State {
					t.Fatalf("the stream left rank %d %s, and it is %s", r, v.states[r], status[r].State)
				}
			}
			if i == 0 {
				first = v
			} else if !slices.Equal(first.history, v.history) {
				t.Fatalf("two subscribers saw\n%v\n%v", first.history, v.history)
			}
		}
	})
}

// allEnded tells whether err is only about ranks whose backends have ended.
func allEnded(err error) bool {
	var some *RanksError
	if !errors.As(err, &some) {
		return false
	}
	for _, e := range some.PerRank {
		if _, ended := errors.AsType[*backend.EndedError](e); !ended {
			return false
		}
	}
	return true
}
