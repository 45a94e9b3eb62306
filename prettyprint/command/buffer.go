package command

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/picture"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// typeArgument finds the datatype that an argument names, by a predefined name or by an expression, with an address
// behind it or not.
func (c *command) typeArgument(arg string) (datatype.Part, error) {
	return tryAddresses(arg, func(expr string, a datatype.Address) (p datatype.Part, err error) {
		p = datatype.Part{Name: expr, At: a}
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

// count evaluates the count at the place i of the arguments; 1 if it is left out.
func (c *command) count(args []string, i int) (int64, error) {
	if len(args) <= i {
		return 1, nil
	}
	v, err := c.Value(args[i])
	n := int64(v.Number)
	switch {
	case err != nil:
	case !v.HasNumber || v.Pointer:
		err = fault.Errorf(fault.Usage, 0, "The count %s is of type %s; an integer is expected.", args[i], v.Type)
	case n < 0:
		err = fault.Errorf(fault.Usage, 0, "The count %s is %d; MPI takes counts from 0 on.", args[i], n)
	}
	return n, err
}

// address evaluates where a buffer is.
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

// bufferArguments evaluates TYPE BUFFER [COUNT].
func (c *command) bufferArguments(args []string) (p datatype.Part, addr uint64, count int64, err error) {
	if p, err = c.typeArgument(args[0]); err != nil {
		return p, 0, 0, err
	}
	if addr, err = c.address(args[1]); err != nil {
		return p, 0, 0, err
	}
	count, err = c.count(args, 2)
	return p, addr, count, err
}

// at shows what of MPI holds the byte at an address: in a buffer that is named, or in those that the rank knows.
func (c *command) at(args []string) (n view.Node, err error) {
	addr, err := c.address(args[0])
	if err != nil {
		return n, err
	}
	var found []view.Node
	var problems []error
	switch len(args) {
	case 1:
		found, problems = call.At(c.Rank, c.Resolver, addr)
	case 2:
		return n, fault.Errorf(
			fault.Usage,
			0,
			"mpipp --at takes an address, and after it none or both of a datatype and "+
				"a buffer; %s alone was given.",
			args[1],
		)
	default:
		p, start, count, err := c.bufferArguments(args[1:])
		if err != nil {
			return n, err
		}
		b, err := c.Rank.Buffer(p.Name, start, p.Type, count)
		if err != nil {
			return n, err
		}
		what := fmt.Sprintf("%s × %s at 0x%x", view.Grouped(count), p.Type.Title(), start)
		if kids := call.Holding(b, addr, "element"); len(kids) > 0 {
			found = append(found, view.Group("buffer", what, kids))
		}
	}
	c.printf("0x%x", addr)
	switch {
	case len(found) > 0:
		c.printf("\n")
	case len(args) > 1:
		c.printf(" is not in that buffer.\n")
	default:
		c.printf(" is in no buffer of a call in progress or of an active request, and in no window.\n")
	}
	for _, f := range found {
		if err := view.ListText(&c.out, titledList(f), c.view.MaxList); err != nil {
			return n, err
		}
	}
	for _, p := range problems {
		c.printf("%s\n", p)
	}
	return view.Group(args[0], fmt.Sprintf("0x%x", addr), found), nil
}

// titledList is a list whose title is its name with its value.
func titledList(n view.Node) view.Node {
	n.Value = n.Name + ": " + n.Value
	return n
}

// buffer shows what TYPE selects at BUFFER.
func (c *command) buffer(args []string) (n view.Node, err error) {
	p, addr, count, err := c.bufferArguments(args)
	if err != nil {
		return n, err
	}
	whole, err := c.Rank.Buffer(p.Name, addr, p.Type, count)
	if err != nil {
		return n, err
	}
	b, err := whole.Select(p.At)
	if err != nil {
		return n, err
	}
	what, size := p.Type.Title(), datatype.BasicElements(b.Len())
	if count != 1 {
		what = fmt.Sprintf("%s × %s", view.Grouped(count), what)
	}
	if p.At.IsZero() {
		size += ", " + view.ByteCount(count*p.Type.Figures.Size) + " of data"
	} else {
		what = "part " + p.At.String() + " of " + what
	}
	c.printf("%s at 0x%x: %s\n", what, addr, size)
	if err := b.Text(&c.out, c.view); err != nil {
		return n, err
	}
	return b.Node(p.Name + p.At.String()), datatype.WriteWarnings(&c.out, p.Type)
}

// pictured evaluates TYPE [COUNT] of a picture.
func (c *command) pictured(args []string) (p datatype.Part, count int64, err error) {
	if p, err = c.typeArgument(args[0]); err != nil {
		return p, 0, err
	}
	if !p.At.IsZero() {
		return p, 0, fault.Errorf(fault.Usage, 0, "The picture is one of a whole datatype, and %s names a part of it, "+
			"%s. mpipp --tree %s shows where that is.", p.Name, p.At, args[0])
	}
	count, err = c.count(args, 1)
	return p, count, err
}

func (c *command) layout(args []string) (n view.Node, err error) {
	p, count, err := c.pictured(args)
	if err != nil {
		return n, err
	}
	pic, err := picture.ForWidth(p.Type, p.Name, count, int(c.width))
	if err != nil {
		return n, err
	}
	if err := pic.Text(&c.out, c.colour); err != nil {
		return n, err
	}
	return view.Leaf(p.Name, p.Type.Summary()), datatype.WriteWarnings(&c.out, p.Type)
}

func (c *command) svg(args []string) (n view.Node, err error) {
	p, count, err := c.pictured(args)
	if err != nil {
		return n, err
	}
	if !strings.HasSuffix(c.file, ".svg") {
		return n, fault.Errorf(fault.Usage, 0, "mpipp --svg writes to files whose names end in .svg; %q does not.",
			c.file)
	}
	pic, err := picture.New(p.Type, p.Name, count, picture.Options{})
	if err != nil {
		return n, err
	}
	var b strings.Builder
	if err := pic.SVG(&b); err != nil {
		return n, err
	}
	c.made = &backend.File{Name: c.file, Data: []byte(b.String())}
	c.printf("%s", pic.Head())
	return view.Leaf(p.Name, p.Type.Summary()), datatype.WriteWarnings(&c.out, p.Type)
}
