package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// usages are the ways to write the command, and what each shows.
var usages = [][2]string{
	{"", "all live handles of the rank; the calls that its threads are in and pending requests first"},
	{"TYPE", "the datatype: its constructor, size, extent, signature, state"},
	{"TYPE BUFFER [COUNT]", "the values that COUNT (default 1) instances of the datatype TYPE select at BUFFER"},
	{"COMM", "the communicator: its members, kind and the rank's number in it"},
	{"REQUEST", "the request: operation, peer, tag, communicator, count, type, since when, where posted"},
	{"X", "likewise a group, window, file, operation, error handler, info or status"},
	{"--call", "the MPI call that the rank is in or its line has: its buffers as the call sees them"},
	{"--last", "the MPI call that returned last: its buffers as they are now"},
	{"--at ADDRESS", "which element of which buffer the byte there is: of a call, an active request or a window"},
	{"--at ADDRESS TYPE BUFFER [COUNT]", "which element of that buffer"},
	{"--tree TYPE", "the expanded type-tree: the address and offset of each basic element"},
	{"--layout TYPE [COUNT]", "a picture of the memory that COUNT instances select"},
	{"--svg FILE TYPE [COUNT]", "the same picture as an SVG file"},
	{"--match SEND [COUNT] to RECV [COUNT]", "whether what is sent fits what is received, and where not"},
	{"--match [0] SEND [COUNT] to [3] RECV [COUNT]", "the same for types of two ranks"},
	{"--match [0] to [3]", "the same for the calls that two ranks are in or at, or the requests: [0] REQUEST to [3]"},
	{"--match 2:17", "in a replay: the same for the message of an event of the recording; the ranks are run to its " +
		"two calls.\nIf the event has several messages: mpipp --match 2:17 from 0, or to 3, tag 7, message 2"},
	{"--stack X", "by which functions a handle was made"},
}

// action is one of the things that mpipp does. An option asks for it, or its arguments alone.
type action struct {
	option      string // without --; "": none
	least, most int    // arguments
	takes       string // which arguments, in a sentence
	run         func(c *command, args []string) (view.Node, error)
}

const anyNumber = 1 << 20

func actions() []action {
	all := []action{
		{"", 0, 3, "at most three arguments (put an expression with spaces in quotes)", (*command).plain},
		{"call", 0, 0, "no argument: it shows the call that the rank is in, or that its line has", (*command).calls},
		{"last", 0, 0, "no argument: it shows the call that was the rank's last event", (*command).last},
		{
			"at", 1, 4, "an address, and after it perhaps a datatype, a buffer and a count",
			(*command).at,
		},
		{"tree", 1, 1, "one datatype, with or without an address behind it", (*command).tree},
		{"layout", 1, 2, "a datatype and a count", (*command).layout},
		{"svg", 1, 2, "a datatype and a count", (*command).svg},
		{"match", 0, anyNumber, "", (*command).match},
		{"stack", 1, 1, "one handle", (*command).stack},
		{"export", 1, 1, "one side", (*command).export}, // not for people; nor this one
		{"waits", 0, 0, "no argument", (*command).waits},
		{"help", 0, anyNumber, "", (*command).help},
	}
	for _, k := range append(slices.Clone(registry.Classes), *registry.ClassOf(registry.KindStatus)) {
		a := action{k.Option, 1, 1, "one " + k.Word, (*command).plain}
		if k.Kind == registry.KindDatatype {
			a.takes, a.most = "a datatype, and after it a buffer and a count", 3
		}
		all = append(all, a)
	}
	return all
}

// options of one console command.
type options struct {
	action action
	file   string // of --svg
	from   int64
	list   int64
	width  int64
	colour bool
	buffer bool
}

// option is one that any form may have.
type option struct {
	names, value string // what follows it, for people; "": nothing
	help         string
	set          func(value string) error // "" : nothing was given
}

func (o *options) table() []option {
	flag := func(to *bool) func(string) error {
		return func(string) error { *to = true; return nil }
	}
	number := func(name string, to *int64, least, most int64) func(string) error {
		return func(value string) (err error) {
			if *to, err = strconv.ParseInt(value, 0, 64); err != nil || *to < least || *to > most {
				return fault.Errorf(fault.Usage, 0, "mpipp %s was given %q; a number from %d to %d is expected.", name,
					value, least, most)
			}
			return nil
		}
	}
	return []option{
		{"--buffer", "", "with a request: the values in its buffers", flag(&o.buffer)},
		{"--from", "N", "begin with basic element N of the buffer", number("--from", &o.from, 0, datatype.MaxOffset)},
		{"--list", "N", "show N elements or entries instead of 200", number("--list", &o.list, 1, view.MaxPage)},
		{"--width", "N", "columns for --layout (80)", number("--width", &o.width, 20, 1000)},
		{"--colour", "", "colour for --layout", flag(&o.colour)},
		{"--color", "", "", flag(&o.colour)},
		{"--svg", "FILE", "", func(value string) error { o.file = value; return o.act("svg") }},
	}
}

// Usage describes the console command.
func Usage() string {
	var b strings.Builder
	for _, u := range usages {
		words, width := strings.TrimSpace("mpipp "+u[0]), 30
		if strings.Contains(words, " to ") {
			width = 53
		}
		fmt.Fprintf(&b, "%-*s%s\n", max(width, len(words)+1), words,
			strings.ReplaceAll(u[1], "\n", "\n"+strings.Repeat(" ", width)))
	}
	b.WriteString(`TYPE, COMM, BUFFER, COUNT, REQUEST and X are expressions of the program's language; MPI_INT and other
predefined names work too.
TYPE may end in an address within the datatype: t[2][5], t(STRUCT)[2][5](CHAR),
	and t{3}[2] for the fourth of COUNT instances.
Options, before the rest:
  --type, --comm, --request, --group, --win, --file, --op, --errhandler, --info, --status
                   what X is, where its declared type does not tell
`)
	for _, o := range new(options).table() {
		if o.help != "" {
			fmt.Fprintf(&b, "  %-17s%s\n", o.names+" "+o.value, o.help)
		}
	}
	return b.String() + `Examples:
  mpipp column &u[0][1]       mpipp column[6] &u[0][1]       mpipp MPI_DOUBLE u 10       mpipp --from 1000 MPI_INT buf n
  mpipp --layout column       mpipp --svg column.svg column  mpipp --match column 2 to MPI_DOUBLE 64`
}

// splitOptions takes the options off the front of a line. Their values are words, not expressions: a path may have what
// is an operator in C.
func splitOptions(line string) (opt options, rest string, err error) {
	opt.action = actions()[0]
	for rest = strings.TrimLeft(line, " \t"); strings.HasPrefix(rest, "--"); {
		var word string
		word, rest = cutWord(rest)
		if rest, err = opt.take(word, rest); err != nil {
			return opt, "", err
		}
	}
	return opt, rest, nil
}

// take takes one option, and its value off the rest of the line.
func (o *options) take(word, rest string) (string, error) {
	for _, x := range o.table() {
		if x.names != word {
			continue
		}
		value := ""
		if x.value != "" {
			if value, rest = cutWord(rest); value == "" {
				what := map[string]string{"FILE": "the name of the file", "N": "a number"}[x.value]
				return "", fault.Errorf(fault.Usage, 0, "mpipp %s needs %s after it. Usage:\n%s", word, what, Usage())
			}
		}
		return rest, x.set(value)
	}
	return rest, o.act(word[2:])
}

// act sets what the command does, which can be said once.
func (o *options) act(name string) error {
	for _, a := range actions() {
		switch {
		case a.option != name || name == "":
			continue
		case o.action.option != "" && o.action.option != name:
			return fault.Errorf(fault.Usage, 0, "mpipp was given --%s and --%s, and does one of them at a time.",
				o.action.option, name)
		}
		o.action = a
		return nil
	}
	return fault.Errorf(fault.Usage, 0, "mpipp has no option --%s. Usage:\n%s", name, Usage())
}

// cutWord takes the first word, which may be in quotes, off s.
func cutWord(s string) (word, rest string) {
	word = call.Quoted.FindString(s)
	if word == "" {
		word, _, _ = strings.Cut(s, " ")
		word, _, _ = strings.Cut(word, "\t")
	}
	return call.Unquote(word), strings.TrimLeft(s[len(word):], " \t")
}

// view is what of the answer is shown.
func (o *options) view() view.Options {
	opt := view.Options{From: o.from, MaxList: int(o.list), Buffers: o.buffer}.Filled()
	opt.MaxLines = max(opt.MaxLines, opt.MaxList)
	return opt
}
