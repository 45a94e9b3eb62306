package job

import (
	"cmp"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/rankset"
)

// RankState is what a rank is doing.
type RankState int

// The states of a rank. Starting -> Stopped (at its entry) <-> Running -> Exited; Lost from anywhere but Exited.
const (
	Starting RankState = iota // not launched yet, or on its way to its entry
	Running
	Stopped
	Exited // the program has ended
	Lost   // it could not be started, or its debugger ended while it was there: nothing is known of it any more
)

func (s RankState) String() string {
	return [...]string{"starting", "running", "stopped", "exited", "lost"}[s]
}

// Gone tells whether the rank has ended for good, one way or the other.
func (s RankState) Gone() bool { return s == Exited || s == Lost }

// Info says where a rank runs.
type Info struct {
	Host string
	Pid  int // 0 unknown until it is launched
	// HoldOutput stops the rank's output, but for a bounded amount, until it is called with false; nil: that cannot be
	// done. The job's owner calls it, so it must not block.
	HoldOutput func(hold bool)
}

// RankStatus is the state of one rank. It is a snapshot: nothing in it changes later, and it must not be changed by its
// reader.
type RankStatus struct {
	Rank  int
	State RankState
	Host  string
	Pid   int
	Can   backend.Capabilities // of its debugger, once it was launched
	// Stop tells why a Stopped rank stopped. Frames of the interposer at its top are removed; Text is a whole sentence.
	Stop *backend.Stopped
	// Hidden is how many frames were removed from the top of Stop.Frames. Frame IDs keep the debugger's own levels.
	Hidden int
	Exit   *backend.Exited // of an Exited rank
	// Control is the last known snapshot of the control block; of a running rank it may be old.
	Control backend.ControlState
	// Hits are how often it has stopped at each breakpoint, by ID, since its last event.
	Hits map[int]int
	Lost string // what has become of a Lost rank, as it follows "rank 3": "is lost: gdb crashed"
	Text string // whole sentence for people: what the rank does
}

// A Mode says what a breakpoint stops.
type Mode string

// The modes; the zero value means ModeRank.
const (
	ModeRank   Mode = "rank"   // only the rank that hits it stops
	ModeFocus  Mode = "focus"  // if the rank that hits it is in focus, each rank in focus stops as soon as it can
	ModeAll    Mode = "all"    // every rank stops as soon as it can
	ModeCausal Mode = "causal" // for package replayctl; the job itself treats it as ModeRank
)

// A Breakpoint as the user wants it.
type Breakpoint struct {
	ID           int    // the caller's number, above 0 and unique in the job
	Source       string // as in backend.SetBreakpointsRequest
	Line         int
	Function     string
	Catch        backend.Catch
	Condition    string
	HitCondition string
	LogMessage   string
	Watch        backend.Watch
	Address      uint64      // of an instruction breakpoint
	WatchRank    int         // whose frame Watch.Frame is
	Ranks        rankset.Set // only these have it; empty: all
	Mode         Mode
	// Temporary: a rank that has stopped at it loses it, with mode focus or all every rank does. When no rank is left
	// to have it the breakpoint is gone, which an Event tells.
	Temporary bool
	Disabled  bool // no rank has it, for now
}

// BreakpointStatus is what became of a Breakpoint.
type BreakpointStatus struct {
	ID       int
	Verified bool   // at least one rank has it
	Line     int    // actual line, of the lowest rank that has it
	Source   string // likewise
	Removed  bool   // it was temporary, and is gone
	// Message says what the user should know, and names the ranks that differ from the others; "" if there is nothing
	// to say.
	Message string
}

// An Event is one thing that happened. Exactly one of the fields below Seq is set.
type Event struct {
	Seq         uint64 // the job's own order, ascending by 1
	RankChanged *RankStatus
	Output      *Output
	Breakpoint  *BreakpointStatus
	Idle        bool
	Ended       *Ended
	Focus       *rankset.Set
	Cut         *CutReached
	Progress    *Progress
	Mark        func() // see Subscription.Mark; the reader calls it
}

// Output is lines, with their newlines; the last may be a part of a line, which waited too long for its end. All Ranks
// printed exactly Text.
type Output struct {
	Ranks    rankset.Set
	Category string // "stdout", "stderr", "console"
	Text     string // the bytes as they came: not necessarily UTF-8
}

// Ended: every rank has exited or is lost.
type Ended struct {
	Summary string // such as "[0-2] exited with code 0, [3] was killed by SIGSEGV"
}

// CutReached: all ranks are stopped at a cut.
type CutReached struct {
	At        string // what the cut belongs to, as its requester named it, such as the event "2:17"
	Leader    int    // the rank that continued from its position to its breakpoint; -1 none
	Positions []uint64
	Finished  rankset.Set // ranks that had ended before the cut, at or before their position
	Beyond    rankset.Set // ranks that had gone further than the causal cut of At before, and stay there
}

// Progress of something long that belongs to the job, such as the scout run that obtains the event graph.
type Progress struct {
	ID          string // the same from beginning to end
	Title, Text string
	Done, Total int64 // Total 0: unknown
	End         bool
}

// MergedResult is the answer of all ranks that answered the same, also in the file that goes with it.
type MergedResult struct {
	Ranks rankset.Set
	Text  string
	Err   string // whole sentence; then Text is empty
	// Result is the full answer of the lowest of Ranks; its Ref is valid on that rank only.
	Result backend.EvaluateResult
}

// String gives "[0-2] 5".
func (m MergedResult) String() string {
	return "[" + m.Ranks.String() + "] " + cmp.Or(m.Err, m.Text)
}
