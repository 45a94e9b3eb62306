package job

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/rankset"
)

const src = "/src/main.c"

// patience bounds every wait of a test; nothing waits that long unless it is broken.
const patience = 2 * time.Minute

// A bench is a job over scripted ranks, and its stream.
type bench struct {
	t   *testing.T
	ctx context.Context
	w   *jobtest.World
	j   *Job
	sub *Subscription
	// seen are all events that were read.
	seen []Event
}

// newBench makes a job of n scripted ranks, attached and not launched. setup may change the ranks first.
func newBench(t *testing.T, n int, o Options, setup func(*jobtest.World)) *bench {
	t.Helper()
	t.Cleanup(func() {
		goleak.VerifyNone(t, // synctest's own goroutines end after the test's; it looks for leaks itself
			goleak.IgnoreAnyFunction("internal/synctest.Run"),
			goleak.IgnoreAnyFunction("testing/synctest.testingSynctestTest"))
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	w := jobtest.New(n)
	t.Cleanup(w.Close)
	if setup != nil {
		setup(w)
	}
	o.Ranks = n
	j := New(o)
	t.Cleanup(j.Close)
	sub := j.Subscribe(Everything)
	t.Cleanup(sub.Close)
	b := &bench{t: t, ctx: ctx, w: w, j: j, sub: sub}
	for i, f := range w.Ranks() {
		if err := j.Attach(i, f, Info{Host: "host"}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// launched is newBench with all ranks at their entry.
func launched(t *testing.T, n int, o Options, setup func(*jobtest.World)) *bench {
	t.Helper()
	b := newBench(t, n, o, setup)
	b.must(b.j.Launch(b.ctx, backend.LaunchRequest{Program: "./prog", HasControl: true}))
	b.idle()
	b.drain()
	return b
}

// drain reads the stream up to what has happened by now.
func (b *bench) drain() {
	b.t.Helper()
	b.must(b.j.ReportProgress(Progress{ID: "drain"}))
	b.until("the mark", func(e Event) bool { return e.Progress != nil && e.Progress.ID == "drain" })
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
	sts, err := b.j.Status()
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, s := range sts {
		lines = append(lines, s.State.String()+": "+s.Text)
	}
	return strings.Join(lines, "\n")
}

// until reads the stream up to the first event that match accepts.
func (b *bench) until(what string, match func(Event) bool) Event {
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

// untilState reads up to a rank's change to a state.
func (b *bench) untilState(rank int, s RankState) RankStatus {
	b.t.Helper()
	e := b.until("rank in state "+s.String(), func(e Event) bool {
		return e.RankChanged != nil && e.RankChanged.Rank == rank && e.RankChanged.State == s
	})
	return *e.RankChanged
}

// untilNow is untilState, unless the rank is in that state already.
func (b *bench) untilNow(rank int, s RankState) {
	b.t.Helper()
	if b.status(rank).State != s {
		b.untilState(rank, s)
	}
}

func (b *bench) status(rank int) RankStatus {
	b.t.Helper()
	s, err := b.j.Status()
	b.must(err)
	return s[rank]
}

func (b *bench) resume(ranks rankset.Set, kind backend.ResumeKind) rankset.Set {
	b.t.Helper()
	got, err := b.j.Resume(b.ctx, ranks, backend.ResumeRequest{Kind: kind})
	b.must(err)
	return got
}

func (b *bench) breakAt(line int, mode Mode, ranks rankset.Set) []BreakpointStatus {
	b.t.Helper()
	st, err := b.j.SetBreakpoints(b.ctx, src,
		[]Breakpoint{{ID: line, Source: src, Line: line, Mode: mode, Ranks: ranks}})
	b.must(err)
	return st
}

// each gives every rank the same program.
func each(steps ...jobtest.Step) func(*jobtest.World) {
	return func(w *jobtest.World) {
		for _, f := range w.Ranks() {
			f.Program = steps
		}
	}
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}
