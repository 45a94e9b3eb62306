package prettyprint

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The registry's side of pmpi/include/cohort_abi.h, by offset. All integers are little endian.
const (
	abiVersion    = 2
	registryMagic = 0x00474552484f43

	registrySize     = 112 // sizeof(struct cohort_registry)
	slotSize         = 16  // sizeof(struct cohort_slot)
	slotsHeader      = 8   // offsetof(struct cohort_slots, slot)
	datatypeHeader   = 184 // sizeof(struct cohort_datatype): its arguments follow
	commHeader       = 152 // sizeof(struct cohort_comm): its members follow
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
	commFreed      = 1 << 1
)

// abiDatatype mirrors struct cohort_datatype without its arguments.
type abiDatatype struct {
	size, combiner, state, refs         uint32
	handle                              uint64
	fHandle                             int32
	basic, pair, basicSize              uint32
	typeSize                            int64
	lb, extent, trueLB, trueExtent      int64
	id, event, callSite                 uint64
	name                                string
	nIntegers, nAddresses, nTypes, pad0 uint32
}

func decodeDatatype(b []byte) abiDatatype {
	c := cursor{b: b}
	d := abiDatatype{size: c.u32(), combiner: c.u32(), state: c.u32(), refs: c.u32(), handle: c.u64()}
	d.fHandle = int32(c.u32())
	d.basic, d.pair, d.basicSize = c.u32(), c.u32(), c.u32()
	d.typeSize, d.lb, d.extent = int64(c.u64()), int64(c.u64()), int64(c.u64())
	d.trueLB, d.trueExtent = int64(c.u64()), int64(c.u64())
	d.id, d.event, d.callSite = c.u64(), c.u64(), c.u64()
	d.name = c.text(64)
	d.nIntegers, d.nAddresses, d.nTypes, d.pad0 = c.u32(), c.u32(), c.u32(), c.u32()
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
	m.nMembers, m.nRemote = c.u32(), c.u32()
	return m
}

// abiRegistry mirrors struct cohort_registry.
type abiRegistry struct {
	magic                      uint64
	version, size              uint32
	mpi, handleSize            uint32
	datatypes, comms, requests uint64
}

func decodeRegistry(b []byte) abiRegistry {
	c := cursor{b: b}
	r := abiRegistry{magic: c.u64(), version: c.u32(), size: c.u32(), mpi: c.u32(), handleSize: c.u32()}
	r.datatypes, r.comms, r.requests = c.u64(), c.u64(), c.u64()
	return r
}

// hashHandle is cohort_hash of cohort_abi.h.
func hashHandle(h uint64) uint64 { return (h * 0x9E3779B97F4A7C15) >> 20 }

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

// words is an array of 64-bit integers that stays in the form in which it was read, to be allocated once.
type words []byte

func (w words) len() int          { return len(w) / 8 }
func (w words) at(i int) int64    { return int64(binary.LittleEndian.Uint64(w[8*i:])) }
func (w words) addr(i int) uint64 { return binary.LittleEndian.Uint64(w[8*i:]) }
