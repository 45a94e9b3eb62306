package datatype

import (
	"encoding/binary"
	"fmt"
	"slices"

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

// DatatypeByHandle returns the live datatype whose C handle is h; only the low HandleSize bytes of h count.
func (r *Types) DatatypeByHandle(h uint64) (*Type, error) {
	h = r.MaskHandle(h)
	rec, freed, err := r.Find(registry.ClassOf(registry.KindDatatype), h)
	if err != nil {
		return nil, err
	}
	if rec == 0 {
		return nil, r.UnknownHandle("datatype", "MPI_Datatype", fmt.Sprintf("0x%x", h), h, freed)
	}
	t, err := r.DatatypeAt(rec)
	if err != nil {
		return nil, err
	}
	if t.Handle() != h {
		return nil, fault.Corruptf(rec, "the table says that this is the record of handle 0x%x, the record says 0x%x", h,
			t.Handle())
	}
	return t, nil
}

// DatatypeByFortran returns the live datatype whose Fortran handle is f.
func (r *Types) DatatypeByFortran(f int32) (*Type, error) {
	slots, err := r.Slots(registry.ClassOf(registry.KindDatatype))
	if err != nil {
		return nil, err
	}
	var freed bool
	for _, s := range slots {
		h, err := r.DatatypeRecord(s.Record)
		if err != nil {
			return nil, err
		}
		if h.FHandle != f || f == registry.NoFortran {
			continue
		}
		if h.State&registry.StateFreed != 0 {
			freed = true
			continue
		}
		return r.DatatypeAt(s.Record)
	}
	return nil, r.UnknownHandle("datatype", "INTEGER or TYPE(MPI_Datatype)", fmt.Sprint(f), uint64(uint32(f)), freed)
}

// aliases are names that mpi.h gives a second time to the type of another name.
var aliases = map[string]string{
	"MPI_LONG_LONG_INT": "MPI_LONG_LONG", "MPI_C_FLOAT_COMPLEX": "MPI_C_COMPLEX",
	"MPI_CXX_COMPLEX": "MPI_CXX_FLOAT_COMPLEX",
}

// DatatypeByName returns the predefined datatype of that name, such as MPI_INT.
func (r *Types) DatatypeByName(name string) (*Type, error) {
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	slots, err := r.Slots(registry.ClassOf(registry.KindDatatype))
	if err != nil {
		return nil, err
	}
	for _, s := range slots {
		h, err := r.DatatypeRecord(s.Record)
		if err != nil {
			return nil, err
		}
		if h.Name == name && Combiner(h.Combiner) == CombinerNamed {
			return r.DatatypeAt(s.Record)
		}
	}
	return nil, fault.Errorf(fault.NotFound, 0, "The rank's %s has no predefined datatype %s.", r.MPI(), name)
}

// Datatypes returns all live datatypes whose records can be decoded, in the order of their creation, and the first
// error met.
func (r *Types) Datatypes() ([]*Type, error) {
	slots, err := r.Slots(registry.ClassOf(registry.KindDatatype))
	if err != nil {
		return nil, err
	}
	var list []*Type
	var first error
	for _, s := range slots {
		t, err := r.DatatypeAt(s.Record)
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
	slices.SortFunc(list, func(a, b *Type) int {
		if a.Record.Id != b.Record.Id {
			if a.Record.Id < b.Record.Id {
				return -1
			}
			return 1
		}
		return 0
	})
	return list, first
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
			"The datatype is nested more than %d constructors deep. The registry is damaged, "+
				"or the type is beyond what Cohort shows.", registry.MaxDepth)
	}
	r.decoding[rec] = true
	defer delete(r.decoding, rec)

	t := &Type{reg: r, addr: rec}
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

// DatatypeIfAny reads the datatype at an address of a record; nil for 0.
func (r *Types) DatatypeIfAny(rec uint64) (*Type, error) {
	if rec == 0 {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return r.DatatypeAt(rec)
}

func (r *Types) DatatypeOfHandle(h uint64, fortran bool) (t *Type, err error) {
	switch k := registry.ClassOf(registry.KindDatatype); {
	case fortran && r.IsNullFortran(k, int32(h)), !fortran && r.IsNull(k, r.MaskHandle(h)):
		return nil, k.NullError(k.Shown(fortran, r.MaskHandle(h)))
	case fortran:
		t, err = r.DatatypeByFortran(int32(h))
	default:
		t, err = r.DatatypeByHandle(h)
	}
	if err == nil && t.basic() == BasicNull {
		return nil, registry.ClassOf(registry.KindDatatype).NullError(fmt.Sprintf("0x%x", t.Handle()))
	}
	return t, err
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
		switch {
		case fortran:
			p.Name = fmt.Sprintf("%s(%d)", what, i+1)
			p.Type, err = r.DatatypeByFortran(int32(binary.LittleEndian.Uint32(b[4*i:])))
		case size == 4:
			p.Type, err = r.DatatypeByHandle(uint64(binary.LittleEndian.Uint32(b[4*i:])))
		default:
			p.Type, err = r.DatatypeByHandle(binary.LittleEndian.Uint64(b[8*i:]))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		if p.Type.problem != nil {
			return nil, p.Type.problem
		}
	}
	return out, nil
}
