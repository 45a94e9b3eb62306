package replayctl

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/causal/causaltest"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// handmade builds a graph of two ranks: each event is a letter and the other rank. s send, r receive, S synchronous
// send, i Irecv, w Wait of the last Irecv, x Sendrecv, n what concerns nobody else.
func handmade(t *testing.T, ranks ...string) *causal.Graph {
	t.Helper()
	all := make([]uint32, len(ranks))
	for r := range ranks {
		all[r] = uint32(r)
	}
	records := make([][]trace.Record, len(ranks))
	for r, program := range ranks {
		records[r] = []trace.Record{&trace.Comm{
			GlobalID: trace.WorldID, CommKind: abi.CommIntra, MyRank: uint32(r),
			Members: all,
		}}
		other, post := int32(1-r), uint64(0)
		send := trace.SendArgs{Dest: other, Tag: 1, Bytes: 8}
		recv := trace.RecvArgs{AskedSource: other, AskedTag: 1, Source: other, Tag: 1, Bytes: 8}
		for i, call := range program {
			e := &trace.Event{Index: uint64(i + 1)}
			switch call {
			case 's':
				e.Op, e.Send = mpispec.OpSend, send
			case 'S':
				e.Op, e.Send = mpispec.OpSsend, send
			case 'r':
				e.Op, e.Recv = mpispec.OpRecv, recv
			case 'i':
				e.Op, e.Recv, post = mpispec.OpIrecv, recv, e.Index
			case 'w':
				e.Op, e.Completed = mpispec.OpWait,
					[]trace.Completion{{Post: post, Class: trace.RequestRecv, Source: other, Tag: 1, Bytes: 8}}
			case 'n':
				e.Op = mpispec.OpWait
			case 'x':
				e.Op, e.Send, e.Recv = mpispec.OpSendrecv, send, recv
			}
			records[r] = append(records[r], e)
		}
	}
	g, err := causal.Build(records, causal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ev(rank int, index uint64) causal.EventID { return causal.EventID{Rank: rank, Index: index} }

func TestItinerary(t *testing.T) {
	for _, c := range []struct {
		name   string
		ranks  []string
		now    causal.Cut
		events []causal.EventID
		cuts   []causal.Cut
		at     [][]int
		err    string
	}{
		{
			"both ends at one cut",
			[]string{"s", "r"},
			causal.Cut{0, 0},
			[]causal.EventID{ev(0, 1), ev(1, 1)},
			[]causal.Cut{{1, 1}},
			[][]int{{0, 1}},
			"",
		},
		// Rank 1 posts, then tells rank 0, which sends only then.
		{
			"posted long before",
			[]string{"rs", "isw"},
			causal.Cut{0, 0},
			[]causal.EventID{ev(0, 2), ev(1, 1)},
			[]causal.Cut{{0, 1}, {2, 2}},
			[][]int{{1}, {0}},
			"",
		},
		// Rank 0 sends, then continues to a second message, before which rank 1 does not post.
		{
			"sent long before",
			[]string{"ssr", "rSr"},
			causal.Cut{0, 0},
			[]causal.EventID{ev(0, 1), ev(1, 3)},
			nil, nil,
			"",
		},
		{
			"a Sendrecv is one call",
			[]string{"x", "x"},
			causal.Cut{0, 0},
			[]causal.EventID{ev(0, 1), ev(1, 1)},
			[]causal.Cut{{1, 1}},
			[][]int{{0, 1}},
			"",
		},
		{
			"one end only",
			[]string{"s", "r"},
			causal.Cut{1, 0},
			[]causal.EventID{ev(1, 1)},
			[]causal.Cut{{1, 1}},
			[][]int{{0}},
			"",
		},
		{
			"left already",
			[]string{"s", "r"},
			causal.Cut{1, 0},
			[]causal.EventID{ev(0, 1), ev(1, 1)},
			nil, nil,
			"rank 0 has left the call of event 0:1: it has completed event 1 already",
		},
		{
			"passed",
			[]string{"ss", "rr"},
			causal.Cut{2, 0},
			[]causal.EventID{ev(0, 1)},
			nil, nil,
			"rank 0 has left the call of event 0:1: it has completed event 2 already",
		},
		{
			"another rank is further",
			[]string{"ss", "ir"},
			causal.Cut{0, 0},
			[]causal.EventID{ev(0, 1)},
			[]causal.Cut{{1, 0}},
			[][]int{{0}},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			legs, err := itinerary(handmade(t, c.ranks...), c.now, c.events)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) ||
					!strings.Contains(err.Error(), "start it anew") {
					t.Errorf("got %v, %v; want %q", legs, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.cuts == nil {
				return
			}
			if len(legs) != len(c.cuts) {
				t.Fatalf("the legs are %+v, want %v", legs, c.cuts)
			}
			for i, l := range legs {
				if !slices.Equal(l.cut, c.cuts[i]) || !slices.Equal(l.at, c.at[i]) {
					t.Errorf("leg %d goes to %v for %v, want %v for %v", i, l.cut, l.at, c.cuts[i], c.at[i])
				}
			}
		})
	}
}

// Where a plan exists each of its cuts is one that the ranks can go to, one after another, and its calls have just
// ended there; where none exists, no order of cuts has that.
func TestItineraryAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := causaltest.Run(rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))),
			causaltest.Everything(rapid.IntRange(2, 3).Draw(t, "ranks"), rapid.IntRange(5, 25).Draw(t, "steps")))
		if x.Unknown > 0 {
			return
		}
		g, err := causal.Build(x.Records, causal.Options{SyncBytes: rapid.SampledFrom([]uint64{0, 1}).Draw(t, "sync")})
		if err != nil { // a cycle, by SyncBytes
			return
		}
		cuts := consistent(g)
		now := cuts[rapid.IntRange(0, len(cuts)-1).Draw(t, "now")]
		var events []causal.EventID
		for range rapid.IntRange(1, 2).Draw(t, "events") {
			r := rapid.IntRange(0, g.Ranks()-1).Draw(t, "rank")
			if g.Events(r) == 0 {
				return
			}
			events = append(events, ev(r, rapid.Uint64Range(1, g.Events(r)).Draw(t, "event")))
		}
		legs, err := itinerary(g, now, events)
		if err == nil {
			checkLegs(t, g, now, events, legs)
			return
		}
		passed := slices.ContainsFunc(events, func(e causal.EventID) bool { return now[e.Rank] >= e.Index })
		if said := strings.Contains(err.Error(), "left the call"); said != passed {
			t.Fatalf("%v from %v", err, now)
		} else if said {
			return
		}
		if !strings.Contains(err.Error(), "cannot be stopped with rank") {
			t.Fatal(err)
		}
		if possible(cuts, now, events) {
			t.Fatalf("from %v to %v: %v, but there are such cuts", now, events, err)
		}
	})
}

func checkLegs(t *rapid.T, g *causal.Graph, now causal.Cut, events []causal.EventID, legs []leg) {
	seen := map[int]bool{}
	for _, l := range legs {
		if err := g.CheckCut(l.cut); err != nil {
			t.Fatalf("%v: %v", l.cut, err)
		}
		for r := range l.cut {
			if l.cut[r] < now[r] {
				t.Fatalf("a leg goes back from %v to %v", now, l.cut)
			}
		}
		for _, i := range l.at {
			seen[i] = true
			if l.cut[events[i].Rank] != events[i].Index {
				t.Fatalf("%s has not just ended at %v", events[i], l.cut)
			}
		}
		now = l.cut
	}
	if len(seen) != len(events) {
		t.Fatalf("the legs %+v do not visit all of %v", legs, events)
	}
}

// consistent are all consistent cuts of a small run.
func consistent(g *causal.Graph) []causal.Cut {
	var all []causal.Cut
	cut := make(causal.Cut, g.Ranks())
	for {
		if g.CheckCut(cut) == nil {
			all = append(all, slices.Clone(cut))
		}
		r := 0
		for ; r < len(cut); r++ {
			cut[r]++
			if cut[r] <= g.Events(r) {
				break
			}
			cut[r] = 0
		}
		if r == len(cut) {
			return all
		}
	}
}

// possible searches for consistent cuts, one above the other, at which the events have just ended, in any order.
func possible(cuts []causal.Cut, now causal.Cut, events []causal.EventID) bool {
	if len(events) == 0 {
		return true
	}
	for _, c := range cuts {
		above := true
		for r := range c {
			above = above && c[r] >= now[r]
		}
		if !above {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(events), func(e causal.EventID) bool { return c[e.Rank] == e.Index })
		if len(rest) < len(events) && possible(cuts, c, rest) {
			return true
		}
	}
	return false
}
