package prettyprint

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The registry's side of pmpi/include/cohort_abi.h, by offset. All integers are little endian.
const (
	abiVersion    = 3
	registryMagic = 0x00474552484f43

	registrySize     = 176 // sizeof(struct cohort_registry)
	slotSize         = 16  // sizeof(struct cohort_slot)
	slotsHeader      = 8   // offsetof(struct cohort_slots, slot)
	datatypeHeader   = 160 // sizeof(struct cohort_datatype): its arguments follow
	commHeader       = 168 // sizeof(struct cohort_comm): its members follow
	slotEmpty        = 0
	slotFreed        = 1
	abiUnknownFigure = math.MinInt64 // a figure that the library did not report
	abiNoFortran     = -1
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

// Combiner is the kind of a datatype's constructor (MPI-3.1, 4.1.13), numbered as in cohort_abi.h.
type Combiner uint32

// The combiners of enum cohort_combiner.
const (
	CombinerNamed         Combiner = 1
	CombinerDup           Combiner = 2
	CombinerContiguous    Combiner = 3
	CombinerVector        Combiner = 4
	CombinerHvector       Combiner = 5
	CombinerIndexed       Combiner = 6
	CombinerHindexed      Combiner = 7
	CombinerIndexedBlock  Combiner = 8
	CombinerHindexedBlock Combiner = 9
	CombinerStruct        Combiner = 10
	CombinerSubarray      Combiner = 11
	CombinerDarray        Combiner = 12
	CombinerResized       Combiner = 13
	CombinerF90Real       Combiner = 14
	CombinerF90Complex    Combiner = 15
	CombinerF90Integer    Combiner = 16
	CombinerUnknown       Combiner = 99
)

var combinerNames = map[Combiner]string{
	CombinerNamed: "NAMED", CombinerDup: "DUP", CombinerContiguous: "CONTIGUOUS", CombinerVector: "VECTOR",
	CombinerHvector: "HVECTOR", CombinerIndexed: "INDEXED", CombinerHindexed: "HINDEXED",
	CombinerIndexedBlock: "INDEXED_BLOCK", CombinerHindexedBlock: "HINDEXED_BLOCK", CombinerStruct: "STRUCT",
	CombinerSubarray: "SUBARRAY", CombinerDarray: "DARRAY", CombinerResized: "RESIZED", CombinerF90Real: "F90_REAL",
	CombinerF90Complex: "F90_COMPLEX", CombinerF90Integer: "F90_INTEGER", CombinerUnknown: "UNKNOWN",
}

// String returns the combiner as the paper prints it: STRUCT, VECTOR, ...
func (c Combiner) String() string {
	if s, ok := combinerNames[c]; ok {
		return s
	}
	return "UNKNOWN"
}

// Basic is what a named (predefined) datatype holds, numbered as enum cohort_basic.
type Basic uint32

// The values of enum cohort_basic.
const (
	BasicNone    Basic = 0
	BasicChar    Basic = 1
	BasicInt     Basic = 2
	BasicUint    Basic = 3
	BasicFloat   Basic = 4
	BasicComplex Basic = 5
	BasicBool    Basic = 6
	BasicLogical Basic = 7
	BasicByte    Basic = 8
	BasicPacked  Basic = 9
	BasicPair    Basic = 10
	BasicLB      Basic = 11
	BasicUB      Basic = 12
	BasicWchar   Basic = 13
	BasicAddress Basic = 14
	BasicNull    Basic = 15
)

const (
	stateCommitted = 1 << 0
	stateFreed     = 1 << 1
	stateLongName  = 1 << 2
	commFreed      = 1 << 1
)

// abiDatatype mirrors struct cohort_datatype without its arguments.
type abiDatatype struct {
	size, combiner, state, refs          uint32
	handle                               uint64
	fHandle                              int32
	basic, pair, basicSize               uint32
	typeSize                             int64
	lb, extent, trueLB, trueExtent       int64
	id, event, callSite                  uint64
	name                                 string // with stateLongName only its beginning: see Registry.wholeName
	longName                             uint64 // with stateLongName the address of the whole
	stack                                uint64
	nIntegers, nAddresses, nTypes, holds uint32
}

const maxLongName = 128 // bytes with the NUL

func decodeDatatype(b []byte) abiDatatype {
	c := cursor{b: b}
	d := abiDatatype{size: c.u32(), combiner: c.u32(), state: c.u32(), refs: c.u32(), handle: c.u64()}
	d.fHandle = int32(c.u32())
	d.basic, d.pair, d.basicSize = c.u32(), c.u32(), c.u32()
	d.typeSize, d.lb, d.extent = int64(c.u64()), int64(c.u64()), int64(c.u64())
	d.trueLB, d.trueExtent = int64(c.u64()), int64(c.u64())
	d.id, d.event, d.callSite = c.u64(), c.u64(), c.u64()
	if d.state&stateLongName != 0 {
		d.name, d.longName = c.text(24), c.u64()
	} else {
		d.name = c.text(32)
	}
	d.stack = c.u64()
	d.nIntegers, d.nAddresses, d.nTypes, d.holds = c.u32(), c.u32(), c.u32(), c.u32()
	return d
}

// abiComm mirrors struct cohort_comm without what follows it.
type abiComm struct {
	size, kind          uint32
	handle              uint64
	fHandle             int32
	index               uint32
	globalID, parentID  uint64
	commSize, commRank  uint32
	state, nDims        uint32
	id, event, callSite uint64
	name                string
	stack               uint64
	refs, holds         uint32
	nMembers, nRemote   uint32
}

func decodeComm(b []byte) abiComm {
	c := cursor{b: b}
	m := abiComm{size: c.u32(), kind: c.u32(), handle: c.u64()}
	m.fHandle = int32(c.u32())
	m.index = c.u32()
	m.globalID, m.parentID = c.u64(), c.u64()
	m.commSize, m.commRank, m.state, m.nDims = c.u32(), c.u32(), c.u32(), c.u32()
	m.id, m.event, m.callSite = c.u64(), c.u64(), c.u64()
	m.name = c.text(64)
	m.stack = c.u64()
	m.refs, m.holds = c.u32(), c.u32()
	m.nMembers, m.nRemote = c.u32(), c.u32()
	return m
}

// abiRegistry mirrors struct cohort_registry.
type abiRegistry struct {
	magic                            uint64
	version, size                    uint32
	mpi, handleSize                  uint32
	datatypes, comms, requests       uint64 // addresses of tables; 0: none
	groups, windows, files           uint64
	ops, errhandlers, infos          uint64
	calls, detached, detachedDropped uint64
	lost                             uint64
	features, mode                   uint32
	inPlace, commNull, requestNull   uint64
}

func decodeRegistry(b []byte) abiRegistry {
	c := cursor{b: b}
	r := abiRegistry{magic: c.u64(), version: c.u32(), size: c.u32(), mpi: c.u32(), handleSize: c.u32()}
	r.datatypes, r.comms, r.requests = c.u64(), c.u64(), c.u64()
	r.groups, r.windows, r.files = c.u64(), c.u64(), c.u64()
	r.ops, r.errhandlers, r.infos = c.u64(), c.u64(), c.u64()
	r.calls, r.detached, r.detachedDropped = c.u64(), c.u64(), c.u64()
	r.lost = c.u64()
	r.features, r.mode = c.u32(), c.u32()
	r.inPlace, r.commNull, r.requestNull = c.u64(), c.u64(), c.u64()
	return r
}

// cursor reads fields in their order. Its callers have checked the length.
type cursor struct{ b []byte }

func (c *cursor) u32() uint32 {
	v := binary.LittleEndian.Uint32(c.b)
	c.b = c.b[4:]
	return v
}

func (c *cursor) u64() uint64 {
	v := binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
	return v
}

// text reads a NUL-terminated string in a field of n bytes.
func (c *cursor) text(n int) string {
	f := c.b[:n]
	c.b = c.b[n:]
	if i := bytes.IndexByte(f, 0); i >= 0 {
		f = f[:i]
	}
	return string(bytes.ToValidUTF8(f, []byte("?")))
}

// The other records of the registry: each has the offsets of its struct in cohort_abi.h.
const (
	objectSize     = 72  // sizeof(struct cohort_object), with which the next six begin
	groupHeader    = 80  // sizeof(struct cohort_group): its members follow
	windowSize     = 160 // sizeof(struct cohort_window)
	fileSize       = 144 // sizeof(struct cohort_file)
	reductionSize  = 88  // sizeof(struct cohort_reduction)
	errhandlerSize = 80  // sizeof(struct cohort_errhandler)
	infoHeader     = 80  // sizeof(struct cohort_info): its texts follow
	stackHeader    = 8   // sizeof(struct cohort_stack): its frames follow
	sideSize       = 72  // sizeof(struct cohort_side)
	actionSize     = 304 // sizeof(struct cohort_action)
	requestSize    = 416 // sizeof(struct cohort_request_record)
	callSize       = 360 // sizeof(struct cohort_call)
)

// abiObject mirrors struct cohort_object.
type abiObject struct {
	size, kind          uint32
	handle              uint64
	fHandle             int32
	state, refs, holds  uint32
	id, event, callSite uint64
	name, stack         uint64 // addresses, 0: none
}

func (c *cursor) object() abiObject {
	o := abiObject{
		size: c.u32(), kind: c.u32(), handle: c.u64(), fHandle: int32(c.u32()), state: c.u32(),
		refs: c.u32(), holds: c.u32(),
	}
	o.id, o.event, o.callSite = c.u64(), c.u64(), c.u64()
	o.name, o.stack = c.u64(), c.u64()
	return o
}

// abiGroup mirrors struct cohort_group without its members.
type abiGroup struct {
	abiObject
	groupRank, nMembers uint32
}

func decodeGroup(b []byte) abiGroup {
	c := cursor{b: b}
	return abiGroup{abiObject: c.object(), groupRank: c.u32(), nMembers: c.u32()}
}

const locksMax = 8 // COHORT_LOCKS_MAX

// abiWindow mirrors struct cohort_window.
type abiWindow struct {
	abiObject
	comm, base                 uint64
	bytes                      int64
	dispUnit                   int32
	epochs                     uint32
	accessGroup, exposureGroup uint64
	nLocks                     uint32
	locks                      [locksMax]uint32
}

func decodeWindow(b []byte) abiWindow {
	c := cursor{b: b}
	w := abiWindow{
		abiObject: c.object(), comm: c.u64(), base: c.u64(), bytes: int64(c.u64()), dispUnit: int32(c.u32()),
		epochs: c.u32(),
	}
	w.accessGroup, w.exposureGroup = c.u64(), c.u64()
	w.nLocks = c.u32()
	c.u32()
	for i := range w.locks {
		w.locks[i] = c.u32()
	}
	return w
}

// abiFile mirrors struct cohort_file.
type abiFile struct {
	abiObject
	comm            uint64
	amode           int32
	disp            int64
	etype, filetype uint64
	datarep         string
}

func decodeFile(b []byte) abiFile {
	c := cursor{b: b}
	f := abiFile{abiObject: c.object(), comm: c.u64(), amode: int32(c.u32())}
	c.u32()
	f.disp = int64(c.u64())
	f.etype, f.filetype, f.datarep = c.u64(), c.u64(), c.text(32)
	return f
}

// abiReduction mirrors struct cohort_reduction.
type abiReduction struct {
	abiObject
	function uint64
	commutes uint32
}

func decodeReduction(b []byte) abiReduction {
	c := cursor{b: b}
	return abiReduction{abiObject: c.object(), function: c.u64(), commutes: c.u32()}
}

// abiErrhandler mirrors struct cohort_errhandler.
type abiErrhandler struct {
	abiObject
	function uint64
}

func decodeErrhandler(b []byte) abiErrhandler {
	c := cursor{b: b}
	return abiErrhandler{abiObject: c.object(), function: c.u64()}
}

// abiInfo mirrors struct cohort_info without its texts.
type abiInfo struct {
	abiObject
	nKeys, nEntries uint32
}

func decodeInfo(b []byte) abiInfo {
	c := cursor{b: b}
	return abiInfo{abiObject: c.object(), nKeys: c.u32(), nEntries: c.u32()}
}

// abiSide mirrors struct cohort_side.
type abiSide struct {
	buffer                uint64
	count                 int64
	datatype, handle      uint64
	counts, displs, types uint64
	n, flags              uint32
	peer, tag             int32
}

func (c *cursor) side() abiSide {
	s := abiSide{
		buffer: c.u64(), count: int64(c.u64()), datatype: c.u64(), handle: c.u64(), counts: c.u64(),
		displs: c.u64(), types: c.u64(),
	}
	s.n, s.flags = c.u32(), c.u32()
	s.peer, s.tag = int32(c.u32()), int32(c.u32())
	return s
}

// abiAction mirrors struct cohort_action.
type abiAction struct {
	op                                  uint32
	root                                int32
	comm, commHandle, object, reduction uint64
	offset                              int64
	send, receive, target               abiSide
	name                                string
}

func (c *cursor) action() abiAction {
	a := abiAction{
		op: c.u32(), root: int32(c.u32()), comm: c.u64(), commHandle: c.u64(), object: c.u64(),
		reduction: c.u64(), offset: int64(c.u64()),
	}
	a.send, a.receive, a.target = c.side(), c.side(), c.side()
	a.name = c.text(40)
	return a
}

// abiRequest mirrors struct cohort_request_record.
type abiRequest struct {
	abiObject
	startEvent, startSite uint64
	sinceNs               int64
	next                  uint64
	tid                   int32
	action                abiAction
}

func decodeRequest(b []byte) abiRequest {
	c := cursor{b: b}
	r := abiRequest{
		abiObject: c.object(), startEvent: c.u64(), startSite: c.u64(), sinceNs: int64(c.u64()),
		next: c.u64(), tid: int32(c.u32()),
	}
	c.u32()
	r.action = c.action()
	return r
}

// abiCall mirrors struct cohort_call.
type abiCall struct {
	next            uint64
	tid             int32
	active          uint32
	event, callSite uint64
	sinceNs         int64
	requests        uint64
	nRequests       int64
	action          abiAction
}

func decodeCall(b []byte) abiCall {
	c := cursor{b: b}
	k := abiCall{
		next: c.u64(), tid: int32(c.u32()), active: c.u32(), event: c.u64(), callSite: c.u64(),
		sinceNs: int64(c.u64()),
	}
	k.requests, k.nRequests = c.u64(), int64(c.u64())
	k.action = c.action()
	return k
}

// hashHandle is cohort_hash of cohort_abi.h.
func hashHandle(h uint64) uint64 { return (h * 0x9E3779B97F4A7C15) >> 20 }

// words is an array of 64-bit integers that stays in the form in which it was read, to be allocated once.
type words []byte

func (w words) len() int          { return len(w) / 8 }
func (w words) at(i int) int64    { return int64(binary.LittleEndian.Uint64(w[8*i:])) }
func (w words) addr(i int) uint64 { return binary.LittleEndian.Uint64(w[8*i:]) }
