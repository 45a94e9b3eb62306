package daptest

import (
	"context"
	"path/filepath"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// InitializeArguments are those of a client that can do everything that this package reads.
func InitializeArguments() map[string]any {
	return map[string]any{
		"clientID": "daptest", "adapterID": "cohort", "linesStartAt1": true, "columnsStartAt1": true,
		"pathFormat":           "path",
		"supportsVariableType": true, "supportsVariablePaging": true, "supportsProgressReporting": true,
		"supportsMemoryReferences": true,
		"supportsInvalidatedEvent": true, "supportsMemoryEvent": true, "supportsCohortEvents": true,
	}
}

// Initialize opens the session.
func (c *Client) Initialize() protocol.Capabilities {
	c.tb.Helper()
	var body protocol.Capabilities
	c.Do("initialize", InitializeArguments(), &body)
	return body
}

// Launch initializes, launches, and waits for the initialized event: breakpoints can be set next.
func (c *Client) Launch(a protocol.LaunchArguments) {
	c.tb.Helper()
	c.Initialize()
	c.Do("launch", a, nil)
	c.Expect(Initialized())
}

// Attach initializes, joins the server's job, and waits for the initialized event.
func (c *Client) Attach(token string) {
	c.tb.Helper()
	c.Initialize()
	c.Do("attach", protocol.AttachArguments{Token: token}, nil)
	c.Expect(Initialized())
}

// SetBreakpoints sets breakpoints on lines of a source, and returns what became of them.
func (c *Client) SetBreakpoints(path string, lines ...int) []godap.Breakpoint {
	c.tb.Helper()
	bps := make([]protocol.SourceBreakpoint, len(lines))
	for i, line := range lines {
		bps[i].Line = line
	}
	return c.SetBreakpointsWith(path, bps...)
}

// SetBreakpointsWith sets breakpoints with conditions, modes and ranks.
func (c *Client) SetBreakpointsWith(path string, bps ...protocol.SourceBreakpoint) []godap.Breakpoint {
	c.tb.Helper()
	var body godap.SetBreakpointsResponseBody
	c.Do("setBreakpoints", protocol.SetBreakpointsArguments{
		Source: godap.Source{Name: filepath.Base(path), Path: path}, Breakpoints: bps,
	}, &body)
	return body.Breakpoints
}

// ConfigurationDone ends the configuration: the ranks start.
func (c *Client) ConfigurationDone() {
	c.tb.Helper()
	c.Do("configurationDone", struct{}{}, nil)
}

// Continue, Next, StepIn, StepOut and Pause act on the main thread of a rank, and so on the focus if the rank is in it.
func (c *Client) Continue(rank int) godap.ContinueResponseBody {
	c.tb.Helper()
	var body godap.ContinueResponseBody
	c.Do("continue", godap.ContinueArguments{ThreadId: protocol.ThreadID(rank, 1)}, &body)
	return body
}

// Next steps over.
func (c *Client) Next(rank int) {
	c.tb.Helper()
	c.Do("next", godap.NextArguments{ThreadId: protocol.ThreadID(rank, 1)}, nil)
}

// Pause stops.
func (c *Client) Pause(rank int) {
	c.tb.Helper()
	c.Do("pause", godap.PauseArguments{ThreadId: protocol.ThreadID(rank, 1)}, nil)
}

// Stack is the stack of a rank's main thread.
func (c *Client) Stack(rank int) []godap.StackFrame {
	c.tb.Helper()
	var body godap.StackTraceResponseBody
	c.Do("stackTrace", godap.StackTraceArguments{ThreadId: protocol.ThreadID(rank, 1)}, &body)
	return body.StackFrames
}

// Console evaluates a console line, in a frame if that is not 0.
func (c *Client) Console(line string, frame int) string {
	c.tb.Helper()
	var body godap.EvaluateResponseBody
	c.Do("evaluate", godap.EvaluateArguments{Expression: line, Context: "repl", FrameId: frame}, &body)
	return body.Result
}

// Ranks is the state of the ranks.
func (c *Client) Ranks() protocol.RanksBody {
	c.tb.Helper()
	var body protocol.RanksBody
	c.Do(protocol.RequestRanks, struct{}{}, &body)
	return body
}

// WaitIdle waits until the job is idle.
func (c *Client) WaitIdle() protocol.RanksBody {
	c.tb.Helper()
	var body protocol.RanksBody
	c.Do(protocol.RequestWaitIdle, struct{}{}, &body)
	return body
}

// Disconnect ends the session and waits until the server has closed the connection.
func (c *Client) Disconnect() {
	c.tb.Helper()
	c.Do("disconnect", struct{}{}, nil)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-c.Done():
	case <-ctx.Done():
		c.tb.Fatalf("the server has not closed the connection after disconnect\n%s", c.Transcript(20))
	}
}
