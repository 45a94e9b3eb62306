// Package backend defines what one rank's debugger can do: the typed, batched requests that cross the connection
// between the job and a rank's agent. It holds types and interfaces only and imports nothing of ours.
//
// Implementations: backend/gdb (gdb/MI), backend/delve (Go), and the client side of the agent connection in package
// launch, which forwards every call.
//
// **Invariant:** no gdb/MI text appears in these types.
//
// **Invariant:** every value here can be encoded by encoding/gob: no functions, channels or interfaces in requests,
// results and events.
package backend

import (
	"context"
	"fmt"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// A Backend debugs one rank. All methods may be called from any goroutine; calls are carried out one at a time in the
// order in which they arrive, except Interrupt, Control and Kill, which overtake. Every method returns when ctx ends,
// with ctx.Err(); the request may then still be carried out. After the backend has ended every method returns an
// *EndedError.
type Backend interface {
	// Launch starts the program and returns with the rank stopped at its entry (main, or the Fortran main program).
	// Errors are *LaunchError for anything that the user can put right (not executable, not found, ...).
	Launch(ctx context.Context, req LaunchRequest) (LaunchResult, error)

	// SetBreakpoints replaces all breakpoints of one Source (a file, or "function"). The result has one element per
	// requested one, in order. Allowed while the rank runs: the backend stops and resumes it unseen if it must; but a
	// data breakpoint is set in a stopped rank only, and one that was not set, or whose frame has been left, is not set
	// again.
	SetBreakpoints(ctx context.Context, req SetBreakpointsRequest) ([]Breakpoint, error)

	// Resume lets the rank run and returns as soon as it does; a Stopped or Exited event follows on Events. It is an
	// error (*StateError) if the rank runs already.
	Resume(ctx context.Context, req ResumeRequest) error

	// Interrupt asks a running rank to stop; a Stopped event with ReasonPause follows, unless it stops for another
	// reason first. No effect on a stopped one.
	Interrupt(ctx context.Context) error

	// Threads, StackTrace, Scopes, Variables, SetVariable, Evaluate need a stopped rank, else *StateError.
	Threads(ctx context.Context) ([]Thread, error)
	StackTrace(ctx context.Context, req StackTraceRequest) (StackTraceResult, error)
	Scopes(ctx context.Context, frame FrameID) ([]Scope, error)
	Variables(ctx context.Context, req VariablesRequest) (VariablesResult, error)
	SetVariable(ctx context.Context, req SetVariableRequest) (Variable, error)
	Evaluate(ctx context.Context, req EvaluateRequest) (EvaluateResult, error)

	// ReadMemory returns as many of the n bytes from addr as are readable; unreadable tail: fewer bytes and no error,
	// nothing readable: an error.
	ReadMemory(ctx context.Context, addr uint64, n int) ([]byte, error)

	// WriteMemory writes all of data, which is not empty, at addr of a stopped rank.
	WriteMemory(ctx context.Context, req WriteMemoryRequest) error

	// Disassemble returns instructions of a stopped rank, in order: as many as there are among those that were asked
	// for.
	Disassemble(ctx context.Context, req DisassembleRequest) ([]Instruction, error)

	// Control reads, and where asked changes, the rank's control block (see pmpi/include/cohort_abi.h). Needs no
	// stopped rank.
	Control(ctx context.Context, req ControlRequest) (ControlState, error)

	// Input sends bytes to the program's standard input; EOF closes it.
	Input(ctx context.Context, data []byte, eof bool) error

	// Kill ends the program and the debugger. An Exited event (if the program was running) and an Ended event follow.
	Kill(ctx context.Context) error

	// Events is the one ordered stream of what happened. It is closed after the Ended event. The receiver must keep
	// reading: what it leaves is queued (package internal/queue says how that is bounded).
	Events() <-chan Event
}

// FrameID names a stack frame: thread and level (0 is the innermost that gdb reports, Internal ones included). Valid
// until the next resume.
type FrameID struct {
	Thread int // debugger's thread number, 1 is the main thread
	Level  int
}

// LaunchRequest says what to start.
type LaunchRequest struct {
	Program string
	Args    []string
	Cwd     string
	// Env is added to the environment that the launcher gave the rank; a value-less "NAME" removes NAME. It holds
	// LD_PRELOAD and the COHORT_ variables too, which must reach the program and never the debugger itself.
	Env          []string
	DebuggerPath string // "" : gdb from PATH
	// InferiorTTY, if set, is the terminal that the program gets as its stdin, stdout and stderr. Filled in by the
	// agent.
	InferiorTTY string
	// HasControl: the program was started with a control block: the backend plants its breakpoint on cohort_stop_here.
	HasControl bool
	// Core, if set, is the path of a core file that a process of Program has left: nothing is started, the rank is what
	// the file holds. It is stopped for ever: Resume, SetVariable and Input are a *StateError, and breakpoints are not
	// verified. The stop's reason is ReasonSignal if a signal ended it, else ReasonCore.
	Core string
	// Attach, if not 0, is the process id of a rank that runs already: it is stopped where it is, with ReasonPause, and
	// Kill lets it go on as if nothing had been.
	Attach int
}

// LaunchResult tells of the rank at entry.
type LaunchResult struct {
	Pid   int
	Stop  Stopped  // the stop at entry
	Notes []string // whole sentences for the user, such as that the program has no debug information
	Can   Capabilities
}

// Capabilities are what a rank's debugger declares of itself: where one rank's answers mean something else than those
// of another debugger. What it cannot do at all it refuses with an *UnsupportedError.
type Capabilities struct {
	Debugger   string // its name and version
	Goroutines bool   // threads are goroutines, and their names say which
}

// SourceBreakpoint is a wanted breakpoint.
type SourceBreakpoint struct {
	ID           int // the job's number, echoed in Breakpoint and Stopped
	Line         int // 1-based; 0 for a function breakpoint
	Function     string
	Catch        Catch // instead of a line or function
	Condition    string
	HitCondition string // see package internal/hitcondition; "" none
	LogMessage   string // print instead of stop; {expr} is replaced by its value
	Watch        Watch  // of DataBreakpoints: what is watched
	Address      uint64 // of InstructionBreakpoints
}

// A Catch is something that may happen anywhere in a program, to stop at: DAP's exception filters.
type Catch string

// What can be caught. Signals that are errors always are, and so are panics of Go that nobody recovers.
const (
	CatchThrow     Catch = "throw"      // a C++ exception is thrown
	CatchCatch     Catch = "catch"      // a C++ exception is caught
	CatchMPIErrors Catch = "mpi-errors" // an MPI call fails, before its error handler runs
	CatchMPIAbort  Catch = "mpi-abort"  // MPI_Abort is called
	CatchExit      Catch = "exit"       // the program is about to exit with a status other than 0
)

// A Watch says what a data breakpoint watches.
type Watch struct {
	// Key tells what is watched from all else: the same expression is another thing in another frame.
	Key        string
	Expression string
	Access     Access
	// Frame is where the expression is evaluated, once, when the breakpoint is set; later only Key matters.
	Frame FrameID
}

// Access is what a data breakpoint stops at.
type Access string

// The accesses, as DAP names them.
const (
	Write     Access = "write" // a change of the value
	Read      Access = "read"
	ReadWrite Access = "readWrite"
)

// The sources of breakpoints that are in no file.
const (
	FunctionBreakpoints    = ""
	DataBreakpoints        = "<data>"
	InstructionBreakpoints = "<instructions>"
	ExceptionBreakpoints   = "<exceptions>" // those with a Catch
)

// IsFile tells whether a source is a file.
func IsFile(source string) bool { return source != "" && source[0] != '<' }

// SetBreakpointsRequest replaces all breakpoints of Source.
type SetBreakpointsRequest struct {
	Source      string // absolute path, or one of the sources that are no file
	Breakpoints []SourceBreakpoint
}

// Breakpoint is what became of a SourceBreakpoint.
type Breakpoint struct {
	ID       int
	Verified bool
	Line     int    // actual line
	Source   string // actual file
	Message  string // why it is not verified, or was moved
}

// ResumeKind is a way to continue.
type ResumeKind int

// The ways to continue.
const (
	Continue ResumeKind = iota
	Next
	StepIn
	StepOut
)

func (k ResumeKind) String() string {
	if names := []string{"continue", "next", "stepIn", "stepOut"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("ResumeKind(%d)", int(k))
}

// ResumeRequest says how to continue. Threads of a rank run together, always.
type ResumeRequest struct {
	Kind        ResumeKind
	Thread      int  // for steps; 0: the current one
	Instruction bool // step by instruction
}

// Thread of a rank.
type Thread struct {
	ID      int // debugger's number
	Name    string
	Library bool // belongs to the MPI library: no frame of the user's in it
}

// Frame of a stack.
type Frame struct {
	ID       FrameID
	Function string // demangled; "" unknown
	File     string // absolute path if known; "" no source
	Line     int    // 1-based, 0 unknown
	PC       uint64
	Module   string     // library or program it belongs to
	Args     []Argument // of frames from the program's innermost to its outermost; gdb may take seconds for others'
	Internal bool       // inside Cohort's interposer: to be hidden
	NoSource bool
	User     bool // code of the program, or of a library that is neither the MPI's nor the system's nor Cohort's
	// Call: an MPI call of the program's, whose frames in Cohort's interposer are shown as this one (job.StackTrace);
	// Internal as well. A Backend leaves it false.
	Call bool
}

// Argument of a frame, as text.
type Argument struct{ Name, Value string }

// StackTraceRequest asks for frames [Start, Start+Count); Count 0: all, up to a bound of 10,000.
type StackTraceRequest struct {
	Thread, Start, Count int
}

// StackTraceResult; Total is -1 when it is not known yet.
type StackTraceResult struct {
	Frames []Frame
	Total  int
}

// A Ref stands for something with children, valid until the next resume. 0 means no children.
type Ref int64

// Scope of a frame.
type Scope struct {
	Name      string // "Locals", "Arguments", "Registers", "MPI"
	Kind      string // DAP presentationHint: arguments, locals, registers, ""
	Ref       Ref
	Expensive bool
	Named     int
	Indexed   int
}

// VariablesRequest asks for children; Filter "" all, "indexed", "named"; Count 0: all.
type VariablesRequest struct {
	Ref          Ref
	Filter       string
	Start, Count int
	Hex          bool
	Addresses    bool // Variable.Address is wanted; it may be there all the same
}

// VariablesResult lists children.
type VariablesResult struct{ Variables []Variable }

// Variable of the program or of a decoded MPI object.
type Variable struct {
	Name         string
	Value        string
	Type         string
	EvaluateName string
	Ref          Ref
	Named        int
	Indexed      int
	Address      uint64 // 0 unknown
	ReadOnly     bool
	// Number is the value of an integer, an enumeration or a pointer, as Value.Number.
	Number    uint64
	HasNumber bool
	Pointer   bool // Number is an address
}

// SetVariableRequest changes a variable among the children of Ref; if that is 0, what the expression Name stands for in
// Frame.
type SetVariableRequest struct {
	Ref   Ref
	Frame FrameID
	Name  string
	Value string
}

// WriteMemoryRequest changes memory.
type WriteMemoryRequest struct {
	Addr uint64
	Data []byte
}

// EvaluateContext says who asks; only "repl" may have side effects.
type EvaluateContext string

// The contexts of an evaluation.
const (
	ContextWatch EvaluateContext = "watch"
	ContextHover EvaluateContext = "hover"
	ContextREPL  EvaluateContext = "repl"
	// ContextClipboard: the text is not shortened.
	ContextClipboard EvaluateContext = "clipboard"
)

// EvaluateRequest evaluates an expression in a frame. In ContextREPL an Expression starting with "mpipp" (a word of its
// own) is the MPI pretty printer, `p`/`print EXPR` an expression, and anything that starts with "-exec " or a backquote
// is a debugger command whose console output is the result.
type EvaluateRequest struct {
	Frame      FrameID
	Expression string
	Context    EvaluateContext
	Hex        bool
}

// EvaluateResult of an expression; Text may have several lines.
type EvaluateResult struct {
	Variable
	Text string
	// File, if not nil, is a file that the user asked for: to be written where the user is, and to be named in Text.
	File *File
}

// File is a file that a console command makes.
type File struct {
	Name string // as the user wrote it
	Data []byte
}

// DisassembleRequest asks for Before instructions before the one at Addr, and Count from there on.
type DisassembleRequest struct {
	Addr          uint64
	Before, Count int
}

// Instruction of the program.
type Instruction struct {
	Address  uint64
	Bytes    []byte
	Text     string
	Function string
	Offset   uint64 // from the function's first instruction
	File     string // absolute path if known
	Line     int    // 1-based, 0 unknown
}

// ControlRequest changes the control block where a field is not nil, and then reads it.
type ControlRequest struct {
	ParkAt  *uint64
	GuardAt *uint64
	Release *abi.Release // the generation is the agent's matter
	// Wait: return only when the rank has parked at the position that was last set, or is in a state that it does not
	// leave by itself (diverged, end of the recording, refused, finalised), or has gone.
	Wait bool
}

// ControlState is a snapshot of the control block. Positions are event numbers of this rank.
type ControlState struct {
	Present         bool
	State           abi.State
	StopReason      abi.StopReason
	Events          uint64
	Current         uint64
	CurrentOp       int
	Polls           uint64
	Messages, Bytes uint64
	Decisions       uint64
	TraceBytes      uint64
	Incomplete      int
	IncompleteCall  string
	IncompleteEvent uint64
	Divergence      *Divergence
	Message         string
	// Recent and Calls are there at a change of State and at the end: the last calls that the rank began, oldest first,
	// and of its Events how many are of each operation. Else Recent only has the call that it is in, if any.
	Recent []RecentCall
	Calls  map[int]uint64
}

// InCall is the MPI call that the rank is in, with what it named.
func (s *ControlState) InCall() (call RecentCall, within bool) {
	n := len(s.Recent)
	if s.Current == 0 || n == 0 || s.Recent[n-1].Event != s.Current {
		return RecentCall{}, false
	}
	return s.Recent[n-1], true
}

// RecentCall is one of the last calls that a rank began. Where it stands in the source is known of a divergence.
type RecentCall struct {
	Event uint64
	Op    string // MPI function name
	// what it named, and of a wildcard the source that it took; math.MinInt32: not applicable or not known
	Peer, Tag, Got int
	CallSite       uint64
	File           string
	Line           int
	Function       string
}

// Divergence of a replay from its recording.
type Divergence struct {
	Event                uint64
	RecordedOp, ActualOp string // MPI function names; RecordedOp "" if the recording holds no further decision
	RecordedEvent        uint64
	// Unnoticed: one of the calls since RecordedEvent (0: since the beginning) to Event was not the recorded one. None
	// of them had a recorded outcome, so it was noticed only now, and which one it was is not known.
	Unnoticed                   bool
	RecordedSource, RecordedTag int // math.MinInt32: not applicable
	ActualSource, ActualTag     int
	CallSite                    uint64
	File                        string
	Line                        int
	Function                    string
}

// Event is one thing that happened; exactly one field is set.
type Event struct {
	Stopped *Stopped
	Resumed bool // the rank runs again although nobody asked (a console command did it)
	Exited  *Exited
	Output  *Output
	// Control: the state word changed (parked, diverged, end of the recording, finalised), or the program has ended:
	// its last counters come before Exited.
	Control *ControlState
	Changed *Breakpoint // a breakpoint was verified later, moved or lost
	Ended   *Ended
}

// Weight is about how many bytes the event takes while it is queued.
func (e Event) Weight() int {
	const each = 512
	if e.Output != nil {
		return each + len(e.Output.Data)
	}
	return each
}

// Reason of a stop.
type Reason string

// The reasons of a stop.
const (
	ReasonEntry      Reason = "entry"
	ReasonBreakpoint Reason = "breakpoint"
	ReasonStep       Reason = "step"
	ReasonPause      Reason = "pause"
	ReasonSignal     Reason = "exception"  // a signal, or what was caught
	ReasonStopPoint  Reason = "stop point" // in cohort_stop_here
	ReasonCore       Reason = "core file"  // the core file of a process that was not ended
	// ReasonData: Breakpoints are data breakpoints; Text has the old and the new value, or that the frame was left that
	// the breakpoint belongs to.
	ReasonData Reason = "data breakpoint"
)

// Stopped: the rank has stopped. Frames holds the innermost frames of the thread that stopped, with arguments, so that
// the usual display needs no further request.
type Stopped struct {
	Reason      Reason
	Thread      int
	Breakpoints []int // IDs hit
	Signal      string
	SignalText  string
	FaultAddr   uint64
	// Caught, with ReasonSignal, is what was caught; Signal is empty then.
	Caught  *Caught
	Frames  []Frame
	Threads []Thread
	Control ControlState
	Text    string // further description, whole sentence
}

// Caught is what a Catch has stopped at.
type Caught struct {
	Name string // such as MPI_ERR_TRUNCATE, std::runtime_error, MPI_Abort
	Text string // what the rank did, as it follows "Rank 3": `threw std::runtime_error ("no such file")`
}

// Exited: the program is gone; the debugger may still answer Kill.
type Exited struct {
	Code   int
	Signal string // "" if it exited
}

// Output of the program or, with Console, of the debugger (log messages).
type Output struct {
	Category string // "stdout", "stderr", "console"
	Data     []byte
}

// Ended: the backend is gone; Err says why if it was not asked to.
type Ended struct{ Err string }

// EndedError: the backend has ended.
type EndedError struct{ Why string }

func (e *EndedError) Error() string { return "the debugger of this rank has ended: " + e.Why }

// StateError: the request does not fit the state of the rank.
type StateError struct{ Asked, State string }

func (e *StateError) Error() string {
	return fmt.Sprintf("cannot %s: the rank is %s", e.Asked, e.State)
}

// LaunchError: the program could not be started; Reason is a whole sentence that says what to do.
type LaunchError struct{ Program, Reason string }

func (e *LaunchError) Error() string { return e.Reason }

// UnsupportedError: the backend cannot do what was asked.
type UnsupportedError struct{ What string }

func (e *UnsupportedError) Error() string {
	return e.What + " is not supported by this rank's debugger"
}
