package job_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

// ranked tells its program which rank it is, as a launcher would.
type ranked struct {
	backend.Backend
	rank int
}

func (r ranked) Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	req.Env = append([]string{fmt.Sprintf("RANK=%d", r.rank)}, req.Env...)
	return r.Backend.Launch(ctx, req)
}

// buildRanks compiles testdata/ranks.c and returns the binary, the source's path, and the line with a mark.
func buildRanks(t *testing.T) (exe, source string, line func(mark string) int) {
	t.Helper()
	for _, tool := range []string{"gdb", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("COHORT_REQUIRE_MPI") == "1" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	source, err := filepath.Abs("testdata/ranks.c")
	if err != nil {
		t.Fatal(err)
	}
	exe = filepath.Join(t.TempDir(), "ranks")
	if out, err := exec.Command("gcc", "-g", "-O0", "-o", exe, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	return exe, source, func(mark string) int {
		for i, l := range strings.Split(string(text), "\n") {
			if strings.Contains(l, mark) {
				return i + 1
			}
		}
		t.Fatalf("no line with %q", mark)
		return 0
	}
}

// Four real processes under four real gdbs: breakpoints with rank limits, merged evaluation, log messages, steps of
// several ranks, ModeAll, a rank that crashes while the others continue, exit codes, and nothing left behind.
func TestFourRanksUnderGdb(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts four debuggers")
	}
	exe, source, line := buildRanks(t)
	t.Cleanup(func() { goleak.VerifyNone(t) })
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const n = 4
	j := job.New(job.Options{Ranks: n})
	t.Cleanup(j.Close)
	sub := j.Subscribe(job.Everything)
	t.Cleanup(sub.Close)
	for r := range n {
		must(j.Attach(r, ranked{gdb.New(gdb.Options{}), r}, job.Info{}))
	}
	t.Cleanup(func() { // in front of Close, whatever happens
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := j.Kill(ctx); err != nil {
			t.Error(err)
		}
	})

	breakpoints := map[int]job.BreakpointStatus{}
	var logged []job.Output // on a slow machine before the stops that follow
	next := func(what string, match func(job.Event) bool) job.Event {
		t.Helper()
		for {
			select {
			case e, ok := <-sub.Events():
				if !ok {
					t.Fatalf("the stream ended before %s", what)
				}
				if e.Breakpoint != nil {
					breakpoints[e.Breakpoint.ID] = *e.Breakpoint
				}
				if e.Output != nil && e.Output.Category == "console" && strings.HasPrefix(e.Output.Text, "main of ") {
					logged = append(logged, *e.Output)
				}
				if match(e) {
					return e
				}
			case <-ctx.Done():
				s, _ := j.Status()
				t.Fatalf("%s did not come; %+v", what, s)
			}
		}
	}
	// stopped waits until all of ranks have stopped since the last call.
	stopped := func(ranks ...int) {
		t.Helper()
		left := rankset.New(ranks...)
		for !left.Empty() {
			e := next("the stop of ranks "+left.String(), func(e job.Event) bool {
				return e.RankChanged != nil && e.RankChanged.State == job.Stopped
			})
			left = left.Without(e.RankChanged.Rank)
		}
	}
	status := func(rank int) job.RankStatus {
		t.Helper()
		s, err := j.Status()
		must(err)
		return s[rank]
	}
	evaluate := func(ranks rankset.Set, expr string) string {
		t.Helper()
		got, err := j.Evaluate(ctx, ranks, backend.EvaluateRequest{Expression: expr, Context: backend.ContextREPL})
		must(err)
		return fmt.Sprint(got)
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", what, got, want)
		}
	}

	st, err := j.SetBreakpoints(ctx, source, []job.Breakpoint{
		{ID: 1, Source: source, Line: line("breakpoint: compute"), Ranks: rankset.New(0, 1, 2)},
		{ID: 2, Source: source, Line: line("breakpoint: all"), Ranks: rankset.New(1), Mode: job.ModeAll},
		{ID: 3, Source: source, Line: line("int rank ="), LogMessage: "main of {text}"},
		{ID: 4, Source: source, Line: 1000},
	})
	must(err)
	if st[0].Verified {
		t.Error("verified before there is a program")
	}
	must(j.Launch(ctx, backend.LaunchRequest{Program: exe}))
	must(j.WaitIdle(ctx))
	stopped(0, 1, 2, 3)
	pids := map[int]int{}
	for r := range n {
		pids[r] = status(r).Pid
		if pids[r] == 0 || !alive(pids[r]) {
			t.Errorf("rank %d has process %d", r, pids[r])
		}
	}
	next("idle", func(e job.Event) bool { return e.Idle })
	if !breakpoints[1].Verified || !breakpoints[2].Verified || !breakpoints[3].Verified ||
		breakpoints[4].Verified || breakpoints[4].Message == "" {
		t.Errorf("%+v", breakpoints)
	}

	all := j.All()
	if got, err := j.Resume(ctx, all, backend.ResumeRequest{Kind: backend.Continue}); err != nil || !got.Equal(all) {
		t.Fatal(got, err)
	}
	stopped(0, 1, 2)
	want("stop", status(1).Text, fmt.Sprintf("Rank 1 hit breakpoint 1 in compute (ranks.c:%d).",
		line("breakpoint: compute")))
	if s := status(3); s.State != job.Running {
		t.Errorf("rank 3 is %s, and it has no breakpoint there", s.State)
	}
	if len(logged) == 0 {
		next("the log message", func(job.Event) bool { return len(logged) > 0 })
	}
	log := logged[0]
	if log.Ranks.Len() != 1 || !strings.Contains(log.Text, fmt.Sprintf(`"%d"`, log.Ranks.Min())) {
		t.Errorf("log message: %+v", log)
	}
	want("equal answers", evaluate(all, "step"), "[[0-2] 1 [3] cannot evaluate step: the rank is running.]")
	want("different answers", evaluate(rankset.New(0, 1, 2), "rank"), "[[0] 0 [1] 1 [2] 2]")

	three := rankset.New(0, 1, 2)
	// over the assignment, to the log message's line
	_, err = j.Resume(ctx, three, backend.ResumeRequest{Kind: backend.Next})
	must(err)
	must(j.WaitIdle(ctx))
	for r := range 3 {
		s := status(r)
		if s.State != job.Stopped || s.Stop.Reason != backend.ReasonStep ||
			s.Stop.Frames[0].Line != line("return result") {
			t.Errorf("rank %d: %s", r, s.Text)
		}
	}
	stopped(0, 1, 2)
	want("result", evaluate(three, "result"), "[[0-2] 100]")

	// Without breakpoint 1, rank 1 comes to the breakpoint of ModeAll; rank 0 exits on the way or is stopped, rank 2
	// crashes on the way or is stopped.
	_, err = j.SetBreakpoints(ctx, source,
		[]job.Breakpoint{{
			ID: 2, Source: source, Line: line("breakpoint: all"), Ranks: rankset.New(1),
			Mode: job.ModeAll,
		}})
	must(err)
	_, err = j.Resume(ctx, rankset.New(1), backend.ResumeRequest{Kind: backend.Continue})
	must(err)
	stopped(1)
	must(j.WaitIdle(ctx))
	if s := status(3); s.State != job.Stopped || s.Stop.Reason != backend.ReasonPause {
		t.Errorf("rank 3: %s", s.Text)
	}

	_, err = j.Resume(ctx, rankset.New(2), backend.ResumeRequest{Kind: backend.Continue})
	must(err)
	next("the crash", func(e job.Event) bool {
		return e.RankChanged != nil && e.RankChanged.Rank == 2 && e.RankChanged.State == job.Stopped &&
			e.RankChanged.Stop.Reason == backend.ReasonSignal
	})
	if s := status(2); !strings.HasPrefix(s.Text, "Rank 2 received SIGSEGV (Segmentation fault)") ||
		!strings.Contains(s.Text, fmt.Sprintf("in crash (ranks.c:%d)", line("here it dies"))) {
		t.Errorf("rank 2: %s", s.Text)
	}
	trace, err := j.StackTrace(ctx, 2, backend.StackTraceRequest{})
	must(err)
	if len(trace.Frames) < 2 || trace.Frames[0].Function != "crash" || trace.Frames[1].Function != "main" {
		t.Errorf("%+v", trace)
	}

	if got := evaluate(rankset.New(3), "go_on = 1"); !strings.HasSuffix(got, "1]") {
		// It may have been stopped in usleep, where go_on is visible all the same: a static of the program.
		t.Errorf("%s", got)
	}
	_, err = j.Resume(ctx, all, backend.ResumeRequest{Kind: backend.Continue})
	must(err)
	end := next("the end", func(e job.Event) bool { return e.Ended != nil }).Ended
	want("summary", end.Summary, "[0-1] exited with code 0, [2] was killed by SIGSEGV, [3] exited with code 7")
	must(j.Kill(ctx))
	for r, pid := range pids {
		if alive(pid) {
			t.Errorf("rank %d's process %d is left behind", r, pid)
		}
	}
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
