package prettyprint

import (
	"fmt"
	"io"
	"regexp"
)

// typePart is a datatype and a place in it.
type typePart struct {
	name string
	t    *Datatype
	at   Address
}

// typeArgument finds the datatype that an argument names, by a predefined name or by an expression, with an address
// behind it or not.
func (c *command) typeArgument(arg string) (typePart, error) {
	return tryAddresses(arg, func(expr string, a Address) (typePart, error) {
		p := typePart{name: expr, at: a}
		if expr == "MPI_DATATYPE_NULL" {
			return p, nullDatatype(expr)
		}
		var err error
		if predefined.MatchString(expr) {
			p.t, err = c.r.DatatypeByName(expr)
			return p, err
		}
		v, err := c.value(expr)
		if err != nil {
			return p, err
		}
		if kind := KindOfType(v.Type); kind != 0 && kind != HandleDatatype {
			return p, errorf(KindUsage, 0, "The expression %s is of type %s; mpipp TYPE BUFFER takes a datatype first.",
				expr, v.Type)
		}
		p.t, err = c.datatype(expr, v)
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
	whole, err := c.r.Buffer(p.name, addr, p.t, count)
	if err != nil {
		return nil, err
	}
	b, err := whole.Select(p.at)
	if err != nil {
		return nil, err
	}
	return &Result{Node: b.Node(p.name + p.at.String()), text: func(w io.Writer, opt Options) error {
		opt = c.opt.filled(opt)
		what := fmt.Sprintf("%s × %s", grouped(count), p.t.Title())
		if count == 1 {
			what = p.t.Title()
		}
		if !p.at.IsZero() {
			what = "part " + p.at.String() + " of " + what
		}
		size := basicElements(b.Len()) + ", " + byteCount(count*p.t.Figures().Size) + " of data"
		if !p.at.IsZero() {
			size = basicElements(b.Len())
		}
		if err := write(w, "%s at 0x%x: %s\n", what, addr, size); err != nil {
			return err
		}
		if err := b.Text(w, opt); err != nil {
			return err
		}
		return writeWarnings(w, p.t)
	}}, nil
}

// showPart shows a place within a datatype, without a buffer: its address, offset and basic types.
func (c *command) showPart(name string, t *Datatype, a Address) (*Result, error) {
	l, err := typePart{name, t, a}.place()
	if err != nil {
		return nil, err
	}
	n := groupNode(name+a.String(), l.typeText(), []Node{
		leafNode("address", l.long()), numberNode("offset", l.start()), leafNode("type", l.typeText()),
		numberNode("elements", l.elements()),
	})
	n.TreeAddress = l.long()
	return &Result{Node: n, text: func(w io.Writer, _ Options) error {
		return write(w, "%s is %s at offset %d: %s\n", l.long(), l.typeText(), l.start(), basicElements(l.elements()))
	}}, nil
}

// addressInteger are types of integers that hold addresses.
var addressInteger = regexp.MustCompile(`(?i)^(MPI_Aint|u?intptr_t|size_t|unsigned long( long)?( int)?|a number)$`)

// address evaluates BUFFER as an MPI call would: a pointer's value, an array's address, in Fortran the place of the
// variable.
func (c *command) address(expr string) (uint64, error) {
	if expr == "MPI_BOTTOM" {
		return 0, nil
	}
	v, err := c.value(expr)
	if err != nil {
		return 0, err
	}
	return addressOf(expr, v)
}

// addressOf is where a buffer lies that an MPI call is given by this expression.
func addressOf(expr string, v Resolved) (uint64, error) {
	switch {
	case v.Pointer && v.HasNumber:
		return v.Number, nil
	case v.HasAddr && (v.Language == Fortran || v.Array || v.Struct):
		return v.Address, nil
	case v.HasNumber && (!v.HasAddr || addressInteger.MatchString(v.Type)):
		return v.Number, nil
	case v.HasAddr:
		return 0, errorf(KindUsage, 0, "The buffer %s is of type %s, which is neither a pointer nor an array. "+
			"Write &%s to see what lies there.", expr, v.Type, expr)
	}
	return 0, errorf(KindUsage, 0, "The buffer %s (of type %s) has no address in memory.", expr, v.Type)
}

func (c *command) count(expr string) (int64, error) {
	v, err := c.value(expr)
	if err != nil {
		return 0, err
	}
	if !v.HasNumber || v.Pointer {
		return 0, errorf(KindUsage, 0, "The count %s is of type %s; an integer is expected.", expr, v.Type)
	}
	if n := int64(v.Number); n < 0 {
		return 0, errorf(KindUsage, 0, "The count %s is %d; MPI takes counts from 0 on.", expr, n)
	}
	return int64(v.Number), nil
}

// Text writes the datatype for the console: its constructor in the form of the paper's Fig. 5, then its figures. name
// stands for it; where names the source line of an instruction and may be nil.
func (t *Datatype) Text(w io.Writer, name string, where func(pc uint64) string, opt Options) error {
	if err := write(w, "%s = ", name); err != nil {
		return err
	}
	if err := t.Constructor().Text(w, opt); err != nil {
		return err
	}
	lines := []string{}
	if t.problem == nil {
		f := t.Figures()
		lines = append(
			lines,
			fmt.Sprintf("size %d, extent %d (lb %d, ub %d), true extent %d (true lb %d)",
				f.Size, f.Extent, f.LB, f.UB(), f.TrueExtent, f.TrueLB),
			fmt.Sprintf("%s, contiguous blocks: %s, gaps: %s; depth %d",
				basicElements(t.elements), t.blockText(), t.Gaps(), t.depth),
			"signature: "+t.Signature().Text(32),
		)
	}
	if s := t.unasked(); s != "" {
		lines = append(lines, "figures "+s)
	}
	state := t.stateText()
	if s := t.created(where); s != "" {
		state += "; created " + s
	}
	lines = append(lines, state+"; handle "+t.handleText())
	for _, s := range lines {
		if err := write(w, "%s\n", s); err != nil {
			return err
		}
	}
	if t.problem != nil {
		return write(w, "%s\n", t.problem.Message)
	}
	return writeWarnings(w, t)
}

func basicElements(n int64) string {
	return plural(n, "basic element")
}

// writeWarnings tells what the user should know before trusting or using the type.
func writeWarnings(w io.Writer, t *Datatype) error {
	var out []string
	if t.Freed() {
		out = append(out, "The datatype was freed; using its handle in an MPI call is an error.")
	} else if !t.Committed() {
		out = append(out, "The datatype is not committed; using it in communication is an error.")
	}
	out = append(out, t.Differences()...)
	for _, s := range out {
		if err := write(w, "warning: %s\n", s); err != nil {
			return err
		}
	}
	return nil
}
