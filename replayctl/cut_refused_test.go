package replayctl

import (
	"context"
	"errors"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

func TestARankBeyondItsPositionIsRefusedBeforeAnythingMoves(t *testing.T) {
	b := launched(t, 4, programs(program(5), program(5), program(5), program(2, jobtest.Block("", nil))))
	b.must(b.runToCut(-1, 1, 3, 0, 0))
	b.resume(rankset.New(3), backend.Continue) // rank 3 runs on its own
	b.must(b.w.Rank(3).WaitCalled(b.ctx, jobtest.Resume, 2))
	resumes := []int{
		b.w.Rank(0).Called(jobtest.Resume), b.w.Rank(1).Called(jobtest.Resume),
		b.w.Rank(2).Called(jobtest.Resume),
	}
	err := b.runToCut(-1, 2, 2, 1, 5)
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("%v", err)
	}
	wantText(t, "error", err.Error(), "cannot run to the cut: [1] it has completed 3 events already and its position "+
		"in the cut is 2; a replay does not run backwards, so start it anew to get there")
	b.idle()
	for r := range 3 {
		if b.w.Rank(r).Called(jobtest.Resume) != resumes[r] || b.w.Rank(r).ParkAt() != abi.Never {
			t.Errorf("rank %d was moved", r)
		}
	}
	if s := b.status(3); s.State != job.Running {
		t.Errorf("rank 3 ran before, and is %s", s.State)
	}
}

func TestABreakpointOnTheWayGivesTheCutUp(t *testing.T) {
	ready := make(chan struct{})
	b := launched(t, 3, programs(
		program(5),
		program(5),
		[]jobtest.Step{jobtest.Init(), jobtest.MPI("MPI_Send"), jobtest.Block("", ready), jobtest.Events(4)},
	))
	b.breakAt(101, job.ModeRank, rankset.New(1))
	b.w.Rank(1).On(jobtest.Resume, func(context.Context) error { // so that rank 0 has arrived by then
		_, err := b.w.Rank(0).Control(b.ctx, backend.ControlRequest{Wait: true})
		return err
	})
	err := b.runToCut(-1, 2, 4, 3)
	p := b.wantPartial(err, "map[1:Rank 1 hit breakpoint 101 in main (main.c:101).]")
	if !p.Underway.Contains(2) || p.Underway.Contains(1) || p.Arrived.Contains(1) || p.Cause != nil {
		t.Errorf("%+v", p)
	}
	b.idle() // nothing is pending any more
	if b.w.Rank(2).ParkAt() != 3 || b.w.Rank(1).ParkAt() != 4 {
		t.Error("those that had not arrived have lost their positions")
	}
	b.wantAt(1, 1, backend.ReasonBreakpoint)
	close(ready) // rank 2 continues to its position
	b.untilParked(2)
	b.w.Rank(1).On(jobtest.Resume, nil)

	// The same cut again: 0 and 2 wait at their positions, 1 continues.
	b.must(b.runToCut(-1, 2, 4, 3))
	b.wantAt(0, 2, backend.ReasonStopPoint)
	b.wantAt(1, 4, backend.ReasonStopPoint)
	b.wantAt(2, 3, backend.ReasonStopPoint)
}

func TestWhatElseGivesTheCutUp(t *testing.T) {
	na := -1 << 31
	for _, c := range []struct {
		name  string
		steps []jobtest.Step
		want  string
	}{
		{
			"a signal",
			[]jobtest.Step{jobtest.Signal("SIGSEGV", "Segmentation fault", 0)},
			"Rank 1 received SIGSEGV (Segmentation fault) in main (main.c:101).",
		},
		{"a divergence", []jobtest.Step{jobtest.Diverge(backend.Divergence{
			Event: 2, ActualOp: "MPI_Recv",
			ActualSource: na, ActualTag: na,
		})}, ""},
		{"the end of the recording", []jobtest.Step{jobtest.RecordingEnds()}, ""},
		{
			"a refusal",
			[]jobtest.Step{jobtest.Refuse("The recording is of another rank count.")},
			"Rank 1 cannot continue to event 4: libcohort refused: The recording is of another rank count.",
		},
		{
			"an early exit",
			[]jobtest.Step{jobtest.Exit(3)},
			"Rank 1 exited with code 3 after event 1, and its position is 4.",
		},
		{
			"an early end of MPI",
			[]jobtest.Step{jobtest.Finalize(), jobtest.Block("", nil)},
			"Rank 1 passed its position 4 or cannot reach it: it finished with MPI after event 2.",
		},
		{"a dead debugger", []jobtest.Step{jobtest.DebuggerDies("gdb crashed")}, "Rank 1 is lost: gdb crashed."},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := launched(t, 2, programs(program(5), program(1, c.steps...)))
			err := b.runToCut(-1, 2, 4)
			var partial *PartialCutError
			if !errors.As(err, &partial) || len(partial.Stopped) != 1 || partial.Stopped[1] == "" {
				t.Fatalf("%v", err)
			}
			if c.want != "" {
				wantText(t, "reason", partial.Stopped[1], c.want)
			}
			b.idle()
			// The rank that can continue is usable.
			b.must(b.j.Interrupt(b.ctx, rankset.New(0)))
			b.idle()
			if s := b.status(0); s.State != job.Stopped {
				t.Errorf("rank 0 is %s", s.State)
			}
		})
	}
}

// The gap in the deadlock argument: rank 0 stands stopped in its own code with a message in its MPI library, and rank 1
// needs it. The error says so.
func TestARankThatStandsGivesNoProgress(t *testing.T) {
	b := launched(t, 2,
		programs(program(3), []jobtest.Step{jobtest.Init(), jobtest.MPI("MPI_Send"), jobtest.Receive(0, 1)}))
	b.must(b.runToCut(-1, 1, 1))
	_, err := b.j.Resume(b.ctx, rankset.New(0), backend.ResumeRequest{Kind: backend.Next})
	b.must(err)
	b.idle()
	ctx, cancel := context.WithCancel(b.ctx)
	go func() {
		b.w.Rank(1).WaitIn(b.ctx, "MPI_Recv")
		cancel()
	}()
	err = b.moveTo(ctx, -1, 1, 2)
	b.wantPartial(err, "map[]")
	wantText(t, "error", err.Error(), "the cut was not reached: context canceled. At their positions: [0]. Still on "+
		"their way: [1]. They may wait for MPI progress of ranks that were stopped at their positions: [0].")
}

func TestARankThatDoesNotArriveEndsWithTheContext(t *testing.T) {
	b := launched(t, 3, programs(program(5), program(1, jobtest.Block("MPI_Recv", nil)), program(5)))
	ctx, cancel := context.WithCancel(b.ctx)
	go func() {
		for _, r := range []int{0, 2} {
			b.w.Rank(r).Control(b.ctx, backend.ControlRequest{Wait: true})
		}
		b.w.Rank(1).WaitIn(b.ctx, "MPI_Recv")
		cancel()
	}()
	err := b.moveTo(ctx, -1, 2, 4, 3)
	p := b.wantPartial(err, "map[]")
	if !errors.Is(err, context.Canceled) || !p.Underway.Contains(1) {
		t.Errorf("%v", err)
	}
	b.idle()
}

func TestAFaultyDebuggerOnTheWay(t *testing.T) {
	t.Run("resume fails", func(t *testing.T) {
		b := launched(t, 2, programs(program(5), program(5)))
		b.w.Rank(1).On(jobtest.Resume, jobtest.Fail(errors.New("ptrace failed")))
		b.wantPartial(b.runToCut(-1, 2, 2), "map[1:Rank 1 could not be resumed: ptrace failed.]")
		b.idle()
	})
	t.Run("the position cannot be set", func(t *testing.T) {
		b := launched(t, 2, programs(program(5), program(5)))
		calls := 0
		b.w.Rank(1).On(jobtest.Control, func(context.Context) error {
			calls++
			if calls == 3 { // read for standing still, read for the plan, write
				return errors.New("the page is gone")
			}
			return nil
		})
		err := b.runToCut(-1, 2, 2)
		if err == nil || err.Error() != "run to the cut: cannot set the position: [1] the page is gone" {
			t.Fatalf("%v", err)
		}
		b.idle()
		if b.w.Rank(0).ParkAt() != abi.Never || b.w.Rank(0).Called(jobtest.Resume) != 0 {
			t.Error("rank 0 was moved")
		}
	})
	t.Run("it dies while the rank is parked", func(t *testing.T) {
		b := launched(t, 2, programs(program(5), program(1, jobtest.Block("", nil))))
		go func() {
			b.w.Rank(0).Control(b.ctx, backend.ControlRequest{Wait: true})
			b.w.Rank(0).End("gdb crashed")
		}()
		b.wantPartial(b.runToCut(-1, 2, 2), "map[0:Rank 0 is lost: gdb crashed.]")
		b.idle()
	})
	t.Run("it does not answer the first question", func(t *testing.T) {
		b := launched(t, 2, programs(program(5), program(5)))
		b.w.Rank(1).On(jobtest.Control, b.w.Rank(1).NeverAnswer())
		ctx, cancel := context.WithCancel(b.ctx)
		go func() {
			b.w.Rank(1).WaitCalled(b.ctx, jobtest.Control, 1)
			cancel()
		}()
		if err := b.moveTo(ctx, -1, 2, 4); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		b.idle()
	})
}

func TestARankWithoutAControlBlockIsRefused(t *testing.T) {
	b := launched(t, 3, func(w *jobtest.World) {
		programs(program(5), program(5), program(5))(w)
		w.Rank(2).NoControl = true
	})
	err := b.moveTo(b.ctx, -1, 1, 2, 3)
	if _, refused := errors.AsType[*RefusedError](err); !refused {
		t.Fatalf("%v", err)
	}
	wantText(t, "error", err.Error(),
		"cannot run to the cut: [2] it runs without libcohort's control block, so its position is unknown")
	if n := b.w.Rank(0).Called(jobtest.Resume); n != 0 {
		t.Errorf("rank 0 was resumed %d times", n)
	}
}

func TestAPauseGivesTheCutUp(t *testing.T) {
	b := launched(t, 2, programs(program(5), program(1, jobtest.Block("MPI_Recv", nil))))
	done := make(chan error, 1)
	go func() { done <- b.runToCut(-1, 2, 2) }()
	b.must(b.w.Rank(1).WaitIn(b.ctx, "MPI_Recv"))
	b.must(b.j.Interrupt(b.ctx, rankset.New(1)))
	b.wantPartial(<-done, "map[1:Rank 1 was paused in main (main.c:101).]")
}
