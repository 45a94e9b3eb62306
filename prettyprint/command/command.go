// Package command is the console command mpipp.
package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Result is what the command found: a tree for DAP, and text for the console.
type Result struct {
	Node view.Node
	// File is what the user asked to have written, or nil. This package writes no files: the caller does, relative to
	// the user's directory.
	File *backend.File
	text func(w io.Writer, opt view.Options) error
}

// Text writes the result for the console.
func (r *Result) Text(w io.Writer, opt view.Options) error { return r.text(w, opt) }

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
	if f := opt.form; len(args) < f.least || len(args) > f.most {
		name := "mpipp"
		if f.option != "" {
			name += " --" + f.option
		}
		return nil, fault.Errorf(fault.Usage, 0, "%s takes %s; %s were given. Usage:\n%s", name, f.takes,
			view.Plural(int64(len(args)), "argument"), Usage())
	}
	return opt.form.run(&command{Evaluator: call.Evaluator{Rank: r, Resolver: res}, opt: opt}, args)
}

// plain is mpipp without an option, or with one that says what kind of handle its argument is.
func (c *command) plain(args []string) (*Result, error) {
	switch len(args) {
	case 0:
		return c.listAll()
	case 1:
		return c.handle(args[0], c.opt.form.option)
	}
	return c.buffer(args)
}

func (c *command) help([]string) (*Result, error) {
	return &Result{Node: view.Leaf("help", Usage()), text: func(w io.Writer, _ view.Options) error {
		return view.Write(w, "%s\n", Usage())
	}}, nil
}

type command struct {
	call.Evaluator
	opt options
}

// handle shows what one argument stands for; want is the option that tells its kind, or empty.
func (c *command) handle(expr, want string) (*Result, error) {
	if call.Predefined.MatchString(expr) {
		if result, known, err := c.predefinedHandle(expr, registry.KindOfOption(want)); known {
			return result, err
		}
	}
	return tryAddresses(expr, func(expr string, a datatype.Address) (*Result, error) {
		v, err := c.Value(expr)
		if err != nil {
			return nil, err
		}
		return c.handleValue(expr, a, v, registry.KindOfOption(want))
	})
}

// predefinedHandle shows what MPI calls by that name; known is false if it is no name of MPI's: a program may have
// names that look so.
func (c *command) predefinedHandle(name string, want registry.Kind) (result *Result, known bool, err error) {
	for i := range registry.Classes {
		k := &registry.Classes[i]
		if want != 0 && want != k.Kind {
			continue
		}
		if name == k.Null {
			return nil, true, k.NullError(name)
		}
		if k.Kind == registry.KindRequest || k.Kind == registry.KindWindow || k.Kind == registry.KindFile {
			continue // none is predefined
		}
		head, err := c.Rank.ByName(k, name, true)
		if err == nil {
			result, err := c.shown(call.Show(c.Rank, head, name))
			return result, true, err
		}
		if k.Kind == registry.KindDatatype && !fault.Is(err, fault.NotFound) {
			return nil, true, err
		}
	}
	_, err = c.Resolver.Resolve(name)
	if err == nil {
		return nil, false, nil
	}
	if want == 0 || want == registry.KindDatatype {
		_, err = c.Rank.DatatypeByName(name)
		if fault.Is(err, fault.NotFound) {
			err = fault.Errorf(fault.NotFound, 0, "The rank's %s has no predefined handle %s, or none that Cohort "+
				"tracks.", c.Rank.MPI(), name)
		}
		return nil, true, err
	}
	return nil, false, nil
}

// tryAddresses calls try with an expression and the address that may follow it, beginning with the whole as an
// expression. An error about the handle that an expression is ends the search: requests[2] that is null is no address
// within requests. Else, if none succeeds, the error is that of the shortest expression that could be
// evaluated: it tells most.
func tryAddresses[T any](expr string, try func(expr string, a datatype.Address) (T, error)) (T, error) {
	exprs, addrs := datatype.ParseAddress(expr)
	var best error
	for i := range exprs {
		v, err := try(exprs[i], addrs[i])
		if err == nil {
			return v, nil
		}
		if best == nil || !fault.Is(err, fault.Resolve) {
			best = err
		}
		if aboutHandle(err) {
			break
		}
	}
	var none T
	return none, best
}

// aboutHandle reports whether an error tells what is wrong with a handle, and not that there is none.
func aboutHandle(err error) bool {
	return fault.Is(err, fault.Null, fault.Freed, fault.NotFound, fault.NotTracked)
}

func (c *command) handleValue(expr string, a datatype.Address, v backend.Value, want registry.Kind) (*Result, error) {
	if want == 0 {
		want = registry.KindOf(v.Type)
	}
	if want != 0 {
		if !a.IsZero() && want != registry.KindDatatype {
			return nil, fault.Errorf(fault.Usage, 0, "%s is a %s; only datatypes have addresses such as %s in them.",
				expr, want, a)
		}
		return c.handleOf(registry.ClassOf(want), expr, a, v)
	}
	if !a.IsZero() {
		return c.handleOf(registry.ClassOf(registry.KindDatatype), expr, a, v)
	}
	var found []*Result
	var of []*registry.Class
	var first error
	for i := range registry.Classes {
		k := &registry.Classes[i]
		r, err := c.handleOf(k, expr, a, v)
		switch {
		case err == nil:
			found, of = append(found, r), append(of, k)
		case fault.Is(err, fault.NotTracked), fault.Is(err, fault.Null) && v.Language == backend.Fortran &&
			first != nil:
			// 0 is null of many kinds
		case first == nil || fault.Is(first, fault.NotFound) && !fault.Is(err, fault.NotFound):
			first = err
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var what, how []string
		for i, r := range found {
			what = append(what, fmt.Sprintf("of a %s (%s)", of[i].Word, r.Node.Value))
			how = append(how, fmt.Sprintf("mpipp --%s %s", of[i].Option, expr))
		}
		return nil, fault.Errorf(fault.Usage, 0,
			"The value of %s is the handle %s, and its declared type, %s, does not tell which is meant. Write %s.",
			expr, joinAnd(what, "and"), v.Type, joinAnd(how, "or"))
	case fault.Is(first, fault.NotFound):
		return nil, fault.Errorf(fault.NotFound, 0, "The expression %s (of type %s) is no handle of this rank: "+
			"neither a "+
			"datatype nor a communicator nor anything else "+
			"that Cohort tracks. %s", expr, v.Type, first)
	}
	return nil, first
}

func joinAnd(parts []string, word string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " " + word + " " + parts[len(parts)-1]
}
