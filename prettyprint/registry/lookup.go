package registry

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Head is what the records of all kinds of handles begin with.
type Head struct {
	Class      *Class
	Address    uint64 // of the record
	abi.Object        // its Name is an address
	Name       string
	Freed      bool
	Predefined bool
	Null       bool   // it is the null handle's
	Raw        []byte // the record without what follows it
}

// HandleText is the handle in C and, if it is known, in Fortran.
func (h *Head) HandleText() string {
	if h.FHandle == NoFortran {
		return fmt.Sprintf("0x%x", h.Handle)
	}
	return fmt.Sprintf("0x%x (Fortran %d)", h.Handle, h.FHandle)
}

const maxObjectName = 4096 // bytes of a name: a path

// Head reads the head of the record at rec.
func (r *Registry) Head(k *Class, rec uint64) (Head, error) {
	if h, ok := r.heads[rec]; ok {
		if h.Class != k {
			return Head{}, fault.Corruptf(rec, "one record is said to be of a %s and of a %s", h.Class.Word, k.Word)
		}
		return h, nil
	}
	b, err := r.recordBytes(k, rec)
	if err != nil {
		return Head{}, err
	}
	o := abi.Read[abi.Object](b)
	if int64(o.Size) < int64(k.Size) {
		return Head{}, fault.Corruptf(rec, "the record of a %s has %d bytes, and at least %d are needed", k.Word,
			o.Size,
			k.Size)
	}
	h := Head{
		Class: k, Address: rec, Object: o, Freed: o.State&abi.ObjectFreed != 0,
		Predefined: o.State&abi.ObjectPredefined != 0,
		Raw:        b,
	}
	if o.Name != 0 {
		h.Name = r.name(k, o.Name)
	}
	h.Null = h.Predefined && h.Name == k.Null
	r.heads[rec] = h
	return h, nil
}

// name reads the name of a record, which may have been read with those of others.
func (r *Registry) name(k *Class, addr uint64) string {
	if t := r.tables[k.Kind]; t != nil {
		if text, _, whole := bytes.Cut(t.names.BytesAt(addr, shortName), []byte{0}); whole {
			return string(bytes.ToValidUTF8(text, []byte("?")))
		}
	}
	return r.text(addr, maxObjectName)
}

// Lookup returns the live handle of a kind whose value is h, in Fortran if fortran is set; of a value that several
// requests have, the oldest. It is an error if the handle is null, was freed or is not known.
func (r *Registry) Lookup(k *Class, h uint64, fortran bool) (Head, error) {
	if h = r.maskOf(k, h); fortran {
		h = uint64(uint32(h))
	}
	if r.isNull(k, h, fortran) {
		return Head{}, k.NullError(k.shown(fortran, h))
	}
	head, err := r.lookup(k, h, fortran)
	if err == nil && head.Null {
		return Head{}, k.NullError(k.shown(false, head.Handle))
	}
	if r.MPI() == abi.OpenMPI && !fortran && k.openNull != "" && r.Env.Symbol != nil &&
		(fault.Is(err, fault.NotFound) || fault.Is(err, fault.NotTracked)) {
		if at, ok := r.Env.Symbol(k.openNull); ok && at == h { // only the address of a symbol tells
			return Head{}, k.NullError(k.shown(false, h))
		}
	}
	return head, err
}

func (r *Registry) lookup(k *Class, h uint64, fortran bool) (Head, error) {
	if k.Kind > KindComm {
		if err := r.notTracked(k); err != nil {
			return Head{}, err
		}
		if r.tableOf(k) == 0 {
			return Head{}, r.unknown(k, h, fortran, false)
		}
	}
	freed := false
	if fortran {
		heads, problems, _, err := r.Heads(k)
		if err != nil {
			return Head{}, err
		}
		for _, head := range heads {
			if head.FHandle == NoFortran || head.FHandle != int32(h) {
				continue
			}
			if !head.Freed {
				return head, nil
			}
			freed = true
		}
		if !freed && len(problems) > 0 && len(heads) == 0 {
			return Head{}, problems[0]
		}
	}
	if !fortran || r.MPI() == abi.MPICH && k.Kind != KindFile && !freed { // there a Fortran handle is the C handle
		head, gone, err := r.find(k, h)
		switch {
		case err != nil:
			return Head{}, err
		case head.Address != 0 && head.Handle != h:
			return Head{}, fault.Corruptf(head.Address,
				"the table says that this is the record of handle 0x%x, the record says 0x%x", h, head.Handle)
		case head.Address != 0:
			return head, nil
		}
		freed = gone
	}
	return Head{}, r.unknown(k, h, fortran, freed)
}

// aliases are names that mpi.h gives a second time to the type of another name.
var aliases = map[string]string{
	"MPI_LONG_LONG_INT": "MPI_LONG_LONG", "MPI_C_FLOAT_COMPLEX": "MPI_C_COMPLEX",
	"MPI_CXX_COMPLEX": "MPI_CXX_FLOAT_COMPLEX",
}

// Alias is the name under which a record has a predefined handle that may have two.
func Alias(name string) string {
	if alias, ok := aliases[name]; ok {
		return alias
	}
	return name
}

// ByName returns the live handle of a kind that the program or MPI has given this name; predefined: MPI only.
func (r *Registry) ByName(k *Class, name string, predefined bool) (Head, error) {
	if name == k.Null {
		return Head{}, k.NullError(name)
	}
	heads, _, _, err := r.Heads(k)
	if err != nil {
		return Head{}, err
	}
	for _, h := range heads {
		if h.Name == Alias(name) && (h.Predefined || !predefined) && !h.Freed {
			return h, nil
		}
	}
	return Head{}, fault.Errorf(fault.NotFound, 0, "The rank's %s has no predefined %s %s.", r.MPI(), k.Word, name)
}

func (r *Registry) unknown(k *Class, h uint64, fortran, freed bool) error {
	shown := k.shown(fortran, h)
	if freed {
		return fault.Errorf(fault.Freed, 0,
			"The %s handle %s was freed: no live %s has it. Using it in an MPI call is an error.",
			k.Word, shown, k.Word)
	}
	hint := ""
	switch {
	case h == 0 && !fortran:
		hint = " The variable may not be initialised."
	case k.Kind == KindRequest:
		hint = " It may be complete, or the variable not be initialised."
	case k.Kind == KindComm:
		hint = " It may also come from a call that Cohort does not follow yet, such as MPI_Comm_spawn where " +
			"requests and calls are not tracked."
	}
	if r.Header.Lost > 0 {
		hint += fmt.Sprintf(" %s could not be recorded because memory ran out; it may be among them.",
			view.Plural(int64(min(r.Header.Lost, 1<<62)), "record"))
	}
	ctype := k.Ctype
	if fortran {
		ctype = "INTEGER or TYPE(" + ctype + ")"
	}
	return fault.Errorf(fault.NotFound, 0, "No %s with the handle %s is known in this rank.%s "+
		"The expression must be a variable of type %s that was assigned by MPI.", k.Word, shown, hint, ctype)
}

// find looks h up by the table's own hash: a few reads, however large the table is.
func (r *Registry) find(k *Class, h uint64) (found Head, freed bool, err error) {
	table := r.tableOf(k)
	capacity, err := r.capacity(k)
	if err != nil {
		return Head{}, false, err
	}
	const window = 32
	at := hashHandle(h) & (capacity - 1)
	for seen := uint64(0); seen < capacity; {
		n := min(window, capacity-at)
		b, err := r.ReadFull(table+slotsHeader+at*slotSize, int64(n*slotSize), "The table of "+k.Words())
		if err != nil {
			return Head{}, false, err
		}
		for ; len(b) > 0; b = b[slotSize:] {
			switch s := abi.Read[abi.Slot](b); {
			case s.Record == slotEmpty:
				return Head{}, freed, nil
			case s.Record == slotFreed:
				freed = freed || s.Handle == h
			case s.Handle == h:
				head, err := r.Head(k, s.Record)
				if err != nil || !head.Freed {
					return head, false, err
				}
				freed = true // tracked for types that still refer to it; a new life of the handle may follow
			}
		}
		seen += n
		at = (at + n) & (capacity - 1)
	}
	return Head{}, freed, nil
}

// Heads reads the heads of all records of a kind, live ones first, in the order of their creation. problems are of
// records that cannot be read; unread is how many were not looked at. The caller must not change the slices.
func (r *Registry) Heads(k *Class) (heads []Head, problems []error, unread int, err error) {
	if k.Kind > KindComm {
		if err := r.notTracked(k); err != nil || r.tableOf(k) == 0 {
			return nil, nil, 0, err
		}
	}
	t, err := r.slots(k)
	if err != nil {
		return nil, nil, 0, err
	}
	if t.heads != nil || t.problems != nil {
		return t.heads, t.problems, t.unread, nil
	}
	slots := t.live[:min(len(t.live), maxListed)]
	unread = len(t.live) - len(slots)
	for _, s := range slots {
		var found []Head
		if k.Kind == KindRequest {
			found, err = r.Chain(s.Record)
		} else {
			var h Head
			if h, err = r.Head(k, s.Record); err == nil {
				found = []Head{h}
			}
		}
		if err != nil {
			problems = append(problems, err)
		}
		heads = append(heads, found...)
	}
	slices.SortStableFunc(heads, func(a, b Head) int {
		return cmp.Or(CompareBool(a.Freed, b.Freed), cmp.Compare(a.ID, b.ID))
	})
	t.heads, t.problems, t.unread = heads, problems, unread
	return heads, problems, unread, nil
}

// CompareBool orders false before true.
func CompareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Chain follows the records of requests with one handle, from the first on.
func (r *Registry) Chain(first uint64) ([]Head, error) { return r.chain(first, abi.SharedMax) }

func (r *Registry) chain(first uint64, most int) (all []Head, err error) {
	k := ClassOf(KindRequest)
	seen := map[uint64]bool{}
	for at := first; at != 0; {
		if seen[at] || len(all) > most {
			return all, fault.Corruptf(at, "the requests of one handle go round in a circle, or are more than %d", most)
		}
		seen[at] = true
		h, err := r.Head(k, at)
		if err != nil {
			return all, err
		}
		all = append(all, h)
		at = abi.Read[abi.RequestRecord](h.Raw).Next
	}
	return all, nil
}

// Detached are the requests whose handle the program has given up while they were active.
func (r *Registry) Detached() ([]Head, error) { return r.chain(r.Header.Detached, abi.DetachedMax) }
