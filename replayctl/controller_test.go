package replayctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// A replay is a bench whose Controller has a graph and scouts.
type replay struct {
	*bench
	mu     sync.Mutex
	scouts []string // the ranks that each scout had under a debugger
	said   []string
}

// replayed is a replay of ranks that do as setup says, the scouts' too, with the graph of handmade.
func replayed(t *testing.T, setup func(*jobtest.World), ranks ...string) *replay {
	t.Helper()
	r := &replay{bench: launched(t, len(ranks), setup)}
	graph := handmade(t, ranks...)
	r.c = New(Options{
		Job:   r.j,
		Graph: func(context.Context) (*causal.Graph, error) { return graph, nil },
		Scout: func(ctx context.Context, debugged rankset.Set) (*Scout, error) {
			r.mu.Lock()
			r.scouts = append(r.scouts, debugged.String())
			r.mu.Unlock()
			w := jobtest.New(len(ranks))
			setup(w)
			s := &Scout{Ranks: map[int]backend.Backend{}, Stop: w.Close}
			for i, f := range w.Ranks() {
				_, err := f.Launch(ctx, backend.LaunchRequest{})
				if debugged.Contains(i) {
					s.Ranks[i] = f
				} else {
					err = errors.Join(err, f.Resume(ctx, backend.ResumeRequest{}))
				}
				if err != nil {
					w.Close()
					return nil, err
				}
			}
			return s, nil
		},
		Say: func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.said = append(r.said, text)
		},
	})
	t.Cleanup(r.c.Close)
	return r
}

func (r *replay) over(run *Run) error {
	r.t.Helper()
	select {
	case <-run.Done():
		return run.Err()
	case <-r.ctx.Done():
		r.t.Fatalf("the run does not end\n%s", r.statusText())
		return nil
	}
}

// causalAt sets causal breakpoints in the job, and returns them.
func (r *replay) causalAt(change func(*job.Breakpoint), lines ...int) []job.Breakpoint {
	r.t.Helper()
	var list []job.Breakpoint
	for i, line := range lines {
		b := job.Breakpoint{ID: i + 1, Source: src, Line: line, Mode: job.ModeCausal, Ranks: rankset.New(1)}
		if change != nil {
			change(&b)
		}
		list = append(list, b)
	}
	_, err := r.j.SetBreakpoints(r.ctx, src, list)
	r.must(err)
	return list
}

// again is n rounds of an event and a line, the first event being that of the step.
func again(first jobtest.Step, n, line int) []jobtest.Step {
	steps := []jobtest.Step{jobtest.Init(), first, jobtest.Line(src, line)}
	for range n - 1 {
		steps = append(steps, jobtest.MPI("MPI_Wait"), jobtest.Line(src, line))
	}
	return append(steps, jobtest.Exit(0))
}

func TestContinueFromHitToHit(t *testing.T) {
	r := replayed(t, programs(
		again(jobtest.MPI("MPI_Send"), 4, 6), again(jobtest.Receive(0, 1), 4, 7),
	), "snnn", "rnnn")
	list := r.causalAt(nil, 7)
	for hit := uint64(1); hit <= 3; hit++ {
		r.drain()
		r.seen = nil
		r.must(r.over(r.c.Continue(list, r.j.All())))
		r.wantAt(0, 1, backend.ReasonStopPoint) // its send is all that happened before
		r.wantAt(1, hit, backend.ReasonBreakpoint)
		r.idle()
		r.drain()
		var told []string
		for _, e := range r.seen {
			switch {
			case e.Cut != nil:
				told = append(told, fmt.Sprintf("cut %s %v", e.Cut.At, e.Cut.Positions))
			case e.Idle:
				told = append(told, "idle")
			}
		}
		wantText(t, "told", strings.Join(told, ", "), fmt.Sprintf("cut 1:%d [1 %d], idle", hit, hit))
	}
	// What does not change where the breakpoint is hit needs no other scout: other breakpoints, its number, and so on.
	list = r.causalAt(func(b *job.Breakpoint) { b.ID, b.Ranks = 9, rankset.Set{} }, 7)
	list = append(list, job.Breakpoint{ID: 10, Source: src, Line: 6, Mode: job.ModeRank})
	list[0].Ranks = rankset.New(1)
	r.must(r.over(r.c.Continue(list, r.j.All())))
	r.wantAt(1, 4, backend.ReasonBreakpoint)
	if !slices.Equal(r.scouts, []string{"1"}) {
		t.Errorf("the scouts had %q", r.scouts)
	}
	// Another line is looked for, and nothing else.
	list = append(r.causalAt(func(b *job.Breakpoint) { b.ID = 9 }, 7), job.Breakpoint{
		ID: 30, Source: src, Line: 6, Mode: job.ModeCausal, Ranks: rankset.New(0),
	})
	_, err := r.j.SetBreakpoints(r.ctx, src, list)
	r.must(err)
	r.must(r.over(r.c.Continue(list, r.j.All())))
	r.wantAt(0, 1, backend.ReasonBreakpoint)
	if !slices.Equal(r.scouts, []string{"1", "0"}) {
		t.Errorf("the scouts had %q", r.scouts)
	}
	// After the last hit the ranks of the focus continue.
	list = r.causalAt(func(b *job.Breakpoint) { b.ID = 9 }, 7)
	r.must(r.over(r.c.Continue(list, rankset.New(0))))
	r.untilState(0, job.Exited)
	r.wantAt(1, 4, backend.ReasonBreakpoint)
	wantText(t, "said", strings.Join(r.said, "\n"), "The causal breakpoint is not reached again in the rest of this "+
		"recording. Ranks [0] continue, from 0:1; [1]: stopped, not in focus.")
}

// A condition that has changed makes other hits.
func TestAnotherConditionIsLookedForAgain(t *testing.T) {
	r := replayed(t, programs(
		again(jobtest.MPI("MPI_Send"), 4, 6), again(jobtest.Receive(0, 1), 4, 7),
	), "snnn", "rnnn")
	r.must(r.over(r.c.Continue(r.causalAt(nil, 7), r.j.All())))
	r.wantAt(1, 1, backend.ReasonBreakpoint)
	r.must(r.over(r.c.Continue(r.causalAt(func(b *job.Breakpoint) { b.HitCondition = "3" }, 7), r.j.All())))
	r.wantAt(1, 3, backend.ReasonBreakpoint)
	if len(r.scouts) != 2 {
		t.Errorf("the scouts had %q", r.scouts)
	}
}

// A breakpoint that cannot be set has no hits; the others have.
func TestABreakpointThatCannotBeSet(t *testing.T) {
	r := replayed(t, func(w *jobtest.World) {
		programs(again(jobtest.MPI("MPI_Send"), 4, 6), again(jobtest.Receive(0, 1), 4, 7))(w)
		for _, f := range w.Ranks() {
			f.NoCode = map[int]string{500: "no code at line 500"}
		}
	}, "snnn", "rnnn")
	list := r.causalAt(nil, 500, 7)
	r.must(r.over(r.c.Continue(list, r.j.All())))
	r.wantAt(1, 1, backend.ReasonBreakpoint)
	r.must(r.over(r.c.Continue(r.causalAt(nil, 500), r.j.All())))
	for range 2 {
		r.until("an exit", func(e job.Event) bool { return e.RankChanged != nil && e.RankChanged.State == job.Exited })
	}
	wantText(t, "said", strings.Join(r.said, "\n"), "The causal breakpoint at /src/main.c:500 cannot be set: No code "+
		"at line 500.\nThe causal breakpoint is not reached again in the rest of this recording. Ranks [0-1] "+
		"continue, from 0:1 1:1.")
}

// A run that is cancelled leaves all ranks stopped, with no stop point set, and its target can be reached afterwards.
func TestACancelledRunIsAbandoned(t *testing.T) {
	ready := make(chan struct{})
	r := replayed(t, programs(
		program(4), append([]jobtest.Step{jobtest.Init(), jobtest.Block("MPI_Recv", ready)}, program(4)[1:]...),
	), "nnnn", "nnnn")
	run := r.c.RunTo("", []uint64{2, 2})
	r.must(r.w.Rank(1).WaitIn(r.ctx, "MPI_Recv"))
	if idle, err := r.j.Idle(); idle || err != nil {
		t.Errorf("idle on the way to a cut: %v, %v", idle, err)
	}
	r.c.Cancel()
	if err := r.over(run); !errors.Is(err, ErrCancelled) || !errors.As(err, new(*PartialCutError)) {
		t.Errorf("%v", err)
	}
	r.idle()
	for i := range 2 {
		if s := r.status(i); s.State != job.Stopped || r.w.Rank(i).ParkAt() != abi.Never {
			t.Errorf("rank %d is %s, and to park at %d", i, s.State, r.w.Rank(i).ParkAt())
		}
	}
	close(ready)
	r.must(r.over(r.c.RunTo("", []uint64{2, 2})))
	r.wantAt(1, 2, backend.ReasonStopPoint)
}

func TestRunToRefuses(t *testing.T) {
	r := replayed(t, programs(program(2), program(2)), "sn", "rn")
	for _, c := range []struct {
		at   string
		cut  []uint64
		want string
	}{
		{"", []uint64{0, 1}, "The nearest consistent cuts are [0 0], earlier, and [1 1], later"},
		{"", []uint64{0, 1, 2}, "3"},
		{"7:1", nil, "7"},
		{"1", nil, "1"},
		{"", []uint64{9, 9}, "9"},
	} {
		err := r.over(r.c.RunTo(c.at, c.cut))
		if _, refused := errors.AsType[*RefusedError](err); !refused || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%v: %v, want %q", c.at, c.cut, err, c.want)
		}
	}
	if n := r.w.Rank(0).Called(jobtest.Resume); n != 0 {
		t.Errorf("rank 0 was resumed %d times", n)
	}
}

// Each call is looked at while its rank is stopped at its end.
func TestVisit(t *testing.T) {
	// Rank 1 posts, then tells rank 0, which sends only then.
	r := replayed(t, programs(program(2), program(3)), "rs", "isw")
	var seen []string
	look := func(_ context.Context, i int) error {
		seen = append(seen, fmt.Sprintf("%d: %d %d", i, r.w.Rank(0).Position(), r.w.Rank(1).Position()))
		return nil
	}
	r.must(r.over(r.c.Visit([]causal.EventID{ev(0, 2), ev(1, 1)}, look)))
	wantText(t, "visits", strings.Join(seen, ", "), "1: 0 1, 0: 2 2")
	err := r.over(r.c.Visit([]causal.EventID{ev(0, 2)}, look))
	if _, refused := errors.AsType[*RefusedError](err); !refused || !strings.Contains(err.Error(),
		"left the call of event 0:2") {
		t.Errorf("a call that was left: %v", err)
	}
	r.resume(r.j.All(), backend.Continue)
	if err := r.over(r.c.Visit([]causal.EventID{ev(1, 3)}, look)); err == nil ||
		!strings.Contains(err.Error(), "are running: pause them first") {
		t.Errorf("from ranks that run: %v", err)
	}
}
