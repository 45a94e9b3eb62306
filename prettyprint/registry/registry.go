// Package registry decodes the records that the interposer keeps in a rank's memory (pmpi/include/cohort_abi.h): tables
// of handles, and of each kind its record, as far as bytes tell. What a record means is for the packages above it.
//
// **Invariant:** nothing that is read from the rank is trusted: counts are bounded before they are used, records are read
// in pieces that must be mapped before more is allocated.
package registry

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// Registry is one stop's view of the registry of one rank: what it has read, it keeps, so it is valid until the rank
// runs again; then Open another. Its methods are not safe for concurrent use.
type Registry struct {
	Mem    MemoryReader
	addr   uint64
	Header Header

	heads     map[uint64]Head     // that were read, by address of the record
	tables    map[Kind]*slotTable // read whole at the first listing or lookup by Fortran handle or name
	Env       Surroundings
	machine   *string // see Surroundings.Machine; nil: not asked yet
	bytesRead int64
}

// slotTable is one hash table, read whole.
type slotTable struct {
	live    []slot
	headers *Snapshot // of the records, if they were read together
	// made of them by Heads
	heads    []Head
	problems []error
	unread   int
}

type slot struct{ handle, Record uint64 }

// Open reads the header of the registry at addr, the address of the symbol cohort_registry in the rank. It fails with
// an [*Error] of kind KindNoInterposer, KindVersion, KindNotReady or KindUnreadable.
func Open(mem MemoryReader, addr uint64) (*Registry, error) {
	if addr == 0 {
		return nil, noInterposer(0, "The program has no symbol cohort_registry.")
	}
	r := &Registry{
		Mem: mem, addr: addr, heads: map[uint64]Head{}, tables: map[Kind]*slotTable{},
	}
	b, err := r.ReadFull(addr, registrySize, "The registry's header")
	if err != nil {
		return nil, err
	}
	r.Header = decodeRegistry(b)
	switch {
	case r.Header.magic == 0:
		return nil, fault.Errorf(fault.NotReady, addr, "The interposer has not started yet: its registry is still empty. "+
			"Let the rank return from MPI_Init and ask again.")
	case r.Header.magic != registryMagic:
		return nil, noInterposer(addr,
			fmt.Sprintf("The memory at 0x%x is not Cohort's registry: it begins with 0x%x, not with 0x%x.",
				addr, r.Header.magic, uint64(registryMagic)))
	case r.Header.version != abiVersion:
		return nil, fault.Errorf(fault.Version, addr,
			"The rank's libcohort.so writes registries of version %d; this Cohort reads version %d. "+
				"Start the program with the libcohort.so of this Cohort.", r.Header.version, abiVersion)
	case r.Header.size < registrySize:
		return nil, fault.Corruptf(addr, "the header says that it has %d bytes, and version %d has %d", r.Header.size, abiVersion,
			registrySize)
	case r.MPI() != MPICH && r.MPI() != OpenMPI:
		return nil, fault.Corruptf(addr, "the header names MPI number %d, and only 1 (MPICH) and 2 (Open MPI) exist",
			r.Header.mpi)
	case r.Header.handleSize != 4 && r.Header.handleSize != 8:
		return nil, fault.Corruptf(addr, "the header says that a handle has %d bytes", r.Header.handleSize)
	}
	return r, nil
}

// Foreign is the registry of records that came from another rank: it has no tables.
func Foreign(mem MemoryReader, mpi MPI, handleSize int) *Registry {
	return &Registry{
		Mem: mem, Header: Header{mpi: uint32(mpi), handleSize: uint32(handleSize)},
		heads: map[uint64]Head{}, tables: map[Kind]*slotTable{},
	}
}

func noInterposer(addr uint64, found string) *fault.Error {
	return fault.Errorf(fault.NoInterposer, addr,
		"%s MPI handles can be shown only in a program that runs with Cohort's interposer, "+
			"libcohort.so. Start it with `cohort debug` or `cohort record`, which preload it.", found)
}

// MPI tells which library the rank uses.
func (r *Registry) MPI() MPI { return MPI(r.Header.mpi) }

// HandleSize is the number of bytes of an MPI_Datatype or MPI_Comm in C.
func (r *Registry) HandleSize() int { return int(r.Header.handleSize) }

// maskHandle cuts a sign-extended value to the width of a C handle.
func (r *Registry) maskHandle(h uint64) uint64 {
	if r.Header.handleSize == 4 {
		return h & 0xffffffff
	}
	return h
}

func (r *Registry) capacity(k *Class) (uint64, error) {
	table := r.tableOf(k.Kind)
	if table == 0 {
		return 0, fault.Errorf(fault.NotReady, r.addr,
			"The rank has no table of %s yet. Let it return from MPI_Init and ask again.", k.Words())
	}
	b, err := r.ReadFull(table, slotsHeader, "The table of "+k.Words())
	if err != nil {
		return 0, err
	}
	c := Cursor{B: b}
	n := c.u64()
	if n == 0 || n&(n-1) != 0 || n > maxSlots {
		return 0, fault.Corruptf(table, "the table of %s claims %d slots, which is not a power of two up to %d", k.Words(), n,
			maxSlots)
	}
	return n, nil
}

// slots reads a whole table with the headers of its records, once per stop.
func (r *Registry) slots(k *Class) ([]slot, error) {
	if t := r.tables[k.Kind]; t != nil {
		return t.live, nil
	}
	n, err := r.capacity(k)
	if err != nil {
		return nil, err
	}
	t := &slotTable{}
	for at := uint64(0); at < n; {
		count := min(n-at, readChunk/slotSize)
		b, err := r.ReadFull(r.tableOf(k.Kind)+slotsHeader+at*slotSize, int64(count*slotSize), "The table of "+k.Words())
		if err != nil {
			return nil, err
		}
		for c := (Cursor{B: b}); len(c.B) > 0; {
			if s := (slot{c.u64(), c.u64()}); s.Record != slotEmpty && s.Record != slotFreed {
				t.live = append(t.live, s)
			}
		}
		at += count
	}
	r.prefetch(t, k.Size)
	r.tables[k.Kind] = t
	return t.live, nil
}

// maxListed bounds the records whose headers are read for a listing; more are counted.
const maxListed = 1 << 17

// prefetch reads the headers of a table's records, neighbours together: a debugger's memory is far away.
func (r *Registry) prefetch(t *slotTable, size int) {
	var reqs []Piece
	for _, s := range t.live[:min(len(t.live), maxListed)] {
		if s.Record >= minMappedAddr && s.Record+uint64(size) > s.Record {
			reqs = append(reqs, Piece{s.Record, size})
		}
	}
	slices.SortFunc(reqs, func(a, b Piece) int { return cmp.Compare(a.Addr, b.Addr) })
	t.headers = ReadAll(r.Mem, reqs)
	for _, sp := range t.headers.spans {
		r.bytesRead += int64(len(sp.data))
	}
}

// recordBytes reads a record without what follows it.
func (r *Registry) recordBytes(k *Class, rec uint64) ([]byte, error) {
	if t := r.tables[k.Kind]; t != nil {
		if b := t.headers.BytesAt(rec, k.Size); len(b) == k.Size {
			return b, nil
		}
	}
	return r.ReadFull(rec, int64(k.Size), "The record of a "+k.Word)
}
