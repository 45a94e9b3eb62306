package datatype

import (
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
	switch {
	case n == 0 || b.n == 0:
		return blockRun{ordered: true}
	case n == 1:
		return b
	}
	total := c.Mul(b.n, n)
	next := c.Add(b.first, step)
	if b.last == next {
		total -= n - 1
	}
	return blockRun{
		n: total, first: b.first, last: c.Add(b.last, c.Mul(n-1, step)),
		ordered: b.ordered && b.last <= next,
	}
}

// over is what b is over dimensions, the last of which is the fastest.
func (b blockRun) over(c *Calc, dims []dim) blockRun {
	for _, d := range slices.Backward(dims) {
		if d.run <= 0 || d.n <= d.run {
			b = b.repeated(c, d.n, d.step).moved(c, d.base)
			continue
		}
		full := b.repeated(c, d.run, d.step).repeated(c, d.n/d.run, d.jump)
		rest := b.repeated(c, d.n%d.run, d.step).moved(c, c.Mul(d.n/d.run, d.jump))
		b = full.then(c, rest).moved(c, d.base)
	}
	return b
}

// compute derives everything that is known of the type from its children; it sets Problem where that is not possible.
func (t *Type) compute() {
	t.blocks.ordered = true
	if t.isLeaf() {
		t.computeLeaf()
		return
	}
	for _, child := range t.Types {
		if child.Problem != nil {
			t.Problem = child.Problem
			return
		}
		t.opaque = t.opaque || child.opaque
	}
	var c Calc
	if t.Problem = t.place(&c); t.Problem != nil {
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
		t.Problem = fault.Errorf(fault.TooLarge, t.Address, "The datatype %s (handle 0x%x) spans more than 2^62 "+
			"bytes or elements; the library cannot use it either.", t.Title(), t.Handle)
	}
}

func (t *Type) computeProduct(c *Calc) {
	child, dims := t.layout.child, t.layout.dims
	b := bounds{mpi: t.reg.MPI()}
	t.addCopies(c, &b, child, dims...)
	copies := b.lb.any
	if copies {
		t.Computed.TrueLB, t.Computed.TrueExtent = b.data.From, c.Add(b.data.To, -b.data.From)
	}
	// MPICH keeps the alignment of a vector if only its blocklength is 0.
	emptyBlocks := (t.Combiner() == abi.CombinerVector || t.Combiner() == abi.CombinerHvector) && dims[0].n > 0
	if copies || b.mpi == abi.MPICH && emptyBlocks {
		t.align = child.align
	}
	switch t.Combiner() {
	case abi.CombinerResized:
		t.setBounds(c, t.Addresses.At(0), t.Addresses.At(1))
	case abi.CombinerDup:
		t.Computed.LB, t.Computed.Extent = child.Figures.LB, child.Figures.Extent
		t.hasLB, t.hasUB = child.hasLB, child.hasUB
	case abi.CombinerSubarray, abi.CombinerDarray:
		sizes := t.column("size")
		if t.Combiner() == abi.CombinerDarray {
			sizes = t.column("gsize")
		}
		extent := child.Figures.Extent
		for i := range dims {
			extent = c.Mul(extent, sizes(i))
		}
		t.setBounds(c, 0, extent)
	default:
		if copies {
			if b.mpi == abi.OpenMPI {
				b.pad(c, t.align)
			}
			t.takeBounds(c, &b)
		}
	}
}

func (t *Type) setBounds(c *Calc, lb, extent int64) {
	t.Computed.LB, t.Computed.Extent = lb, extent
	c.Add(lb, extent)
	t.hasLB, t.hasUB = true, true
}

func (t *Type) computeLeaf() {
	if t.Combiner() == abi.CombinerUnknown {
		t.opaque = true
		f, known := t.Reported()
		if !known || f.Size < 0 {
			t.Problem = fault.Errorf(fault.NotDecoded, t.Address,
				"The datatype was created by %s, which Cohort does not decode yet.", orUnknown(t.Name))
			return
		}
		t.Computed, t.align = f, 1
		if f.Size > 0 {
			t.Elements = 1
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
		t.Problem = fault.Errorf(fault.Null, t.Address, "The datatype is MPI_DATATYPE_NULL, which describes no memory.")
	default:
		t.computeBasic()
	}
}

func (t *Type) computeBasic() {
	parts := t.parts()
	for _, p := range parts {
		if p.size <= 0 || p.size > maxBasicSize {
			t.Problem = fault.Corruptf(t.Address, "the basic type %s has a value of %d bytes", t.Title(), p.size)
			return
		}
		t.blocks = t.blocks.then(&Calc{}, blockRun{n: 1, first: p.offset, last: p.offset + p.size, ordered: true})
		t.Computed.Size += p.size
		t.Computed.TrueExtent = p.offset + p.size
		t.align = max(t.align, p.align)
	}
	t.Elements = 1
	t.Computed.Extent = (t.Computed.TrueExtent + t.align - 1) / t.align * t.align
}

func orUnknown(name string) string {
	if name == "" {
		return "a call whose name is not recorded"
	}
	return name
}
