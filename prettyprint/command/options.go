package command

import (
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// options of one console command.
type options struct {
	// "", or what the command does: the option of a kind of handle (type, comm, request, ...), call, tree, layout, svg,
	// match, stack, export, help
	action string
	file   string // of --svg
	from   int64
	list   int
	width  int
	colour bool
	buffer bool
}

// takesValue are the options that the next word belongs to.
var takesValue = map[string]string{
	"--svg": "the name of the file", "--from": "a number of an element", "--list": "a number",
	"--width": "a number of columns",
}

// splitOptions takes the options off the front of a line. Their values are words, not expressions: a path may hold what
// is an operator in C.
func splitOptions(line string) (opt options, rest string, err error) {
	rest = strings.TrimLeft(line, " \t")
	for strings.HasPrefix(rest, "--") {
		var word string
		word, rest = cutWord(rest)
		used, err := opt.set(word, func() (string, bool) {
			if rest == "" {
				return "", false
			}
			value, _ := cutWord(rest)
			return value, value != ""
		})
		if err != nil {
			return opt, "", err
		}
		if used == 2 {
			_, rest = cutWord(rest)
		}
	}
	return opt, rest, nil
}

// cutWord takes the first word, which may be in quotes, off s.
func cutWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		q := call.Splitter{In: s}
		if err := q.Quoted(); err == nil {
			return call.Unquote(s[:q.At]), strings.TrimLeft(s[q.At:], " \t")
		}
	}
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}

// set takes one option; value gives the word after it. used is how many words it took.
func (o *options) set(word string, value func() (string, bool)) (used int, err error) {
	v, used := "", 1
	if what, takes := takesValue[word]; takes {
		var ok bool
		if v, ok = value(); !ok {
			return 0, fault.Errorf(fault.Usage, 0, "mpipp %s needs %s after it. Usage:\n%s", word, what, Usage)
		}
		used = 2
	}
	number := func(least, most int64) (int64, error) {
		n, err := strconv.ParseInt(v, 0, 64)
		if err != nil || n < least || n > most {
			return 0, fault.Errorf(fault.Usage, 0, "mpipp %s was given %q; a number from %d to %d is expected.", word, v, least,
				most)
		}
		return n, nil
	}
	var n int64
	switch word {
	case "--type", "--comm", "--request", "--group", "--win", "--file", "--op", "--errhandler", "--info", "--status",
		"--call", "--tree", "--layout", "--match", "--stack", "--export", "--help":
		return used, o.act(word[2:])
	case "--buffer":
		o.buffer = true
	case "--svg":
		o.file = v
		return used, o.act("svg")
	case "--from":
		o.from, err = number(0, datatype.MaxOffset)
	case "--list":
		n, err = number(1, view.MaxPage)
		o.list = int(n)
	case "--width":
		n, err = number(20, 1000)
		o.width = int(n)
	case "--colour", "--color":
		o.colour = true
	default:
		return 0, fault.Errorf(fault.Usage, 0, "mpipp has no option %s. Usage:\n%s", word, Usage)
	}
	return used, err
}

// act sets what the command does, which can be said once.
func (o *options) act(action string) error {
	if o.action != "" && o.action != action {
		return fault.Errorf(fault.Usage, 0, "mpipp was given --%s and --%s, and does one of them at a time.", o.action, action)
	}
	o.action = action
	return nil
}

// filled are the caller's options with the user's.
func (o *options) filled(opt view.Options) view.Options {
	opt = opt.Filled()
	if o.list > 0 {
		opt.MaxList = o.list
		opt.MaxLines = max(opt.MaxLines, o.list)
	}
	if o.from > 0 {
		opt.From = o.from
	}
	opt.Buffers = o.buffer
	return opt
}
