package datatype

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Text writes the elements one per line: address in the expanded type-tree, address in memory, value; neighbouring
// characters as one string. At most opt.MaxList elements are read and shown, and fewer if these are more than
// opt.MaxText bytes; the others are counted.
func (b *Buffer) Text(w io.Writer, opt view.Options) error {
	opt = opt.Filled()
	total := b.Len()
	if opt.From > 0 && opt.From >= total {
		return fault.Errorf(fault.Usage, 0, "The buffer has %s, numbered from 0; there is no element %s to begin with.",
			BasicElements(total), view.Grouped(opt.From))
	}
	shown := min(total, opt.From+int64(opt.MaxList))
	p, written := page{b: b}, 0
	for from := opt.From; from < shown; {
		to := min(from+pageSize, shown)
		p.read(from, to)
		n, err := w.Write(p.lines())
		if err != nil {
			return fmt.Errorf("writing text: %w", err)
		}
		if from, written = to, written+n; written >= opt.MaxText {
			shown = to
		}
	}
	if rest := total - shown; rest > 0 {
		return view.Write(w, "  ... %s more, with --from %d\n", view.Grouped(rest), shown)
	}
	return nil
}

// pageSize is how many elements are in memory at a time; characters are joined within a page.
const pageSize = 1 << 13

// page is elements of a buffer, with their memory. A million of them are printed at once, so nothing is allocated for
// each: what one page has used, the next one uses again.
type page struct {
	b     *Buffer
	cells []cell
	names []byte // the addresses of all elements, one after the other
	out   []byte
	width int // of the addresses, as wide as any of this page and those before
	reqs  []registry.Piece
	snap  *registry.Snapshot
}

// cell is one element. Its address is names[from:to], and its last index names[last:end].
type cell struct {
	leaf                *Type
	memory              uint64
	from, last, end, to int
	index               int64 // the last index
}

// page reads the elements [from, to).
func (b *Buffer) page(from, to int64) *page {
	p := &page{b: b}
	p.read(from, to)
	return p
}

func (p *page) read(from, to int64) {
	p.cells, p.names, p.reqs = p.cells[:0], p.names[:0], p.reqs[:0]
	p.b.root.walk(from, to, func(in *Location, e Element) {
		c := cell{leaf: e.Leaf, memory: p.b.addr + uint64(e.Offset)}
		p.name(&c, in, e)
		p.cells = append(p.cells, c)
		if size := e.Leaf.span(); e.Leaf.Combiner() != abi.CombinerUnknown && c.memory+uint64(size) > c.memory {
			p.reqs = append(p.reqs, registry.Piece{Addr: c.memory, Size: size})
		}
	})
	// Of those at one address the longest comes first. Mostly they are sorted already, which is found out at once.
	slices.SortFunc(p.reqs, func(x, y registry.Piece) int { return cmp.Or(cmp.Compare(x.Addr, y.Addr), y.Size-x.Size) })
	p.snap = registry.ReadAll(p.b.mem, p.reqs)
}

// span is the number of bytes from the start of a basic element to its end.
func (t *Type) span() int { return int(t.Computed.TrueExtent) }

// name writes the address of an element in the expanded type-tree, in its long form.
func (p *page) name(c *cell, in *Location, e Element) {
	out := p.names
	c.from = len(out)
	out = append(out, in.prefix...)
	// Of a row of basic elements the index is that of the instance, which the prefix ends with.
	c.last, c.end = c.from+max(bytes.LastIndexAny(out[c.from:], "[{"), 0), len(out)
	c.index = e.Index
	const first, last = 48, 16 // steps that are shown of a type that is nested deeply
	for i, s := range e.Path {
		if i >= first && i < len(e.Path)-last {
			if i == first {
				out = append(out, "…"...)
			}
			continue
		}
		out = append(append(append(out, '('), s.Type.Label()...), ')')
		for _, k := range s.Index {
			c.last = len(out)
			out = append(strconv.AppendInt(append(out, '['), k, 10), ']')
			c.index = k
		}
		c.end = len(out)
	}
	out = append(append(append(out, '('), e.Leaf.Label()...), ')')
	c.to = len(out)
	p.names = out
}

// data are the bytes of an element, or nil if they are not all mapped.
func (p *page) data(c *cell) []byte {
	size := c.leaf.span()
	if d := p.snap.BytesAt(c.memory, size); len(d) == size {
		return d
	}
	return nil
}

func (p *page) isText(c *cell) bool {
	return c.leaf.basic() == abi.BasicChar && c.leaf.span() == 1 && p.data(c) != nil
}

// textEnd is where the string ends that begins with cell i: one cell further if it is none.
func (p *page) textEnd(i int) int {
	for i++; i < len(p.cells); i++ {
		c, before := &p.cells[i], &p.cells[i-1]
		if c.memory != before.memory+1 || c.index != before.index+1 || !p.isText(c) || !p.isText(before) ||
			!bytes.Equal(p.names[c.from:c.last], p.names[before.from:before.last]) {
			break
		}
	}
	return i
}

// text are the characters of cells.
func (p *page) text(from, to int) []byte {
	var text []byte
	for i := from; i < to; i++ {
		text = append(text, p.data(&p.cells[i])...)
	}
	return text
}

// lines are the page as text. They are valid until the next call.
func (p *page) lines() []byte {
	type row struct{ from, to int } // cells
	rows := make([]row, 0, len(p.cells))
	for i := 0; i < len(p.cells); {
		j := p.textEnd(i)
		if c := &p.cells[i]; j-i > 1 { // t(STRUCT)[2][0](CHAR) to t(STRUCT)[2][6](CHAR): the last index becomes 0..6
			name := slices.Clone(p.names[c.from:c.to])
			at := c.end - c.from - 1
			c.from = len(p.names)
			p.names = append(p.names, name[:at]...)
			p.names = strconv.AppendInt(append(p.names, ".."...), p.cells[j-1].index, 10)
			p.names = append(p.names, name[at:]...)
			c.to = len(p.names)
		}
		p.width = max(p.width, utf8.RuneCount(p.names[p.cells[i].from:p.cells[i].to]))
		rows = append(rows, row{i, j})
		i = j
	}
	out := p.out[:0]
	for _, r := range rows {
		c := &p.cells[r.from]
		name := p.names[c.from:c.to]
		out = append(append(out, "  "...), name...)
		for range p.width - utf8.RuneCount(name) {
			out = append(out, ' ')
		}
		out = append(appendAddress(append(out, "  "...), c.memory), "  "...)
		if r.to-r.from > 1 {
			out = append(out, QuoteBytes(p.text(r.from, r.to))...)
		} else {
			out = p.value(out, c)
		}
		out = append(out, '\n')
	}
	p.out = out
	return out
}

// value appends the value of an element, or why there is none.
func (p *page) value(dst []byte, c *cell) []byte {
	t, size := c.leaf, c.leaf.span()
	if t.Combiner() == abi.CombinerUnknown {
		return fmt.Appendf(dst, "not decoded yet: %d bytes of a type made by %s", t.Computed.Size, orUnknown(t.Name))
	}
	data := p.snap.BytesAt(c.memory, size)
	if len(data) < size {
		return fmt.Appendf(dst, "unmapped at 0x%x", c.memory+uint64(len(data)))
	}
	return t.appendElement(dst, data)
}

// appendAddress writes an address as %#014x does.
func appendAddress(dst []byte, addr uint64) []byte {
	const least = 12
	dst = append(dst, "0x"...)
	at := len(dst)
	dst = strconv.AppendUint(dst, addr, 16)
	if n := len(dst) - at; n < least {
		dst = slices.Insert(dst, at, []byte("000000000000")[:least-n]...)
	}
	return dst
}
