// Package protocol holds what Cohort's DAP server adds to the Debug Adapter Protocol: launch arguments, breakpoint
// properties, custom requests and events. It imports nothing of ours, so that every front end (TUI, scripts, tests) can
// use it.
//
// Custom requests are named "cohort/...". A client that knows none of them has a working debugger all the same: ranks
// are DAP threads.
package protocol

import (
	"fmt"

	godap "github.com/google/go-dap"
)

// Breakpoint modes (DAP `breakpointModes`; SourceBreakpoint.mode).
const (
	ModeRank   = "rank"   // only the rank that hits the breakpoint stops (default)
	ModeFocus  = "focus"  // if the rank is in focus, every rank in focus stops as soon as it can
	ModeAll    = "all"    // every rank stops as soon as it can
	ModeCausal = "causal" // replay only: every other rank stops at its causal past
)

// Modes are the breakpoint modes.
var Modes = []string{ModeRank, ModeFocus, ModeAll, ModeCausal}

// LaunchArguments are the arguments of the DAP `launch` request. Exactly one of Program (a live run), Recording (a
// replay; program and arguments come from the recording) and Cores must be given; with Recording, Program may name
// another copy of the same build, and with Cores it is the program that left them.
type LaunchArguments struct {
	Program string            `json:"program,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Ranks   int               `json:"ranks,omitempty"` // default 4 live; a recording's own number
	// "mpich", "openmpi" or a path to mpiexec; default: what the program is linked to
	MPI          string   `json:"mpi,omitempty"`
	LauncherArgs []string `json:"launcherArgs,omitempty"`
	StopOnEntry  bool     `json:"stopOnEntry,omitempty"`
	Recording    string   `json:"recording,omitempty"`
	IncompleteOK bool     `json:"incompleteOk,omitempty"`
	// BoundBuffering holds senders back in a replay, so that at most so many messages wait at a rank for their
	// receives; 0: it does not.
	BoundBuffering int    `json:"boundBuffering,omitempty"`
	NoDebug        bool   `json:"noDebug,omitempty"`
	Yield          string `json:"yield,omitempty"` // "auto" (default), "on", "off"
	Gdb            string `json:"gdb,omitempty"`   // path of gdb
	// "gdb" or "delve" for all ranks; default: Delve for programs that the Go tools built, gdb for others
	Debugger string `json:"debugger,omitempty"`
	Token    string `json:"token,omitempty"` // needed on TCP
	// ShowLibraryThreads shows threads that belong to the MPI library.
	ShowLibraryThreads bool `json:"showLibraryThreads,omitempty"`
	// Cores are core files that the ranks of one run of Program have left, in any order: they are looked at, and
	// nothing is started. Patterns such as core.* are expanded; relative ones are relative to Cwd. Without Program it
	// is the one that the first of them names.
	Cores []string `json:"cores,omitempty"`
	// Attach names ranks that run already, instead of Program, Recording and Cores. Editors use the attach request.
	Attach *AttachTarget `json:"attach,omitempty"`
	// NoInterpose debugs without libcohort: no mpipp, no positions.
	NoInterpose bool `json:"noInterpose,omitempty"`
	// SupportsCohortEvents is that of InitializeArguments, for who cannot write those.
	SupportsCohortEvents bool `json:"supportsCohortEvents,omitempty"`
}

// AttachTarget names ranks that run already, by process ids or by the name of their program.
type AttachTarget struct {
	// Pids are a launcher's (mpiexec, mpirun), whose ranks are meant, or those of ranks.
	Pids []int `json:"pids,omitempty"`
	// Program is the name, or the path, of a program (for Python the script) that ranks of one job run.
	Program string `json:"program,omitempty"`
	Ranks   string `json:"ranks,omitempty"` // those of the ranks to debug; default: all
}

// BreakpointExtra are the properties that Cohort reads from a SourceBreakpoint or FunctionBreakpoint besides DAP's own.
// An editor that cannot send them may write the rank set in front of the condition: `[0,2] x > 3`.
type BreakpointExtra struct {
	Mode  string `json:"mode,omitempty"`
	Ranks string `json:"ranks,omitempty"`
	// Temporary: each rank stops at it once; with mode focus or all it stops the job once.
	Temporary bool `json:"temporary,omitempty"`
}

// DataBreakpoint is DAP's, and which ranks have it: without a word only that of its dataId.
type DataBreakpoint struct {
	godap.DataBreakpoint
	BreakpointExtra
}

// SetDataBreakpointsArguments are DAP's, with DataBreakpoint.
type SetDataBreakpointsArguments struct {
	Breakpoints []DataBreakpoint `json:"breakpoints"`
}

// InstructionBreakpoint is DAP's, and which ranks have it: without a word only that of its reference.
type InstructionBreakpoint struct {
	godap.InstructionBreakpoint
	BreakpointExtra
}

// SetInstructionBreakpointsArguments are DAP's, with InstructionBreakpoint.
type SetInstructionBreakpointsArguments struct {
	Breakpoints []InstructionBreakpoint `json:"breakpoints"`
}

// Requests.
const (
	RequestRanks    = "cohort/ranks"    // -> RanksBody
	RequestWaits    = "cohort/waits"    // {} -> who waits for whom (see docs/dap.md)
	RequestSetFocus = "cohort/setFocus" // FocusArguments -> FocusBody
	RequestWaitIdle = "cohort/waitIdle" // WaitArguments -> RanksBody, answered when the job is idle (see docs/dap.md)
	// StallArguments -> StallBody, answered when the ranks that run do not get on, or the job has ended
	RequestWaitStall = "cohort/waitStall"
	RequestInput     = "cohort/input" // InputArguments
	RequestCut       = "cohort/cut"   // CutArguments -> CutBody: the causal cut of an event of the recording
	// CutArguments: replay; run every rank to the causal cut of an event, or to an explicit consistent cut
	RequestRunTo    = "cohort/runTo"
	RequestCommands = "cohort/commands" // {} -> CommandsBody: the commands of the console
)

// Events.
const (
	EventRanks = "cohort/ranks"      // RanksBody: the ranks that changed, all at once
	EventIdle  = "cohort/idle"       // {}
	EventCut   = "cohort/cutReached" // CutBody
	EventFocus = "cohort/focus"      // FocusBody
)

// DescriptionDiverged is the description of the stop of a rank that has left the recording that is replayed.
const DescriptionDiverged = "Left the recording"

// RankStatus is one rank as every front end shows it.
type RankStatus struct {
	Rank     int    `json:"rank"`
	ThreadID int    `json:"threadId"`
	State    string `json:"state"`            // starting, running, stopped, exited, lost
	Reason   string `json:"reason,omitempty"` // of the stop, or how it exited ("exit code 3", "signal SIGSEGV")
	Text     string `json:"text,omitempty"`   // whole sentence
	Host     string `json:"host,omitempty"`
	Pid      int    `json:"pid,omitempty"`
	Debugger string `json:"debugger,omitempty"` // its name and version
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Event    uint64 `json:"event"`          // MPI events completed: its position
	Call     string `json:"call,omitempty"` // MPI call in progress, with what it named: "MPI_Recv (peer 1, tag 3)"
}

// RanksBody lists ranks.
type RanksBody struct {
	Ranks []RankStatus `json:"ranks"`
	Focus string       `json:"focus"`
	Idle  bool         `json:"idle"`
}

// FocusArguments set the focus to a rank set such as "0-3,7" or "all".
type FocusArguments struct {
	Ranks string `json:"ranks"`
}

// FocusBody tells the focus.
type FocusBody struct {
	Ranks string `json:"ranks"`
}

// InputArguments go to rank 0's standard input.
type InputArguments struct {
	Data string `json:"data"`
	EOF  bool   `json:"eof,omitempty"`
}

// Command is one command of the console, which `evaluate` with context "repl" carries out.
type Command struct {
	Name      string   `json:"name"`
	Short     string   `json:"short,omitempty"`     // scripts may write it instead; elsewhere it would hide variables
	Arguments string   `json:"arguments,omitempty"` // as in a synopsis
	Help      string   `json:"help"`
	Examples  []string `json:"examples,omitempty"`
	// Resumes: ranks run, or are about to stop, when it has been answered. A front end that carries out one line after
	// the other waits for those that ConsoleBody names.
	Resumes bool `json:"resumes,omitempty"`
	// AllRanks: what it is for is to see how all ranks are. A front end that shows ranks in its own way does so.
	AllRanks bool `json:"allRanks,omitempty"`
}

// CommandsBody lists the commands of the console.
type CommandsBody struct {
	Commands []Command `json:"commands"`
}

// ConsoleBody is the answer to a line of the console.
type ConsoleBody struct {
	godap.EvaluateResponseBody
	// Confirms: the text only confirms that what was asked for has been done.
	Confirms bool `json:"confirms,omitempty"`
	// Ranks are those that a command that resumes was about, for WaitArguments.
	Ranks string `json:"ranks,omitempty"`
	// Stacks are what the command stacks shows as text.
	Stacks []MergedStack `json:"stacks,omitempty"`
}

// MergedStack is the stack of the ranks of a rank set, each of the thread that stopped; the innermost frame is the
// first. What is below the program and the MPI function that it has called is left out.
type MergedStack struct {
	Ranks  string       `json:"ranks"`
	Frames []StackFrame `json:"frames"`
}

// StackFrame is a frame as far as it can be the same in several ranks.
type StackFrame struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// StallArguments say when ranks that run do not get on: when none has completed an MPI call for so many seconds; 0:
// when all have been within MPI calls, or polled, for a minute, and none has completed one. As long as a rank has
// stopped that is not asked, as others may wait for it.
type StallArguments struct {
	Seconds float64 `json:"seconds,omitempty"`
}

// StallBody tells what is known of ranks that do not get on; "": the job has ended.
type StallBody struct {
	Text string `json:"text"`
}

// WaitArguments name the ranks, as a rank set, that shall have stopped or ended. Ranks that wait within MPI calls for
// one that has stopped are not waited for. "": whatever they do, the job shall be idle.
type WaitArguments struct {
	Ranks string `json:"ranks,omitempty"`
}

// CutArguments name an event, "2:17", or a whole cut.
type CutArguments struct {
	At  string   `json:"at,omitempty"`
	Cut []uint64 `json:"cut,omitempty"`
}

// CutBody is a cut: one position (number of events) per rank.
type CutBody struct {
	At         string   `json:"at,omitempty"`
	Positions  []uint64 `json:"positions"`
	Consistent bool     `json:"consistent"`
	Text       string   `json:"text"` // for people
}

// Leader is the rank of the event that the cut belongs to, if it belongs to one.
func (b CutBody) Leader() (rank int, ok bool) {
	_, err := fmt.Sscanf(b.At, "%d:", &rank)
	return rank, err == nil
}

// Error ids (`error.id` of a failed response's body).
const (
	ErrorFailed  = 1 // something went wrong on the way
	ErrorRefused = 2 // nothing was done, because what was asked cannot work
)

// ThreadID is the DAP thread id of a rank's thread; thread numbers from 1 as the debugger counts.
func ThreadID(rank, thread int) int { return rank*threadsPerRank + thread }

// RankThread is the inverse of ThreadID.
func RankThread(id int) (rank, thread int) {
	if id < 1 {
		return -1, 0
	}
	return (id - 1) / threadsPerRank, (id-1)%threadsPerRank + 1
}

// threadsPerRank bounds a rank's threads in one id; ids stay far below 2^31, which DAP asks for.
const threadsPerRank = 4096
