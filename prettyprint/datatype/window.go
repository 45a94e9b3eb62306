package datatype

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// What lies in a piece of memory is found from the tree of constructors, from above: a copy of a type is looked at only
// if the interval of its true bounds meets the window, and which of n copies at a stride do, is a division. (Protze et
// al., VIII, keep the strided block for the same reason.) The cost of a window is that of what lies in it, not of the
// type, but for copies that interleave.

// Hull is an interval that holds all data of something, relative to where it lies.
type Hull struct{ From, To int64 }

func (h Hull) Moved(by int64) Hull { return Hull{SatAdd(h.From, by), SatAdd(h.To, by)} }

func (h Hull) Union(o Hull) Hull { return Hull{min(h.From, o.From), max(h.To, o.To)} }

// spread is the hull of n > 0 copies of h, each step bytes after the one before.
func (h Hull) spread(n, step int64) Hull { return h.Union(h.Moved(SatMul(n-1, step))) }

// Hull is where the data of one instance lies.
func (t *Type) Hull() Hull {
	return Hull{t.Computed.TrueLB, SatAdd(t.Computed.TrueLB, t.Computed.TrueExtent)}
}

// innerHulls holds, for a type that is a product of dimensions, the hull of what lies below each stage.
func (t *Type) innerHulls() []Hull {
	if t.hulls == nil {
		dims := t.layout.dims
		t.hulls = make([]Hull, len(dims)+1)
		t.hulls[len(dims)] = t.layout.child.Hull()
		for i, d := range slices.Backward(dims) {
			var c Calc // no overflow: the type has no problem
			lo, hi := d.bounds(&c)
			t.hulls[i] = Hull{SatAdd(t.hulls[i+1].From, lo), SatAdd(t.hulls[i+1].To, hi)}
		}
	}
	return t.hulls
}

// blockHull is a block of a blockList by where its data lies.
type blockHull struct {
	Hull
	furthest int64 // the largest `to` up to and with this one
	block    int
}

// blockHulls are the blocks with data, ordered by where they begin.
func (t *Type) blockHulls() []blockHull {
	if t.byMemory == nil {
		l := t.layout.list
		t.byMemory = make([]blockHull, 0, l.n)
		for i := range l.n {
			if ch := l.child(i); l.length(i) > 0 && ch.Elements > 0 {
				t.byMemory = append(t.byMemory,
					blockHull{Hull: ch.Hull().spread(l.length(i), ch.Figures.Extent).Moved(l.offset(i)), block: i})
			}
		}
		slices.SortStableFunc(t.byMemory, func(a, b blockHull) int { return cmp.Compare(a.From, b.From) })
		furthest := int64(math.MinInt64)
		for i := range t.byMemory {
			furthest = max(furthest, t.byMemory[i].To)
			t.byMemory[i].furthest = furthest
		}
	}
	return t.byMemory
}

// Piece is one value of a basic element, so often as copies of it lie at the same place.
type Piece struct {
	Hull
	Leaf   *Type
	Copies int64
}

// Window visits what a type selects within [from, to).
type Window struct {
	Hull
	Budget *int64 // steps left; below 0 the walk has ended early, and what it found is not all
	// each is called for a piece of memory that meets the window, or, if there is a whole, its edges; false ends the
	// walk.
	Each func(p Piece) bool
	// whole, if there is one, is called for n instances of t that lie within the window as a whole, instead of each.
	whole func(t *Type, n int64)
}

// WalkRow visits n instances side by side.
func (w *Window) WalkRow(t *Type, n int64) bool {
	if n == 0 || t.Elements == 0 {
		return true
	}
	return w.copies(strided{n, 0, t.Figures.Extent, t.Hull(), t, 1}, 1, func(base, copies int64) bool {
		return w.walk(t, base, copies)
	})
}

// walk visits one instance of t at base, which counts copies times.
func (w *Window) walk(t *Type, base, copies int64) bool {
	*w.Budget--
	if *w.Budget < 0 {
		return false
	}
	h := t.Hull().Moved(base)
	switch {
	case t.Elements == 0 || h.To <= w.From || h.From >= w.To:
		return true
	case w.whole != nil && h.From >= w.From && h.To <= w.To:
		w.whole(t, copies)
		return true
	case t.isLeaf():
		return w.leaf(t, base, copies)
	case t.layout.list != nil:
		return w.blocks(t, base, copies)
	}
	return w.stage(t, 0, base, copies)
}

func (w *Window) leaf(t *Type, base, copies int64) bool {
	if t.Combiner() == abi.CombinerUnknown {
		return w.Each(Piece{t.Hull().Moved(base), t, copies})
	}
	for _, p := range t.parts() {
		from := base + p.offset
		if from < w.To && from+p.size > w.From && !w.Each(Piece{Hull{from, from + p.size}, t, copies}) {
			return false
		}
	}
	return true
}

func (w *Window) blocks(t *Type, base, copies int64) bool {
	all, l := t.blockHulls(), t.layout.list
	from, to := SatAdd(w.From, -base), SatAdd(w.To, -base)
	for i := sort.Search(len(all), func(i int) bool {
		return all[i].furthest > from
	}); i < len(all) && all[i].From < to; i++ {
		*w.Budget--
		if *w.Budget < 0 {
			return false
		}
		if all[i].To <= from {
			continue
		}
		k := all[i].block
		child := l.child(k)
		s := strided{l.length(k), base + l.offset(k), child.Figures.Extent, child.Hull(), child, 1}
		if !w.copies(s, copies, func(at, copies int64) bool { return w.walk(child, at, copies) }) {
			return false
		}
	}
	return true
}

// stage visits what lies below stage i of a product of dimensions.
func (w *Window) stage(t *Type, i int, base, copies int64) bool {
	if i == len(t.layout.dims) {
		return w.walk(t.layout.child, base, copies)
	}
	d, below := t.layout.dims[i], t.innerHulls()[i+1]
	per := int64(1) // copies of the child below one index of this stage
	for _, inner := range t.layout.dims[i+1:] {
		per = SatMul(per, inner.n)
	}
	next := func(at, copies int64) bool { return w.stage(t, i+1, at, copies) }
	run := func(n, at int64) strided { return strided{n, at, d.step, below, t.layout.child, per} }
	if d.run <= 0 || d.n <= d.run {
		return w.copies(run(d.n, base+d.base), copies, next)
	}
	full := d.n / d.run
	cycles := strided{full, base + d.base, d.jump, below.spread(d.run, d.step), t.layout.child, SatMul(per, d.run)}
	return w.copies(cycles, copies, func(at, copies int64) bool { return w.copies(run(d.run, at), copies, next) }) &&
		w.copies(run(d.n%d.run, base+d.base+full*d.jump), copies, next)
}

// strided is n copies of something with the hull h at base, base+step, ...; each holds per instances of child.
type strided struct {
	n, base, step int64
	h             Hull
	child         *Type
	per           int64
}

// meeting returns the range of copies [from, to) whose base lies in [lo, hi].
func (s strided) meeting(lo, hi int64) (from, to int64) {
	if s.n <= 0 || lo > hi {
		return 0, 0
	}
	step := s.step
	lo, hi = SatAdd(lo, -s.base), SatAdd(hi, -s.base)
	switch {
	case step == 0 || s.n == 1:
		if lo <= 0 && 0 <= hi {
			return 0, s.n
		}
		return 0, 0
	case step < 0:
		step, lo, hi = -step, SatMul(hi, -1), SatMul(lo, -1)
	}
	from, to = max(FloorDiv(SatAdd(lo, step-1), step), 0), min(SatAdd(FloorDiv(hi, step), 1), s.n)
	return from, max(from, to)
}

func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// copies calls next with the place of each copy that meets the window. Copies at one place are visited once, with their
// number.
func (w *Window) copies(s strided, copies int64, next func(base, copies int64) bool) bool {
	from, to := s.meeting(SatAdd(SatAdd(w.From, -s.h.To), 1), SatAdd(SatAdd(w.To, -s.h.From), -1))
	if from == to {
		return true
	}
	if s.step == 0 || s.n == 1 {
		return next(s.base, SatMul(copies, s.n))
	}
	in, out := to, to
	if w.whole != nil {
		if a, b := s.meeting(SatAdd(w.From, -s.h.From), SatAdd(w.To, -s.h.To)); a < b {
			in, out = a, b
			w.whole(s.child, SatMul(copies, SatMul(b-a, s.per)))
		}
	}
	for k := from; k < to; k++ {
		if k == in {
			if k = out; k >= to {
				break
			}
		}
		*w.Budget--
		if *w.Budget < 0 || !next(s.base+k*s.step, copies) {
			return false
		}
	}
	return true
}
