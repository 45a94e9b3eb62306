package trace

import (
	"math"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Kind is the first byte of a record.
type Kind uint8

// The kinds of records.
const (
	KindComm   = Kind(abi.RecordComm)
	KindModule = Kind(abi.RecordModule)
	KindSite   = Kind(abi.RecordSite)
	KindNote   = Kind(abi.RecordNote)
	KindEvent  = Kind(abi.RecordEvent)
	KindEnd    = Kind(abi.RecordEnd)
	KindMatch  = Kind(abi.RecordMatch)
	KindPoll   = Kind(abi.RecordPoll)
	KindSet    = Kind(abi.RecordSet)
	KindCheck  = Kind(abi.RecordCheck)
)

// Ranks and tags that are none, whatever the MPI's own constants are.
const (
	AnySource int32 = -1
	AnyTag    int32 = -1
	ProcNull  int32 = -2
	NoRoot    int32 = -1

	// PromiseSource is the source of a MATCH that stands for a wildcard receive when it is posted.
	PromiseSource int32 = math.MinInt32
)

// IsWildcard reports whether a receive or probe that asked for source and tag has an outcome that a replay must
// enforce. A receive from MPI_PROC_NULL has none, whatever its tag.
func IsWildcard(source, tag int32) bool {
	return source != ProcNull && (source == AnySource || tag == AnyTag)
}

// Record is one record of a trace: *Comm, *Module, *Site, *Note, *Event, *End, *Match, *Poll or *Set.
type Record interface {
	Kind() Kind
}

// WorldID is the GlobalID of MPI_COMM_WORLD.
const WorldID uint64 = 1

// Comm declares a communicator: the rank's own number for it (Index), its identity in all members (GlobalID), and the
// world ranks of its members in the order of their ranks; Remote is the remote group of an intercommunicator.
type Comm struct {
	Index    uint32
	GlobalID uint64
	ParentID uint64
	CommKind abi.CommKind
	MyRank   uint32
	Members  []uint32
	Remote   []uint32
}

// Module declares a loaded object: addresses of call sites are relative to its load bias.
type Module struct {
	Index    uint64
	LoadBias uint64
	Path     string
	BuildID  string // raw bytes; may be empty
}

// Site declares a place in the program from which MPI is called. Index 0 is reserved for "unknown" and never declared.
type Site struct {
	Index  uint64
	Module uint64
	Offset uint64 // address minus load bias
}

// Note names a call that record/replay does not cover.
type Note struct {
	Event uint64
	Call  string
	Site  uint64
}

// End is the last record of a clean close.
type End struct {
	FailedPolls uint64 // since the last event
	How         uint8  // 1: after MPI_Finalize
}

// Match is the outcome of a wildcard receive or probe (ModeOrder). Event is the event at which it became known, Back
// how many events before that the receive was posted (0: in the same call). In ModeFull it stands only for a receive
// whose request the program freed, which no event completes.
type Match struct {
	Event       uint64
	Op          mpispec.Op // the call that asked
	Source, Tag int32
	Back        uint64
	Which       uint32 // OpStartall only: the receive's place in that call's array, from 0
}

// IsPromise reports whether the record only says that a wildcard receive was posted.
func (m *Match) IsPromise() bool { return m.Source == PromiseSource && m.Back == 0 }

// IsCancelled reports whether the record says that a receive, with a wildcard or without, was cancelled before it took
// a message.
func (m *Match) IsCancelled() bool { return m.Source == PromiseSource && m.Back != 0 }

// Poll is a successful poll (ModeOrder): Failures polls failed since the event of the previous Poll.
type Poll struct {
	Event    uint64
	Op       mpispec.Op
	Failures uint64
}

// Set is the outcome of a Waitany, Waitsome, Testany or Testsome (ModeOrder): indices in the order in which MPI
// returned them; empty for MPI_UNDEFINED.
type Set struct {
	Event   uint64
	Op      mpispec.Op
	Indices []uint32
}

// Check is the hash of the calls of the events 1 to Event: a replay that makes other calls has another one.
type Check struct {
	Event uint64
	Hash  uint32
}

// Event is one MPI operation of the rank (ModeFull). Which of the fields after Op hold something depends on Op.Class(),
// as in the table of docs/trace-format.md; the others are zero.
type Event struct {
	Index       uint64 // number of the event, from 1
	Op          mpispec.Op
	Site        uint64 // index of a Site; 0 unknown
	FailedPolls uint64 // polls that failed before this one succeeded
	Gap         uint64 // nanoseconds since the end of the previous event
	Duration    uint64 // nanoseconds in the call

	Send      SendArgs     // ClassSend, ClassSendrecv, ClassSendInit; of ClassRecvInit the receive that is asked for
	Recv      RecvArgs     // ClassRecv, ClassIrecv (asked only), ClassSendrecv, ClassProbe
	Coll      CollArgs     // ClassCollective, ClassIcollective, ClassCollectiveInit, ClassComm
	Post      uint64       // ClassRequest: event that made the request (of a persistent one: its _init); 0 unknown
	Inits     []uint64     // ClassStart: events of the _init calls, in the order of the array
	Completed []Completion // ClassCompletion
}

// SendArgs is a message that is sent. In an Event of ClassRecvInit Dest is the source asked for, and Bytes is 0.
type SendArgs struct {
	Comm      uint32
	Dest, Tag int32 // ranks of the communicator (of its remote group if inter)
	Bytes     uint64
}

// RecvArgs is what a receive or probe asked for and what it got.
type RecvArgs struct {
	Comm                  uint32
	AskedSource, AskedTag int32
	Source, Tag           int32
	Bytes                 uint64
	// OpMrecv, OpImrecv: event of the Mprobe or Improbe that took the message; 0: MPI_MESSAGE_NO_PROC
	Probe uint64
}

// CollArgs is a collective call. NewComm is the number of the communicator that was made plus 1, or 0.
type CollArgs struct {
	Comm    uint32
	Root    int32 // NoRoot if the operation has none
	Bytes   uint64
	NewComm uint32
	Of      mpispec.Op // ClassCollectiveInit: the blocking form
}

// RequestClass says what a completed request was.
type RequestClass uint8

// The classes of requests. A receive that was cancelled successfully is RequestOther.
const (
	RequestSend       RequestClass = 1
	RequestRecv       RequestClass = 2
	RequestCollective RequestClass = 3
	RequestOther      RequestClass = 4
)

// Completion is one request that a completion call completed.
type Completion struct {
	ArrayIndex uint32
	Post       uint64 // event that made the request (of a persistent one: its _init); 0 unknown
	Class      RequestClass
	Source     int32 // of RequestRecv, as in the status
	Tag        int32
	Bytes      uint64
}

// Kind implements Record.
func (*Comm) Kind() Kind { return KindComm }

// Kind implements Record.
func (*Module) Kind() Kind { return KindModule }

// Kind implements Record.
func (*Site) Kind() Kind { return KindSite }

// Kind implements Record.
func (*Note) Kind() Kind { return KindNote }

// Kind implements Record.
func (*Event) Kind() Kind { return KindEvent }

// Kind implements Record.
func (*End) Kind() Kind { return KindEnd }

// Kind implements Record.
func (*Match) Kind() Kind { return KindMatch }

// Kind implements Record.
func (*Poll) Kind() Kind { return KindPoll }

// Kind implements Record.
func (*Set) Kind() Kind { return KindSet }

// Kind implements Record.
func (*Check) Kind() Kind { return KindCheck }
