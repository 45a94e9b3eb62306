package prettyprinttest

// What the tables of an Image hold, as bits of its Features.
const (
	FeatureRequests = 1 << 2
	FeatureCalls    = 1 << 3
	AllFeatures     = 1<<10 - 1
	FeatureControl  = 1 << 16
	FeatureAsked    = 1 << 17
)

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

// States of an object.
const (
	Predefined        = 1 << 0
	ObjectFreed       = 1 << 1
	Truncated         = 1 << 2
	RequestActive     = 1 << 8
	RequestPersistent = 1 << 9
	RequestCancelled  = 1 << 10
	RequestComplete   = 1 << 11
	RequestShared     = 1 << 12
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
	State               uint32
	ID, Event, CallSite uint64
	Name                string
	Stack               []uint64
}

// Side is a struct cohort_side.
type Side struct {
	Buffer                uint64
	Count                 int64
	Datatype, Handle      uint64
	Counts, Displs, Types uint64
	N, Flags              uint32
	Peer, Tag             int32
}

// NoSide is a side that a call does not have.
var NoSide = Side{Peer: None32, Tag: None32}

// Action is a struct cohort_action.
type Action struct {
	Op                                  uint32
	Root                                int32
	Comm, CommHandle, Object, Reduction uint64
	Offset                              int64
	Send, Receive, Target               Side
	Name                                string
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

func (im *Image) header(r ObjectRecord, size int) writer {
	name, stack := uint64(0), uint64(0)
	if r.Name != "" {
		name = im.Alloc(append([]byte(r.Name), 0))
	}
	if r.Stack != nil {
		var s writer
		s.u32(uint32(len(r.Stack)))
		s.u32(0)
		for _, pc := range r.Stack {
			s.u64(pc)
		}
		stack = im.Alloc(s)
	}
	im.nextID++
	if r.ID == 0 {
		r.ID = im.nextID
	}
	if r.FHandle == 0 {
		r.FHandle = -1
	}
	var w writer
	w.u32(uint32(size))
	w.u32(r.Kind)
	w.u64(r.Handle)
	w.u32(uint32(r.FHandle))
	w.u32(r.State)
	w.u32(1) // refs
	w.u32(1) // holds
	w.u64(r.ID)
	w.u64(r.Event)
	w.u64(r.CallSite)
	w.u64(name)
	w.u64(stack)
	return w
}

func (im *Image) publish(table int, r ObjectRecord, w writer) uint64 {
	at := im.Alloc(w)
	im.objects[table] = append(im.objects[table], slot{r.Handle, at})
	return at
}

// Group lays out a struct cohort_group.
func (im *Image) Group(r ObjectRecord, rank uint32, members ...uint32) uint64 {
	w := im.header(r, 80+4*len(members))
	w.u32(rank)
	w.u32(uint32(len(members)))
	for _, m := range members {
		w.u32(m)
	}
	return im.publish(Groups, r, w)
}

// Window lays out a struct cohort_window.
func (im *Image) Window(r ObjectRecord, comm, base uint64, bytes int64, unit int32, epochs uint32, access,
	exposure uint64, locks ...uint32,
) uint64 {
	w := im.header(r, 160)
	w.u64(comm)
	w.u64(base)
	w.i64(bytes)
	w.u32(uint32(unit))
	w.u32(epochs)
	w.u64(access)
	w.u64(exposure)
	w.u32(uint32(len(locks)))
	w.u32(0)
	for i := range 8 {
		if i < len(locks) {
			w.u32(locks[i])
		} else {
			w.u32(0)
		}
	}
	return im.publish(Windows, r, w)
}

// File lays out a struct cohort_file.
func (im *Image) File(r ObjectRecord, comm uint64, mode int32, disp int64, etype, filetype uint64,
	representation string,
) uint64 {
	w := im.header(r, 144)
	w.u64(comm)
	w.u32(uint32(mode))
	w.u32(0)
	w.i64(disp)
	w.u64(etype)
	w.u64(filetype)
	w.name(representation, 32)
	return im.publish(Files, r, w)
}

// Op lays out a struct cohort_reduction.
func (im *Image) Op(r ObjectRecord, function uint64, commutes uint32) uint64 {
	w := im.header(r, 88)
	w.u64(function)
	w.u32(commutes)
	w.u32(0)
	return im.publish(Ops, r, w)
}

// Errhandler lays out a struct cohort_errhandler.
func (im *Image) Errhandler(r ObjectRecord, function uint64) uint64 {
	w := im.header(r, 80)
	w.u64(function)
	return im.publish(Errhandlers, r, w)
}

// Info lays out a struct cohort_info with keys and values in turn.
func (im *Image) Info(r ObjectRecord, keys uint32, texts ...string) uint64 {
	var b []byte
	for _, s := range texts {
		b = append(append(b, s...), 0)
	}
	w := im.header(r, 80+len(b))
	w.u32(keys)
	w.u32(uint32(len(texts) / 2))
	return im.publish(Infos, r, append(w, b...))
}

func (w *writer) side(s Side) {
	w.u64(s.Buffer)
	w.i64(s.Count)
	w.u64(s.Datatype)
	w.u64(s.Handle)
	w.u64(s.Counts)
	w.u64(s.Displs)
	w.u64(s.Types)
	w.u32(s.N)
	w.u32(s.Flags)
	w.u32(uint32(s.Peer))
	w.u32(uint32(s.Tag))
}

func (w *writer) action(a Action) {
	w.u32(a.Op)
	w.u32(uint32(a.Root))
	w.u64(a.Comm)
	w.u64(a.CommHandle)
	w.u64(a.Object)
	w.u64(a.Reduction)
	w.i64(a.Offset)
	w.side(a.Send)
	w.side(a.Receive)
	w.side(a.Target)
	w.name(a.Name, 40)
}

// Request lays out a struct cohort_request_record; without a handle it is in no table.
func (im *Image) Request(r RequestRecord) uint64 {
	w := im.header(r.ObjectRecord, 416)
	w.u64(r.StartEvent)
	w.u64(r.StartSite)
	w.i64(r.Since)
	w.u64(r.Next)
	w.u32(uint32(r.Tid))
	w.u32(0)
	w.action(r.Action)
	if r.Handle == 0 {
		return im.Alloc(w)
	}
	return im.publish(Requests, r.ObjectRecord, w)
}

// Call lays out a struct cohort_call, which becomes the first.
func (im *Image) Call(r CallRecord) uint64 {
	var w writer
	w.u64(r.Next)
	w.u32(uint32(r.Tid))
	w.u32(r.Active)
	w.u64(r.Event)
	w.u64(r.CallSite)
	w.i64(r.Since)
	w.u64(r.Requests)
	w.i64(r.NRequests)
	w.action(r.Action)
	im.FirstCall = im.Alloc(w)
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
