package registry

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// MemoryReader reads the memory of a stopped rank (or a core file).
//
// ReadMemory fills p with the bytes at addr and returns how many it read. n < len(p) comes with an error and means that
// the byte at addr+n is not readable; bytes further on may be.
type MemoryReader interface {
	ReadMemory(addr uint64, p []byte) (n int, err error)
}

const (
	MaxRecord     = 256 << 20 // bytes of one record: 32 million arguments
	maxRegistry   = 1 << 30   // bytes of all records read in one snapshot
	readChunk     = 1 << 20   // a record is allocated as it proves to be mapped
	maxSlots      = 1 << 26   // handles in one table
	MaxDepth      = 1 << 14   // constructors within constructors
	memoryPage    = 4096
	coalesceGap   = 512     // bytes read in vain rather than ask a second time
	maxBatch      = 1 << 20 // bytes of one read of buffer memory
	minMappedAddr = 4096    // no record lies in the first page
)

// ReadFull reads n bytes of the registry at addr for the purpose named by what. It allocates no more than was mapped,
// plus one chunk.
func (r *Registry) ReadFull(addr uint64, n int64, what string) ([]byte, error) {
	if n < 0 || n > MaxRecord {
		return nil, fault.Errorf(fault.TooLarge, addr,
			"%s at 0x%x claims %d bytes; Cohort reads at most %d. The registry is damaged, "+
				"or the type has more arguments than can be shown.", what, addr, n, int64(MaxRecord))
	}
	if addr < minMappedAddr || addr+uint64(n) < addr {
		return nil, fault.Corruptf(addr, "%s cannot be there", what)
	}
	if r.bytesRead += n; r.bytesRead > maxRegistry {
		return nil, fault.Errorf(fault.TooLarge, addr,
			"Reading %s at 0x%x would make Cohort read more than %d bytes of the registry in one stop.",
			what, addr, int64(maxRegistry))
	}
	buf := make([]byte, 0, min(n, readChunk))
	for int64(len(buf)) < n {
		step := int(min(n-int64(len(buf)), readChunk))
		at := len(buf)
		buf = append(buf, make([]byte, step)...)
		got, err := r.Mem.ReadMemory(addr+uint64(at), buf[at:])
		if got < step {
			bad := addr + uint64(at+max(got, 0))
			if err == nil {
				err = fmt.Errorf("%d of %d bytes were read", got, step)
			}
			return nil, &fault.Error{
				Kind: fault.Unreadable, Address: bad, Err: err,
				Message: fmt.Sprintf("%s at 0x%x could not be read: memory at 0x%x: %v.", what, addr, bad, err),
			}
		}
	}
	return buf, nil
}

// span is a piece of buffer memory that was read.
type span struct {
	addr uint64
	data []byte
}

// Piece is one piece of memory that an element needs.
type Piece struct {
	Addr uint64
	Size int
}

// Snapshot holds the memory of one page of elements.
type Snapshot struct{ spans []span } // ordered by address

// BytesAt returns the readable prefix of the size bytes at addr; when it is shorter than size, the byte after it is
// unmapped.
func (s *Snapshot) BytesAt(addr uint64, size int) []byte {
	i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].addr > addr }) - 1
	if i < 0 {
		return nil
	}
	sp := s.spans[i]
	off := addr - sp.addr
	if off >= uint64(len(sp.data)) {
		return nil
	}
	return sp.data[off:min(off+uint64(size), uint64(len(sp.data)))]
}

// ReadAll reads what the requests (ordered by address) ask for. Neighbours are read together; around an unmapped page
// the rest is still read.
func ReadAll(mem MemoryReader, reqs []Piece) *Snapshot {
	var s Snapshot
	for i := 0; i < len(reqs); {
		start, end := reqs[i].Addr, reqs[i].Addr+uint64(reqs[i].Size)
		j := i + 1
		for j < len(reqs) && reqs[j].Addr <= end+coalesceGap && reqs[j].Addr+uint64(reqs[j].Size)-start <= maxBatch {
			end = max(end, reqs[j].Addr+uint64(reqs[j].Size))
			j++
		}
		s.read(mem, start, end, reqs[i:j])
		i = j
	}
	return &s
}

// read reads [start, end) for reqs. Where it fails, it continues with the next page that a request touches: what lies
// in between may be mapped again.
func (s *Snapshot) read(mem MemoryReader, start, end uint64, reqs []Piece) {
	for all := make([]byte, end-start); start < end; {
		buf := all[uint64(len(all))-(end-start):]
		n, _ := mem.ReadMemory(start, buf) // the contract: an error is how the reader says "unmapped from here"
		n = min(max(n, 0), len(buf))
		s.add(start, buf[:n])
		if n == len(buf) {
			return
		}
		bad := start + uint64(n)
		next := bad/memoryPage*memoryPage + memoryPage
		if next <= bad { // the top of the address space
			return
		}
		for len(reqs) > 0 && reqs[0].Addr+uint64(reqs[0].Size) <= next {
			reqs = reqs[1:]
		}
		if len(reqs) == 0 {
			return
		}
		start = max(next, reqs[0].Addr)
	}
}

func (s *Snapshot) add(addr uint64, data []byte) {
	if len(data) == 0 {
		return
	}
	if k := len(s.spans) - 1; k >= 0 && s.spans[k].addr+uint64(len(s.spans[k].data)) == addr {
		s.spans[k].data = append(s.spans[k].data, data...)
		return
	}
	s.spans = append(s.spans, span{addr, data})
}

// text reads a NUL-terminated text; what cannot be read is left out.
func (r *Registry) text(addr uint64, most int) string {
	var out []byte
	for len(out) < most {
		b := make([]byte, min(256, most-len(out)))
		n, _ := r.Mem.ReadMemory(addr+uint64(len(out)), b) // a text at the end of mapped memory is shorter
		n = min(max(n, 0), len(b))
		if i := bytes.IndexByte(b[:n], 0); i >= 0 {
			return string(bytes.ToValidUTF8(append(out, b[:i]...), []byte("?")))
		}
		if out = append(out, b[:n]...); n < len(b) {
			break
		}
	}
	return string(bytes.ToValidUTF8(out, []byte("?"))) + "..."
}

// Integers reads an array of n numbers, of 8 bytes each if wide, else of 4.
func (r *Registry) Integers(what string, addr uint64, n int, wide bool) ([]int64, error) {
	size := 4
	if wide {
		size = 8
	}
	b, err := r.ReadArray(what, addr, n, size)
	if err != nil {
		return nil, err
	}
	out := make([]int64, n)
	for i := range out {
		if wide {
			out[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		} else {
			out[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		}
	}
	return out, nil
}

func (r *Registry) ReadArray(what string, addr uint64, n, size int) ([]byte, error) {
	if n > MaxParts {
		return nil, fault.Errorf(fault.TooLarge, addr, "%s has %d entries; at most %d are read.", what, n, MaxParts)
	}
	b := make([]byte, n*size)
	if got, err := r.Mem.ReadMemory(addr, b); got < len(b) {
		return nil, &fault.Error{
			Kind: fault.Unreadable, Address: addr + uint64(max(got, 0)), Err: err,
			Message: fmt.Sprintf("The %s of %s at 0x%x cannot be read: unmapped at 0x%x.",
				view.Plural(int64(n), "entry"),
				what, addr, addr+uint64(max(got, 0))),
		}
	}
	return b, nil
}

// MaxParts bounds the parts of a buffer that has one for each member.
const MaxParts = 1 << 20

// Words is an array of 64-bit integers that stays in the form in which it was read, to be allocated once.
type Words []byte

// Len is the number of integers.
func (w Words) Len() int { return len(w) / 8 }

// At is the i-th as a number.
func (w Words) At(i int) int64 { return int64(w.Addr(i)) }

// Addr is the i-th as an address.
func (w Words) Addr(i int) uint64 { return binary.LittleEndian.Uint64(w[8*i:]) }

// Text is the text in a field of a record.
func Text(field []byte) string { return strings.ToValidUTF8(abi.Text(field), "?") }
