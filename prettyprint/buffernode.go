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
	width := 0
	for from := opt.From; from < shown; from += textPage {
		vals, err := b.Elements(from, min(from+textPage, shown))
		if err != nil {
			return err
		}
		if width, err = writeRows(w, rowsOf(vals), width); err != nil {
			return err
		}
	}
	if rest := total - shown; rest > 0 {
		return write(w, "  ... %s more, with --from %d\n", grouped(rest), shown)
	}
	return nil
}

// textPage is how many elements are in memory at a time; characters are joined within a page.
const textPage = 1 << 13

// writeRows writes lines with their columns at least so wide, and returns how wide they were.
func writeRows(w io.Writer, rows []row, width int) (int, error) {
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.address))
	}
	var line []byte
	for _, r := range rows {
		line = append(append(line[:0], "  "...), r.address...)
		for range width - utf8.RuneCountInString(r.address) {
			line = append(line, ' ')
		}
		line = fmt.Appendf(line, "  0x%012x  ", r.memory)
		line = append(append(line, r.value...), '\n')
		if _, err := w.Write(line); err != nil {
			return width, fmt.Errorf("writing text: %w", err)
		}
	}
	return width, nil
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
