package protocol

import (
	"encoding/json"
	"slices"

	godap "github.com/google/go-dap"
)

// Capabilities are DAP's, with the field that go-dap does not know yet.
type Capabilities struct {
	godap.Capabilities
	BreakpointModes []BreakpointMode `json:"breakpointModes,omitempty"`
}

// BreakpointMode describes one mode a breakpoint may have (DAP 1.65).
type BreakpointMode struct {
	Mode        string   `json:"mode"`
	Label       string   `json:"label"`
	Description string   `json:"description,omitempty"`
	AppliesTo   []string `json:"appliesTo"` // "source", "exception", "data", "instruction"
}

// SourceBreakpoint is DAP's, with mode and ranks.
type SourceBreakpoint struct {
	godap.SourceBreakpoint
	BreakpointExtra
}

// FunctionBreakpoint is DAP's, with mode and ranks.
type FunctionBreakpoint struct {
	godap.FunctionBreakpoint
	BreakpointExtra
}

// SetBreakpointsArguments are DAP's, with our SourceBreakpoint.
type SetBreakpointsArguments struct {
	Source         godap.Source       `json:"source"`
	Breakpoints    []SourceBreakpoint `json:"breakpoints"`
	Lines          []int              `json:"lines,omitempty"` // deprecated by DAP; read when Breakpoints is absent
	SourceModified bool               `json:"sourceModified,omitempty"`
}

// SetFunctionBreakpointsArguments are DAP's, with our FunctionBreakpoint.
type SetFunctionBreakpointsArguments struct {
	Breakpoints []FunctionBreakpoint `json:"breakpoints"`
}

// SetExceptionBreakpointsArguments are DAP's, with the modes of filters.
type SetExceptionBreakpointsArguments struct {
	Filters       []string                 `json:"filters"`
	FilterOptions []ExceptionFilterOptions `json:"filterOptions,omitempty"`
}

// ExceptionFilterOptions are DAP's, with mode. The condition may be, or begin with, a rank set.
type ExceptionFilterOptions struct {
	FilterID  string `json:"filterId"`
	Condition string `json:"condition,omitempty"`
	Mode      string `json:"mode,omitempty"`
}

// InitializeArguments are DAP's, with what a client says that knows of Cohort.
type InitializeArguments struct {
	godap.InitializeRequestArguments
	// SupportsCohortEvents asks for Cohort's own events, and says that the client knows that threads are ranks: it may
	// continue any rank that has stopped. An extension of an editor, which writes `initialize` itself, asks in launch
	// or attach.
	SupportsCohortEvents bool `json:"supportsCohortEvents,omitempty"`
}

// AttachArguments are the arguments of `attach`. Without a target it joins the job that another client of this server
// launched or attached to.
type AttachArguments struct {
	AttachTarget
	Pid                  int    `json:"pid,omitempty"`   // one more of Pids
	Gdb                  string `json:"gdb,omitempty"`   // path of gdb
	Token                string `json:"token,omitempty"` // needed on TCP
	ShowLibraryThreads   bool   `json:"showLibraryThreads,omitempty"`
	SupportsCohortEvents bool   `json:"supportsCohortEvents,omitempty"` // as in LaunchArguments
}

// DisconnectArguments are DAP's; a nil TerminateDebuggee means the default: true for the client that launched the job,
// false for one that attached. Ranks that ran before are only ended by true.
type DisconnectArguments struct {
	Restart           bool  `json:"restart,omitempty"`
	TerminateDebuggee *bool `json:"terminateDebuggee,omitempty"`
	SuspendDebuggee   bool  `json:"suspendDebuggee,omitempty"`
}

// UserFrame is the index of the frame at which people look first: the innermost with source that is theirs; else 0.
func UserFrame(frames []godap.StackFrame) int {
	return max(0, slices.IndexFunc(frames, func(f godap.StackFrame) bool {
		return f.Source != nil && f.Source.Path != "" && f.PresentationHint != "subtle"
	}))
}

// Response is a DAP response as it goes over the wire, for clients that decode the body when they know what they asked.
type Response struct {
	godap.Response
	Body json.RawMessage `json:"body,omitempty"`
}

// ContinuedEventBody is go-dap's, which leaves a false out: to a client, VS Code say, an absent one is true.
type ContinuedEventBody struct {
	ThreadID            int  `json:"threadId"`
	AllThreadsContinued bool `json:"allThreadsContinued"`
}

// Event is a DAP event as it goes over the wire.
type Event struct {
	godap.Event
	Body json.RawMessage `json:"body,omitempty"`
}
