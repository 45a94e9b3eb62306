package command

import (
	"fmt"
	"io"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// typeArgument finds the datatype that an argument names, by a predefined name or by an expression, with an address
// behind it or not.
func (c *command) typeArgument(arg string) (datatype.Part, error) {
	return tryAddresses(arg, func(expr string, a datatype.Address) (datatype.Part, error) {
		p := datatype.Part{Name: expr, At: a}
		if expr == "MPI_DATATYPE_NULL" {
			return p, registry.ClassOf(registry.KindDatatype).NullError(expr)
		}
		var err error
		if call.Predefined.MatchString(expr) {
			p.Type, err = c.Rank.DatatypeByName(expr)
			return p, err
		}
		v, err := c.Value(expr)
		if err != nil {
			return p, err
		}
		if kind := registry.KindOf(v.Type); kind != 0 && kind != registry.KindDatatype {
			return p, fault.Errorf(fault.Usage, 0, "The expression %s is of type %s; mpipp TYPE BUFFER takes a "+
				"datatype first.", expr, v.Type)
		}
		p.Type, err = c.Datatype(expr, v)
		return p, err
	})
}

// buffer shows what TYPE selects at BUFFER.
func (c *command) buffer(args []string) (*Result, error) {
	p, err := c.typeArgument(args[0])
	if err != nil {
		return nil, err
	}
	addr, err := c.address(args[1])
	if err != nil {
		return nil, err
	}
	count := int64(1)
	if len(args) == 3 {
		if count, err = c.count(args[2]); err != nil {
			return nil, err
		}
	}
	whole, err := c.Rank.Buffer(p.Name, addr, p.Type, count)
	if err != nil {
		return nil, err
	}
	b, err := whole.Select(p.At)
	if err != nil {
		return nil, err
	}
	return &Result{Node: b.Node(p.Name + p.At.String()), text: func(w io.Writer, opt view.Options) error {
		opt = c.opt.filled(opt)
		what := fmt.Sprintf("%s × %s", view.Grouped(count), p.Type.Title())
		if count == 1 {
			what = p.Type.Title()
		}
		if !p.At.IsZero() {
			what = "part " + p.At.String() + " of " + what
		}
		size := datatype.BasicElements(b.Len()) + ", " + view.ByteCount(count*p.Type.Figures().Size) + " of data"
		if !p.At.IsZero() {
			size = datatype.BasicElements(b.Len())
		}
		if err := view.Write(w, "%s at 0x%x: %s\n", what, addr, size); err != nil {
			return err
		}
		if err := b.Text(w, opt); err != nil {
			return err
		}
		return datatype.WriteWarnings(w, p.Type)
	}}, nil
}

// showPart shows a place within a datatype, without a buffer: its address, offset and basic types.
func (c *command) showPart(name string, t *datatype.Type, a datatype.Address) (*Result, error) {
	l, err := datatype.Part{Name: name, Type: t, At: a}.Locate()
	if err != nil {
		return nil, err
	}
	n := view.Group(name+a.String(), l.TypeText(), []view.Node{
		view.Leaf("address", l.Long()), view.Number("offset", l.Start()), view.Leaf("type", l.TypeText()),
		view.Number("elements", l.Elements()),
	})
	return &Result{Node: n, text: func(w io.Writer, _ view.Options) error {
		return view.Write(w, "%s is %s at offset %d: %s\n", l.Long(), l.TypeText(), l.Start(),
			datatype.BasicElements(l.Elements()))
	}}, nil
}

// address evaluates BUFFER as an MPI call would: a pointer's value, an array's address, in Fortran the place of the
// variable.
func (c *command) address(expr string) (uint64, error) {
	if expr == "MPI_BOTTOM" {
		return 0, nil
	}
	v, err := c.Value(expr)
	if err != nil {
		return 0, err
	}
	return call.AddressOf(expr, v)
}

func (c *command) count(expr string) (int64, error) {
	v, err := c.Value(expr)
	if err != nil {
		return 0, err
	}
	if !v.HasNumber || v.Pointer {
		return 0, fault.Errorf(fault.Usage, 0, "The count %s is of type %s; an integer is expected.", expr, v.Type)
	}
	if n := int64(v.Number); n < 0 {
		return 0, fault.Errorf(fault.Usage, 0, "The count %s is %d; MPI takes counts from 0 on.", expr, n)
	}
	return int64(v.Number), nil
}

// tree shows the expanded type-tree (paper, IV.B) with the addresses of its elements (IV.C).
func (c *command) tree(args []string) (*Result, error) {
	p, err := c.typeArgument(args[0])
	if err != nil {
		return nil, err
	}
	l, err := p.Locate()
	if err != nil {
		return nil, err
	}
	n := view.Group(p.Name+p.At.String(), l.TypeText(), []view.Node{
		view.Leaf("address", l.Long()), view.Number("offset", l.Start()), view.Leaf("type", l.TypeText()),
		view.Number("elements", l.Elements()),
	})
	return &Result{Node: n, text: func(w io.Writer, opt view.Options) error {
		if err := view.Write(w, "%s is %s: %s\n", l.Long(), l.TypeText(),
			datatype.BasicElements(l.Elements())); err != nil {
			return err
		}
		return l.TreeText(w, c.opt.filled(opt).MaxList)
	}}, nil
}
