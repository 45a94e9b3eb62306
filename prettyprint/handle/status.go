package handle

import (
	"encoding/binary"
	"fmt"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Status is an MPI_Status as the library has written it.
type Status struct {
	r                  *Rank
	Source, Tag, Error int32
	Bytes              int64
	Cancelled          bool
}

// StatusAt reads the status at an address. In both libraries Fortran's has the bytes of C's.
func (r *Rank) StatusAt(addr uint64) (*Status, error) {
	size := map[abi.MPI]int{abi.MPICH: 20, abi.OpenMPI: 24}[r.MPI()]
	b := make([]byte, size)
	if n, err := r.Mem.ReadMemory(addr, b); n < size {
		return nil, &fault.Error{
			Kind: fault.Unreadable, Address: addr + uint64(max(n, 0)), Err: err,
			Message: fmt.Sprintf("The status at 0x%x cannot be read: unmapped at 0x%x.", addr, addr+uint64(max(n, 0))),
		}
	}
	word := func(i int) int32 { return int32(binary.LittleEndian.Uint32(b[4*i:])) }
	if r.MPI() == abi.MPICH {
		low, high := uint32(word(0)), uint32(word(1))
		return &Status{
			r: r, Bytes: int64(uint64(high>>1)<<32 | uint64(low)), Cancelled: high&1 != 0, Source: word(2),
			Tag: word(3), Error: word(4),
		}, nil
	}
	return &Status{
		r: r, Source: word(0), Tag: word(1), Error: word(2), Cancelled: word(3) != 0,
		Bytes: int64(binary.LittleEndian.Uint64(b[16:])),
	}, nil
}

// Summary says in a line what the status tells: who sent what was received, with which tag, and how many bytes.
func (s *Status) Summary() string {
	if int64(s.Source) == s.r.AnySource() && s.Tag == registry.AnyTag && s.Bytes == 0 {
		return "empty: of no message"
	}
	from := "from " + s.r.RankText(int64(s.Source), nil)
	tag := fmt.Sprintf("tag %d", s.Tag)
	if s.Tag == registry.AnyTag {
		tag = "any tag"
	}
	text := fmt.Sprintf("%s, %s, %s", from, tag, view.ByteCount(s.Bytes))
	if s.Bytes < 0 {
		text = fmt.Sprintf("%s, %s, a size of %d, which none has: it may not be initialised", from, tag, s.Bytes)
	}
	if s.Cancelled {
		text += ", cancelled"
	}
	return text
}

// Node is the status as a tree.
func (s *Status) Node(name string) view.Node {
	code := fmt.Sprint(s.Error)
	if s.Error == 0 {
		code += " (MPI_SUCCESS)"
	}
	n := view.Group(name, s.Summary(), []view.Node{
		view.Leaf("MPI_SOURCE", s.r.RankText(int64(s.Source), nil)), view.Number("MPI_TAG", s.Tag),
		view.Leaf("MPI_ERROR", code+"; set only by calls that give several statuses"),
		view.Leaf("size", view.ByteCount(s.Bytes)), view.Leaf("cancelled", yesNo(s.Cancelled)),
	})
	n.Type = "MPI_Status"
	return n
}
