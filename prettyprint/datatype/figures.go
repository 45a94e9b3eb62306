package datatype

import (
	"errors"
	"slices"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// blockRun summarises the contiguous pieces of a part of a typemap, in typemap order: how many, where the first begins
// and the last ends, and whether each begins at or after the end of the one before (then nothing overlaps).
type blockRun struct {
	n           int64
	first, last int64
	ordered     bool
}

func (b blockRun) moved(c *Calc, by int64) blockRun {
	if b.n == 0 {
		return b
	}
	b.first, b.last = c.Add(b.first, by), c.Add(b.last, by)
	return b
}

// then is b followed by next.
func (b blockRun) then(c *Calc, next blockRun) blockRun {
	switch {
	case b.n == 0:
		return next
	case next.n == 0:
		return b
	}
	n := c.Add(b.n, next.n)
	if b.last == next.first {
		n--
	}
	return blockRun{n: n, first: b.first, last: next.last, ordered: b.ordered && next.ordered && b.last <= next.first}
}

// repeated is n copies of b, each step bytes after the one before.
func (b blockRun) repeated(c *Calc, n, step int64) blockRun {
	if n == 0 || b.n == 0 {
		return blockRun{ordered: true}
	}
	total := c.Mul(b.n, n)
	next := c.Add(b.first, step)
	if b.last == next {
		total -= n - 1
	}
	return blockRun{
		n: total, first: b.first, last: c.Add(b.last, c.Mul(n-1, step)),
		ordered: b.ordered && (n == 1 || b.last <= next),
	}
}

func (b blockRun) overDim(c *Calc, d dim) blockRun {
	if d.run <= 0 || d.n <= d.run {
		return b.repeated(c, d.n, d.step).moved(c, d.base)
	}
	full := b.repeated(c, d.run, d.step).repeated(c, d.n/d.run, d.jump)
	rest := b.repeated(c, d.n%d.run, d.step).moved(c, c.Mul(d.n/d.run, d.jump))
	return full.then(c, rest).moved(c, d.base)
}

// compute derives everything that is known of the type from its children; it sets problem where that is not possible.
func (t *Type) compute() {
	if t.isLeaf() {
		t.computeLeaf()
		return
	}
	for _, ch := range t.types {
		if ch.problem != nil {
			t.problem = ch.problem
			return
		}
		t.opaque = t.opaque || ch.opaque
	}
	var c Calc
	if err := t.place(&c); err != nil {
		if !errors.As(err, &t.problem) {
			t.problem = fault.Corruptf(t.addr, "%v", err)
		}
		return
	}
	t.align = 1
	if !c.Bad {
		if t.layout.list != nil {
			t.computeBlocks(&c)
		} else {
			t.computeProduct(&c)
		}
	}
	if c.Bad {
		t.problem = t.tooLarge()
	}
}

func (t *Type) computeProduct(c *Calc) {
	child := t.layout.child
	cf := child.Figures()
	t.align = child.align
	copies, lo, hi := int64(1), int64(0), int64(0)
	t.blocks = child.blocks
	for _, d := range slices.Backward(t.layout.dims) {
		copies = c.Mul(copies, d.n)
		t.blocks = t.blocks.overDim(c, d)
		if d.n > 0 {
			a, b := d.bounds(c)
			lo, hi = c.Add(lo, a), c.Add(hi, b)
		}
	}
	emptyBlocks := (t.Combiner() == abi.CombinerVector || t.Combiner() == abi.CombinerHvector) && t.layout.dims[0].n > 0
	if copies == 0 && (t.reg.MPI() != abi.MPICH || !emptyBlocks) {
		t.align = 1 // MPICH keeps the alignment of a vector if only its blocklength is 0
	}
	t.elements = c.Mul(copies, child.elements)
	t.own.Size = c.Mul(copies, cf.Size)
	if copies > 0 {
		var b trueBounds
		b.addCopies(c, t.reg.MPI(), child, lo, hi)
		t.own.TrueLB, t.own.TrueExtent = b.lb, c.Add(b.ub, -b.lb)
	}
	switch t.Combiner() {
	case abi.CombinerResized:
		t.setBounds(c, t.addrs.At(0), t.addrs.At(1))
		return
	case abi.CombinerDup:
		t.own.LB, t.own.Extent = cf.LB, cf.Extent
		t.hasLB, t.hasUB = child.hasLB, child.hasUB
		return
	case abi.CombinerSubarray, abi.CombinerDarray:
		extent, first, n := cf.Extent, 1, len(t.layout.dims)
		if t.Combiner() == abi.CombinerDarray {
			first = 3
		}
		for i := range n {
			extent = c.Mul(extent, t.integers.At(first+i))
		}
		t.setBounds(c, 0, extent)
		return
	default:
	}
	if copies > 0 {
		var b bounds
		b.addCopies(c, t.reg.MPI(), child, lo, hi)
		if t.reg.MPI() == abi.OpenMPI {
			b.pad(c, t.align)
		}
		t.takeBounds(c, b)
	}
}

func (t *Type) setBounds(c *Calc, lb, extent int64) {
	t.own.LB, t.own.Extent = lb, extent
	c.Add(lb, extent)
	t.hasLB, t.hasUB = true, true
}

func (t *Type) computeLeaf() {
	t.blocks.ordered = true
	if t.Combiner() == abi.CombinerUnknown {
		t.opaque = true
		f, known := t.Reported()
		if !known || f.Size < 0 {
			t.problem = fault.Errorf(fault.NotDecoded, t.addr,
				"The datatype was created by %s, which Cohort does not decode yet.",
				orUnknown(t.Name()))
			return
		}
		t.own, t.align = f, 1
		if f.Size > 0 {
			t.elements = 1
			t.blocks = blockRun{n: 1, first: f.TrueLB, last: f.TrueLB + f.TrueExtent, ordered: true}
		}
		return
	}
	switch t.basic() {
	case abi.BasicLB:
		t.hasLB = true
	case abi.BasicUB:
		t.hasUB = true
	case abi.BasicNull:
		t.problem = fault.Errorf(fault.Null, t.addr, "The datatype is MPI_DATATYPE_NULL, which describes no memory.")
	default:
		t.computeBasic()
	}
}

func (t *Type) computeBasic() {
	parts := t.parts()
	for _, p := range parts {
		if p.size <= 0 || p.size > maxBasicSize {
			t.problem = fault.Corruptf(t.addr, "the basic type %s has a value of %d bytes", t.Title(), p.size)
			return
		}
		t.blocks = t.blocks.then(&Calc{}, blockRun{n: 1, first: p.offset, last: p.offset + p.size, ordered: true})
		t.own.Size += p.size
		t.own.TrueExtent = p.offset + p.size
		t.align = max(t.align, p.align)
	}
	t.elements = 1
	t.own.Extent = (t.own.TrueExtent + t.align - 1) / t.align * t.align
}

func orUnknown(name string) string {
	if name == "" {
		return "a call whose name is not recorded"
	}
	return name
}
