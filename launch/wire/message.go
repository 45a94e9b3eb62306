package wire

import (
	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Message is what a gob frame holds: exactly one of Request, Response, Cancel, Event and Taken.
type Message struct {
	ID       uint64 // of the request; 0 in events
	Request  *Request
	Response *Response
	Cancel   bool // the request ID is not wanted any more
	Event    *Event
	Taken    int // bytes of output that have been taken at the job's end, and may be followed by as many
}

// Request is one call; exactly one field is set.
type Request struct {
	Setup          *Setup
	Launch         *backend.LaunchRequest
	SetBreakpoints *backend.SetBreakpointsRequest
	Resume         *backend.ResumeRequest
	Interrupt      bool
	Threads        bool
	StackTrace     *backend.StackTraceRequest
	Scopes         *backend.FrameID
	Variables      *backend.VariablesRequest
	SetVariable    *backend.SetVariableRequest
	Evaluate       *backend.EvaluateRequest
	ReadMemory     *ReadMemory
	Control        *Control
	Input          *Input
	Kill           bool
}

// Overtakes tells whether the request is carried out at once, before earlier ones (backend.Backend's contract).
func (r *Request) Overtakes() bool { return r.Interrupt || r.Control != nil || r.Kill }

// Response answers a request.
type Response struct {
	Err         *Error
	Launch      *backend.LaunchResult
	Breakpoints []backend.Breakpoint
	Threads     []backend.Thread
	StackTrace  *backend.StackTraceResult
	Scopes      []backend.Scope
	Variables   *backend.VariablesResult
	Variable    *backend.Variable
	Evaluate    *backend.EvaluateResult
	Memory      []byte
	Control     *backend.ControlState
}

// ReadMemory are the arguments of Backend.ReadMemory.
type ReadMemory struct {
	Addr uint64
	N    int
}

// Input are the arguments of Backend.Input.
type Input struct {
	Data []byte
	EOF  bool
}

// Setup is the first request to an agent: what it is for.
type Setup struct {
	Debug   bool // under a debugger; else the program is run
	Capture bool // Run: the program's output comes back as events; else it goes where the launcher's does
	Hold    bool // Run: the agent outlives the program until the job hangs up
	JobID   string
	Ranks   int
	Cwd     string
	Env     []string // as in backend.LaunchRequest
	Gdb     string   // path of gdb, or ""
	// Debugger is "gdb", "delve" or "", as in launch.Options.
	Debugger string
	// Interpose nil: without libcohort.
	Interpose *Interpose
}

// Interpose says how to start the program under libcohort. Paths are this rank's own.
type Interpose struct {
	Library       string
	Mode          uint32
	Flags         uint32
	ControlPath   string
	TracePath     string
	DecisionsPath string
	ParkAt        uint64 // positions from the start; abi.Never: none
	GuardAt       uint64
}

// Control is backend.ControlRequest with the presence of each field spelled out: gob drops a pointer to zero, and
// position 0 is one.
type Control struct {
	SetPark, SetGuard, SetRelease bool
	ParkAt, GuardAt               uint64
	Release                       abi.Release
	Wait                          bool
}

// ControlOf converts a request for the wire.
func ControlOf(r backend.ControlRequest) *Control {
	c := &Control{Wait: r.Wait}
	if r.ParkAt != nil {
		c.SetPark, c.ParkAt = true, *r.ParkAt
	}
	if r.GuardAt != nil {
		c.SetGuard, c.GuardAt = true, *r.GuardAt
	}
	if r.Release != nil {
		c.SetRelease, c.Release = true, *r.Release
	}
	return c
}

// Request is the inverse of ControlOf.
func (c *Control) Request() backend.ControlRequest {
	r := backend.ControlRequest{Wait: c.Wait}
	if c.SetPark {
		r.ParkAt = &c.ParkAt
	}
	if c.SetGuard {
		r.GuardAt = &c.GuardAt
	}
	if c.SetRelease {
		r.Release = &c.Release
	}
	return r
}

// Event is backend.Event for gob, which refuses a struct without fields.
type Event struct {
	Stopped *backend.Stopped
	Resumed bool
	Exited  *backend.Exited
	Output  *backend.Output
	Control *backend.ControlState
	Changed *backend.Breakpoint
	Ended   *backend.Ended
}

// EventOf converts an event for the wire.
func EventOf(e backend.Event) *Event {
	return &Event{
		Stopped: e.Stopped, Resumed: e.Resumed != nil, Exited: e.Exited, Output: e.Output,
		Control: e.Control, Changed: e.Changed, Ended: e.Ended,
	}
}

// Backend is the inverse of EventOf.
func (e *Event) Backend() backend.Event {
	out := backend.Event{
		Stopped: e.Stopped, Exited: e.Exited, Output: e.Output,
		Control: e.Control, Changed: e.Changed, Ended: e.Ended,
	}
	if e.Resumed {
		out.Resumed = &backend.Resumed{}
	}
	return out
}
