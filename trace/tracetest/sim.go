package tracetest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// Sim makes up an execution of one rank and writes it three times: as order-mode records, as events, and as the
// decisions that a replay must enforce, each straight from its definition.
type Sim struct {
	t      *rapid.T
	Order  []trace.Record
	Full   []trace.Record
	Want   decisions.Plan
	Event  uint64
	Failed uint64 // polls since the last event that was a successful poll
	open   []*simRequest
	inits  []*simInit
	Which  []uint32 // of each of want.Matches, its place in the array of a Startall
}

type simRequest struct {
	post   uint64 // event that posted it
	which  uint32
	op     mpispec.Op
	wild   bool
	recv   bool
	matchd bool     // of a matched probe, which cannot be cancelled
	init   *simInit // persistent
	source int32    // what it will take
	tag    int32
	match  int  // index in want.Matches, if wild
	seen   bool // by Request_get_status
}

type simInit struct {
	event uint64
	wild  bool
	live  bool
}

func (s *Sim) args(wild bool) (asked, got trace.RecvArgs) {
	t := s.t
	got.Source, got.Tag = rapid.Int32Range(0, 3).Draw(t, "source"), rapid.Int32Range(0, 5).Draw(t, "tag")
	got.AskedSource, got.AskedTag = got.Source, got.Tag
	switch {
	case wild && rapid.Bool().Draw(t, "any source"):
		got.AskedSource = trace.AnySource
	case wild:
		got.AskedTag = trace.AnyTag
	case rapid.IntRange(0, 5).Draw(t, "null") == 0: // a receive from nobody is no wildcard
		got.AskedSource, got.AskedTag, got.Source, got.Tag = trace.ProcNull, trace.AnyTag, trace.ProcNull, trace.AnyTag
	}
	got.Bytes = 8
	return trace.RecvArgs{AskedSource: got.AskedSource, AskedTag: got.AskedTag}, got
}

// Begin numbers an event; a poll takes the failures before it.
func (s *Sim) Begin(op mpispec.Op) *trace.Event {
	s.Event++
	e := &trace.Event{Index: s.Event, Op: op}
	s.Full = append(s.Full, e)
	if op.IsPoll() {
		e.FailedPolls = s.Failed
		s.orderRec(&trace.Poll{Event: e.Index, Op: op, Failures: s.Failed})
		s.Want.Polls = append(s.Want.Polls, decisions.Poll{Event: e.Index, Failures: s.Failed, Op: op})
		s.Failed = 0
	}
	return e
}

func (s *Sim) orderRec(r trace.Record) { s.Order = append(s.Order, r) }

// Step makes one more call.
func (s *Sim) Step() {
	t := s.t
	wild := rapid.Bool().Draw(t, "wild")
	switch rapid.IntRange(0, 9).Draw(t, "call") {
	case 0:
		e := s.Begin(
			rapid.SampledFrom([]mpispec.Op{
				mpispec.OpSend, mpispec.OpBarrier, mpispec.OpSendrecv, mpispec.OpCancel,
				mpispec.OpImrecv,
			}).
				Draw(t, "op"),
		)
		if e.Op == mpispec.OpImrecv {
			_, got := s.args(false)
			e.Recv.AskedSource, e.Recv.AskedTag = got.Source, got.Tag
			s.open = append(s.open, &simRequest{
				post: e.Index, op: mpispec.OpImrecv, recv: true, matchd: true,
				source: got.Source, tag: got.Tag,
			})
		}
		e.Coll.Root = 0
		if e.Op == mpispec.OpSendrecv {
			s.taken(e, wild)
		}
	case 1:
		s.taken(
			s.Begin(
				rapid.SampledFrom([]mpispec.Op{
					mpispec.OpRecv, mpispec.OpProbe, mpispec.OpMprobe,
					mpispec.OpSendrecvReplace,
				}).
					Draw(t, "op"),
			),
			wild,
		)
	case 2:
		s.taken(s.Begin(rapid.SampledFrom([]mpispec.Op{mpispec.OpIprobe, mpispec.OpImprobe}).Draw(t, "op")), wild)
	case 3:
		s.Failed += rapid.Uint64Range(1, 5).Draw(t, "failures")
	case 4:
		e := s.Begin(mpispec.OpIrecv)
		asked, got := s.args(wild)
		e.Recv = asked
		s.post(&simRequest{
			post: e.Index, op: mpispec.OpIrecv, wild: wild, recv: true, source: got.Source,
			tag: got.Tag,
		})
	case 5:
		s.open = append(s.open, &simRequest{post: s.Begin(mpispec.OpIsend).Index})
	case 6:
		e := s.Begin(mpispec.OpRecvInit)
		asked, _ := s.args(wild)
		e.Send = trace.SendArgs{Dest: asked.AskedSource, Tag: asked.AskedTag}
		s.inits = append(s.inits, &simInit{event: e.Index, wild: wild})
	case 7:
		s.start()
	default:
		s.complete()
	}
}

// taken is a receive or probe that has its message when the call returns.
func (s *Sim) taken(e *trace.Event, wild bool) {
	_, e.Recv = s.args(wild)
	if wild {
		s.orderRec(&trace.Match{Event: e.Index, Op: e.Op, Source: e.Recv.Source, Tag: e.Recv.Tag})
		s.match(0, decisions.Match{Event: e.Index, Op: e.Op, Source: e.Recv.Source, Tag: e.Recv.Tag})
	}
}

func (s *Sim) match(which uint32, m decisions.Match) {
	m.Which = which
	s.Want.Matches = append(s.Want.Matches, m)
	s.Which = append(s.Which, which)
}

func (s *Sim) post(r *simRequest) {
	s.open = append(s.open, r)
	if r.wild {
		s.orderRec(&trace.Match{Event: r.post, Op: r.op, Source: trace.NoSource, Which: r.which})
		r.match = len(s.Want.Matches)
		s.match(r.which, decisions.Match{Event: r.post, Op: r.op, Source: int32(r.which), Never: true})
	}
}

func (s *Sim) start() {
	var idle []*simInit
	for _, i := range s.inits {
		if !i.live {
			idle = append(idle, i)
		}
	}
	if len(idle) == 0 {
		return
	}
	op := mpispec.OpStartall
	if rapid.Bool().Draw(s.t, "one") {
		op, idle = mpispec.OpStart, idle[:1]
	}
	e := s.Begin(op)
	for which, i := range idle {
		i.live = true
		e.Inits = append(e.Inits, i.event)
		_, got := s.args(true)
		s.post(&simRequest{
			post: e.Index, which: uint32(which), op: op, wild: i.wild, recv: true, init: i,
			source: got.Source, tag: got.Tag,
		})
	}
}

func (s *Sim) complete() {
	t := s.t
	op := rapid.SampledFrom([]mpispec.Op{
		mpispec.OpWait,
		mpispec.OpWaitall,
		mpispec.OpWaitany,
		mpispec.OpWaitsome,
		mpispec.OpTest,
		mpispec.OpTestall,
		mpispec.OpTestany,
		mpispec.OpTestsome,
		mpispec.OpRequestGetStatus,
	}).Draw(t, "op")
	n := rapid.IntRange(0, len(s.open)).Draw(t, "n")
	if n > 1 && !slices.Contains([]mpispec.Op{
		mpispec.OpWaitall, mpispec.OpWaitsome, mpispec.OpTestall,
		mpispec.OpTestsome,
	}, op) {
		n = 1
	}
	order := rapid.Permutation(s.open).Draw(t, "order")
	e := s.Begin(op)
	set := &trace.Set{Event: e.Index, Op: op}
	var matches []trace.Record
	done := map[*simRequest]bool{}
	for _, r := range order[:n] {
		c := trace.Completion{
			ArrayIndex: rapid.Uint32Range(0, 9).Draw(t, "index"),
			Post:       r.post,
			Class:      trace.RequestSend,
		}
		if r.init != nil {
			c.Post = r.init.event
		}
		if r.recv {
			c.Class, c.Source, c.Tag, c.Bytes = trace.RequestRecv, r.source, r.tag, 8
		}
		cancelled := r.recv && !r.matchd && op != mpispec.OpRequestGetStatus && !r.seen &&
			rapid.IntRange(0, 3).Draw(t, "cancelled") == 0
		r.seen = true
		switch {
		case cancelled:
			c.Class, c.Source, c.Tag, c.Bytes = trace.RequestOther, 0, 0, 0
			matches = append(matches, &trace.Match{
				Event: e.Index, Op: r.op, Source: trace.NoSource, Back: e.Index - r.post,
				Which: r.which,
			})
			if !r.wild {
				s.match(r.which, decisions.Match{Event: r.post, Op: r.op, Source: int32(r.which), Never: true})
			}
		case r.wild:
			matches = append(matches, &trace.Match{
				Event: e.Index, Op: r.op, Source: r.source, Tag: r.tag,
				Back: e.Index - r.post, Which: r.which,
			})
			m := &s.Want.Matches[r.match]
			m.Never, m.Source, m.Tag = false, r.source, r.tag
		}
		set.Indices = append(set.Indices, c.ArrayIndex)
		e.Completed = append(e.Completed, c)
		if op != mpispec.OpRequestGetStatus {
			done[r] = true
			if r.init != nil {
				r.init.live = false
			}
		}
	}
	if op.HasSet() {
		s.orderRec(set)
		s.Want.Sets = append(s.Want.Sets, decisions.Set{Event: e.Index, Op: op, Indices: set.Indices})
	}
	s.Order = append(s.Order, matches...)
	s.open = slices.DeleteFunc(s.open, func(r *simRequest) bool { return done[r] })
}

// Sort puts the matches where a replay needs them: a selection, one after the other.
func (s *Sim) Sort() {
	var sorted []decisions.Match
	for len(s.Want.Matches) > 0 {
		least := 0
		for i, m := range s.Want.Matches {
			first := s.Want.Matches[least]
			if m.Event < first.Event || (m.Event == first.Event && s.Which[i] < s.Which[least]) {
				least = i
			}
		}
		sorted = append(sorted, s.Want.Matches[least])
		s.Want.Matches = slices.Delete(s.Want.Matches, least, least+1)
		s.Which = slices.Delete(s.Which, least, least+1)
	}
	s.Want.Matches = sorted
}
