package datatype

import (
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// The bounds of a datatype are where the libraries depart from each other and from the standard. What the standard says
// (MPI-3.1, 4.1.6 and 4.1.7) and how this was measured to differ, in MPICH 4.0.2 and Open MPI 4.1.4:
//
//   - An explicit bound (MPI_LB, MPI_UB, resized, subarray, darray) outweighs all others, however deep it lies. Open
//     MPI does so. In MPICH only MPI_LB and MPI_UB among the entries of a struct itself do.
//   - A block of length 0 adds nothing. In MPICH an MPI_LB or MPI_UB of blocklength 0 counts.
//   - Of several MPI_LB the lowest counts, of several MPI_UB the highest. In MPICH the last one does.
//   - A type without data adds nothing. In both libraries it adds its bounds, in MPICH its true bounds too.
//   - The extent is rounded up to the alignment of the basic types. Open MPI does it in every constructor, after each
//     block in turn; MPICH does it only in a struct with entries of more than one type, before MPI_LB and MPI_UB
//     replace the bounds.
//
// Where a library has a bug, the figures differ and the user is told: Open MPI takes a stride of -1 byte for "none
// given" (MPI_Type_vector(2, 1, -1, MPI_CHAR) has lb 0 there); MPICH overstates the true bounds of a cyclic darray, and
// packs second and later instances of types with a negative extent made by MPI_LB or MPI_UB wrongly.
//
// The layout of a buffer depends on none of this where the library reported its figures; it is compared with it.

// bounds collects lower and upper bounds.
type bounds struct {
	lb, ub       int64
	anyLB, anyUB bool
	hasLB, hasUB bool // the bound is an explicit one
}

func (b *bounds) addLB(lb int64, explicit bool) {
	if !b.anyLB || explicit && !b.hasLB || explicit == b.hasLB && lb < b.lb {
		b.lb, b.hasLB = lb, explicit
	}
	b.anyLB = true
}

func (b *bounds) addUB(ub int64, explicit bool) {
	if !b.anyUB || explicit && !b.hasUB || explicit == b.hasUB && ub > b.ub {
		b.ub, b.hasUB = ub, explicit
	}
	b.anyUB = true
}

// addMarker adds an MPI_LB or MPI_UB.
func (b *bounds) addMarker(mpi abi.MPI, t *Type, at int64) {
	isLB := t.basic() == abi.BasicLB
	switch {
	case mpi == abi.MPICH && isLB:
		b.lb, b.anyLB, b.hasLB = at, true, true
	case mpi == abi.MPICH:
		b.ub, b.anyUB, b.hasUB = at, true, true
	case isLB:
		b.addLB(at, true)
	default:
		b.addUB(at, true)
	}
}

// override puts the bounds that markers name in the place of others; other explicit ones compete with them.
func (b *bounds) override(markers bounds) {
	if markers.anyLB {
		b.addLB(markers.lb, true)
	}
	if markers.anyUB {
		b.addUB(markers.ub, true)
	}
}

// addCopies adds copies of t, the lowest at lo and the highest at hi.
func (b *bounds) addCopies(c *Calc, mpi abi.MPI, t *Type, lo, hi int64) {
	f := t.Figures()
	b.addLB(c.Add(lo, f.LB), mpi == abi.OpenMPI && t.hasLB)
	b.addUB(c.Add(hi, c.Add(f.LB, f.Extent)), mpi == abi.OpenMPI && t.hasUB)
}

// pad rounds the extent up unless the upper bound is explicit.
func (b *bounds) pad(c *Calc, align int64) {
	if b.hasUB || align <= 1 {
		return
	}
	if over := c.Add(b.ub, -b.lb) % align; over > 0 {
		b.ub = c.Add(b.ub, align-over)
	}
}

// trueBounds collects where data lies.
type trueBounds struct {
	lb, ub int64
	any    bool
}

func (b *trueBounds) addCopies(c *Calc, mpi abi.MPI, t *Type, lo, hi int64) {
	if t.elements == 0 && mpi != abi.MPICH {
		return
	}
	from := c.Add(lo, t.own.TrueLB)
	to := c.Add(c.Add(hi, t.own.TrueLB), t.own.TrueExtent)
	if !b.any || from < b.lb {
		b.lb = from
	}
	if !b.any || to > b.ub {
		b.ub = to
	}
	b.any = true
}

func (t *Type) takeBounds(c *Calc, b bounds) {
	t.hasLB, t.hasUB = b.hasLB, b.hasUB
	t.own.LB, t.own.Extent = b.lb, c.Add(b.ub, -b.lb)
}

// computeBlocks derives the figures of a type that is a list of blocks.
func (t *Type) computeBlocks(c *Calc) {
	l := t.layout.list
	mpi := t.reg.MPI()
	var b, markers bounds
	var data trueBounds
	t.blocks = blockRun{ordered: true}
	for i := range l.n {
		n, child, first := l.length(i), l.child(i), l.offset(i)
		if child.isMarker() && (n > 0 || mpi == abi.MPICH) {
			if mpi == abi.MPICH {
				markers.addMarker(mpi, child, first)
			} else {
				b.addMarker(mpi, child, first)
			}
			continue
		}
		if n > 0 || mpi == abi.MPICH && t.Combiner() != abi.CombinerStruct {
			t.align = max(t.align, child.align)
		}
		if n == 0 {
			continue
		}
		extent := child.Figures().Extent
		last := c.Add(first, c.Mul(n-1, extent))
		lo, hi := min(first, last), max(first, last)
		t.elements = c.Add(t.elements, c.Mul(n, child.elements))
		t.own.Size = c.Add(t.own.Size, c.Mul(n, child.Figures().Size))
		t.blocks = t.blocks.then(c, child.blocks.repeated(c, n, extent).moved(c, first))
		data.addCopies(c, mpi, child, lo, hi)
		b.addCopies(c, mpi, child, lo, hi)
		if mpi == abi.OpenMPI && !l.joins(c, i) {
			b.pad(c, t.align)
		}
	}
	t.own.TrueLB, t.own.TrueExtent = data.lb, c.Add(data.ub, -data.lb)
	if mpi == abi.MPICH && t.Combiner() == abi.CombinerStruct && l.mixed() {
		b.pad(c, t.align)
	}
	b.override(markers)
	t.takeBounds(c, b)
}

// joins reports whether the next block of some length follows block i without a gap: Open MPI makes one block of such.
func (l *blockList) joins(c *Calc, i int) bool {
	child := l.child(i)
	end := c.Add(l.offset(i), c.Mul(l.length(i), child.Figures().Extent))
	for i++; i < l.n; i++ {
		if l.length(i) > 0 {
			return l.child(i) == child && l.offset(i) == end
		}
	}
	return false
}

// mixed reports whether a struct has entries of more than one type, markers aside. MPICH does not tell a type from one
// that is nothing but it under another handle.
func (l *blockList) mixed() bool {
	var first *Type
	for i := range l.n {
		child := l.child(i)
		if child.isMarker() {
			continue
		}
		child = child.core()
		if first != nil && child != first && !child.isLike(first) {
			return true
		}
		first = child
	}
	return false
}

// isLike reports whether two basic types are one to MPICH (measured for all pairs): integers of one size, signed or
// not; a pair of floats and a complex number.
func (t *Type) isLike(o *Type) bool {
	if !t.isLeaf() || !o.isLeaf() || t.own.Size != o.own.Size {
		return false
	}
	kind := func(t *Type) abi.Basic {
		switch b := t.basic(); {
		case b == abi.BasicUint || b == abi.BasicLogical || b == abi.BasicAddress:
			return abi.BasicInt
		case b == abi.BasicPair && strings.HasPrefix(t.Name(), "MPI_2") && t.Record.Pair == abi.BasicFloat:
			return abi.BasicComplex
		default:
			return b
		}
	}
	switch k := kind(t); {
	case k != kind(o) || k == abi.BasicNone:
		return false
	case k == abi.BasicPair:
		return t.Record.Pair == o.Record.Pair && t.Record.BasicSize == o.Record.BasicSize
	default:
		return t.own.Size != 16 || k != abi.BasicFloat || t.wideFloat() == o.wideFloat()
	}
}

// core is what the type is under other handles: a duplicate, or one instance with the same bounds.
func (t *Type) core() *Type {
	for {
		child := t.layout.child
		switch l := t.layout.list; {
		case t.isLeaf():
			return t
		case l != nil:
			if l.n != 1 || l.length(0) != 1 || l.offset(0) != 0 {
				return t
			}
			child = l.child(0)
		default:
			for _, d := range t.layout.dims {
				if d.n != 1 || d.base != 0 {
					return t
				}
			}
		}
		if a, b := t.Figures(), child.Figures(); a.LB != b.LB || a.Extent != b.Extent || child.isMarker() {
			return t
		}
		t = child
	}
}
