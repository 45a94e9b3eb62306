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
	if r, ok := p.record(); ok && (p.i == len(line) || knownHead(r)) {
		return withText(r, line[p.i:])
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

func withText(r Record, rest string) []Record {
	if rest == "" {
		return []Record{r}
	}
	return []Record{r, {Kind: Text, Text: rest}}
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
	return startsWithKnown(mark, rest)
}

// classes are the classes of gdb's manual ("Result Records", "Async Records") and its source.
var classes = map[byte][]string{
	'^': {ClassDone, ClassRunning, ClassConnected, ClassError, ClassExit},
	'*': {ClassRunning, ClassStopped},
	'+': {"download"},
	'=': {
		"thread-group-added", "thread-group-removed", "thread-group-started", "thread-group-exited",
		"thread-created", "thread-exited", "thread-selected", "library-loaded", "library-unloaded",
		"traceframe-changed", "tsv-created", "tsv-deleted", "tsv-modified",
		"breakpoint-created", "breakpoint-modified", "breakpoint-deleted",
		"record-started", "record-stopped", "cmd-param-changed", "memory-changed",
	},
}

func startsWithKnown(mark byte, s string) bool {
	for _, c := range classes[mark] {
		if strings.HasPrefix(s, c) && (len(s) == len(c) || s[len(c)] == ',') {
			return true
		}
	}
	return false
}

func knownHead(r Record) bool {
	switch r.Kind {
	case Console, Target, Log, Prompt:
		return true
	case ResultKind, Exec, Status, Notify:
		return slices.Contains(classes[marks[r.Kind]], r.Class)
	case Text, Malformed:
	}
	return false
}

// brokenResult reports whether line begins like a result record, and its token.
func brokenResult(line string) (token uint64, ok bool) {
	i := 0
	for ; i < len(line) && line[i] >= '0' && line[i] <= '9'; i++ {
		if token > (1<<63)/10 {
			return 0, false
		}
		token = token*10 + uint64(line[i]-'0')
	}
	if i == len(line) || line[i] != '^' {
		return 0, false
	}
	rest := line[i+1:]
	for _, c := range classes['^'] {
		if strings.HasPrefix(rest, c) {
			return token, true
		}
	}
	return 0, false
}
