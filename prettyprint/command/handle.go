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

// showHandle is mpipp X for anything but a datatype's part.
func (c *command) showHandle(k *registry.Class, expr string, v backend.Value) (*Result, error) {
	if k.Kind == registry.KindStatus {
		return c.showStatus(expr, v)
	}
	if err := call.NoHandle(expr, v, k); err != nil {
		return nil, err
	}
	o, err := c.Rank.ObjectOfHandle(k, v.Number, v.Language == backend.Fortran)
	switch {
	case fault.Is(err, fault.Null):
		return nil, k.NullError(expr)
	case err != nil:
		return nil, c.Explain(err, expr)
	}
	return c.showObject(expr, o)
}

func (c *command) showObject(name string, o *handle.Object) (*Result, error) {
	n := call.ObjectNode(o, name)
	return &Result{Node: n, text: func(w io.Writer, opt view.Options) error {
		opt = c.opt.filled(opt)
		if o.Class.Kind == registry.KindRequest {
			return call.RequestOf(o).Text(w, name, opt, c.opt.buffer)
		}
		if err := view.Write(w, "%s: %s\n", name, n.Value); err != nil {
			return err
		}
		return n.Text(w, opt)
	}}, nil
}

func (c *command) showStatus(expr string, v backend.Value) (*Result, error) {
	addr, err := statusAddress(expr, v)
	if err != nil {
		return nil, err
	}
	s, err := c.Rank.StatusAt(addr)
	if err != nil {
		return nil, err
	}
	n := s.Node(expr)
	return &Result{Node: n, text: func(w io.Writer, opt view.Options) error {
		return view.Write(w, "%s: %s\n", expr, s.Summary())
	}}, nil
}

func statusAddress(expr string, v backend.Value) (uint64, error) {
	switch {
	case v.Array && registry.KindOf(v.Type) == registry.KindStatus:
		return 0, fault.Errorf(fault.Usage, 0, "The expression %s is of type %s: several statuses. Write %s for the first.",
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
func (c *command) stack(args []string) (*Result, error) {
	if len(args) != 1 {
		return nil, fault.Errorf(fault.Usage, 0, "mpipp --stack takes one handle; %d arguments were given.", len(args))
	}
	v, err := c.Value(args[0])
	if err != nil {
		return nil, err
	}
	k := registry.ClassOf(max(registry.KindOf(v.Type), registry.KindDatatype))
	if !v.HasNumber {
		return nil, fault.Errorf(fault.Usage, 0, "The expression %s is of type %s, which is no handle.", args[0], v.Type)
	}
	fortran := v.Language == backend.Fortran
	var at, site, event uint64
	var predefinedOne bool
	switch k.Kind {
	case registry.KindDatatype:
		t, err := c.Rank.DatatypeOfHandle(v.Number, fortran)
		if err != nil {
			return nil, c.Explain(err, args[0])
		}
		at, site, event, predefinedOne = t.Record.Stack, t.Record.CallSite, t.Record.Event, t.Combiner() == datatype.CombinerNamed
	case registry.KindComm:
		m, err := c.Rank.CommOfHandle(v.Number, fortran)
		if err != nil {
			return nil, c.Explain(err, args[0])
		}
		at, site, event, predefinedOne = m.Record.Stack, m.Record.CallSite, m.Record.Event, m.Record.CallSite == 0
	default:
		o, err := c.Rank.ObjectOfHandle(k, v.Number, fortran)
		if err != nil {
			return nil, c.Explain(err, args[0])
		}
		at, site, event, predefinedOne = o.Record.Stack, o.Record.CallSite, o.Record.Event, o.Predefined()
	}
	if predefinedOne {
		return nil, fault.Errorf(fault.Usage, 0, "%s is predefined: nobody has made it.", args[0])
	}
	if at == 0 {
		why := "Whole stacks are kept with COHORT_STACKS=1 in the rank's environment."
		return nil, fault.Errorf(fault.NotKept, 0, "The stack of where %s was made is not kept in this run; it was made %s. %s",
			args[0], c.Rank.CreatedText(site, event), why)
	}
	frames, err := c.Rank.StackFrames(at)
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
	head := fmt.Sprintf("%s was made by", args[0])
	return &Result{Node: view.Group(args[0], head, kids), text: func(w io.Writer, _ view.Options) error {
		return view.Write(w, "%s\n%s\n", head, strings.Join(lines, "\n"))
	}}, nil
}
