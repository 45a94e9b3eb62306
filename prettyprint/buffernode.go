package prettyprint

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Node is the buffer, or the selected part of it, as a tree of values: the expanded type-tree of the paper (IV.B), opened lazily.
// Stages with only one child are not shown by themselves; they appear in the child's name, as in [3][0].
func (b *Buffer) Node(name string) Node {
	return b.node(name, b.root)
}

func (b *Buffer) node(name string, l location) Node {
	addr := b.addr + uint64(l.start())
	value, err := b.preview(l)
	if err != nil {
		value = err.Error()
	}
	if l.row < 0 && l.t.isMarker() {
		value = fmt.Sprintf("%s at offset %d", l.t.Label(), l.base)
	}
	n := Node{
		Name: name, Value: value, Type: l.typeText(), Address: addr, HasAddress: true, TreeAddress: l.long(),
		NumChildren: int(min(l.width(), math.MaxInt32)), IsList: true,
	}
	if n.NumChildren == 0 {
		n.IsList = false
		return n
	}
	n.children = func(from, to int) ([]Node, error) {
		kids := make([]Node, 0, to-from)
		for k := from; k < to; k++ {
			c := l.child(int64(k))
			c = c.only()
			kids = append(kids, b.node(strings.TrimPrefix(c.brief(), l.brief()), c))
		}
		return kids, nil
	}
	return n
}

// only goes down while there is exactly one child.
func (l location) only() location {
	for l.width() == 1 {
		l = l.child(0)
	}
	return l
}

// start is the offset of the place: of its first element if it has one.
func (l location) start() int64 {
	if l.elements() == 0 {
		return l.base
	}
	at := l.base
	l.walk(0, 1, func(_ *location, e Element, _ int64) { at = e.Offset })
	return at
}

// typeText says what lies at the place.
func (l location) typeText() string {
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

// Text writes the elements one per line: address in the expanded type-tree, address in memory, value; neighbouring
// characters as one string. At most opt.MaxList elements are read and shown; the others are counted.
func (b *Buffer) Text(w io.Writer, opt Options) error {
	opt = opt.filled()
	total := b.Len()
	if opt.From > 0 && opt.From >= total {
		return errorf(KindUsage, 0, "The buffer has %s, numbered from 0; there is no element %s to begin with.", basicElements(total), grouped(opt.From))
	}
	shown := min(total, opt.From+int64(opt.MaxList))
	vals, err := b.Elements(opt.From, shown)
	if err != nil {
		return err
	}
	rows := rowsOf(vals)
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.address))
	}
	for _, r := range rows {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(r.address))
		if err := write(w, "  %s%s  0x%012x  %s\n", r.address, pad, r.memory, r.value); err != nil {
			return err
		}
	}
	if rest := total - shown; rest > 0 {
		return write(w, "  ... %s more, with --from %d\n", grouped(rest), shown)
	}
	return nil
}

// row is one line of a buffer's text.
type row struct {
	address string
	memory  uint64
	value   string
}

// rowsOf merges characters that follow each other into strings.
func rowsOf(vals []Value) []row {
	var rows []row
	for i := 0; i < len(vals); {
		j := i + 1
		for j < len(vals) && vals[j].follows(&vals[j-1]) {
			j++
		}
		r := row{vals[i].Address, vals[i].Memory, vals[i].Text}
		if j-i > 1 {
			// t(STRUCT)[2][0](CHAR) to t(STRUCT)[2][6](CHAR): the last index becomes 0..6
			if k := strings.LastIndexAny(r.address, "]}"); k >= 0 {
				r.address = fmt.Sprintf("%s..%d%s", r.address[:k], vals[j-1].last, r.address[k:])
			}
			r.value = quoteBytes(textOf(vals[i:j]))
		}
		rows = append(rows, r)
		i = j
	}
	return rows
}
