package prettyprint

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Types are the datatypes of one rank at one stop, each decoded when it is first met.
type Types struct {
	*Registry
	all      map[uint64]*Datatype // by address of the record
	decoding map[uint64]bool      // records whose decoding is in progress: meeting one again is a cycle
}

// NewTypes is for the datatypes of a registry.
func NewTypes(r *Registry) *Types {
	return &Types{Registry: r, all: map[uint64]*Datatype{}, decoding: map[uint64]bool{}}
}

// DatatypeByHandle returns the live datatype whose C handle is h; only the low HandleSize bytes of h count.
func (r *Types) DatatypeByHandle(h uint64) (*Datatype, error) {
	h = r.maskHandle(h)
	rec, freed, err := r.find(infoOf(HandleDatatype), h)
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
func (r *Types) DatatypeByFortran(f int32) (*Datatype, error) {
	slots, err := r.slots(infoOf(HandleDatatype))
	if err != nil {
		return nil, err
	}
	var freed bool
	for _, s := range slots {
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
func (r *Types) DatatypeByName(name string) (*Datatype, error) {
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	slots, err := r.slots(infoOf(HandleDatatype))
	if err != nil {
		return nil, err
	}
	for _, s := range slots {
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
func (r *Types) Datatypes() ([]*Datatype, error) {
	slots, err := r.slots(infoOf(HandleDatatype))
	if err != nil {
		return nil, err
	}
	var list []*Datatype
	var first error
	for _, s := range slots {
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

// datatype decodes the record at rec, and those it refers to.
func (r *Types) datatype(rec uint64) (*Datatype, error) {
	if t, ok := r.all[rec]; ok {
		return t, nil
	}
	if r.decoding[rec] {
		return nil, corrupt(rec, "a datatype is made of itself")
	}
	if len(r.decoding) >= maxDepth {
		return nil, errorf(KindTooLarge, rec,
			"The datatype is nested more than %d constructors deep. The registry is damaged, "+
				"or the type is beyond what Cohort shows.", maxDepth)
	}
	r.decoding[rec] = true
	defer delete(r.decoding, rec)

	t := &Datatype{reg: r, addr: rec}
	if err := t.read(); err != nil {
		return nil, err
	}
	if err := t.checkArguments(); err != nil {
		return nil, err
	}
	t.compute()
	t.library = t.mergeFigures()
	if t.elements == 0 && t.problem == nil {
		// The standard defines no bounds for a typemap without data; what the library says is as good as any rule.
		size := t.own.Size
		t.own = t.library
		t.own.Size = size
	}
	r.all[rec] = t
	return t, nil
}

// typeRecord reads the datatype at an address of a record; nil for 0.
func (r *Types) typeRecord(rec uint64) (*Datatype, error) {
	if rec == 0 {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return r.datatype(rec)
}

func (r *Types) typeOfHandle(h uint64, fortran bool) (t *Datatype, err error) {
	switch k := infoOf(HandleDatatype); {
	case fortran && r.isNullFortran(k, int32(h)), !fortran && r.isNull(k, r.maskHandle(h)):
		return nil, k.nullError(k.shown(fortran, r.maskHandle(h)))
	case fortran:
		t, err = r.DatatypeByFortran(int32(h))
	default:
		t, err = r.DatatypeByHandle(h)
	}
	if err == nil && t.basic() == BasicNull {
		return nil, infoOf(HandleDatatype).nullError(fmt.Sprintf("0x%x", t.Handle()))
	}
	return t, err
}

// datatypeArray reads an array of handles.
func (r *Types) datatypeArray(what string, addr uint64, n int, fortran bool) ([]typePart, error) {
	size := r.HandleSize()
	if fortran {
		size = 4
	}
	b, err := r.readArray(what, addr, n, size)
	if err != nil {
		return nil, err
	}
	out := make([]typePart, n)
	for i := range out {
		p := &out[i]
		p.name = fmt.Sprintf("%s[%d]", what, i)
		switch {
		case fortran:
			p.name = fmt.Sprintf("%s(%d)", what, i+1)
			p.t, err = r.DatatypeByFortran(int32(binary.LittleEndian.Uint32(b[4*i:])))
		case size == 4:
			p.t, err = r.DatatypeByHandle(uint64(binary.LittleEndian.Uint32(b[4*i:])))
		default:
			p.t, err = r.DatatypeByHandle(binary.LittleEndian.Uint64(b[8*i:]))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if p.t.problem != nil {
			return nil, p.t.problem
		}
	}
	return out, nil
}
