package datatype

import (
	"math"
	"slices"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// layout says where copies of the children lie, in typemap order. It has one of two forms: a product of dimensions over
// one child (contiguous, vector, subarray, darray, ...), or a list of blocks (indexed, struct, ...).
type layout struct {
	dims  []dim
	child *Type
	list  *blockList
}

// dim is one stage of the expanded type-tree: n copies at base + (k/run)*jump + (k%run)*step bytes.
type dim struct {
	n, base   int64
	step      int64
	run, jump int64 // run <= 0: all n in one run
}

func (d dim) at(k int64) int64 {
	if d.run <= 0 {
		return d.base + k*d.step
	}
	return d.base + k/d.run*d.jump + k%d.run*d.step
}

// bounds returns the lowest and the highest offset of a copy; d.n must be positive.
func (d dim) bounds(c *Calc) (lo, hi int64) {
	run := d.run
	if run <= 0 || run >= d.n {
		last := c.Add(d.base, c.Mul(d.n-1, d.step))
		return min(d.base, last), max(d.base, last)
	}
	cycles := (d.n - 1) / run
	c.Add(d.base, c.Add(c.Mul(cycles, d.jump), c.Mul(run-1, d.step)))
	if c.Bad {
		return 0, 0
	}
	lo, hi = d.base, d.base
	for _, k := range []int64{run - 1, cycles*run - 1, cycles * run, d.n - 1} {
		lo, hi = min(lo, d.at(k)), max(hi, d.at(k))
	}
	return lo, hi
}

// blockList is a list of n blocks, each of length(i) copies of child(i), side by side from offset(i) bytes on.
type blockList struct {
	n      int
	length func(i int) int64
	offset func(i int) int64
	child  func(i int) *Type
}

// copyAt is the child at the given indices, one for each stage, and where it lies.
func (t *Type) copyAt(idx []int64) (child *Type, offset int64) {
	if l := t.layout.list; l != nil {
		i := int(idx[0])
		return l.child(i), l.offset(i) + idx[1]*l.child(i).Figures.Extent
	}
	for i, d := range t.layout.dims {
		offset += d.at(idx[i])
	}
	return t.layout.child, offset
}

// block is block i as one dimension.
func (l *blockList) block(i int) dim {
	return dim{n: l.length(i), base: l.offset(i), step: l.child(i).Figures.Extent}
}

// stages is the number of indices that an element's address has in this type: the levels of the expanded type-tree
// between the type and its child (paper, IV.C).
func (t *Type) stages() int {
	if t.layout.list != nil {
		return 2
	}
	return len(t.layout.dims)
}

// Calc does checked arithmetic; Bad stays set once a result leaves the range of displacements.
type Calc struct{ Bad bool }

const MaxOffset = int64(1) << 62

func (c *Calc) Add(a, b int64) int64 { return c.check(SatAdd(a, b)) }

func (c *Calc) Mul(a, b int64) int64 { return c.check(SatMul(a, b)) }

func (c *Calc) check(n int64) int64 {
	if n > MaxOffset || n < -MaxOffset {
		c.Bad = true
		return 0
	}
	return n
}

// SatAdd and SatMul stay within the range of int64 instead of leaving it: a window's edges may lie beyond any
// displacement.
func SatAdd(a, b int64) int64 {
	switch s := a + b; {
	case b > 0 && s < a:
		return math.MaxInt64
	case b < 0 && s > a:
		return math.MinInt64
	default:
		return s
	}
}

func SatMul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if p := a * b; p/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64) {
		return p
	}
	if (a < 0) != (b < 0) {
		return math.MinInt64
	}
	return math.MaxInt64
}

// place builds the layout from the constructor's arguments.
func (t *Type) place(c *Calc) error {
	in := t.Integers
	var ext int64
	if len(t.Types) > 0 {
		t.layout.child = t.Types[0]
		ext = t.Types[0].Figures.Extent
	}
	switch t.Combiner() {
	case abi.CombinerDup, abi.CombinerResized:
		t.layout.dims = []dim{{n: 1}}
	case abi.CombinerContiguous:
		t.layout.dims = []dim{{n: in.At(0), step: ext}}
	case abi.CombinerVector:
		t.layout.dims = []dim{{n: in.At(0), step: c.Mul(in.At(2), ext)}, {n: in.At(1), step: ext}}
	case abi.CombinerHvector:
		t.layout.dims = []dim{{n: in.At(0), step: t.Addresses.At(0)}, {n: in.At(1), step: ext}}
	case abi.CombinerSubarray:
		return t.placeSubarray(c, ext)
	case abi.CombinerDarray:
		return t.placeDarray(c, ext)
	default:
		t.placeBlocks(c, ext)
	}
	return nil
}

func (t *Type) placeBlocks(c *Calc, ext int64) {
	l := &blockList{n: int(t.Integers.At(0)), length: t.column("blocklength"), offset: t.Addresses.At}
	if t.Addresses.Len() == 0 { // displacements in extents
		units := t.column("displacement")
		for i := range l.n {
			c.Mul(units(i), ext)
		}
		l.offset = func(i int) int64 { return units(i) * ext }
	}
	l.child = func(int) *Type { return t.layout.child }
	if t.Combiner() == abi.CombinerStruct {
		l.child = func(i int) *Type { return t.Types[i] }
	}
	t.layout.list = l
}

// order returns the dimensions of an array from the slowest to the fastest; fortran tells the order of the array.
func (t *Type) order() (dims []int, fortran bool, err error) {
	value, first := t.Integers.At(t.Integers.Len()-1), int64(0) // first: MPI_ORDER_C
	if t.reg.MPI() == abi.MPICH {
		first = 56
	}
	if value != first && value != first+1 {
		return nil, false, fault.Corruptf(t.Address, "the storage order %d is neither MPI_ORDER_C nor "+
			"MPI_ORDER_FORTRAN of %s", value, t.reg.MPI())
	}
	for i := range t.entries() {
		dims = append(dims, i)
	}
	if fortran = value != first; fortran {
		slices.Reverse(dims)
	}
	return dims, fortran, nil
}

func (t *Type) placeSubarray(c *Calc, ext int64) error {
	order, _, err := t.order()
	if err != nil {
		return err
	}
	sizes, subsizes, starts := t.column("size"), t.column("subsize"), t.column("start")
	t.layout.dims = make([]dim, len(order))
	stride := ext
	for s, d := range slices.Backward(order) {
		size, sub, start := sizes(d), subsizes(d), starts(d)
		if c.Add(start, sub) > size {
			return fault.Corruptf(t.Address, "a subarray takes %d from %d in a dimension of size %d", sub, start, size)
		}
		t.layout.dims[s] = dim{n: sub, base: c.Mul(start, stride), step: stride}
		stride = c.Mul(stride, size)
	}
	return nil
}

// distribution of a dimension of a darray.
type distribution int

const (
	distributeBlock distribution = iota
	distributeCyclic
	distributeNone
)

func (d distribution) String() string { return [...]string{"BLOCK", "CYCLIC", "NONE"}[d] }

// distribution translates the library's constants; dflt tells whether darg is MPI_DISTRIBUTE_DFLT_DARG.
func (t *Type) distribution(value, darg int64) (d distribution, dflt bool, err error) {
	base, dfltDarg := int64(0), int64(-1)
	if t.reg.MPI() == abi.MPICH {
		base, dfltDarg = 121, -49767
	}
	if value < base || value > base+2 {
		return 0, false, fault.Corruptf(t.Address, "a darray has the distribution %d, which %s does not have", value,
			t.reg.MPI())
	}
	dflt = darg == dfltDarg
	if !dflt && darg < 1 {
		return 0, false, fault.Corruptf(t.Address, "a darray has the distribution argument %d", darg)
	}
	return distribution(value - base), dflt, nil
}

// placeDarray follows MPI-3.1, 4.1.4: every distribution is a cyclic one with blocks of b elements; the grid of
// processes is in row-major order whatever the order of the array.
func (t *Type) placeDarray(c *Calc, ext int64) error {
	order, _, err := t.order()
	if err != nil {
		return err
	}
	sizes, dists, args, grid := t.column("gsize"), t.column("distribution"), t.column("argument"), t.column("psize")
	coords := make([]int64, len(order))
	left, rank := t.Integers.At(0), t.Integers.At(1)
	for i := range coords {
		left /= grid(i)
		coords[i], rank = rank/left, rank%left
	}
	t.layout.dims = make([]dim, len(order))
	stride := ext
	for s, i := range slices.Backward(order) {
		size, procs, r, b := sizes(i), grid(i), coords[i], args(i)
		dist, dflt, err := t.distribution(dists(i), b)
		if err != nil {
			return err
		}
		switch {
		case dist == distributeNone:
			if procs != 1 {
				return fault.Corruptf(t.Address, "a darray has %d processes in a dimension that is not distributed",
					procs)
			}
			b = size
		case dflt && dist == distributeBlock:
			b = (size + procs - 1) / procs
		case dflt:
			b = 1
		}
		b = max(b, 1)
		cycle := c.Mul(procs, b)
		if c.Bad {
			break
		}
		count := size/cycle*b + min(max(size%cycle-r*b, 0), b)
		t.layout.dims[s] = dim{n: count, base: c.Mul(r*b, stride), step: stride, run: b, jump: c.Mul(cycle, stride)}
		stride = c.Mul(stride, size)
	}
	return nil
}
