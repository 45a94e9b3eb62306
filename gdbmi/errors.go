package gdbmi

import (
	"fmt"
	"strings"
)

// CommandError is gdb's ^error to a command.
type CommandError struct {
	Command string // as sent, without its token
	Msg     string // gdb's words
	Code    string // "undefined-command" for a command that this gdb does not have, otherwise ""
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("gdb answered %s with an error: %s", shorten(e.Command, 200), e.Msg)
}

// Undefined reports whether this gdb does not have the command at all.
func (e *CommandError) Undefined() bool { return e.Code == "undefined-command" }

// RecordError is the answer to a command that gdb gave and that is no well-formed record.
type RecordError struct {
	Command string
	Line    string // what came
	Err     error  // a *SyntaxError
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("gdb's answer to %s is broken: %v", shorten(e.Command, 200), e.Err)
}

// Unwrap returns the *[SyntaxError].
func (e *RecordError) Unwrap() error { return e.Err }

// DeadError says that gdb is gone, and what is known of why. Every Send that was under way when gdb
// died, and every later one, fails with it.
type DeadError struct {
	Command string   // the command that went unanswered; "" in the exit event
	Asked   bool     // gdb ended because Close asked it to
	PID     int      // of the gdb that died
	State   string   // e.g. "exit status 1" or "signal: killed"
	Stderr  string   // the last few KiB that gdb wrote there
	Last    []string // the last records before the end, oldest first, shortened
}

func (e *DeadError) Error() string {
	var b strings.Builder
	if e.Command != "" {
		fmt.Fprintf(&b, "%s was not answered: ", shorten(e.Command, 200))
	}
	if e.Asked {
		fmt.Fprintf(&b, "gdb (process %d) was closed", e.PID)
		return b.String()
	}
	fmt.Fprintf(&b, "gdb (process %d) ended: %s", e.PID, e.State)
	if s := strings.TrimSpace(e.Stderr); s != "" {
		fmt.Fprintf(&b, "; its stderr ends with %q", s)
	}
	if len(e.Last) > 0 {
		fmt.Fprintf(&b, "; its last records were %q", e.Last)
	}
	return b.String()
}

// StartError says why gdb could not be started, or did not come to its first prompt.
type StartError struct {
	Path string // the executable that was tried
	Err  error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("could not start gdb (%s): %v", e.Path, e.Err)
}

// Unwrap returns the cause: an error of os/exec, a *[DeadError], or the context's.
func (e *StartError) Unwrap() error { return e.Err }

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
