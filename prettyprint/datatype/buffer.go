package datatype

import (
	"fmt"
	"slices"
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
	Index      int64  // its number in the buffer or the part of it that is looked at, in typemap order
	Address    string // in the expanded type-tree, long form: t(STRUCT)[2][5](CHAR)
	Short      string // short form: t[2][5]
	Memory     uint64 // its address in the rank
	Type       *Type  // its basic type
	Text       string // the value, or why there is none
	Bytes      []byte // the bytes that MPI_Pack would take; nil if they are not all mapped
	Unmapped   bool   // a byte of it is not mapped, the first one at UnmappedAt
	UnmappedAt uint64

	group string // what its neighbours in one string have in common
	last  int64  // and what tells them apart
}

// Buffer views count instances of t at addr, as an MPI call with these arguments does; addr 0 is MPI_BOTTOM. name
// stands for the type in addresses: t(STRUCT)[2][5](CHAR), or t{3}(STRUCT)[2][5](CHAR) if count is not 1.
func (r *Types) Buffer(name string, addr uint64, t *Type, count int64) (*Buffer, error) {
	if t.problem != nil {
		return nil, t.problem
	}
	if count < 0 {
		return nil, fault.Errorf(fault.Usage, 0, "The count %d is negative; MPI takes counts from 0 on.", count)
	}
	var c Calc
	c.Mul(count, t.elements)
	c.Mul(count, t.Figures().Extent)
	if c.Bad {
		return nil, fault.Errorf(fault.TooLarge, 0, "%d instances of the datatype %s are more than 2^62 elements or bytes.",
			count, t.Title())
	}
	row := count
	if count == 1 {
		row = -1
	}
	return &Buffer{mem: r.Mem, addr: addr, root: Location{prefix: name, short: name, t: t, row: row}}, nil
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
	return &Buffer{mem: b.mem, addr: b.addr, root: l}, nil
}

// Len is the number of basic elements.
func (b *Buffer) Len() int64 { return b.root.Elements() }

// Elements returns the elements [from, to) with their values, at most 1048576 of them, reading only their memory.
// Memory that is not mapped is reported in the values, not as an error.
func (b *Buffer) Elements(from, to int64) ([]Value, error) {
	if from < 0 || to < from || to > b.Len() || to-from > view.MaxPage {
		return nil, fault.Errorf(fault.Usage, 0, "Elements %d to %d of a buffer of %d were asked for, or more than %d at once.",
			from, to, b.Len(), view.MaxPage)
	}
	vals := make([]Value, 0, to-from)
	b.root.walk(from, to, func(l *Location, e Element, n int64) {
		v := Value{Index: n, Type: e.Leaf, Memory: b.addr + uint64(e.Offset)}
		v.setAddress(l, e)
		vals = append(vals, v)
	})
	b.fill(vals)
	return vals, nil
}

// walk visits the elements [from, to) of the place. l is the instance that the element's path starts from.
func (l Location) walk(from, to int64, visit func(l *Location, e Element, n int64)) {
	var w walker
	for n := from; n < to; {
		in, first, end := l, n, to
		if l.row >= 0 {
			k := n / l.t.elements
			in, first, end = l.child(k), n%l.t.elements, min(to, (k+1)*l.t.elements)
		} else {
			first += l.first()
		}
		w.frames = w.frames[:0]
		w.descend(in.t, first, in.base)
		for {
			visit(&in, w.element(first), n)
			first++
			n++
			if n >= end {
				break
			}
			w.next()
		}
	}
}

func (v *Value) setAddress(l *Location, e Element) {
	long, short := l.prefix, l.short
	for _, s := range e.Path {
		idx := brackets(s.Index)
		long += "(" + s.Type.Label() + ")" + idx
		short += idx
	}
	v.Short = short
	v.Address = long + "(" + e.Leaf.Label() + ")"
	if k := strings.LastIndexAny(short, "[{"); k >= 0 {
		v.group = short[:k]
	}
	if len(e.Path) > 0 {
		v.last = e.Path[len(e.Path)-1].Index[len(e.Path[len(e.Path)-1].Index)-1]
	} else {
		v.last = v.Index
	}
}

// fill reads the memory of the values and formats them.
func (b *Buffer) fill(vals []Value) {
	reqs := make([]registry.Piece, 0, len(vals))
	for i := range vals {
		if v := &vals[i]; v.Type.Combiner() != abi.CombinerUnknown && v.Memory+uint64(v.Type.span()) > v.Memory {
			reqs = append(reqs, registry.Piece{Addr: v.Memory, Size: v.Type.span()})
		}
	}
	sortRequests(reqs)
	snap := registry.ReadAll(b.mem, reqs)
	for i := range vals {
		vals[i].format(snap)
	}
}

// sortRequests puts them into the order of their addresses, the longest first of those at one address.
func sortRequests(reqs []registry.Piece) {
	slices.SortFunc(reqs, func(x, y registry.Piece) int {
		switch {
		case x.Addr < y.Addr:
			return -1
		case x.Addr > y.Addr:
			return 1
		}
		return y.Size - x.Size
	})
}

// span is the number of bytes from the start of a basic element to its end.
func (t *Type) span() int { return int(t.own.TrueExtent) }

func (v *Value) format(snap *registry.Snapshot) {
	if v.Type.Combiner() == abi.CombinerUnknown {
		v.Text = fmt.Sprintf("not decoded yet: %d bytes of a type made by %s", v.Type.own.Size,
			orUnknown(v.Type.Name()))
		return
	}
	size := v.Type.span()
	data := snap.BytesAt(v.Memory, size)
	if len(data) < size {
		v.Unmapped, v.UnmappedAt = true, v.Memory+uint64(len(data))
		v.Text = fmt.Sprintf("unmapped at 0x%x", v.UnmappedAt)
		return
	}
	for _, p := range v.Type.parts() {
		v.Bytes = append(v.Bytes, data[p.offset:p.offset+p.size]...)
	}
	v.Text = v.Type.formatElement(data)
}

// isText reports whether v and its neighbours may be shown as one string.
func (v *Value) isText() bool {
	return v.Type.basic() == abi.BasicChar && len(v.Bytes) == 1
}

// follows reports whether v continues the string that w ends.
func (v *Value) follows(w *Value) bool {
	return v.isText() && w.isText() && v.group == w.group && v.last == w.last+1 && v.Memory == w.Memory+1
}

// preview shows up to four values of the place in one line.
func (b *Buffer) preview(l Location) (string, error) {
	const most, mostText = 4, 64
	n := l.Elements()
	if n == 0 {
		if l.row < 0 && l.t.isMarker() {
			return "bound only, no memory", nil
		}
		return "no elements", nil
	}
	sub := &Buffer{mem: b.mem, addr: b.addr, root: l}
	vals, err := sub.Elements(0, min(n, mostText))
	if err != nil {
		return "", err
	}
	end := 1
	for end < len(vals) && vals[end].follows(&vals[end-1]) {
		end++
	}
	if end > 1 && end == len(vals) {
		s := QuoteBytes(textOf(vals))
		if n > int64(end) {
			s += "…"
		}
		return s, nil
	}
	if n == 1 {
		return vals[0].Text, nil
	}
	var s []string
	for i := range vals[:min(len(vals), most)] {
		s = append(s, vals[i].Text)
	}
	if n > most {
		s = append(s, "…")
	}
	return "{" + strings.Join(s, ", ") + "}", nil
}

func textOf(vals []Value) []byte {
	b := make([]byte, len(vals))
	for i := range vals {
		b[i] = vals[i].Bytes[0]
	}
	return b
}
