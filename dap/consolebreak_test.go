package dap_test

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

// rounds is a program that comes to line 10 four times.
func rounds(src string) []jobtest.Step {
	return []jobtest.Step{
		jobtest.Line(src, 10), jobtest.Line(src, 10), jobtest.Line(src, 10), jobtest.Line(src, 10),
		jobtest.Block("", nil),
	}
}

func TestConsoleBreakpoints(t *testing.T) {
	b := newBench(t, 3, rounds, nil)
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog", StopOnEntry: true})
	c.ConfigurationDone()
	c.Expect(append(all(3, "entry"), daptest.Idle())...)
	at := b.src + ":10"
	says := func(line, want string) {
		t.Helper()
		if got := c.Console(line, 0); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	has := func(want ...int) {
		t.Helper()
		for r, f := range b.world.Ranks() {
			if got := len(f.BreakpointIDs(b.src)); got != want[r] {
				t.Errorf("rank %d has %d breakpoints, want %d", r, got, want[r])
			}
		}
	}
	says("break "+at+" ranks 0-1", "breakpoint 1: "+at+" ranks 0-1.")
	says("tbreak "+at+" ranks 2", "breakpoint 2: "+at+" temporary ranks 2.")
	has(1, 1, 1)
	says("disable 1", "Breakpoint 1 is disabled.")
	says("breakpoints", "breakpoint 1: "+at+" ranks 0-1. It is disabled.\nbreakpoint 2: "+at+" temporary ranks 2")
	has(0, 0, 1)
	says("enable 1", "Breakpoint 1 is enabled.")
	says("condition 1 [1] x > 3", "breakpoint 1: "+at+" ranks 1 if x > 3.")
	has(0, 1, 1)
	says("condition 1 y", "breakpoint 1: "+at+" ranks 1 if y.")
	says("condition 1", "breakpoint 1: "+at+" ranks 1.")
	c.Continue(0)
	c.Expect(daptest.Stopped(1, "breakpoint"), daptest.Stopped(2, "breakpoint"))
	c.WaitIdle() // and so the temporary one has been taken from its rank, and the client's stream has told it
	has(0, 1, 0)
	says("breakpoints", "breakpoint 1: "+at+" ranks 1")
	if got := c.Console("breakpoints", 0); strings.Contains(got, "breakpoint 2") {
		t.Errorf("the temporary breakpoint is still listed: %s", got)
	}
	c.Refused("evaluate", map[string]any{"expression": "delete 2", "context": "repl"}, "no breakpoint 2")
	says(`logpoint `+at+` "came by" ranks 1`, `breakpoint 3: `+at+` "came by" ranks 1`)
	says("delete 1", "removed")
	c.Continue(1)
	c.Expect(daptest.Output("console", "[1] came by"))
	c.Disconnect()
}

// A breakpoint in a library that is not loaded yet is refused, as it may be a mistake, unless it is to be pending.
func TestConsolePendingBreakpoint(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	for _, f := range b.world.Ranks() {
		f.NoCode = map[int]string{50: "No code is loaded."}
	}
	c := b.atLine()
	line := "break " + b.src + ":50"
	c.Refused("evaluate", map[string]any{"expression": line, "context": "repl"}, "No code is loaded.")
	if got := c.Console(line+" pending", 0); !strings.Contains(got, ":50. No code is loaded.") {
		t.Errorf("a pending breakpoint: %q", got)
	}
	if got := c.Console("breakpoints", 0); !strings.Contains(got, ":50. No code is loaded.") {
		t.Errorf("breakpoints: %q", got)
	}
	c.Disconnect()
}

// A temporary breakpoint of an editor's is gone when its ranks have stopped at it, and the editor is told.
func TestTemporaryBreakpointRequest(t *testing.T) {
	b := newBench(t, 2, rounds, nil)
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	c.SetBreakpointsWith(b.src, bp(10, func(b *protocol.SourceBreakpoint) { b.Temporary = true }))
	c.ConfigurationDone()
	removed := daptest.That("the breakpoint is removed", func(e daptest.Event) (daptest.Verdict, string) {
		var body godap.BreakpointEventBody
		if e.Name == "breakpoint" && e.Decode(&body) == nil && body.Reason == "removed" && body.Breakpoint.Id == 1 {
			return daptest.Met, ""
		}
		return daptest.NotYet, ""
	})
	c.Expect(append(all(2, "breakpoint"), removed)...)
	c.Disconnect()
}
