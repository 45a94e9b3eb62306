package replayctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

const src = "/src/main.c"

// patience bounds every wait of a test; nothing waits that long unless it is broken.
const patience = 2 * time.Minute

// A bench is a Controller of a job over scripted ranks, and the job's stream.
type bench struct {
	t    *testing.T
	ctx  context.Context
	w    *jobtest.World
	j    *job.Job
	c    *Controller
	sub  *job.Subscription
	seen []job.Event // that were read
}

// launched is a bench of n ranks at their entry. setup may change the ranks first.
func launched(t *testing.T, n int, setup func(*jobtest.World)) *bench {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	w := jobtest.New(n)
	t.Cleanup(w.Close)
	setup(w)
	j := job.New(job.Options{Ranks: n})
	t.Cleanup(j.Close)
	b := &bench{t: t, ctx: ctx, w: w, j: j, c: New(Options{Job: j}), sub: j.Subscribe(job.Everything)}
	t.Cleanup(b.c.Close)
	t.Cleanup(b.sub.Close)
	for i, f := range w.Ranks() {
		b.must(j.Attach(i, f, job.Info{Host: "host"}))
	}
	b.must(j.Launch(ctx, backend.LaunchRequest{Program: "./prog", HasControl: true}))
	b.idle()
	b.drain()
	return b
}

// drain reads the stream up to what has happened by now.
func (b *bench) drain() {
	b.t.Helper()
	b.must(b.j.ReportProgress(job.Progress{ID: "drain"}))
	b.until("the mark", func(e job.Event) bool { return e.Progress != nil && e.Progress.ID == "drain" })
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// idle waits until the job is idle.
func (b *bench) idle() {
	b.t.Helper()
	if err := b.j.WaitIdle(b.ctx); err != nil {
		b.t.Fatalf("waiting for idle: %v\n%s", err, b.statusText())
	}
}

func (b *bench) statusText() string {
	all, err := b.j.Status()
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, s := range all {
		lines = append(lines, s.State.String()+": "+s.Text)
	}
	return strings.Join(lines, "\n")
}

// until reads the stream up to the first event that match accepts.
func (b *bench) until(what string, match func(job.Event) bool) job.Event {
	b.t.Helper()
	for {
		select {
		case e, ok := <-b.sub.Events():
			if !ok {
				b.t.Fatalf("the stream ended before %s", what)
			}
			b.seen = append(b.seen, e)
			if match(e) {
				return e
			}
		case <-b.ctx.Done():
			b.t.Fatalf("%s did not come\n%s", what, b.statusText())
		}
	}
}

func (b *bench) untilState(rank int, s job.RankState) {
	b.t.Helper()
	b.until("rank in state "+s.String(), func(e job.Event) bool {
		return e.RankChanged != nil && e.RankChanged.Rank == rank && e.RankChanged.State == s
	})
}

// untilParked reads the stream until the ranks have been shown as parked.
func (b *bench) untilParked(ranks ...int) {
	b.t.Helper()
	left := rankset.New(ranks...)
	for !left.Empty() {
		e := b.until("ranks "+left.String()+" park", func(e job.Event) bool {
			return e.RankChanged != nil && e.RankChanged.State == job.Running &&
				e.RankChanged.Control.State == abi.StateParked
		})
		left = left.Without(e.RankChanged.Rank)
	}
}

func (b *bench) status(rank int) job.RankStatus {
	b.t.Helper()
	s, err := b.j.Status()
	b.must(err)
	return s[rank]
}

func (b *bench) resume(ranks rankset.Set, kind backend.ResumeKind) {
	b.t.Helper()
	_, err := b.j.Resume(b.ctx, ranks, backend.ResumeRequest{Kind: kind})
	b.must(err)
}

func (b *bench) breakAt(line int, mode job.Mode, ranks rankset.Set) {
	b.t.Helper()
	_, err := b.j.SetBreakpoints(b.ctx, src,
		[]job.Breakpoint{{ID: line, Source: src, Line: line, Mode: mode, Ranks: ranks}})
	b.must(err)
}

// settled waits, from beside the test, until a rank has parked or goes no further.
func (b *bench) settled(rank int) error {
	_, err := b.w.Rank(rank).Control(b.ctx, backend.ControlRequest{Wait: true})
	return err
}

// moveTo goes to a cut, without abandoning it on the way.
func (b *bench) moveTo(ctx context.Context, leader int, positions ...uint64) error {
	b.t.Helper()
	to := target{at: "1:3", cut: positions, leader: leader}
	if leader >= 0 {
		to.guard = positions[leader]
	}
	return b.c.moveTo(ctx, to)
}

func (b *bench) runToCut(leader int, positions ...uint64) error {
	b.t.Helper()
	err := b.moveTo(b.ctx, leader, positions...)
	if err == nil {
		e := b.until("the cut", func(e job.Event) bool { return e.Cut != nil })
		if e.Cut.At != "1:3" || e.Cut.Leader != leader || !slices.Equal(e.Cut.Positions, positions) {
			b.t.Errorf("another cut is told: %+v", e.Cut)
		}
	}
	return err
}

// wantAt checks where a rank is stopped.
func (b *bench) wantAt(rank int, position uint64, reason backend.Reason) {
	b.t.Helper()
	s := b.status(rank)
	if s.State != job.Stopped || s.Stop.Reason != reason || s.Control.Events != position ||
		b.w.Rank(rank).Position() != position {
		b.t.Errorf("rank %d is %s after event %d, want it stopped (%s) after event %d: %s",
			rank, s.State, b.w.Rank(rank).Position(), reason, position, s.Text)
	}
}

func (b *bench) wantPartial(err error, stopped string) *PartialCutError {
	b.t.Helper()
	var partial *PartialCutError
	if !errors.As(err, &partial) {
		b.t.Fatalf("got %v, want a PartialCutError", err)
	}
	if got := fmt.Sprint(partial.Stopped); got != stopped {
		b.t.Errorf("because of\n %s\nwant\n %s", got, stopped)
	}
	return partial
}

// program is MPI_Init, n events with a line of source after each (line 100+event), and more.
func program(n int, more ...jobtest.Step) []jobtest.Step {
	out := []jobtest.Step{jobtest.Init(), jobtest.Line(src, 100)}
	for i := 1; i <= n; i++ {
		out = append(out, jobtest.MPI("MPI_Send"), jobtest.Line(src, 100+i))
	}
	return append(out, more...)
}

func programs(ps ...[]jobtest.Step) func(*jobtest.World) {
	return func(w *jobtest.World) {
		for r, p := range ps {
			w.Rank(r).Program = p
		}
	}
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}
