package gdbmi

import (
	"slices"
	"strings"
)

// Split reads one line of gdb's output, without its line end, tolerantly: the line may hold the
// program's own output before or behind a record, or hold nothing else. It returns at least one
// record, in the order of the line, and their parts put together are the line: nothing is lost.
//
//   - A line that is a record gives that record; a record with something behind it gives the
//     record and a [Text].
//   - A line that begins like a result (digits, ^, a result class) and is broken gives [Malformed].
//   - A line whose tail is a record gives a Text and the record. To take no output of the program for
//     a record, such a tail must be one that gdb prints by itself: a stream record, a prompt, or an async or
//     result record of a known class.
//   - Everything else gives one Text.
func Split(line string) []Record {
	p := parser{s: line}
	if r, ok := p.record(); ok {
		switch {
		case p.i == len(line):
			return []Record{r}
		case r.Kind == Prompt || r.IsStream() || slices.Contains(classes[r.Kind], r.Class):
			return []Record{r, {Kind: Text, Text: line[p.i:]}}
		}
	}
	if token, ok := brokenResult(line); ok {
		return []Record{{Kind: Malformed, Token: token, Text: line}}
	}
	for i := 1; i < len(line); i++ {
		n := strings.IndexAny(line[i:], "^*+=~@&(")
		if n < 0 {
			break
		}
		i += n
		if !gluedStart(line[i], line[i+1:]) {
			continue
		}
		start := i
		for start > 0 && strings.IndexByte("^*+=", line[i]) >= 0 && line[start-1] >= '0' && line[start-1] <= '9' {
			start--
		}
		p := parser{s: line, i: start}
		r, ok := p.record()
		if !ok || p.i != len(line) || start == 0 {
			continue
		}
		return []Record{{Kind: Text, Text: line[:start]}, r}
	}
	return []Record{{Kind: Text, Text: line}}
}

// gluedStart is a cheap test that keeps Split linear on long lines of the program's output: only a
// place that already looks like the start of a record is handed to the parser.
func gluedStart(mark byte, rest string) bool {
	switch mark {
	case '~', '@', '&':
		return strings.HasPrefix(rest, `"`) && strings.HasSuffix(rest, `"`)
	case '(':
		return rest == "gdb)" || rest == "gdb) "
	}
	return slices.ContainsFunc(classes[marked[mark]], func(class string) bool {
		after, ok := strings.CutPrefix(rest, class)
		return ok && (after == "" || after[0] == ',')
	})
}

// classes are the classes of gdb's manual ("Result Records", "Async Records") and its source.
var classes = map[Kind][]string{
	ResultKind: {ClassDone, ClassRunning, ClassConnected, ClassError, ClassExit},
	Exec:       {ClassRunning, ClassStopped},
	Status:     {"download"},
	Notify: {
		"thread-group-added", "thread-group-removed", "thread-group-started", "thread-group-exited",
		"thread-created", "thread-exited", "thread-selected", "library-loaded", "library-unloaded",
		"traceframe-changed", "tsv-created", "tsv-deleted", "tsv-modified",
		"breakpoint-created", "breakpoint-modified", "breakpoint-deleted",
		"record-started", "record-stopped", "cmd-param-changed", "memory-changed",
	},
}

// brokenResult reports whether line begins like a result record, and its token.
func brokenResult(line string) (token uint64, ok bool) {
	p := parser{s: line}
	if token, ok = p.token(); !ok || !p.take('^') {
		return 0, false
	}
	rest := line[p.i:]
	return token, slices.ContainsFunc(classes[ResultKind], func(c string) bool { return strings.HasPrefix(rest, c) })
}
