package wire

import (
	"encoding/gob"
	"encoding/json"

	"github.com/cohort-debugger/cohort/backend"
)

// Message is what crosses the connection: exactly one of Request, Response, Cancel, Event and Taken.
type Message struct {
	ID       uint64 // of the request; 0 in events
	Request  any    // one of the types below
	Response *Response
	Cancel   bool // the request ID is not wanted any more
	Event    *backend.Event
	Taken    int // bytes of output that have been taken at the job's end, and may be followed by as many
}

// Response answers a request. Body is the result of the method of backend.Backend, nil if it has none.
type Response struct {
	Body any
	Err  *Error
}

// A request is a Setup, a Command, or the argument of a method of backend.Backend; here are those of the methods that
// have no such type.
type (
	// Command is a method without an argument.
	Command string

	// ReadMemory are the arguments of Backend.ReadMemory.
	ReadMemory struct {
		Addr uint64
		N    int
	}

	// Input are the arguments of Backend.Input.
	Input struct {
		Data []byte
		EOF  bool
	}

	// Control is that of Backend.Control.
	Control struct{ backend.ControlRequest }
)

// The commands.
const (
	Interrupt Command = "interrupt"
	Threads   Command = "threads"
	Kill      Command = "kill"
)

func init() {
	for _, body := range []any{
		Setup{},
		Command(""),
		ReadMemory{},
		Input{},
		Control{},
		backend.FrameID{},
		backend.LaunchRequest{},
		backend.SetBreakpointsRequest{},
		backend.ResumeRequest{},
		backend.StackTraceRequest{},
		backend.VariablesRequest{},
		backend.SetVariableRequest{},
		backend.WriteMemoryRequest{},
		backend.DisassembleRequest{},
		[]backend.Instruction{},
		backend.EvaluateRequest{},
		backend.LaunchResult{},
		[]backend.Breakpoint{},
		[]backend.Thread{},
		backend.StackTraceResult{},
		[]backend.Scope{},
		backend.VariablesResult{},
		backend.Variable{},
		backend.EvaluateResult{},
		backend.ControlState{},
		&backend.EndedError{}, &backend.StateError{}, &backend.LaunchError{}, &backend.UnsupportedError{},
	} {
		gob.Register(body)
	}
}

// overtakes tells whether a request is carried out at once, before earlier ones (backend.Backend's contract).
func overtakes(request any) bool {
	_, control := request.(Control)
	return control || request == Interrupt || request == Kill
}

// GobEncode writes JSON: gob drops a pointer to zero, and position 0 is one.
func (c Control) GobEncode() ([]byte, error) { return json.Marshal(c.ControlRequest) }

// GobDecode reads what GobEncode has written.
func (c *Control) GobDecode(data []byte) error { return json.Unmarshal(data, &c.ControlRequest) }

// Setup is the first request to an agent: what it is for.
type Setup struct {
	Debug   bool // under a debugger; else the program is run
	Capture bool // Run: the program's output comes back as events; else it goes where the launcher's does
	Hold    bool // Run: the agent outlives the program until the job hangs up
	Ranks   int
	Cwd     string
	Env     []string // as in backend.LaunchRequest
	Gdb     string   // path of gdb, or ""
	// Debugger is "gdb", "delve" or "", as in launch.Options.
	Debugger string
	LogFile  string // to which the agent appends its log; "": it has none
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
}
