package pmpi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// await waits until the rank is in the state wanted. It fails at once if the job ends first.
func (j *job) await(ctx context.Context, rank int, want abi.State) {
	j.t.Helper()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case err := <-j.done:
			j.done <- err
			cancel(errors.New("the job has ended"))
		case <-stop:
		}
	}()
	c := j.controls[rank]
	if want == abi.StateParked {
		if state, err := c.WaitParked(ctx); err != nil || state != want {
			j.t.Fatalf("waiting for rank %d to park: state %v, %v\n%s", rank, state, err, j.describe())
		}
		return
	}
	for state := c.State(); state != want; {
		next, err := c.WaitChange(ctx, state)
		if err != nil {
			j.t.Fatalf("waiting for rank %d to be %v: %v\n%s", rank, want, err, j.describe())
		}
		state = next
	}
}

func (j *job) finish() {
	j.t.Helper()
	if err := <-j.done; err != nil {
		j.t.Fatalf("%v\n%s", err, j.describe())
	}
}

// end ends a job whose ranks wait to be ended.
func (j *job) end(cancel context.CancelFunc) {
	cancel()
	<-j.done
}

// TestPark parks each rank at another place, sees that they stand exactly there, moves the parks forward and lets them
// go.
func TestPark(t *testing.T) {
	const ranks, steps = 3, 20
	// A consistent cut: rank 1 is past a send that rank 2 has received, so rank 1 must give MPI progress while it
	// stands.
	cut := []uint64{15, 16, 17}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
		defer cancel()
		j := newJob(t, mpi, ranks, abi.ModeOff)
		j.start.ParkAt = 0 // after MPI_Init
		j.start.Flags = abi.FlagYield
		j.launch(ctx, mpi.BuildFile(t, "testdata/steps.c"), "20")
		for rank, c := range j.controls {
			j.await(ctx, rank, abi.StateParked)
			if p := c.Progress(); p.Events != 0 || p.Current != 0 || c.ParkAt() != abi.Never {
				t.Errorf("rank %d, parked after MPI_Init: %+v, park_at %d", rank, p, c.ParkAt())
			}
			c.SetParkAt(cut[rank])
		}
		for _, c := range j.controls {
			c.Release(abi.ReleaseGo)
		}
		for rank, c := range j.controls {
			j.await(ctx, rank, abi.StateParked)
			if got := c.Events(); got != cut[rank] {
				t.Errorf("rank %d parked at %d, not %d", rank, got, cut[rank])
			}
		}
		for _, c := range j.controls {
			c.Release(abi.ReleaseStop) // nobody debugs: it continues
		}
		j.finish()
		for rank, c := range j.controls {
			if p := c.Progress(); p.State != abi.StateFinalized || p.Events != 3*steps+1 {
				t.Errorf("rank %d: %+v", rank, p)
			}
		}
	})
}

// TestKilledRankLeavesAPrefix: a rank that dies by SIGKILL leaves a trace that reads to its last event, and a replay of
// it stops there.
func TestKilledRankLeavesAPrefix(t *testing.T) {
	const ranks, steps = 2, 1000
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeFull} {
			t.Run(mode.String(), func(t *testing.T) {
				prog := mpi.BuildFile(t, "testdata/steps.c")
				ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
				defer cancel()
				j := newJob(t, mpi, ranks, mode)
				j.start.Flags = abi.FlagYield
				j.launch(ctx, prog, "1000", "killed")
				if err := <-j.done; err == nil {
					t.Fatal("the job succeeded although rank 1 was killed")
				}
				events := j.controls[1].Events()
				if want := uint64(3 * steps / 2); events != want {
					t.Fatalf("rank 1 completed %d events, not %d", events, want)
				}
				last := 0
				for _, rec := range records(t, j.traceDir, 1) {
					switch rec := rec.(type) {
					case *trace.Event:
						last = int(rec.Index)
					case *trace.Match:
						last = int(rec.Event) + 1 // the Wait that follows writes nothing
					}
				}
				if last != int(events) {
					t.Errorf("the trace of rank 1 ends at event %d, the rank at %d", last, events)
				}

				again := replay(t, j, decisions.Options{})
				replayCtx, stop := context.WithTimeout(t.Context(), jobTimeout)
				defer stop()
				again.launch(replayCtx, prog, "1000")
				again.await(replayCtx, 1, abi.StateEnd)
				if got := again.controls[1].Events(); got != events {
					t.Errorf("the replay ended after %d events, not %d", got, events)
				}
				again.end(stop)
			})
		}
	})
}

// TestDivergence: a program that makes a call more than it did when recorded is stopped there.
func TestDivergence(t *testing.T) {
	const ranks = 2
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/steps.c")
		record := newJob(t, mpi, ranks, abi.ModeOrder)
		record.start.Flags = abi.FlagYield
		record.run(prog, "10")
		for name, check := range map[string]struct {
			args          []string
			event         uint64
			actual, noted mpispec.Op
		}{
			"a barrier more": {[]string{"10", "more"}, 17, mpispec.OpIsend, mpispec.OpRecv},
			"a step more":    {[]string{"11"}, 31, mpispec.OpIsend, mpispec.OpFinalize},
			"a step less":    {[]string{"9"}, 28, mpispec.OpFinalize, mpispec.OpRecv},
		} {
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
				defer cancel()
				j := replay(t, record, decisions.Options{})
				j.launch(ctx, prog, check.args...)
				j.await(ctx, 1, abi.StateDiverged)
				d := j.controls[1].Progress().Divergence
				if d.Event != check.event || d.ActualOp != uint32(check.actual) ||
					d.RecordedOp != uint32(check.noted) || d.CallSite == 0 {
					t.Errorf("found %+v, expected event %d, %v for %v", d, check.event, check.actual, check.noted)
				}
				j.end(cancel)
			})
		}
	})
}

// TestUncoveredCall: a recording names it, and a replay refuses it unless told otherwise.
func TestUncoveredCall(t *testing.T) {
	const ranks = 2
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/steps.c")
		record := newJob(t, mpi, ranks, abi.ModeOrder)
		record.start.Flags = abi.FlagYield
		record.run(prog, "5", "file")
		p := record.controls[0].Progress()
		if p.Incomplete != 2 || p.IncompleteCall != "MPI_File_open" || p.IncompleteEvent != 16 {
			t.Errorf("the control block says %+v", p)
		}
		named := false
		for _, rec := range records(t, record.traceDir, 0) {
			if note, ok := rec.(*trace.Note); ok {
				named = named || note.Call == "MPI_File_open" && note.Event == 16 && note.Site != 0
			}
		}
		if !named {
			t.Error("the trace has no NOTE of MPI_File_open at event 16 with its call site")
		}
		if _, err := decisions.Build(open(t, record, 0), decisions.Options{}); err == nil {
			t.Error("decisions were built from an incomplete recording without complaint")
		}
		allowed := decisions.Options{AllowIncomplete: true}
		ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
		defer cancel()
		refused := replay(t, record, allowed)
		refused.launch(ctx, prog, "5", "file")
		refused.await(ctx, 0, abi.StateRefused)
		if m := refused.controls[0].Progress().Message; !strings.Contains(m, "MPI_File_open") {
			t.Errorf("the refusal does not name the call: %q", m)
		}
		refused.end(cancel)
		overridden := replay(t, record, allowed)
		overridden.start.Flags |= abi.FlagIncompleteOK
		overridden.run(prog, "5", "file")
	})
}

func open(t *testing.T, j *job, rank int) *trace.Reader {
	t.Helper()
	r, err := trace.OpenFile(filepath.Join(j.traceDir, recording.RankFile(rank)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestFullDisk: the program continues, the trace up to there is good, and the control block says so. What the program
// may still write is left.
func TestFullDisk(t *testing.T) {
	const size = 700 << 10
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		disk := t.TempDir()
		mountSmall(t, disk, fmt.Sprint(size))
		testFullDisk(t, mpi, abi.ModeFull, disk)
		var fs unix.Statfs_t
		if err := unix.Statfs(disk, &fs); err != nil {
			t.Fatal(err)
		}
		if free := fs.Bfree * uint64(fs.Bsize); free < size/64 {
			t.Errorf("%d bytes are left on the disk", free)
		}
	})
}

// TestFileSizeLimit: likewise with a limit on the size of files, beyond which the kernel sends SIGXFSZ.
func TestFileSizeLimit(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for name, mode := range map[string]abi.Mode{
			"order": abi.ModeOrder, "racing": abi.ModeRacing,
			"full": abi.ModeFull,
		} {
			t.Run(name, func(t *testing.T) { testFullDisk(t, mpi, mode, t.TempDir(), "STEPS_FILE_LIMIT=700000") })
		}
	})
}

func testFullDisk(t *testing.T, mpi mpitest.MPI, mode abi.Mode, disk string, env ...string) {
	t.Helper()
	const ranks = 2
	j := newJob(t, mpi, ranks, mode)
	j.cmdEnv = slices.Concat(env, []string{"STEPS_TIMES=32"}) // what fills the trace in every mode
	j.traceDir = disk
	j.start.Flags = abi.FlagYield
	j.run(mpi.BuildFile(t, "testdata/steps.c"), "20000")
	full := 0
	for rank, c := range j.controls {
		p := c.Progress()
		if p.Events != 3*20000+1 || p.State != abi.StateFinalized {
			t.Errorf("rank %d did not continue: %+v", rank, p)
		}
		if !strings.Contains(p.Message, "disk is full") {
			continue
		}
		full++
		r := open(t, j, rank)
		h := r.Header()
		if h.Ended != abi.EndedDisk || h.Closed || h.Events == 0 || h.Events >= 60000 {
			t.Errorf("rank %d: header %+v", rank, h)
		}
		d, err := decisions.Build(r, decisions.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		// In full mode the last EVENT may be that of the call in which the disk got full. A value belongs to no event:
		// 32 of them come before each three.
		if d.Finalized || d.LastEvent != h.Events && (mode != abi.ModeFull || d.LastEvent != h.Events+1) ||
			d.Values() < h.Events/3*32 || d.Values() > (h.Events/3+1)*32 {
			t.Errorf("rank %d: up to event %d, with %d values; header %+v", rank, d.LastEvent, d.Values(), h)
		}
	}
	if full == 0 {
		t.Error("no rank noticed that the disk was full")
	}
}

// TestRefusals: what the library cannot do is said, and in a recording the program continues untouched.
func TestRefusals(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	prog := mpi.BuildFile(t, "testdata/steps.c")
	ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
	defer cancel()

	unknown := newJob(t, mpi, 1, abi.ModeReplay+1)
	unknown.launch(ctx, prog, "5")
	unknown.finish()
	if p := unknown.controls[0].Progress(); p.State != abi.StateRefused || p.Message == "" {
		t.Errorf("a mode of a later version: %+v", p)
	}

	size := newJob(t, mpi, 1, abi.ModeOrder)
	size.start.WorldSize = 7
	size.launch(ctx, prog, "5")
	size.finish()
	if p := size.controls[0].Progress(); p.State != abi.StateRefused ||
		!strings.Contains(p.Message, "number of ranks") {
		t.Errorf("wrong world size: %+v", p)
	}

	exists := newJob(t, mpi, 1, abi.ModeOrder)
	path := filepath.Join(exists.traceDir, recording.RankFile(0))
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	exists.launch(ctx, prog, "5")
	exists.finish()
	if p := exists.controls[0].Progress(); p.State != abi.StateRefused ||
		!strings.Contains(p.Message, "exists already") {
		t.Errorf("existing trace: %+v", p)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("the existing file was touched: %q, %v", text, err)
	}

	missing := newJob(t, mpi, 1, abi.ModeReplay)
	missing.launch(ctx, prog, "5")
	missing.await(ctx, 0, abi.StateRefused)
	missing.end(cancel)
}
