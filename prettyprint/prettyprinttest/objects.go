package prettyprinttest

import "github.com/cohort-debugger/cohort/pmpi/abi"

// AllFeatures is what an Image may have tables of.
const AllFeatures = abi.FeatureInfos<<1 - 1

// Tables of an Image for objects, in the order of struct cohort_registry.
const (
	Requests = iota
	Groups
	Windows
	Files
	Ops
	Errhandlers
	Infos
	tables
)

// None32 and None64 are what is not there.
const (
	None32 = -1 << 31
	None64 = -1 << 63
)

// ObjectRecord is a struct cohort_object.
type ObjectRecord struct {
	Kind                uint32
	Handle              uint64
	FHandle             int32
	State               abi.ObjectState
	ID, Event, CallSite uint64
	Name                string
	Stack               []uint64
}

// NoSide is a side that a call does not have.
var NoSide = abi.Side{Peer: None32, Tag: None32}

// Action is a struct cohort_action.
type Action struct {
	abi.Action
	Name string
}

func (a Action) record() abi.Action {
	copy(a.Action.Name[:len(a.Action.Name)-1], a.Name)
	return a.Action
}

// RequestRecord is a struct cohort_request_record.
type RequestRecord struct {
	ObjectRecord
	StartEvent, StartSite uint64
	Since                 int64
	Next                  uint64
	Tid                   int32
	Action                Action
}

// CallRecord is a struct cohort_call.
type CallRecord struct {
	Next            uint64
	Tid             int32
	Active          uint32
	Event, CallSite uint64
	Since           int64
	Requests        uint64
	NRequests       int64
	Action          Action
}

// object is the beginning of a record, but for its size. What has no id is given one.
func (im *Image) object(r ObjectRecord) abi.Object {
	im.nextID++
	if r.ID == 0 {
		r.ID = im.nextID
	}
	return im.header(r)
}

func (im *Image) header(r ObjectRecord) abi.Object {
	o := abi.Object{
		Kind: r.Kind, Handle: r.Handle, FHandle: r.FHandle, State: r.State, Refs: 1, Holds: 1, ID: r.ID, Event: r.Event,
		CallSite: r.CallSite,
	}
	if r.Name != "" {
		o.Name = im.name(r.Name)
	}
	if r.Stack != nil {
		o.Stack = im.Alloc(appendAll(appendAll(nil, []uint32{uint32(len(r.Stack)), 0}), r.Stack))
	}
	if o.FHandle == 0 {
		o.FHandle = -1
	}
	return o
}

func (im *Image) name(text string) uint64 {
	b := append([]byte(text), 0)
	if im.Compact {
		return im.Alloc(b)
	}
	at := im.text
	im.Map(at, b)
	im.text += 4096
	return at
}

func (im *Image) publish(table int, handle, at uint64) uint64 {
	im.objects[table] = append(im.objects[table], slot{handle, at})
	return at
}

// Group lays out a struct cohort_group.
func (im *Image) Group(r ObjectRecord, rank uint32, members ...uint32) uint64 {
	g := abi.Group{Object: im.object(r), GroupRank: rank, NMembers: uint32(len(members))}
	return im.publish(Groups, r.Handle, place(im, &g, &g.Object, appendAll(nil, members)))
}

// Window lays out a struct cohort_window.
func (im *Image) Window(r ObjectRecord, comm, base uint64, bytes int64, unit int32, epochs abi.Epoch, access,
	exposure uint64, locks ...uint32,
) uint64 {
	w := abi.Window{
		Object: im.object(r), Comm: comm, Base: base, Bytes: bytes, DispUnit: unit, Epochs: epochs, AccessGroup: access,
		ExposureGroup: exposure, NLocks: uint32(len(locks)),
	}
	copy(w.Locks[:], locks)
	return im.publish(Windows, r.Handle, place(im, &w, &w.Object, nil))
}

// File lays out a struct cohort_file.
func (im *Image) File(r ObjectRecord, comm uint64, mode int32, disp int64, etype, filetype uint64,
	representation string,
) uint64 {
	f := abi.File{Object: im.object(r), Comm: comm, Amode: mode, Disp: disp, Etype: etype, Filetype: filetype}
	copy(f.Datarep[:len(f.Datarep)-1], representation)
	return im.publish(Files, r.Handle, place(im, &f, &f.Object, nil))
}

// Op lays out a struct cohort_reduction.
func (im *Image) Op(r ObjectRecord, function uint64, commutes uint32) uint64 {
	o := abi.Reduction{Object: im.object(r), Function: function, Commutes: commutes}
	return im.publish(Ops, r.Handle, place(im, &o, &o.Object, nil))
}

// Errhandler lays out a struct cohort_errhandler.
func (im *Image) Errhandler(r ObjectRecord, function uint64) uint64 {
	e := abi.Errhandler{Object: im.object(r), Function: function}
	return im.publish(Errhandlers, r.Handle, place(im, &e, &e.Object, nil))
}

// Info lays out a struct cohort_info with keys and values in turn.
func (im *Image) Info(r ObjectRecord, keys uint32, texts ...string) uint64 {
	var b []byte
	for _, s := range texts {
		b = append(append(b, s...), 0)
	}
	i := abi.Info{Object: im.object(r), NKeys: keys, NEntries: uint32(len(texts) / 2)}
	return im.publish(Infos, r.Handle, place(im, &i, &i.Object, b))
}

// Request lays out a struct cohort_request_record; without a handle it is in no table.
func (im *Image) Request(r RequestRecord) uint64 {
	q := abi.RequestRecord{
		Object: im.object(r.ObjectRecord), StartEvent: r.StartEvent, StartSite: r.StartSite, SinceNS: r.Since,
		Next: r.Next,
		Tid:  r.Tid, A: r.Action.record(),
	}
	at := place(im, &q, &q.Object, nil)
	if r.Handle != 0 {
		im.publish(Requests, r.Handle, at)
	}
	return at
}

// Call lays out a struct cohort_call, which becomes the first.
func (im *Image) Call(r CallRecord) uint64 {
	im.FirstCall = im.Alloc(clone(&abi.Call{
		Next: r.Next, Tid: r.Tid, Active: r.Active, Event: r.Event, CallSite: r.CallSite, SinceNS: r.Since,
		Requests: r.Requests, NRequests: r.NRequests, A: r.Action.record(),
	}))
	return im.FirstCall
}

// Write changes memory that is mapped.
func (m *Memory) Write(addr uint64, data []byte) {
	for i := range m.regions {
		r := &m.regions[i]
		if addr >= r.addr && addr-r.addr+uint64(len(data)) <= uint64(len(r.data)) {
			copy(r.data[addr-r.addr:], data)
			return
		}
	}
	panic("not mapped")
}
