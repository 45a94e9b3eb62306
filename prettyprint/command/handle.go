package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/backend"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// handleOf shows a value as a handle of one kind, or of a datatype a part.
func (c *command) handleOf(k *registry.Class, expr string, a datatype.Address, v backend.Value) (*Result, error) {
	if k.Kind == registry.KindStatus {
		addr, err := statusAddress(expr, v)
		if err != nil {
			return nil, err
		}
		return c.shown(call.ShowStatus(c.Rank, addr, expr))
	}
	head, err := c.Handle(k, expr, v)
	if err != nil {
		return nil, err
	}
	if !a.IsZero() {
		t, err := c.Rank.DatatypeAt(head.Address)
		if err != nil {
			return nil, err
		}
		return c.showPart(expr, t, a)
	}
	return c.shown(call.Show(c.Rank, head, expr))
}

func (c *command) shown(s call.Shown, err error) (*Result, error) {
	return &Result{Node: s.Node, text: func(w io.Writer, opt view.Options) error {
		return s.Text(w, c.opt.filled(opt))
	}}, err
}

func statusAddress(expr string, v backend.Value) (uint64, error) {
	switch {
	case v.Array && registry.KindOf(v.Type) == registry.KindStatus:
		return 0, fault.Errorf(fault.Usage, 0, "The expression %s is of type %s: several statuses. Write %s for the "+
			"first.", expr, v.Type, call.FirstOf(expr, v.Language))
	case v.Pointer && v.HasNumber:
		return v.Number, nil
	case v.HasAddr && (v.Struct || v.Array || v.Language == backend.Fortran):
		return v.Address, nil
	}
	return 0, fault.Errorf(fault.Usage, 0, "The expression %s is of type %s; an MPI_Status, or in Fortran an array of "+
		"MPI_STATUS_SIZE integers, is expected.", expr, v.Type)
}

// stack is mpipp --stack X: where a handle was made, by which functions.
func (c *command) stack(args []string) (*Result, error) {
	v, err := c.Value(args[0])
	if err != nil {
		return nil, err
	}
	k := registry.ClassOf(max(registry.KindOf(v.Type), registry.KindDatatype))
	if !v.HasNumber {
		return nil, fault.Errorf(fault.Usage, 0, "The expression %s is of type %s, which is no handle.", args[0],
			v.Type)
	}
	head, err := c.Handle(k, args[0], v)
	if err != nil {
		return nil, err
	}
	if head.Predefined {
		return nil, fault.Errorf(fault.Usage, 0, "%s is predefined and has no creation stack.", args[0])
	}
	if head.Stack == 0 {
		why := "Whole stacks are recorded with COHORT_STACKS=1 in the rank's environment."
		return nil, fault.Errorf(fault.NotTracked, 0, "The creation stack of %s was not recorded in this run; it was "+
			"created %s. %s", args[0], c.Rank.CreatedText(head.CallSite, head.Event), why)
	}
	frames, err := c.Rank.StackFrames(head.Stack)
	if err != nil {
		return nil, err
	}
	var lines []string
	var kids []view.Node
	for i, pc := range frames {
		text := c.Rank.Line(pc)
		if text == "" {
			text = fmt.Sprintf("0x%x", pc)
		}
		lines = append(lines, fmt.Sprintf("  #%d %s", i, text))
		kids = append(kids, view.Leaf(fmt.Sprintf("#%d", i), text))
	}
	title := fmt.Sprintf("%s was made by", args[0])
	return &Result{Node: view.Group(args[0], title, kids), text: func(w io.Writer, _ view.Options) error {
		return view.Write(w, "%s\n%s\n", title, strings.Join(lines, "\n"))
	}}, nil
}
