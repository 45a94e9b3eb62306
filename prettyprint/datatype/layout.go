package datatype

import (
	"fmt"
	"math"

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
	if run <= 0 || run > d.n {
		run = d.n
	}
	cycles := (d.n - 1) / run
	c.Add(d.base, c.Add(c.Mul(cycles, d.jump), c.Mul(run-1, d.step)))
	if c.Bad {
		return 0, 0
	}
	lo, hi = d.base, d.base
	for _, k := range []int64{run - 1, cycles*run - 1, cycles * run, d.n - 1} {
		if k >= 0 {
			lo, hi = min(lo, d.at(k)), max(hi, d.at(k))
		}
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

// stages is the number of indices that an element's address has in this type: the levels of the expanded type-tree
// between the type and its child (paper, IV.C).
func (t *Type) stages() int {
	if t.layout.list != nil {
		return 2
	}
	return len(t.layout.dims)
}

// Calc does checked arithmetic; bad stays set once a result leaves the range of displacements.
type Calc struct{ Bad bool }

const MaxOffset = int64(1) << 62

func (c *Calc) Add(a, b int64) int64 {
	s := a + b
	if (b > 0 && s < a) || (b < 0 && s > a) || s > MaxOffset || s < -MaxOffset {
		c.Bad = true
		return 0
	}
	return s
}

func (c *Calc) Mul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if a == math.MinInt64 || b == math.MinInt64 {
		c.Bad = true
		return 0
	}
	p := a * b
	if p/b != a || p > MaxOffset || p < -MaxOffset {
		c.Bad = true
		return 0
	}
	return p
}

// place builds the layout from the constructor's arguments.
func (t *Type) place(c *Calc) error {
	in := t.integers
	if len(t.types) > 0 {
		t.layout.child = t.types[0]
	}
	child := t.layout.child
	var ext int64
	if child != nil {
		ext = child.Figures().Extent
	}
	switch t.Combiner() {
	case abi.CombinerDup, abi.CombinerResized:
		t.layout.dims = []dim{{n: 1}}
	case abi.CombinerContiguous:
		t.layout.dims = []dim{{n: in.At(0), step: ext}}
	case abi.CombinerVector:
		t.layout.dims = []dim{{n: in.At(0), step: c.Mul(in.At(2), ext)}, {n: in.At(1), step: ext}}
	case abi.CombinerHvector:
		t.layout.dims = []dim{{n: in.At(0), step: t.addrs.At(0)}, {n: in.At(1), step: ext}}
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
	in, ad, child := t.integers, t.addrs, t.layout.child
	l := &blockList{n: int(in.At(0)), child: func(int) *Type { return child }}
	same := func(int) int64 { return in.At(1) }
	each := func(i int) int64 { return in.At(1 + i) }
	bytes := func(i int) int64 { return ad.At(i) }
	units := func(first int) func(i int) int64 {
		for i := range l.n {
			c.Mul(in.At(first+i), ext)
		}
		return func(i int) int64 { return in.At(first+i) * ext }
	}
	switch t.Combiner() {
	case abi.CombinerIndexed:
		l.length, l.offset = each, units(1+l.n)
	case abi.CombinerHindexed:
		l.length, l.offset = each, bytes
	case abi.CombinerIndexedBlock:
		l.length, l.offset = same, units(2)
	case abi.CombinerHindexedBlock:
		l.length, l.offset = same, bytes
	case abi.CombinerStruct:
		l.length, l.offset = each, bytes
		l.child = func(i int) *Type { return t.types[i] }
	default: // place sends no others here
	}
	t.layout.list = l
}

// order returns the dimensions of an array from the slowest to the fastest; fortran tells the order of the array.
func (t *Type) order(n int, value int64) (dims []int, fortran bool, err error) {
	switch {
	case t.reg.MPI() == abi.MPICH && (value == 56 || value == 57):
		fortran = value == 57
	case t.reg.MPI() == abi.OpenMPI && (value == 0 || value == 1):
		fortran = value == 1
	default:
		return nil, false, fault.Corruptf(t.addr, "the storage order %d is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN of %s",
			value, t.reg.MPI())
	}
	dims = make([]int, n)
	for i := range dims {
		dims[i] = i
		if fortran {
			dims[i] = n - 1 - i
		}
	}
	return dims, fortran, nil
}

func (t *Type) placeSubarray(c *Calc, ext int64) error {
	in := t.integers
	n := int(in.At(0))
	order, _, err := t.order(n, in.At(1+3*n))
	if err != nil {
		return err
	}
	t.layout.dims = make([]dim, n)
	stride := ext
	for s := n - 1; s >= 0; s-- {
		d := order[s]
		size, sub, start := in.At(1+d), in.At(1+n+d), in.At(1+2*n+d)
		if c.Add(start, sub) > size {
			return fault.Corruptf(t.addr, "a subarray takes %d from %d in a dimension of size %d", sub, start, size)
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
		return 0, false, fault.Corruptf(t.addr, "a darray has the distribution %d, which %s does not have", value, t.reg.MPI())
	}
	dflt = darg == dfltDarg
	if !dflt && darg < 1 {
		return 0, false, fault.Corruptf(t.addr, "a darray has the distribution argument %d", darg)
	}
	return distribution(value - base), dflt, nil
}

// placeDarray follows MPI-3.1, 4.1.4: every distribution is a cyclic one with blocks of b elements; the grid of
// processes is in row-major order whatever the order of the array.
func (t *Type) placeDarray(c *Calc, ext int64) error {
	in := t.integers
	n := int(in.At(2))
	arg := func(group, i int) int64 { return in.At(3 + group*n + i) }
	order, _, err := t.order(n, in.At(3+4*n))
	if err != nil {
		return err
	}
	coords := make([]int64, n)
	left, rank := in.At(0), in.At(1)
	for i := range n {
		left /= arg(3, i)
		coords[i], rank = rank/left, rank%left
	}
	t.layout.dims = make([]dim, n)
	stride := ext
	for s := n - 1; s >= 0; s-- {
		i := order[s]
		size, procs, r := arg(0, i), arg(3, i), coords[i]
		dist, dflt, err := t.distribution(arg(1, i), arg(2, i))
		if err != nil {
			return err
		}
		b := arg(2, i)
		switch {
		case dist == distributeNone:
			if procs != 1 {
				return fault.Corruptf(t.addr, "a darray has %d processes in a dimension that is not distributed", procs)
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

// tooLarge is the problem of a type whose figures leave the range of displacements.
func (t *Type) tooLarge() *fault.Error {
	return fault.Errorf(fault.TooLarge, t.addr,
		"The datatype %s spans more than 2^62 bytes or elements; the library cannot use it either.",
		fmt.Sprintf("%s (handle 0x%x)", t.Title(), t.Handle()))
}
