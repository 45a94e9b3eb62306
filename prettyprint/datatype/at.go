package datatype

import (
	"slices"
	"sort"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Held is a basic element of a buffer that holds a byte of memory.
type Held struct {
	Value
	Byte int64 // which of the element's bytes it is, from 0
}

// At returns the basic elements of the buffer that hold the byte at addr: several if the type overlaps itself, and at
// most [MaxHeld]. Their Index is not set. near is true if there is none but the byte lies between the first and the
// last that the buffer selects. The cost is that of what lies there, as for a [Window].
func (b *Buffer) At(addr uint64) (found []Held, near bool) {
	budget := int64(1 << 20)
	at := int64(addr - b.addr)
	b.root.holding(at, &budget, func(l Location) bool {
		base := b.addr + uint64(l.base)
		var p page
		p.b = &Buffer{b.mem, b.addr, l}
		p.read(0, 1)
		c := &p.cells[0]
		found = append(found, Held{Value{
			Address: string(p.names[c.from:c.to]), Memory: base, Type: l.t, Text: string(p.value(nil, c)),
		}, int64(addr - base)})
		return len(found) < MaxHeld
	})
	if h := b.root.hull(); len(found) == 0 && b.Len() > 0 {
		near = h.From <= at && at < h.To
	}
	return found, near
}

// MaxHeld is how many elements that hold one byte are looked for.
const MaxHeld = 8

// hull holds all data of the place, which is a row of instances or one.
func (l Location) hull() Hull {
	return l.t.Hull().spread(max(l.row, 1), l.t.Figures.Extent).Moved(l.base)
}

// holding visits the basic elements at and below the place that hold the byte at an offset of the buffer, until visit
// returns false or the budget of steps is used up.
func (l Location) holding(at int64, budget *int64, visit func(Location) bool) bool {
	if *budget--; *budget < 0 {
		return false
	}
	below := func(k int64) bool { return l.child(k).holding(at, budget, visit) }
	switch {
	case l.row >= 0:
		return strided{n: l.row, base: l.base, step: l.t.Figures.Extent, h: l.t.Hull()}.at(at, below)
	case len(l.fixed) == 0 && (l.t.Elements == 0 || at < l.hull().From || at >= l.hull().To):
		return true
	case l.t.isLeaf():
		return !l.t.hasByte(at-l.base) || visit(l)
	case l.t.layout.list == nil:
		return l.stageHolding(at, below)
	case len(l.fixed) == 0:
		all := l.t.blockHulls()
		first := sort.Search(len(all), func(i int) bool { return all[i].furthest > at-l.base })
		for i := first; i < len(all) && all[i].From <= at-l.base; i++ {
			if *budget--; *budget < 0 || all[i].To > at-l.base && !below(int64(all[i].block)) {
				return false
			}
		}
		return true
	}
	list, k := l.t.layout.list, int(l.fixed[0])
	child := list.child(k)
	return strided{
		n: list.length(k), base: l.base + list.offset(k), step: child.Figures.Extent, h: child.Hull(),
	}.at(at, below)
}

// hasByte reports whether a byte of a basic element is of one of its values.
func (t *Type) hasByte(at int64) bool {
	return t.Combiner() == abi.CombinerUnknown || slices.ContainsFunc(t.parts(), func(p part) bool {
		return p.offset <= at && at < p.offset+p.size
	})
}

// stageHolding is holding for a stage of a product of dimensions.
func (l Location) stageHolding(at int64, below func(k int64) bool) bool {
	i, base := len(l.fixed), l.base
	for j, k := range l.fixed {
		base += l.t.layout.dims[j].at(k)
	}
	d, h := l.t.layout.dims[i], l.t.innerHulls()[i+1]
	if d.run <= 0 || d.n <= d.run {
		return strided{n: d.n, base: base + d.base, step: d.step, h: h}.at(at, below)
	}
	run := func(first, n int64) bool {
		return strided{n: n, base: base + d.at(first), step: d.step, h: h}.at(at,
			func(k int64) bool { return below(first + k) })
	}
	full := d.n / d.run
	cycles := strided{n: full, base: base + d.base, step: d.jump, h: h.spread(d.run, d.step)}
	return cycles.at(at, func(c int64) bool { return run(c*d.run, d.run) }) &&
		(d.n%d.run == 0 || run(full*d.run, d.n%d.run))
}

// at calls next with the number of each copy whose hull holds an offset, until it returns false.
func (s strided) at(offset int64, next func(k int64) bool) bool {
	from, to := s.meeting(SatAdd(SatAdd(offset, -s.h.To), 1), SatAdd(offset, -s.h.From))
	for k := from; k < to; k++ {
		if !next(k) {
			return false
		}
	}
	return true
}
