package datatype

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// treeRow is a line of an expanded type-tree: a basic element, or those of one stage side by side.
type treeRow struct {
	address  string
	offset   int64
	n, step  int64 // elements, and bytes from one to the next
	what     string
	elements int64
}

// leafRow describes a place whose children are basic elements, or which is one.
func (l Location) leafRow() treeRow {
	w := l.width()
	if w == 0 {
		return treeRow{l.Long(), l.base, 1, 0, l.TypeText(), l.Elements()}
	}
	first := l.child(0)
	r := treeRow{"", first.base, w, 0, first.TypeText(), l.Elements()}
	open, shut := "[", "]"
	if l.row >= 0 {
		open, shut = "{", "}"
	}
	index := open + "0" + shut
	if w > 1 {
		r.step = l.child(1).base - first.base
		index = fmt.Sprintf("%s0..%d%s", open, w-1, shut)
	}
	r.address = l.Long() + index + "(" + first.t.Label() + ")"
	return r
}

// evenly reports whether the basic elements below a place of one stage are evenly spaced: those of a cyclic darray are
// not.
func (l Location) evenly() bool {
	if l.row >= 0 || l.t.layout.list != nil {
		return true
	}
	d := l.t.layout.dims[len(l.fixed)]
	return d.run <= 0 || d.n <= d.run || d.step*d.run == d.jump
}

// expand calls visit with the rows of the expanded type-tree below the place, until it returns false.
func (l Location) expand(visit func(r treeRow) bool) bool {
	w := l.width()
	if w == 0 || l.child(0).width() == 0 && len(l.child(0).fixed) == 0 && l.evenly() {
		return visit(l.leafRow())
	}
	for k := range w {
		if !l.child(k).expand(visit) {
			return false
		}
	}
	return true
}

// TreeText writes the expanded type-tree below the location, at most so many rows.
func (l Location) TreeText(w io.Writer, limit int) error {
	var rows []treeRow
	shown, width := int64(0), 0
	done := l.expand(func(r treeRow) bool {
		if len(rows) == limit {
			return false
		}
		rows = append(rows, r)
		shown += r.elements
		width = max(width, utf8.RuneCountInString(r.address))
		return true
	})
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-*s  %s at offset %d", width, r.address, r.what, r.offset)
		if r.n > 1 {
			fmt.Fprintf(&b, ", %s apart", view.ByteCount(r.step))
		}
		b.WriteByte('\n')
	}
	if !done {
		fmt.Fprintf(&b, "  ... %s more; name a part, such as %s, to see it\n", BasicElements(l.Elements()-shown),
			l.child(l.width()-1).brief())
	}
	return view.Write(w, "%s", b.String())
}
