package gdbmi

import (
	"strconv"
	"strings"
)

// Kind says what a [Record] is.
type Kind uint8

// The kinds of output.
const (
	// Text is a line, or a part of one, that is no record: the program's own output.
	Text       Kind = iota
	ResultKind      // ^done, ^running, ^connected, ^error, ^exit: the answer to a command
	Exec            // *running, *stopped
	Status          // +download: progress
	Notify          // =thread-created and the like
	Console         // ~"...": what gdb's command line would print
	Target          // @"...": the output of a remote target
	Log             // &"...": gdb's own messages
	Prompt          // (gdb)
	// Malformed is a line that begins like a result record and is broken. Its Token is right,
	// Text is the whole line.
	Malformed
)

var kindNames = [...]string{
	"text", "result", "exec", "status", "notify", "console", "target", "log", "prompt", "malformed result",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown kind"
}

// The classes of result and exec records.
const (
	ClassDone      = "done"
	ClassRunning   = "running"
	ClassConnected = "connected"
	ClassError     = "error"
	ClassExit      = "exit"
	ClassStopped   = "stopped"
)

// Record is one unit of gdb's output.
type Record struct {
	Kind Kind
	// Token is the number in front of a result or async record; 0 stands for none (the driver
	// counts its tokens from 1).
	Token uint64
	// Class is the word after ^ * + =, e.g. "done" or "stopped".
	Class string
	// Text is the unescaped content of a stream record, or the line of a Text or Malformed one.
	Text string
	// Items are the results of a result or async record in order, with duplicates.
	Items []Result
}

var marks = [...]byte{
	ResultKind: '^', Exec: '*', Status: '+', Notify: '=', Console: '~', Target: '@', Log: '&',
	Malformed: 0,
}

// String returns the record as the line that gdb would print, without the line feed. For every
// record r that [Parse] returns, Parse(r.String()) gives r again.
func (r Record) String() string {
	var b strings.Builder
	switch r.Kind {
	case Text, Malformed:
		return r.Text
	case Prompt:
		return "(gdb) "
	case Console, Target, Log:
		b.WriteByte(marks[r.Kind])
		quote(&b, r.Text)
		return b.String()
	case ResultKind, Exec, Status, Notify:
	}
	if r.Token != 0 {
		b.WriteString(strconv.FormatUint(r.Token, 10))
	}
	b.WriteByte(marks[r.Kind])
	b.WriteString(r.Class)
	for _, it := range r.Items {
		b.WriteByte(',')
		it.write(&b)
	}
	return b.String()
}

// brief is a short form for error messages: the head of the record, at most 160 bytes.
func (r Record) brief() string {
	s := r.String()
	const most = 160
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// IsAsync reports whether r is an exec, status or notify record.
func (r Record) IsAsync() bool { return r.Kind == Exec || r.Kind == Status || r.Kind == Notify }

// IsStream reports whether r is a console, target or log record.
func (r Record) IsStream() bool { return r.Kind == Console || r.Kind == Target || r.Kind == Log }
