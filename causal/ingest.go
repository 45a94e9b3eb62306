package causal

import (
	"fmt"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// channel is where messages keep their order.
type channel struct {
	comm     uint64 // global id
	src, dst uint32 // world ranks
	tag      int32
}

// view is a communicator as one rank sees it: peers are the world ranks that its sends and receives name.
type view struct {
	comm  *comm
	peers []int
}

const none = -1

// sendRec is a message as its sender knows it.
type sendRec struct {
	ch      channel
	event   uint64
	done    uint64 // the call after which the sender continues only if the message could be sent; 0 unknown
	bytes   uint64
	op      mpispec.Op
	which   uint32 // place in the array of the Startall that sent it
	take    int    // index in the receiver's takes, or none
	void    bool   // cancelled
	content uint64 // what it carries (trace.Content)
	looked  bool   // content is known
}

type takeKind uint8

const (
	takeReceive takeKind = iota
	takeProbe            // sees the next message of the channel, but leaves it there
	takeMatched          // Mprobe: takes the message out of the channel; a later Mrecv or Imrecv receives it
	takeVoid             // nothing: from MPI_PROC_NULL, or cancelled
)

// takeRec is a receive or a probe.
type takeRec struct {
	kind      takeKind
	known     bool   // ch is known
	wild      bool   // ch was not known at the post
	anySource bool   // it asked for any source
	askedTag  int32  // or trace.AnyTag
	which     uint32 // place in the array of the Startall that posted it
	ch        channel
	post      uint64
	done      uint64 // the call that completed it; 0: not in the trace
	start     uint64 // the call that began to receive: the post, but for takeMatched its Mrecv or Imrecv
	bytes     uint64
	view      *view
	send      int  // index in the sends of rank ch.src, or none
	freed     bool // its request was freed: no event completes it
	cancelled bool // it was asked to be; whether it was its completion tells
}

// request is what a completion completes.
type request struct {
	class trace.RequestClass
	index int // in sends or takes, or none
	coll  *instance
}

// persistent is what the _init of a persistent request says.
type persistent struct {
	send bool
	args trace.SendArgs
	op   mpispec.Op
	// a collective: over which communicator, which of its persistent ones, with which root
	coll *comm
	nth  int
	root int32
}

// ingest takes in the events of one rank.
type ingest struct {
	rankLog

	b        *Builder
	rank     int
	comms    map[uint32]*view
	siteOf   map[uint64]uint32
	modules  map[uint64]trace.Module
	requests trace.Requests[persistent, request]
	calls    map[*comm]int // collectives so far
	oneSided bool          // it has been said that the rank synchronises one-sided communication
	// messages that an Mprobe or Improbe took and nobody has received: indices in takes, by its event
	probed map[uint64]int
	made   map[*comm]int         // persistent collectives so far
	freed  map[trace.Posting]int // indices in takes
}

// fault is an event that does not fit the ones before it.
func (in *ingest) fault(e *trace.Event, format string, args ...any) error {
	return fmt.Errorf("event %s: %s", EventID{in.rank, e.Index}, fmt.Sprintf(format, args...))
}

func (in *ingest) view(e *trace.Event, index uint32) (*view, error) {
	if v := in.comms[index]; v != nil {
		return v, nil
	}
	return nil, in.fault(e, "%s on communicator %d, which the trace does not declare", e.Op.Call(), index)
}

func (in *ingest) event(e *trace.Event) error {
	in.ops = append(in.ops, e.Op)
	in.sites = append(in.sites, in.siteOf[e.Site])
	if e.Index != uint64(len(in.ops)) {
		return in.fault(e, "expected event %d", len(in.ops))
	}
	switch e.Op.Class() {
	case mpispec.ClassSend:
		return in.send(e)
	case mpispec.ClassRecv, mpispec.ClassIrecv:
		if e.Op == mpispec.OpMrecv || e.Op == mpispec.OpImrecv {
			return in.matched(e)
		}
		return in.receive(e)
	case mpispec.ClassSendrecv:
		if _, err := in.addSend(e, e.Op, &e.Send, e.Index); err != nil {
			return err
		}
		return in.receive(e)
	case mpispec.ClassProbe:
		return in.probe(e)
	case mpispec.ClassSendInit, mpispec.ClassRecvInit:
		in.requests.Init(e.Index, persistent{send: e.Op.Class() == mpispec.ClassSendInit, args: e.Send, op: e.Op})
		return nil
	case mpispec.ClassCollectiveInit:
		return in.collectiveInit(e)
	case mpispec.ClassStart:
		return in.start(e)
	case mpispec.ClassCompletion:
		return in.completion(e)
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassComm:
		return in.collective(e)
	case mpispec.ClassRequest:
		if e.Op == mpispec.OpRequestFree {
			in.free(e)
		} else if t := in.receiving(e.Post); t != nil && in.requests.Persistent(e.Post) == nil {
			t.cancelled = true
		}
		return nil
	case mpispec.ClassOther:
		switch e.Op {
		case mpispec.OpFinalize:
			return in.join(e, e.Op, e.Coll.Root, in.b.ends, true)
		case mpispec.OpGrequestStart:
			in.requests.Post(e.Index, request{class: trace.RequestOther, index: none})
		default:
			if e.Op.Function().Synchronizes && !in.oneSided {
				in.oneSided = true // once is enough
				in.b.doubtf(ProblemUncovered, in.rank, e.Index, "%s orders ranks in a way that traces do not show",
					e.Op.Call())
			}
		}
		return nil
	case mpispec.ClassNone:
	}
	return in.fault(e, "an operation that this version does not know")
}

func (in *ingest) send(e *trace.Event) error {
	if !e.Op.MakesRequest() {
		_, err := in.addSend(e, e.Op, &e.Send, e.Index)
		return err
	}
	i, err := in.addSend(e, e.Op, &e.Send, 0)
	in.requests.Post(e.Index, request{class: trace.RequestSend, index: i})
	return err
}

func (in *ingest) peer(e *trace.Event, v *view, rank int32) (uint32, error) {
	if rank < 0 || int(rank) >= len(v.peers) {
		return 0, in.fault(e, "%s names rank %d of a communicator of %d", e.Op.Call(), rank, len(v.peers))
	}
	return uint32(v.peers[rank]), nil
}

// addSend returns the index of the message, or none if it goes to MPI_PROC_NULL.
func (in *ingest) addSend(e *trace.Event, op mpispec.Op, a *trace.SendArgs, done uint64) (int, error) {
	v, err := in.view(e, a.Comm)
	if err != nil || a.Dest == trace.ProcNull {
		return none, err
	}
	dst, err := in.peer(e, v, a.Dest)
	if err != nil {
		return none, err
	}
	in.sends = append(in.sends, sendRec{
		ch: channel{v.comm.id, uint32(in.rank), dst, a.Tag}, event: e.Index, done: done, bytes: a.Bytes, op: op,
		take: none,
	})
	return len(in.sends) - 1, nil
}

// content is of a message that the last event sent.
func (in *ingest) content(c *trace.Content) {
	first := len(in.sends)
	for first > 0 && in.sends[first-1].event == in.last() {
		first--
	}
	if at := uint64(first) + uint64(c.Which); at < uint64(len(in.sends)) {
		in.sends[at].content, in.sends[at].looked = c.Value, true
	}
}

// addTake adds a receive or probe, whose message is not known yet if its source or tag is a wildcard.
func (in *ingest) addTake(e *trace.Event, kind takeKind, a trace.RecvArgs) (index int, err error) {
	v, err := in.view(e, a.Comm)
	if err != nil {
		return none, err
	}
	in.takes = append(in.takes, takeRec{
		kind: kind, post: e.Index, start: e.Index, view: v, send: none,
		wild:      trace.IsWildcard(a.AskedSource, a.AskedTag),
		anySource: a.AskedSource == trace.AnySource, askedTag: a.AskedTag,
	})
	index = len(in.takes) - 1
	t := &in.takes[index]
	if a.Source == trace.ProcNull {
		t.kind = takeVoid
	} else if !trace.IsWildcard(a.Source, a.Tag) {
		err = in.resolve(e, t, a.Source, a.Tag)
	}
	return index, err
}

// addAsked adds a receive of which it is known only what it asked for.
func (in *ingest) addAsked(e *trace.Event, comm uint32, source, tag int32) (int, error) {
	return in.addTake(e, takeReceive, trace.RecvArgs{
		Comm: comm, AskedSource: source, AskedTag: tag, Source: source, Tag: tag,
	})
}

func (in *ingest) resolve(e *trace.Event, t *takeRec, source, tag int32) error {
	src, err := in.peer(e, t.view, source)
	if err != nil {
		return err
	}
	t.ch, t.known = channel{t.view.comm.id, src, uint32(in.rank), tag}, true
	return nil
}

// receive is a receive that names its source: of a blocking one it is known what it got.
func (in *ingest) receive(e *trace.Event) error {
	if e.Op.Class() == mpispec.ClassIrecv {
		i, err := in.addAsked(e, e.Recv.Comm, e.Recv.AskedSource, e.Recv.AskedTag)
		in.requests.Post(e.Index, request{class: trace.RequestRecv, index: i})
		return err
	}
	i, err := in.addTake(e, takeReceive, e.Recv)
	if err == nil {
		in.takes[i].done, in.takes[i].bytes = e.Index, e.Recv.Bytes
	}
	return err
}

func (in *ingest) probe(e *trace.Event) error {
	kind := takeProbe
	if e.Op == mpispec.OpMprobe || e.Op == mpispec.OpImprobe {
		kind = takeMatched
	}
	i, err := in.addTake(e, kind, e.Recv)
	if err == nil && in.takes[i].kind == takeMatched {
		in.takes[i].start = 0
		in.probed[e.Index] = i
	}
	return err
}

// matched is Mrecv or Imrecv: it receives a message that an Mprobe or Improbe took.
func (in *ingest) matched(e *trace.Event) error {
	i := none
	if e.Recv.Probe != 0 {
		var waits bool
		if i, waits = in.probed[e.Recv.Probe]; !waits {
			return in.fault(e, "%s of the message of event %d, which took none that is still to be received",
				e.Op.Call(), e.Recv.Probe)
		}
		delete(in.probed, e.Recv.Probe)
		in.takes[i].start = e.Index
	}
	if e.Op == mpispec.OpImrecv {
		in.requests.Post(e.Index, request{class: trace.RequestRecv, index: i})
	} else if i != none {
		in.takes[i].done, in.takes[i].bytes = e.Index, e.Recv.Bytes
	}
	return nil
}
