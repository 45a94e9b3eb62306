// Package command is the console command mpipp.
package command

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Result is what the command found: a tree for DAP, and text for the console.
type Result struct {
	Node view.Node
	Text string
	// File is what the user asked to have written, or nil. This package writes no files: the caller does, relative to
	// the user's directory.
	File *backend.File
}

// Run runs the console command with its arguments in one line, as the user typed them after "mpipp".
func Run(r *handle.Rank, res call.Resolver, line string) (*Result, error) {
	opt, rest, err := splitOptions(line)
	if err != nil {
		return nil, err
	}
	args, err := call.SplitArguments(rest)
	if err != nil {
		return nil, err
	}
	if a := opt.action; len(args) < a.least || len(args) > a.most {
		name := "mpipp"
		if a.option != "" {
			name += " --" + a.option
		}
		return nil, fault.Errorf(fault.Usage, 0, "%s takes %s; %s were given. Usage:\n%s", name, a.takes,
			view.Plural(int64(len(args)), "argument"), Usage())
	}
	c := &command{Evaluator: call.Evaluator{Rank: r, Resolver: res}, options: opt, view: opt.view()}
	node, err := opt.action.run(c, args)
	if err != nil {
		return nil, err
	}
	return &Result{node, c.out.String(), c.made}, nil
}

// command is one run of it. What it does writes text to out, and returns the tree.
type command struct {
	call.Evaluator
	options
	view view.Options
	out  strings.Builder
	made *backend.File
}

func (c *command) printf(format string, args ...any) { fmt.Fprintf(&c.out, format, args...) }

// plain is mpipp without an option, or with one that says what kind of handle its argument is.
func (c *command) plain(args []string) (view.Node, error) {
	switch len(args) {
	case 0:
		return c.listAll()
	case 1:
		s, err := c.handle(args[0])
		if err == nil {
			err = s.Text(&c.out, c.view)
		}
		return s.Node, err
	}
	return c.buffer(args)
}

func (c *command) help([]string) (view.Node, error) {
	c.printf("%s\n", Usage())
	return view.Leaf("help", Usage()), nil
}
