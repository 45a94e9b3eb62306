package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// output gathers what all ranks write, line by line or not.
type output struct {
	mu   sync.Mutex
	text strings.Builder
	seen func(string)
}

func (o *output) take(chunk launch.OutputChunk) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if chunk.Rank >= 0 {
		o.text.Write(chunk.Data)
		if o.seen != nil {
			o.seen(o.text.String())
		}
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func common(mpi mpitest.MPI, out *output) Common {
	c := Common{MPI: mpi.Name, Output: out.take}
	if mpi.Name == "openmpi" {
		c.LauncherArgs = []string{"--bind-to", "none"}
	}
	return c
}

// steps builds testdata/steps.c.
func steps(t *testing.T, mpi mpitest.MPI) string {
	t.Helper()
	return mpi.BuildFile(t, filepath.Join("testdata", "steps.c"))
}

// recordSteps records testdata/steps.c with an environment.
func recordSteps(t *testing.T, mpi mpitest.MPI, env ...string) (*RecordResult, string) {
	t.Helper()
	var out output
	r, err := Record(testContext(t), RecordOptions{
		Common: common(mpi, &out), Ranks: 3, Program: steps(t, mpi), Env: env,
		Dir: filepath.Join(t.TempDir(), "r.cohort"),
	})
	if err != nil {
		t.Fatalf("Record: %v", err)
	}
	return r, out.String()
}

func replaySteps(t *testing.T, mpi mpitest.MPI, r *RecordResult, env ...string) (*ReplayResult, string) {
	t.Helper()
	var out output
	result, err := Replay(testContext(t), ReplayOptions{
		Common: common(mpi, &out), Recording: r.Recording.Dir,
		Env: env,
	})
	if err != nil {
		t.Fatalf("Replay: %v", err)
	}
	return result, out.String()
}

func TestRecordAndReplayOrder(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		var out output
		dir := filepath.Join(t.TempDir(), "tsp.cohort")
		r, err := Record(testContext(t), RecordOptions{
			Common: common(mpi, &out), Ranks: 4, Program: mpi.Build(t, "tsp.c"),
			Args: []string{mpitest.Source(t, "cities10.txt")}, Dir: dir,
		})
		if err != nil {
			t.Fatalf("Record: %v", err)
		}
		if r.Status() != 0 || r.Problem != nil || r.Summary == nil || r.Summary.Decisions == 0 ||
			r.Summary.Messages == 0 {
			t.Fatalf("status %d, problem %v, summary %+v", r.Status(), r.Problem, r.Summary)
		}
		for i, rank := range r.Recording.Meta.PerRank {
			if rank.End.How != recording.EndFinalized || rank.Events == 0 || rank.PID == 0 {
				t.Errorf("rank %d: %+v", i, rank)
			}
		}
		want, err := mpitest.ParseOrders(out.String(), 4)
		if err != nil {
			t.Fatal(err)
		}
		for _, full := range []bool{false, true} {
			var again output
			var done, total uint64
			result, err := Replay(testContext(t), ReplayOptions{
				Common: common(mpi, &again), Recording: dir, Full: full, Progress: func(d, n uint64) {
					done, total = d, n
				},
			})
			if err != nil {
				t.Fatalf("Replay: %v", err)
			}
			if !result.OK() || result.CutShort || result.Graph != full || result.Decisions != r.Summary.Decisions {
				t.Errorf("full %v: %+v", full, result)
			}
			if total != r.Summary.Events || done != total {
				t.Errorf("progress ended at %d of %d; %d events were recorded", done, total, r.Summary.Events)
			}
			got, err := mpitest.ParseOrders(again.String(), 4)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("full %v: rank %d took %+v, recorded %+v", full, i, got[i], want[i])
				}
			}
		}
		rec, err := recording.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rec.Graph(); err != nil {
			t.Errorf("the graph: %v", err)
		}
		if scratch, err := filepath.Glob(filepath.Join(dir, ".*graph*")); err != nil || len(scratch) > 0 {
			t.Errorf("left in the recording: %v %v", scratch, err)
		}
	})
}

// A rank that kills itself leaves a recording, which replays to the same end.
func TestKilledRank(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		r, _ := recordSteps(t, mpi, "DIE=1")
		if r.Status() != 128+9 || r.Problem != nil {
			t.Errorf("status %d, problem %v", r.Status(), r.Problem)
		}
		if end := r.Recording.Meta.PerRank[1].End; end.How != recording.EndSignal || end.Signal != "SIGKILL" {
			t.Errorf("rank 1 ended: %v", end)
		}
		result, _ := replaySteps(t, mpi, r)
		if !result.OK() || !result.CutShort || result.Stalled {
			t.Errorf("replay: %+v", result)
		}
		for i, rank := range result.Ranks {
			if rank.Events < rank.Recorded {
				t.Errorf("rank %d got to %d of %d", i, rank.Events, rank.Recorded)
			}
		}
	})
}

// Ranks that were ended within a call that others had taken a message from: the replay begins that call again, so that
// the others get to their ends.
func TestEndedWithinACall(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		var out output
		dir := filepath.Join(t.TempDir(), "r.cohort")
		r, err := Record(testContext(t), RecordOptions{
			Common: common(mpi, &out), Ranks: 4, Program: mpi.BuildFile(t, filepath.Join("testdata", "within.c")),
			Dir: dir,
		})
		if err != nil || r.Problem != nil {
			t.Fatalf("Record: %v %+v", err, r)
		}
		for rank, want := range []recording.LastCall{
			{Event: 3, Call: "MPI_Recv", Line: 21},
			{Event: 1, Call: "MPI_Sendrecv", Within: true, Line: 25},
			{Event: 1, Call: "MPI_Sendrecv_replace", Within: true, Line: 28},
			{Event: 1, Call: "MPI_Sendrecv", Within: true, Line: 31},
		} {
			last := r.Recording.Meta.PerRank[rank].Last
			if last == nil || last.Function != "main" || filepath.Base(last.File) != "within.c" {
				t.Fatalf("rank %d ended at %+v", rank, last)
			}
			want.Function, want.File = last.Function, last.File
			if *last != want {
				t.Errorf("rank %d ended at %+v, want %+v", rank, *last, want)
			}
		}
		result, err := Replay(testContext(t), ReplayOptions{Common: common(mpi, &out), Recording: dir})
		if err != nil || !result.OK() || !result.CutShort || result.Stalled || result.Ranks[0].Events != 3 {
			t.Errorf("replay: %v %+v", err, result)
		}
	})
}

func TestExitStatus(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		r, _ := recordSteps(t, mpi, "STATUS=5")
		if r.Status() != 5 {
			t.Errorf("status %d, want 5", r.Status())
		}
		if result, _ := replaySteps(t, mpi, r); !result.OK() || result.CutShort {
			t.Errorf("replay: %+v", result)
		}
	})
}

func TestAbort(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		r, _ := recordSteps(t, mpi, "ABORT=2")
		if r.Status() == 0 || r.Problem != nil {
			t.Errorf("status %d, problem %v", r.Status(), r.Problem)
		}
		result, _ := replaySteps(t, mpi, r)
		if !result.OK() {
			t.Errorf("replay: %+v", result)
		}
	})
}

func TestDivergence(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		r, _ := recordSteps(t, mpi)
		result, _ := replaySteps(t, mpi, r, "DIVERGE=1")
		if result.OK() || !result.Diverged() {
			t.Fatalf("replay: %+v", result)
		}
		d := result.Ranks[0].Divergence
		if d == nil {
			t.Fatalf("rank 0: %+v", result.Ranks[0])
		}
		line := 0
		source, err := os.ReadFile(filepath.Join("testdata", "steps.c"))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(string(source), "\n") {
			if strings.Contains(text, "diverges here") {
				line = i + 1
			}
		}
		if d.ActualOp != "MPI_Probe" || d.RecordedOp != "MPI_Recv" || d.Event != 15 || d.Line != line ||
			filepath.Base(d.File) != "steps.c" || d.Function != "main" {
			t.Errorf("divergence %+v, want MPI_Probe for MPI_Recv at event 15, steps.c:%d in main", d, line)
		}
		if d.RecordedSource != 1 && d.RecordedSource != 2 || d.RecordedTag != 1 {
			t.Errorf("recorded: a message from %d with tag %d", d.RecordedSource, d.RecordedTag)
		}
		// What it did before: receives and sends in turn.
		recent := result.Ranks[0].Recent
		if len(recent) < 11 {
			t.Fatalf("%d calls are known: %+v", len(recent), recent)
		}
		for i, c := range recent {
			want := backend.RecentCall{
				Event: 15 - uint64(len(recent)-1-i), Op: "MPI_Send", Peer: c.Peer, Tag: 2,
				Got: math.MinInt32,
			}
			switch {
			case want.Event == 15:
				want = backend.RecentCall{
					Event: 15, Op: "MPI_Probe", Peer: math.MinInt32, Tag: math.MinInt32,
					Got: math.MinInt32,
				}
			case want.Event%2 == 1:
				want = backend.RecentCall{Event: want.Event, Op: "MPI_Recv", Peer: -1, Tag: 1, Got: c.Got}
			}
			if i > 0 && want.Op == "MPI_Send" && c.Peer != recent[i-1].Got {
				t.Errorf("it answered %d, and had taken a message of %d", c.Peer, recent[i-1].Got)
			}
			want.CallSite, want.File, want.Line, want.Function = c.CallSite, c.File, c.Line, c.Function
			if c != want || filepath.Base(c.File) != "steps.c" || c.Line == 0 || c.Function != "main" {
				t.Errorf("call %d: %+v, want %+v", i, c, want)
			}
		}
	})
}

// A call that has no outcome to record, and is another one: it is noticed at the next check.
func TestDivergenceBetweenDecisions(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		r, _ := recordSteps(t, mpi)
		for _, rank := range []int{2} {
			result, _ := replaySteps(t, mpi, r, fmt.Sprint("OTHER=", rank))
			for i := range result.Ranks {
				switch d := result.Ranks[i].Divergence; {
				case i != rank && d != nil:
					t.Errorf("rank %d: %+v", i, d)
				case i == rank && (d == nil || !d.Unnoticed || d.ActualOp != "MPI_Finalize" ||
					d.Event != result.Ranks[i].Recorded || d.RecordedEvent >= d.Event):
					t.Errorf("rank %d: %+v", i, d)
				}
			}
			if result.OK() {
				t.Error("the replay is said to be good")
			}
		}
	})
}

func TestIncompleteRecordingIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		var out output
		dir := filepath.Join(t.TempDir(), "uncovered.cohort")
		r, err := Record(testContext(t),
			RecordOptions{Common: common(mpi, &out), Ranks: 2, Program: mpi.Build(t, "uncovered.c"), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if i := r.Recording.Meta.PerRank[0].Incomplete; i == nil || !strings.HasPrefix(i.Call, "MPI_Win_") {
			t.Errorf("incomplete: %+v", i)
		}
		_, err = Replay(testContext(t), ReplayOptions{Common: common(mpi, &out), Recording: dir})
		var incomplete *decisions.IncompleteError
		var refused *launch.RefusedError
		if !errors.As(err, &incomplete) || !errors.As(err, &refused) || !strings.Contains(err.Error(), "MPI_Win_") {
			t.Errorf("Replay: %v", err)
		}
		result, err := Replay(testContext(t), ReplayOptions{
			Common: common(mpi, &out), Recording: dir,
			IncompleteOK: true,
		})
		if err != nil || !result.OK() {
			t.Errorf("with IncompleteOK: %+v, %v", result, err)
		}
	})
}

// Ctrl-C: the run ends, and what was recorded is kept and replays.
func TestInterruptedRecordingIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		ctx, cancel := context.WithCancelCause(testContext(t))
		defer cancel(nil)
		why := errors.New("Ctrl-C")
		out := output{seen: func(text string) {
			if strings.Contains(text, "waiting") {
				cancel(why)
			}
		}}
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		defer write.Close()
		o := RecordOptions{
			Common: common(mpi, &out), Ranks: 3, Program: steps(t, mpi), Env: []string{"WAIT=1"},
			Dir: filepath.Join(t.TempDir(), "r.cohort"),
		}
		o.Stdin = read
		r, err := Record(ctx, o)
		if !errors.Is(err, why) || r == nil {
			t.Fatalf("Record: %+v, %v", r, err)
		}
		if r.Problem != nil || !r.Job.Stopped {
			t.Errorf("problem %v, job %+v", r.Problem, r.Job)
		}
		ro := ReplayOptions{Common: common(mpi, &out), Recording: o.Dir}
		out.seen = nil
		write.Close() // the replayed rank 0 finds the end of its input
		ro.Stdin = read
		result, err := Replay(testContext(t), ro)
		if err != nil || !result.OK() || !result.CutShort {
			t.Errorf("replay: %+v, %v", result, err)
		}
	})
}

func TestRecordRefuses(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	program := steps(t, mpi)
	var out output
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.tex"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := recordSteps(t, mpi)
	for name, c := range map[string]struct {
		change func(*RecordOptions)
		want   string
	}{
		"mode":      {func(o *RecordOptions) { o.Mode = "some" }, "order, racing and full"},
		"yield":     {func(o *RecordOptions) { o.Yield = "maybe" }, "auto, on and off"},
		"no dir":    {func(o *RecordOptions) { o.Dir = "" }, "-o NAME.cohort"},
		"exists":    {func(o *RecordOptions) { o.Dir = r.Recording.Dir }, "holds a recording already"},
		"foreign":   {func(o *RecordOptions) { o.Dir = foreign }, "other things in it"},
		"ranks":     {func(o *RecordOptions) { o.Ranks = -1 }, "at least 1"},
		"program":   {func(o *RecordOptions) { o.Program = "./nosuch" }, "does not exist"},
		"launcher":  {func(o *RecordOptions) { o.LauncherArgs = []string{"--bogus"} }, "does not know an option"},
		"other MPI": {func(o *RecordOptions) { o.MPI = "openmpi" }, "linked to MPICH"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "linked to MPICH" {
				mpitest.Need(t, "openmpi")
			}
			o := RecordOptions{
				Common: common(mpi, &out), Ranks: 2, Program: program,
				Dir: filepath.Join(t.TempDir(), "new.cohort"),
			}
			fresh := o.Dir
			c.change(&o)
			result, err := Record(testContext(t), o)
			if err == nil || result != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want an error with %q", result, err, c.want)
			}
			if _, err := os.Lstat(fresh); !os.IsNotExist(err) {
				t.Errorf("a directory was left behind: %v", err)
			}
		})
	}
	o := RecordOptions{Common: common(mpi, &out), Ranks: 2, Program: program, Dir: r.Recording.Dir, Overwrite: true}
	if again, err := Record(testContext(t), o); err != nil || again.Recording.Meta.Ranks != 2 {
		t.Errorf("overwriting: %+v, %v", again, err)
	}
}

func TestReplayRefuses(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	r, _ := recordSteps(t, mpi)
	packed := filepath.Join(r.Recording.Dir, recording.RankFile(2)+".zst")
	if _, err := os.Stat(packed); err != nil {
		t.Errorf("the traces are not packed: %v", err)
	}
	var out output
	otherBuild := mpi.BuildFile(t, filepath.Join("testdata", "steps.c"), "-DOTHER", "-O1")
	for name, c := range map[string]struct {
		change func(dir string, o *ReplayOptions) error
		want   string
	}{
		"no recording": {func(_ string, o *ReplayOptions) error {
			o.Recording += "x"
			return nil
		}, "no such directory"},
		"other build": {func(_ string, o *ReplayOptions) error {
			o.Program = otherBuild
			return nil
		}, "is not the program of the recording"},
		"no program": {func(_ string, o *ReplayOptions) error {
			o.Program = "/nosuch"
			return nil
		}, "does not exist"},
		"missing rank": {func(dir string, _ *ReplayOptions) error {
			return os.Remove(filepath.Join(dir, "rank-1.trace.zst"))
		}, "the trace of rank 1, is missing"},
		"truncated": {func(dir string, _ *ReplayOptions) error {
			return os.Truncate(filepath.Join(dir, "rank-0.trace.zst"), 100)
		}, "truncated"},
		"version": {func(dir string, _ *ReplayOptions) error {
			path := filepath.Join(dir, "recording.json")
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, []byte(strings.Replace(string(text), `"version": 2`, `"version": 99`, 1)), 0o600)
		}, "version 99"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy.cohort")
			if text, err := exec.Command("cp", "-r", r.Recording.Dir, dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			o := ReplayOptions{Common: common(mpi, &out), Recording: dir}
			if err := c.change(dir, &o); err != nil {
				t.Fatal(err)
			}
			result, err := Replay(testContext(t), o)
			if err == nil || result != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want an error with %q", result, err, c.want)
			}
		})
	}
}

// The C library's clocks and random numbers, recorded with RecordTime, are given back by a replay that is told nothing
// of it.
func TestRecordTime(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, filepath.Join("..", "pmpi", "testdata", "clocks.c"),
			"-I"+filepath.Join(mpitest.Root(t), "testprograms"))
		var out, again output
		dir := filepath.Join(t.TempDir(), "r.cohort")
		r, err := Record(testContext(t), RecordOptions{
			Common: common(mpi, &out), Ranks: 1, Program: prog, Dir: dir,
			RecordTime: true,
		})
		if err != nil || r.Problem != nil || r.Summary.Values < 1000 {
			t.Fatalf("Record: %v, %+v", err, r)
		}
		result, err := Replay(testContext(t), ReplayOptions{Common: common(mpi, &again), Recording: dir})
		if err != nil || !result.OK() {
			t.Fatalf("Replay: %v, %+v", err, result)
		}
		if out.String() != again.String() || out.String() == "" {
			t.Errorf("recorded %q, replayed %q", out.String(), again.String())
		}
	})
}
