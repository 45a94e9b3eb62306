package causal_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/causal/causaltest"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// Every message is found at each of the events that have a part in it, with the part that the simulator says, and at no
// other.
func TestExchangesAgainstTruth(t *testing.T) {
	run := func(ranks, steps int) func(t *rapid.T) {
		return func(t *rapid.T) {
			x := execution(t, ranks, steps)
			if g := buildCertain(t, x, causal.Options{}); g != nil {
				checkExchanges(t, x, g)
			}
		}
	}
	t.Run("small", func(t *testing.T) { rapid.Check(t, run(3, 30)) })
	t.Run("large", func(t *testing.T) { rapid.Check(t, run(6, 300)) })
}

// known is what tells messages apart; two may be alike, as of one Startall.
type known struct {
	send, post, start, receive id
	bytes                      uint64
}

type exchanged struct {
	known
	at   id
	part causal.Part
}

func checkExchanges(t *rapid.T, x *causaltest.Execution, g *causal.Graph) {
	want, got := map[exchanged]int{}, map[exchanged]int{}
	for _, m := range x.Messages {
		if m.Send.IsZero() {
			continue
		}
		k := known{m.Send, m.Post, m.Start, m.Receive, m.Bytes}
		seen := map[id]bool{{}: true}
		add := func(e id, part causal.Part) {
			if !seen[e] {
				seen[e] = true
				want[exchanged{k, e, part}]++
			}
		}
		add(m.Send, causal.PartSends)
		add(m.Start, causal.PartReceives)
		add(m.Post, causal.PartPosts)
		for _, p := range m.Probes {
			add(p, causal.PartSees)
		}
		add(m.Receive, causal.PartCompletes)
		if m.Sync {
			add(m.Done, causal.PartSent)
		}
	}
	for r := range g.Ranks() {
		for i := uint64(1); i <= g.Events(r); i++ {
			e := id{Rank: r, Index: i}
			all, err := g.Exchanges(e)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range all {
				got[exchanged{known{m.Send, m.Post, m.Start, m.Receive, m.Bytes}, e, m.Part}]++
			}
		}
	}
	for f, n := range want {
		if got[f] != n {
			t.Fatalf("%+v is there %d times, want %d", f, got[f], n)
		}
	}
	for f, n := range got {
		// of sends that are not synchronous the simulator does not keep the end
		if want[f] == n || f.part == causal.PartSent {
			continue
		}
		t.Fatalf("%+v is there %d times, want %d", f, n, want[f])
	}
}

func TestExchanges(t *testing.T) {
	p := newProgram(2)
	p.add(0, trace.Event{Op: mpispec.OpSendInit, Send: trace.SendArgs{Dest: trace.ProcNull, Tag: 1, Bytes: 8}})
	p.add(0, trace.Event{Op: mpispec.OpSendInit, Send: trace.SendArgs{Dest: 1, Tag: 1, Bytes: 8}})
	p.add(0, trace.Event{Op: mpispec.OpSendInit, Send: trace.SendArgs{Dest: 1, Tag: 1, Bytes: 16}})
	p.add(0, trace.Event{Op: mpispec.OpStartall, Inits: []uint64{1, 2, 3}})
	p.add(0, trace.Event{Op: mpispec.OpWaitall, Completed: []trace.Completion{
		{Post: 2, Class: trace.RequestSend},
		{Post: 3, Class: trace.RequestSend},
	}})
	p.recvOp(1, mpispec.OpMprobe, 0)
	p.recv(1, 0)
	p.mrecv(1, 1)
	p.coll(0, mpispec.OpBcast, 0, 1)
	p.coll(1, mpispec.OpBcast, 0, 1)
	g := p.build(t, causal.Options{})
	at := func(rank int, index uint64) []causal.Exchange {
		t.Helper()
		all, err := g.Exchanges(id{Rank: rank, Index: index})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	started := at(0, 4)
	if len(started) != 2 || started[0].SendWhich != 1 || started[1].SendWhich != 2 ||
		started[0].Part != causal.PartSends {
		t.Errorf("Startall sends %+v", started)
	}
	if first := started[0]; first.Post != (id{Rank: 1, Index: 1}) || first.Start != (id{Rank: 1, Index: 3}) ||
		first.Receive != first.Start {
		t.Errorf("the message of the matched probe is %+v", first)
	}
	if done := at(0, 5); len(done) != 2 || done[1].Part != causal.PartSent {
		t.Errorf("Waitall completes %+v", done)
	}
	if probed := at(1, 1); len(probed) != 1 || probed[0].Part != causal.PartPosts {
		t.Errorf("Mprobe takes %+v", probed)
	}
	if got := at(1, 3); len(got) != 1 || got[0].Part != causal.PartReceives || got[0].SendWhich != 1 {
		t.Errorf("Mrecv receives %+v", got)
	}
	if none := at(0, 6); len(none) != 0 {
		t.Errorf("Bcast has messages: %+v", none)
	}
	var no *causal.RefusedError
	if _, err := g.Exchanges(id{Index: 7}); !errors.As(err, &no) {
		t.Error(err)
	}
	if c, ok := g.CollectiveOf(id{Rank: 1, Index: 4}); !ok || c.Op != mpispec.OpBcast ||
		c.Members[0].Entry != (id{Index: 6}) {
		t.Errorf("the collective is %+v, %v", c, ok)
	}
	for _, e := range []id{{Index: 4}, {Index: 7}, {Rank: 5, Index: 1}, {}} {
		if c, ok := g.CollectiveOf(e); ok {
			t.Errorf("%s has a part in %+v", e, c)
		}
	}
}
