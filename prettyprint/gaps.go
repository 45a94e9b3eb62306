package prettyprint

import (
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

const maxExplicit = 1 << 17 // elements that are sorted to find gaps where the closed form does not hold

func (g Gaps) String() string {
	switch {
	case !g.Known:
		return "unknown: the elements are out of order, or not decoded, and too many to sort"
	case g.Overlaps:
		return fmt.Sprintf("%d, %d bytes; elements overlap", g.Count, g.Bytes)
	case g.Count == 0:
		return "none"
	}
	return fmt.Sprintf("%d, %d bytes", g.Count, g.Bytes)
}

// Gaps finds the gaps of one instance: in closed form if its blocks are in the order of memory, else by sorting up to 2^17
// elements.
func (t *Datatype) Gaps() Gaps {
	if t.gaps == nil {
		g := t.findGaps()
		t.gaps = &g
	}
	return *t.gaps
}

func (t *Datatype) findGaps() Gaps {
	switch {
	case t.problem != nil || t.opaque:
		return Gaps{}
	case t.elements == 0:
		return Gaps{Known: true}
	case t.blocks.ordered:
		return Gaps{Known: true, Count: t.blocks.n - 1, Bytes: t.blocks.last - t.blocks.first - t.own.Size}
	case t.elements > maxExplicit:
		return Gaps{}
	}
	type run struct{ from, to int64 }
	runs := make([]run, 0, t.elements)
	for e := range t.Typemap(0) {
		for _, p := range e.Leaf.parts() {
			runs = append(runs, run{e.Offset + p.offset, e.Offset + p.offset + p.size})
		}
	}
	slices.SortFunc(runs, func(a, b run) int {
		switch {
		case a.from < b.from:
			return -1
		case a.from > b.from:
			return 1
		}
		return 0
	})
	g, end := Gaps{Known: true}, runs[0].from
	for _, r := range runs {
		switch {
		case r.from > end:
			g.Count++
			g.Bytes += r.from - end
		case r.from < end:
			g.Overlaps = true
		}
		end = max(end, r.to)
	}
	return g
}
