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

// bound is a lower bound of what has been added to it, or an upper one with its sign turned.
type bound struct {
	at            int64
	any, explicit bool
}

func (b *bound) add(at int64, explicit bool) {
	if !b.any || explicit && !b.explicit || explicit == b.explicit && at < b.at {
		b.at, b.explicit = at, explicit
	}
	b.any = true
}

// bounds collects lower and upper bounds, and where data lies.
type bounds struct {
	mpi     abi.MPI
	lb, ub  bound
	data    Hull
	anyData bool
}

func (b *bounds) extent(c *Calc) int64 { return c.Add(-b.ub.at, -b.lb.at) }

// addMarker adds an MPI_LB or MPI_UB.
func (b *bounds) addMarker(t *Type, at int64) {
	side := &b.lb
	if t.basic() == abi.BasicUB {
		side, at = &b.ub, -at
	}
	if b.mpi == abi.MPICH {
		*side = bound{at, true, true}
	} else {
		side.add(at, true)
	}
}

// addCopies adds copies of t, the lowest at lo and the highest at hi.
func (b *bounds) addCopies(c *Calc, t *Type, lo, hi int64) {
	f := t.Figures
	b.lb.add(c.Add(lo, f.LB), b.mpi == abi.OpenMPI && t.hasLB)
	b.ub.add(-c.Add(hi, c.Add(f.LB, f.Extent)), b.mpi == abi.OpenMPI && t.hasUB)
	if t.Elements == 0 && b.mpi != abi.MPICH {
		return
	}
	f = t.Computed
	h := Hull{c.Add(lo, f.TrueLB), c.Add(c.Add(hi, f.TrueLB), f.TrueExtent)}
	if b.anyData {
		h = h.Union(b.data)
	}
	b.data, b.anyData = h, true
}

// pad rounds the extent up unless the upper bound is explicit.
func (b *bounds) pad(c *Calc, align int64) {
	if b.ub.explicit || align <= 1 {
		return
	}
	if over := b.extent(c) % align; over > 0 {
		b.ub.at = -c.Add(-b.ub.at, align-over)
	}
}

// addCopies adds the copies of a child over some dimensions to the figures.
func (t *Type) addCopies(c *Calc, b *bounds, child *Type, dims ...dim) {
	copies, lo, hi := int64(1), int64(0), int64(0)
	for _, d := range dims {
		if copies = c.Mul(copies, d.n); d.n > 0 {
			from, to := d.bounds(c)
			lo, hi = c.Add(lo, from), c.Add(hi, to)
		}
	}
	if copies == 0 {
		return
	}
	t.Elements = c.Add(t.Elements, c.Mul(copies, child.Elements))
	t.Computed.Size = c.Add(t.Computed.Size, c.Mul(copies, child.Figures.Size))
	t.blocks = t.blocks.then(c, child.blocks.over(c, dims))
	b.addCopies(c, child, lo, hi)
}

func (t *Type) takeBounds(c *Calc, b *bounds) {
	t.hasLB, t.hasUB = b.lb.explicit, b.ub.explicit
	t.Computed.LB, t.Computed.Extent = b.lb.at, b.extent(c)
}

// computeBlocks derives the figures of a type that is a list of blocks.
func (t *Type) computeBlocks(c *Calc) {
	l, mpich := t.layout.list, t.reg.MPI() == abi.MPICH
	b := bounds{mpi: t.reg.MPI()}
	markers := b
	for i := range l.n {
		n, child := l.length(i), l.child(i)
		if child.isMarker() && (n > 0 || mpich) {
			if mpich {
				markers.addMarker(child, l.offset(i))
			} else {
				b.addMarker(child, l.offset(i))
			}
			continue
		}
		if n > 0 || mpich && t.Combiner() != abi.CombinerStruct {
			t.align = max(t.align, child.align)
		}
		t.addCopies(c, &b, child, l.block(i))
		if n > 0 && !mpich && !l.joins(c, i) {
			b.pad(c, t.align)
		}
	}
	t.Computed.TrueLB, t.Computed.TrueExtent = b.data.From, c.Add(b.data.To, -b.data.From)
	if mpich && t.Combiner() == abi.CombinerStruct && l.mixed() {
		b.pad(c, t.align)
	}
	if markers.lb.any {
		b.lb = markers.lb
	}
	if markers.ub.any {
		b.ub = markers.ub
	}
	t.takeBounds(c, &b)
}

// joins reports whether the next block of some length follows block i without a gap: Open MPI makes one block of such.
func (l *blockList) joins(c *Calc, i int) bool {
	child := l.child(i)
	end := c.Add(l.offset(i), c.Mul(l.length(i), child.Figures.Extent))
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
	if !t.isLeaf() || !o.isLeaf() || t.Computed.Size != o.Computed.Size {
		return false
	}
	kind := func(t *Type) abi.Basic {
		switch b := t.basic(); {
		case b == abi.BasicUint || b == abi.BasicLogical || b == abi.BasicAddress:
			return abi.BasicInt
		case b == abi.BasicPair && strings.HasPrefix(t.Name, "MPI_2") && t.Record.Pair == abi.BasicFloat:
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
		return t.Computed.Size != 16 || k != abi.BasicFloat || t.wideFloat() == o.wideFloat()
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
		if a, b := t.Figures, child.Figures; a.LB != b.LB || a.Extent != b.Extent || child.isMarker() {
			return t
		}
		t = child
	}
}
