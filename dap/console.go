package dap

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/rankset"
)

// consoleCommand is a command of the console. The table of them is what help, completion, `cohort help debug` and
// cohort/commands are made from, and what every front end can do: the terminal interface's and an editor's console and
// scripts send their lines here.
type consoleCommand struct {
	protocol.Command      // Examples: at least its name alone
	lane             lane // of a line with it
	needsProcess     bool // refused for core files
	// waits, if set, tells whether a line with these arguments waits for ranks, which must not hold up pause.
	waits func(arguments string) bool
	// run is nil for what a rank's debugger carries out.
	run func(k *call, line consoleLine) (answer, error)
	// fits, if set, tells whether the arguments are the command's. If they are not the line is an expression, for it
	// begins with a variable's name.
	fits func(arguments string) bool
	// complete lists words that may come in the arguments.
	complete func(k *call) []string
}

// consoleLine is a line that is a command.
type consoleLine struct {
	arguments string
	frame     int // of the client's choice; 0: none
}

// answer is what a command says.
type answer struct {
	text     string
	confirms bool        // see protocol.ConsoleBody
	ranks    rankset.Set // likewise
	stacks   []protocol.MergedStack
}

func confirm(format string, args ...any) answer {
	return answer{text: fmt.Sprintf(format, args...), confirms: true}
}

// consoleCommands is the table, in the order of the help.
func consoleCommands() []consoleCommand {
	type row = protocol.Command
	whatever := func(string) bool { return true }
	table := []consoleCommand{
		{Command: row{
			Name: "break", Short: "b", Arguments: breakArguments,
			Help: "set a breakpoint; mode says what it stops, hits at which hits: 3 (from there on), ==3, %3 (each " +
				"third)",
			Examples: []string{"break heat.c:132", "break tsp.c:132 ranks 2 mode causal if tasks_received == 3"},
		}, run: consoleBreak, complete: breakWords},
		{Command: row{
			Name: "tbreak", Arguments: breakArguments,
			Help:     "set a temporary breakpoint: each rank stops at it once",
			Examples: []string{"tbreak heat.c:132", "tbreak exchange_halo mode all"},
		}, run: consoleBreak, complete: breakWords},
		{Command: row{
			Name: "logpoint", Arguments: `FILE:LINE|FUNCTION "MESSAGE" [ranks SET] [hits HITS] [if CONDITION]`,
			Help:     "print when a rank comes there, and let it run on; {EXPRESSION} is replaced by its value",
			Examples: []string{`logpoint heat.c:132 "step {step}" hits %10`},
		}, run: consoleLogPoint},
		{Command: row{
			Name: "watch", Arguments: "EXPRESSION [access write|read|readWrite] [ranks SET] [mode rank|focus|all] [if " +
				"CONDITION]",
			Help:     "stop when the value of a variable changes, or is read; on the frame's rank unless ranks are given",
			Examples: []string{"watch total", "watch u[3] access readWrite", "watch total ranks 0-3 if total > 10"},
		}, needsProcess: true, run: consoleWatch, complete: watchWords},
		{Command: row{
			Name: "catch", Arguments: "EVENT [ranks SET] [mode rank|focus|all] [pending] [if CONDITION]",
			Help:     "stop at what may happen anywhere: " + strings.Join(catches(), ", "),
			Examples: []string{"catch mpi-errors", "catch exit ranks 0-2 mode all"},
		}, run: consoleCatch, complete: func(*call) []string { return catches() }},
		{Command: row{
			Name: "breakpoints", Help: "list the breakpoints of all front ends, and on which ranks they are",
		}, run: consoleBreakpoints},
		{Command: row{
			Name: "delete", Arguments: "NUMBER", Help: "remove a breakpoint that the console has set",
			Examples: []string{"delete 2"},
		}, run: consoleDelete, fits: isNumber},
		{Command: row{
			Name: "disable", Arguments: "NUMBER", Help: "switch a breakpoint that the console has set off",
			Examples: []string{"disable 2"},
		}, run: consoleEnable, fits: isNumber},
		{Command: row{
			Name: "enable", Arguments: "NUMBER", Help: "switch a breakpoint on again",
			Examples: []string{"enable 2"},
		}, run: consoleEnable, fits: isNumber},
		{Command: row{
			Name: "condition", Arguments: "NUMBER [CONDITION]",
			Help:     "change the condition of a breakpoint that the console has set; without one it has none",
			Examples: []string{"condition 2 x > 3", "condition 2 [0,2] x > 3", "condition 2"},
		}, run: consoleCondition, fits: startsWithNumber},
		{Command: row{
			Name: "continue", Short: "c", Arguments: "[TIME]", Resumes: true,
			Help:     "let the ranks in focus run; after TIME, if given, those that still run are paused",
			Examples: []string{"continue", "continue 10s"},
		}, needsProcess: true, waits: func(time string) bool { return time != "" }, run: consoleMove},
		{Command: row{
			Name: "next", Short: "n", Resumes: true, Help: "step over a line",
		}, needsProcess: true, run: consoleMove},
		{Command: row{
			Name: "step", Short: "s", Resumes: true, Help: "step into a call",
		}, needsProcess: true, run: consoleMove},
		{Command: row{
			Name: "finish", Resumes: true, Help: "run until the function, or the MPI call, returns",
		}, needsProcess: true, run: consoleMove},
		{Command: row{
			Name: "run", Help: "continue to the end of the job, whatever stops on the way but errors and pause",
		}, lane: laneConsole, needsProcess: true, run: consoleRun},
		{Command: row{
			Name: "wait", Arguments: "[TIME]", AllRanks: true,
			Help:     "wait until no rank runs any more, or TIME (seconds, or 2m) is over; show which rank is in which call",
			Examples: []string{"wait", "wait 10"},
		}, lane: laneConsole, run: consoleWait},
		{Command: row{
			Name: "waits", Arguments: "[dot]", Help: "show which rank waits for which, and whether they can ever go on",
			Examples: []string{"waits", "waits dot"},
		}, lane: laneConsole, run: consoleWaits},
		{Command: row{
			Name: "pause", Resumes: true, Help: "stop the ranks in focus",
		}, lane: lanePause, needsProcess: true, run: consoleMove},
		{Command: row{
			Name: "focus", Arguments: "[SET]", Help: "show or set the ranks that continue, step and pause act on",
			Examples: []string{"focus", "focus 0-3,7", "focus all"},
		}, run: consoleFocus},
		{Command: row{
			Name: "rank", Arguments: "N", Help: "choose the rank whose stack, variables and expressions are shown",
			Examples: []string{"rank 2"},
		}, run: consoleSelect, fits: isNumber, complete: rankNumbers},
		{Command: row{
			Name: "ranks", AllRanks: true, Help: "show where every rank is",
		}, lane: laneConsole, run: consoleRanks},
		{Command: row{Name: "bt", Help: "show the stack of the rank"}, lane: laneConsole, run: consoleStack},
		{Command: row{
			Name: "stacks", Help: "show the stacks of all ranks that have stopped, as one tree",
		}, lane: laneConsole, run: consoleStacks},
		{Command: row{
			Name: "locals", Help: "show the local variables of the frame",
		}, lane: laneConsole, run: consoleLocals},
		{Command: row{
			Name: "input", Arguments: "TEXT", Help: "send a line to the standard input of rank 0",
			Examples: []string{"input 42"},
		}, needsProcess: true, run: consoleInput, fits: whatever},
		{Command: row{
			Name: "cut", Arguments: "RANK:EVENT", Help: "replay: show the causal cut of an event of the recording",
			Examples: []string{"cut 2:17"},
		}, lane: laneConsole, run: consoleCut},
		{Command: row{
			Name: "runto", Arguments: "RANK:EVENT", Resumes: true,
			Help:     "replay: run every rank to the causal cut of an event",
			Examples: []string{"runto 2:17"},
		}, run: consoleRunTo},
		{Command: row{
			Name: "p", Arguments: "EXPRESSION",
			Help:     "evaluate an expression of the program's language, in the selected frame",
			Examples: []string{"p x", "p a[3]@4", "p x = 7"},
		}},
		{Command: row{
			Name: "mpipp", Arguments: "TYPE BUFFER [COUNT]", Help: "show a buffer as an MPI datatype sees it",
			Examples: []string{"mpipp column &u[0][1]", "[all] mpipp column buf 2"},
		}},
		{Command: row{
			Name: "mpipp", Help: "show datatypes, communicators, pictures of memory, whether types match",
			Examples: []string{
				"mpipp --help", "mpipp", "mpipp column", "mpipp --layout column",
				"mpipp --match [0] column 1 to [1] MPI_DOUBLE 64",
			},
		}},
		{Command: row{
			Name: "mpipp --match", Arguments: "RANK:EVENT",
			Help:     "replay: run to the two calls of an event's message, and compare their types",
			Examples: []string{"mpipp --match 2:17", "mpipp --match 2:17 from 0"},
		}},
		{Command: row{
			Name: "-exec", Arguments: "COMMAND", Help: "a command of the rank's own debugger",
			Examples: []string{"-exec info locals", "[0,2] -exec info registers"},
		}},
		{Command: row{
			Name: "[SET]", Arguments: "LINE",
			Help:     "any of p, mpipp, -exec or an expression on a set of ranks; equal answers are merged",
			Examples: []string{"[0,2] p x", "[all] x", "[0-63:4] p x"},
		}},
		{Command: row{
			Name: "help", Arguments: "[COMMAND]", Help: "this list, or what it has about one command",
			Examples: []string{"help", "help break"},
		}, lane: laneConsole, run: consoleHelp},
	}
	for i := range table {
		c := &table[i]
		if c.Examples == nil {
			c.Examples = []string{c.Name}
		}
	}
	return table
}

// commands is the body of cohort/commands.
func commands(*call, struct{}) (any, error) {
	var body protocol.CommandsBody
	for _, c := range consoleCommands() {
		body.Commands = append(body.Commands, c.Command)
	}
	return body, nil
}

// findCommand finds the command that a line of the console is; ok is false if it is to be evaluated.
func findCommand(line string) (command consoleCommand, arguments string, ok bool) {
	name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
	arguments = strings.TrimSpace(arguments)
	for _, c := range consoleCommands() {
		if c.Name == name && c.run != nil {
			switch {
			case c.fits != nil:
				return c, arguments, c.fits(arguments)
			case c.Arguments == "":
				return c, arguments, arguments == "" || !strings.ContainsAny(arguments[:1], operators)
			}
			first, _, _ := strings.Cut(arguments, " ") // it may be a path or a rank set
			return c, arguments, first == "" || strings.Trim(first, operators) != ""
		}
	}
	return consoleCommand{}, "", false
}

// operators are what may follow a variable in an expression.
const operators = "=+-*/%&|^<>?!.,"

// ConsoleHelp lists the commands of the console, a line and an example each.
func ConsoleHelp() string {
	var b strings.Builder
	for _, c := range consoleCommands() {
		b.WriteString(c.text())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *consoleCommand) text() string {
	head := strings.TrimSpace(c.Name + " " + c.Arguments)
	if c.Short != "" {
		head += " (in a script also " + c.Short + ")"
	}
	const width = 28
	if len(head) > width {
		head += "\n  " + strings.Repeat(" ", width)
	}
	return fmt.Sprintf("  %-*s %s\n  %-*s   for example: %s\n", width, head, c.Help, width, "",
		strings.Join(c.Examples, "   "))
}

func consoleHelp(k *call, line consoleLine) (answer, error) {
	var b strings.Builder
	if line.arguments != "" {
		for _, c := range consoleCommands() {
			if c.Name == line.arguments || strings.HasPrefix(c.Name, line.arguments+" ") || c.Short == line.arguments {
				b.WriteString(c.text())
			}
		}
		if b.Len() == 0 {
			return answer{}, unknownConsoleCommand(line.arguments)
		}
		return answer{text: strings.TrimSuffix(b.String(), "\n")}, nil
	}
	b.WriteString("Cohort")
	if v := k.c.srv.o.Version; v != "" {
		b.WriteString(" " + v)
	}
	b.WriteString(": the console takes expressions of the program's language, and these commands:\n")
	b.WriteString(ConsoleHelp())
	b.WriteString("\nA rank set is written 0-3,7 or all or 0-63:4 (every fourth). To evaluate a variable that is " +
		"named like a command, use p.")
	return answer{text: b.String()}, nil
}

// unknownConsoleCommand says what may have been meant.
func unknownConsoleCommand(word string) error {
	hint := ""
	if near := nearCommand(word); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return refuse("there is no command %s%s (help lists the commands)", quoteShort(word), hint)
}

func nearCommand(word string) string {
	var names []string
	for _, c := range consoleCommands() {
		if c.run != nil {
			names = append(names, c.Name)
		}
	}
	return nearest(word, names)
}

// notEvaluated adds to the reason why a line could not be evaluated that it may be a mistyped command.
func notEvaluated(line string, err error) error {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	const fewLetters = 3 // shorter words are near to too much
	isName := word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == ""
	if err == nil || !isName || strings.ContainsAny(rest[:min(len(rest), 1)], operators) ||
		slices.Contains([]string{"p", "mpipp", "-exec"}, word) {
		return err
	}
	if near := nearCommand(word); len(word) >= fewLetters && near != "" {
		return quietly("%v. If a command was meant: there is none named %s, did you mean %s? (help lists the commands)",
			trimmed(err), word, near)
	}
	if rest != "" {
		return quietly("%v. If a command was meant: there is none named %s (help lists the commands)", trimmed(err),
			word)
	}
	return err
}

func trimmed(err error) string { return strings.TrimSuffix(err.Error(), ".") }

// completions offers the console's commands for the first word of a line, and what a command knows of its arguments
// for the others.
func completions(k *call, a godap.CompletionsArguments) (any, error) {
	body := godap.CompletionsResponseBody{Targets: []godap.CompletionItem{}}
	column := a.Column
	if !k.c.caps.columnsFrom0 {
		column--
	}
	units := []rune(a.Text) // DAP counts UTF-16 units; they differ only for what no command contains
	if column < 0 || column > len(units) {
		return nil, refuse("completions was asked for column %d of a text of %d characters", a.Column, len(units))
	}
	before := string(units[:column])
	words := strings.Fields(before)
	last := ""
	if before != "" && !strings.HasSuffix(before, " ") && len(words) > 0 {
		last, words = words[len(words)-1], words[:len(words)-1]
	}
	add := func(label, text, detail string) {
		body.Targets = append(body.Targets, godap.CompletionItem{
			Label: label, Text: text, Detail: detail, Type: "keyword", Start: column - len([]rune(last)),
			Length: len([]rune(last)),
		})
	}
	for _, c := range consoleCommands() {
		switch {
		case len(words) == 0 && strings.HasPrefix(c.Name, last) && !strings.HasPrefix(c.Name, "["):
			text := c.Name
			if c.Arguments != "" {
				text += " "
			}
			add(c.Name, text, c.Help)
		case len(words) > 0 && words[0] == c.Name && c.complete != nil && k.d != nil:
			for _, word := range c.complete(k) {
				if strings.HasPrefix(word, last) {
					add(word, word+" ", "")
				}
			}
		}
	}
	body.Targets = slices.CompactFunc(body.Targets, func(x, y godap.CompletionItem) bool { return x.Label == y.Label })
	if len(words) == 0 {
		slices.SortFunc(body.Targets, func(x, y godap.CompletionItem) int { return strings.Compare(x.Label, y.Label) })
	}
	return body, nil
}

func breakWords(*call) []string {
	return append([]string{"ranks", "mode", "hits", "if"}, protocol.Modes...)
}

func rankNumbers(k *call) []string {
	words := make([]string, min(k.d.Job.Ranks(), 100))
	for i := range words {
		words[i] = strconv.Itoa(i)
	}
	return words
}
