package datatype

import (
	"cmp"
	"fmt"
	"slices"
)

// Gaps describes the bytes between a datatype's first and last byte of data that it does not select.
type Gaps struct {
	Known    bool  // false: too many elements out of order to tell
	Count    int64 // gaps
	Bytes    int64 // in all of them
	Overlaps bool  // some bytes are selected more than once
}

const maxRuns = 1 << 20 // contiguous pieces that are sorted to find gaps where the closed form does not hold

func (g Gaps) String() string {
	switch {
	case !g.Known:
		return "unknown: the blocks are out of order, or not decoded, and too many to sort"
	case g.Overlaps && g.Count == 0:
		return "none; elements overlap"
	case g.Overlaps:
		return fmt.Sprintf("%d, %d bytes; elements overlap", g.Count, g.Bytes)
	case g.Count == 0:
		return "none"
	}
	return fmt.Sprintf("%d, %d bytes", g.Count, g.Bytes)
}

// Gaps finds the gaps of one instance: in closed form if its blocks are in the order of memory, else by sorting up to
// 2^20 of them.
func (t *Type) Gaps() Gaps {
	if t.gaps == nil {
		g := t.findGaps()
		t.gaps = &g
	}
	return *t.gaps
}

func (t *Type) findGaps() Gaps {
	switch {
	case t.Problem != nil || t.opaque:
		return Gaps{}
	case t.Elements == 0:
		return Gaps{Known: true}
	case t.blocks.ordered:
		return Gaps{Known: true, Count: t.blocks.n - 1, Bytes: t.blocks.last - t.blocks.first - t.Computed.Size}
	case t.blocks.n > maxRuns:
		return Gaps{}
	}
	var runs []Hull
	ok := t.runs(0, func(h Hull) bool {
		if k := len(runs) - 1; k >= 0 && runs[k].To == h.From {
			runs[k].To = h.To
			return true
		}
		runs = append(runs, h)
		return len(runs) <= maxRuns
	})
	if !ok {
		return Gaps{}
	}
	slices.SortFunc(runs, func(a, b Hull) int { return cmp.Compare(a.From, b.From) })
	g, end := Gaps{Known: true}, runs[0].From
	for _, r := range runs {
		switch {
		case r.From > end:
			g.Count++
			g.Bytes += r.From - end
		case r.From < end:
			g.Overlaps = true
		}
		end = max(end, r.To)
	}
	return g
}

// runs calls emit with the contiguous pieces of one instance at base, in the order of the typemap, until it returns
// false. Pieces that touch may come one by one.
func (t *Type) runs(base int64, emit func(Hull) bool) bool {
	switch {
	case t.blocks.n == 0:
		return true
	case t.blocks.n == 1:
		return emit(Hull{t.blocks.first, t.blocks.last}.Moved(base))
	case t.isLeaf():
		for _, p := range t.parts() {
			if !emit(Hull{base + p.offset, base + p.offset + p.size}) {
				return false
			}
		}
		return true
	case t.layout.list == nil:
		return t.layout.child.copyRuns(t.layout.dims, base, emit)
	}
	for i := range t.layout.list.n {
		if !t.layout.list.child(i).copyRuns([]dim{t.layout.list.block(i)}, base, emit) {
			return false
		}
	}
	return true
}

// copyRuns is runs for copies of the type over dimensions.
func (t *Type) copyRuns(dims []dim, base int64, emit func(Hull) bool) bool {
	if len(dims) == 0 {
		return t.runs(base, emit)
	}
	switch b := t.blocks.over(&Calc{}, dims); b.n {
	case 0:
		return true
	case 1:
		return emit(Hull{b.first, b.last}.Moved(base))
	}
	for k := range dims[0].n {
		if !t.copyRuns(dims[1:], base+dims[0].at(k), emit) {
			return false
		}
	}
	return true
}
