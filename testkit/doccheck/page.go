package doccheck

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Prompt tells who reads what the reader of a page types.
type Prompt string

// The prompts.
const (
	Shell  Prompt = "$ "
	Cohort Prompt = "(cohort) "
	Gdb    Prompt = "(gdb) "
)

// Step is a line that is typed, and what is printed then.
type Step struct {
	Prompt  Prompt
	Command string // without the prompt; lines that were continued are joined
	Want    []string
	Line    int // of the page, from 1
	Lines   int // that the command takes there; Want follows them
	Options Options
}

// Options say how a step is run and compared.
type Options struct {
	Status   int
	AnyOrder bool
	Numbers  bool   // masked
	MPI      string // "" for all
}

var (
	fence   = regexp.MustCompile("^ *```+ *([A-Za-z0-9_+-]*) *$")
	comment = regexp.MustCompile(`^<!-- doccheck: (.*) -->$`)
	prompts = []Prompt{Shell, Cohort, Gdb}
)

// Steps returns the steps of a page in their order. It is an error if a page has a prompt that is in no `console`
// block, output that no prompt precedes, or a comment that is not understood.
func Steps(page string) ([]Step, error) {
	var steps []Step
	var options Options
	language, inside, fresh := "", false, false
	for i, line := range strings.Split(page, "\n") {
		at := i + 1
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil && inside:
			inside, options = false, Options{}
		case m != nil:
			inside, language, fresh = true, m[1], true
		case !inside:
			var err error
			if options, err = parseOptions(line, options); err != nil {
				return nil, fmt.Errorf("line %d: %w", at, err)
			}
			if promptOf(strings.TrimSpace(line)) != "" {
				return nil, fmt.Errorf("line %d: %q is in no block of the language console", at,
					strings.TrimSpace(line))
			}
		case language != "console":
			if p := promptOf(line); p != "" {
				return nil, fmt.Errorf("line %d: %q is in a block of the language %q, not console", at, line, language)
			}
		default:
			var err error
			if steps, err = add(steps, line, at, fresh, options); err != nil {
				return nil, err
			}
			fresh = false
		}
	}
	if inside {
		return nil, fmt.Errorf("the last block is not closed")
	}
	return steps, nil
}

func promptOf(line string) Prompt {
	for _, p := range prompts {
		if strings.HasPrefix(line, string(p)) {
			return p
		}
	}
	return ""
}

func add(steps []Step, line string, at int, fresh bool, options Options) ([]Step, error) {
	if p := promptOf(line); p != "" {
		return append(steps, Step{
			Prompt: p, Command: strings.TrimPrefix(line, string(p)), Line: at, Lines: 1,
			Options: options,
		}), nil
	}
	if fresh {
		return nil, fmt.Errorf("line %d: a console block begins with %q, and not with a prompt", at, line)
	}
	last := &steps[len(steps)-1]
	if rest, ok := strings.CutSuffix(last.Command, `\`); ok && len(last.Want) == 0 {
		last.Command = rest + strings.TrimLeft(line, " ")
		last.Lines++
		return steps, nil
	}
	last.Want = append(last.Want, line)
	return steps, nil
}

// parseOptions reads the comment above a block; any other line but an empty one ends what a comment said.
func parseOptions(line string, before Options) (Options, error) {
	m := comment.FindStringSubmatch(line)
	if m == nil {
		if strings.TrimSpace(line) == "" {
			return before, nil
		}
		return Options{}, nil
	}
	var o Options
	words := strings.Fields(m[1])
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "any-order":
			o.AnyOrder = true
		case "numbers":
			o.Numbers = true
		case "mpich", "openmpi":
			o.MPI = words[i]
		case "status":
			i++
			if i == len(words) {
				return o, fmt.Errorf("%q names no status", line)
			}
			var err error
			if o.Status, err = strconv.Atoi(words[i]); err != nil {
				return o, fmt.Errorf("%q: %w", line, err)
			}
		default:
			return o, fmt.Errorf("%q: %q is not understood", line, words[i])
		}
	}
	return o, nil
}
