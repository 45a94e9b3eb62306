package datatype

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Text writes the elements one per line: address in the expanded type-tree, address in memory, value; neighbouring
// characters as one string. At most opt.MaxList elements are read and shown; the others are counted.
func (b *Buffer) Text(w io.Writer, opt view.Options) error {
	opt = opt.Filled()
	total := b.Len()
	if opt.From > 0 && opt.From >= total {
		return fault.Errorf(fault.Usage, 0, "The buffer has %s, numbered from 0; there is no element %s to begin with.",
			BasicElements(total), view.Grouped(opt.From))
	}
	shown := min(total, opt.From+int64(opt.MaxList))
	p := textPage{b: b}
	for from := opt.From; from < shown; from += textPageSize {
		p.read(from, min(from+textPageSize, shown))
		if _, err := w.Write(p.lines()); err != nil {
			return fmt.Errorf("writing text: %w", err)
		}
	}
	if rest := total - shown; rest > 0 {
		return view.Write(w, "  ... %s more, with --from %d\n", view.Grouped(rest), shown)
	}
	return nil
}

// textPageSize is how many elements are in memory at a time; characters are joined within a page.
const textPageSize = 1 << 13

// textPage makes the lines of a page of elements. A million of them are printed at once, so nothing is allocated for
// each: what one page has used, the next one uses again. Elements (buffer.go) is the same for those who want values.
type textPage struct {
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

// read fills the page with the elements [from, to).
func (p *textPage) read(from, to int64) {
	p.cells, p.names, p.reqs = p.cells[:0], p.names[:0], p.reqs[:0]
	sorted := true
	p.b.root.walk(from, to, func(l *Location, e Element, n int64) {
		c := cell{leaf: e.Leaf, memory: p.b.addr + uint64(e.Offset)}
		p.name(&c, l, e, n)
		p.cells = append(p.cells, c)
		if size := e.Leaf.span(); e.Leaf.Combiner() != abi.CombinerUnknown && c.memory+uint64(size) > c.memory {
			if k := len(p.reqs); k > 0 && p.reqs[k-1].Addr > c.memory {
				sorted = false
			}
			p.reqs = append(p.reqs, registry.Piece{Addr: c.memory, Size: size})
		}
	})
	if !sorted {
		sortRequests(p.reqs)
	}
	p.snap = registry.ReadAll(p.b.mem, p.reqs)
}

// name writes the address of an element in the expanded type-tree, in its long form.
func (p *textPage) name(c *cell, l *Location, e Element, n int64) {
	out := p.names
	c.from = len(out)
	out = append(out, l.prefix...)
	// Of a row of basic elements the index is that of the instance, which the prefix ends with.
	c.last, c.end = c.from+max(bytes.LastIndexAny(out[c.from:], "[{"), 0), len(out)
	c.index = n
	for _, s := range e.Path {
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

// joins reports whether a character continues the string that the one before it ends.
func (p *textPage) joins(c, before *cell) bool {
	if c.leaf.basic() != abi.BasicChar || before.leaf.basic() != abi.BasicChar || c.memory != before.memory+1 ||
		c.index != before.index+1 ||
		c.leaf.span() != 1 || before.leaf.span() != 1 {
		return false
	}
	return bytes.Equal(p.names[c.from:c.last], p.names[before.from:before.last]) && p.data(c) != nil &&
		p.data(before) != nil
}

// data are the bytes of an element, or nil if they are not all mapped.
func (p *textPage) data(c *cell) []byte {
	size := c.leaf.span()
	if d := p.snap.BytesAt(c.memory, size); len(d) == size {
		return d
	}
	return nil
}

// lines are the page as text. They are valid until the next call.
func (p *textPage) lines() []byte {
	type row struct{ from, to int } // cells
	rows := make([]row, 0, len(p.cells))
	for i := 0; i < len(p.cells); {
		j := i + 1
		for j < len(p.cells) && p.joins(&p.cells[j], &p.cells[j-1]) {
			j++
		}
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
		out = append(append(out, "  "...), p.names[c.from:c.to]...)
		for range p.width - utf8.RuneCount(p.names[c.from:c.to]) {
			out = append(out, ' ')
		}
		out = appendAddress(append(out, "  "...), c.memory)
		out = append(out, "  "...)
		if r.to-r.from > 1 {
			text := make([]byte, 0, r.to-r.from)
			for i := r.from; i < r.to; i++ {
				text = append(text, p.data(&p.cells[i])...)
			}
			out = append(out, QuoteBytes(text)...)
		} else {
			out = p.value(out, c)
		}
		out = append(out, '\n')
	}
	p.out = out
	return out
}

// value appends the value of an element, or why there is none.
func (p *textPage) value(dst []byte, c *cell) []byte {
	if data := p.data(c); data != nil {
		if out, ok := c.leaf.appendNumber(dst, data); ok {
			return out
		}
	}
	v := Value{Type: c.leaf, Memory: c.memory}
	v.format(p.snap)
	return append(dst, v.Text...)
}

// appendNumber appends a value of the types that large buffers are made of, as formatElement shows it; ok is false for
// others.
func (t *Type) appendNumber(dst, data []byte) (out []byte, ok bool) {
	switch b := t.basic(); {
	case b == abi.BasicFloat && len(data) == 8:
		return appendShortest(dst, math.Float64frombits(binary.LittleEndian.Uint64(data)), 64), true
	case b == abi.BasicFloat && len(data) == 4:
		return appendShortest(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))), 32), true
	case b == abi.BasicInt && len(data) == 8:
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(data)), 10), true
	case b == abi.BasicInt && len(data) == 4:
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(data))), 10), true
	case b == abi.BasicUint && len(data) == 8:
		return strconv.AppendUint(dst, binary.LittleEndian.Uint64(data), 10), true
	case b == abi.BasicUint && len(data) == 4:
		return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(data)), 10), true
	}
	return dst, false
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
