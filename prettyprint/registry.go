package prettyprint

import (
	"bytes"
	"fmt"
	"slices"
)

// Registry is one stop's view of the registry of one rank: what it has read, it keeps, so it is valid until the rank
// runs again; then Open another. Its methods are not safe for concurrent use.
type Registry struct {
	mem  MemoryReader
	addr uint64
	abi  abiRegistry

	types        map[uint64]*Datatype // by address of the record
	decoding     map[uint64]bool      // records whose decoding is in progress: meeting one again is a cycle
	comms        map[uint64]*Comm
	typeSlots    *slotTable // read at the first listing or lookup by Fortran handle or name
	commSlots    *slotTable
	objects      map[uint64]*Object // by address of the record
	tables       map[HandleKind]*slotTable
	env          Surroundings
	machine      string // see Surroundings.Machine
	machineKnown bool
	bytesRead    int64
}

// slotTable is one hash table, read whole.
type slotTable struct {
	live    []slot
	headers *snapshot // of the records, if they were read together
}

type slot struct{ handle, record uint64 }

// Open reads the header of the registry at addr, the address of the symbol cohort_registry in the rank. It fails with
// an [*Error] of kind KindNoInterposer, KindVersion, KindNotReady or KindUnreadable.
func Open(mem MemoryReader, addr uint64) (*Registry, error) {
	if addr == 0 {
		return nil, noInterposer(0, "The program has no symbol cohort_registry.")
	}
	r := &Registry{
		mem: mem, addr: addr, types: map[uint64]*Datatype{}, decoding: map[uint64]bool{}, comms: map[uint64]*Comm{},
		objects: map[uint64]*Object{}, tables: map[HandleKind]*slotTable{},
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

// DatatypeByHandle returns the live datatype whose C handle is h; only the low HandleSize bytes of h count.
func (r *Registry) DatatypeByHandle(h uint64) (*Datatype, error) {
	h = r.maskHandle(h)
	rec, freed, err := r.find(r.abi.datatypes, h, "datatypes")
	if err != nil {
		return nil, err
	}
	if rec == 0 {
		return nil, r.unknownHandle("datatype", "MPI_Datatype", fmt.Sprintf("0x%x", h), h, freed)
	}
	t, err := r.datatype(rec)
	if err != nil {
		return nil, err
	}
	if t.Handle() != h {
		return nil, corrupt(rec, "the table says that this is the record of handle 0x%x, the record says 0x%x", h,
			t.Handle())
	}
	return t, nil
}

// DatatypeByFortran returns the live datatype whose Fortran handle is f.
func (r *Registry) DatatypeByFortran(f int32) (*Datatype, error) {
	slots, err := r.slots(&r.typeSlots, r.abi.datatypes, "datatypes")
	if err != nil {
		return nil, err
	}
	r.prefetch(slots, datatypeHeader)
	var freed bool
	for _, s := range slots.live {
		h, err := r.datatypeHeader(s.record)
		if err != nil {
			return nil, err
		}
		if h.fHandle != f || f == abiNoFortran {
			continue
		}
		if h.state&stateFreed != 0 {
			freed = true
			continue
		}
		return r.datatype(s.record)
	}
	return nil, r.unknownHandle("datatype", "INTEGER or TYPE(MPI_Datatype)", fmt.Sprint(f), uint64(uint32(f)), freed)
}

// aliases are names that mpi.h gives a second time to the type of another name.
var aliases = map[string]string{
	"MPI_LONG_LONG_INT": "MPI_LONG_LONG", "MPI_C_FLOAT_COMPLEX": "MPI_C_COMPLEX",
	"MPI_CXX_COMPLEX": "MPI_CXX_FLOAT_COMPLEX",
}

// DatatypeByName returns the predefined datatype of that name, such as MPI_INT.
func (r *Registry) DatatypeByName(name string) (*Datatype, error) {
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	slots, err := r.slots(&r.typeSlots, r.abi.datatypes, "datatypes")
	if err != nil {
		return nil, err
	}
	r.prefetch(slots, datatypeHeader)
	for _, s := range slots.live {
		h, err := r.datatypeHeader(s.record)
		if err != nil {
			return nil, err
		}
		if h.name == name && Combiner(h.combiner) == CombinerNamed {
			return r.datatype(s.record)
		}
	}
	return nil, errorf(KindNotFound, 0, "The rank's %s has no predefined datatype %s.", r.MPI(), name)
}

// Datatypes returns all live datatypes whose records can be decoded, in the order of their creation, and the first
// error met.
func (r *Registry) Datatypes() ([]*Datatype, error) {
	slots, err := r.slots(&r.typeSlots, r.abi.datatypes, "datatypes")
	if err != nil {
		return nil, err
	}
	r.prefetch(slots, datatypeHeader)
	var list []*Datatype
	var first error
	for _, s := range slots.live {
		t, err := r.datatype(s.record)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if !t.Freed() {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *Datatype) int {
		if a.hdr.id != b.hdr.id {
			if a.hdr.id < b.hdr.id {
				return -1
			}
			return 1
		}
		return 0
	})
	return list, first
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
func (r *Registry) find(table, h uint64, what string) (record uint64, freed bool, err error) {
	capacity, err := r.capacity(table, what)
	if err != nil {
		return 0, false, err
	}
	const window = 32
	at := hashHandle(h) & (capacity - 1)
	for seen := uint64(0); seen < capacity; {
		n := min(window, capacity-at)
		b, err := r.readFull(table+slotsHeader+at*slotSize, int64(n*slotSize), "The table of "+what)
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
				dead, err := r.isFreed(rec, what)
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

func (r *Registry) isFreed(rec uint64, what string) (bool, error) {
	switch what {
	case "datatypes":
		h, err := r.datatypeHeader(rec)
		return h.state&stateFreed != 0, err
	case "communicators":
		h, err := r.commHeader(rec)
		return h.state&commFreed != 0, err
	}
	b, err := r.readFull(rec, objectSize, "A record of the table of "+what)
	if err != nil {
		return false, err
	}
	c := cursor{b: b}
	return c.object().state&objectFreed != 0, nil
}

func (r *Registry) capacity(table uint64, what string) (uint64, error) {
	if table == 0 {
		return 0, errorf(KindNotReady, r.addr,
			"The rank has no table of %s yet. Let it return from MPI_Init and ask again.", what)
	}
	b, err := r.readFull(table, slotsHeader, "The table of "+what)
	if err != nil {
		return 0, err
	}
	c := cursor{b: b}
	n := c.u64()
	if n == 0 || n&(n-1) != 0 || n > maxSlots {
		return 0, corrupt(table, "the table of %s claims %d slots, which is not a power of two up to %d", what, n,
			maxSlots)
	}
	return n, nil
}

// slots reads a whole table, once per snapshot.
func (r *Registry) slots(cache **slotTable, table uint64, what string) (*slotTable, error) {
	if *cache != nil {
		return *cache, nil
	}
	n, err := r.capacity(table, what)
	if err != nil {
		return nil, err
	}
	t := &slotTable{}
	for at := uint64(0); at < n; {
		k := min(n-at, readChunk/slotSize)
		b, err := r.readFull(table+slotsHeader+at*slotSize, int64(k*slotSize), "The table of "+what)
		if err != nil {
			return nil, err
		}
		for c := (cursor{b: b}); len(c.b) > 0; {
			if s := (slot{c.u64(), c.u64()}); s.record != slotEmpty && s.record != slotFreed {
				t.live = append(t.live, s)
			}
		}
		at += k
	}
	*cache = t
	return t, nil
}

func (r *Registry) datatypeHeader(rec uint64) (abiDatatype, error) {
	if t, ok := r.types[rec]; ok {
		return t.hdr, nil
	}
	if b, ok := r.typeSlots.header(rec, datatypeHeader); ok {
		return r.wholeName(decodeDatatype(b)), nil
	}
	b, err := r.readFull(rec, datatypeHeader, "A datatype's record")
	if err != nil {
		return abiDatatype{}, err
	}
	return r.wholeName(decodeDatatype(b)), nil
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
