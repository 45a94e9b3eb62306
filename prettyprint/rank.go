package prettyprint

// Rank is what the registry tells of one rank at one stop: its datatypes, communicators and other handles.
type Rank struct {
	*Types
	comms   map[uint64]*Comm   // by address of the record
	objects map[uint64]*Object // likewise
}

// Open reads the header of the registry at addr, the address of the symbol cohort_registry in the rank. Its errors are
// those of [OpenRegistry].
func Open(mem MemoryReader, addr uint64) (*Rank, error) {
	r, err := OpenRegistry(mem, addr)
	if err != nil {
		return nil, err
	}
	return &Rank{Types: NewTypes(r), comms: map[uint64]*Comm{}, objects: map[uint64]*Object{}}, nil
}
