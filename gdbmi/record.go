package gdbmi

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
	// Malformed is a line that begins like a result record and is broken. Its Token is right.
	Malformed
)

// marked is what begins with a mark, behind the token.
var marked = map[byte]Kind{
	'^': ResultKind, '*': Exec, '+': Status, '=': Notify, '~': Console, '@': Target, '&': Log,
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
	// Text is the unescaped content of a stream record, and else what gdb wrote.
	Text string
	// Items are the results of a result or async record in order, with duplicates.
	Items []Result
}

// IsStream reports whether r is a console, target or log record.
func (r Record) IsStream() bool { return r.Kind == Console || r.Kind == Target || r.Kind == Log }

// ValueKind says which alternative of the grammar's `value` a [Value] is.
type ValueKind uint8

// The alternatives of `value`. The zero Value is an empty Const.
const (
	Const ValueKind = iota // a c-string, unescaped
	Tuple                  // {...}
	List                   // [...]
)

func (k ValueKind) String() string { return [...]string{"string", "tuple", "list"}[k] }

// Value is one value of the grammar. Values are immutable after parsing and may be shared
// between goroutines. The strings in a value may be substrings of the line it was parsed from, so
// keeping one keeps that line in memory; use [strings.Clone] for what outlives a long record.
type Value struct {
	Kind ValueKind
	// Text is the unescaped content of a Const: bytes as gdb sent them, not necessarily UTF-8. Else it is what gdb
	// wrote.
	Text string
	// Items are the members of a Tuple or List in the order in which gdb sent them,
	// with duplicates. A member that is a plain value has an empty Name.
	Items []Result
}

// Result is `name=value`, or a plain value when Name is empty.
type Result struct {
	Name  string
	Value Value
}
