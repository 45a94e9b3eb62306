package trace

import (
	"fmt"
	"math"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Ranks and tags that are none, whatever the MPI's own constants are.
const (
	AnySource int32 = -1
	AnyTag    int32 = -1
	ProcNull  int32 = -2
	NoRoot    int32 = -1

	// NoSource is the source of a MATCH that names no message: the receive was posted, or cancelled.
	NoSource int32 = math.MinInt32
)

// IsWildcard reports whether a receive or probe that asked for source and tag has an outcome that a replay must
// enforce. A receive from MPI_PROC_NULL has none, whatever its tag.
func IsWildcard(source, tag int32) bool {
	return source != ProcNull && (source == AnySource || tag == AnyTag)
}

// Record is one record of a trace: a pointer to one of the types below.
type Record interface {
	kind() abi.Record
	fields(f Fields)
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

func (*Comm) kind() abi.Record { return abi.RecordComm }

func (c *Comm) fields(f Fields) {
	Number(f, "index", &c.Index)
	c.GlobalID, c.ParentID = f.Fixed("id", 8, c.GlobalID), f.Fixed("parent", 8, c.ParentID)
	c.CommKind = f.CommKind("kind", c.CommKind)
	count(f, "members", 1, &c.Members)
	Number(f, "rank", &c.MyRank)
	count(f, "remote", 1, &c.Remote)
	numbers(f, "members", &c.Members)
	numbers(f, "remote", &c.Remote)
}

// Module declares a loaded object: addresses of call sites are relative to its load bias.
type Module struct {
	Index    uint64
	LoadBias uint64
	Path     string
	BuildID  string // raw bytes; may be empty
}

func (*Module) kind() abi.Record { return abi.RecordModule }

func (m *Module) fields(f Fields) {
	Number(f, "index", &m.Index)
	m.LoadBias = f.Fixed("bias", 8, m.LoadBias)
	m.Path, m.BuildID = f.String("path", m.Path), f.String("build_id", m.BuildID)
}

// Site declares a place in the program from which MPI is called. Index 0 is reserved for "unknown" and never declared.
type Site struct {
	Index  uint64
	Module uint64
	Offset uint64 // address minus load bias
}

func (*Site) kind() abi.Record { return abi.RecordSite }

func (s *Site) fields(f Fields) {
	Number(f, "index", &s.Index)
	Number(f, "module", &s.Module)
	Number(f, "offset", &s.Offset)
}

// Note names a call that record/replay does not cover.
type Note struct {
	Event uint64
	Call  string
	Site  uint64
}

func (*Note) kind() abi.Record { return abi.RecordNote }

func (n *Note) fields(f Fields) {
	Number(f, "event", &n.Event)
	n.Call = f.String("call", n.Call)
	Number(f, "site", &n.Site)
}

// End is the last record of a clean close.
type End struct {
	FailedPolls uint64 // since the last event
	How         uint8  // 1: after MPI_Finalize
}

func (*End) kind() abi.Record { return abi.RecordEnd }

func (e *End) fields(f Fields) {
	Number(f, "polls", &e.FailedPolls)
	e.How = uint8(f.Fixed("how", 1, uint64(e.How)))
}

// Match is the outcome of a wildcard receive or probe (ModeOrder). Event is the event at which it became known, Back
// how many events before that the receive was posted (0: in the same call). In ModeFull it is there only for a receive
// whose request the program freed, which no event completes.
type Match struct {
	Event       uint64
	Op          mpispec.Op // the call that asked
	Source, Tag int32
	Back        uint64
	Which       uint32 // OpStartall only: the receive's place in that call's array, from 0
}

func (*Match) kind() abi.Record { return abi.RecordMatch }

func (m *Match) fields(f Fields) {
	m.Event, m.Op = f.Event("event", m.Event), f.Op("op", m.Op)
	m.Source, m.Tag = f.Int("source", m.Source), f.Int("tag", m.Tag)
	Number(f, "back", &m.Back)
	if m.Back != 0 && m.Back >= m.Event {
		f.Fail(fmt.Sprintf("back from event %d to an earlier one", m.Event), fmt.Sprint(m.Back))
	}
	switch {
	case m.Op == mpispec.OpStartall:
		Number(f, "which", &m.Which)
	case m.Which != 0:
		f.Fail("which only with Startall", m.Op.String())
	}
}

// IsPost reports whether the record only says that a wildcard receive was posted.
func (m *Match) IsPost() bool { return m.Source == NoSource && m.Back == 0 }

// IsCancelled reports whether the record says that a receive, with a wildcard or without, was cancelled before it took
// a message.
func (m *Match) IsCancelled() bool { return m.Source == NoSource && m.Back != 0 }

// Run is a block race in ModeRacing: Count receives or probes took messages of one source and tag. The calls that asked
// are the events Event - Back, and from there each Stride events on. A single one is a Match.
type Run struct {
	Event         uint64     // at which it became known that they race
	Op            mpispec.Op // of the calls that asked
	Source, Tag   int32
	Back          uint64
	Count, Stride uint32
}

func (*Run) kind() abi.Record { return abi.RecordRace }

func (r *Run) fields(f Fields) {
	r.Event, r.Op = f.Event("event", r.Event), f.Op("op", r.Op)
	r.Source, r.Tag = f.Int("source", r.Source), f.Int("tag", r.Tag)
	Number(f, "back", &r.Back)
	Number(f, "count", &r.Count)
	Number(f, "stride", &r.Stride)
	switch {
	case r.Back == 0 || r.Back >= r.Event:
		f.Fail(fmt.Sprintf("back from event %d to an earlier one", r.Event), fmt.Sprint(r.Back))
	case r.Count < 2 || r.Stride == 0:
		f.Fail("two receives or more at different events", fmt.Sprintf("%d, %d events apart", r.Count, r.Stride))
	case uint64(r.Count-1)*uint64(r.Stride) > r.Back:
		f.Fail(fmt.Sprintf("receives up to event %d", r.Event),
			fmt.Sprintf("%d from event %d on, %d events apart", r.Count, r.Event-r.Back, r.Stride))
	case r.Op == mpispec.OpStartall:
		f.Fail("a run of calls that post one receive", r.Op.String())
	}
}

// Poll is a successful poll (ModeOrder): Failures polls failed since the event of the previous Poll.
type Poll struct {
	Event    uint64
	Op       mpispec.Op
	Failures uint64
}

func (*Poll) kind() abi.Record { return abi.RecordPoll }

func (p *Poll) fields(f Fields) {
	p.Event, p.Op = f.Event("event", p.Event), f.Op("op", p.Op)
	Number(f, "failures", &p.Failures)
}

// Set is the outcome of a Waitany, Waitsome, Testany or Testsome (ModeOrder): indices in the order in which MPI
// returned them; empty for MPI_UNDEFINED.
type Set struct {
	Event   uint64
	Op      mpispec.Op
	Indices []uint32
}

func (*Set) kind() abi.Record { return abi.RecordSet }

func (s *Set) fields(f Fields) {
	s.Event, s.Op = f.Event("event", s.Event), f.Op("op", s.Op)
	count(f, "indices", 1, &s.Indices)
	numbers(f, "indices", &s.Indices)
}

// Check is the hash of the calls of the events 1 to Event: a replay that makes other calls has another one.
type Check struct {
	Event uint64
	Hash  uint32
}

func (*Check) kind() abi.Record { return abi.RecordCheck }

func (c *Check) fields(f Fields) {
	Number(f, "event", &c.Event)
	c.Hash = uint32(f.Fixed("hash", 4, uint64(c.Hash)))
}

// Content is what a message carries that the last EVENT before it sent (ModeFull), so that it can be told whether two
// messages are equal. Of a message of up to 8 bytes it is the bytes themselves, as a little-endian number; of a longer
// one a hash of them, in the order of its datatype's typemap. A message without a Content is one that the rank did not
// look into.
type Content struct {
	Which uint32 // of the messages that the event sent, from 0
	Value uint64
}

func (*Content) kind() abi.Record { return abi.RecordContent }

func (c *Content) fields(f Fields) {
	Number(f, "which", &c.Which)
	Number(f, "value", &c.Value)
}
