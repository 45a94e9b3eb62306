package gdbmi

import (
	"fmt"
	"strings"
)

// CommandError is gdb's ^error to a command.
type CommandError struct {
	Command string // as sent, without its token
	Msg     string // gdb's words
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("gdb answered %s with an error: %s", shorten(e.Command), e.Msg)
}

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

// Error leaves Last to the log: people cannot read it.
func (e *DeadError) Error() string {
	var b strings.Builder
	if e.Command != "" {
		fmt.Fprintf(&b, "%s was not answered: ", shorten(e.Command))
	}
	if e.Asked {
		fmt.Fprintf(&b, "gdb (process %d) was closed", e.PID)
		return b.String()
	}
	fmt.Fprintf(&b, "gdb (process %d) ended: %s", e.PID, e.State)
	if s := strings.TrimSpace(e.Stderr); s != "" {
		fmt.Fprintf(&b, "; its stderr ends with %q", s)
	}
	return b.String()
}

// shorten is for what is told of commands and records.
func shorten(s string) string {
	const most = 160
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
