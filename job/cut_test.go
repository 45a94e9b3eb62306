package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

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

// wantAt checks where a rank stands.
func (b *bench) wantAt(rank int, position uint64, reason backend.Reason) {
	b.t.Helper()
	s := b.status(rank)
	if s.State != Stopped || s.Stop.Reason != reason || s.Control.Events != position ||
		b.w.Rank(rank).Position() != position {
		b.t.Errorf("rank %d is %s (%s) after event %d, want it stopped (%s) after event %d: %s",
			rank, s.State, reasonOf(s), b.w.Rank(rank).Position(), reason, position, s.Text)
	}
}

func reasonOf(s RankStatus) backend.Reason {
	if s.Stop == nil {
		return ""
	}
	return s.Stop.Reason
}

func (b *bench) runToCut(leader int, positions ...uint64) error {
	b.t.Helper()
	req := RunToCutRequest{At: "1:3", Positions: positions, Leader: leader, GuardLeader: abi.Never}
	if leader >= 0 {
		req.GuardLeader = positions[leader]
	}
	cut, err := b.j.RunToCut(b.ctx, req)
	if err == nil && (cut.At != "1:3" || cut.Leader != leader || !slices.Equal(cut.Positions, positions)) {
		b.t.Errorf("the answer is about another cut: %+v", cut)
	}
	return err
}

// untilParked reads the stream until the ranks have been shown as parked.
func (b *bench) untilParked(ranks ...int) {
	b.t.Helper()
	left := rankset.New(ranks...)
	for !left.Empty() {
		e := b.until("ranks "+left.String()+" park", func(e Event) bool {
			return e.RankChanged != nil && e.RankChanged.State == Running &&
				e.RankChanged.Control.State == abi.StateParked
		})
		left = left.Without(e.RankChanged.Rank)
	}
}

func TestRunToCut(t *testing.T) {
	b := launched(t, 4, Options{}, programs(program(5), program(5), program(5), program(5)))
	b.breakAt(103, ModeCausal, rankset.New(1))
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
	var kinds []string
	for _, e := range b.seen {
		switch {
		case e.Cut != nil:
			kinds = append(kinds, fmt.Sprintf("cut %s %v", e.Cut.At, e.Cut.Positions))
		case e.Idle:
			kinds = append(kinds, "idle")
		}
	}
	if got := fmt.Sprint(kinds); got != "[cut 1:3 [2 3 0 5] idle]" {
		t.Errorf("published: %s", got)
	}
}

// All ranks but 1 stop for good only after rank 1 has received what rank 0 holds back in its MPI library: the deadlock
// argument of RunToCut.
func TestRanksAtTheirPositionsGiveProgress(t *testing.T) {
	parked := make(chan struct{})
	b := launched(t, 2, Options{}, programs(
		program(1),
		[]jobtest.Step{jobtest.Init(), jobtest.Block("MPI_Recv", parked), jobtest.Receive(0, 1), jobtest.Line(src, 7)},
	))
	b.breakAt(7, ModeCausal, rankset.New(1))
	b.drain()
	go func() {
		// Only when rank 0 has parked does rank 1 begin to receive.
		if s, err := b.w.Rank(0).Control(b.ctx, backend.ControlRequest{Wait: 1 << abi.StateParked}); err == nil &&
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
	b := launched(t, 2, Options{}, programs(
		[]jobtest.Step{jobtest.Init(), jobtest.MPI("MPI_Isend"), jobtest.Line(src, 7)},
		[]jobtest.Step{
			jobtest.Init(), jobtest.Block("MPI_Recv", parked), jobtest.Receive(0, 1), jobtest.Line(src, 8),
			jobtest.Block("", nil),
		},
	))
	b.breakAt(7, ModeCausal, rankset.New(0))
	go func() {
		if s, err := b.w.Rank(0).Control(b.ctx, backend.ControlRequest{Wait: 1 << abi.StateParked}); err == nil &&
			s.State == abi.StateParked {
			close(parked)
		}
	}()
	b.must(b.runToCut(0, 1, 1))
	b.wantAt(0, 1, backend.ReasonBreakpoint)
	b.wantAt(1, 1, backend.ReasonStopPoint)
}

func TestRunToCutWithoutALeader(t *testing.T) {
	b := launched(t, 3, Options{}, programs(program(5), program(5), program(5)))
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
	b := launched(t, 3, Options{}, programs(program(5), program(5), program(5)))
	b.must(b.runToCut(-1, 1, 1, 1))
	// A step takes it out of the stop point: now it stands in its own code, and cannot park there.
	_, err := b.j.Resume(b.ctx, rankset.New(1), backend.Next, 0)
	b.must(err)
	b.idle()
	resumed := b.w.Rank(1).Called(jobtest.Resume)
	b.w.Rank(1).On(jobtest.Resume, func(context.Context) error {
		for _, r := range []int{0, 2} {
			if p := b.w.Rank(r).Position(); p != 3 {
				t.Errorf("the leader goes on while rank %d is after event %d", r, p)
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
	b := launched(t, 2, Options{}, programs(program(5), program(5)))
	b.must(b.runToCut(0, 3, 1))
	b.wantAt(0, 3, backend.ReasonStopPoint)
	wantText(t, "text", b.status(0).Text, "Rank 0 is about to begin event 4 (MPI_Send) in main (main.c:103), and "+
		"goes no further because the cut ends before it.")
	b.breakAt(105, ModeRank, rankset.New(0))
	b.drain()
	b.resume(rankset.New(0), backend.Continue) // the guard is gone
	b.untilState(0, Stopped)
	b.wantAt(0, 5, backend.ReasonBreakpoint)
}

func TestRunningRanksAreStoppedFirst(t *testing.T) {
	ready := make(chan struct{})
	b := launched(t, 2, Options{}, programs(
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
	b := launched(t, 5, Options{}, programs(
		program(3),
		program(2, jobtest.Finalize(), jobtest.Exit(0)), // has ended before
		// ends on the way: Finalize is event 3, and nothing parks after it
		program(2, jobtest.Finalize(), jobtest.Exit(0)),
		[]jobtest.Step{jobtest.Exit(7)},                           // never initialises MPI
		program(1, jobtest.Finalize(), jobtest.Block("exp", nil)), // goes on without MPI
	))
	b.resume(rankset.New(1), backend.Continue)
	b.untilState(1, Exited)
	cut, err := b.j.RunToCut(b.ctx, RunToCutRequest{Positions: []uint64{2, 3, 3, 0, 2}, Leader: -1})
	b.must(err)
	if cut.Finished.String() != "1-3" {
		t.Errorf("finished: %s", cut.Finished)
	}
	b.wantAt(0, 2, backend.ReasonStopPoint)
	b.wantAt(4, 2, backend.ReasonPause)
	if s := b.status(3); s.State != Exited || s.Exit.Code != 7 {
		t.Errorf("%+v", s)
	}
	// An ended rank cannot be before its position.
	err = b.runToCut(-1, 2, 2, 3, 0, 2)
	var beyond *BeyondPositionError
	if !errors.As(err, &beyond) || beyond.Rank != 1 {
		t.Errorf("%v", err)
	}
}

// After a cut was given up, ranks wait in their parking loops: another cut takes them on, and so does Resume after a
// pause.
func TestParkedRanksGoOn(t *testing.T) {
	setup := func(t *testing.T) *bench {
		b := launched(t, 3, Options{}, programs(program(9, jobtest.Block("MPI_Wait", nil)), program(9), program(9)))
		b.breakAt(101, ModeRank, rankset.New(1))
		b.w.Rank(1).On(jobtest.Resume, func(context.Context) error {
			for _, r := range []int{0, 2} {
				if _, err := b.w.Rank(r).Control(b.ctx, backend.ControlRequest{Wait: 1 << abi.StateParked}); err != nil {
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
		var beyond *BeyondPositionError
		if err := b.runToCut(-1, 1, 4, 6); !errors.As(err, &beyond) || beyond.Rank != 0 {
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
		b.breakAt(102, ModeCausal, rankset.New(0))
		b.must(b.runToCut(0, 2, 4, 3))
		b.wantAt(0, 2, backend.ReasonBreakpoint)
	})
}

func TestTheEndOfTheRecordingAtThePositionIsAnArrival(t *testing.T) {
	// A rank that cannot park at its last event, because it was before MPI_Init when the recording was cut short.
	b := launched(t, 2, Options{}, programs(program(5), []jobtest.Step{jobtest.RecordingEnds()}))
	b.must(b.runToCut(-1, 2, 0))
	b.wantAt(0, 2, backend.ReasonStopPoint)
	b.wantAt(1, 0, backend.ReasonStopPoint)
}

// A rank that an earlier cut stopped parks again, and so gives progress: rank 1 gets the message that is still in the
// MPI library of rank 0.
func TestARankOfAnEarlierCutGivesProgress(t *testing.T) {
	b := launched(t, 2, Options{},
		programs(program(3), []jobtest.Step{jobtest.Init(), jobtest.MPI("MPI_Send"), jobtest.Receive(0, 1)}))
	b.must(b.runToCut(-1, 1, 1))
	b.must(b.runToCut(-1, 1, 2))
	b.wantAt(0, 1, backend.ReasonStopPoint)
	b.wantAt(1, 2, backend.ReasonStopPoint)
}

// The gap in the deadlock argument: rank 0 stands stopped in its own code with a message in its MPI library, and rank 1
// needs it. The error says so.
