package prettyprint

import (
	"fmt"
	"io"
	"strings"
)

// showHandle is mpipp X for anything but a datatype's part.
func (c *command) showHandle(k *kindInfo, expr string, v Resolved) (*Result, error) {
	if k.kind == HandleStatus {
		return c.showStatus(expr, v)
	}
	if err := noHandle(expr, v, k); err != nil {
		return nil, err
	}
	o, err := c.r.objectOfHandle(k, v.Number, v.Language == Fortran)
	switch {
	case IsKind(err, KindNull):
		return nil, k.nullError(expr)
	case err != nil:
		return nil, c.explain(err, expr)
	}
	return c.showObject(expr, o)
}

func (c *command) showObject(name string, o *Object) (*Result, error) {
	n := ObjectNode(o, name)
	return &Result{Node: n, text: func(w io.Writer, opt Options) error {
		opt = c.opt.filled(opt)
		if o.info.kind == HandleRequest {
			return requestOf(o).Text(w, name, opt, c.opt.buffer)
		}
		if err := write(w, "%s: %s\n", name, n.Value); err != nil {
			return err
		}
		return n.Text(w, opt)
	}}, nil
}

func (c *command) showStatus(expr string, v Resolved) (*Result, error) {
	addr, err := statusAddress(expr, v)
	if err != nil {
		return nil, err
	}
	s, err := c.r.StatusAt(addr)
	if err != nil {
		return nil, err
	}
	n := s.Node(expr)
	return &Result{Node: n, text: func(w io.Writer, opt Options) error {
		return write(w, "%s: %s\n", expr, s.Summary())
	}}, nil
}

func statusAddress(expr string, v Resolved) (uint64, error) {
	switch {
	case v.Array && KindOfType(v.Type) == HandleStatus:
		return 0, errorf(KindUsage, 0, "The expression %s is of type %s: several statuses. Write %s for the first.",
			expr, v.Type, firstOf(expr, v.Language))
	case v.Pointer && v.HasNumber:
		return v.Number, nil
	case v.HasAddr && (v.Struct || v.Array || v.Language == Fortran):
		return v.Address, nil
	}
	return 0, errorf(KindUsage, 0, "The expression %s is of type %s; an MPI_Status, or in Fortran an array of "+
		"MPI_STATUS_SIZE integers, is expected.", expr, v.Type)
}

// stack is mpipp --stack X: where a handle was made, by which functions.
func (c *command) stack(args []string) (*Result, error) {
	if len(args) != 1 {
		return nil, errorf(KindUsage, 0, "mpipp --stack takes one handle; %d arguments were given.", len(args))
	}
	v, err := c.value(args[0])
	if err != nil {
		return nil, err
	}
	k := infoOf(max(KindOfType(v.Type), HandleDatatype))
	if !v.HasNumber {
		return nil, errorf(KindUsage, 0, "The expression %s is of type %s, which is no handle.", args[0], v.Type)
	}
	fortran := v.Language == Fortran
	var at, site, event uint64
	var predefinedOne bool
	switch k.kind {
	case HandleDatatype:
		t, err := c.r.typeOfHandle(v.Number, fortran)
		if err != nil {
			return nil, c.explain(err, args[0])
		}
		at, site, event, predefinedOne = t.hdr.stack, t.hdr.callSite, t.hdr.event, t.Combiner() == CombinerNamed
	case HandleComm:
		m, err := c.r.commOfHandle(v.Number, fortran)
		if err != nil {
			return nil, c.explain(err, args[0])
		}
		at, site, event, predefinedOne = m.hdr.stack, m.hdr.callSite, m.hdr.event, m.hdr.callSite == 0
	default:
		o, err := c.r.objectOfHandle(k, v.Number, fortran)
		if err != nil {
			return nil, c.explain(err, args[0])
		}
		at, site, event, predefinedOne = o.hdr.stack, o.hdr.callSite, o.hdr.event, o.Predefined()
	}
	if predefinedOne {
		return nil, errorf(KindUsage, 0, "%s is predefined: nobody has made it.", args[0])
	}
	if at == 0 {
		why := "Whole stacks are kept with COHORT_STACKS=1 in the rank's environment."
		return nil, errorf(KindNotKept, 0, "The stack of where %s was made is not kept in this run; it was made %s. %s",
			args[0], createdText(site, event, c.where), why)
	}
	frames, err := c.r.stackFrames(at)
	if err != nil {
		return nil, err
	}
	var lines []string
	var kids []Node
	for i, pc := range frames {
		text := ""
		if c.where != nil {
			text = c.where(pc)
		}
		if text == "" {
			text = fmt.Sprintf("0x%x", pc)
		}
		lines = append(lines, fmt.Sprintf("  #%d %s", i, text))
		kids = append(kids, leafNode(fmt.Sprintf("#%d", i), text))
	}
	head := fmt.Sprintf("%s was made by", args[0])
	return &Result{Node: groupNode(args[0], head, kids), text: func(w io.Writer, _ Options) error {
		return write(w, "%s\n%s\n", head, strings.Join(lines, "\n"))
	}}, nil
}
