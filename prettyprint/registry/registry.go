// Package registry decodes the records that the interposer keeps in a rank's memory (pmpi/include/cohort_abi.h): tables
// of handles, and of each kind its record, as far as bytes tell. What a record means is for the packages above it.
//
// **Invariant:** nothing that is read from the rank is trusted: counts are bounded before they are used, records are read
// in pieces that must be mapped before more is allocated.
package registry

import (
	"bytes"
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

	headers   map[uint64]DatatypeRecord // headers that were read, by address of the record
	tables    map[Kind]*slotTable       // read whole at the first listing or lookup by Fortran handle or name
	Env       Surroundings
	machine   *string // see Surroundings.Machine; nil: not asked yet
	bytesRead int64
}

// slotTable is one hash table, read whole.
type slotTable struct {
	live    []slot
	headers *Snapshot // of the records, if they were read together
}

type slot struct{ handle, Record uint64 }

// Open reads the header of the registry at addr, the address of the symbol cohort_registry in the rank. It fails with
// an [*Error] of kind KindNoInterposer, KindVersion, KindNotReady or KindUnreadable.
func Open(mem MemoryReader, addr uint64) (*Registry, error) {
	if addr == 0 {
		return nil, noInterposer(0, "The program has no symbol cohort_registry.")
	}
	r := &Registry{
		Mem: mem, addr: addr, headers: map[uint64]DatatypeRecord{}, tables: map[Kind]*slotTable{},
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
			fmt.Sprintf("What lies at 0x%x is not Cohort's registry: it begins with 0x%x, not with 0x%x.",
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
		headers: map[uint64]DatatypeRecord{}, tables: map[Kind]*slotTable{},
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

// MaskHandle cuts a sign-extended value to the width of a C handle.
func (r *Registry) MaskHandle(h uint64) uint64 {
	if r.Header.handleSize == 4 {
		return h & 0xffffffff
	}
	return h
}

func (r *Registry) UnknownHandle(what, ctype, shown string, h uint64, freed bool) error {
	if freed {
		return fault.Errorf(fault.Freed, 0,
			"The %s handle %s was freed: no live %s has it. Using it in an MPI call is an error.",
			what, shown, what)
	}
	hint := ""
	if h == 0 && r.MPI() == MPICH || h == 0 && r.HandleSize() == 8 {
		hint = " The variable may not be initialised."
	}
	if what == "communicator" {
		hint += " It may also come from a call that Cohort does not follow yet, such as MPI_Comm_spawn where " +
			"requests and calls are not kept."
	}
	return fault.Errorf(fault.NotFound, 0, "No %s with the handle %s is known in this rank.%s "+
		"The expression must be a variable of type %s that was assigned by MPI.", what, shown, hint, ctype)
}

// Find looks h up by the table's own hash: a few reads, however large the table is.
func (r *Registry) Find(k *Class, h uint64) (record uint64, freed bool, err error) {
	table := r.TableOf(k.Kind)
	capacity, err := r.capacity(k)
	if err != nil {
		return 0, false, err
	}
	const window = 32
	at := hashHandle(h) & (capacity - 1)
	for seen := uint64(0); seen < capacity; {
		n := min(window, capacity-at)
		b, err := r.ReadFull(table+slotsHeader+at*slotSize, int64(n*slotSize), "The table of "+k.Words())
		if err != nil {
			return 0, false, err
		}
		for c := (Cursor{B: b}); len(c.B) > 0; {
			switch handle, rec := c.u64(), c.u64(); {
			case rec == slotEmpty:
				return 0, freed, nil
			case rec == slotFreed:
				freed = freed || handle == h
			case handle == h:
				dead, err := r.isFreed(k, rec)
				if err != nil {
					return 0, false, err
				}
				if !dead {
					return rec, false, nil
				}
				freed = true // kept for types that still refer to it; a new life of the handle may follow
			}
		}
		seen += n
		at = (at + n) & (capacity - 1)
	}
	return 0, freed, nil
}

func (r *Registry) isFreed(k *Class, rec uint64) (bool, error) {
	if k.Kind == KindDatatype {
		h, err := r.DatatypeRecord(rec)
		return h.State&StateFreed != 0, err
	}
	b, err := r.RecordBytes(k, rec)
	if err != nil {
		return false, err
	}
	if k.Kind == KindComm {
		return DecodeComm(b).State&CommFreed != 0, nil
	}
	c := Cursor{B: b}
	return c.Object().State&ObjectFreed != 0, nil
}

func (r *Registry) capacity(k *Class) (uint64, error) {
	table := r.TableOf(k.Kind)
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

// Slots reads a whole table with the headers of its records, once per stop.
func (r *Registry) Slots(k *Class) ([]slot, error) {
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
		b, err := r.ReadFull(r.TableOf(k.Kind)+slotsHeader+at*slotSize, int64(count*slotSize), "The table of "+k.Words())
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

// MaxListed bounds the records whose headers are read for a listing; more are counted.
const MaxListed = 1 << 17

// prefetch reads the headers of a table's records, neighbours together: a debugger's memory is far away.
func (r *Registry) prefetch(t *slotTable, size int) {
	var reqs []Piece
	for _, s := range t.live[:min(len(t.live), MaxListed)] {
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

// RecordBytes reads a record without what follows it.
func (r *Registry) RecordBytes(k *Class, rec uint64) ([]byte, error) {
	if t := r.tables[k.Kind]; t != nil {
		if b := t.headers.BytesAt(rec, k.Size); len(b) == k.Size {
			return b, nil
		}
	}
	return r.ReadFull(rec, int64(k.Size), "The record of a "+k.Word)
}

func (r *Registry) DatatypeRecord(rec uint64) (DatatypeRecord, error) {
	if h, ok := r.headers[rec]; ok {
		return h, nil
	}
	b, err := r.RecordBytes(ClassOf(KindDatatype), rec)
	if err != nil {
		return DatatypeRecord{}, err
	}
	h := r.WholeName(DecodeDatatype(b))
	r.headers[rec] = h
	return h, nil
}

// WholeName reads a name that the record has no room for. Where it cannot be read, the beginning stays, and shows that
// it is one.
func (r *Registry) WholeName(h DatatypeRecord) DatatypeRecord {
	if h.State&stateLongName == 0 {
		return h
	}
	h.Name += "..."
	if h.longName < minMappedAddr {
		return h
	}
	b := make([]byte, maxLongName)
	n, _ := r.Mem.ReadMemory(h.longName, b) // a name at the end of mapped memory is shorter
	if i := bytes.IndexByte(b[:min(max(n, 0), len(b))], 0); i >= 0 {
		h.Name = string(bytes.ToValidUTF8(b[:i], []byte("?")))
	}
	return h
}
