package registry

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Head is what the records of all kinds of handles tell.
type Head struct {
	Class               *Class
	Address             uint64 // of the record
	Handle              uint64
	FHandle             int32 // NoFortran: not known
	Freed, Predefined   bool
	Name                string
	ID, Event, CallSite uint64
	Stack               uint64 // see StackFrames; 0: none
	Null                bool   // it is the null handle's
	Raw                 []byte // the record without what follows it
}

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
	var h Head
	switch k.Kind { //nolint:exhaustive // the others begin with a struct cohort_object
	case KindDatatype:
		d := DecodeDatatype(b)
		h = Head{
			Handle: d.Handle, FHandle: d.FHandle, Freed: d.State&StateFreed != 0, Predefined: d.Combiner == combinerNamed,
			Name: d.Name, ID: d.Id, Event: d.Event, CallSite: d.CallSite, Stack: d.Stack, Null: d.Basic == basicNull,
		}
		if d.State&stateLongName != 0 {
			h.Name = r.longName(d)
		}
	case KindComm:
		c := DecodeComm(b)
		h = Head{
			Handle: c.Handle, FHandle: c.FHandle, Freed: c.State&CommFreed != 0, Predefined: c.CallSite == 0,
			Name: c.Name, ID: c.Id, Event: c.Event, CallSite: c.CallSite, Stack: c.Stack, Null: c.Kind == commNull,
		}
	default:
		c := Cursor{B: b}
		o := c.Object()
		if o.Size < uint32(k.Size) {
			return Head{}, fault.Corruptf(rec, "the record of a %s has %d bytes, and at least %d are needed", k.Word, o.Size,
				k.Size)
		}
		h = Head{
			Handle: o.Handle, FHandle: o.FHandle, Freed: o.State&ObjectFreed != 0, Predefined: o.State&ObjectPredefined != 0,
			ID: o.Id, Event: o.Event, CallSite: o.CallSite, Stack: o.Stack,
		}
		if o.Name != 0 {
			h.Name = r.text(o.Name, maxObjectName)
		}
		h.Null = h.Predefined && h.Name == k.Null
	}
	h.Class, h.Address, h.Raw = k, rec, b
	r.heads[rec] = h
	return h, nil
}

// What Head must know of datatypes and communicators.
const (
	combinerNamed = 1
	basicNull     = 15
	commNull      = 5
	maxObjectName = 4096 // bytes of a name: a path
)

// longName reads a name that a datatype's record has no room for. Where it cannot be read, the beginning stays, and
// shows that it is one.
func (r *Registry) longName(d DatatypeRecord) string {
	if d.longName < minMappedAddr {
		return d.Name + "..."
	}
	b := make([]byte, maxLongName)
	n, _ := r.Mem.ReadMemory(d.longName, b) // a name at the end of mapped memory is shorter
	if i := bytes.IndexByte(b[:min(max(n, 0), len(b))], 0); i >= 0 {
		return string(bytes.ToValidUTF8(b[:i], []byte("?")))
	}
	return d.Name + "..."
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
	if r.MPI() == OpenMPI && !fortran && k.openNull != "" && r.Env.Symbol != nil &&
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
		if r.tableOf(k.Kind) == 0 {
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
	if !fortran || r.MPI() == MPICH && k.Kind != KindFile && !freed { // there a Fortran handle is the C handle
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
			"The %s handle %s was freed: no live %s has it. Using it in an MPI call is an error.", k.Word, shown, k.Word)
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
	table := r.tableOf(k.Kind)
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
		for c := (Cursor{B: b}); len(c.B) > 0; {
			switch handle, rec := c.u64(), c.u64(); {
			case rec == slotEmpty:
				return Head{}, freed, nil
			case rec == slotFreed:
				freed = freed || handle == h
			case handle == h:
				head, err := r.Head(k, rec)
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
		if err := r.notTracked(k); err != nil || r.tableOf(k.Kind) == 0 {
			return nil, nil, 0, err
		}
	}
	slots, err := r.slots(k)
	if err != nil {
		return nil, nil, 0, err
	}
	t := r.tables[k.Kind]
	if t.heads != nil || t.problems != nil {
		return t.heads, t.problems, t.unread, nil
	}
	if len(slots) > maxListed {
		slots, unread = slots[:maxListed], len(slots)-maxListed
	}
	for _, s := range slots {
		if k.Kind == KindRequest {
			chain, err := r.Chain(s.Record)
			heads = append(heads, chain...)
			if err != nil {
				problems = append(problems, err)
			}
			continue
		}
		h, err := r.Head(k, s.Record)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		heads = append(heads, h)
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

const (
	sharedMax   = 1024 // COHORT_SHARED_MAX: requests of one handle
	detachedMax = 64   // COHORT_DETACHED_MAX
)

// Chain follows the records of requests with one handle, from the first on.
func (r *Registry) Chain(first uint64) ([]Head, error) { return r.chain(first, sharedMax) }

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
		at = DecodeRequest(h.Raw).Next
	}
	return all, nil
}

// Detached are the requests whose handle the program has given up while they were active.
func (r *Registry) Detached() ([]Head, error) { return r.chain(r.Header.Detached, detachedMax) }
