package dap_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

func stopped(t *testing.T, e daptest.Event) godap.StoppedEventBody {
	t.Helper()
	var body godap.StoppedEventBody
	if err := e.Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body
}

// all expects a stop of each of n ranks.
func all(n int, reason string) []daptest.Expectation {
	var out []daptest.Expectation
	for r := range n {
		out = append(out, daptest.Stopped(r, reason))
	}
	return out
}

func TestBreakpointStopsRanks(t *testing.T) {
	b := newBench(t, 4, loop, nil)
	c := b.atLine()
	focused := 0
	for _, e := range c.Seen("stopped") {
		body := stopped(t, e)
		if !body.PreserveFocusHint {
			focused++
		}
		rank, _ := protocol.RankThread(body.ThreadId)
		if body.Reason != "breakpoint" || !strings.Contains(body.Text, fmt.Sprintf("Rank %d hit breakpoint", rank)) ||
			body.Description == "" || body.AllThreadsStopped || !slices.Equal(body.HitBreakpointIds, []int{1}) {
			t.Errorf("stopped: %+v", body)
		}
	}
	if len(c.Seen("stopped")) != 4 || focused != 1 {
		t.Errorf("%d stops of which %d take the attention, want 4 and 1", len(c.Seen("stopped")), focused)
	}
	var threads godap.ThreadsResponseBody
	c.Do("threads", nil, &threads)
	want := []godap.Thread{
		{Id: 1, Name: "rank 0"},
		{Id: 4097, Name: "rank 1"},
		{Id: 8193, Name: "rank 2"},
		{Id: 12289, Name: "rank 3"},
	}
	if !slices.Equal(threads.Threads, want) {
		t.Errorf("threads: %v", threads.Threads)
	}

	// All ranks are in the focus: continue resumes them all.
	if body := c.Continue(2); !body.AllThreadsContinued {
		t.Error("continue of all ranks does not say so")
	}
	c.Expect(daptest.Terminated())
	c.Disconnect()
}

func TestFocus(t *testing.T) {
	b := newBench(t, 4, loop, nil)
	c := b.atLine()
	var focus protocol.FocusBody
	c.Do(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: "1,2"}, &focus)
	if focus.Ranks != "1-2" && focus.Ranks != "1,2" {
		t.Errorf("focus: %+v", focus)
	}
	c.Expect(daptest.Named(protocol.EventFocus))

	c.Next(1) // in the focus: both step
	got := c.Expect(daptest.Stopped(1, "step"), daptest.Stopped(2, "step"), daptest.Idle())
	if stopped(t, got[0]).PreserveFocusHint || !stopped(t, got[1]).PreserveFocusHint {
		t.Error("the stop of the rank that was stepped must take the attention, and the other's must not")
	}
	c.Next(3) // not in the focus: alone
	c.Expect(daptest.Stopped(3, "step"), daptest.Idle())
	c.Do("stepIn", map[string]any{"threadId": protocol.ThreadID(2, 1), "singleThread": true}, nil)
	c.Expect(daptest.Stopped(2, "step"), daptest.Idle())
	lines := map[int]int{}
	for _, r := range c.Ranks().Ranks {
		lines[r.Rank] = r.Line
	}
	if lines[0] != 10 || lines[1] != 11 || lines[2] != 12 || lines[3] != 11 {
		t.Errorf("lines: %v", lines)
	}

	// A part of the ranks continues, and it is told that way.
	var body godap.ContinueResponseBody
	c.Do("continue", map[string]any{"threadId": protocol.ThreadID(1, 1)}, &body)
	if body.AllThreadsContinued {
		t.Error("continue of the focus claims that all ranks continue")
	}
	c.Expect(daptest.RankIs(1, "exited"), daptest.RankIs(2, "exited"))

	for _, bad := range []string{"", "7", "x", "3-1", ","} {
		c.Refused(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: bad})
	}
	c.Refused("continue", godap.ContinueArguments{ThreadId: 99999999}, "thread 99999999", "4 ranks")
	c.Refused("continue", godap.ContinueArguments{ThreadId: 0}, "thread 0")
	c.Refused("next", map[string]any{"threadId": 1, "granularity": "galaxy"}, "galaxy", "statement")
	c.Refused("stepIn", map[string]any{"threadId": 1, "targetId": 4}, "targetId")
	c.Disconnect()
}

// A stopped event never comes before the answer of the request that made the rank run.
func TestAnswerBeforeStop(t *testing.T) {
	steps := func(src string) []jobtest.Step {
		var out []jobtest.Step
		for i := range 60 {
			out = append(out, jobtest.Line(src, 10+i%3))
		}
		return append(out, jobtest.Block("", nil))
	}
	b := newBench(t, 2, steps, nil)
	c := b.atLine()
	for range 50 {
		before := len(c.Seen("stopped"))
		call, err := c.Send("next", godap.NextArguments{ThreadId: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Wait(b.ctx, nil); err != nil {
			t.Fatal(err)
		}
		got := c.Expect(daptest.Stopped(0, ""), daptest.Stopped(1, ""), daptest.Idle())
		if len(c.Seen("stopped")) != before+2 {
			t.Fatalf("%d stops after a step of two ranks", len(c.Seen("stopped"))-before)
		}
		if got[0].Seq < call.AnswerSeq() || got[1].Seq < call.AnswerSeq() {
			t.Fatalf("stopped events %d and %d overtook the answer %d", got[0].Seq, got[1].Seq, call.AnswerSeq())
		}
	}
	c.Disconnect()
}

func TestPause(t *testing.T) {
	b := newBench(t, 3, endless, nil)
	c := b.running()
	c.Pause(1)
	got := c.Expect(append(all(3, "pause"), daptest.Idle())...)
	if stopped(t, got[1]).PreserveFocusHint || !stopped(t, got[0]).PreserveFocusHint {
		t.Error("the stop of the rank that was paused must take the attention")
	}
	c.Pause(1) // stopped already: no effect, no error
	c.Refused("exceptionInfo", godap.ExceptionInfoArguments{ThreadId: 1}, "not stopped because of a signal")
	c.Continue(0)
	c.Expect(daptest.Continued(0), daptest.Continued(1), daptest.Continued(2))
	c.Refused("next", godap.NextArguments{ThreadId: 1}, "rank 0 is running")
	c.Disconnect()
}

func TestSignal(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	b.world.Rank(1).Program = []jobtest.Step{jobtest.Signal("SIGSEGV", "Segmentation fault", 0x10)}
	c := b.running()
	c.Expect(daptest.Stopped(1, "exception"))
	var info godap.ExceptionInfoResponseBody
	c.Do("exceptionInfo", godap.ExceptionInfoArguments{ThreadId: protocol.ThreadID(1, 1)}, &info)
	if info.ExceptionId != "SIGSEGV" || info.BreakMode != "always" ||
		!strings.Contains(info.Description, "Segmentation fault") ||
		!strings.Contains(info.Description, "0x10") {
		t.Errorf("exceptionInfo: %+v", info)
	}
	c.Refused("exceptionInfo", godap.ExceptionInfoArguments{ThreadId: 1}, "rank 0 is running")
	c.Do("continue", map[string]any{"threadId": protocol.ThreadID(1, 1), "singleThread": true}, nil)
	c.Expect(daptest.RankIs(1, "exited"), daptest.Output("console", "SIGSEGV"))
	c.Disconnect()
}

func TestSeveralThreads(t *testing.T) {
	threads := []backend.Thread{{ID: 1}, {ID: 2, Library: true}, {ID: 3}}
	program := func(string) []jobtest.Step {
		return []jobtest.Step{func(f *jobtest.Fake) bool { return true }, jobtest.Block("", nil)}
	}
	for _, libraries := range []bool{false, true} {
		b := newBench(t, 2, program, nil)
		c := b.client()
		c.Launch(protocol.LaunchArguments{Program: "/bin/prog", ShowLibraryThreads: libraries})
		c.ConfigurationDone()
		c.Expect(daptest.RankIs(0, "running"), daptest.RankIs(1, "running"))
		b.world.Rank(0).Stop(backend.Stopped{
			Reason: backend.ReasonSignal, Signal: "SIGFPE", Thread: 3,
			Threads: threads,
		})
		c.Expect(daptest.Stopped(0, "exception"))
		var body godap.ThreadsResponseBody
		c.Do("threads", nil, &body)
		var names []string
		for _, th := range body.Threads {
			names = append(names, th.Name)
		}
		want := []string{"rank 0", "rank 0 · thread 3", "rank 1"}
		if libraries {
			want = []string{"rank 0", "rank 0 · thread 2 (MPI library)", "rank 0 · thread 3", "rank 1"}
		}
		if !slices.Equal(names, want) {
			t.Errorf("threads: %v, want %v", names, want)
		}
		// Each thread that is shown stands still, and only the one that stopped takes the attention.
		stops := map[int]bool{}
		c.WaitIdle()
		for _, e := range c.Seen("stopped") {
			s := stopped(t, e)
			stops[s.ThreadId] = !s.PreserveFocusHint
		}
		if len(stops) != len(want)-1 || !stops[protocol.ThreadID(0, 3)] || stops[protocol.ThreadID(0, 1)] {
			t.Errorf("stops (and whether they take the attention): %v", stops)
		}
		c.Disconnect()
	}
}

func TestModeAll(t *testing.T) {
	b := newBench(t, 3, endless, nil)
	b.world.Rank(1).Program = []jobtest.Step{jobtest.Line(b.src, 20), jobtest.Block("", nil)}
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	bp := protocol.SourceBreakpoint{BreakpointExtra: protocol.BreakpointExtra{Mode: protocol.ModeAll}}
	bp.Line = 20
	c.SetBreakpointsWith(b.src, bp)
	c.ConfigurationDone()
	c.Expect(daptest.Stopped(0, "pause"), daptest.Stopped(1, "breakpoint"), daptest.Stopped(2, "pause"), daptest.Idle())
	c.Disconnect()
}

// One rank's debugger hangs; the others and the session do not.
func TestHangingRank(t *testing.T) {
	b := newBench(t, 3, endless, nil)
	c := b.atLine()
	never := make(chan struct{})
	b.world.Rank(1).On(jobtest.StackTrace, b.world.Rank(1).SlowUntil(never))
	hung, err := c.Send("stackTrace", godap.StackTraceArguments{ThreadId: protocol.ThreadID(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if frames := c.Stack(0); len(frames) == 0 || frames[0].Line != 10 {
		t.Errorf("the stack of another rank: %+v", frames)
	}
	c.Do("cancel", godap.CancelArguments{RequestId: hung.Seq}, nil)
	if err := hung.Wait(b.ctx, nil); err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("the hanging request: %v, want it cancelled", err)
	}
	c.Disconnect()
}

// A rank's debugger dies: the rank is lost, with the reason, and the rest continues.
func TestLostRank(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.atLine()
	b.world.Rank(1).End("gdb was killed by SIGKILL")
	c.Expect(daptest.RankIs(1, "lost"), daptest.Output("console", "gdb was killed by SIGKILL"))
	c.Refused("stackTrace", godap.StackTraceArguments{ThreadId: protocol.ThreadID(1, 1)}, "rank 1 is lost")
	if frames := c.Stack(0); len(frames) == 0 {
		t.Error("rank 0 has no stack any more")
	}
	c.Disconnect()
}

// daptest's third verdict: what can no longer come fails at once.
func TestExpectationThatIsNoLongerPossible(t *testing.T) {
	b := newBench(t, 2, loop, nil)
	c := b.running()
	_, err := c.Await(b.ctx, daptest.Stopped(0, "breakpoint"))
	if err == nil || !strings.Contains(err.Error(), "no longer possible") {
		t.Errorf("waiting for a stop of a rank that ends: %v", err)
	}
	c.Disconnect()
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	if _, err := c.Await(ctx, daptest.Idle(), daptest.Output("", "never printed")); err == nil {
		t.Error("waiting on a closed connection succeeded")
	}
}
