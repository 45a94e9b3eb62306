package datatype

import (
	"fmt"
	"math"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Buffer is memory as a datatype selects it: count instances of a type from an address on. Nothing is read before it is
// asked for.
type Buffer struct {
	mem  registry.MemoryReader
	addr uint64
	root Location
}

// Value is one basic element of a buffer.
type Value struct {
	Index   int64  // its number in the buffer or the part of it that is looked at, in typemap order
	Address string // in the expanded type-tree: t(STRUCT)[2][5](CHAR)
	Memory  uint64 // its address in the rank
	Type    *Type  // its basic type
	Text    string // the value, or why there is none
	Bytes   []byte // those that MPI_Pack would take; nil if they are not all mapped
}

// Buffer views count instances of t at addr, as an MPI call with these arguments does; addr 0 is MPI_BOTTOM. name
// stands for the type in addresses: t(STRUCT)[2][5](CHAR), or t{3}(STRUCT)[2][5](CHAR) if count is not 1.
func (r *Types) Buffer(name string, addr uint64, t *Type, count int64) (*Buffer, error) {
	if err := t.Check(count, "buffer"); err != nil {
		return nil, err
	}
	return &Buffer{r.Mem, addr, t.instances(name, count)}, nil
}

// Select returns the part of the buffer at an address of the expanded type-tree.
func (b *Buffer) Select(a Address) (*Buffer, error) {
	if a.IsZero() {
		return b, nil
	}
	l, err := b.root.at(a)
	if err != nil {
		return nil, err
	}
	return &Buffer{b.mem, b.addr, l}, nil
}

// Len is the number of basic elements.
func (b *Buffer) Len() int64 { return b.root.Elements() }

// Elements returns the elements [from, to) with their values, at most 1048576 of them, reading only their memory.
// Memory that is not mapped is reported in the values, not as an error.
func (b *Buffer) Elements(from, to int64) ([]Value, error) {
	if from < 0 || to < from || to > b.Len() || to-from > view.MaxPage {
		return nil, fault.Errorf(fault.Usage, 0,
			"Elements %d to %d of a buffer of %d were asked for, or more than %d at once.",
			from, to, b.Len(), view.MaxPage)
	}
	p := b.page(from, to)
	vals := make([]Value, len(p.cells))
	for i := range p.cells {
		c := &p.cells[i]
		vals[i] = Value{from + int64(i), string(p.names[c.from:c.to]), c.memory, c.leaf, string(p.value(nil, c)), nil}
		if data := p.data(c); data != nil && c.leaf.Combiner() != abi.CombinerUnknown {
			for _, part := range c.leaf.parts() {
				vals[i].Bytes = append(vals[i].Bytes, data[part.offset:][:part.size]...)
			}
		}
	}
	return vals, nil
}

// Node is the buffer, or the selected part of it, as a tree of values: the expanded type-tree of the paper (IV.B),
// opened lazily. Stages with only one child are not shown by themselves; they appear in the child's name, as in [3][0].
func (b *Buffer) Node(name string) view.Node {
	l := b.root
	n := view.Leaf(name, b.preview())
	if w := min(l.width(), math.MaxInt32); w > 0 {
		n = view.List(name, n.Value, int(w), func(k int) view.Node {
			c := l.child(int64(k))
			for c.width() == 1 {
				c = c.child(0)
			}
			return (&Buffer{b.mem, b.addr, c}).Node(strings.TrimPrefix(c.brief(), l.brief()))
		})
	}
	n.Type, n.Address = l.TypeText(), b.addr+uint64(l.Start())
	return n
}

// preview shows up to four values in one line, or the beginning of a text.
func (b *Buffer) preview() string {
	const most, mostText = 4, 64
	l, n := b.root, b.Len()
	switch {
	case l.row < 0 && l.t.isMarker():
		return fmt.Sprintf("%s at offset %d", l.t.Label(), l.base)
	case n == 0:
		return "no elements"
	}
	p := b.page(0, min(n, mostText))
	if end := p.textEnd(0); end > 1 && end == len(p.cells) {
		s := QuoteBytes(p.text(0, end))
		if n > int64(end) {
			s += "…"
		}
		return s
	}
	var s []string
	for i := range p.cells[:min(len(p.cells), most)] {
		s = append(s, string(p.value(nil, &p.cells[i])))
	}
	switch {
	case n == 1:
		return s[0]
	case n > most:
		s = append(s, "…")
	}
	return "{" + strings.Join(s, ", ") + "}"
}
