package launch

import (
	"fmt"
	"io"
	"log/slog"
)

// Mode says what is between the launcher and the program.
type Mode int

// The modes.
const (
	Run   Mode = iota // no debugger: the program runs as soon as all ranks are there
	Debug             // each rank under a debugger; Backend.Launch starts its program
)

// Options say what to start.
type Options struct {
	Ranks   int
	Program string // a path, or a name in PATH
	Args    []string
	Cwd     string   // "": this process's
	Env     []string // added to the environment of each rank; a value-less "NAME" removes NAME
	MPI     string   // "": what the program is linked to; "mpich", "openmpi", or a path to mpiexec
	// LauncherArgs are passed on to the launcher before the program, after cohort's own flags.
	LauncherArgs []string
	Mode         Mode
	// DebugRanks: in Debug mode only these get a debugger, the others are run (from Start on); nil: all.
	DebugRanks []int
	Interpose  *Interpose // nil: no libcohort at all
	// HoldEnds: agents outlive their programs until all ranks have ended (Run mode; in Debug mode they always do). Then
	// a launcher that ends all ranks when one fails does not end the others before they are where they should get to.
	// The launcher's status is 0 then.
	HoldEnds bool
	// Output gets what the launcher says (Rank -1) and, in Run mode, what the ranks write; calls come one at a time. In
	// Debug mode the ranks' output comes as events of their backends, in order with their stops. nil: ranks and
	// launcher write to Stdout and Stderr.
	Output func(OutputChunk)
	// Stdin goes to rank 0 (Run mode; in Debug mode use Backend.Input). nil: empty.
	Stdin io.Reader
	// Stdout and Stderr are the launcher's when Output is nil; nil: this process's. A *os.File is handed on as it is.
	Stdout, Stderr io.Writer
	// Self is the cohort binary whose "agent" command the launcher starts (and whose "guard" command we do); default:
	// this executable.
	Self string
	// SelfArgs come before the command; tests that are their own agent need it.
	SelfArgs []string
	Gdb      string // path of gdb; "": from PATH
	Debugger string // "gdb", "delve"; "": Delve for programs that the Go tools built, else gdb
	Log      *slog.Logger
	LogFile  string // absolute path of a file to which agents append their logs, see internal/logfile; "": none
}

// Interpose says how libcohort takes part.
type Interpose struct {
	Library      string
	Mode         uint32 // abi.Mode
	Flags        uint32 // abi.Flag
	TraceDir     string // where each rank writes rank-R.trace; "": no trace
	DecisionsDir string // where each rank finds rank-R.decisions; needed in replay
	// WriteDecisions, if set, is called before anything is started with a directory of the job's own, which then is the
	// DecisionsDir. So the decisions go away with the job, whatever happens.
	WriteDecisions func(dir string) error
}

// OutputChunk is some output, not necessarily a line.
type OutputChunk struct {
	Rank     int    // -1: the launcher
	Category string // "stdout", "stderr"
	Data     []byte // valid during the call only
}

// RefusedError: nothing was started, because what was asked cannot work. Reason is in whole sentences and says what to
// do.
type RefusedError struct {
	Reason string
	Err    error // what it is based on, or nil
}

func (e *RefusedError) Error() string { return e.Reason }
func (e *RefusedError) Unwrap() error { return e.Err }

func refuse(err error, format string, args ...any) error {
	return &RefusedError{Reason: fmt.Sprintf(format, args...), Err: err}
}

// StartError: the launcher was started and the job did not come up. Reason is in whole sentences, with the launcher's
// last lines.
type StartError struct{ Reason string }

func (e *StartError) Error() string { return e.Reason }
