package dap_test

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

func bp(line int, change func(*protocol.SourceBreakpoint)) protocol.SourceBreakpoint {
	var b protocol.SourceBreakpoint
	b.Line = line
	if change != nil {
		change(&b)
	}
	return b
}

func TestBreakpointsThatCannotBe(t *testing.T) {
	b := newBench(t, 4, endless, nil)
	for _, f := range b.world.Ranks() {
		f.NoCode = map[int]string{99: "There is no code at line 99."}
		f.Moved = map[int]int{9: 10}
	}
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	tests := []struct {
		name string
		bp   protocol.SourceBreakpoint
		says string // "": it can be
	}{
		{"plain", bp(10, nil), ""},
		{"ranks", bp(10, func(b *protocol.SourceBreakpoint) { b.Ranks = "0,2" }), ""},
		{"prefix", bp(10, func(b *protocol.SourceBreakpoint) { b.Condition = "[0,2] x > 3" }), ""},
		{"prefix alone", bp(10, func(b *protocol.SourceBreakpoint) { b.Condition = " [1] " }), ""},
		{"hits", bp(10, func(b *protocol.SourceBreakpoint) { b.HitCondition = " 3 " }), ""},
		{"line 0", bp(0, nil), "no line 0"},
		{"causal live", bp(10, func(b *protocol.SourceBreakpoint) { b.Mode = "causal" }), "needs a replay"},
		{"mode", bp(10, func(b *protocol.SourceBreakpoint) { b.Mode = "sometimes" }), `"sometimes"`},
		{"ranks twice", bp(10, func(b *protocol.SourceBreakpoint) { b.Ranks, b.Condition = "1", "[2] x" }), "twice"},
		{"rank too high", bp(10, func(b *protocol.SourceBreakpoint) { b.Ranks = "7" }), "ranks 0 to 3"},
		{"prefix too high", bp(10, func(b *protocol.SourceBreakpoint) { b.Condition = "[0-7] x" }), "ranks 0 to 3"},
		{"no bracket", bp(10, func(b *protocol.SourceBreakpoint) { b.Condition = "[0 x" }), "closing bracket"},
		{"focus", bp(10, func(b *protocol.SourceBreakpoint) { b.Mode = "focus" }), ""},
		{"each second", bp(10, func(b *protocol.SourceBreakpoint) { b.HitCondition = "% 2" }), ""},
		{"hits", bp(10, func(b *protocol.SourceBreakpoint) { b.HitCondition = "<5" }), "write a number"},
		{"no hits", bp(10, func(b *protocol.SourceBreakpoint) { b.HitCondition = "0" }), "write a number"},
	}
	list := make([]protocol.SourceBreakpoint, len(tests))
	for i, tt := range tests {
		list[i] = tt.bp
	}
	got := c.SetBreakpointsWith(b.src, list...)
	if len(got) != len(tests) {
		t.Fatalf("%d answers for %d breakpoints", len(got), len(tests))
	}
	for i, tt := range tests {
		if tt.says != "" && (got[i].Verified || !strings.Contains(got[i].Message, tt.says)) {
			t.Errorf("%s: %+v, want it refused with %q", tt.name, got[i], tt.says)
		}
		if tt.says == "" && got[i].Id == 0 {
			t.Errorf("%s: %+v, want it taken", tt.name, got[i])
		}
	}
	c.SetBreakpoints(b.src, 99, 9)
	c.ConfigurationDone()
	c.Expect(append(all(4, "breakpoint"), daptest.Idle())...)
	got = c.SetBreakpoints(b.src, 99, 9, 11)
	if got[0].Verified || !strings.Contains(got[0].Message, "no code at line 99") || got[0].Line != 99 {
		t.Errorf("a line without code: %+v", got[0])
	}
	if !got[1].Verified || got[1].Line != 10 || got[1].Message == "" {
		t.Errorf("a breakpoint that moves: %+v", got[1])
	}
	if !got[2].Verified || got[2].Line != 11 || got[2].Source == nil || got[2].Source.Path != b.src {
		t.Errorf("a plain breakpoint: %+v", got[2])
	}
	c.Refused("setBreakpoints", map[string]any{"breakpoints": []any{}}, "source.path")
	c.Refused("setBreakpoints", map[string]any{
		"source":      map[string]any{"path": "/a.c"},
		"breakpoints": []any{map[string]any{"line": "ten"}},
	},
		"breakpoints", "a whole number")
	c.Disconnect()
}

func TestBreakpointsOnSomeRanks(t *testing.T) {
	b := newBench(t, 4, endless, nil)
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	c.SetBreakpointsWith(b.src, bp(10, func(b *protocol.SourceBreakpoint) { b.Condition = "[0,2] x > 3" }))
	c.ConfigurationDone()
	c.Expect(daptest.Stopped(0, "breakpoint"), daptest.Stopped(2, "breakpoint"), daptest.Idle())
	c.WaitIdle()
	for r, f := range b.world.Ranks() {
		var conditions []string
		for _, call := range f.Calls() {
			if req, ok := call.Request.(backend.SetBreakpointsRequest); ok {
				for _, b := range req.Breakpoints {
					conditions = append(conditions, b.Condition)
				}
			}
		}
		want := ""
		if r%2 == 0 {
			want = "x > 3"
		}
		if got := strings.Join(conditions, ";"); got != want {
			t.Errorf("rank %d was given the conditions %q, want %q", r, got, want)
		}
	}
	c.Disconnect()
}

// A breakpoint that the editor sends again keeps its number, and with it its hits.
func TestBreakpointNumbersStay(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.atLine()
	first := c.SetBreakpoints(b.src, 10, 11)
	second := c.SetBreakpoints(b.src, 11, 12, 10)
	if second[0].Id != first[1].Id || second[2].Id != first[0].Id || second[1].Id == first[0].Id ||
		second[1].Id == first[1].Id {
		t.Errorf("numbers %v, then %v", first, second)
	}
	c.SetBreakpoints(b.src)
	if ids := b.world.Rank(0).BreakpointIDs(b.src); len(ids) != 0 {
		t.Errorf("breakpoints are left: %v", ids)
	}
	c.Disconnect()
}

func TestBreakpointChanges(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	for _, f := range b.world.Ranks() {
		f.NoCode = map[int]string{50: "The library is not loaded yet."}
	}
	c := b.atLine()
	got := c.SetBreakpoints(b.src, 10, 50)
	if got[1].Verified {
		t.Fatalf("verified too early: %+v", got[1])
	}
	b.world.Rank(0).Emit(backend.Event{Changed: &backend.Breakpoint{
		ID: got[1].Id, Verified: true, Line: 51,
		Source: b.src,
	}})
	e := c.Expect(daptest.Named("breakpoint"))[0]
	var body godap.BreakpointEventBody
	if err := e.Decode(&body); err != nil || body.Reason != "changed" || body.Breakpoint.Id != got[1].Id ||
		!body.Breakpoint.Verified ||
		body.Breakpoint.Line != 51 {
		t.Errorf("breakpoint event: %s", e)
	}
	c.Disconnect()
}

func TestFunctionBreakpoints(t *testing.T) {
	program := func(src string) []jobtest.Step {
		return []jobtest.Step{jobtest.Enter("exchange"), jobtest.Line(src, 10), jobtest.Block("", nil)}
	}
	b := newBench(t, 3, program, nil)
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	var body godap.SetFunctionBreakpointsResponseBody
	c.Do("setFunctionBreakpoints", map[string]any{"breakpoints": []any{
		map[string]any{"name": "exchange", "condition": "[0-1]"}, map[string]any{"name": " "},
	}}, &body)
	if len(body.Breakpoints) != 2 || body.Breakpoints[0].Id == 0 ||
		!strings.Contains(body.Breakpoints[1].Message, "name of a function") {
		t.Errorf("function breakpoints: %+v", body.Breakpoints)
	}
	c.ConfigurationDone()
	c.Expect(daptest.Stopped(0, "breakpoint"), daptest.Stopped(1, "breakpoint"), daptest.Idle())
	if got := c.Ranks().Ranks[2].State; got != "running" {
		t.Errorf("rank 2 is %s", got)
	}
	c.Disconnect()
}

func TestLogPoint(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	c.SetBreakpointsWith(b.src, bp(10, func(b *protocol.SourceBreakpoint) { b.LogMessage = "came by" }))
	c.ConfigurationDone()
	c.Expect(daptest.Output("console", "came by"))
	c.WaitIdle()
	if n := len(c.Seen("stopped")); n != 0 {
		t.Errorf("%d stops at a log point", n)
	}
	c.Disconnect()
}

func TestExceptionFilters(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	var body godap.SetExceptionBreakpointsResponseBody
	c.ConfigurationDone()
	c.Expect(daptest.Named("cohort/ranks"))
	c.Do("setExceptionBreakpoints", map[string]any{
		"filters": []string{"signals", "throw", "rain"},
		"filterOptions": []any{
			map[string]any{"filterId": "mpi-errors", "condition": "[0]", "mode": "all"},
			map[string]any{"filterId": "exit", "condition": "[7]"},
			map[string]any{"filterId": "mpi-abort", "mode": "causal"},
		},
	}, &body)
	for i, says := range []string{"", "", `no exception filter "rain"`, "", "ranks 0 to 1", "needs a replay"} {
		if got := body.Breakpoints[i]; got.Verified != (says == "") || !strings.Contains(got.Message, says) ||
			got.Source != nil {
			t.Errorf("exception breakpoint %d: %+v, want %q", i, got, says)
		}
	}
	for r, want := range []int{2, 1} {
		if got := b.world.Rank(r).BreakpointIDs(backend.ExceptionBreakpoints); len(got) != want {
			t.Errorf("rank %d catches %v, want %d", r, got, want)
		}
	}
	if got := c.Console("catch mpi-abort ranks 1", 0); !strings.Contains(got, "catch mpi-abort ranks 1") {
		t.Errorf("catch: %q", got)
	}
	c.Refused("evaluate", map[string]any{"expression": "catch rain", "context": "repl"}, "mpi-abort")
	if got := c.Console("breakpoints", 0); !strings.Contains(got, "catch mpi-errors ranks 0 mode all") {
		t.Errorf("breakpoints: %q", got)
	}
	b.world.Rank(1).Stop(backend.Stopped{
		Reason: backend.ReasonSignal, Caught: &backend.Caught{Name: "std::bad_alloc", Text: "threw std::bad_alloc"},
	})
	c.Expect(daptest.Stopped(1, "exception"))
	var info godap.ExceptionInfoResponseBody
	c.Do("exceptionInfo", godap.ExceptionInfoArguments{ThreadId: protocol.ThreadID(1, 1)}, &info)
	if info.ExceptionId != "std::bad_alloc" || !strings.HasPrefix(info.Description, "Rank 1 threw std::bad_alloc in ") {
		t.Errorf("exceptionInfo: %+v", info)
	}
	c.Do("setExceptionBreakpoints", map[string]any{"filters": []string{}}, nil)
	c.Expect(daptest.Output("console", "cannot be switched off"))
	c.Disconnect()
}
