package prettyprint

import (
	"fmt"
	"strings"
)

// Constructor is the datatype's constructor with its arguments as a tree: kind, count, entries with blocklength, offset
// and type, in the order and with the words of the paper's Fig. 5. An offset is in bytes; a displacement or stride is
// in extents of the type, as in the call.
func (t *Datatype) Constructor() Node {
	n := typeField(t)
	n.Name = t.Title()
	if t.Combiner() == CombinerNamed {
		n.NumChildren = len(t.fields())
		n.children = func(from, to int) ([]Node, error) { return t.fields()[from:to], nil }
	}
	return n
}

// typeField is the "type" of a constructor: a predefined type by its name in quotes, as the paper prints it, another as
// a tree, which is built when it is opened: a type that is shared may occur 2^50 times.
func typeField(t *Datatype) Node {
	n := Node{Name: "type", Type: "MPI_Datatype"}
	if t.Combiner() == CombinerNamed {
		n.Value = fmt.Sprintf("%q", t.Title())
		return n
	}
	n.Value = t.Summary()
	n.NumChildren = fieldCount[t.Combiner()]
	n.children = func(from, to int) ([]Node, error) { return t.fields()[from:to], nil }
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
func (t *Datatype) fields() []Node {
	in, ad := t.integers, t.addrs
	kind := leafNode("kind", t.Combiner().String())
	num := func(name string, i int) Node { return numberNode(name, in.at(i)) }
	switch t.Combiner() {
	case CombinerNamed:
		return []Node{kind, leafNode("name", fmt.Sprintf("%q", t.Title()))}
	case CombinerDup:
		return []Node{kind, typeField(t.types[0])}
	case CombinerContiguous:
		return []Node{kind, num("count", 0), typeField(t.types[0])}
	case CombinerVector:
		return []Node{kind, num("count", 0), num("blocklength", 1), num("stride", 2), typeField(t.types[0])}
	case CombinerHvector:
		return []Node{
			kind, num("count", 0), num("blocklength", 1), numberNode("stride_bytes", ad.at(0)),
			typeField(t.types[0]),
		}
	case CombinerResized:
		return []Node{kind, numberNode("lb", ad.at(0)), numberNode("extent", ad.at(1)), typeField(t.types[0])}
	case CombinerF90Real, CombinerF90Complex:
		return []Node{kind, num("precision", 0), num("range", 1)}
	case CombinerF90Integer:
		return []Node{kind, num("range", 0)}
	case CombinerIndexed, CombinerHindexed, CombinerStruct, CombinerIndexedBlock, CombinerHindexedBlock:
		return t.blockFields(kind)
	case CombinerSubarray, CombinerDarray:
		return t.arrayFields(kind)
	default:
		return []Node{
			kind, leafNode("created_by", fmt.Sprintf("%q", orUnknown(t.Name()))),
			leafNode("contents", "not decoded yet"),
		}
	}
}

func (t *Datatype) blockFields(kind Node) []Node {
	in, ad, n := t.integers, t.addrs, int(t.integers.at(0))
	count := numberNode("count", n)
	switch t.Combiner() {
	case CombinerIndexed:
		return []Node{kind, count, entries(n, func(i int) []Node {
			return []Node{numberNode("blocklength", in.at(1+i)), numberNode("displacement", in.at(1+n+i))}
		}), typeField(t.types[0])}
	case CombinerHindexed:
		return []Node{kind, count, entries(n, func(i int) []Node {
			return []Node{numberNode("blocklength", in.at(1+i)), numberNode("offset", ad.at(i))}
		}), typeField(t.types[0])}
	case CombinerIndexedBlock:
		displacements := numbers("displacements", n, func(i int) int64 { return in.at(2 + i) })
		return []Node{kind, count, numberNode("blocklength", in.at(1)), displacements, typeField(t.types[0])}
	case CombinerHindexedBlock:
		return []Node{
			kind, count, numberNode("blocklength", in.at(1)), numbers("offsets", n, ad.at),
			typeField(t.types[0]),
		}
	default: // struct
		return []Node{kind, count, entries(n, func(i int) []Node {
			return []Node{numberNode("blocklength", in.at(1+i)), numberNode("offset", ad.at(i)), typeField(t.types[i])}
		})}
	}
}

func (t *Datatype) arrayFields(kind Node) []Node {
	in := t.integers
	if t.Combiner() == CombinerSubarray {
		n := int(in.at(0))
		return []Node{kind, numberNode("ndims", n), t.orderNode(n, in.at(1+3*n)), entries(n, func(i int) []Node {
			return []Node{
				numberNode("size", in.at(1+i)), numberNode("subsize", in.at(1+n+i)),
				numberNode("start", in.at(1+2*n+i)),
			}
		}), typeField(t.types[0])}
	}
	n := int(in.at(2))
	return []Node{
		kind, numberNode("size", in.at(0)), numberNode("rank", in.at(1)), numberNode("ndims", n),
		t.orderNode(n, in.at(3+4*n)),
		entries(n, func(i int) []Node {
			dist, darg := leafNode("distribution", fmt.Sprint(in.at(3+n+i))), numberNode("argument", in.at(3+2*n+i))
			if d, dflt, err := t.distribution(in.at(3+n+i), in.at(3+2*n+i)); err == nil {
				dist.Value = d.String()
				if dflt {
					darg.Value = "default"
				}
			}
			return []Node{numberNode("gsize", in.at(3+i)), dist, darg, numberNode("psize", in.at(3+3*n+i))}
		}), typeField(t.types[0]),
	}
}

func (t *Datatype) orderNode(n int, value int64) Node {
	_, fortran, err := t.order(n, value)
	switch {
	case err != nil:
		return numberNode("order", value)
	case fortran:
		return leafNode("order", "FORTRAN")
	}
	return leafNode("order", "C")
}

func entries(n int, at func(i int) []Node) Node {
	return listNode("entries", fmt.Sprintf("%d entries", n), n, func(i int) Node {
		kids := at(i)
		var s []string
		for _, k := range kids {
			s = append(s, k.Name+" = "+k.Value)
		}
		return groupNode(fmt.Sprintf("[%d]", i), "{"+strings.Join(s, ", ")+"}", kids)
	})
}

func numbers(name string, n int, at func(i int) int64) Node {
	return listNode(name, fmt.Sprintf("%d entries", n), n, func(i int) Node {
		return numberNode(fmt.Sprintf("[%d]", i), at(i))
	})
}

// Summary says in one line what the type is.
func (t *Datatype) Summary() string {
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
func (t *Datatype) Node(name string, where func(pc uint64) string) Node {
	kids := []Node{t.Constructor()}
	kids[0].Name = "constructor"
	if t.problem == nil {
		f := t.Figures()
		kids = append(
			kids, numberNode("size", f.Size), numberNode("extent", f.Extent), numberNode("lb", f.LB),
			numberNode("ub", f.UB()),
			numberNode("true_lb", f.TrueLB), numberNode("true_extent", f.TrueExtent),
			numberNode("elements", t.elements),
			leafNode("signature", t.Signature().Text(32)), leafNode("blocks", t.blockText()),
			leafNode("gaps", t.Gaps().String()),
		)
		if s := t.unasked(); s != "" {
			kids = append(kids, leafNode("figures", s))
		}
	} else {
		kids = append(kids, leafNode("problem", t.problem.Message))
	}
	kids = append(kids, numberNode("depth", t.depth), leafNode("state", t.stateText()))
	if s := t.created(where); s != "" {
		kids = append(kids, leafNode("created", s))
	}
	kids = append(kids, leafNode("handle", t.handleText()))
	for _, d := range t.Differences() {
		kids = append(kids, leafNode("warning", d))
	}
	n := groupNode(name, t.Summary(), kids)
	n.Type = "MPI_Datatype"
	return n
}

// unasked says where the figures come from, if not from the library: of the many types of a program that makes them
// without end it is not asked.
func (t *Datatype) unasked() string {
	if _, known := t.Reported(); known || t.problem != nil || t.isLeaf() {
		return ""
	}
	return fmt.Sprintf("computed from the constructor; %s was not asked about this type", t.reg.MPI())
}

func (t *Datatype) blockText() string {
	if t.opaque {
		return "unknown: the type holds one that is not decoded yet"
	}
	return fmt.Sprint(t.blocks.n)
}

func (t *Datatype) stateText() string {
	switch {
	case t.Combiner() == CombinerNamed:
		return "predefined"
	case t.Freed() && t.hdr.refs > 0:
		return "freed, still used by another datatype or a pending call"
	case t.Freed():
		return "freed"
	case t.Committed():
		return "committed"
	}
	return "not committed: it cannot be used in communication"
}

func (t *Datatype) handleText() string {
	s := fmt.Sprintf("0x%x", t.Handle())
	if f, ok := t.FortranHandle(); ok {
		return s + fmt.Sprintf(" (Fortran %d)", f)
	}
	return s + " (its Fortran handle is not known)"
}

// created says where and when the type was made. where may be nil.
func (t *Datatype) created(where func(pc uint64) string) string {
	if t.Combiner() == CombinerNamed {
		return ""
	}
	return createdText(t.hdr.callSite, t.hdr.event, where)
}

// createdText describes a call by its return address: one less lies within the call.
func createdText(callSite, event uint64, where func(pc uint64) string) string {
	s := ""
	if callSite != 0 {
		if where != nil {
			s = where(callSite - 1)
		}
		if s == "" {
			s = fmt.Sprintf("0x%x", callSite-1)
		}
		s = "at " + s + ", "
	}
	return s + fmt.Sprintf("after event %d", event)
}
