package command

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/backend"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// handle shows what one argument stands for.
func (c *command) handle(expr string) (call.Shown, error) {
	want := registry.KindOfOption(c.action.option)
	if call.Predefined.MatchString(expr) {
		if s, known, err := c.predefined(expr, want); known {
			return s, err
		}
	}
	return tryAddresses(expr, func(expr string, a datatype.Address) (call.Shown, error) {
		v, err := c.Value(expr)
		if err != nil {
			return call.Shown{}, err
		}
		return c.handleValue(expr, a, v, want)
	})
}

// predefined shows what MPI calls by that name; known is false if it is no name of MPI's: a program may have names that
// look so.
func (c *command) predefined(name string, want registry.Kind) (s call.Shown, known bool, err error) {
	for i := range registry.Classes {
		k := &registry.Classes[i]
		if want != 0 && want != k.Kind {
			continue
		}
		head, err := c.Rank.ByName(k, name, true)
		switch {
		case err == nil:
			s, err = call.Show(c.Rank, head, name)
			return s, true, err
		case fault.Is(err, fault.Null), k.Kind == registry.KindDatatype && !fault.Is(err, fault.NotFound):
			return s, true, err
		}
	}
	if _, err := c.Resolver.Resolve(name); err == nil || want != 0 && want != registry.KindDatatype {
		return s, false, nil
	}
	return s, true, fault.Errorf(fault.NotFound, 0,
		"The rank's %s has no predefined handle %s, or none that Cohort tracks.",
		c.Rank.MPI(), name)
}

// tryAddresses calls try with an expression and the address that may follow it, beginning with the whole as an
// expression. An error about the handle that an expression is ends the search: requests[2] that is null is no address
// within requests. Else, if none succeeds, the error is that of the shortest expression that could be evaluated: it
// tells most.
func tryAddresses[T any](expr string, try func(expr string, a datatype.Address) (T, error)) (found T, best error) {
	exprs, addrs := datatype.ParseAddress(expr)
	for i := range exprs {
		v, err := try(exprs[i], addrs[i])
		if err == nil {
			return v, nil
		}
		if best == nil || !fault.Is(err, fault.Resolve) {
			best = err
		}
		if fault.Is(err, fault.Null, fault.Freed, fault.NotFound, fault.NotTracked) {
			break
		}
	}
	return found, best
}

func (c *command) handleValue(expr string, a datatype.Address, v backend.Value, want registry.Kind) (call.Shown,
	error,
) {
	if want == 0 {
		want = registry.KindOf(v.Type)
	}
	if want == 0 && !a.IsZero() {
		want = registry.KindDatatype
	}
	switch {
	case want != 0 && want != registry.KindDatatype && !a.IsZero():
		return call.Shown{}, fault.Errorf(fault.Usage, 0,
			"%s is a %s; only datatypes have addresses such as %s in them.",
			expr, want, a)
	case want != 0:
		return c.handleOf(registry.ClassOf(want), expr, a, v)
	}
	var found call.Shown
	var what, how []string
	var first error
	for i := range registry.Classes {
		k := &registry.Classes[i]
		s, err := c.handleOf(k, expr, a, v)
		switch {
		case err == nil:
			found = s
			what = append(what, fmt.Sprintf("of a %s (%s)", k.Word, s.Node.Value))
			how = append(how, fmt.Sprintf("mpipp --%s %s", k.Option, expr))
		case fault.Is(err, fault.NotTracked), fault.Is(err, fault.Null) && v.Language == backend.Fortran &&
			first != nil:
			// 0 is null of many kinds
		case first == nil || fault.Is(first, fault.NotFound) && !fault.Is(err, fault.NotFound):
			first = err
		}
	}
	switch {
	case len(what) == 1:
		return found, nil
	case len(what) > 1:
		return found, fault.Errorf(fault.Usage, 0,
			"The value of %s is the handle %s, and its declared type, %s, does not tell which is meant. Write %s.",
			expr, joined(what, "and"), v.Type, joined(how, "or"))
	case fault.Is(first, fault.NotFound):
		return found, fault.Errorf(fault.NotFound, 0, "The expression %s (of type %s) is no handle of this rank: "+
			"neither a datatype nor a communicator nor anything else that Cohort tracks. %s", expr, v.Type, first)
	}
	return found, first
}

// joined is "a, b and c".
func joined(parts []string, word string) string {
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " " + word + " " + parts[last]
}

// handleOf shows a value as a handle of one kind, or of a datatype a part.
func (c *command) handleOf(k *registry.Class, expr string, a datatype.Address, v backend.Value) (call.Shown, error) {
	if k.Kind == registry.KindStatus {
		addr, err := statusAddress(expr, v)
		if err != nil {
			return call.Shown{}, err
		}
		return call.ShowStatus(c.Rank, addr, expr)
	}
	head, err := c.Handle(k, expr, v)
	if err != nil {
		return call.Shown{}, err
	}
	if a.IsZero() {
		return call.Show(c.Rank, head, expr)
	}
	t, err := c.Rank.DatatypeAt(head.Address)
	if err != nil {
		return call.Shown{}, err
	}
	l, n, err := part(datatype.Part{Name: expr, Type: t, At: a})
	return call.Shown{Node: n, Text: func(w *strings.Builder, _ view.Options) error {
		fmt.Fprintf(w, "%s is %s at offset %d: %s\n", l.Long(), l.TypeText(), l.Start(),
			datatype.BasicElements(l.Elements()))
		return datatype.WriteWarnings(w, t)
	}}, err
}

// part shows a place within a datatype, without a buffer: its address, offset and basic types.
func part(p datatype.Part) (l datatype.Location, n view.Node, err error) {
	if l, err = p.Locate(); err != nil {
		return l, n, err
	}
	return l, view.Group(p.Name+p.At.String(), l.TypeText(), []view.Node{
		view.Leaf("address", l.Long()), view.Number("offset", l.Start()), view.Leaf("type", l.TypeText()),
		view.Number("elements", l.Elements()),
	}), nil
}

// tree shows the expanded type-tree (paper, IV.B) with the addresses of its elements (IV.C).
func (c *command) tree(args []string) (view.Node, error) {
	p, err := c.typeArgument(args[0])
	if err != nil {
		return view.Node{}, err
	}
	l, n, err := part(p)
	if err != nil {
		return n, err
	}
	c.printf("%s is %s: %s\n", l.Long(), l.TypeText(), datatype.BasicElements(l.Elements()))
	if err := l.TreeText(&c.out, c.view.MaxList); err != nil {
		return n, err
	}
	return n, datatype.WriteWarnings(&c.out, p.Type)
}

func statusAddress(expr string, v backend.Value) (uint64, error) {
	switch {
	case v.Array && registry.KindOf(v.Type) == registry.KindStatus:
		return 0, fault.Errorf(fault.Usage, 0,
			"The expression %s is of type %s: several statuses. Write %s for the first.",
			expr, v.Type, call.FirstOf(expr, v.Language))
	case v.Pointer && v.HasNumber:
		return v.Number, nil
	case v.HasAddr && (v.Struct || v.Array || v.Language == backend.Fortran):
		return v.Address, nil
	}
	return 0, fault.Errorf(fault.Usage, 0, "The expression %s is of type %s; an MPI_Status, or in Fortran an array of "+
		"MPI_STATUS_SIZE integers, is expected.", expr, v.Type)
}

// stack is mpipp --stack X: where a handle was made, by which functions.
func (c *command) stack(args []string) (n view.Node, err error) {
	expr := args[0]
	v, err := c.Value(expr)
	if err != nil {
		return n, err
	}
	if !v.HasNumber {
		return n, fault.Errorf(fault.Usage, 0, "The expression %s is of type %s, which is no handle.", expr, v.Type)
	}
	head, err := c.Handle(registry.ClassOf(max(registry.KindOf(v.Type), registry.KindDatatype)), expr, v)
	switch {
	case err != nil:
		return n, err
	case head.Predefined:
		return n, fault.Errorf(fault.Usage, 0, "%s is predefined and has no creation stack.", expr)
	case head.Stack == 0:
		return n, fault.Errorf(fault.NotTracked, 0, "The creation stack of %s was not recorded in this run; it was "+
			"created %s. Whole stacks are recorded with COHORT_STACKS=1 in the rank's environment.", expr,
			c.Rank.CreatedText(head.CallSite, head.Event))
	}
	frames, err := c.Rank.StackFrames(head.Stack)
	if err != nil {
		return n, err
	}
	title := expr + " was made by"
	c.printf("%s\n", title)
	var kids []view.Node
	for i, pc := range frames {
		text := cmp.Or(c.Rank.Line(pc), fmt.Sprintf("0x%x", pc))
		c.printf("  #%d %s\n", i, text)
		kids = append(kids, view.Leaf(fmt.Sprintf("#%d", i), text))
	}
	return view.Group(expr, title, kids), nil
}
