package causal_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// program writes traces by hand: number and communicators of each rank are filled in.
type program struct{ records [][]trace.Record }

func newProgram(ranks int) *program {
	p := &program{records: make([][]trace.Record, ranks)}
	var all []uint32
	for r := range ranks {
		all = append(all, uint32(r))
	}
	for r := range ranks {
		p.comm(r, &trace.Comm{
			Index: 0, GlobalID: trace.WorldID, CommKind: abi.CommIntra, MyRank: uint32(r),
			Members: all,
		})
	}
	return p
}

func (p *program) comm(rank int, c *trace.Comm) { p.records[rank] = append(p.records[rank], c) }

func (p *program) add(rank int, e trace.Event) *program {
	for _, r := range p.records[rank] {
		if _, ok := r.(*trace.Event); ok {
			e.Index++
		}
	}
	e.Index++
	p.records[rank] = append(p.records[rank], &e)
	return p
}

func (p *program) send(rank, dest int) *program { return p.sendOp(rank, mpispec.OpSend, dest) }

func (p *program) sendOp(rank int, op mpispec.Op, dest int) *program {
	return p.add(rank, trace.Event{Op: op, Send: trace.SendArgs{Dest: int32(dest), Tag: 1, Bytes: 8}})
}

func (p *program) recv(rank, source int) *program { return p.recvOp(rank, mpispec.OpRecv, source) }

func (p *program) recvOp(rank int, op mpispec.Op, source int) *program {
	return p.add(rank, trace.Event{
		Op: op, Recv: trace.RecvArgs{AskedSource: int32(source), AskedTag: 1, Source: int32(source), Tag: 1, Bytes: 8},
	})
}

// mrecv receives the message that the matched probe of an earlier event took.
func (p *program) mrecv(rank int, probe uint64) *program {
	return p.add(rank, trace.Event{
		Op:   mpispec.OpMrecv,
		Recv: trace.RecvArgs{AskedTag: 1, Tag: 1, Bytes: 8, Probe: probe},
	})
}

func (p *program) wait(rank int, post uint64, class trace.RequestClass, source int) *program {
	c := trace.Completion{Post: post, Class: class}
	if class == trace.RequestRecv {
		c.Source, c.Tag, c.Bytes = int32(source), 1, 8
	}
	return p.add(rank, trace.Event{Op: mpispec.OpWait, Completed: []trace.Completion{c}})
}

func (p *program) coll(rank int, op mpispec.Op, comm uint32, root int32) *program {
	return p.add(rank, trace.Event{Op: op, Coll: trace.CollArgs{Comm: comm, Root: root}})
}

func (p *program) build(t *testing.T, opt causal.Options) *causal.Graph {
	t.Helper()
	g, err := causal.Build(p.records, opt)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func wantCut(t *testing.T, g *causal.Graph, rank int, index uint64, want ...uint64) {
	t.Helper()
	got, err := g.CausalCut(rank, index)
	if d := gocmp.Diff(causal.Cut(want), got); d != "" || err != nil {
		t.Errorf("cut of %d:%d: %s %v", rank, index, d, err)
	}
}

func wantVector(t *testing.T, g *causal.Graph, rank int, index uint64, want ...uint64) {
	t.Helper()
	got, err := g.VectorTime(rank, index)
	if d := gocmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("vector time of %d:%d: %s %v", rank, index, d, err)
	}
}

// In a ring of Sendrecv each exit follows the neighbour's entry only, but a cut needs the whole ring.
func TestRingOfSendrecv(t *testing.T) {
	p := newProgram(4)
	for r := range 4 {
		p.add(r, trace.Event{
			Op: mpispec.OpSendrecv, Send: trace.SendArgs{Dest: int32((r + 1) % 4), Tag: 1, Bytes: 8},
			Recv: trace.RecvArgs{
				AskedSource: trace.AnySource, AskedTag: 1, Source: int32((r + 3) % 4), Tag: 1,
				Bytes: 8,
			},
		})
	}
	g := p.build(t, causal.Options{})
	wantVector(t, g, 0, 1, 1, 0, 0, 1)
	wantCut(t, g, 0, 1, 1, 1, 1, 1)
	wantCut(t, g, 0, 0, 0, 0, 0, 0)
	if len(g.Problems()) > 0 {
		t.Error(g.Problems())
	}
}

func TestBcastIsTakenWhole(t *testing.T) {
	p := newProgram(3)
	for r := range 3 {
		p.coll(r, mpispec.OpBcast, 0, 1)
	}
	g := p.build(t, causal.Options{})
	wantVector(t, g, 1, 1, 0, 1, 0) // the root waits for nobody
	wantVector(t, g, 0, 1, 1, 1, 0)
	wantCut(t, g, 1, 1, 1, 1, 1)
	err := g.CheckCut(causal.Cut{1, 1, 0})
	var bad *causal.InconsistentCutError
	if !errors.As(err, &bad) || bad.Relation != "collective" || bad.Send != (id{Rank: 2, Index: 1}) {
		t.Error(err)
	}
}

// A nonblocking collective needs everyone's post, completed or not.
func TestNonblockingCollectiveNeedsThePosts(t *testing.T) {
	p := newProgram(3)
	for r := range 3 {
		if r != 1 {
			p.recv(r, int(trace.ProcNull))
		}
		p.coll(r, mpispec.OpIbarrier, 0, trace.NoRoot)
	}
	p.wait(0, 2, trace.RequestCollective, 0).send(1, 0).wait(1, 1, trace.RequestCollective, 0)
	g := p.build(t, causal.Options{})
	wantVector(t, g, 0, 3, 3, 1, 2)
	wantCut(t, g, 0, 3, 3, 1, 2)
	wantCut(t, g, 1, 3, 2, 3, 2)
	wantCut(t, g, 0, 2, 2, 0, 0) // only posted
}

func TestFinalizeIsTakenWhole(t *testing.T) {
	p := newProgram(2)
	p.add(0, trace.Event{Op: mpispec.OpFinalize})
	p.send(1, 1).add(1, trace.Event{Op: mpispec.OpFinalize})
	g := p.build(t, causal.Options{})
	wantVector(t, g, 0, 1, 1, 0)
	wantCut(t, g, 0, 1, 1, 2)
}

// An Ssend that an Mprobe took ends only after the Mrecv began.
func TestSynchronousSends(t *testing.T) {
	p := newProgram(2)
	p.sendOp(0, mpispec.OpSsend, 1).sendOp(0, mpispec.OpIssend, 1).wait(0, 2, trace.RequestSend, 0).send(0, 1)
	p.recvOp(1, mpispec.OpMprobe, 0).mrecv(1, 1).recvOp(1, mpispec.OpIrecv, 0).recv(1, int(trace.ProcNull))
	p.wait(1, 3, trace.RequestRecv, 0).recv(1, 0)
	g := p.build(t, causal.Options{})
	wantCut(t, g, 0, 1, 1, 2)
	wantCut(t, g, 0, 2, 2, 2)
	wantVector(t, g, 0, 3, 3, 3)
	wantCut(t, g, 0, 4, 4, 3)
	if err := g.CheckCut(causal.Cut{1, 1}); err == nil || !strings.Contains(err.Error(), "it ends only once") {
		t.Error(err)
	}
	// A standard send of eight bytes or more taken for a rendezvous: for cuts only.
	g = p.build(t, causal.Options{SyncBytes: 8})
	wantVector(t, g, 0, 4, 4, 3)
	wantCut(t, g, 0, 4, 4, 6)
	g = p.build(t, causal.Options{SyncBytes: 9})
	wantCut(t, g, 0, 4, 4, 3)
}

func TestIntercommunicatorAndGroupCreation(t *testing.T) {
	p := newProgram(4)
	groups := [][]uint32{{0, 2}, {3, 1}}
	for g, members := range groups {
		for me, r := range members {
			p.comm(int(r), &trace.Comm{
				Index: 1, GlobalID: 1<<63 | uint64(g), CommKind: abi.CommIntra, MyRank: uint32(me), Members: members,
			})
			p.add(int(r), trace.Event{
				Op:   mpispec.OpCommCreateGroup,
				Coll: trace.CollArgs{Root: trace.NoRoot, NewComm: 2},
			})
			p.comm(int(r), &trace.Comm{
				Index: 2, GlobalID: 1<<63 | 9, CommKind: abi.CommInter, MyRank: uint32(me), Members: members,
				Remote: groups[1-g],
			})
			p.add(int(r), trace.Event{
				Op:   mpispec.OpIntercommCreate,
				Coll: trace.CollArgs{Comm: 1, Root: trace.NoRoot, NewComm: 3},
			})
		}
	}
	// Rank 0 is 0 of the one group; remote rank 1 is world rank 1.
	p.add(0, trace.Event{Op: mpispec.OpSend, Send: trace.SendArgs{Comm: 2, Dest: 1, Tag: 1, Bytes: 8}})
	p.add(1, trace.Event{Op: mpispec.OpRecv, Recv: trace.RecvArgs{
		Comm: 2, AskedSource: -1, AskedTag: 1, Source: 0,
		Tag: 1, Bytes: 8,
	}})
	for r := range 4 {
		root := int32(-3) // MPI_ROOT, or whatever
		p.coll(r, mpispec.OpBcast, 2, root)
	}
	g := p.build(t, causal.Options{})
	if len(g.Problems()) > 0 {
		t.Error(g.Problems())
	}
	wantCut(t, g, 0, 1, 1, 0, 1, 0)
	wantCut(t, g, 0, 2, 2, 2, 2, 2)
	wantCut(t, g, 1, 3, 3, 3, 2, 2)
	wantVector(t, g, 2, 3, 4, 4, 3, 3)
}

func any1(op mpispec.Op) trace.Event {
	return trace.Event{Op: op, Recv: trace.RecvArgs{AskedSource: -1, AskedTag: 1}}
}

func TestProblemsAreReported(t *testing.T) {
	for _, c := range []struct {
		kind causal.ProblemKind
		make func(p *program)
		at   id
	}{
		{causal.ProblemSend, func(p *program) { p.send(0, 1) }, id{Rank: 0, Index: 1}},
		{causal.ProblemReceive, func(p *program) { p.recv(1, 0) }, id{Rank: 1, Index: 1}},
		{causal.ProblemProbe, func(p *program) { p.recvOp(1, mpispec.OpProbe, 0) }, id{Rank: 1, Index: 1}},
		{causal.ProblemPending, func(p *program) { p.recvOp(1, mpispec.OpIrecv, 0) }, id{Rank: 1, Index: 1}},
		{causal.ProblemUnknown, func(p *program) { p.add(1, any1(mpispec.OpIrecv)) }, id{Rank: 1, Index: 1}},
		{causal.ProblemRequest, func(p *program) { p.wait(1, 0, trace.RequestRecv, 0) }, id{Rank: 1, Index: 1}},
		{causal.ProblemCollective, func(p *program) { p.coll(1, mpispec.OpBarrier, 0, -1) }, id{Rank: 1, Index: 1}},
		{causal.ProblemUncovered, func(p *program) {
			p.records[1] = append(p.records[1], &trace.Note{Event: 1, Call: "MPI_Mprobe"})
			p.add(1, trace.Event{Op: mpispec.OpOther})
		}, id{Rank: 1, Index: 1}},
		{causal.ProblemUncovered, func(p *program) {
			p.add(1, trace.Event{Op: mpispec.OpWinLock})
		}, id{Rank: 1, Index: 1}},
		{causal.ProblemSize, func(p *program) {
			p.send(0, 1).add(1, trace.Event{Op: mpispec.OpRecv, Recv: trace.RecvArgs{Tag: 1, Bytes: 9}})
		}, id{Rank: 1, Index: 1}},
	} {
		p := newProgram(2)
		c.make(p)
		g := p.build(t, causal.Options{})
		found := false
		for _, q := range g.Problems() {
			found = found || q.Kind == c.kind && q.Event == c.at && strings.Contains(q.String(), string(c.kind))
		}
		if !found {
			t.Errorf("%s is not reported: %v", c.kind, g.Problems())
		}
		report, err := g.ReportCut(make(causal.Cut, 2))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range report.Doubts {
			found = found && d.Doubtful()
		}
		if doubtful := (causal.Problem{Kind: c.kind}).Doubtful(); !found || doubtful != (report.DoubtCount > 0) {
			t.Errorf("%s: the report has %d doubts: %v", c.kind, report.DoubtCount, report.Doubts)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(p *program)
		text string
	}{
		{
			"different collectives", func(p *program) {
				p.coll(0, mpispec.OpBarrier, 0, -1).coll(0, mpispec.OpBarrier, 0, -1).coll(1, mpispec.OpBarrier, 0,
					-1).coll(1,
					mpispec.OpReduce, 0, 0)
			}, "collective call number 2 on communicator 0x1 is MPI_Barrier at 0:2 but MPI_Reduce at 1:2",
		},
		{"different roots", func(p *program) {
			p.coll(0, mpispec.OpBcast, 0, 0).coll(1, mpispec.OpBcast, 0, 1)
		}, "MPI_Bcast with root 0 at 0:1 but with root 1 at 1:1"},
		{"root too high", func(p *program) {
			p.coll(0, mpispec.OpBcast, 0, 5)
		}, "event 0:1: MPI_Bcast with root 5"},
		{"undeclared", func(p *program) {
			p.coll(0, mpispec.OpBarrier, 4, -1)
		}, "communicator 4"},
		{"peer", func(p *program) { p.send(0, 7) }, "names rank 7 of a communicator of 2"},
		{"Mrecv alone", func(p *program) {
			p.recv(0, int(trace.ProcNull)).mrecv(0, 1)
		}, "took none that is still"},
		{"Mrecv twice", func(p *program) {
			p.send(0, 1).recvOp(1, mpispec.OpMprobe, 0).mrecv(1, 1).mrecv(1, 1)
		}, "took none that is still"},
		{"freed unknown", func(p *program) {
			p.add(1, any1(mpispec.OpIrecv)).add(1, trace.Event{Op: mpispec.OpBarrier})
			p.records[1] = append(p.records[1], &trace.Match{Event: 3, Op: mpispec.OpIrecv, Tag: 1, Back: 1})
		}, "a receive took that event 2 posted, and there is none"},
		{"taken otherwise", func(p *program) {
			p.add(1, any1(mpispec.OpIrecv))
			p.records[1] = append(p.records[1], &trace.Match{Event: 2, Op: mpispec.OpIrecv, Tag: 1, Back: 1})
			p.add(1, trace.Event{
				Op:        mpispec.OpWait,
				Completed: []trace.Completion{{Post: 1, Class: trace.RequestRecv, Source: 1, Tag: 1}},
			})
		}, "took a message from world rank 1 with tag 1"},
		{"Start of nothing", func(p *program) {
			p.send(0, 1).add(0, trace.Event{Op: mpispec.OpStart, Inits: []uint64{1}})
		}, "makes no persistent one"},
		{"Start twice", func(p *program) {
			p.sendOp(0, mpispec.OpSendInit, 1).add(0, trace.Event{Op: mpispec.OpStart, Inits: []uint64{1}}).
				add(0, trace.Event{Op: mpispec.OpStart, Inits: []uint64{1}})
		}, "which is active"},
		{"class of request", func(p *program) {
			p.sendOp(0, mpispec.OpIsend, 1).wait(0, 1, trace.RequestRecv, 0)
		}, "as one of class 2, but it is of class 1"},
		{"other message than asked", func(p *program) {
			p.recvOp(0, mpispec.OpIrecv, 1).wait(0, 1, trace.RequestRecv, 0)
		}, "took a message from world rank 0"},
		{"gap in the events", func(p *program) {
			p.records[0] = append(p.records[0], &trace.Event{Index: 2, Op: mpispec.OpFinalize})
		}, "expected event 1"},
		{"members differ", func(p *program) {
			p.comm(0, &trace.Comm{Index: 1, GlobalID: 7, CommKind: abi.CommIntra, Members: []uint32{0, 1}})
			p.comm(1, &trace.Comm{Index: 1, GlobalID: 7, CommKind: abi.CommIntra, Members: []uint32{1}})
		}, "its members are [1], but another rank says [0 1]"},
		{"not a member", func(p *program) {
			p.comm(0, &trace.Comm{Index: 1, GlobalID: 7, CommKind: abi.CommIntra, Members: []uint32{1}})
		}, "its member 0 is not that rank"},
		{"a rank too many", func(p *program) {
			p.comm(0, &trace.Comm{Index: 1, GlobalID: 7, CommKind: abi.CommIntra, Members: []uint32{0, 4}})
		}, "the run has 2 ranks"},
		{"a rank twice", func(p *program) {
			p.comm(0, &trace.Comm{Index: 1, GlobalID: 7, CommKind: abi.CommIntra, Members: []uint32{0, 0}})
		}, "in it twice"},
		{"no order", func(p *program) {
			p.recv(0, 1).send(0, 1).recv(1, 0).send(1, 0)
		}, "[0:1 1:1] wait for each other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProgram(2)
			c.make(p)
			_, err := causal.Build(p.records, causal.Options{})
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %q", err, c.text)
			}
		})
	}
}

func TestEventIDText(t *testing.T) {
	for text, want := range map[string]id{"3:17": {Rank: 3, Index: 17}, "0:1": {Index: 1}} {
		got, err := causal.ParseEventID(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3", "3:", ":3", "3:0", "-1:2", "1:-2", "a:b", "1:2:3", " 1:2", "99999999999:1"} {
		var bad *causal.RefusedError
		if _, err := causal.ParseEventID(text); !errors.As(err, &bad) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParseEventID: what is accepted prints and parses as the same event.
func FuzzParseEventID(f *testing.F) {
	f.Add("3:17")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := causal.ParseEventID(text)
		if err != nil {
			return
		}
		if again, err := causal.ParseEventID(e.String()); err != nil || again != e {
			t.Fatalf("%q: %v, then %v %v", text, e, again, err)
		}
	})
}

func TestQueriesOfNoEvent(t *testing.T) {
	g := newProgram(2).send(0, 1).build(t, causal.Options{})
	var none *causal.RefusedError
	for _, e := range []id{{Rank: 0, Index: 2}, {Rank: 2, Index: 1}, {Rank: -1, Index: 1}} {
		_, err1 := g.CausalCut(e.Rank, e.Index)
		_, err2 := g.VectorTime(e.Rank, e.Index)
		_, err3 := g.Exchanges(e)
		_, err4 := g.Op(e)
		for _, err := range []error{err1, err2, err3, err4} {
			if !errors.As(err, &none) {
				t.Errorf("%s: %v", e, err)
			}
		}
	}
	if err := g.CheckCut(causal.Cut{2, 0}); !errors.As(err, &none) ||
		!strings.Contains(err.Error(), "rank 0 has events 1 to 1") {
		t.Error(err)
	}
	var size *causal.RefusedError
	if _, _, err := g.NearestConsistent(causal.Cut{1}); !errors.As(err, &size) {
		t.Error(err)
	}
}

func TestReports(t *testing.T) {
	p := newProgram(3)
	p.send(0, 2).send(1, 2).send(1, 2)
	p.recv(2, 1).recv(2, 0)
	g := p.build(t, causal.Options{})
	report := func(r *causal.CutReport, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := `{"at":{"rank":2,"event":1},"cut":[0,1,1],"consistent":true,"vectorTime":[0,1,1],` +
		`"positions":[{"rank":0,"event":0,"last":1},{"rank":1,"event":1,"call":"MPI_Send","last":2},{"rank":2,"event":1,"call":"MPI_Recv","last":2}]}`
	if d := gocmp.Diff(want, report(g.ReportCausalCut(id{Rank: 2, Index: 1}))); d != "" {
		t.Error(d)
	}
	want = `{"cut":[0,2,2],"consistent":false,` +
		`"inconsistent":{"send":{"rank":0,"event":1},"receive":{"rank":2,"event":2},"relation":"message"},` +
		`"below":[0,2,1],"above":[1,2,2],` +
		`"positions":[{"rank":0,"event":0,"last":1},{"rank":1,"event":2,"call":"MPI_Send","last":2},{"rank":2,"event":2,"call":"MPI_Recv","last":2}]}`
	if d := gocmp.Diff(want, report(g.ReportCut(causal.Cut{0, 2, 2}))); d != "" {
		t.Error(d)
	}
	text := "the cut is not consistent: it holds 2:2 (MPI_Recv), but its message is sent by 0:1 (MPI_Send), which it " +
		"does not hold"
	if err := g.CheckCut(causal.Cut{0, 2, 2}); err == nil || err.Error() != text {
		t.Error(err)
	}
}

// Of two persistent collectives each start is one collective, whatever the order in which the ranks start them.
func TestPersistentCollectives(t *testing.T) {
	p := newProgram(2)
	for rank := range 2 {
		for i, op := range []mpispec.Op{mpispec.OpAllreduce, mpispec.OpBcast} {
			p.add(rank, trace.Event{Op: mpispec.OpCollectiveInit, Coll: trace.CollArgs{Root: int32(i), Of: op}})
		}
		inits := []uint64{1, 2}
		if rank == 1 {
			inits = []uint64{2, 1}
		}
		p.add(rank, trace.Event{Op: mpispec.OpStartall, Inits: inits})
		p.add(rank, trace.Event{
			Op:        mpispec.OpWait,
			Completed: []trace.Completion{{Post: 1, Class: trace.RequestCollective}},
		})
		p.add(rank, trace.Event{
			Op:        mpispec.OpWait,
			Completed: []trace.Completion{{Post: 2, Class: trace.RequestCollective}},
		})
		p.add(rank, trace.Event{Op: mpispec.OpStart, Inits: []uint64{1}})
		p.wait(rank, 1, trace.RequestCollective, 0)
	}
	g := p.build(t, causal.Options{})
	if all := g.Problems(); len(all) > 0 {
		t.Error(all)
	}
	wantVector(t, g, 0, 3, 3, 0)
	wantVector(t, g, 0, 4, 4, 3)
	wantVector(t, g, 1, 7, 6, 7)
}

// Receives whose requests are freed take their messages nevertheless: those posted later get the next ones.
func TestFreedReceives(t *testing.T) {
	p := newProgram(2)
	for range 4 {
		p.send(0, 1)
	}
	p.add(1, any1(mpispec.OpIrecv)).recvOp(1, mpispec.OpIrecv, 0).add(1, any1(mpispec.OpRecvInit)) // 1:1, 1:2, 1:3
	p.records[1][len(p.records[1])-1].(*trace.Event).Send = trace.SendArgs{Dest: trace.AnySource, Tag: 1}
	p.add(1, trace.Event{Op: mpispec.OpStartall, Inits: []uint64{3}}) // 1:4
	for _, post := range []uint64{1, 2, 3} {
		p.add(1, trace.Event{Op: mpispec.OpRequestFree, Post: post}) // 1:5, 1:6, 1:7
	}
	p.recv(1, 0) // 1:8
	p.records[1] = append(p.records[1],
		&trace.Match{Event: 8, Op: mpispec.OpIrecv, Tag: 1, Back: 7},
		&trace.Match{Event: 8, Op: mpispec.OpStartall, Tag: 1, Back: 4})
	g := p.build(t, causal.Options{})
	if all := g.Problems(); len(all) > 0 {
		t.Error(all)
	}
	wantVector(t, g, 1, 8, 4, 8) // the fourth message
	// Cancelled: it takes none.
	p.records[1][len(p.records[1])-1].(*trace.Match).Source = trace.NoSource
	g = p.build(t, causal.Options{})
	wantVector(t, g, 1, 8, 3, 8)
}
