package dap

import (
	"fmt"
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/replayctl"
)

// consoleEntry is a line of the console's help. run is nil for what a rank's debugger carries out.
type consoleEntry struct {
	name, arguments, help string
	examples              []string
	run                   func(k *call, arguments string) (string, error)
}

// consoleEntries are the console's commands; everything else is evaluated.
func consoleEntries() []consoleEntry {
	return []consoleEntry{
		{
			"focus", "[SET]", "show or set the ranks that continue, step and pause act on",
			[]string{"focus", "focus 0-3,7", "focus all"},
			consoleFocus,
		},
		{"ranks", "", "show where each rank stands", []string{"ranks"}, consoleRanks},
		{
			"cut", "RANK:EVENT", "replay: show the causal cut of an event of the recording",
			[]string{"cut 2:17"},
			consoleCut,
		},
		{
			"runto", "RANK:EVENT", "replay: run every rank to the causal cut of an event",
			[]string{"runto 2:17"},
			consoleRunTo,
		},
		{
			"p", "EXPRESSION", "evaluate an expression of the program's language, in the selected frame",
			[]string{"p x", "p a[3]@4", "p x = 7"},
			nil,
		},
		{
			"mpipp", "TYPE BUFFER [COUNT]", "show a buffer as an MPI datatype sees it",
			[]string{"mpipp column &u[0][1]", "[all] mpipp column buf 2"},
			nil,
		},
		{
			"mpipp", "", "show datatypes, communicators, pictures of memory, whether types match",
			[]string{
				"mpipp --help", "mpipp", "mpipp column", "mpipp --layout column",
				"mpipp --match [0] column 1 to [1] MPI_DOUBLE 64",
			},
			nil,
		},
		{
			"mpipp --match", "RANK:EVENT",
			"replay: run to the two calls of an event's message, and compare their types",
			[]string{"mpipp --match 2:17", "mpipp --match 2:17 from 0"},
			nil,
		},
		{
			"-exec", "COMMAND", "a command of the rank's own debugger",
			[]string{"-exec info locals", "[0,2] -exec info registers"},
			nil,
		},
		{
			"[SET]", "LINE", "any of p, mpipp, -exec or an expression on a set of ranks; equal answers are merged",
			[]string{"[0,2] p x", "[all] x", "[0-63:4] p x"},
			nil,
		},
		{"help", "", "this list", []string{"help"}, consoleHelp},
	}
}

// consoleCommand carries out a line that is one of our own commands.
func (k *call) consoleCommand(line string) (text string, ours bool, err error) {
	name, arguments, _ := strings.Cut(line, " ")
	for _, command := range consoleEntries() {
		if command.name == name && command.run != nil {
			text, err := command.run(k, strings.TrimSpace(arguments))
			return text, true, err
		}
	}
	return "", false, nil
}

func consoleHelp(k *call, _ string) (string, error) {
	var b strings.Builder
	b.WriteString("Cohort")
	if v := k.c.srv.version; v != "" {
		b.WriteString(" " + v)
	}
	b.WriteString(": the console takes expressions of the program's language, and these commands:\n")
	for _, c := range consoleEntries() {
		head := strings.TrimSpace(c.name + " " + c.arguments)
		fmt.Fprintf(&b, "  %-28s %s\n", head, c.help)
		fmt.Fprintf(&b, "  %-28s   for example: %s\n", "", strings.Join(c.examples, "   "))
	}
	b.WriteString("A rank set is written 0-3,7 or all or 0-63:4 (every fourth). To evaluate a variable that is named " +
		"like a command, use p.")
	return b.String(), nil
}

func consoleFocus(k *call, set string) (string, error) {
	d := k.c.debuggee()
	if set != "" {
		body, err := k.focusOn(strings.TrimSuffix(strings.TrimPrefix(set, "["), "]"))
		if err != nil {
			return "", err
		}
		return "The focus is [" + body.Ranks + "].", nil
	}
	focus, err := d.Job.Focus(k.ctx)
	if err != nil {
		return "", err
	}
	return "The focus is [" + focus.String() + "].", nil
}

// consoleRanks shows ranks that stand alike on one line.
func consoleRanks(k *call, arguments string) (string, error) {
	if arguments != "" {
		return "", refuse("ranks takes no argument, but was given %s", quoteShort(arguments))
	}
	body, err := k.ranksBody()
	if err != nil {
		return "", err
	}
	byText := map[string]rankset.Set{}
	var order []string
	for _, r := range body.Ranks {
		text := describeRank(r)
		if _, ok := byText[text]; !ok {
			order = append(order, text)
		}
		byText[text] = byText[text].With(r.Rank)
	}
	lines := make([]string, 0, len(order)+1)
	for _, text := range order {
		lines = append(lines, "["+byText[text].String()+"] "+text)
	}
	lines = append(lines, "The focus is ["+body.Focus+"].")
	return strings.Join(lines, "\n"), nil
}

func describeRank(r protocol.RankStatus) string {
	parts := []string{r.State}
	if r.Reason != "" {
		parts = append(parts, "("+r.Reason+")")
	}
	if r.Function != "" {
		parts = append(parts, "in "+r.Function)
	}
	if r.File != "" {
		parts = append(parts, fmt.Sprintf("at %s:%d", r.File, r.Line))
	}
	if r.Call != "" {
		parts = append(parts, "calling "+r.Call)
	}
	if r.Event > 0 {
		parts = append(parts, fmt.Sprintf("after event %d", r.Event))
	}
	return strings.Join(parts, " ")
}

func consoleCut(k *call, at string) (string, error) {
	if k.c.debuggee().Steering == nil {
		return "", refuse("cut needs a replay, and %s", k.c.debuggee().notReplay())
	}
	at, err := checkEvent("cut", at)
	if err != nil {
		return "", err
	}
	body, err := k.c.debuggee().Steering.Cut(k.ctx, at)
	if err != nil {
		return "", err
	}
	return body.Text + "\n" + positions(body.Positions), nil
}

func consoleRunTo(k *call, at string) (string, error) {
	d := k.c.debuggee()
	if d.Steering == nil {
		return "", refuse("runto needs a replay, and %s", k.c.debuggee().notReplay())
	}
	at, err := checkEvent("runto", at)
	if err != nil {
		return "", err
	}
	k.c.view.want(-1)
	if err := k.steer(func() *replayctl.Run { return d.Steering.RunTo(at, nil) }); err != nil {
		return "", err
	}
	return "All ranks run to the causal cut of " + at + ".", nil
}

// completions offers the console's commands for the first word of a line.
func completions(k *call, a godap.CompletionsArguments) (any, error) {
	body := godap.CompletionsResponseBody{Targets: []godap.CompletionItem{}}
	column := a.Column
	if !k.c.capabilities().columnsFrom0 {
		column--
	}
	units := []rune(a.Text) // DAP counts UTF-16 units; they differ only for what no command contains
	if column < 0 || column > len(units) {
		return nil, refuse("completions was asked for column %d of a text of %d characters", a.Column, len(units))
	}
	word := strings.TrimLeft(string(units[:column]), " ")
	if strings.ContainsAny(word, " \t") {
		return body, nil
	}
	for _, c := range consoleEntries() {
		if strings.HasPrefix(c.name, word) && !strings.HasPrefix(c.name, "[") {
			text := c.name
			if c.arguments != "" {
				text += " "
			}
			body.Targets = append(body.Targets, godap.CompletionItem{
				Label: c.name, Text: text, Detail: c.help, Type: "keyword", Start: column - len([]rune(word)),
				Length: len([]rune(word)),
			})
		}
	}
	body.Targets = slices.CompactFunc(body.Targets, func(x, y godap.CompletionItem) bool { return x.Label == y.Label })
	slices.SortFunc(body.Targets, func(x, y godap.CompletionItem) int { return strings.Compare(x.Label, y.Label) })
	return body, nil
}
