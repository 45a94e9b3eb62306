package trace

import (
	"fmt"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

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

func (*Event) kind() abi.Record { return abi.RecordEvent }

func (e *Event) fields(f Fields) {
	e.Index, e.Op = f.Index("n", e.Index), f.Op("op", e.Op)
	Number(f, "site", &e.Site)
	Number(f, "polls", &e.FailedPolls)
	Number(f, "gap", &e.Gap)
	Number(f, "dur", &e.Duration)
	if e.FailedPolls != 0 && !e.Op.IsPoll() {
		f.Fail("no failed polls before a "+e.Op.String(), fmt.Sprint(e.FailedPolls))
	}
	switch e.Op.Class() {
	case mpispec.ClassSend, mpispec.ClassSendInit, mpispec.ClassRecvInit:
		e.Send.fields(f)
	case mpispec.ClassRecv, mpispec.ClassProbe:
		e.Recv.fields(f, e, true)
	case mpispec.ClassIrecv:
		e.Recv.fields(f, e, false)
	case mpispec.ClassSendrecv:
		e.Send.fields(f)
		e.Recv.fields(f, e, true)
	case mpispec.ClassStart:
		count(f, "inits", 1, &e.Inits)
		List(f, "inits", &e.Inits, func(init *uint64) { back(f, "init", e.Index, init) })
	case mpispec.ClassCompletion:
		count(f, "done", 3, &e.Completed)
		List(f, "done", &e.Completed, func(c *Completion) { c.fields(f, e.Index) })
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassCollectiveInit, mpispec.ClassComm:
		e.Coll.fields(f, e.Op)
	case mpispec.ClassRequest:
		back(f, "post", e.Index, &e.Post)
	case mpispec.ClassOther, mpispec.ClassNone:
	}
}

// SendArgs is a message that is sent. In an Event of ClassRecvInit Dest is the source asked for, and Bytes is 0.
type SendArgs struct {
	Comm      uint32
	Dest, Tag int32 // ranks of the communicator (of its remote group if inter)
	Bytes     uint64
}

func (a *SendArgs) fields(f Fields) {
	Number(f, "comm", &a.Comm)
	a.Dest, a.Tag = f.Int("dest", a.Dest), f.Int("tag", a.Tag)
	Number(f, "bytes", &a.Bytes)
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

func (a *RecvArgs) fields(f Fields, e *Event, complete bool) {
	Number(f, "rcomm", &a.Comm)
	a.AskedSource, a.AskedTag = f.Int("asked_source", a.AskedSource), f.Int("asked_tag", a.AskedTag)
	if complete {
		a.Source, a.Tag = f.Int("source", a.Source), f.Int("rtag", a.Tag)
		Number(f, "rbytes", &a.Bytes)
	}
	if e.Op == mpispec.OpMrecv || e.Op == mpispec.OpImrecv {
		back(f, "probe", e.Index, &a.Probe)
	}
}

// CollArgs is a collective call. NewComm is the number of the communicator that was made plus 1, or 0.
type CollArgs struct {
	Comm    uint32
	Root    int32 // NoRoot if the operation has none
	Bytes   uint64
	NewComm uint32
	Of      mpispec.Op // ClassCollectiveInit: the blocking form
}

func (a *CollArgs) fields(f Fields, op mpispec.Op) {
	Number(f, "comm", &a.Comm)
	a.Root = f.Int("root", a.Root)
	Number(f, "bytes", &a.Bytes)
	switch {
	case op.MakesComm():
		Number(f, "new", &a.NewComm)
	case op.Class() == mpispec.ClassCollectiveInit:
		if a.Of = f.Op("of", a.Of); a.Of.Class() != mpispec.ClassCollective {
			f.Fail("a blocking collective", a.Of.String())
		}
	}
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

func (c *Completion) fields(f Fields, event uint64) {
	Number(f, "index", &c.ArrayIndex)
	back(f, "post", event, &c.Post)
	c.Class = RequestClass(f.Fixed("class", 1, uint64(c.Class)))
	if c.Class < RequestSend || c.Class > RequestOther {
		f.Fail("a class of request from 1 to 4", fmt.Sprint(uint8(c.Class)))
	}
	if c.Class == RequestRecv {
		c.Source, c.Tag = f.Int("source", c.Source), f.Int("tag", c.Tag)
		Number(f, "bytes", &c.Bytes)
	}
}
