package prettyprint

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// Object is a handle of the registry that is neither a datatype nor a communicator: a request, group, window, file,
// operation, error handler or info.
type Object struct {
	reg  *Registry
	info *kindInfo
	rec  uint64
	hdr  abiObject
	name string
	raw  []byte // the record, without what follows it
}

// The states of enum cohort_object_state.
const (
	objectPredefined  = 1 << 0
	objectFreed       = 1 << 1
	objectTruncated   = 1 << 2
	objectFortran     = 1 << 3
	objectUnseen      = 1 << 4
	objectAddressOnly = 1 << 5
	requestActive     = 1 << 8
	requestPersistent = 1 << 9
	requestCancelled  = 1 << 10
	requestComplete   = 1 << 11
	requestShared     = 1 << 12
	requestUnsure     = 1 << 13
)

const maxObjectName = 4096 // bytes of a name: a path

// object reads the record at rec.
func (r *Registry) object(k *kindInfo, rec uint64) (*Object, error) {
	if o, ok := r.objects[rec]; ok {
		if o.info.kind != k.kind {
			return nil, corrupt(rec, "one record is said to be of a %s and of a %s", o.info.word, k.word)
		}
		return o, nil
	}
	raw, err := r.objectBytes(k, rec)
	if err != nil {
		return nil, err
	}
	c := cursor{b: raw}
	o := &Object{reg: r, info: k, rec: rec, hdr: c.object(), raw: raw}
	if int64(o.hdr.size) < int64(k.size) {
		return nil, corrupt(rec, "the record of a %s has %d bytes, and at least %d are needed", k.word, o.hdr.size,
			k.size)
	}
	if o.hdr.name != 0 {
		o.name = r.text(o.hdr.name, maxObjectName)
	}
	r.objects[rec] = o
	return o, nil
}

func (r *Registry) objectBytes(k *kindInfo, rec uint64) ([]byte, error) {
	if b, ok := r.tables[k.kind].header(rec, k.size); ok {
		return b, nil
	}
	return r.readFull(rec, int64(k.size), "The record of a "+k.word)
}

// text reads a NUL-terminated text; what cannot be read is left out.
func (r *Registry) text(addr uint64, most int) string {
	var out []byte
	for len(out) < most {
		b := make([]byte, min(256, most-len(out)))
		n, _ := r.mem.ReadMemory(addr+uint64(len(out)), b) // a text at the end of mapped memory is shorter
		n = min(max(n, 0), len(b))
		if i := bytes.IndexByte(b[:n], 0); i >= 0 {
			return string(bytes.ToValidUTF8(append(out, b[:i]...), []byte("?")))
		}
		if out = append(out, b[:n]...); n < len(b) {
			break
		}
	}
	return string(bytes.ToValidUTF8(out, []byte("?"))) + "..."
}

// ObjectByHandle returns the live object of a kind whose C handle is h. Of a handle that several requests have it is
// the oldest of them.
func (r *Registry) ObjectByHandle(kind HandleKind, h uint64) (*Object, error) {
	k := infoOf(kind)
	h = r.maskOf(k, h)
	if r.isNull(k, h) {
		return nil, k.nullError(k.shown(false, h))
	}
	if err := r.notKept(k); err != nil {
		return nil, err
	}
	if r.tableOf(kind) == 0 {
		return nil, r.unknownObject(k, k.shown(false, h), h, false)
	}
	rec, freed, err := r.find(r.tableOf(kind), h, k.words())
	if err != nil {
		return nil, err
	}
	if rec == 0 {
		return nil, r.unknownObject(k, k.shown(false, h), h, freed)
	}
	o, err := r.object(k, rec)
	if err != nil {
		return nil, err
	}
	if o.hdr.handle != h {
		return nil, corrupt(rec, "the table says that this is the record of handle 0x%x, the record says 0x%x", h,
			o.hdr.handle)
	}
	err = o.nullError()
	return o, err
}

// nullError is an error for the record of a null handle.
func (o *Object) nullError() error {
	if o.hdr.state&objectPredefined != 0 && o.name == o.info.null {
		return o.info.nullError(o.info.shown(false, o.hdr.handle))
	}
	return nil
}

// ObjectByFortran returns the live object of a kind whose Fortran handle is f.
func (r *Registry) ObjectByFortran(kind HandleKind, f int32) (*Object, error) {
	k := infoOf(kind)
	if r.isNullFortran(k, f) {
		return nil, k.nullError(fmt.Sprint(f))
	}
	all, err := r.objectsOf(k)
	if err != nil {
		return nil, err
	}
	freed := false
	for _, o := range all {
		if o.hdr.fHandle != f || f == abiNoFortran {
			continue
		}
		if o.hdr.state&objectFreed != 0 {
			freed = true
			continue
		}
		err = o.nullError()
		return o, err
	}
	if r.MPI() == MPICH && kind != HandleFile && !freed { // there a Fortran handle is the C handle
		return r.ObjectByHandle(kind, uint64(uint32(f)))
	}
	return nil, r.unknownObject(k, fmt.Sprint(f), uint64(uint32(f)), freed)
}

// ObjectByName returns a predefined object, such as MPI_SUM.
func (r *Registry) ObjectByName(kind HandleKind, name string) (*Object, error) {
	k := infoOf(kind)
	if name == k.null {
		return nil, k.nullError(name)
	}
	all, err := r.objectsOf(k)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if o.name == name && o.hdr.state&objectPredefined != 0 {
			return o, nil
		}
	}
	return nil, errorf(KindNotFound, 0, "This rank has no predefined %s %s.", k.word, name)
}

func (r *Registry) unknownObject(k *kindInfo, shown string, h uint64, freed bool) error {
	if freed {
		return errorf(KindFreed, 0,
			"The %s handle %s was freed: no live %s has it. Using it in an MPI call is an error.", k.word, shown,
			k.word)
	}
	hint := ""
	switch {
	case h == 0:
		hint = " The variable may not be initialised."
	case k.kind == HandleRequest:
		hint = " It may be complete, or the variable not be initialised."
	}
	if r.abi.lost > 0 {
		hint += fmt.Sprintf(" %s could not be kept for want of memory; it may be among them.",
			plural(int64(min(r.abi.lost, 1<<62)), "record"))
	}
	return errorf(KindNotFound, 0, "No %s with the handle %s is known in this rank.%s", k.word, shown, hint)
}

// objectsOf reads all objects of a kind, those with the same handle after each other, in the order of their creation.
// What cannot be read is left out; the error is the first met if there is nothing else.
func (r *Registry) objectsOf(k *kindInfo) ([]*Object, error) {
	all, problems, _, err := r.allObjects(k)
	if err == nil && len(all) == 0 && len(problems) > 0 {
		err = problems[0]
	}
	return all, err
}

func (r *Registry) allObjects(k *kindInfo) (all []*Object, problems []error, unread int, err error) {
	if err := r.notKept(k); err != nil {
		return nil, nil, 0, err
	}
	if r.tableOf(k.kind) == 0 {
		return nil, nil, 0, nil
	}
	t := r.tables[k.kind]
	slots, err := r.slots(&t, r.tableOf(k.kind), k.words())
	if err != nil {
		return nil, nil, 0, err
	}
	r.tables[k.kind] = t
	r.prefetch(slots, k.size)
	for i, s := range slots.live {
		if i >= maxListed {
			unread = len(slots.live) - i
			break
		}
		o, err := r.object(k, s.record)
		if err == nil && k.kind == HandleRequest {
			var chain []*Object
			chain, err = r.chain(o, sharedMax)
			all = append(all, chain...)
		} else if err == nil {
			all = append(all, o)
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	slices.SortStableFunc(all, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.hdr.state&objectFreed, b.hdr.state&objectFreed), cmp.Compare(a.hdr.id, b.hdr.id))
	})
	return all, problems, unread, nil
}

// Kind is the kind of handle.
func (o *Object) Kind() HandleKind { return o.info.kind }

// Handle is the C handle.
func (o *Object) Handle() uint64 { return o.hdr.handle }

// Name is the predefined name, one that the program has set, or of a file its path; or empty.
func (o *Object) Name() string { return o.name }

// Freed reports whether the program has freed the handle; the record remains while others refer to it.
func (o *Object) Freed() bool { return o.hdr.state&objectFreed != 0 }

// Predefined reports whether MPI defines the object.
func (o *Object) Predefined() bool { return o.hdr.state&objectPredefined != 0 }

// created says where the object was made.
func (o *Object) created(where func(pc uint64) string) string {
	if o.Predefined() {
		return ""
	}
	s := createdText(o.hdr.callSite, o.hdr.event, where)
	if o.hdr.state&objectUnseen != 0 {
		s = "by a call that Cohort does not follow; first seen " + s
	}
	return s
}

// common are the nodes that all kinds end with.
func (o *Object) common(where func(pc uint64) string) []Node {
	state := "live"
	switch {
	case o.Predefined():
		state = "predefined"
	case o.Freed():
		state = "freed, still used"
	}
	kids := []Node{leafNode("state", state)}
	if s := o.created(where); s != "" {
		name := "created"
		switch o.info.kind { //nolint:exhaustive // the others are created
		case HandleRequest:
			name = "posted"
		case HandleFile:
			name = "opened"
		}
		kids = append(kids, leafNode(name, s))
	}
	handle := fmt.Sprintf("0x%x", o.hdr.handle)
	if o.hdr.fHandle != abiNoFortran {
		handle += fmt.Sprintf(" (Fortran %d)", o.hdr.fHandle)
	}
	return append(kids, leafNode("handle", handle))
}
