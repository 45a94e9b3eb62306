package datatype

import (
	"iter"
	"slices"
	"sort"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// Step is one type on the way from a datatype down to a basic element, with the indices of the way on: one for each
// stage of the expanded type-tree (paper, IV.B).
type Step struct {
	Type  *Type
	Index []int64
}

// Element is one entry of a typemap.
type Element struct {
	Index  int64  // its number in typemap order, from 0
	Offset int64  // bytes from the start of the buffer
	Leaf   *Type  // its basic type
	Path   []Step // from the datatype down, without the leaf
}

// Element returns the n-th entry of the typemap of one instance, 0 <= n < Elements(), in O(depth + log blocks).
func (t *Type) Element(n int64) (Element, error) {
	if t.problem != nil {
		return Element{}, t.problem
	}
	if n < 0 || n >= t.elements {
		return Element{}, fault.Errorf(fault.Address, 0, "The datatype %s has %d basic elements; there is no element %d.",
			t.Title(), t.elements, n)
	}
	var w walker
	w.descend(t, n, 0)
	return w.element(n), nil
}

// Typemap yields the entries of the typemap of one instance from the n-th on, without visiting those before it. A type
// with a Problem has no entries. The Path of an entry is valid until the next one.
func (t *Type) Typemap(from int64) iter.Seq[Element] {
	return func(yield func(Element) bool) {
		if t.problem != nil || from < 0 || from >= t.elements {
			return
		}
		var w walker
		w.descend(t, from, 0)
		for n := from; ; n++ {
			if !yield(w.element(n)) || n+1 >= t.elements {
				return
			}
			w.next()
		}
	}
}

// frame is one type on the walker's way, with the current indices.
type frame struct {
	t    *Type
	base int64 // where this copy of t lies
	idx  []int64
}

// walker is at one element of an expanded type-tree.
type walker struct {
	frames []frame
	leaf   *Type
	offset int64
	path   []Step
}

func (w *walker) element(n int64) Element {
	w.path = w.path[:0]
	for i := range w.frames {
		w.path = append(w.path, Step{w.frames[i].t, w.frames[i].idx})
	}
	return Element{Index: n, Offset: w.offset, Leaf: w.leaf, Path: w.path}
}

// push adds a frame, reusing the indices of a popped one.
func (w *walker) push(t *Type, base int64) *frame {
	if len(w.frames) < cap(w.frames) {
		w.frames = w.frames[:len(w.frames)+1]
	} else {
		w.frames = append(w.frames, frame{})
	}
	f := &w.frames[len(w.frames)-1]
	f.t, f.base = t, base
	f.idx = slices.Grow(f.idx[:0], t.stages())[:t.stages()]
	return f
}

// descend goes from a copy of t at base down to its n-th element, n < t.elements.
func (w *walker) descend(t *Type, n, base int64) {
	for !t.isLeaf() {
		f := w.push(t, base)
		child := f.seek(&n)
		base = f.position()
		t = child
	}
	w.leaf, w.offset = t, base
}

// seek sets the indices to those of the copy of the child that holds element *n, makes *n relative to it, and returns
// the child.
func (f *frame) seek(n *int64) *Type {
	if f.t.layout.list == nil {
		child := f.t.layout.child
		k := *n / child.elements
		*n %= child.elements
		for i := len(f.idx) - 1; i >= 0; i-- {
			f.idx[i] = k % f.t.layout.dims[i].n
			k /= f.t.layout.dims[i].n
		}
		return child
	}
	i := f.t.blockOf(*n)
	child := f.t.layout.list.child(i)
	*n -= f.t.prefix()[i]
	f.idx[0], f.idx[1] = int64(i), *n/child.elements
	*n %= child.elements
	return child
}

// position is where the copy of the child at the current indices lies.
func (f *frame) position() int64 {
	l := f.t.layout.list
	if l == nil {
		at := f.base
		for i, k := range f.idx {
			at += f.t.layout.dims[i].at(k)
		}
		return at
	}
	i := int(f.idx[0])
	return f.base + l.offset(i) + f.idx[1]*l.child(i).Figures().Extent
}

// next goes to the following element; there must be one.
func (w *walker) next() {
	for len(w.frames) > 0 {
		f := &w.frames[len(w.frames)-1]
		if child := f.advance(); child != nil {
			w.descend(child, 0, f.position())
			return
		}
		w.frames = w.frames[:len(w.frames)-1]
	}
}

// advance goes to the next copy of a child that has elements and returns the child, or nil at the end.
func (f *frame) advance() *Type {
	l := f.t.layout.list
	if l == nil {
		for i := len(f.idx) - 1; i >= 0; i-- {
			f.idx[i]++
			if f.idx[i] < f.t.layout.dims[i].n {
				return f.t.layout.child
			}
			f.idx[i] = 0
		}
		return nil
	}
	i := int(f.idx[0])
	f.idx[1]++
	if f.idx[1] < l.length(i) {
		return l.child(i)
	}
	for i++; i < l.n; i++ {
		if l.length(i) > 0 && l.child(i).elements > 0 {
			f.idx[0], f.idx[1] = int64(i), 0
			return l.child(i)
		}
	}
	return nil
}

// prefix holds, for each block, the number of elements before it, and their total.
func (t *Type) prefix() []int64 {
	if t.prefixOnce == nil {
		l := t.layout.list
		p := make([]int64, l.n+1)
		for i := range l.n {
			p[i+1] = p[i] + l.length(i)*l.child(i).elements
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
