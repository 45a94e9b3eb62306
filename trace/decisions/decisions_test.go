package trace

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// rankSim makes up an execution of one rank and writes it three times: as order-mode records, as events, and as the
// decisions that a replay must enforce, each straight from its definition.
type rankSim struct {
	t      *rapid.T
	order  []Record
	full   []Record
	want   Decisions
	event  uint64
	failed uint64 // polls since the last event that was a successful poll
	open   []*simRequest
	inits  []*simInit
	which  []uint32 // of each of want.Matches, its place in the array of a Startall
}

type simRequest struct {
	post   uint64 // event that posted it
	which  uint32
	op     Op
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

func (s *rankSim) args(wild bool) (asked, got RecvArgs) {
	t := s.t
	got.Source, got.Tag = rapid.Int32Range(0, 3).Draw(t, "source"), rapid.Int32Range(0, 5).Draw(t, "tag")
	got.AskedSource, got.AskedTag = got.Source, got.Tag
	switch {
	case wild && rapid.Bool().Draw(t, "any source"):
		got.AskedSource = AnySource
	case wild:
		got.AskedTag = AnyTag
	case rapid.IntRange(0, 5).Draw(t, "null") == 0: // a receive from nobody is no wildcard
		got.AskedSource, got.AskedTag, got.Source, got.Tag = ProcNull, AnyTag, ProcNull, AnyTag
	}
	got.Bytes = 8
	return RecvArgs{AskedSource: got.AskedSource, AskedTag: got.AskedTag}, got
}

// begin numbers an event; a poll takes the failures before it.
func (s *rankSim) begin(op Op) *Event {
	s.event++
	e := &Event{Index: s.event, Op: op}
	s.full = append(s.full, e)
	if op.IsPoll() {
		e.FailedPolls = s.failed
		s.orderRec(&Poll{Event: e.Index, Op: op, Failures: s.failed})
		s.want.Polls = append(s.want.Polls, DecisionPoll{Event: e.Index, Failures: s.failed, Op: op})
		s.failed = 0
	}
	return e
}

func (s *rankSim) orderRec(r Record) { s.order = append(s.order, r) }

func (s *rankSim) step() {
	t := s.t
	wild := rapid.Bool().Draw(t, "wild")
	switch rapid.IntRange(0, 9).Draw(t, "call") {
	case 0:
		e := s.begin(rapid.SampledFrom([]Op{OpSend, OpBarrier, OpSendrecv, OpCancel, OpImrecv}).Draw(t, "op"))
		if e.Op == OpImrecv {
			_, got := s.args(false)
			e.Recv.AskedSource, e.Recv.AskedTag = got.Source, got.Tag
			s.open = append(s.open, &simRequest{
				post: e.Index, op: OpImrecv, recv: true, matchd: true,
				source: got.Source, tag: got.Tag,
			})
		}
		e.Coll.Root = 0
		if e.Op == OpSendrecv {
			s.taken(e, wild)
		}
	case 1:
		s.taken(s.begin(rapid.SampledFrom([]Op{OpRecv, OpProbe, OpMprobe, OpSendrecvReplace}).Draw(t, "op")), wild)
	case 2:
		s.taken(s.begin(rapid.SampledFrom([]Op{OpIprobe, OpImprobe}).Draw(t, "op")), wild)
	case 3:
		s.failed += rapid.Uint64Range(1, 5).Draw(t, "failures")
	case 4:
		e := s.begin(OpIrecv)
		asked, got := s.args(wild)
		e.Recv = asked
		s.post(&simRequest{post: e.Index, op: OpIrecv, wild: wild, recv: true, source: got.Source, tag: got.Tag})
	case 5:
		s.open = append(s.open, &simRequest{post: s.begin(OpIsend).Index})
	case 6:
		e := s.begin(OpRecvInit)
		asked, _ := s.args(wild)
		e.Send = SendArgs{Dest: asked.AskedSource, Tag: asked.AskedTag}
		s.inits = append(s.inits, &simInit{event: e.Index, wild: wild})
	case 7:
		s.start()
	default:
		s.complete()
	}
}

// taken is a receive or probe that has its message when the call returns.
func (s *rankSim) taken(e *Event, wild bool) {
	_, e.Recv = s.args(wild)
	if wild {
		s.orderRec(&Match{Event: e.Index, Op: e.Op, Source: e.Recv.Source, Tag: e.Recv.Tag})
		s.match(0, DecisionMatch{Event: e.Index, Op: e.Op, Source: e.Recv.Source, Tag: e.Recv.Tag})
	}
}

func (s *rankSim) match(which uint32, m DecisionMatch) {
	m.Which = which
	s.want.Matches = append(s.want.Matches, m)
	s.which = append(s.which, which)
}

func (s *rankSim) post(r *simRequest) {
	s.open = append(s.open, r)
	if r.wild {
		s.orderRec(&Match{Event: r.post, Op: r.op, Source: PromiseSource, Which: r.which})
		r.match = len(s.want.Matches)
		s.match(r.which, DecisionMatch{Event: r.post, Op: r.op, Source: int32(r.which), Never: true})
	}
}

func (s *rankSim) start() {
	var idle []*simInit
	for _, i := range s.inits {
		if !i.live {
			idle = append(idle, i)
		}
	}
	if len(idle) == 0 {
		return
	}
	op := OpStartall
	if rapid.Bool().Draw(s.t, "one") {
		op, idle = OpStart, idle[:1]
	}
	e := s.begin(op)
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

func (s *rankSim) complete() {
	t := s.t
	op := rapid.SampledFrom([]Op{
		OpWait, OpWaitall, OpWaitany, OpWaitsome, OpTest, OpTestall, OpTestany, OpTestsome, OpRequestGetStatus,
	}).Draw(t, "op")
	n := rapid.IntRange(0, len(s.open)).Draw(t, "n")
	if n > 1 && !slices.Contains([]Op{OpWaitall, OpWaitsome, OpTestall, OpTestsome}, op) {
		n = 1
	}
	order := rapid.Permutation(s.open).Draw(t, "order")
	e := s.begin(op)
	set := &Set{Event: e.Index, Op: op}
	var matches []Record
	done := map[*simRequest]bool{}
	for _, r := range order[:n] {
		c := Completion{ArrayIndex: rapid.Uint32Range(0, 9).Draw(t, "index"), Post: r.post, Class: RequestSend}
		if r.init != nil {
			c.Post = r.init.event
		}
		if r.recv {
			c.Class, c.Source, c.Tag, c.Bytes = RequestRecv, r.source, r.tag, 8
		}
		cancelled := r.recv && !r.matchd && op != OpRequestGetStatus && !r.seen &&
			rapid.IntRange(0, 3).Draw(t, "cancelled") == 0
		r.seen = true
		switch {
		case cancelled:
			c.Class, c.Source, c.Tag, c.Bytes = RequestOther, 0, 0, 0
			matches = append(matches, &Match{
				Event: e.Index, Op: r.op, Source: PromiseSource, Back: e.Index - r.post,
				Which: r.which,
			})
			if !r.wild {
				s.match(r.which, DecisionMatch{Event: r.post, Op: r.op, Source: int32(r.which), Never: true})
			}
		case r.wild:
			matches = append(matches, &Match{
				Event: e.Index, Op: r.op, Source: r.source, Tag: r.tag,
				Back: e.Index - r.post, Which: r.which,
			})
			m := &s.want.Matches[r.match]
			m.Never, m.Source, m.Tag = false, r.source, r.tag
		}
		set.Indices = append(set.Indices, c.ArrayIndex)
		e.Completed = append(e.Completed, c)
		if op != OpRequestGetStatus {
			done[r] = true
			if r.init != nil {
				r.init.live = false
			}
		}
	}
	if op.HasSet() {
		s.orderRec(set)
		s.want.Sets = append(s.want.Sets, DecisionSet{Event: e.Index, Op: op, Indices: set.Indices})
	}
	s.order = append(s.order, matches...)
	s.open = slices.DeleteFunc(s.open, func(r *simRequest) bool { return done[r] })
}

// sort puts the matches where a replay needs them: a selection, one after the other.
func (s *rankSim) sort() {
	var sorted []DecisionMatch
	for len(s.want.Matches) > 0 {
		least := 0
		for i, m := range s.want.Matches {
			first := s.want.Matches[least]
			if m.Event < first.Event || (m.Event == first.Event && s.which[i] < s.which[least]) {
				least = i
			}
		}
		sorted = append(sorted, s.want.Matches[least])
		s.want.Matches = slices.Delete(s.want.Matches, least, least+1)
		s.which = slices.Delete(s.which, least, least+1)
	}
	s.want.Matches = sorted
}

func TestBothModesGiveTheSameDecisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &rankSim{t: t, want: Decisions{Rank: 1, WorldSize: 2}}
		comm := worldComm()
		s.order, s.full = []Record{comm}, []Record{comm}
		for range rapid.IntRange(0, 60).Draw(t, "calls") {
			s.step()
		}
		h := Header{Rank: 1, WorldSize: 2}
		closed := rapid.Bool().Draw(t, "closed")
		if closed {
			s.begin(OpFinalize)
			s.order = append(s.order, &End{FailedPolls: s.failed, How: 1})
			s.full = append(s.full, &End{FailedPolls: s.failed, How: 1})
		} else {
			h.Polls = s.failed
		}
		if s.failed > 0 {
			s.want.Polls = append(s.want.Polls, DecisionPoll{Event: Never, Failures: s.failed, Never: true})
		}
		s.sort()
		s.want.LastEvent, s.want.Finalized, h.Events = s.event, closed, s.event
		for mode, records := range map[Mode][]Record{ModeOrder: s.order, ModeFull: s.full} {
			h.Mode = mode
			got, err := BuildDecisions(write(t, h, records, closed).reader(t), DecisionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&s.want, got); d != "" {
				t.Fatalf("%s: %s", mode, d)
			}
			back, err := DecodeDecisions("memory", got.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, back); d != "" {
				t.Fatalf("file: %s", d)
			}
		}
	})
}

// The bytes of the decisions file, spelled out.
func TestDecisionsLayout(t *testing.T) {
	d := &Decisions{
		Rank: 3, WorldSize: 4, LastEvent: 9, Finalized: true,
		Matches: []DecisionMatch{{Event: 5, Source: 2, Tag: -1, Op: OpRecv}, {Event: 6, Op: OpIrecv, Never: true}},
		Polls:   []DecisionPoll{{Event: Never, Failures: 7, Never: true}},
		Sets:    []DecisionSet{{Event: 8, Op: OpWaitsome, Indices: []uint32{4, 1, 2}}, {Event: 9, Op: OpWaitany}},
		Checks:  []DecisionCheck{{Event: 7, Hash: 0x89abcdef}}, CurrentOp: OpBarrier,
		Hold: true, Control: true, Waits: []DecisionOrder{{Event: 4, Peer: 2}},
		Grants: []DecisionOrder{{Event: 6, Peer: 1}},
	}
	var values valueBuilder
	for _, r := range []Record{
		&Thread{Index: 4, ID: 77},
		&Value{What: ValueTime, Number: 11}, &Value{What: ValueTime, Number: 12},
		&Value{What: ValueRusage, Bytes: "abc"},
		&Value{Thread: 4, What: ValueWtick, Number: 13}, &Turn{Steps: 6, Thread: 4},
	} {
		values.add(r)
	}
	values.finish(d)
	b := d.Encode()
	word := func(at int) uint32 {
		return uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
	}
	for at, want := range map[int]uint32{
		8: 3, 12: 184, 16: 3, 20: 4, 24: 2, 32: 1, 40: 2, 48: 184, 56: 232, 64: 256, 72: 48, 80: 9, 88: 1,
		92: 40, 96: 1, 104: 304, 112: 2, 120: 408, 128: 1, 136: 472, 144: 1, 152: 320, 160: 1, 168: 336, 176: 1, 180: 1,
		184: 5, 192: 2, 196: 0xffffffff, 200: 9, 204: 0, 208: 6, 224: 10, 228: 1,
		232: 0xffffffff, 236: 0xffffffff, 240: 7, 248: 0, 252: 1,
		256: 8, 264: 29, 268: 3, 272: 4, 276: 1, 280: 2, 284: 0, 288: 9, 296: 28, 300: 0,
		304: 7, 312: 0x89abcdef, 316: 0,
		320: 4, 328: 2, 336: 6, 344: 1,
		352: 5, 356: 16, 360: 11, 368: 12, // two times in one entry
		376: 17, 380: 3, 384: 0x636261,
		392: 2, 396: 8, 400: 13,
		408: 1, 416: 3, 424: 352, 432: 40, 440: 77, 448: 1, 456: 392, 464: 16,
		472: 6, 480: 77,
	} {
		if word(at) != want {
			t.Errorf("word at %d is %d, want %d", at, word(at), want)
		}
	}
	if len(b) != 488 {
		t.Errorf("%d bytes", len(b))
	}
	path := filepath.Join(t.TempDir(), "decisions")
	if err := d.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadDecisions(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Error(diff)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(names) != 1 {
		t.Errorf("left behind: %v %v", names, err)
	}
	for size := range b {
		if _, err := DecodeDecisions("cut", b[:size]); err == nil {
			t.Errorf("%d of %d bytes are accepted", size, len(b))
		}
	}
}

func TestIncompleteIsRefused(t *testing.T) {
	records := []Record{
		&Module{}, &Site{Index: 1}, &Note{Event: 2, Call: "MPI_Get", Site: 1}, &Note{Event: 4, Call: "MPI_Put"},
		&Match{Event: 5, Op: OpRecv, Source: 1, Tag: 2}, &End{How: 1},
	}
	f := write(t, Header{
		Mode: ModeOrder, Rank: 1, WorldSize: 2, Incomplete: 2, IncompleteCall: "MPI_Get",
		IncompleteEvent: 2,
	}, records, true)
	_, err := BuildDecisions(f.reader(t), DecisionOptions{})
	var e *IncompleteError
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if d := cmp.Diff(&IncompleteError{Path: "memory", Rank: 1, Call: "MPI_Get", Event: 2, Site: 1, Count: 2},
		e); d != "" {
		t.Error(d)
	}
	if d, err := BuildDecisions(f.reader(t), DecisionOptions{AllowIncomplete: true}); err != nil ||
		len(d.Matches) != 1 {
		t.Error(d, err)
	}
	// The NOTE did not reach the file.
	f = write(t, Header{Mode: ModeOrder, Incomplete: 1, IncompleteCall: "MPI_Get", IncompleteEvent: 2}, nil, false)
	if _, err = BuildDecisions(f.reader(t), DecisionOptions{}); !errors.As(err, &e) || e.Call != "MPI_Get" ||
		e.Count != 1 {
		t.Error(err)
	}
}

// With a full disk the events before that of the last record are known whole, and those that a check covers.
func TestFullDiskEndsTheReplayAtTheLastWholeEvent(t *testing.T) {
	for _, c := range []struct {
		records []Record
		last    uint64
		matches int
		polls   []DecisionPoll
	}{
		{nil, 0, 0, nil},
		{[]Record{&Match{Event: 5, Op: OpRecv}}, 4, 0, nil},
		{[]Record{&Match{Event: 5, Op: OpRecv}, &Check{Event: 64, Hash: 1}}, 64, 1, nil},
		{
			// its MATCH may be lost
			[]Record{&Match{Event: 5, Op: OpRecv}, &Poll{Event: 9, Op: OpIprobe, Failures: 3}},
			8, 1,
			[]DecisionPoll{{Event: Never, Failures: 3, Never: true}},
		},
	} {
		f := write(t, Header{Mode: ModeOrder, Events: 1000, Polls: 77, Ended: EndedDiskCounting, CurrentOp: OpBarrier},
			c.records, false)
		d, err := BuildDecisions(f.reader(t), DecisionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if d.LastEvent != c.last || len(d.Matches) != c.matches || !cmp.Equal(d.Polls, c.polls) || d.Finalized ||
			d.CurrentOp != OpNone {
			t.Errorf("%v: %+v", c.records, d)
		}
	}
}

// Where the header was left as it was when the disk was full, it says what is whole, also if the last record is of an
// earlier event, or one of the event in progress is there.
func TestFullDiskEndsTheReplayWhereTheHeaderWasLeft(t *testing.T) {
	records := []Record{
		&Poll{Event: 9, Op: OpIprobe, Failures: 3}, &Match{Event: 9, Op: OpIprobe},
		&Match{Event: 21, Op: OpRecv},
	}
	for _, ended := range []Ended{EndedDisk, EndedUnable, EndedRepaired} {
		for _, mode := range []Mode{ModeOrder, ModeRacing} {
			f := &buffer{}
			w := NewWriter(f, Header{Mode: mode, Polls: 7, Ended: ended, CurrentOp: OpRecv})
			for _, r := range records {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Cut(); err != nil {
				t.Fatal(err)
			}
			binary.LittleEndian.PutUint64(f.b[56:], 20) // events complete
			d, err := BuildDecisions(f.reader(t), DecisionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := &Decisions{
				Sparse: mode == ModeRacing, LastEvent: 20, Ended: ended,
				Matches: []DecisionMatch{{Event: 9, Op: OpIprobe}},
				Polls:   []DecisionPoll{{Event: 9, Op: OpIprobe, Failures: 3}, {Event: Never, Failures: 7, Never: true}},
			}
			if diff := cmp.Diff(want, d, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", mode, diff)
			}
		}
	}
}

// A rank that was killed between two records of one event: the event was not complete.
func TestAnEventInProgressIsNotDecided(t *testing.T) {
	f := &buffer{}
	w := NewWriter(f, Header{Mode: ModeOrder, CurrentOp: OpIprobe})
	for _, r := range []Record{
		&Match{Event: 5, Op: OpRecv, Source: 1, Tag: 2},
		&Poll{Event: 9, Op: OpIprobe, Failures: 3},
	} {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Cut(); err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(f.b[56:], 8) // events complete
	d, err := BuildDecisions(f.reader(t), DecisionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := &Decisions{
		LastEvent: 8, CurrentOp: OpIprobe, Matches: []DecisionMatch{{Event: 5, Op: OpRecv, Source: 1, Tag: 2}},
		Polls: []DecisionPoll{{Event: Never, Failures: 3, Never: true}},
	}
	if diff := cmp.Diff(want, d, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestContradictoryDecisions(t *testing.T) {
	promise := func(event uint64) Record { return &Match{Event: event, Op: OpIrecv, Source: PromiseSource} }
	for _, c := range []struct {
		name    string
		mode    Mode
		records []Record
		want    string
	}{
		{"no promise", ModeOrder, []Record{&Match{Event: 3, Op: OpIrecv, Source: 1, Back: 2}}, "was not promised"},
		{"two promises", ModeOrder, []Record{promise(3), promise(3)}, "promised twice"},
		{"two messages", ModeOrder, []Record{
			promise(1), &Match{Event: 3, Op: OpIrecv, Source: 1, Back: 2},
			&Match{Event: 4, Op: OpIrecv, Source: 2, Back: 3},
		}, "two messages"},
		{"not started", ModeFull, []Record{
			worldComm(), &Event{Index: 1, Op: OpRecvInit, Send: SendArgs{Dest: AnySource}},
			&Event{Index: 2, Op: OpWait, Completed: []Completion{{Post: 1, Class: RequestRecv}}},
		}, "not started"},
	} {
		_, err := BuildDecisions(write(t, Header{Mode: c.mode}, c.records, false).reader(t), DecisionOptions{})
		var e *DecisionError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
