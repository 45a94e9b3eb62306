// Package prettyprinttest builds registry images for tests of decoders: it lays out the structs of
// pmpi/include/cohort_abi.h in a fake memory, with any fault that a test wants, and holds a brute-force oracle for
// datatypes (explicit typemaps).
//
// It is written from pmpi/abi and the MPI standard, not from the packages below prettyprint, none of which it imports:
// a mistake in one does not hide in the other.
package prettyprinttest

import (
	"errors"
	"sort"
)

// ErrUnmapped is what Memory returns beyond its regions.
var ErrUnmapped = errors.New("memory is not mapped")

// Memory is a sparse fake memory. Its zero value is empty. It counts what is read.
type Memory struct {
	regions []region // by address, disjoint
	Reads   int      // calls of ReadMemory
	Bytes   int      // bytes delivered
}

type region struct {
	addr uint64
	data []byte
}

// Map puts data at addr. Regions must not overlap; neighbours are joined on reading.
func (m *Memory) Map(addr uint64, data []byte) {
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].addr >= addr })
	m.regions = append(m.regions, region{})
	copy(m.regions[i+1:], m.regions[i:])
	m.regions[i] = region{addr, data}
}

// ReadMemory reads like a debugger: as far as memory is mapped.
func (m *Memory) ReadMemory(addr uint64, p []byte) (int, error) {
	m.Reads++
	n := 0
	for n < len(p) {
		at := addr + uint64(n)
		i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].addr > at }) - 1
		if i < 0 || at-m.regions[i].addr >= uint64(len(m.regions[i].data)) {
			break
		}
		n += copy(p[n:], m.regions[i].data[at-m.regions[i].addr:])
	}
	m.Bytes += n
	if n < len(p) {
		return n, ErrUnmapped
	}
	return n, nil
}

// Regions returns the mapped pieces' contents, for tests that damage them.
func (m *Memory) Regions() [][]byte {
	out := make([][]byte, len(m.regions))
	for i := range m.regions {
		out[i] = m.regions[i].data
	}
	return out
}
