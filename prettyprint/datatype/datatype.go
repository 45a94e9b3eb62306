// Package datatype is the algebra of MPI datatypes: the constructor tree with its bounds, extents, gaps and signature,
// the elements that it selects from a buffer with their addresses and values, and whether what is sent fits what is
// received.
//
// **Invariant:** what is shown lazily stays lazy. A datatype knows its number of elements, so that the n-th element is
// found in O(depth + log blocks) without walking the first n; memory is read only for the elements of the page asked
// for.
package datatype

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// Type is one MPI datatype of the registry: a node of the meta type-tree (paper, IV.A). A datatype that several
// others use is one Type. Its exported fields are read only.
type Type struct {
	registry.Head
	Record    abi.Datatype
	Integers  registry.Words // that the constructor was given, like those that follow
	Addresses registry.Words
	Types     []*Type
	Problem   error   // why the layout is unknown (arguments out of bounds, figures too large), or nil
	Computed  Figures // from the tree, by the rules that the rank's library follows
	Figures   Figures // what the library works with: what it reported, and what was computed where it reported nothing
	Elements  int64   // basic elements in one instance
	Depth     int     // constructors from here down to the deepest basic type, which has depth 0

	reg    *Types
	layout layout
	blocks blockRun
	align  int64
	hasLB  bool // an explicit lower bound is in it (MPI_LB, resized, subarray, darray)
	hasUB  bool
	opaque bool // holds a type that is not decoded

	// what is made when it is first asked for
	partsOnce  []part      // see parts
	prefixOnce []int64     // elements before each block
	repeated   []repeat    // see repeats
	label      string      // see Label
	sig        *Signature  // see Signature
	gaps       *Gaps       // see Gaps
	hulls      []Hull      // see innerHulls
	byMemory   []blockHull // see blockHulls
	mixture    []share     // see Mix
	units      *units      // see Match
}

const (
	datatypeSize  = int(unsafe.Sizeof(abi.Datatype{})) // the arguments follow
	unknownFigure = math.MinInt64                      // a figure that the library did not report
)

// Figures are the numbers that MPI reports of a datatype, in bytes.
type Figures struct{ Size, LB, Extent, TrueLB, TrueExtent int64 }

// UB is the upper bound.
func (f Figures) UB() int64 { return f.LB + f.Extent }

// all are the figures one by one, in the order of figureNames.
func (f *Figures) all() [5]*int64 {
	return [...]*int64{&f.Size, &f.LB, &f.Extent, &f.TrueLB, &f.TrueExtent}
}

var figureNames = [5]string{"size", "lb", "extent", "true lb", "true extent"}

func (t *Type) read() (err error) {
	if t.Head, err = t.reg.Head(registry.ClassOf(registry.KindDatatype), t.Address); err != nil {
		return err
	}
	t.Record = abi.Read[abi.Datatype](t.Raw)
	h := &t.Record
	if !t.Combiner().Known() {
		return fault.Corruptf(t.Address, "a datatype has the unknown combiner %d", h.Kind)
	}
	need := int64(datatypeSize) + 8*(int64(h.NIntegers)+int64(h.NAddresses)+int64(h.NTypes))
	if int64(h.Size) < need {
		return fault.Corruptf(t.Address, "a datatype's record has %d bytes and claims %d integers, %d addresses and "+
			"%d types", h.Size, h.NIntegers, h.NAddresses, h.NTypes)
	}
	args, err := t.reg.ReadFull(t.Address+uint64(datatypeSize), need-int64(datatypeSize), "The arguments of a datatype")
	if err != nil {
		return err
	}
	t.Integers, args = args[:8*h.NIntegers], args[8*h.NIntegers:]
	t.Addresses, args = args[:8*h.NAddresses], args[8*h.NAddresses:]
	refs := registry.Words(args)
	t.Types = make([]*Type, refs.Len())
	for i := range t.Types {
		if t.Types[i], err = t.reg.DatatypeAt(refs.Addr(i)); err != nil {
			return err
		}
		t.Depth = max(t.Depth, t.Types[i].Depth+1)
	}
	return nil
}

// Combiner is the kind of constructor that made the type.
func (t *Type) Combiner() abi.Combiner { return abi.Combiner(t.Record.Kind) }

// Committed reports whether MPI_Type_commit was called, or need not be.
func (t *Type) Committed() bool { return t.Record.State&abi.TypeCommitted != 0 || t.isLeaf() }

// Blocks is the number of contiguous pieces of memory that one instance selects, in the order of the typemap:
// neighbours in that order that touch count once.
func (t *Type) Blocks() int64 { return t.blocks.n }

// Reported returns what the library reported when the type was made; known is false if it did not report everything.
func (t *Type) Reported() (f Figures, known bool) {
	h := &t.Record
	f, known = Figures{h.TypeSize, h.LB, h.Extent, h.TrueLB, h.TrueExtent}, true
	for _, figure := range f.all() {
		known = known && *figure != unknownFigure
	}
	return f, known
}

// counts reports whether the library reported a figure. Of a type without data, Open MPI may say where an interval
// begins that has met nothing, at 2^63-1.
func (t *Type) counts(reported int64) bool {
	beyond := reported > MaxOffset || reported < -MaxOffset
	return reported != unknownFigure && !(beyond && t.Elements == 0 && t.Problem == nil)
}

func (t *Type) mergeFigures() {
	t.Figures = t.Computed
	reported, _ := t.Reported()
	for i, figure := range t.Figures.all() {
		if r := *reported.all()[i]; t.counts(r) {
			*figure = r
		}
	}
	if t.Elements == 0 && t.Problem == nil {
		// The standard defines no bounds for a typemap without data; what the library says is as good as any rule.
		size := t.Computed.Size
		t.Computed = t.Figures
		t.Computed.Size = size
	}
}

// Differences says, one sentence each, where the computed figures are not those that the library reported. Such a
// difference means that the record or its decoding is wrong, or that the library departs from its own rules; values
// shown may be wrong too.
func (t *Type) Differences() (out []string) {
	if t.Problem != nil || t.opaque {
		return nil
	}
	reported, _ := t.Reported()
	for i, computed := range t.Computed.all() {
		if r := *reported.all()[i]; t.counts(r) && *computed != r {
			out = append(out, fmt.Sprintf("The %s computed from the constructor is %d; %s reported %d.", figureNames[i],
				*computed, t.reg.MPI(), r))
		}
	}
	return out
}

// isLeaf reports whether the type ends the tree: a predefined type, one made by MPI_Type_create_f90_*, or one that is
// not decoded.
func (t *Type) isLeaf() bool {
	switch t.Combiner() {
	case abi.CombinerNamed, abi.CombinerF90Real, abi.CombinerF90Complex, abi.CombinerF90Integer, abi.CombinerUnknown:
		return true
	default:
		return false
	}
}

// isNamed reports whether the type is a predefined one whose name is known.
func (t *Type) isNamed() bool { return t.Combiner() == abi.CombinerNamed && t.Name != "" }

// isMarker reports whether the type is MPI_LB or MPI_UB.
func (t *Type) isMarker() bool {
	return t.Combiner() == abi.CombinerNamed && (t.basic() == abi.BasicLB || t.basic() == abi.BasicUB)
}

// Label names the type where there is little room: its name without MPI_ if it is predefined (CHAR), else its kind
// (STRUCT), as in the paper's addresses.
func (t *Type) Label() string {
	switch {
	case t.label != "":
	case t.isNamed():
		t.label = trimMPI(t.Name)
	default:
		t.label = t.Combiner().String()
	}
	return t.label
}

// Title names the type in a sentence: MPI_INT, or STRUCT "particle".
func (t *Type) Title() string {
	switch {
	case t.isNamed():
		return t.Name
	case t.Combiner() == abi.CombinerUnknown && t.Name != "":
		return fmt.Sprintf("type made by %s", t.Name)
	case t.Name != "":
		return fmt.Sprintf("%s %q", t.Combiner(), t.Name)
	}
	return t.Combiner().String()
}
