package prettyprint

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// Registry is one stop's view of the registry of one rank: what it has read, it keeps, so it is valid until the rank
// runs again; then Open another. Its methods are not safe for concurrent use.
type Registry struct {
	mem  MemoryReader
	addr uint64
	abi  abiRegistry

	types     map[uint64]abiDatatype    // headers that were read, by address of the record
	tables    map[HandleKind]*slotTable // read whole at the first listing or lookup by Fortran handle or name
	env       Surroundings
	machine   *string // see Surroundings.Machine; nil: not asked yet
	bytesRead int64
}

// slotTable is one hash table, read whole.
type slotTable struct {
	live    []slot
	headers *snapshot // of the records, if they were read together
}

type slot struct{ handle, record uint64 }

// OpenRegistry reads the header of the registry at addr, the address of the symbol cohort_registry in the rank. It fails with
// an [*Error] of kind KindNoInterposer, KindVersion, KindNotReady or KindUnreadable.
func OpenRegistry(mem MemoryReader, addr uint64) (*Registry, error) {
	if addr == 0 {
		return nil, noInterposer(0, "The program has no symbol cohort_registry.")
	}
	r := &Registry{
		mem: mem, addr: addr, types: map[uint64]abiDatatype{}, tables: map[HandleKind]*slotTable{},
	}
	b, err := r.readFull(addr, registrySize, "The registry's header")
	if err != nil {
		return nil, err
	}
	r.abi = decodeRegistry(b)
	switch {
	case r.abi.magic == 0:
		return nil, errorf(KindNotReady, addr, "The interposer has not started yet: its registry is still empty. "+
			"Let the rank return from MPI_Init and ask again.")
	case r.abi.magic != registryMagic:
		return nil, noInterposer(addr,
			fmt.Sprintf("What lies at 0x%x is not Cohort's registry: it begins with 0x%x, not with 0x%x.",
				addr, r.abi.magic, uint64(registryMagic)))
	case r.abi.version != abiVersion:
		return nil, errorf(KindVersion, addr,
			"The rank's libcohort.so writes registries of version %d; this Cohort reads version %d. "+
				"Start the program with the libcohort.so of this Cohort.", r.abi.version, abiVersion)
	case r.abi.size < registrySize:
		return nil, corrupt(addr, "the header says that it has %d bytes, and version %d has %d", r.abi.size, abiVersion,
			registrySize)
	case r.MPI() != MPICH && r.MPI() != OpenMPI:
		return nil, corrupt(addr, "the header names MPI number %d, and only 1 (MPICH) and 2 (Open MPI) exist",
			r.abi.mpi)
	case r.abi.handleSize != 4 && r.abi.handleSize != 8:
		return nil, corrupt(addr, "the header says that a handle has %d bytes", r.abi.handleSize)
	}
	return r, nil
}

// Foreign is the registry of records that came from another rank: it has no tables.
func Foreign(mem MemoryReader, mpi MPI, handleSize int) *Registry {
	return &Registry{
		mem: mem, abi: abiRegistry{mpi: uint32(mpi), handleSize: uint32(handleSize)},
		types: map[uint64]abiDatatype{}, tables: map[HandleKind]*slotTable{},
	}
}

func noInterposer(addr uint64, found string) *Error {
	return errorf(KindNoInterposer, addr,
		"%s MPI handles can be shown only in a program that runs with Cohort's interposer, "+
			"libcohort.so. Start it with `cohort debug` or `cohort record`, which preload it.", found)
}

// MPI tells which library the rank uses.
func (r *Registry) MPI() MPI { return MPI(r.abi.mpi) }

// HandleSize is the number of bytes of an MPI_Datatype or MPI_Comm in C.
func (r *Registry) HandleSize() int { return int(r.abi.handleSize) }

// maskHandle cuts a sign-extended value to the width of a C handle.
func (r *Registry) maskHandle(h uint64) uint64 {
	if r.abi.handleSize == 4 {
		return h & 0xffffffff
	}
	return h
}

func (r *Registry) unknownHandle(what, ctype, shown string, h uint64, freed bool) error {
	if freed {
		return errorf(KindFreed, 0,
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
	return errorf(KindNotFound, 0, "No %s with the handle %s is known in this rank.%s "+
		"The expression must be a variable of type %s that was assigned by MPI.", what, shown, hint, ctype)
}

// find looks h up by the table's own hash: a few reads, however large the table is.
func (r *Registry) find(k *kindInfo, h uint64) (record uint64, freed bool, err error) {
	table := r.tableOf(k.kind)
	capacity, err := r.capacity(k)
	if err != nil {
		return 0, false, err
	}
	const window = 32
	at := hashHandle(h) & (capacity - 1)
	for seen := uint64(0); seen < capacity; {
		n := min(window, capacity-at)
		b, err := r.readFull(table+slotsHeader+at*slotSize, int64(n*slotSize), "The table of "+k.words())
		if err != nil {
			return 0, false, err
		}
		for c := (cursor{b: b}); len(c.b) > 0; {
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

func (r *Registry) isFreed(k *kindInfo, rec uint64) (bool, error) {
	b, err := r.header(k, rec)
	if err != nil {
		return false, err
	}
	switch k.kind { //nolint:exhaustive // the others begin with a struct cohort_object
	case HandleDatatype:
		return decodeDatatype(b).state&stateFreed != 0, nil
	case HandleComm:
		return decodeComm(b).state&commFreed != 0, nil
	}
	c := cursor{b: b}
	return c.object().state&objectFreed != 0, nil
}

func (r *Registry) capacity(k *kindInfo) (uint64, error) {
	table := r.tableOf(k.kind)
	if table == 0 {
		return 0, errorf(KindNotReady, r.addr,
			"The rank has no table of %s yet. Let it return from MPI_Init and ask again.", k.words())
	}
	b, err := r.readFull(table, slotsHeader, "The table of "+k.words())
	if err != nil {
		return 0, err
	}
	c := cursor{b: b}
	n := c.u64()
	if n == 0 || n&(n-1) != 0 || n > maxSlots {
		return 0, corrupt(table, "the table of %s claims %d slots, which is not a power of two up to %d", k.words(), n,
			maxSlots)
	}
	return n, nil
}

// slots reads a whole table with the headers of its records, once per stop.
func (r *Registry) slots(k *kindInfo) ([]slot, error) {
	if t := r.tables[k.kind]; t != nil {
		return t.live, nil
	}
	n, err := r.capacity(k)
	if err != nil {
		return nil, err
	}
	t := &slotTable{}
	for at := uint64(0); at < n; {
		count := min(n-at, readChunk/slotSize)
		b, err := r.readFull(r.tableOf(k.kind)+slotsHeader+at*slotSize, int64(count*slotSize), "The table of "+k.words())
		if err != nil {
			return nil, err
		}
		for c := (cursor{b: b}); len(c.b) > 0; {
			if s := (slot{c.u64(), c.u64()}); s.record != slotEmpty && s.record != slotFreed {
				t.live = append(t.live, s)
			}
		}
		at += count
	}
	r.prefetch(t, k.size)
	r.tables[k.kind] = t
	return t.live, nil
}

// maxListed bounds the records whose headers are read for a listing; more are counted.
const maxListed = 1 << 17

// prefetch reads the headers of a table's records, neighbours together: a debugger's memory is far away.
func (r *Registry) prefetch(t *slotTable, size int) {
	var reqs []request
	for _, s := range t.live[:min(len(t.live), maxListed)] {
		if s.record >= minMappedAddr && s.record+uint64(size) > s.record {
			reqs = append(reqs, request{s.record, size})
		}
	}
	slices.SortFunc(reqs, func(a, b request) int { return cmp.Compare(a.addr, b.addr) })
	t.headers = readAll(r.mem, reqs)
	for _, sp := range t.headers.spans {
		r.bytesRead += int64(len(sp.data))
	}
}

// header reads a record without what follows it.
func (r *Registry) header(k *kindInfo, rec uint64) ([]byte, error) {
	if t := r.tables[k.kind]; t != nil {
		if b := t.headers.bytesAt(rec, k.size); len(b) == k.size {
			return b, nil
		}
	}
	return r.readFull(rec, int64(k.size), "The record of a "+k.word)
}

func (r *Registry) datatypeHeader(rec uint64) (abiDatatype, error) {
	if h, ok := r.types[rec]; ok {
		return h, nil
	}
	b, err := r.header(infoOf(HandleDatatype), rec)
	if err != nil {
		return abiDatatype{}, err
	}
	h := r.wholeName(decodeDatatype(b))
	r.types[rec] = h
	return h, nil
}

// wholeName reads a name that the record has no room for. Where it cannot be read, the beginning stays, and shows that
// it is one.
func (r *Registry) wholeName(h abiDatatype) abiDatatype {
	if h.state&stateLongName == 0 {
		return h
	}
	h.name += "..."
	if h.longName < minMappedAddr {
		return h
	}
	b := make([]byte, maxLongName)
	n, _ := r.mem.ReadMemory(h.longName, b) // a name at the end of mapped memory is shorter
	if i := bytes.IndexByte(b[:min(max(n, 0), len(b))], 0); i >= 0 {
		h.name = string(bytes.ToValidUTF8(b[:i], []byte("?")))
	}
	return h
}
