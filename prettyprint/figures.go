package prettyprint

import "errors"

// blockRun summarises the contiguous pieces of a part of a typemap, in typemap order: how many, where the first begins and the
// last ends, and whether each begins at or after the end of the one before (then nothing overlaps).
type blockRun struct {
	n           int64
	first, last int64
	ordered     bool
}

func (b blockRun) moved(c *calc, by int64) blockRun {
	if b.n == 0 {
		return b
	}
	b.first, b.last = c.add(b.first, by), c.add(b.last, by)
	return b
}

// then is b followed by next.
func (b blockRun) then(c *calc, next blockRun) blockRun {
	switch {
	case b.n == 0:
		return next
	case next.n == 0:
		return b
	}
	n := c.add(b.n, next.n)
	if b.last == next.first {
		n--
	}
	return blockRun{n: n, first: b.first, last: next.last, ordered: b.ordered && next.ordered && b.last <= next.first}
}

// repeated is n copies of b, each step bytes after the one before.
func (b blockRun) repeated(c *calc, n, step int64) blockRun {
	if n == 0 || b.n == 0 {
		return blockRun{ordered: true}
	}
	total := c.mul(b.n, n)
	next := c.add(b.first, step)
	if b.last == next {
		total -= n - 1
	}
	return blockRun{
		n: total, first: b.first, last: c.add(b.last, c.mul(n-1, step)),
		ordered: b.ordered && (n == 1 || b.last <= next),
	}
}

func (b blockRun) overDim(c *calc, d dim) blockRun {
	if d.run <= 0 || d.n <= d.run {
		return b.repeated(c, d.n, d.step).moved(c, d.base)
	}
	full := b.repeated(c, d.run, d.step).repeated(c, d.n/d.run, d.jump)
	rest := b.repeated(c, d.n%d.run, d.step).moved(c, c.mul(d.n/d.run, d.jump))
	return full.then(c, rest).moved(c, d.base)
}

// bounds collects lower and upper bounds, where explicit ones outweigh all others (MPI-3.1, 4.1.7).
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

// compute derives everything that is known of the type from its children; it sets problem where that is not possible.
func (t *Datatype) compute() {
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
	var c calc
	if err := t.place(&c); err != nil {
		if !errors.As(err, &t.problem) {
			t.problem = corrupt(t.addr, "%v", err)
		}
		return
	}
	t.align = 1
	if !c.bad {
		if t.layout.list != nil {
			t.computeBlocks(&c)
		} else {
			t.computeProduct(&c)
		}
	}
	if c.bad {
		t.problem = t.tooLarge()
	}
}

func (t *Datatype) computeProduct(c *calc) {
	child := t.layout.child
	cf := child.Figures()
	t.align = child.align
	copies, lo, hi := int64(1), int64(0), int64(0)
	t.blocks = child.blocks
	for i := len(t.layout.dims) - 1; i >= 0; i-- {
		d := t.layout.dims[i]
		copies = c.mul(copies, d.n)
		t.blocks = t.blocks.overDim(c, d)
		if d.n > 0 {
			a, b := d.bounds(c)
			lo, hi = c.add(lo, a), c.add(hi, b)
		}
	}
	if copies == 0 {
		t.align = 1
	}
	t.elements = c.mul(copies, child.elements)
	t.own.Size = c.mul(copies, cf.Size)
	if copies > 0 && child.elements > 0 {
		t.own.TrueLB = c.add(lo, child.own.TrueLB)
		t.own.TrueExtent = c.add(c.add(hi, -lo), child.own.TrueExtent)
	}
	switch t.Combiner() {
	case CombinerResized:
		t.setBounds(c, t.addrs.at(0), t.addrs.at(1))
		return
	case CombinerDup:
		t.own.LB, t.own.Extent = cf.LB, cf.Extent
		t.hasLB, t.hasUB = child.hasLB, child.hasUB
		return
	case CombinerSubarray, CombinerDarray:
		extent, first, n := cf.Extent, 1, len(t.layout.dims)
		if t.Combiner() == CombinerDarray {
			first = 3
		}
		for i := range n {
			extent = c.mul(extent, t.integers.at(first+i))
		}
		t.setBounds(c, 0, extent)
		return
	}
	if copies > 0 && !child.nothing() {
		t.own.LB = c.add(lo, cf.LB)
		t.own.Extent = c.add(c.add(hi, c.add(cf.LB, cf.Extent)), -t.own.LB)
		sticky := t.reg.MPI() == OpenMPI
		t.hasLB, t.hasUB = sticky && child.hasLB, sticky && child.hasUB
		t.pad(c)
	}
}

func (t *Datatype) setBounds(c *calc, lb, extent int64) {
	t.own.LB, t.own.Extent = lb, extent
	c.add(lb, extent)
	t.hasLB, t.hasUB = true, true
}

// nothing reports whether the type adds nothing to a typemap, not even a bound.
func (t *Datatype) nothing() bool { return t.elements == 0 && !t.hasLB && !t.hasUB }

func (t *Datatype) computeBlocks(c *calc) {
	l := t.layout.list
	var b bounds
	trueLB, trueUB, anyTrue := int64(0), int64(0), false
	t.blocks = blockRun{ordered: true}
	for i := range l.n {
		n, child := l.length(i), l.child(i)
		if n == 0 {
			continue
		}
		cf := child.Figures()
		first := l.offset(i)
		last := c.add(first, c.mul(n-1, cf.Extent))
		lo, hi := min(first, last), max(first, last)
		t.elements = c.add(t.elements, c.mul(n, child.elements))
		t.own.Size = c.add(t.own.Size, c.mul(n, cf.Size))
		t.blocks = t.blocks.then(c, child.blocks.repeated(c, n, cf.Extent).moved(c, first))
		t.align = max(t.align, child.align)
		if child.elements > 0 {
			a := c.add(lo, child.own.TrueLB)
			z := c.add(c.add(hi, child.own.TrueLB), child.own.TrueExtent)
			if !anyTrue || a < trueLB {
				trueLB = a
			}
			if !anyTrue || z > trueUB {
				trueUB = z
			}
			anyTrue = true
		}
		t.collectBounds(c, &b, child, lo, hi)
	}
	if anyTrue {
		t.own.TrueLB, t.own.TrueExtent = trueLB, c.add(trueUB, -trueLB)
	}
	if b.anyLB || b.anyUB {
		t.hasLB, t.hasUB = b.hasLB, b.hasUB
		t.own.LB, t.own.Extent = b.lb, c.add(b.ub, -b.lb)
		t.pad(c)
	}
}

// collectBounds adds the bounds of copies of child from lo to hi. Explicit bounds inside child outweigh others in Open MPI, as
// the standard says; in MPICH only MPI_LB and MPI_UB among the entries themselves do (measured with MPICH 4.0.2).
func (t *Datatype) collectBounds(c *calc, b *bounds, child *Datatype, lo, hi int64) {
	if child.isMarker() {
		if child.basic() == BasicLB {
			b.addLB(lo, true)
		} else {
			b.addUB(hi, true)
		}
		return
	}
	if child.nothing() {
		return
	}
	sticky := t.reg.MPI() == OpenMPI
	cf := child.Figures()
	b.addLB(c.add(lo, cf.LB), sticky && child.hasLB)
	b.addUB(c.add(hi, c.add(cf.LB, cf.Extent)), sticky && child.hasUB)
}

// pad rounds the extent up to the alignment of the basic types: the epsilon of MPI-3.1, 4.1.6. Open MPI does it in every
// constructor, MPICH in struct only (measured with Open MPI 4.1.4, MPICH 4.0.2).
func (t *Datatype) pad(c *calc) {
	if t.hasUB || t.reg.MPI() == MPICH && t.Combiner() != CombinerStruct || t.align <= 1 {
		return
	}
	if over := t.own.Extent % t.align; over > 0 {
		t.own.Extent = c.add(t.own.Extent, t.align-over)
	}
}

func (t *Datatype) computeLeaf() {
	t.blocks.ordered = true
	if t.Combiner() == CombinerUnknown {
		t.opaque = true
		f, known := t.Reported()
		if !known || f.Size < 0 {
			t.problem = errorf(KindNotDecoded, t.addr, "The datatype was created by %s, which Cohort does not decode yet.", orUnknown(t.Name()))
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
	case BasicLB:
		t.hasLB = true
	case BasicUB:
		t.hasUB = true
	case BasicNull:
		t.problem = errorf(KindNull, t.addr, "The datatype is MPI_DATATYPE_NULL, which describes no memory.")
	default:
		t.computeBasic()
	}
}

func (t *Datatype) computeBasic() {
	parts := t.parts()
	for _, p := range parts {
		if p.size <= 0 || p.size > maxBasicSize {
			t.problem = corrupt(t.addr, "the basic type %s has a value of %d bytes", t.Title(), p.size)
			return
		}
		t.blocks = t.blocks.then(&calc{}, blockRun{n: 1, first: p.offset, last: p.offset + p.size, ordered: true})
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
