// Package registry decodes the records that the interposer keeps in a rank's memory (pmpi/include/cohort_abi.h): tables
// of handles, and of each kind its record, as far as bytes tell. What a record means is for the packages above it.
//
// **Invariant:** nothing that is read from the rank is trusted: counts are bounded before they are used, records are
// read in pieces that must be mapped before more is allocated.
package registry

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// Registry is one stop's view of the registry of one rank: what it has read, it keeps, so it is valid until the rank
// runs again; then Open another. Its methods are not safe for concurrent use.
type Registry struct {
	Mem    MemoryReader
	addr   uint64
	Header abi.Registry

	heads     map[uint64]Head     // that were read, by address of the record
	tables    map[Kind]*slotTable // read whole at the first listing or lookup by Fortran handle or name
	Env       Surroundings
	machine   *string // see Surroundings.Machine; nil: not asked yet
	bytesRead int64
}

// slotTable is one hash table, read whole.
type slotTable struct {
	live    []abi.Slot
	headers *Snapshot // of the records, read together
	names   *Snapshot // of their beginnings, likewise
	// made of them by Heads
	heads    []Head
	problems []error
	unread   int
}

const (
	registrySize = int64(unsafe.Sizeof(abi.Registry{}))
	slotsHeader  = uint64(unsafe.Sizeof(abi.Slots{}))
	slotSize     = uint64(unsafe.Sizeof(abi.Slot{}))

	// records of a slot that leads to none
	slotEmpty = 0
	slotFreed = 1

	// NoFortran is the Fortran handle of what has none that is known.
	NoFortran = -1
)

// hashHandle is cohort_hash of cohort_abi.h.
func hashHandle(h uint64) uint64 { return (h * 0x9E3779B97F4A7C15) >> 20 }

// Open reads the header of the registry at addr, the address of the symbol cohort_registry in the rank. It fails with
// an [*Error] of kind KindNoInterposer, KindVersion, KindNotReady or KindUnreadable.
func Open(mem MemoryReader, addr uint64) (*Registry, error) {
	if addr == 0 {
		return nil, noInterposer(0, "The program has no symbol cohort_registry.")
	}
	r := newRegistry(mem, addr)
	b, err := r.ReadFull(addr, registrySize, "The registry's header")
	if err != nil {
		return nil, err
	}
	r.Header = abi.Read[abi.Registry](b)
	switch {
	case r.Header.Magic == 0:
		return nil, fault.Errorf(fault.NotReady, addr, "The interposer has not started yet: its registry is still "+
			"empty. Let the rank return from MPI_Init and ask again.")
	case r.Header.Magic != abi.RegistryMagic:
		return nil, noInterposer(addr,
			fmt.Sprintf("The memory at 0x%x is not Cohort's registry: it begins with 0x%x, not with 0x%x.",
				addr, r.Header.Magic, uint64(abi.RegistryMagic)))
	case r.Header.Version != abi.RegistryVersion:
		return nil, fault.Errorf(fault.Version, addr,
			"The rank's libcohort.so writes registries of version %d; this Cohort reads version %d. "+
				"Start the program with the libcohort.so of this Cohort.", r.Header.Version, abi.RegistryVersion)
	case int64(r.Header.Size) < registrySize:
		return nil, fault.Corruptf(addr, "the header says that it has %d bytes, and version %d has %d", r.Header.Size,
			abi.RegistryVersion,
			registrySize)
	case r.MPI() != abi.MPICH && r.MPI() != abi.OpenMPI:
		return nil, fault.Corruptf(addr, "the header names MPI number %d, and only 1 (MPICH) and 2 (Open MPI) exist",
			uint32(r.Header.MPI))
	case r.Header.HandleSize != 4 && r.Header.HandleSize != 8:
		return nil, fault.Corruptf(addr, "the header says that a handle has %d bytes", r.Header.HandleSize)
	}
	return r, nil
}

// Foreign is the registry of records that came from another rank: it has no tables.
func Foreign(mem MemoryReader, mpi abi.MPI, handleSize int) *Registry {
	r := newRegistry(mem, 0)
	r.Header = abi.Registry{MPI: mpi, HandleSize: uint32(handleSize)}
	return r
}

func newRegistry(mem MemoryReader, addr uint64) *Registry {
	return &Registry{Mem: mem, addr: addr, heads: map[uint64]Head{}, tables: map[Kind]*slotTable{}}
}

func noInterposer(addr uint64, found string) *fault.Error {
	return fault.Errorf(fault.NoInterposer, addr,
		"%s MPI handles can be shown only in a program that runs with Cohort's interposer, "+
			"libcohort.so. Start it with `cohort debug` or `cohort record`, which preload it.", found)
}

// Events is how many events the rank has completed; false if that is not known.
func (r *Registry) Events() (uint64, bool) {
	if r.Env.Symbol == nil {
		return 0, false
	}
	at, ok := r.Env.Symbol(abi.SymbolControl)
	if !ok {
		return 0, false
	}
	b, err := r.ReadFull(at, 8, "The address of the control block")
	if err != nil {
		return 0, false
	}
	b, err = r.ReadFull(Words(b).Addr(0), int64(abi.Size[abi.Control]()), "The control block")
	if err != nil {
		return 0, false
	}
	return abi.Read[abi.Control](b).Events, true
}

// Messages are how many messages the rank has sent and received, of each partner, communicator and tag.
func (r *Registry) Messages() ([]abi.Traffic, error) {
	table := r.Header.Messages
	if table == 0 {
		return nil, nil
	}
	const what = "The table of messages"
	head := int64(abi.Size[abi.Messages]())
	b, err := r.ReadFull(table, head, what)
	if err != nil {
		return nil, err
	}
	n := abi.Read[abi.Messages](b).Capacity
	if n == 0 || n > abi.MessagesMax {
		return nil, fault.Corruptf(table, "the table of messages claims %d slots, and %d are the most", n,
			abi.MessagesMax)
	}
	slot := abi.Size[abi.Traffic]()
	if b, err = r.ReadFull(table+uint64(head), int64(n)*int64(slot), what); err != nil {
		return nil, err
	}
	var all []abi.Traffic
	for ; len(b) > 0; b = b[slot:] {
		if t := abi.Read[abi.Traffic](b); t.Comm != 0 {
			all = append(all, t)
		}
	}
	return all, nil
}

// MPI tells which library the rank uses.
func (r *Registry) MPI() abi.MPI { return r.Header.MPI }

// HandleSize is the number of bytes of an MPI_Datatype or MPI_Comm in C.
func (r *Registry) HandleSize() int { return int(r.Header.HandleSize) }

// maskHandle cuts a sign-extended value to the width of a C handle.
func (r *Registry) maskHandle(h uint64) uint64 {
	if r.Header.HandleSize == 4 {
		return h & 0xffffffff
	}
	return h
}

func (r *Registry) capacity(k *Class) (uint64, error) {
	table := r.tableOf(k)
	if table == 0 {
		return 0, fault.Errorf(fault.NotReady, r.addr,
			"The rank has no table of %s yet. Let it return from MPI_Init and ask again.", k.Words())
	}
	b, err := r.ReadFull(table, int64(slotsHeader), "The table of "+k.Words())
	if err != nil {
		return 0, err
	}
	n := abi.Read[abi.Slots](b).Capacity
	if n == 0 || n&(n-1) != 0 || n > maxSlots {
		return 0, fault.Corruptf(table, "the table of %s claims %d slots, which is not a power of two up to %d",
			k.Words(), n,
			maxSlots)
	}
	return n, nil
}

// slots reads a whole table with the headers of its records, once per stop.
func (r *Registry) slots(k *Class) (*slotTable, error) {
	if t := r.tables[k.Kind]; t != nil {
		return t, nil
	}
	n, err := r.capacity(k)
	if err != nil {
		return nil, err
	}
	t := &slotTable{}
	for at := uint64(0); at < n; {
		count := min(n-at, readChunk/slotSize)
		b, err := r.ReadFull(r.tableOf(k)+slotsHeader+at*slotSize, int64(count*slotSize), "The table of "+k.Words())
		if err != nil {
			return nil, err
		}
		for ; len(b) > 0; b = b[slotSize:] {
			if s := abi.Read[abi.Slot](b); s.Record != slotEmpty && s.Record != slotFreed {
				t.live = append(t.live, s)
			}
		}
		at += count
	}
	r.prefetch(t, k)
	r.tables[k.Kind] = t
	return t, nil
}

// maxListed bounds the records whose headers are read for a listing; more are counted.
const maxListed = 1 << 17

// prefetch reads the headers of a table's records and the beginnings of their names, neighbours together: a debugger's
// memory is far away.
func (r *Registry) prefetch(t *slotTable, k *Class) {
	records := t.live[:min(len(t.live), maxListed)]
	t.headers = r.readTogether(records, k.Size)
	var names []abi.Slot
	for _, s := range records {
		if b := t.headers.BytesAt(s.Record, k.Size); len(b) == k.Size {
			names = append(names, abi.Slot{Record: abi.Read[abi.Object](b).Name})
		}
	}
	t.names = r.readTogether(names, shortName)
}

// shortName is how many bytes of a name are read with those of others.
const shortName = 64

// readTogether reads the first bytes of what slots lead to.
func (r *Registry) readTogether(slots []abi.Slot, size int) *Snapshot {
	var reqs []Piece
	for _, s := range slots {
		if s.Record >= minMappedAddr && s.Record+uint64(size) > s.Record {
			reqs = append(reqs, Piece{s.Record, size})
		}
	}
	slices.SortFunc(reqs, func(a, b Piece) int { return cmp.Compare(a.Addr, b.Addr) })
	all := ReadAll(r.Mem, reqs)
	for _, sp := range all.spans {
		r.bytesRead += int64(len(sp.data))
	}
	return all
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
