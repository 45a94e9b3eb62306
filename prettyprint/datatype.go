package prettyprint

import (
	"fmt"
)

// Datatype is one MPI datatype of the registry: a node of the meta type-tree (paper, IV.A). A datatype that several
// others use is one Datatype.
type Datatype struct {
	reg      *Registry
	addr     uint64 // of its record
	hdr      abiDatatype
	integers words
	addrs    words
	types    []*Datatype

	layout   layout
	own      Figures // computed from the tree
	library  Figures // what the library works with: see Figures
	problem  *Error  // why the layout is unknown, or nil
	elements int64   // basic elements in one instance
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
	hulls      []hull      // see innerHulls
	byMemory   []blockHull // see blockHulls
	mixture    []share     // see mix
	units      *units      // see Match
}

// Figures are the numbers that MPI reports of a datatype, in bytes.
type Figures struct{ Size, LB, Extent, TrueLB, TrueExtent int64 }

// UB is the upper bound.
func (f Figures) UB() int64 { return f.LB + f.Extent }

// datatype decodes the record at rec, and those it refers to.
func (r *Registry) datatype(rec uint64) (*Datatype, error) {
	if t, ok := r.types[rec]; ok {
		return t, nil
	}
	if r.decoding[rec] {
		return nil, corrupt(rec, "a datatype is made of itself")
	}
	if len(r.decoding) >= maxDepth {
		return nil, errorf(KindTooLarge, rec,
			"The datatype is nested more than %d constructors deep. The registry is damaged, "+
				"or the type is beyond what Cohort shows.", maxDepth)
	}
	r.decoding[rec] = true
	defer delete(r.decoding, rec)

	t := &Datatype{reg: r, addr: rec}
	if err := t.read(); err != nil {
		return nil, err
	}
	if err := t.checkArguments(); err != nil {
		return nil, err
	}
	t.compute()
	t.library = t.mergeFigures()
	if t.elements == 0 && t.problem == nil {
		// The standard defines no bounds for a typemap without data; what the library says is as good as any rule.
		size := t.own.Size
		t.own = t.library
		t.own.Size = size
	}
	r.types[rec] = t
	return t, nil
}

func (t *Datatype) read() error {
	b, err := t.reg.readFull(t.addr, datatypeHeader, "A datatype's record")
	if err != nil {
		return err
	}
	t.hdr = t.reg.wholeName(decodeDatatype(b))
	h := &t.hdr
	if _, known := combinerNames[t.Combiner()]; !known {
		return corrupt(t.addr, "a datatype has the unknown combiner %d", h.combiner)
	}
	need := int64(datatypeHeader) + 8*(int64(h.nIntegers)+int64(h.nAddresses)+int64(h.nTypes))
	if int64(h.size) < need {
		return corrupt(t.addr, "a datatype's record has %d bytes and claims %d integers, %d addresses and %d types",
			h.size, h.nIntegers, h.nAddresses, h.nTypes)
	}
	args, err := t.reg.readFull(t.addr+datatypeHeader, need-datatypeHeader, "The arguments of a datatype")
	if err != nil {
		return err
	}
	t.integers, args = args[:8*h.nIntegers], args[8*h.nIntegers:]
	t.addrs, args = args[:8*h.nAddresses], args[8*h.nAddresses:]
	refs := words(args)
	t.types = make([]*Datatype, refs.len())
	for i := range t.types {
		if t.types[i], err = t.reg.datatype(refs.addr(i)); err != nil {
			return err
		}
		t.depth = max(t.depth, t.types[i].depth+1)
	}
	return nil
}

// Combiner is the kind of constructor that made the type.
func (t *Datatype) Combiner() Combiner { return Combiner(t.hdr.combiner) }

// Handle is the C handle.
func (t *Datatype) Handle() uint64 { return t.hdr.handle }

// FortranHandle is the Fortran handle; ok is false if it is not known.
func (t *Datatype) FortranHandle() (f int32, ok bool) {
	return t.hdr.fHandle, t.hdr.fHandle != abiNoFortran
}

// Name is the predefined name (MPI_INT), the one given by MPI_Type_set_name, or empty.
func (t *Datatype) Name() string { return t.hdr.name }

// Committed reports whether MPI_Type_commit was called, or need not be.
func (t *Datatype) Committed() bool { return t.hdr.state&stateCommitted != 0 || t.isLeaf() }

// Freed reports whether the program freed the handle; the record remains while others refer to it.
func (t *Datatype) Freed() bool { return t.hdr.state&stateFreed != 0 }

// CallSite is the return address of the constructor call in the program, 0 if unknown.
func (t *Datatype) CallSite() uint64 { return t.hdr.callSite }

// Event is the number of MPI events that the rank had completed when the type was made.
func (t *Datatype) Event() uint64 { return t.hdr.event }

// Types are the datatypes that the constructor was given.
func (t *Datatype) Types() []*Datatype { return t.types }

// Depth is the number of constructors from here down to the deepest basic type; a basic type has depth 0.
func (t *Datatype) Depth() int { return t.depth }

// Elements is the number of basic elements in one instance of the type.
func (t *Datatype) Elements() int64 { return t.elements }

// Blocks is the number of contiguous pieces of memory that one instance selects, in the order of the typemap:
// neighbours in that order that touch count once.
func (t *Datatype) Blocks() int64 { return t.blocks.n }

// Problem tells why the layout of the type is not known (arguments out of bounds, figures too large), or nil.
func (t *Datatype) Problem() error {
	if t.problem == nil {
		return nil
	}
	return t.problem
}

// Computed returns the figures computed from the tree by the rules that the rank's library follows.
func (t *Datatype) Computed() Figures { return t.own }

// Reported returns what the library reported when the type was made; known is false for a figure that it did not.
func (t *Datatype) Reported() (f Figures, known bool) {
	h := &t.hdr
	f = Figures{h.typeSize, h.lb, h.extent, h.trueLB, h.trueExtent}
	return f, h.typeSize != abiUnknownFigure && h.lb != abiUnknownFigure && h.extent != abiUnknownFigure &&
		h.trueLB != abiUnknownFigure && h.trueExtent != abiUnknownFigure
}

// Figures returns what the library works with: what it reported, and what was computed where it reported nothing.
func (t *Datatype) Figures() Figures { return t.library }

func (t *Datatype) mergeFigures() Figures {
	f, c := t.own, &t.hdr
	pick := func(dst *int64, reported int64) {
		if reported != abiUnknownFigure && !t.isNonsense(reported) {
			*dst = reported
		}
	}
	pick(&f.Size, c.typeSize)
	pick(&f.LB, c.lb)
	pick(&f.Extent, c.extent)
	pick(&f.TrueLB, c.trueLB)
	pick(&f.TrueExtent, c.trueExtent)
	return f
}

// isNonsense reports whether a figure is none: of a type without data, Open MPI may say where an interval begins that
// has met nothing, at 2^63-1.
func (t *Datatype) isNonsense(figure int64) bool {
	return t.elements == 0 && t.problem == nil && (figure > maxOffset || figure < -maxOffset)
}

// Differences says, one sentence each, where the computed figures are not those that the library reported. Such a
// difference means that the record or its decoding is wrong, or that the library departs from its own rules; values
// shown may be wrong too.
func (t *Datatype) Differences() []string {
	if t.problem != nil || t.opaque {
		return nil
	}
	var out []string
	for _, f := range []struct {
		name          string
		mine, library int64
	}{
		{"size", t.own.Size, t.hdr.typeSize},
		{"lb", t.own.LB, t.hdr.lb},
		{"extent", t.own.Extent, t.hdr.extent},
		{"true lb", t.own.TrueLB, t.hdr.trueLB},
		{"true extent", t.own.TrueExtent, t.hdr.trueExtent},
	} {
		if f.library != abiUnknownFigure && f.mine != f.library && !t.isNonsense(f.library) {
			out = append(out, fmt.Sprintf("The %s computed from the constructor is %d; %s reported %d.",
				f.name, f.mine, t.reg.MPI(), f.library))
		}
	}
	return out
}

// isLeaf reports whether the type ends the tree: a predefined type, one made by MPI_Type_create_f90_*, or one that is
// not decoded.
func (t *Datatype) isLeaf() bool {
	switch t.Combiner() {
	case CombinerNamed, CombinerF90Real, CombinerF90Complex, CombinerF90Integer, CombinerUnknown:
		return true
	default:
		return false
	}
}

// isMarker reports whether the type is MPI_LB or MPI_UB.
func (t *Datatype) isMarker() bool {
	return t.Combiner() == CombinerNamed && (t.basic() == BasicLB || t.basic() == BasicUB)
}

// Label names the type where there is little room: its name without MPI_ if it is predefined (CHAR), else its kind
// (STRUCT), as in the paper's addresses.
func (t *Datatype) Label() string {
	switch {
	case t.label != "":
	case t.Combiner() == CombinerNamed && t.Name() != "":
		t.label = trimMPI(t.Name())
	default:
		t.label = t.Combiner().String()
	}
	return t.label
}

// Title names the type in a sentence: MPI_INT, or STRUCT "particle".
func (t *Datatype) Title() string {
	switch {
	case t.Combiner() == CombinerNamed && t.Name() != "":
		return t.Name()
	case t.Combiner() == CombinerUnknown && t.Name() != "":
		return fmt.Sprintf("type made by %s", t.Name())
	case t.Name() != "":
		return fmt.Sprintf("%s %q", t.Combiner(), t.Name())
	}
	return t.Combiner().String()
}
