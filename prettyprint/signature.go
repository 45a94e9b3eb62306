package prettyprint

import (
	"fmt"
	"slices"
	"strings"
)

// Signature is a datatype's type signature, compressed (paper, VI.A): the basic types in typemap order with how often each
// repeats, and sequences that repeat as groups.
type Signature struct {
	Items     []SignatureItem
	Truncated bool // it goes on, beyond what this package keeps
}

// SignatureItem is a basic type or a group, Count times.
type SignatureItem struct {
	Count int64
	Basic *Datatype  // nil for a group
	Group *Signature // nil for a basic type
}

const maxSignature = 1 << 16 // items of one level

// Signature returns the type signature of one instance.
func (t *Datatype) Signature() *Signature {
	if t.sig != nil {
		return t.sig
	}
	s := &Signature{}
	switch {
	case t.problem != nil || t.elements == 0:
	case t.isLeaf():
		s.Items = []SignatureItem{{Count: 1, Basic: t}}
	case t.layout.list == nil:
		s.add(t.layout.child.Signature(), t.elements/t.layout.child.elements)
	default:
		for i := range t.layout.list.n {
			if n, ch := t.layout.list.length(i), t.layout.list.child(i); n > 0 && ch.elements > 0 {
				s.add(ch.Signature(), n)
			}
		}
	}
	t.sig = s
	return s
}

// add appends n repetitions of sub.
func (s *Signature) add(sub *Signature, n int64) {
	s.Truncated = s.Truncated || sub.Truncated
	switch {
	case len(sub.Items) == 1:
		it := sub.Items[0]
		it.Count *= n
		s.push(it)
	case n == 1:
		for _, it := range sub.Items {
			s.push(it)
		}
	default:
		s.push(SignatureItem{Count: n, Group: sub})
	}
}

func (s *Signature) push(it SignatureItem) {
	if k := len(s.Items) - 1; k >= 0 && s.Items[k].same(it) {
		s.Items[k].Count += it.Count
		return
	}
	if len(s.Items) >= maxSignature {
		s.Truncated = true
		return
	}
	s.Items = append(s.Items, it)
}

// same reports whether two items repeat the same thing. Groups are compared one level deep.
func (a SignatureItem) same(b SignatureItem) bool {
	if a.Basic != nil || b.Basic != nil {
		return a.Basic != nil && b.Basic != nil &&
			(a.Basic == b.Basic || a.Basic.isNamed() && b.Basic.isNamed() && a.Basic.Name() == b.Basic.Name())
	}
	return a.Group == b.Group || slices.Equal(a.Group.Items, b.Group.Items) && !a.Group.Truncated && !b.Group.Truncated
}

func (t *Datatype) isNamed() bool { return t.Combiner() == CombinerNamed && t.Name() != "" }

// Text shows the signature, such as "5 MPI_INT, 7 MPI_CHAR" or "10 (MPI_INT, 2 MPI_DOUBLE)", with at most limit basic types and groups.
func (s *Signature) Text(limit int) string {
	if len(s.Items) == 0 {
		return "nothing"
	}
	return s.text(&limit)
}

func (s *Signature) text(limit *int) string {
	var out []string
	for i, it := range s.Items {
		if *limit <= 0 {
			out = append(out, fmt.Sprintf("... %d more", len(s.Items)-i))
			break
		}
		*limit--
		var what string
		if it.Basic != nil {
			what = it.Basic.Title()
		} else {
			what = "(" + it.Group.text(limit) + ")"
		}
		if it.Count != 1 {
			what = fmt.Sprintf("%d %s", it.Count, what)
		}
		out = append(out, what)
	}
	if s.Truncated && *limit > 0 {
		out = append(out, "...")
	}
	return strings.Join(out, ", ")
}

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
