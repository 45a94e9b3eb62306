package datatype

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// constructor is what a combiner's arguments are, in the order of MPI_Type_get_contents (MPI-3.1, 4.1.13): integers,
// then of each entry an array of integers, then perhaps the storage order; addresses, one by one or of each entry one;
// types. They are named as the paper's Fig. 5 shows them.
type constructor struct {
	ints, addrs         []string
	eachInt             []string
	eachAddr, eachPlain string // eachPlain: the entries have only this, and are listed under its plural
	order               bool
	types               int // -1: of each entry one
}

// The integers that may be negative.
var signed = []string{"stride", "displacement", "displacements", "distribution", "argument", "precision", "range"}

var constructors = map[abi.Combiner]constructor{
	abi.CombinerDup:        {types: 1},
	abi.CombinerContiguous: {ints: []string{"count"}, types: 1},
	abi.CombinerVector:     {ints: []string{"count", "blocklength", "stride"}, types: 1},
	abi.CombinerHvector:    {ints: []string{"count", "blocklength"}, addrs: []string{"stride_bytes"}, types: 1},
	abi.CombinerIndexed:    {ints: []string{"count"}, eachInt: []string{"blocklength", "displacement"}, types: 1},
	abi.CombinerHindexed:   {ints: []string{"count"}, eachInt: []string{"blocklength"}, eachAddr: "offset", types: 1},
	abi.CombinerIndexedBlock: {
		ints: []string{"count", "blocklength"}, eachInt: []string{"displacement"},
		eachPlain: "displacements", types: 1,
	},
	abi.CombinerHindexedBlock: {
		ints: []string{"count", "blocklength"}, eachAddr: "offset", eachPlain: "offsets", types: 1,
	},
	abi.CombinerStruct: {ints: []string{"count"}, eachInt: []string{"blocklength"}, eachAddr: "offset", types: -1},
	abi.CombinerSubarray: {
		ints: []string{"ndims"}, eachInt: []string{"size", "subsize", "start"}, order: true,
		types: 1,
	},
	abi.CombinerDarray: {
		ints: []string{"size", "rank", "ndims"}, order: true, types: 1,
		eachInt: []string{"gsize", "distribution", "argument", "psize"},
	},
	abi.CombinerResized:    {addrs: []string{"lb", "extent"}, types: 1},
	abi.CombinerF90Real:    {ints: []string{"precision", "range"}},
	abi.CombinerF90Complex: {ints: []string{"precision", "range"}},
	abi.CombinerF90Integer: {ints: []string{"range"}},
}

func (c *constructor) hasEntries() bool { return len(c.eachInt) > 0 || c.eachAddr != "" }

// entries is the number of entries that the integers say.
func (t *Type) entries() int {
	c := constructors[t.Combiner()]
	i := max(slices.Index(c.ints, "count"), slices.Index(c.ints, "ndims"))
	if !c.hasEntries() || i < 0 || i >= t.Integers.Len() || uint64(t.Integers.At(i)) > registry.MaxRecord {
		return 0
	}
	return int(t.Integers.At(i))
}

// column is what each entry has as the argument of that name: one integer for all, or a number of its own.
func (t *Type) column(name string) func(i int) int64 {
	c := constructors[t.Combiner()]
	if k := slices.Index(c.ints, name); k >= 0 {
		return func(int) int64 { return t.Integers.At(k) }
	}
	if k := slices.Index(c.eachInt, name); k >= 0 {
		first := len(c.ints) + k*t.entries()
		return func(i int) int64 { return t.Integers.At(first + i) }
	}
	return t.Addresses.At
}

// checkArguments verifies that the record has the arguments that its combiner needs, and that counts are not negative.
func (t *Type) checkArguments() error {
	c, ok := constructors[t.Combiner()]
	if !ok { // NAMED, UNKNOWN: whatever they hold is not used
		return nil
	}
	n := t.entries()
	ints, addrs, types := len(c.ints)+n*len(c.eachInt), len(c.addrs), c.types
	named := ints
	if c.order {
		ints++
	}
	if c.eachAddr != "" {
		addrs = n
	}
	if types < 0 {
		types = n
	}
	if t.Integers.Len() != ints || t.Addresses.Len() != addrs || len(t.Types) != types {
		return fault.Corruptf(t.Address, "a datatype of kind %s has %d integers, %d addresses and %d types; its "+
			"counts ask for %d, %d and %d",
			t.Combiner(), t.Integers.Len(), t.Addresses.Len(), len(t.Types), ints, addrs, types)
	}
	for i := range named {
		name := ""
		if i < len(c.ints) {
			name = c.ints[i]
		} else {
			name = c.eachInt[(i-len(c.ints))/n]
		}
		if v := t.Integers.At(i); v < 0 && !slices.Contains(signed, name) {
			return fault.Corruptf(t.Address, "a datatype of kind %s has the %s %d", t.Combiner(), name, v)
		}
	}
	if c.order && n < 1 {
		return fault.Corruptf(t.Address, "a datatype of kind %s has no dimension", t.Combiner())
	}
	if t.Combiner() == abi.CombinerDarray {
		return t.checkDarray()
	}
	return nil
}

func (t *Type) checkDarray() error {
	procs, grid := int64(1), t.column("psize")
	var c Calc
	for i := range t.entries() {
		if grid(i) < 1 {
			return fault.Corruptf(t.Address, "a darray has a process grid with %d processes in a dimension", grid(i))
		}
		procs = c.Mul(procs, grid(i))
	}
	if size, rank := t.Integers.At(0), t.Integers.At(1); c.Bad || procs != size || rank >= size {
		return fault.Corruptf(t.Address, "a darray is made for rank %d of %d, and its process grid has %d", rank, size,
			procs)
	}
	return nil
}

// Constructor is the datatype's constructor with its arguments as a tree: kind, count, entries with blocklength, offset
// and type, in the order and with the words of the paper's Fig. 5. An offset is in bytes; a displacement or stride is
// in extents of the type, as in the call.
func (t *Type) Constructor() view.Node {
	n := typeField(t)
	if t.Combiner() == abi.CombinerNamed {
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
	if t.Combiner() != abi.CombinerNamed {
		n = view.Lazy("type", t.Summary(), fieldCount(t.Combiner()), t.fields)
	}
	n.Type = "MPI_Datatype"
	return n
}

// fieldCount is the number of fields of a kind, known without building them.
func fieldCount(k abi.Combiner) int {
	c, ok := constructors[k]
	switch {
	case k == abi.CombinerNamed:
		return 2
	case !ok:
		return 3
	}
	n := 1 + len(c.ints) + len(c.addrs)
	for _, also := range []bool{c.order, c.hasEntries(), c.types > 0} {
		if also {
			n++
		}
	}
	return n
}

// fields are the arguments of the constructor by name, beginning with its kind.
func (t *Type) fields() []view.Node {
	kids := []view.Node{view.Leaf("kind", t.Combiner().String())}
	c, ok := constructors[t.Combiner()]
	switch {
	case t.Combiner() == abi.CombinerNamed:
		return append(kids, view.Leaf("name", fmt.Sprintf("%q", t.Title())))
	case !ok:
		return append(kids, view.Leaf("created_by", fmt.Sprintf("%q", orUnknown(t.Name))),
			view.Leaf("contents", "not decoded yet"))
	}
	for i, name := range c.ints {
		kids = append(kids, view.Number(name, t.Integers.At(i)))
	}
	for i, name := range c.addrs {
		kids = append(kids, view.Number(name, t.Addresses.At(i)))
	}
	if c.order {
		kids = append(kids, t.orderNode())
	}
	if c.hasEntries() {
		kids = append(kids, t.entriesNode(&c))
	}
	if c.types > 0 {
		kids = append(kids, typeField(t.Types[0]))
	}
	return kids
}

func (t *Type) entriesNode(c *constructor) view.Node {
	n := t.entries()
	text := fmt.Sprintf("%d entries", n)
	entry := func(i int) (kids []view.Node) {
		for _, name := range c.eachInt {
			kids = append(kids, view.Number(name, t.column(name)(i)))
		}
		if c.eachAddr != "" {
			kids = append(kids, view.Number(c.eachAddr, t.Addresses.At(i)))
		}
		if c.types < 0 {
			kids = append(kids, typeField(t.Types[i]))
		}
		return kids
	}
	if c.eachPlain != "" {
		return view.List(c.eachPlain, text, n, func(i int) view.Node {
			return view.Leaf(fmt.Sprintf("[%d]", i), entry(i)[0].Value)
		})
	}
	return view.List("entries", text, n, func(i int) view.Node {
		kids := entry(i)
		if t.Combiner() == abi.CombinerDarray {
			if d, dflt, err := t.distribution(t.column("distribution")(i), t.column("argument")(i)); err == nil {
				kids[1].Value = d.String()
				if dflt {
					kids[2].Value = "default"
				}
			}
		}
		var s []string
		for _, k := range kids {
			s = append(s, k.Name+" = "+k.Value)
		}
		return view.Group(fmt.Sprintf("[%d]", i), "{"+strings.Join(s, ", ")+"}", kids)
	})
}

func (t *Type) orderNode() view.Node {
	_, fortran, err := t.order()
	switch {
	case err != nil:
		return view.Number("order", t.Integers.At(t.Integers.Len()-1))
	case fortran:
		return view.Leaf("order", "FORTRAN")
	}
	return view.Leaf("order", "C")
}
