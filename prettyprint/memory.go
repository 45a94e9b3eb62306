package prettyprint

import (
	"fmt"
	"sort"
)

// MemoryReader reads the memory of a stopped rank (or a core file).
//
// ReadMemory fills p with the bytes at addr and returns how many it read. n < len(p) comes with an error and means that
// the byte at addr+n is not readable; bytes further on may be.
type MemoryReader interface {
	ReadMemory(addr uint64, p []byte) (n int, err error)
}

const (
	maxRecord     = 256 << 20 // bytes of one record: 32 million arguments
	maxRegistry   = 1 << 30   // bytes of all records read in one snapshot
	readChunk     = 1 << 20   // a record is allocated as it proves to be mapped
	maxSlots      = 1 << 26   // handles in one table
	maxDepth      = 1000      // constructors within constructors
	memoryPage    = 4096
	coalesceGap   = 512     // bytes read in vain rather than ask a second time
	maxBatch      = 1 << 20 // bytes of one read of buffer memory
	minMappedAddr = 4096    // no record lies in the first page
)

// readFull reads n bytes of the registry at addr for the purpose named by what. It allocates no more than was mapped,
// plus one chunk.
func (r *Registry) readFull(addr uint64, n int64, what string) ([]byte, error) {
	if n < 0 || n > maxRecord {
		return nil, errorf(KindTooLarge, addr,
			"%s at 0x%x claims %d bytes; Cohort reads at most %d. The registry is damaged, "+
				"or the type has more arguments than can be shown.", what, addr, n, int64(maxRecord))
	}
	if addr < minMappedAddr || addr+uint64(n) < addr {
		return nil, corrupt(addr, "%s cannot lie there", what)
	}
	if r.bytesRead += n; r.bytesRead > maxRegistry {
		return nil, errorf(KindTooLarge, addr,
			"Reading %s at 0x%x would make Cohort read more than %d bytes of the registry in one stop.",
			what, addr, int64(maxRegistry))
	}
	buf := make([]byte, 0, min(n, readChunk))
	for int64(len(buf)) < n {
		step := int(min(n-int64(len(buf)), readChunk))
		at := len(buf)
		buf = append(buf, make([]byte, step)...)
		got, err := r.mem.ReadMemory(addr+uint64(at), buf[at:])
		if got < step {
			bad := addr + uint64(at+max(got, 0))
			if err == nil {
				err = fmt.Errorf("%d of %d bytes were read", got, step)
			}
			return nil, &Error{
				Kind: KindUnreadable, Address: bad, Err: err,
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

// request is one piece of memory that an element needs.
type request struct {
	addr uint64
	size int
}

// snapshot holds the memory of one page of elements.
type snapshot struct{ spans []span } // ordered by address

// bytesAt returns the readable prefix of the size bytes at addr; when it is shorter than size, the byte after it is
// unmapped.
func (s *snapshot) bytesAt(addr uint64, size int) []byte {
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

// readAll reads what the requests (ordered by address) ask for. Neighbours are read together; around an unmapped page
// the rest is still read.
func readAll(mem MemoryReader, reqs []request) *snapshot {
	var s snapshot
	for i := 0; i < len(reqs); {
		start, end := reqs[i].addr, reqs[i].addr+uint64(reqs[i].size)
		j := i + 1
		for j < len(reqs) && reqs[j].addr <= end+coalesceGap && reqs[j].addr+uint64(reqs[j].size)-start <= maxBatch {
			end = max(end, reqs[j].addr+uint64(reqs[j].size))
			j++
		}
		s.read(mem, start, end, reqs[i:j])
		i = j
	}
	return &s
}

// read reads [start, end) for reqs. Where it fails, it goes on with the next page that a request touches: what lies in
// between may be mapped again.
func (s *snapshot) read(mem MemoryReader, start, end uint64, reqs []request) {
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
		for len(reqs) > 0 && reqs[0].addr+uint64(reqs[0].size) <= next {
			reqs = reqs[1:]
		}
		if len(reqs) == 0 {
			return
		}
		start = max(next, reqs[0].addr)
	}
}

func (s *snapshot) add(addr uint64, data []byte) {
	if len(data) == 0 {
		return
	}
	if k := len(s.spans) - 1; k >= 0 && s.spans[k].addr+uint64(len(s.spans[k].data)) == addr {
		s.spans[k].data = append(s.spans[k].data, data...)
		return
	}
	s.spans = append(s.spans, span{addr, data})
}
