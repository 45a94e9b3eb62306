package pmpi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
)

// TestThreadMultiple: a program that asks for MPI_THREAD_MULTIPLE is covered as long as its threads' calls do not
// overlap, and refused by name, with the place of the call, when they do.
func TestThreadMultiple(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := testdata(t, mpi, "atonce.c")
		t.Run("main thread only", func(t *testing.T) { exact(t, mpi, 2, abi.ModeOrder, 0, prog) })
		t.Run("racing", func(t *testing.T) { // nothing is recorded, which must not look like nothing to record
			j := newJob(t, mpi, 2, abi.ModeRacing)
			ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
			defer cancel()
			j.launch(ctx, prog)
			if err := <-j.done; err != nil {
				t.Fatalf("%v\n%s", err, j.describe())
			}
			if !strings.Contains(j.output.String(), "provided 1") {
				t.Skip("this MPI does not provide MPI_THREAD_MULTIPLE")
			}
			for rank := range j.ranks {
				h := open(t, j, rank).Header()
				if want := "MPI_THREAD_MULTIPLE in racing mode"; h.Incomplete == 0 || h.IncompleteCall != want {
					t.Errorf("rank %d: %d calls not covered, the first is %q, want %q", rank, h.Incomplete,
						h.IncompleteCall, want)
				}
			}
		})
		t.Run("late", func(t *testing.T) {
			record, again := exact(t, mpi, 3, abi.ModeOrder, 0, prog, "late")
			for _, j := range []*job{record, again} {
				turns, threads := 0, 0
				for _, r := range records(t, j.traceDir, 1) {
					switch r.(type) {
					case *trace.Turn:
						turns++
					case *trace.Thread:
						threads++
					}
				}
				if turns != 40 || threads != 20 {
					t.Errorf("%d turns of %d threads, want 40 of 20", turns, threads)
				}
			}
		})
		t.Run("at once", func(t *testing.T) {
			for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeFull} {
				j := newJob(t, mpi, 2, mode)
				j.start.Flags = abi.FlagYield
				if out := j.run(prog, "at-once"); !strings.Contains(out, "provided 1") {
					t.Skip("this MPI does not provide MPI_THREAD_MULTIPLE")
				}
				p := j.controls[0].Progress()
				if !strings.Contains(p.IncompleteCall, "MPI_THREAD_MULTIPLE") || p.Incomplete == 0 ||
					p.IncompleteEvent == 0 {
					t.Errorf("incomplete: %+v", p)
				}
				noted := false
				for _, r := range records(t, j.traceDir, 0) {
					if n, ok := r.(*trace.Note); ok {
						noted = noted || strings.Contains(n.Call, "MPI_THREAD_MULTIPLE") && n.Site != 0 && n.Event > 0
					}
				}
				if !noted {
					t.Error("the trace has no note with the place of the call")
				}
			}
		})
	})
}

// TestThreadSerialized: the calls of threads that take turns are replayed in their order, each by its thread.
func TestThreadSerialized(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.Build(t, "threads_serialized.c")
		record, _ := exact(t, mpi, 2, abi.ModeOrder, 0, prog, "turns", "10")
		turns := 0
		for _, r := range records(t, record.traceDir, 0) {
			if _, ok := r.(*trace.Turn); ok {
				turns++
			}
		}
		if turns < 20 {
			t.Errorf("%d turns", turns)
		}
	})
}

// TestValuesOfAWaitingThread: what a thread is given while another is inside MPI comes into the trace later, but before
// the thread's own calls.
func TestValuesOfAWaitingThread(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		record, _ := exact(t, mpi, 2, abi.ModeOrder, 0, testdata(t, mpi, "waiting.c"))
		if got := values(t, record.traceDir, 0); got["MPI_Wtime of another thread"] != 101 {
			t.Errorf("recorded: %v", got)
		}
	})
}

// TestThreadsOutOfTurn: the program's locks are not recorded; a replay in which a thread has a lock that the one needs
// whose turn it is does not stand still for ever, but has diverged.
func TestThreadsOutOfTurn(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the 10 s after which nothing is taken to move any more")
	}
	once := true // it takes its time, and the MPI has no part in it
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		if !once {
			t.Skip("tested with another MPI")
		}
		once = false
		prog := testdata(t, mpi, "inversion.c")
		record, _ := exact(t, mpi, 1, abi.ModeOrder, 0, prog)
		p := diverges(t, record, 0, []string{"FIRST=1"}, prog)
		if d := p.Divergence; p.State != abi.StateDiverged ||
			trace.CallName(d.RecordedOp) != "a call of another thread" || trace.CallName(d.ActualOp) != "MPI_Barrier" ||
			d.CallSite == 0 {
			t.Errorf("%+v", p)
		}
	})
}
