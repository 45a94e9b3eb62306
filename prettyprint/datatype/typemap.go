package datatype

import (
	"iter"
	"slices"
	"sort"
)

// Step is one type on the way from a datatype down to a basic element, with the indices of the way on: one for each
// stage of the expanded type-tree (paper, IV.B).
type Step struct {
	Type  *Type
	Index []int64
}

// Element is one entry of a typemap. Its Path is valid until the next one.
type Element struct {
	Index  int64  // its number in typemap order, from 0
	Offset int64  // bytes from the start of the buffer
	Leaf   *Type  // its basic type
	Path   []Step // from the datatype down, without the leaf
}

// Typemap yields the entries of the typemap of one instance from the n-th on, which it finds in O(depth + log blocks).
// A type with a Problem has no entries.
func (t *Type) Typemap(n int64) iter.Seq[Element] {
	return func(yield func(Element) bool) {
		if t.Problem == nil && n >= 0 {
			w := walker{n: n, visit: yield}
			w.walk(t, 0, n, t.Elements)
		}
	}
}

// walker visits basic elements in typemap order, until visit returns false.
type walker struct {
	visit func(Element) bool
	n     int64 // the number of the next element
	path  []Step
}

// walk visits the elements [from, to) of an instance of t at base.
func (w *walker) walk(t *Type, base, from, to int64) bool {
	if from >= to {
		return true
	}
	if t.isLeaf() {
		return w.leaf(t, base)
	}
	idx, ok := w.push(t), true
	if l := t.layout.list; l != nil {
		before := t.prefix()
		for i := t.blockOf(from); ok && i < l.n && before[i] < to; i++ {
			idx[0] = int64(i)
			first, end := max(from-before[i], 0), min(to, before[i+1])-before[i]
			ok = w.copies(l.child(i), []dim{l.block(i)}, idx[1:], base, first, end)
		}
	} else {
		ok = w.copies(t.layout.child, t.layout.dims, idx, base, from, to)
	}
	w.path = w.path[:len(w.path)-1]
	return ok
}

func (w *walker) leaf(t *Type, offset int64) bool {
	w.n++
	return w.visit(Element{w.n - 1, offset, t, w.path})
}

// copies visits the elements [from, to) of copies of a child.
func (w *walker) copies(child *Type, dims []dim, idx []int64, base, from, to int64) bool {
	if from >= to {
		return true
	}
	each, leaf := child.Elements, child.isLeaf()
	for k := from / each; k*each < to; k++ {
		at, rest := base, k
		for i := len(dims) - 1; i >= 0; i-- {
			if idx[i] = rest; i > 0 {
				idx[i], rest = rest%dims[i].n, rest/dims[i].n
			}
			at += dims[i].at(idx[i])
		}
		if leaf {
			if !w.leaf(child, at) {
				return false
			}
		} else if !w.walk(child, at, max(from-k*each, 0), min(to-k*each, each)) {
			return false
		}
	}
	return true
}

// push adds a step, and returns its indices. What a step that has ended used is used again.
func (w *walker) push(t *Type) []int64 {
	if len(w.path) < cap(w.path) {
		w.path = w.path[:len(w.path)+1]
	} else {
		w.path = append(w.path, Step{})
	}
	s := &w.path[len(w.path)-1]
	s.Type, s.Index = t, slices.Grow(s.Index[:0], t.stages())[:t.stages()]
	return s.Index
}

// prefix holds, for each block, the number of elements before it, and their total.
func (t *Type) prefix() []int64 {
	if t.prefixOnce == nil {
		l := t.layout.list
		p := make([]int64, l.n+1)
		for i := range l.n {
			p[i+1] = p[i] + l.length(i)*l.child(i).Elements
		}
		t.prefixOnce = p
	}
	return t.prefixOnce
}

// blockOf finds the block that holds element n.
func (t *Type) blockOf(n int64) int {
	p := t.prefix()
	return sort.Search(len(p)-1, func(i int) bool { return p[i+1] > n })
}

// repeat is copies of one child that follow each other in the typemap, wherever they lie.
type repeat struct {
	child  *Type
	n      int64
	before int64 // elements
}

// repeats are what one instance of a type with elements, which is no leaf, is made of.
func (t *Type) repeats() []repeat {
	if t.repeated != nil {
		return t.repeated
	}
	if l := t.layout.list; l != nil {
		for i := range l.n {
			n, child, last := l.length(i), l.child(i), len(t.repeated)-1
			switch {
			case n == 0 || child.Elements == 0:
			case last >= 0 && t.repeated[last].child == child:
				t.repeated[last].n += n
			default:
				t.repeated = append(t.repeated, repeat{child, n, t.prefix()[i]})
			}
		}
	} else {
		t.repeated = []repeat{{t.layout.child, t.Elements / t.layout.child.Elements, 0}}
	}
	return t.repeated
}
