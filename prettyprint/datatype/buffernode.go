package datatype

import (
	"fmt"
	"math"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Node is the buffer, or the selected part of it, as a tree of values: the expanded type-tree of the paper (IV.B),
// opened lazily. Stages with only one child are not shown by themselves; they appear in the child's name, as in [3][0].
func (b *Buffer) Node(name string) view.Node {
	return b.node(name, b.root)
}

func (b *Buffer) node(name string, l Location) view.Node {
	addr := b.addr + uint64(l.Start())
	value, err := b.preview(l)
	if err != nil {
		value = err.Error()
	}
	if l.row < 0 && l.t.isMarker() {
		value = fmt.Sprintf("%s at offset %d", l.t.Label(), l.base)
	}
	n := view.Leaf(name, value)
	if w := min(l.width(), math.MaxInt32); w > 0 {
		n = view.List(name, value, int(w), func(k int) view.Node {
			c := l.child(int64(k)).only()
			return b.node(strings.TrimPrefix(c.brief(), l.brief()), c)
		})
	}
	n.Type, n.Address = l.TypeText(), addr
	return n
}

// only goes down while there is exactly one child.
func (l Location) only() Location {
	for l.width() == 1 {
		l = l.child(0)
	}
	return l
}

// Start is the offset of the place: of its first element if it has one.
func (l Location) Start() int64 {
	if l.Elements() == 0 {
		return l.base
	}
	at := l.base
	l.walk(0, 1, func(_ *Location, e Element, _ int64) { at = e.Offset })
	return at
}

// TypeText says what lies at the place.
func (l Location) TypeText() string {
	switch {
	case l.row >= 0:
		return fmt.Sprintf("%d × %s", l.row, l.t.Title())
	case len(l.fixed) == 0 && l.t.isLeaf():
		return l.t.Title()
	case len(l.fixed) == 0:
		return l.t.Title()
	case l.t.layout.list != nil:
		return fmt.Sprintf("%d × %s", l.width(), l.t.layout.list.child(int(l.fixed[0])).Title())
	}
	n := int64(1)
	for _, d := range l.t.layout.dims[len(l.fixed):] {
		n *= d.n
	}
	return fmt.Sprintf("%d × %s", n, l.t.layout.child.Title())
}
