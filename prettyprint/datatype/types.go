package datatype

import (
	"encoding/binary"
	"fmt"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// Types are the datatypes of one rank at one stop, each decoded when it is first met.
type Types struct {
	*registry.Registry
	all      map[uint64]*Type // by address of the record
	decoding map[uint64]bool  // records whose decoding is in progress: meeting one again is a cycle
}

// NewTypes is for the datatypes of a registry.
func NewTypes(r *registry.Registry) *Types {
	return &Types{Registry: r, all: map[uint64]*Type{}, decoding: map[uint64]bool{}}
}

// DatatypeOfHandle returns the live datatype whose handle is h, in Fortran if fortran is set.
func (r *Types) DatatypeOfHandle(h uint64, fortran bool) (*Type, error) {
	head, err := r.Lookup(registry.ClassOf(registry.KindDatatype), h, fortran)
	if err != nil {
		return nil, err
	}
	return r.DatatypeAt(head.Address)
}

// DatatypeByName returns the predefined datatype of that name, such as MPI_INT.
func (r *Types) DatatypeByName(name string) (*Type, error) {
	head, err := r.ByName(registry.ClassOf(registry.KindDatatype), name, true)
	if err != nil {
		return nil, err
	}
	return r.DatatypeAt(head.Address)
}

// DatatypeAt decodes the record at rec, and those it refers to.
func (r *Types) DatatypeAt(rec uint64) (*Type, error) {
	if t, ok := r.all[rec]; ok {
		return t, nil
	}
	if r.decoding[rec] {
		return nil, fault.Corruptf(rec, "a datatype is made of itself")
	}
	if len(r.decoding) >= registry.MaxDepth {
		return nil, fault.Errorf(fault.TooLarge, rec,
			"The datatype is nested more than %d constructors deep, which is beyond what Cohort shows.",
			registry.MaxDepth)
	}
	r.decoding[rec] = true
	defer delete(r.decoding, rec)

	t := &Type{reg: r, Head: registry.Head{Address: rec}}
	if err := t.read(); err != nil {
		return nil, err
	}
	if err := t.checkArguments(); err != nil {
		return nil, err
	}
	t.compute()
	t.mergeFigures()
	r.all[rec] = t
	return t, nil
}

// DatatypeIfAny reads the datatype at an address of a record; nil for 0.
func (r *Types) DatatypeIfAny(rec uint64) (*Type, error) {
	if rec == 0 {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return r.DatatypeAt(rec)
}

// DatatypeArray reads an array of handles.
func (r *Types) DatatypeArray(what string, addr uint64, n int, fortran bool) ([]Part, error) {
	size := r.HandleSize()
	if fortran {
		size = 4
	}
	b, err := r.ReadArray(what, addr, n, size)
	if err != nil {
		return nil, err
	}
	out := make([]Part, n)
	for i := range out {
		p := &out[i]
		p.Name = fmt.Sprintf("%s[%d]", what, i)
		if fortran {
			p.Name = fmt.Sprintf("%s(%d)", what, i+1)
		}
		h := uint64(binary.LittleEndian.Uint32(b[size*i:]))
		if size == 8 {
			h = binary.LittleEndian.Uint64(b[8*i:])
		}
		p.Type, err = r.DatatypeOfHandle(h, fortran)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		if p.Type.Problem != nil {
			return nil, p.Type.Problem
		}
	}
	return out, nil
}
