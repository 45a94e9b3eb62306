// Package handle is what a rank's registry tells of its handles but datatypes: communicators, groups, windows, files,
// operations, error handlers, infos and statuses. Requests are records here; what they are about is package call's.
package handle

import (
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// Rank is what the registry tells of one rank at one stop: its datatypes, communicators and other handles.
type Rank struct {
	*datatype.Types
	comms   map[uint64]*Comm   // by address of the record
	objects map[uint64]*Object // likewise
}

// Open reads the header of the registry at addr, the address of the symbol cohort_registry in the rank. Its errors are
// those of [OpenRegistry].
func Open(mem registry.MemoryReader, addr uint64) (*Rank, error) {
	r, err := registry.Open(mem, addr)
	if err != nil {
		return nil, err
	}
	return &Rank{Types: datatype.NewTypes(r), comms: map[uint64]*Comm{}, objects: map[uint64]*Object{}}, nil
}
