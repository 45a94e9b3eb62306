// Package datatype is the algebra of MPI datatypes: the constructor tree with its bounds, extents, gaps and signature, the
// elements that it selects from a buffer with their addresses and values, and whether what is sent fits what is received.
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
// others use is one Datatype.
type Type struct {
	reg      *Types
	addr     uint64 // of its record
	Record   abi.Datatype
	name     string
	integers registry.Words
	addrs    registry.Words
	types    []*Type

	layout   layout
	own      Figures      // computed from the tree
	library  Figures      // what the library works with: see Figures
	problem  *fault.Error // why the layout is unknown, or nil
	elements int64        // basic elements in one instance
	blocks   blockRun
	depth    int
	align    int64
	hasLB    bool // an explicit lower bound is in it (MPI_LB, resized, subarray, darray)
	hasUB    bool
	opaque   bool // holds a type that is not decoded

	// what is made when it is first asked for
	prefixOnce []int64     // elements before each block
	label      string      // see Label
	sig        *Signature  // see Signature
	gaps       *Gaps       // see Gaps
	hulls      []Hull      // see innerHulls
	byMemory   []blockHull // see blockHulls
	mixture    []share     // see mix
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

func (t *Type) read() error {
	head, err := t.reg.Head(registry.ClassOf(registry.KindDatatype), t.addr)
	if err != nil {
		return err
	}
	t.Record, t.name = abi.Read[abi.Datatype](head.Raw), head.Name
	h := &t.Record
	if !t.Combiner().Known() {
		return fault.Corruptf(t.addr, "a datatype has the unknown combiner %d", h.Kind)
	}
	need := int64(datatypeSize) + 8*(int64(h.NIntegers)+int64(h.NAddresses)+int64(h.NTypes))
	if int64(h.Size) < need {
		return fault.Corruptf(t.addr, "a datatype's record has %d bytes and claims %d integers, %d addresses and %d types",
			h.Size, h.NIntegers, h.NAddresses, h.NTypes)
	}
	args, err := t.reg.ReadFull(t.addr+uint64(datatypeSize), need-int64(datatypeSize), "The arguments of a datatype")
	if err != nil {
		return err
	}
	t.integers, args = args[:8*h.NIntegers], args[8*h.NIntegers:]
	t.addrs, args = args[:8*h.NAddresses], args[8*h.NAddresses:]
	refs := registry.Words(args)
	t.types = make([]*Type, refs.Len())
	for i := range t.types {
		if t.types[i], err = t.reg.DatatypeAt(refs.Addr(i)); err != nil {
			return err
		}
		t.depth = max(t.depth, t.types[i].depth+1)
	}
	return nil
}

// Combiner is the kind of constructor that made the type.
func (t *Type) Combiner() abi.Combiner { return abi.Combiner(t.Record.Kind) }

// Handle is the C handle.
func (t *Type) Handle() uint64 { return t.Record.Handle }

// FortranHandle is the Fortran handle; ok is false if it is not known.
func (t *Type) FortranHandle() (f int32, ok bool) {
	return t.Record.FHandle, t.Record.FHandle != registry.NoFortran
}

// Name is the predefined name (MPI_INT), the one given by MPI_Type_set_name, or empty.
func (t *Type) Name() string { return t.name }

// Committed reports whether MPI_Type_commit was called, or need not be.
func (t *Type) Committed() bool { return t.Record.State&abi.TypeCommitted != 0 || t.isLeaf() }

// Freed reports whether the program freed the handle; the record remains while others refer to it.
func (t *Type) Freed() bool { return t.Record.State&abi.ObjectFreed != 0 }

// CallSite is the return address of the constructor call in the program, 0 if unknown.
func (t *Type) CallSite() uint64 { return t.Record.CallSite }

// Event is the number of MPI events that the rank had completed when the type was made.
func (t *Type) Event() uint64 { return t.Record.Event }

// Types are the datatypes that the constructor was given.
func (t *Type) Types() []*Type { return t.types }

// Depth is the number of constructors from here down to the deepest basic type; a basic type has depth 0.
func (t *Type) Depth() int { return t.depth }

// Elements is the number of basic elements in one instance of the type.
func (t *Type) Elements() int64 { return t.elements }

// Blocks is the number of contiguous pieces of memory that one instance selects, in the order of the typemap:
// neighbours in that order that touch count once.
func (t *Type) Blocks() int64 { return t.blocks.n }

// Problem tells why the layout of the type is not known (arguments out of bounds, figures too large), or nil.
func (t *Type) Problem() error {
	if t.problem == nil {
		return nil
	}
	return t.problem
}

// Computed returns the figures computed from the tree by the rules that the rank's library follows.
func (t *Type) Computed() Figures { return t.own }

// Reported returns what the library reported when the type was made; known is false for a figure that it did not.
func (t *Type) Reported() (f Figures, known bool) {
	h := &t.Record
	f = Figures{h.TypeSize, h.LB, h.Extent, h.TrueLB, h.TrueExtent}
	return f, h.TypeSize != unknownFigure && h.LB != unknownFigure && h.Extent != unknownFigure &&
		h.TrueLB != unknownFigure && h.TrueExtent != unknownFigure
}

// Figures returns what the library works with: what it reported, and what was computed where it reported nothing.
func (t *Type) Figures() Figures { return t.library }

func (t *Type) mergeFigures() Figures {
	f, c := t.own, &t.Record
	pick := func(dst *int64, reported int64) {
		if reported != unknownFigure && !t.isNonsense(reported) {
			*dst = reported
		}
	}
	pick(&f.Size, c.TypeSize)
	pick(&f.LB, c.LB)
	pick(&f.Extent, c.Extent)
	pick(&f.TrueLB, c.TrueLB)
	pick(&f.TrueExtent, c.TrueExtent)
	return f
}

// isNonsense reports whether a figure is none: of a type without data, Open MPI may say where an interval begins that
// has met nothing, at 2^63-1.
func (t *Type) isNonsense(figure int64) bool {
	return t.elements == 0 && t.problem == nil && (figure > MaxOffset || figure < -MaxOffset)
}

// Differences says, one sentence each, where the computed figures are not those that the library reported. Such a
// difference means that the record or its decoding is wrong, or that the library departs from its own rules; values
// shown may be wrong too.
func (t *Type) Differences() []string {
	if t.problem != nil || t.opaque {
		return nil
	}
	var out []string
	for _, f := range []struct {
		name          string
		mine, library int64
	}{
		{"size", t.own.Size, t.Record.TypeSize},
		{"lb", t.own.LB, t.Record.LB},
		{"extent", t.own.Extent, t.Record.Extent},
		{"true lb", t.own.TrueLB, t.Record.TrueLB},
		{"true extent", t.own.TrueExtent, t.Record.TrueExtent},
	} {
		if f.library != unknownFigure && f.mine != f.library && !t.isNonsense(f.library) {
			out = append(out, fmt.Sprintf("The %s computed from the constructor is %d; %s reported %d.",
				f.name, f.mine, t.reg.MPI(), f.library))
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

// isMarker reports whether the type is MPI_LB or MPI_UB.
func (t *Type) isMarker() bool {
	return t.Combiner() == abi.CombinerNamed && (t.basic() == abi.BasicLB || t.basic() == abi.BasicUB)
}

// Label names the type where there is little room: its name without MPI_ if it is predefined (CHAR), else its kind
// (STRUCT), as in the paper's addresses.
func (t *Type) Label() string {
	switch {
	case t.label != "":
	case t.Combiner() == abi.CombinerNamed && t.Name() != "":
		t.label = trimMPI(t.Name())
	default:
		t.label = t.Combiner().String()
	}
	return t.label
}

// Title names the type in a sentence: MPI_INT, or STRUCT "particle".
func (t *Type) Title() string {
	switch {
	case t.Combiner() == abi.CombinerNamed && t.Name() != "":
		return t.Name()
	case t.Combiner() == abi.CombinerUnknown && t.Name() != "":
		return fmt.Sprintf("type made by %s", t.Name())
	case t.Name() != "":
		return fmt.Sprintf("%s %q", t.Combiner(), t.Name())
	}
	return t.Combiner().String()
}

// Arguments are what the constructor was given, but for the types.
func (t *Type) Arguments() (integers, addresses []int64) {
	for i := range t.integers.Len() {
		integers = append(integers, t.integers.At(i))
	}
	for i := range t.addrs.Len() {
		addresses = append(addresses, t.addrs.At(i))
	}
	return integers, addresses
}
