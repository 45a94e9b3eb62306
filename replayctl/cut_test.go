package replayctl

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

func TestRunToCut(t *testing.T) {
	b := launched(t, 4, programs(program(5), program(5), program(5), program(5)))
	b.breakAt(103, job.ModeCausal, rankset.New(1))
	b.drain()
	b.seen = nil
	b.must(b.runToCut(1, 2, 3, 0, 5))
	b.idle()
	b.drain()
	b.wantAt(0, 2, backend.ReasonStopPoint)
	b.wantAt(1, 3, backend.ReasonBreakpoint)
	b.wantAt(2, 0, backend.ReasonStopPoint)
	b.wantAt(3, 5, backend.ReasonStopPoint)
	wantText(t, "text", b.status(0).Text,
		"Rank 0 is at its causal position, after event 2 (MPI_Send) in main (main.c:101).")
	if g := b.w.Rank(1).GuardAt(); g != abi.Never {
		t.Errorf("the leader's guard is still there: %d", g)
	}
}

// All ranks but 1 stop for good only after rank 1 has received what rank 0 holds back in its MPI library: the deadlock
// argument of reach.
func TestRanksAtTheirPositionsGiveProgress(t *testing.T) {
	parked := make(chan struct{})
	b := launched(t, 2, programs(
		program(1),
		[]jobtest.Step{jobtest.Init(), jobtest.Block("MPI_Recv", parked), jobtest.Receive(0, 1), jobtest.Line(src, 7)},
	))
	b.breakAt(7, job.ModeCausal, rankset.New(1))
	b.drain()
	go func() {
		// Only when rank 0 has parked does rank 1 begin to receive.
		if s, err := b.w.Rank(0).Control(b.ctx, backend.ControlRequest{Wait: true}); err == nil &&
			s.State == abi.StateParked {
			close(parked)
		}
	}()
	b.must(b.runToCut(1, 1, 1))
	b.wantAt(0, 1, backend.ReasonStopPoint)
	b.wantAt(1, 1, backend.ReasonBreakpoint)
}

// The leader too must not be frozen at its breakpoint while another needs its progress.
func TestTheLeaderParksBeforeItsBreakpoint(t *testing.T) {
	parked := make(chan struct{})
	b := launched(t, 2, programs(
		[]jobtest.Step{jobtest.Init(), jobtest.MPI("MPI_Isend"), jobtest.Line(src, 7)},
		[]jobtest.Step{
			jobtest.Init(), jobtest.Block("MPI_Recv", parked), jobtest.Receive(0, 1), jobtest.Line(src, 8),
			jobtest.Block("", nil),
		},
	))
	b.breakAt(7, job.ModeCausal, rankset.New(0))
	go func() {
		if s, err := b.w.Rank(0).Control(b.ctx, backend.ControlRequest{Wait: true}); err == nil &&
			s.State == abi.StateParked {
			close(parked)
		}
	}()
	b.must(b.runToCut(0, 1, 1))
	b.wantAt(0, 1, backend.ReasonBreakpoint)
	b.wantAt(1, 1, backend.ReasonStopPoint)
}

func TestRunToCutWithoutALeader(t *testing.T) {
	b := launched(t, 3, programs(program(5), program(5), program(5)))
	b.must(b.runToCut(-1, 1, 2, 3))
	for r := range 3 {
		b.wantAt(r, uint64(r+1), backend.ReasonStopPoint)
	}
	// And on from there; ranks 1 and 2 stay, in their parking loops meanwhile.
	b.must(b.runToCut(-1, 4, 2, 3))
	b.wantAt(0, 4, backend.ReasonStopPoint)
	b.wantAt(1, 2, backend.ReasonStopPoint)
	b.wantAt(2, 3, backend.ReasonStopPoint)
	if b.w.Rank(1).ParkAt() != abi.Never {
		t.Error("a rank at its position is to park again")
	}
}

func TestALeaderAtItsPositionIsResumedLast(t *testing.T) {
	b := launched(t, 3, programs(program(5), program(5), program(5)))
	b.must(b.runToCut(-1, 1, 1, 1))
	// A step takes it out of the stop point: now it stands in its own code, and cannot park there.
	_, err := b.j.Resume(b.ctx, rankset.New(1), backend.ResumeRequest{Kind: backend.Next})
	b.must(err)
	b.idle()
	resumed := b.w.Rank(1).Called(jobtest.Resume)
	b.w.Rank(1).On(jobtest.Resume, func(context.Context) error {
		for _, r := range []int{0, 2} {
			if p := b.w.Rank(r).Position(); p != 3 {
				t.Errorf("the leader continues while rank %d is after event %d", r, p)
			}
		}
		return nil
	})
	b.must(b.runToCut(1, 3, 1, 3))
	b.wantAt(1, 1, backend.ReasonStopPoint) // the guard
	b.wantAt(0, 3, backend.ReasonStopPoint)
	if n := b.w.Rank(1).Called(jobtest.Resume); n != resumed+1 {
		t.Errorf("the leader was resumed %d times", n-resumed)
	}
}

func TestTheGuardStopsALeaderWithoutABreakpoint(t *testing.T) {
	b := launched(t, 2, programs(program(5), program(5)))
	b.must(b.runToCut(0, 3, 1))
	b.wantAt(0, 3, backend.ReasonStopPoint)
	wantText(t, "text", b.status(0).Text, "Rank 0 is about to begin event 4 (MPI_Send) in main (main.c:103), and "+
		"goes no further because the cut ends before it.")
	b.breakAt(105, job.ModeRank, rankset.New(0))
	b.drain()
	b.resume(rankset.New(0), backend.Continue) // the guard is gone
	b.untilState(0, job.Stopped)
	b.wantAt(0, 5, backend.ReasonBreakpoint)
}

func TestRunningRanksAreStoppedFirst(t *testing.T) {
	ready := make(chan struct{})
	b := launched(t, 2, programs(
		[]jobtest.Step{jobtest.Init(), jobtest.MPI("MPI_Send"), jobtest.Block("MPI_Recv", ready), jobtest.Events(3)},
		program(4),
	))
	b.resume(rankset.New(0), backend.Continue)
	b.w.Rank(1).On(jobtest.Resume, func(context.Context) error { close(ready); return nil })
	b.must(b.runToCut(-1, 3, 2))
	b.wantAt(0, 3, backend.ReasonStopPoint)
	b.wantAt(1, 2, backend.ReasonStopPoint)
}

func TestRanksThatHaveEndedBelongToTheCut(t *testing.T) {
	b := launched(t, 5, programs(
		program(3),
		program(2, jobtest.Finalize(), jobtest.Exit(0)), // has ended before
		// ends on the way: Finalize is event 3, and nothing parks after it
		program(2, jobtest.Finalize(), jobtest.Exit(0)),
		[]jobtest.Step{jobtest.Exit(7)},                           // never initialises MPI
		program(1, jobtest.Finalize(), jobtest.Block("exp", nil)), // continues without MPI
	))
	b.resume(rankset.New(1), backend.Continue)
	b.untilState(1, job.Exited)
	b.must(b.moveTo(b.ctx, -1, 2, 3, 3, 0, 2))
	cut := b.until("the cut", func(e job.Event) bool { return e.Cut != nil }).Cut
	if cut.Finished.String() != "1-3" {
		t.Errorf("finished: %s", cut.Finished)
	}
	b.wantAt(0, 2, backend.ReasonStopPoint)
	b.wantAt(4, 2, backend.ReasonPause)
	if s := b.status(3); s.State != job.Exited || s.Exit.Code != 7 {
		t.Errorf("%+v", s)
	}
	// An ended rank cannot be before its position.
	err := b.runToCut(-1, 2, 2, 3, 0, 2)
	if !errors.As(err, new(*RefusedError)) || !strings.Contains(err.Error(), "[1] it has completed 3 events already") {
		t.Errorf("%v", err)
	}
}

// After a cut was given up, ranks wait in their parking loops: another cut takes them on, and so does Resume after a
// pause.
func TestParkedRanksGoOn(t *testing.T) {
	setup := func(t *testing.T) *bench {
		b := launched(t, 3, programs(program(9, jobtest.Block("MPI_Wait", nil)), program(9), program(9)))
		b.breakAt(101, job.ModeRank, rankset.New(1))
		b.w.Rank(1).On(jobtest.Resume, func(context.Context) error {
			for _, r := range []int{0, 2} {
				if _, err := b.w.Rank(r).Control(b.ctx, backend.ControlRequest{Wait: true}); err != nil {
					return err
				}
			}
			return nil
		})
		b.wantPartial(b.runToCut(-1, 2, 4, 3), "map[1:Rank 1 hit breakpoint 101 in main (main.c:101).]")
		b.w.Rank(1).On(jobtest.Resume, nil)
		b.untilParked(0, 2)
		wantText(t, "text", b.status(0).Text,
			"Rank 0 waits at its position, after event 2, until the others have reached theirs.")
		return b
	}
	t.Run("to a later cut", func(t *testing.T) {
		b := setup(t)
		b.must(b.runToCut(-1, 5, 4, 6))
		for r, p := range []uint64{5, 4, 6} {
			b.wantAt(r, p, backend.ReasonStopPoint)
		}
	})
	t.Run("to a later cut, from a pause in the loop", func(t *testing.T) {
		b := setup(t)
		b.must(b.j.Interrupt(b.ctx, rankset.New(0)))
		b.idle()
		b.wantAt(0, 2, backend.ReasonPause)
		b.must(b.runToCut(-1, 5, 4, 6))
		for r, p := range []uint64{5, 4, 6} {
			b.wantAt(r, p, backend.ReasonStopPoint)
		}
	})
	t.Run("to an earlier position", func(t *testing.T) {
		b := setup(t)
		if err := b.runToCut(-1, 1, 4, 6); !errors.As(err, new(*RefusedError)) ||
			!strings.Contains(err.Error(), "[0] it has completed 2 events already") {
			t.Errorf("%v", err)
		}
	})
	t.Run("by pause and resume", func(t *testing.T) {
		b := setup(t)
		b.must(b.j.Interrupt(b.ctx, rankset.New(0)))
		b.idle()
		b.must(b.j.Interrupt(b.ctx, rankset.New(0))) // no effect on a stopped one
		b.resume(rankset.New(0), backend.Continue)
		b.must(b.w.Rank(0).WaitIn(b.ctx, "MPI_Wait")) // it has got out of the loop
	})
	t.Run("as the leader", func(t *testing.T) {
		b := setup(t)
		b.breakAt(102, job.ModeCausal, rankset.New(0))
		b.must(b.runToCut(0, 2, 4, 3))
		b.wantAt(0, 2, backend.ReasonBreakpoint)
	})
}

func TestTheEndOfTheRecordingAtThePositionIsAnArrival(t *testing.T) {
	// A rank that cannot park at its last event, because it was before MPI_Init when the recording was cut short.
	b := launched(t, 2, programs(program(5), []jobtest.Step{jobtest.RecordingEnds()}))
	b.must(b.runToCut(-1, 2, 0))
	b.wantAt(0, 2, backend.ReasonStopPoint)
	b.wantAt(1, 0, backend.ReasonStopPoint)
}

// A rank that an earlier cut stopped parks again, and so gives progress: rank 1 gets the message that is still in the
// MPI library of rank 0.
func TestARankOfAnEarlierCutGivesProgress(t *testing.T) {
	b := launched(t, 2,
		programs(program(3), []jobtest.Step{jobtest.Init(), jobtest.MPI("MPI_Send"), jobtest.Receive(0, 1)}))
	b.must(b.runToCut(-1, 1, 1))
	b.must(b.runToCut(-1, 1, 2))
	b.wantAt(0, 1, backend.ReasonStopPoint)
	b.wantAt(1, 2, backend.ReasonStopPoint)
}

// Random programs whose receives depend on earlier events of other ranks, run to a random consistent cut and then to a
// later one, with any rank as the leader. The oracle is the order of events in which the program was drawn: a prefix of
// it is a consistent cut.
func TestRandomCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "ranks")
		total := rapid.IntRange(2*n, 24).Draw(t, "events")
		w := jobtest.New(n)
		defer w.Close()
		counts := make([]uint64, n)
		var cuts [][]uint64 // counts after each event
		cuts = append(cuts, slices.Clone(counts))
		for _, f := range w.Ranks() {
			f.Program = []jobtest.Step{jobtest.Init(), jobtest.Line(src, 1)}
		}
		for i := range total {
			r := rapid.IntRange(0, n-1).Draw(t, "rank")
			if i >= total-n {
				r = i - (total - n) // each rank has at least one event, at the end
			}
			step := jobtest.MPI("MPI_Isend")
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			if from != r && counts[from] > 0 && rapid.Bool().Draw(t, "receives") {
				step = jobtest.Receive(from, uint64(rapid.IntRange(1, int(counts[from])).Draw(t, "sent")))
			}
			counts[r]++
			w.Rank(r).Program = append(w.Rank(r).Program, step, jobtest.Line(src, int(counts[r])+1))
			cuts = append(cuts, slices.Clone(counts))
		}
		for _, f := range w.Ranks() {
			f.Program = append(f.Program, jobtest.MPI("MPI_Barrier")) // something for the guard to stop at
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		j := job.New(job.Options{Ranks: n})
		defer j.Close()
		c := New(Options{Job: j})
		for i, f := range w.Ranks() {
			if err := j.Attach(i, f, job.Info{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Launch(ctx, backend.LaunchRequest{}); err != nil {
			t.Fatal(err)
		}
		to := func(cut []uint64) {
			leader := rapid.IntRange(-1, n-1).Draw(t, "leader")
			to := target{cut: cut, leader: leader}
			if leader >= 0 {
				to.guard = cut[leader]
				bp := []job.Breakpoint{{ID: 1, Source: src, Line: int(cut[leader]) + 1, Ranks: rankset.New(leader)}}
				if rapid.Bool().Draw(t, "only the guard") {
					bp = nil
				}
				if _, err := j.SetBreakpoints(ctx, src, bp); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.reach(ctx, to); err != nil {
				t.Fatalf("to %v: %v", cut, err)
			}
			status, err := j.Status()
			if err != nil {
				t.Fatal(err)
			}
			for r, s := range status {
				if s.State != job.Stopped || w.Rank(r).Position() != cut[r] || s.Control.Events != cut[r] {
					t.Fatalf("to %v: rank %d is %s after event %d", cut, r, s.State, w.Rank(r).Position())
				}
			}
		}
		first := rapid.IntRange(0, total-n).Draw(t, "first")
		to(cuts[first])
		// A later cut at which every rank has moved: one that stood still could not give the others progress, which
		// reach documents.
		for _, cut := range cuts[first:] {
			moved := true
			for r := range cut {
				moved = moved && cut[r] > cuts[first][r]
			}
			if moved {
				to(cut)
				return
			}
		}
	})
}
