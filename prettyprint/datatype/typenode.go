package datatype

import (
	"fmt"
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Constructor is the datatype's constructor with its arguments as a tree: kind, count, entries with blocklength, offset
// and type, in the order and with the words of the paper's Fig. 5. An offset is in bytes; a displacement or stride is
// in extents of the type, as in the call.
func (t *Type) Constructor() view.Node {
	n := typeField(t)
	if t.Combiner() == CombinerNamed {
		n = view.Group("", n.Value, t.fields())
		n.Type = "MPI_Datatype"
	}
	n.Name = t.Title()
	return n
}

// typeField is the "type" of a constructor: a predefined type by its name in quotes, as the paper prints it, another as
// a tree, which is built when it is opened: a type that is shared may occur 2^50 times.
func typeField(t *Type) view.Node {
	n := view.Leaf("type", fmt.Sprintf("%q", t.Title()))
	if t.Combiner() != CombinerNamed {
		n = view.Lazy("type", t.Summary(), fieldCount[t.Combiner()], t.fields)
	}
	n.Type = "MPI_Datatype"
	return n
}

// fieldCount is len(t.fields()) for each kind, known without building them.
var fieldCount = map[Combiner]int{
	CombinerNamed: 2, CombinerUnknown: 3, CombinerDup: 2, CombinerContiguous: 3, CombinerVector: 5, CombinerHvector: 5,
	CombinerIndexed: 4, CombinerHindexed: 4, CombinerIndexedBlock: 5, CombinerHindexedBlock: 5, CombinerStruct: 3,
	CombinerResized: 4, CombinerSubarray: 5, CombinerDarray: 7, CombinerF90Real: 3, CombinerF90Complex: 3,
	CombinerF90Integer: 2,
}

// fields are the arguments of the constructor by name, beginning with its kind.
func (t *Type) fields() []view.Node {
	in, ad := t.integers, t.addrs
	kind := view.Leaf("kind", t.Combiner().String())
	num := func(name string, i int) view.Node { return view.Number(name, in.At(i)) }
	switch t.Combiner() {
	case CombinerNamed:
		return []view.Node{kind, view.Leaf("name", fmt.Sprintf("%q", t.Title()))}
	case CombinerDup:
		return []view.Node{kind, typeField(t.types[0])}
	case CombinerContiguous:
		return []view.Node{kind, num("count", 0), typeField(t.types[0])}
	case CombinerVector:
		return []view.Node{kind, num("count", 0), num("blocklength", 1), num("stride", 2), typeField(t.types[0])}
	case CombinerHvector:
		return []view.Node{
			kind, num("count", 0), num("blocklength", 1), view.Number("stride_bytes", ad.At(0)),
			typeField(t.types[0]),
		}
	case CombinerResized:
		return []view.Node{kind, view.Number("lb", ad.At(0)), view.Number("extent", ad.At(1)), typeField(t.types[0])}
	case CombinerF90Real, CombinerF90Complex:
		return []view.Node{kind, num("precision", 0), num("range", 1)}
	case CombinerF90Integer:
		return []view.Node{kind, num("range", 0)}
	case CombinerIndexed, CombinerHindexed, CombinerStruct, CombinerIndexedBlock, CombinerHindexedBlock:
		return t.blockFields(kind)
	case CombinerSubarray, CombinerDarray:
		return t.arrayFields(kind)
	default:
		return []view.Node{
			kind, view.Leaf("created_by", fmt.Sprintf("%q", orUnknown(t.Name()))),
			view.Leaf("contents", "not decoded yet"),
		}
	}
}

func (t *Type) blockFields(kind view.Node) []view.Node {
	in, ad, n := t.integers, t.addrs, int(t.integers.At(0))
	count := view.Number("count", n)
	switch t.Combiner() {
	case CombinerIndexed:
		return []view.Node{kind, count, entries(n, func(i int) []view.Node {
			return []view.Node{view.Number("blocklength", in.At(1+i)), view.Number("displacement", in.At(1+n+i))}
		}), typeField(t.types[0])}
	case CombinerHindexed:
		return []view.Node{kind, count, entries(n, func(i int) []view.Node {
			return []view.Node{view.Number("blocklength", in.At(1+i)), view.Number("offset", ad.At(i))}
		}), typeField(t.types[0])}
	case CombinerIndexedBlock:
		displacements := numbers("displacements", n, func(i int) int64 { return in.At(2 + i) })
		return []view.Node{kind, count, view.Number("blocklength", in.At(1)), displacements, typeField(t.types[0])}
	case CombinerHindexedBlock:
		return []view.Node{
			kind, count, view.Number("blocklength", in.At(1)), numbers("offsets", n, ad.At),
			typeField(t.types[0]),
		}
	default: // struct
		return []view.Node{kind, count, entries(n, func(i int) []view.Node {
			return []view.Node{view.Number("blocklength", in.At(1+i)), view.Number("offset", ad.At(i)), typeField(t.types[i])}
		})}
	}
}

func (t *Type) arrayFields(kind view.Node) []view.Node {
	in := t.integers
	if t.Combiner() == CombinerSubarray {
		n := int(in.At(0))
		return []view.Node{kind, view.Number("ndims", n), t.orderNode(n, in.At(1+3*n)), entries(n, func(i int) []view.Node {
			return []view.Node{
				view.Number("size", in.At(1+i)), view.Number("subsize", in.At(1+n+i)),
				view.Number("start", in.At(1+2*n+i)),
			}
		}), typeField(t.types[0])}
	}
	n := int(in.At(2))
	return []view.Node{
		kind, view.Number("size", in.At(0)), view.Number("rank", in.At(1)), view.Number("ndims", n),
		t.orderNode(n, in.At(3+4*n)),
		entries(n, func(i int) []view.Node {
			dist, darg := view.Leaf("distribution", fmt.Sprint(in.At(3+n+i))), view.Number("argument", in.At(3+2*n+i))
			if d, dflt, err := t.distribution(in.At(3+n+i), in.At(3+2*n+i)); err == nil {
				dist.Value = d.String()
				if dflt {
					darg.Value = "default"
				}
			}
			return []view.Node{view.Number("gsize", in.At(3+i)), dist, darg, view.Number("psize", in.At(3+3*n+i))}
		}), typeField(t.types[0]),
	}
}

func (t *Type) orderNode(n int, value int64) view.Node {
	_, fortran, err := t.order(n, value)
	switch {
	case err != nil:
		return view.Number("order", value)
	case fortran:
		return view.Leaf("order", "FORTRAN")
	}
	return view.Leaf("order", "C")
}

func entries(n int, at func(i int) []view.Node) view.Node {
	return view.List("entries", fmt.Sprintf("%d entries", n), n, func(i int) view.Node {
		kids := at(i)
		var s []string
		for _, k := range kids {
			s = append(s, k.Name+" = "+k.Value)
		}
		return view.Group(fmt.Sprintf("[%d]", i), "{"+strings.Join(s, ", ")+"}", kids)
	})
}

func numbers(name string, n int, at func(i int) int64) view.Node {
	return view.List(name, fmt.Sprintf("%d entries", n), n, func(i int) view.Node {
		return view.Number(fmt.Sprintf("[%d]", i), at(i))
	})
}

// Summary says in one line what the type is.
func (t *Type) Summary() string {
	switch {
	case t.problem != nil:
		return t.Title() + ": " + t.problem.Message
	case t.Combiner() == CombinerNamed:
		return t.Title()
	}
	f := t.Figures()
	s := fmt.Sprintf("%s: %s, size %d, extent %d", t.Title(), t.Signature().Text(4), f.Size, f.Extent)
	if t.Freed() {
		s += ", freed"
	} else if !t.Committed() {
		s += ", not committed"
	}
	return s
}

// Node is all that is known of the datatype, as a tree: its constructor, its figures, its state.
func (t *Type) Node(name string) view.Node {
	kids := []view.Node{t.Constructor()}
	kids[0].Name = "constructor"
	if t.problem == nil {
		f := t.Figures()
		kids = append(
			kids, view.Number("size", f.Size), view.Number("extent", f.Extent), view.Number("lb", f.LB),
			view.Number("ub", f.UB()),
			view.Number("true_lb", f.TrueLB), view.Number("true_extent", f.TrueExtent),
			view.Number("elements", t.elements),
			view.Leaf("signature", t.Signature().Text(32)), view.Leaf("blocks", t.blockText()),
			view.Leaf("gaps", t.Gaps().String()),
		)
		if s := t.unasked(); s != "" {
			kids = append(kids, view.Leaf("figures", s))
		}
	} else {
		kids = append(kids, view.Leaf("problem", t.problem.Message))
	}
	kids = append(kids, view.Number("depth", t.depth), view.Leaf("state", t.stateText()))
	if s := t.Created(); s != "" {
		kids = append(kids, view.Leaf("created", s))
	}
	kids = append(kids, view.Leaf("handle", t.handleText()))
	for _, d := range t.Differences() {
		kids = append(kids, view.Leaf("warning", d))
	}
	n := view.Group(name, t.Summary(), kids)
	n.Type = "MPI_Datatype"
	return n
}

// unasked says where the figures come from, if not from the library: of the many types of a program that makes them
// without end it is not asked.
func (t *Type) unasked() string {
	if _, known := t.Reported(); known || t.problem != nil || t.isLeaf() {
		return ""
	}
	return fmt.Sprintf("computed from the constructor; %s was not asked about this type", t.reg.MPI())
}

func (t *Type) blockText() string {
	if t.opaque {
		return "unknown: the type holds one that is not decoded yet"
	}
	return fmt.Sprint(t.blocks.n)
}

func (t *Type) stateText() string {
	switch {
	case t.Combiner() == CombinerNamed:
		return "predefined"
	case t.Freed() && t.Record.Refs > 0:
		return "freed, still used by another datatype or a pending call"
	case t.Freed():
		return "freed"
	case t.Committed():
		return "committed"
	}
	return "not committed: it cannot be used in communication"
}

func (t *Type) handleText() string {
	s := fmt.Sprintf("0x%x", t.Handle())
	if f, ok := t.FortranHandle(); ok {
		return s + fmt.Sprintf(" (Fortran %d)", f)
	}
	return s + " (its Fortran handle is not known)"
}

// Created says where and when the type was made; "" of a predefined one.
func (t *Type) Created() string {
	if t.Combiner() == CombinerNamed {
		return ""
	}
	return t.reg.CreatedText(t.Record.CallSite, t.Record.Event)
}

// Text writes the datatype for the console: its constructor in the form of the paper's Fig. 5, then its figures. name
// stands for it.
func (t *Type) Text(w io.Writer, name string, opt view.Options) error {
	if err := view.Write(w, "%s = ", name); err != nil {
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
				BasicElements(t.elements), t.blockText(), t.Gaps(), t.depth),
			"signature: "+t.Signature().Text(32),
		)
	}
	if s := t.unasked(); s != "" {
		lines = append(lines, "figures "+s)
	}
	state := t.stateText()
	if s := t.Created(); s != "" {
		state += "; created " + s
	}
	lines = append(lines, state+"; handle "+t.handleText())
	for _, s := range lines {
		if err := view.Write(w, "%s\n", s); err != nil {
			return err
		}
	}
	if t.problem != nil {
		return view.Write(w, "%s\n", t.problem.Message)
	}
	return WriteWarnings(w, t)
}

func BasicElements(n int64) string {
	return view.Plural(n, "basic element")
}

// WriteWarnings tells what the user should know before trusting or using the type.
func WriteWarnings(w io.Writer, t *Type) error {
	var out []string
	if t.Freed() {
		out = append(out, "The datatype was freed; using its handle in an MPI call is an error.")
	} else if !t.Committed() {
		out = append(out, "The datatype is not committed; using it in communication is an error.")
	}
	out = append(out, t.Differences()...)
	for _, s := range out {
		if err := view.Write(w, "warning: %s\n", s); err != nil {
			return err
		}
	}
	return nil
}
