package handle

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Object is a handle of the registry that is neither a datatype nor a communicator: a request, group, window, file,
// operation, error handler or info.
type Object struct {
	Rank   *Rank
	Class  *registry.Class
	rec    uint64
	Record registry.ObjectRecord
	name   string
	Raw    []byte // the record, without what follows it
}

const maxObjectName = 4096 // bytes of a name: a path

// ObjectAt reads the record at rec.
func (r *Rank) ObjectAt(k *registry.Class, rec uint64) (*Object, error) {
	if o, ok := r.objects[rec]; ok {
		if o.Class.Kind != k.Kind {
			return nil, fault.Corruptf(rec, "one record is said to be of a %s and of a %s", o.Class.Word, k.Word)
		}
		return o, nil
	}
	raw, err := r.RecordBytes(k, rec)
	if err != nil {
		return nil, err
	}
	c := registry.Cursor{B: raw}
	o := &Object{Rank: r, Class: k, rec: rec, Record: c.Object(), Raw: raw}
	if int64(o.Record.Size) < int64(k.Size) {
		return nil, fault.Corruptf(rec, "the record of a %s has %d bytes, and at least %d are needed", k.Word, o.Record.Size,
			k.Size)
	}
	if o.Record.Name != 0 {
		o.name = r.Text(o.Record.Name, maxObjectName)
	}
	r.objects[rec] = o
	return o, nil
}

// ObjectByHandle returns the live object of a kind whose C handle is h. Of a handle that several requests have it is
// the oldest of them.
func (r *Rank) ObjectByHandle(kind registry.Kind, h uint64) (*Object, error) {
	k := registry.ClassOf(kind)
	h = r.MaskOf(k, h)
	if r.IsNull(k, h) {
		return nil, k.NullError(k.Shown(false, h))
	}
	if err := r.NotKept(k); err != nil {
		return nil, err
	}
	if r.TableOf(kind) == 0 {
		return nil, r.unknownObject(k, k.Shown(false, h), h, false)
	}
	rec, freed, err := r.Find(k, h)
	if err != nil {
		return nil, err
	}
	if rec == 0 {
		return nil, r.unknownObject(k, k.Shown(false, h), h, freed)
	}
	o, err := r.ObjectAt(k, rec)
	if err != nil {
		return nil, err
	}
	if o.Record.Handle != h {
		return nil, fault.Corruptf(rec, "the table says that this is the record of handle 0x%x, the record says 0x%x", h,
			o.Record.Handle)
	}
	err = o.NullError()
	return o, err
}

// NullError is an error for the record of a null handle.
func (o *Object) NullError() error {
	if o.Record.State&registry.ObjectPredefined != 0 && o.name == o.Class.Null {
		return o.Class.NullError(o.Class.Shown(false, o.Record.Handle))
	}
	return nil
}

// ObjectByFortran returns the live object of a kind whose Fortran handle is f.
func (r *Rank) ObjectByFortran(kind registry.Kind, f int32) (*Object, error) {
	k := registry.ClassOf(kind)
	if r.IsNullFortran(k, f) {
		return nil, k.NullError(fmt.Sprint(f))
	}
	all, err := r.ObjectsOf(k)
	if err != nil {
		return nil, err
	}
	freed := false
	for _, o := range all {
		if o.Record.FHandle != f || f == registry.NoFortran {
			continue
		}
		if o.Record.State&registry.ObjectFreed != 0 {
			freed = true
			continue
		}
		err = o.NullError()
		return o, err
	}
	if r.MPI() == registry.MPICH && kind != registry.KindFile && !freed { // there a Fortran handle is the C handle
		return r.ObjectByHandle(kind, uint64(uint32(f)))
	}
	return nil, r.unknownObject(k, fmt.Sprint(f), uint64(uint32(f)), freed)
}

// ObjectByName returns a predefined object, such as MPI_SUM.
func (r *Rank) ObjectByName(kind registry.Kind, name string) (*Object, error) {
	k := registry.ClassOf(kind)
	if name == k.Null {
		return nil, k.NullError(name)
	}
	all, err := r.ObjectsOf(k)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if o.name == name && o.Record.State&registry.ObjectPredefined != 0 {
			return o, nil
		}
	}
	return nil, fault.Errorf(fault.NotFound, 0, "This rank has no predefined %s %s.", k.Word, name)
}

func (r *Rank) unknownObject(k *registry.Class, shown string, h uint64, freed bool) error {
	if freed {
		return fault.Errorf(fault.Freed, 0,
			"The %s handle %s was freed: no live %s has it. Using it in an MPI call is an error.", k.Word, shown,
			k.Word)
	}
	hint := ""
	switch {
	case h == 0:
		hint = " The variable may not be initialised."
	case k.Kind == registry.KindRequest:
		hint = " It may be complete, or the variable not be initialised."
	}
	if r.Header.Lost > 0 {
		hint += fmt.Sprintf(" %s could not be kept for want of memory; it may be among them.",
			view.Plural(int64(min(r.Header.Lost, 1<<62)), "record"))
	}
	return fault.Errorf(fault.NotFound, 0, "No %s with the handle %s is known in this rank.%s", k.Word, shown, hint)
}

// ObjectsOf reads all objects of a kind, those with the same handle after each other, in the order of their creation.
// What cannot be read is left out; the error is the first met if there is nothing else.
func (r *Rank) ObjectsOf(k *registry.Class) ([]*Object, error) {
	all, problems, _, err := r.AllObjects(k)
	if err == nil && len(all) == 0 && len(problems) > 0 {
		err = problems[0]
	}
	return all, err
}

func (r *Rank) AllObjects(k *registry.Class) (all []*Object, problems []error, unread int, err error) {
	if err := r.NotKept(k); err != nil {
		return nil, nil, 0, err
	}
	if r.TableOf(k.Kind) == 0 {
		return nil, nil, 0, nil
	}
	slots, err := r.Slots(k)
	if err != nil {
		return nil, nil, 0, err
	}
	for i, s := range slots {
		if i >= registry.MaxListed {
			unread = len(slots) - i
			break
		}
		o, err := r.ObjectAt(k, s.Record)
		if err == nil && k.Kind == registry.KindRequest {
			var chain []*Object
			chain, err = r.Chain(o, SharedMax)
			all = append(all, chain...)
		} else if err == nil {
			all = append(all, o)
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	slices.SortStableFunc(all, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.Record.State&registry.ObjectFreed, b.Record.State&registry.ObjectFreed), cmp.Compare(a.Record.Id, b.Record.Id))
	})
	return all, problems, unread, nil
}

// Kind is the kind of handle.
func (o *Object) Kind() registry.Kind { return o.Class.Kind }

// Handle is the C handle.
func (o *Object) Handle() uint64 { return o.Record.Handle }

// Name is the predefined name, one that the program has set, or of a file its path; or empty.
func (o *Object) Name() string { return o.name }

// Freed reports whether the program has freed the handle; the record remains while others refer to it.
func (o *Object) Freed() bool { return o.Record.State&registry.ObjectFreed != 0 }

// Predefined reports whether MPI defines the object.
func (o *Object) Predefined() bool { return o.Record.State&registry.ObjectPredefined != 0 }

// Created says where the object was made.
func (o *Object) Created() string {
	if o.Predefined() {
		return ""
	}
	s := o.Rank.CreatedText(o.Record.CallSite, o.Record.Event)
	if o.Record.State&registry.ObjectUnseen != 0 {
		s = "by a call that Cohort does not follow; first seen " + s
	}
	return s
}

// Common are the nodes that all kinds end with.
func (o *Object) Common() []view.Node {
	state := "live"
	switch {
	case o.Predefined():
		state = "predefined"
	case o.Freed():
		state = "freed, still used"
	}
	kids := []view.Node{view.Leaf("state", state)}
	if s := o.Created(); s != "" {
		name := "created"
		switch o.Class.Kind { //nolint:exhaustive // the others are created
		case registry.KindRequest:
			name = "posted"
		case registry.KindFile:
			name = "opened"
		}
		kids = append(kids, view.Leaf(name, s))
	}
	handle := fmt.Sprintf("0x%x", o.Record.Handle)
	if o.Record.FHandle != registry.NoFortran {
		handle += fmt.Sprintf(" (Fortran %d)", o.Record.FHandle)
	}
	return append(kids, view.Leaf("handle", handle))
}

const (
	SharedMax   = 1024 // COHORT_SHARED_MAX: requests of one handle
	detachedMax = 64   // COHORT_DETACHED_MAX
	NoneInt32   = math.MinInt32
)

// Chain follows the records with the same handle, or the detached ones.
func (r *Rank) Chain(first *Object, most int) ([]*Object, error) {
	all := []*Object{first}
	seen := map[uint64]bool{first.rec: true}
	for next := registry.DecodeRequest(first.Raw).Next; next != 0; {
		if seen[next] || len(all) > most {
			return all, fault.Corruptf(next, "the requests of one handle go round in a circle, or are more than %d", most)
		}
		seen[next] = true
		o, err := r.ObjectAt(first.Class, next)
		if err != nil {
			return all, err
		}
		all = append(all, o)
		next = registry.DecodeRequest(o.Raw).Next
	}
	return all, nil
}

// Detached returns the requests whose handle the program has given up while they were active.
func (r *Rank) Detached() ([]*Object, error) {
	if r.Header.Detached == 0 {
		return nil, nil
	}
	first, err := r.ObjectAt(registry.ClassOf(registry.KindRequest), r.Header.Detached)
	if err != nil {
		return nil, err
	}
	return r.Chain(first, detachedMax)
}

func (r *Rank) CommOfHandle(h uint64, fortran bool) (m *Comm, err error) {
	k := registry.ClassOf(registry.KindComm)
	switch {
	case fortran && r.IsNullFortran(k, int32(h)), !fortran && r.IsNull(k, r.MaskHandle(h)):
		return nil, k.NullError(k.Shown(fortran, r.MaskHandle(h)))
	case fortran:
		m, err = r.CommByFortran(int32(h))
	default:
		m, err = r.CommByHandle(h)
	}
	if err == nil && m.Kind() == CommNull {
		return nil, k.NullError(fmt.Sprintf("0x%x", h))
	}
	return m, r.nullByName(k, h, fortran, err)
}

func (r *Rank) ObjectOfHandle(k *registry.Class, h uint64, fortran bool) (o *Object, err error) {
	if fortran {
		return r.ObjectByFortran(k.Kind, int32(h))
	}
	o, err = r.ObjectByHandle(k.Kind, h)
	return o, r.nullByName(k, h, fortran, err)
}

// nullByName replaces an error about a handle by the one that it is null, where only the address of a symbol tells: in
// Open MPI.
func (r *Rank) nullByName(k *registry.Class, h uint64, fortran bool, err error) error {
	if fortran || r.MPI() != registry.OpenMPI || k.OpenNull == "" || r.Env.Symbol == nil || !fault.Is(err, fault.NotFound) &&
		!fault.Is(err, fault.NotKept) {
		return err
	}
	if at, ok := r.Env.Symbol(k.OpenNull); ok && at == h {
		return k.NullError(fmt.Sprintf("0x%x", h))
	}
	return err
}
