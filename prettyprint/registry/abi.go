package registry

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The registry's side of pmpi/include/cohort_abi.h, by offset. All integers are little endian.
const (
	abiVersion    = 3
	registryMagic = 0x00474552484f43

	registrySize  = 176 // sizeof(struct cohort_registry)
	slotSize      = 16  // sizeof(struct cohort_slot)
	slotsHeader   = 8   // offsetof(struct cohort_slots, slot)
	DatatypeSize  = 160 // sizeof(struct cohort_datatype): its arguments follow
	CommSize      = 168 // sizeof(struct cohort_comm): its members follow
	slotEmpty     = 0
	slotFreed     = 1
	UnknownFigure = math.MinInt64 // a figure that the library did not report
	NoFortran     = -1
)

// MPI tells which library's conventions the registry's numbers follow (constants such as MPI_ORDER_C differ).
type MPI uint32

// The libraries that the interposer knows.
const (
	MPICH   MPI = 1
	OpenMPI MPI = 2
)

func (m MPI) String() string {
	switch m {
	case MPICH:
		return "MPICH"
	case OpenMPI:
		return "Open MPI"
	}
	return "an unknown MPI"
}

const (
	StateCommitted = 1 << 0
	StateFreed     = 1 << 1
	stateLongName  = 1 << 2
	CommFreed      = 1 << 1
)

// DatatypeRecord mirrors struct cohort_datatype without its arguments.
type DatatypeRecord struct {
	Size, Combiner, State, Refs          uint32
	Handle                               uint64
	FHandle                              int32
	Basic, Pair, BasicSize               uint32
	TypeSize                             int64
	Lb, Extent, TrueLB, TrueExtent       int64
	Id, Event, CallSite                  uint64
	Name                                 string // with stateLongName only its beginning: see Registry.wholeName
	longName                             uint64 // with stateLongName the address of the whole
	Stack                                uint64
	NIntegers, NAddresses, NTypes, holds uint32
}

const maxLongName = 128 // bytes with the NUL

func DecodeDatatype(b []byte) DatatypeRecord {
	c := Cursor{B: b}
	d := DatatypeRecord{Size: c.u32(), Combiner: c.u32(), State: c.u32(), Refs: c.u32(), Handle: c.u64()}
	d.FHandle = int32(c.u32())
	d.Basic, d.Pair, d.BasicSize = c.u32(), c.u32(), c.u32()
	d.TypeSize, d.Lb, d.Extent = int64(c.u64()), int64(c.u64()), int64(c.u64())
	d.TrueLB, d.TrueExtent = int64(c.u64()), int64(c.u64())
	d.Id, d.Event, d.CallSite = c.u64(), c.u64(), c.u64()
	if d.State&stateLongName != 0 {
		d.Name, d.longName = c.text(24), c.u64()
	} else {
		d.Name = c.text(32)
	}
	d.Stack = c.u64()
	d.NIntegers, d.NAddresses, d.NTypes, d.holds = c.u32(), c.u32(), c.u32(), c.u32()
	return d
}

// CommRecord mirrors struct cohort_comm without what follows it.
type CommRecord struct {
	Size, Kind          uint32
	Handle              uint64
	FHandle             int32
	index               uint32
	GlobalID, ParentID  uint64
	CommSize, CommRank  uint32
	State, NDims        uint32
	Id, Event, CallSite uint64
	Name                string
	Stack               uint64
	refs, holds         uint32
	NMembers, NRemote   uint32
}

func DecodeComm(b []byte) CommRecord {
	c := Cursor{B: b}
	m := CommRecord{Size: c.u32(), Kind: c.u32(), Handle: c.u64()}
	m.FHandle = int32(c.u32())
	m.index = c.u32()
	m.GlobalID, m.ParentID = c.u64(), c.u64()
	m.CommSize, m.CommRank, m.State, m.NDims = c.u32(), c.u32(), c.u32(), c.u32()
	m.Id, m.Event, m.CallSite = c.u64(), c.u64(), c.u64()
	m.Name = c.text(64)
	m.Stack = c.u64()
	m.refs, m.holds = c.u32(), c.u32()
	m.NMembers, m.NRemote = c.u32(), c.u32()
	return m
}

// Header mirrors struct cohort_registry.
type Header struct {
	magic                            uint64
	version, size                    uint32
	mpi, handleSize                  uint32
	datatypes, comms, requests       uint64 // addresses of tables; 0: none
	groups, windows, files           uint64
	ops, errhandlers, infos          uint64
	Calls, Detached, DetachedDropped uint64
	Lost                             uint64
	Features, mode                   uint32
	inPlace, commNull, requestNull   uint64
}

func decodeRegistry(b []byte) Header {
	c := Cursor{B: b}
	r := Header{magic: c.u64(), version: c.u32(), size: c.u32(), mpi: c.u32(), handleSize: c.u32()}
	r.datatypes, r.comms, r.requests = c.u64(), c.u64(), c.u64()
	r.groups, r.windows, r.files = c.u64(), c.u64(), c.u64()
	r.ops, r.errhandlers, r.infos = c.u64(), c.u64(), c.u64()
	r.Calls, r.Detached, r.DetachedDropped = c.u64(), c.u64(), c.u64()
	r.Lost = c.u64()
	r.Features, r.mode = c.u32(), c.u32()
	r.inPlace, r.commNull, r.requestNull = c.u64(), c.u64(), c.u64()
	return r
}

// Cursor reads fields in their order. Its callers have checked the length.
type Cursor struct{ B []byte }

func (c *Cursor) u32() uint32 {
	v := binary.LittleEndian.Uint32(c.B)
	c.B = c.B[4:]
	return v
}

func (c *Cursor) u64() uint64 {
	v := binary.LittleEndian.Uint64(c.B)
	c.B = c.B[8:]
	return v
}

// text reads a NUL-terminated string in a field of n bytes.
func (c *Cursor) text(n int) string {
	f := c.B[:n]
	c.B = c.B[n:]
	if i := bytes.IndexByte(f, 0); i >= 0 {
		f = f[:i]
	}
	return string(bytes.ToValidUTF8(f, []byte("?")))
}

// The other records of the registry: each has the offsets of its struct in cohort_abi.h.
const (
	objectSize     = 72  // sizeof(struct cohort_object), with which the next six begin
	GroupSize      = 80  // sizeof(struct cohort_group): its members follow
	windowSize     = 160 // sizeof(struct cohort_window)
	fileSize       = 144 // sizeof(struct cohort_file)
	reductionSize  = 88  // sizeof(struct cohort_reduction)
	errhandlerSize = 80  // sizeof(struct cohort_errhandler)
	InfoSize       = 80  // sizeof(struct cohort_info): its texts follow
	stackHeader    = 8   // sizeof(struct cohort_stack): its frames follow
	sideSize       = 72  // sizeof(struct cohort_side)
	actionSize     = 304 // sizeof(struct cohort_action)
	requestSize    = 416 // sizeof(struct cohort_request_record)
	CallSize       = 360 // sizeof(struct cohort_call)
)

// ObjectRecord mirrors struct cohort_object.
type ObjectRecord struct {
	Size, Kind          uint32
	Handle              uint64
	FHandle             int32
	State, refs, holds  uint32
	Id, Event, CallSite uint64
	Name, Stack         uint64 // addresses, 0: none
}

func (c *Cursor) Object() ObjectRecord {
	o := ObjectRecord{
		Size: c.u32(), Kind: c.u32(), Handle: c.u64(), FHandle: int32(c.u32()), State: c.u32(),
		refs: c.u32(), holds: c.u32(),
	}
	o.Id, o.Event, o.CallSite = c.u64(), c.u64(), c.u64()
	o.Name, o.Stack = c.u64(), c.u64()
	return o
}

// GroupRecord mirrors struct cohort_group without its members.
type GroupRecord struct {
	ObjectRecord
	GroupRank, NMembers uint32
}

func DecodeGroup(b []byte) GroupRecord {
	c := Cursor{B: b}
	return GroupRecord{ObjectRecord: c.Object(), GroupRank: c.u32(), NMembers: c.u32()}
}

const LocksMax = 8 // COHORT_LOCKS_MAX

// WindowRecord mirrors struct cohort_window.
type WindowRecord struct {
	ObjectRecord
	Comm, Base                 uint64
	Bytes                      int64
	DispUnit                   int32
	Epochs                     uint32
	AccessGroup, ExposureGroup uint64
	NLocks                     uint32
	Locks                      [LocksMax]uint32
}

func DecodeWindow(b []byte) WindowRecord {
	c := Cursor{B: b}
	w := WindowRecord{
		ObjectRecord: c.Object(), Comm: c.u64(), Base: c.u64(), Bytes: int64(c.u64()), DispUnit: int32(c.u32()),
		Epochs: c.u32(),
	}
	w.AccessGroup, w.ExposureGroup = c.u64(), c.u64()
	w.NLocks = c.u32()
	c.u32()
	for i := range w.Locks {
		w.Locks[i] = c.u32()
	}
	return w
}

// FileRecord mirrors struct cohort_file.
type FileRecord struct {
	ObjectRecord
	Comm            uint64
	Amode           int32
	Disp            int64
	Etype, Filetype uint64
	Datarep         string
}

func DecodeFile(b []byte) FileRecord {
	c := Cursor{B: b}
	f := FileRecord{ObjectRecord: c.Object(), Comm: c.u64(), Amode: int32(c.u32())}
	c.u32()
	f.Disp = int64(c.u64())
	f.Etype, f.Filetype, f.Datarep = c.u64(), c.u64(), c.text(32)
	return f
}

// ReductionRecord mirrors struct cohort_reduction.
type ReductionRecord struct {
	ObjectRecord
	Function uint64
	Commutes uint32
}

func DecodeReduction(b []byte) ReductionRecord {
	c := Cursor{B: b}
	return ReductionRecord{ObjectRecord: c.Object(), Function: c.u64(), Commutes: c.u32()}
}

// ErrhandlerRecord mirrors struct cohort_errhandler.
type ErrhandlerRecord struct {
	ObjectRecord
	Function uint64
}

func DecodeErrhandler(b []byte) ErrhandlerRecord {
	c := Cursor{B: b}
	return ErrhandlerRecord{ObjectRecord: c.Object(), Function: c.u64()}
}

// InfoRecord mirrors struct cohort_info without its texts.
type InfoRecord struct {
	ObjectRecord
	NKeys, NEntries uint32
}

func DecodeInfo(b []byte) InfoRecord {
	c := Cursor{B: b}
	return InfoRecord{ObjectRecord: c.Object(), NKeys: c.u32(), NEntries: c.u32()}
}

// SideRecord mirrors struct cohort_side.
type SideRecord struct {
	Buffer                uint64
	Count                 int64
	Datatype, Handle      uint64
	Counts, Displs, Types uint64
	N, Flags              uint32
	Peer, Tag             int32
}

func (c *Cursor) side() SideRecord {
	s := SideRecord{
		Buffer: c.u64(), Count: int64(c.u64()), Datatype: c.u64(), Handle: c.u64(), Counts: c.u64(),
		Displs: c.u64(), Types: c.u64(),
	}
	s.N, s.Flags = c.u32(), c.u32()
	s.Peer, s.Tag = int32(c.u32()), int32(c.u32())
	return s
}

// ActionRecord mirrors struct cohort_action.
type ActionRecord struct {
	Op                                  uint32
	Root                                int32
	Comm, CommHandle, Object, Reduction uint64
	Offset                              int64
	Send, Receive, Target               SideRecord
	Name                                string
}

func (c *Cursor) action() ActionRecord {
	a := ActionRecord{
		Op: c.u32(), Root: int32(c.u32()), Comm: c.u64(), CommHandle: c.u64(), Object: c.u64(),
		Reduction: c.u64(), Offset: int64(c.u64()),
	}
	a.Send, a.Receive, a.Target = c.side(), c.side(), c.side()
	a.Name = c.text(40)
	return a
}

// RequestRecord mirrors struct cohort_request_record.
type RequestRecord struct {
	ObjectRecord
	StartEvent, StartSite uint64
	SinceNs               int64
	Next                  uint64
	Tid                   int32
	Action                ActionRecord
}

func DecodeRequest(b []byte) RequestRecord {
	c := Cursor{B: b}
	r := RequestRecord{
		ObjectRecord: c.Object(), StartEvent: c.u64(), StartSite: c.u64(), SinceNs: int64(c.u64()),
		Next: c.u64(), Tid: int32(c.u32()),
	}
	c.u32()
	r.Action = c.action()
	return r
}

// CallRecord mirrors struct cohort_call.
type CallRecord struct {
	Next            uint64
	Tid             int32
	Active          uint32
	Event, CallSite uint64
	SinceNs         int64
	Requests        uint64
	NRequests       int64
	Action          ActionRecord
}

func DecodeCall(b []byte) CallRecord {
	c := Cursor{B: b}
	k := CallRecord{
		Next: c.u64(), Tid: int32(c.u32()), Active: c.u32(), Event: c.u64(), CallSite: c.u64(),
		SinceNs: int64(c.u64()),
	}
	k.Requests, k.NRequests = c.u64(), int64(c.u64())
	k.Action = c.action()
	return k
}

// hashHandle is cohort_hash of cohort_abi.h.
func hashHandle(h uint64) uint64 { return (h * 0x9E3779B97F4A7C15) >> 20 }

// Words is an array of 64-bit integers that stays in the form in which it was read, to be allocated once.
type Words []byte

func (w Words) Len() int          { return len(w) / 8 }
func (w Words) At(i int) int64    { return int64(binary.LittleEndian.Uint64(w[8*i:])) }
func (w Words) Addr(i int) uint64 { return binary.LittleEndian.Uint64(w[8*i:]) }

// The states of enum cohort_object_state.
const (
	ObjectPredefined  = 1 << 0
	ObjectFreed       = 1 << 1
	ObjectTruncated   = 1 << 2
	ObjectFortran     = 1 << 3
	ObjectUnseen      = 1 << 4
	ObjectAddressOnly = 1 << 5
	RequestActive     = 1 << 8
	RequestPersistent = 1 << 9
	RequestCancelled  = 1 << 10
	RequestComplete   = 1 << 11
	RequestShared     = 1 << 12
	RequestUnsure     = 1 << 13
)
