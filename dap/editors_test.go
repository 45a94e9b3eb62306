package dap_test

import (
	"strconv"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

// editor is a client that knows nothing of Cohort, with a breakpoint on a line.
func (b *bench) editor(line int) *daptest.Client {
	b.t.Helper()
	c := b.client()
	c.Do("initialize", map[string]any{"adapterID": "cohort", "clientID": "neovim"}, nil)
	c.Do("launch", map[string]any{"program": "/bin/prog"}, nil)
	c.Expect(daptest.Initialized())
	c.SetBreakpoints(b.src, line)
	c.ConfigurationDone()
	return c
}

// editorAtLine is an editor whose ranks have all stopped at line 10, and the ranks in the order in which it was told.
func (b *bench) editorAtLine() (c *daptest.Client, told []int) {
	b.t.Helper()
	c = b.editor(10)
	c.Expect(all(b.starts.ranks, "")...)
	for _, e := range c.Seen("stopped") {
		rank, _ := protocol.RankThread(stopped(b.t, e).ThreadId)
		told = append(told, rank)
	}
	return c, told
}

// nvim-dap up to 0.7.0 numbers its requests from 0.
func TestRequestsFromZero(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.client()
	for _, request := range []string{
		`{"seq":0,"type":"request","command":"initialize","arguments":{"adapterID":"nvim-dap"}}`,
		`{"seq":0,"type":"request","command":"launch","arguments":{"program":"/bin/prog"}}`,
		`{"seq":0,"type":"request","command":"threads"}`,
	} {
		answer := c.ExpectAnswer(0, request)
		if err := c.SendRaw([]byte(frame(request))); err != nil {
			t.Fatal(err)
		}
		if err := answer.Wait(b.ctx, nil); err != nil {
			t.Error(err)
		}
	}
	c.Disconnect()
}

// wantStopped fails the test unless all ranks are.
func wantStopped(t *testing.T, c *daptest.Client) {
	t.Helper()
	for _, r := range c.WaitIdle().Ranks {
		if r.State != "stopped" {
			t.Errorf("rank %d is %s", r.Rank, r.State)
		}
	}
}

// nvim-dap shows one stop and answers those of other threads with continue; which it shows first depends on its
// version, and on the order of answers. Nothing resumes, until the user continues the one that is shown.
func TestStopsThatTheEditorAnswersWithContinue(t *testing.T) {
	refused := func(c *daptest.Client, rank int) {
		t.Helper()
		refusal := c.Refused("continue", godap.ContinueArguments{ThreadId: protocol.ThreadID(rank, 1)}, "singleThread")
		if refusal.Shown {
			t.Errorf("the user is shown %v", refusal)
		}
	}
	t.Run("before the stack of the first is asked for", func(t *testing.T) {
		b := newBench(t, 3, endless, nil)
		c, told := b.editorAtLine()
		refused(c, told[1])
		refused(c, told[2])
		c.Stack(told[0])
		wantStopped(t, c)
		c.Continue(told[0])
		c.Expect(daptest.Continued(0), daptest.Continued(1), daptest.Continued(2))
		// One that comes too late, when the rank runs again, resumes nothing either.
		c.Refused("continue", godap.ContinueArguments{ThreadId: protocol.ThreadID(told[1], 1)}, "is running")
		c.Disconnect()
	})
	t.Run("after the stack of another is asked for", func(t *testing.T) {
		b := newBench(t, 3, endless, nil)
		c, told := b.editorAtLine()
		c.Stack(told[1])
		refused(c, told[0])
		refused(c, told[2])
		wantStopped(t, c)
		c.Continue(told[1])
		c.Expect(daptest.Continued(0), daptest.Continued(1), daptest.Continued(2))
		c.Disconnect()
	})
	t.Run("in one go", func(t *testing.T) {
		b := newBench(t, 3, endless, nil)
		c, told := b.editorAtLine()
		// The stack has not been answered when continue comes.
		never := make(chan struct{})
		b.world.Rank(told[1]).On(jobtest.StackTrace, b.world.Rank(told[1]).SlowUntil(never))
		if _, err := c.Send("stackTrace", godap.StackTraceArguments{ThreadId: protocol.ThreadID(told[1], 1)}); err != nil {
			t.Fatal(err)
		}
		refused(c, told[0])
		wantStopped(t, c)
		c.Disconnect()
	})
}

// What a user may do who looks at another rank than the one that is shown first, and a client that looks at none.
func TestContinueOfEditors(t *testing.T) {
	for name, looks := range map[string]bool{"a rank that was looked at later": true, "without a look at any": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 3, endless, nil)
			c, told := b.editorAtLine()
			rank := told[0]
			if looks {
				c.Stack(rank)
				rank = told[2]
				c.Stack(rank)
			}
			c.Continue(rank)
			c.Expect(daptest.Continued(0), daptest.Continued(1), daptest.Continued(2))
			c.Disconnect()
		})
	}
	t.Run("one rank alone", func(t *testing.T) {
		b := newBench(t, 3, endless, nil)
		c, told := b.editorAtLine()
		alone := map[string]any{"threadId": protocol.ThreadID(told[2], 1), "singleThread": true}
		c.Do("continue", alone, nil)
		c.Expect(daptest.Continued(told[2]))
		for _, r := range c.Ranks().Ranks {
			if want := r.Rank != told[2]; want != (r.State == "stopped") {
				t.Errorf("rank %d is %s", r.Rank, r.State)
			}
		}
		c.Disconnect()
	})
}

// A rank that the user runs alone, while others stay stopped, is shown when it stops.
func TestARankThatRunsAloneIsShown(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c, told := b.editorAtLine()
	c.Stack(told[0])
	c.Do(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: strconv.Itoa(told[1])}, nil)
	c.Next(told[1])
	if got := stopped(t, c.Expect(daptest.Stopped(told[1], "step"))[0]); got.PreserveFocusHint {
		t.Errorf("%+v", got)
	}
	// The console's commands are a person's.
	if got := c.Console("continue", 0); !strings.Contains(got, "ontinue") {
		t.Errorf("continue in the console: %q", got)
	}
	c.Expect(daptest.Continued(told[1]))
	c.Disconnect()
}

// Our own front ends know what a rank is: they continue whichever they like.
func TestContinueOfClientsThatKnowRanks(t *testing.T) {
	b := newBench(t, 3, endless, nil)
	c := b.atLine()
	c.Stack(0)
	c.Continue(2)
	c.Expect(daptest.Continued(0), daptest.Continued(1), daptest.Continued(2))
	c.Disconnect()
}

// An editor that shows the first stop only must be allowed to show it, whatever rank was stepped.
func TestTheFirstStopTakesAnEditorsAttention(t *testing.T) {
	for _, asks := range []bool{false, true} {
		ready := make(chan struct{})
		b := newBench(t, 2, endless, nil)
		b.world.Rank(0).Program = []jobtest.Step{
			jobtest.Line(b.src, 10), jobtest.Block("MPI_Recv", ready), jobtest.Line(b.src, 11), jobtest.Block("", nil),
		}
		c := b.client()
		c.Do("initialize", map[string]any{"adapterID": "cohort", "supportsCohortEvents": asks}, nil)
		c.Do("launch", map[string]any{"program": "/bin/prog"}, nil)
		c.Expect(daptest.Initialized())
		c.SetBreakpoints(b.src, 10)
		c.ConfigurationDone()
		c.Expect(all(2, "")...)
		c.Next(0)
		if other := stopped(t, c.Expect(daptest.Stopped(1, "step"))[0]); other.PreserveFocusHint != asks {
			t.Errorf("supportsCohortEvents %v: rank 1's stop preserves the focus: %v", asks, other.PreserveFocusHint)
		}
		close(ready)
		if own := stopped(t, c.Expect(daptest.Stopped(0, ""))[0]); own.PreserveFocusHint {
			t.Errorf("supportsCohortEvents %v: the stop of the rank that was stepped preserves the focus", asks)
		}
		c.Disconnect()
	}
}

// nvim-dap notes a further stop whose reason is pause, and answers any other with continue. Why the rank has stopped is
// told all the same.
func TestFurtherStopsAreTheEditorsPauses(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c, told := b.editorAtLine()
	c.Disconnect()
	first, further := stopped(t, c.Seen("stopped")[0]), stopped(t, c.Seen("stopped")[1])
	if first.Reason != "breakpoint" || further.Reason != "pause" || further.Description != first.Description ||
		len(further.HitBreakpointIds) != 1 {
		t.Errorf("ranks %d: %+v\n%+v", told, first, further)
	}

	b = newBench(t, 2, endless, nil)
	b.world.Rank(1).Program = []jobtest.Step{jobtest.Block("", nil)}
	c = b.editor(10)
	c.Expect(daptest.Stopped(0, "breakpoint"))
	b.world.Rank(1).Stop(backend.Stopped{Reason: backend.ReasonSignal, Signal: "SIGFPE", Thread: 1})
	c.Expect(daptest.Output("important", "SIGFPE"), daptest.Stopped(1, "pause"))
	var info godap.ExceptionInfoResponseBody
	c.Do("exceptionInfo", godap.ExceptionInfoArguments{ThreadId: protocol.ThreadID(1, 1)}, &info)
	if info.ExceptionId != "SIGFPE" {
		t.Errorf("exceptionInfo: %+v", info)
	}
	c.Disconnect()
}

// Zed sends singleThread with every continue and step to an adapter that offers it: the focus would never be one.
func TestSingleThreadIsNotOffered(t *testing.T) {
	b := newBench(t, 1, endless, nil)
	c := b.client()
	if c.Initialize().SupportsSingleThreadExecutionRequests {
		t.Error("supportsSingleThreadExecutionRequests is offered")
	}
	c.Disconnect()
}

// go-dap and Emacs take an event that they do not know for an error.
func TestOwnEventsAreForThoseWhoAsk(t *testing.T) {
	ask := map[string]any{"supportsCohortEvents": true}
	for name, asks := range map[string]struct{ initialize, attach map[string]any }{
		"in initialize": {initialize: ask}, "in attach": {attach: ask}, "not": {},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 2, endless, nil)
			owner := b.editor(10)
			owner.Expect(all(2, "")...)
			guest := b.client()
			guest.Do("initialize", asks.initialize, nil)
			guest.Do("attach", asks.attach, nil)
			guest.Expect(daptest.Initialized())
			guest.ConfigurationDone()
			guest.Do(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: "0"}, nil)
			guest.WaitIdle()
			owner.WaitIdle()
			guest.Disconnect()
			owner.Disconnect()
			for _, e := range owner.Events() {
				if strings.HasPrefix(e.Name, "cohort/") {
					t.Errorf("a client that has not asked was sent %s", e)
				}
			}
			told := len(guest.Seen(protocol.EventRanks)) > 0 && len(guest.Seen(protocol.EventFocus)) > 0
			if wanted := asks.initialize != nil || asks.attach != nil; told != wanted {
				t.Errorf("Cohort's events were sent: %v, want %v", told, wanted)
			}
		})
	}
	t.Run("in launch", func(t *testing.T) {
		b := newBench(t, 2, endless, nil)
		c := b.client()
		c.Do("initialize", map[string]any{}, nil)
		c.Do("launch", protocol.LaunchArguments{Program: "/bin/prog", SupportsCohortEvents: true}, nil)
		c.Expect(daptest.Initialized())
		c.ConfigurationDone()
		c.Expect(daptest.RankIs(0, "running"), daptest.RankIs(1, "running"))
		c.Disconnect()
	})
}

// An editor reads on for a moment when the job has ended; that is no reason for a message.
func TestReadingAfterTheEnd(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.atLine()
	frame := c.Stack(0)[0].Id
	var scopes godap.ScopesResponseBody
	c.Do("scopes", godap.ScopesArguments{FrameId: frame}, &scopes)
	ref := scopes.Scopes[0].VariablesReference
	c.Do("terminate", nil, nil)
	c.Expect(daptest.Terminated())

	var stack godap.StackTraceResponseBody
	var variables godap.VariablesResponseBody
	var threads godap.ThreadsResponseBody
	scopes = godap.ScopesResponseBody{}
	c.Do("threads", nil, &threads)
	c.Do("stackTrace", godap.StackTraceArguments{ThreadId: 1}, &stack)
	c.Do("scopes", godap.ScopesArguments{FrameId: frame}, &scopes)
	c.Do("variables", godap.VariablesArguments{VariablesReference: ref}, &variables)
	if len(threads.Threads)+len(stack.StackFrames)+len(scopes.Scopes)+len(variables.Variables) > 0 ||
		threads.Threads == nil || stack.StackFrames == nil || scopes.Scopes == nil || variables.Variables == nil {
		t.Errorf("want empty lists, have %+v, %+v, %+v, %+v", threads, stack, scopes, variables)
	}
	for _, bp := range c.SetBreakpoints(b.src, 10, 11) {
		if bp.Verified || !strings.Contains(bp.Message, "has ended (a client terminated it)") {
			t.Errorf("a breakpoint set after the end: %+v", bp)
		}
	}
	c.Do("setFunctionBreakpoints", protocol.SetFunctionBreakpointsArguments{}, nil)
	c.Do("setExceptionBreakpoints", godap.SetExceptionBreakpointsArguments{Filters: []string{"signals"}}, nil)
	for command, arguments := range map[string]any{
		"exceptionInfo": godap.ExceptionInfoArguments{ThreadId: 1},
		"readMemory":    godap.ReadMemoryArguments{MemoryReference: "0@0x10", Count: 1},
	} {
		if refusal := c.Refused(command, arguments, "has ended"); refusal.Shown {
			t.Errorf("the user is shown %v", refusal)
		}
	}
	c.Disconnect()
}

// VS Code takes a `continued` event without `allThreadsContinued` for one of all threads, and forgets their stacks:
// when one rank's step had ended before another's continued event came, the first one showed no frame.
func TestContinuedIsOfOneRank(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.atLine()
	c.Next(0)
	c.Expect(append(all(2, "step"), daptest.Idle())...)
	stopped := map[int]bool{}
	for _, e := range c.Events() {
		var body struct {
			ThreadID            int   `json:"threadId"`
			AllThreadsContinued *bool `json:"allThreadsContinued"`
		}
		if e.Name != "stopped" && e.Name != "continued" {
			continue
		}
		if err := e.Decode(&body); err != nil {
			t.Fatal(err)
		}
		stopped[body.ThreadID] = e.Name == "stopped"
		if e.Name == "continued" && (body.AllThreadsContinued == nil || *body.AllThreadsContinued) {
			t.Errorf("said of all threads: %s", e)
		}
	}
	if !stopped[protocol.ThreadID(0, 1)] || !stopped[protocol.ThreadID(1, 1)] {
		t.Errorf("at the end stopped are %v", stopped)
	}
	c.Disconnect()
}
