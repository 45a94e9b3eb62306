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

// form is one of the things that mpipp does. An option asks for it, or its arguments alone.
type form struct {
	option string // without --; "": none
	usage  string // what follows, for people; "": not for people
	help   string
	takes  string // its arguments in a sentence
	most   int    // of them
	least  int
	run    func(c *command, args []string) (view.Node, error)
}

// forms are all of them, in the order in which they are explained. An option may have several usages, and the first runs.
func forms() []form {
	all := []form{
		{
			"", "", "all live handles of the rank; the calls that its threads are in and pending requests first",
			"at most three arguments (put an expression with spaces in quotes)", 3, 0, (*command).plain,
		},
		{"", "TYPE", "the datatype: its constructor, size, extent, signature, state", "", 0, 0, nil},
		{
			"", "TYPE BUFFER [COUNT]",
			"the values that COUNT (default 1) instances of the datatype TYPE select at BUFFER", "", 0, 0, nil,
		},
		{"", "COMM", "the communicator: its members, kind and the rank's number in it", "", 0, 0, nil},
		{
			"", "REQUEST",
			"the request: operation, peer, tag, communicator, count, type, since when, where posted", "", 0, 0, nil,
		},
		{"", "X", "likewise a group, window, file, operation, error handler, info or status", "", 0, 0, nil},
		{
			"call", "", "the MPI call that the rank is in or its line has: its buffers as the call sees them",
			"no argument: it shows the call that the rank is in, or that its line has", 0, 0, (*command).calls,
		},
		{
			"tree", "TYPE", "the expanded type-tree: the address and offset of each basic element",
			"one datatype, with or without an address behind it", 1, 1, (*command).tree,
		},
		{
			"layout", "TYPE [COUNT]", "a picture of the memory that COUNT instances select",
			"a datatype and a count", 2, 1, (*command).layout,
		},
		{"svg", "FILE TYPE [COUNT]", "the same picture as an SVG file", "a datatype and a count", 2, 1, (*command).svg},
		{
			"match", "SEND [COUNT] to RECV [COUNT]", "whether what is sent fits what is received, and where not",
			"", anyNumber, 0, (*command).match,
		},
		{"match", "[0] SEND [COUNT] to [3] RECV [COUNT]", "the same for types of two ranks", "", 0, 0, nil},
		{
			"match", "[0] to [3]",
			"the same for the calls that two ranks are in or at, or the requests: [0] REQUEST to [3]", "", 0, 0, nil,
		},
		{
			"match", "2:17", "in a replay: the same for the message of an event of the recording; the ranks are run to its " +
				"two calls.\nIf the event has several messages: mpipp --match 2:17 from 0, or to 3, tag 7, message 2",
			"", 0, 0, nil,
		},
		{"stack", "X", "by which functions a handle was made", "one handle", 1, 1, (*command).stack},
		{"export", hidden, "", "one side", 1, 1, (*command).export},
		{"help", hidden, "", "", anyNumber, 0, (*command).help},
	}
	for _, k := range slices.Concat(registry.Classes, []registry.Class{*registry.ClassOf(registry.KindStatus)}) {
		f := form{k.Option, hidden, "", "one " + k.Word, 1, 1, (*command).plain}
		if k.Kind == registry.KindDatatype {
			f.takes, f.most = "a datatype, and after it a buffer and a count", 3
		}
		all = append(all, f)
	}
	return all
}

const (
	hidden    = "-"
	anyNumber = 1 << 20
)

// options of one console command.
type options struct {
	form   form
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
	for _, f := range forms() {
		if f.usage == hidden {
			continue
		}
		words := "mpipp"
		if f.option != "" {
			words += " --" + f.option
		}
		if f.usage != "" {
			words += " " + f.usage
		}
		width := 30
		if strings.Contains(f.usage, " to ") {
			width = 53
		}
		fmt.Fprintf(&b, "%-*s%s\n", max(width, len(words)+1), words,
			strings.ReplaceAll(f.help, "\n", "\n"+strings.Repeat(" ", width)))
	}
	b.WriteString(`TYPE, COMM, BUFFER, COUNT, REQUEST and X are expressions of the program's language; MPI_INT and other predefined names work too.
TYPE may end in an address within the datatype: t[2][5], t(STRUCT)[2][5](CHAR), and t{3}[2] for the fourth of COUNT instances.
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
	opt.form = forms()[0]
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
	for _, f := range forms() {
		switch {
		case f.option != name || name == "":
			continue
		case o.form.option != "" && o.form.option != name:
			return fault.Errorf(fault.Usage, 0, "mpipp was given --%s and --%s, and does one of them at a time.",
				o.form.option, name)
		}
		o.form = f
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
