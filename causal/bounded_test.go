package causal_test

import (
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/causal/causaltest"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

func bound(t fataler, g *causal.Graph, limit int) *causal.Bounding {
	b, err := g.BoundBuffering(limit)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A sender that is faster than its receiver: when the limit is reached it waits until half of the messages are
// received.
func TestBoundHoldsBackAFastSender(t *testing.T) {
	p := newProgram(2)
	for range 12 {
		p.send(0, 1).recv(1, 0)
	}
	got := bound(t, p.build(t, causal.Options{}), 4)
	want := &causal.Bounding{Limit: 4, Reached: []int{0, 4}}
	for _, j := range []uint64{5, 8, 11} {
		want.Control = append(want.Control,
			causal.ControlMessage{After: id{Rank: 1, Index: j - 2}, Before: id{Rank: 0, Index: j}})
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A dialogue, where every message follows the receive of the one before: there is nothing to add.
func TestBoundLeavesADialogueAlone(t *testing.T) {
	p := newProgram(2)
	for range 5 {
		p.send(0, 1).recv(1, 0).send(1, 0).recv(0, 1)
	}
	if got := bound(t, p.build(t, causal.Options{}), 1); len(got.Control) > 0 ||
		!slices.Equal(got.Reached, []int{1, 1}) {
		t.Errorf("%+v", got)
	}
}

// Rank 2 is heard first: rank 1, whose messages are for later, must not fill the receiver's memory meanwhile.
func TestBoundKeepsSendersInTheirOrder(t *testing.T) {
	p := newProgram(3)
	for _, from := range []int{2, 1} {
		for range 4 {
			p.send(from, 0).recv(0, from)
		}
	}
	got := bound(t, p.build(t, causal.Options{}), 1)
	if !slices.Equal(got.Reached, []int{1, 0, 0}) ||
		!slices.Contains(got.Control,
			causal.ControlMessage{After: id{Rank: 0, Index: 4}, Before: id{Rank: 1, Index: 1}}) {
		t.Errorf("%+v", got)
	}
}

// The receiver takes the last message first: that can't be bounded, and is said.
func TestBoundThatCannotBeHeld(t *testing.T) {
	p := newProgram(2)
	for tag := range int32(5) {
		p.add(0, trace.Event{Op: mpispec.OpSend, Send: trace.SendArgs{Dest: 1, Tag: tag, Bytes: 8}})
		p.add(1, trace.Event{Op: mpispec.OpRecv, Recv: trace.RecvArgs{AskedTag: 4 - tag, Tag: 4 - tag, Bytes: 8}})
	}
	got := bound(t, p.build(t, causal.Options{}), 2)
	if rank, n := got.Most(); rank != 1 || n != 5 || len(got.Control) > 0 {
		t.Errorf("%+v", got)
	}
}

// Ranks that send to each other first and receive then, with messages that an MPI might send by rendezvous: the run
// shows that it did not.
func TestBoundBelievesTheRun(t *testing.T) {
	p := newProgram(2)
	for range 4 {
		for r := range 2 {
			p.add(r, trace.Event{Op: mpispec.OpSend, Send: trace.SendArgs{Dest: int32(1 - r), Tag: 1, Bytes: 5000}})
		}
		for r := range 2 {
			p.add(r, trace.Event{Op: mpispec.OpRecv, Recv: trace.RecvArgs{
				AskedSource: int32(1 - r), AskedTag: 1,
				Source: int32(1 - r), Tag: 1, Bytes: 5000,
			}})
		}
	}
	if got := bound(t, p.build(t, causal.Options{SyncBytes: 4000}), 1); !slices.Equal(got.Reached, []int{1, 1}) {
		t.Errorf("%+v", got)
	}
	if _, err := p.build(t, causal.Options{}).BoundBuffering(0); err == nil {
		t.Error("a bound of 0 was accepted")
	}
}

// A call that is not covered may have ordered ranks in a way that nobody knows.
func TestBoundRefusesWhatItDoesNotKnow(t *testing.T) {
	p := newProgram(2).send(0, 1).recv(1, 0)
	p.records[1] = append(p.records[1], &trace.Note{Event: 2, Call: "MPI_Comm_spawn"})
	_, err := p.build(t, causal.Options{}).BoundBuffering(1)
	if _, ok := errors.AsType[*causal.RefusedError](err); !ok || !strings.Contains(err.Error(), "MPI_Comm_spawn") {
		t.Error(err)
	}
	// A receive without a send, of a rank that came to its end.
	p = newProgram(2).recv(1, 0).add(0, trace.Event{Op: mpispec.OpFinalize})
	if _, err := p.build(t, causal.Options{}).BoundBuffering(1); err == nil {
		t.Error("a receive without a send was accepted")
	}
}

// schedule goes through all points of an execution in an order that the program could have in a replay; sends come as
// early as they can. It returns how many messages waited at most at each rank, and whether it came to the end.
func schedule(x *causaltest.Execution, pred map[point][]point, draw causaltest.Source) (most []int, whole bool) {
	ranks := len(x.Records)
	sends, starts := map[point][]int{}, map[point][]int{}
	for i, m := range x.Messages {
		if m.Send.Index > x.Events(m.Send.Rank) {
			continue // the call had not returned when the run ended
		}
		sends[point{m.Send, false}] = append(sends[point{m.Send, false}], i)
		if !m.Start.IsZero() {
			starts[point{m.Start, true}] = append(starts[point{m.Start, true}], i)
		}
	}
	sent, posted, seen := make([]bool, len(x.Messages)), make([]bool, len(x.Messages)), map[point]bool{}
	waiting := make([]int, ranks)
	most = make([]int, ranks)
	at := make([]point, ranks)
	for r := range at {
		at[r] = point{id{Rank: r, Index: 1}, false}
		seen[at[r]] = x.Events(r) == 0
	}
	for {
		var can, sending []int
		left := false
		for r, p := range at {
			if p.Index > x.Events(r) {
				continue
			}
			left = true
			if slices.ContainsFunc(pred[p], func(q point) bool { return !seen[q] }) {
				continue
			}
			can = append(can, r)
			if len(sends[p]) > 0 {
				sending = append(sending, r)
			}
		}
		if len(can) == 0 {
			return most, !left
		}
		if len(sending) > 0 {
			can = sending
		}
		r := can[draw.Intn(len(can))]
		p := at[r]
		seen[p] = true
		for _, i := range sends[p] {
			if sent[i] = true; !posted[i] {
				to := x.Messages[i].To
				waiting[to]++
				most[to] = max(most[to], waiting[to])
			}
		}
		for _, i := range starts[p] {
			if posted[i] {
				continue
			}
			if posted[i] = true; sent[i] {
				waiting[r]--
			}
		}
		if p.exit {
			if at[r] = (point{id{Rank: r, Index: p.Index + 1}, false}); p.Index == x.Events(r) {
				seen[at[r]] = true // what comes behind the end of a trace was begun all the same
			}
		} else {
			at[r].exit = true
		}
	}
}

// mayWait adds what an MPI may wait for though no data flows; it sends by rendezvous from so many bytes on.
func mayWait(x *causaltest.Execution, pred map[point][]point, rendezvous uint64) {
	sent := map[id][]*causaltest.Message{}
	for _, m := range x.Messages {
		sent[m.Send] = append(sent[m.Send], m)
	}
	end := func(e id, m *causaltest.Message) {
		if m != nil && m.Bytes >= rendezvous && !m.Start.IsZero() {
			pred[point{e, true}] = append(pred[point{e, true}], point{m.Start, false})
		}
	}
	for r, records := range x.Records {
		inits, active := map[uint64]*trace.Event{}, map[uint64]*causaltest.Message{}
		for _, rec := range records {
			e, ok := rec.(*trace.Event)
			if !ok {
				continue
			}
			here := id{Rank: r, Index: e.Index}
			switch {
			case e.Op == mpispec.OpSend || e.Op == mpispec.OpRsend || e.Op.Class() == mpispec.ClassSendrecv:
				for _, m := range sent[here] {
					end(here, m)
				}
			case e.Op == mpispec.OpIsend || e.Op == mpispec.OpIrsend:
				for _, m := range sent[here] {
					active[e.Index] = m
				}
			case e.Op == mpispec.OpSendInit || e.Op == mpispec.OpRsendInit || e.Op == mpispec.OpBsendInit ||
				e.Op == mpispec.OpSsendInit:
				inits[e.Index] = e
			case e.Op.Class() == mpispec.ClassStart:
				k := 0
				for _, i := range e.Inits {
					if init := inits[i]; init != nil && init.Send.Dest != trace.ProcNull {
						if init.Op == mpispec.OpSendInit || init.Op == mpispec.OpRsendInit {
							active[i] = sent[here][k]
						}
						k++
					}
				}
			case e.Op.Class() == mpispec.ClassCompletion:
				for _, c := range e.Completed {
					end(here, active[c.Post])
				}
			}
		}
	}
	for _, c := range x.Collectives {
		for _, a := range c.Members {
			for _, b := range c.Members {
				if !a.Exit.IsZero() && !b.Entry.IsZero() {
					pred[point{a.Exit, true}] = append(pred[point{a.Exit, true}], point{b.Entry, false})
				}
			}
		}
	}
}

// However a replay is scheduled, the control messages hold the bound, and no rank waits for ever: neither with an MPI
// that waits for no more than it must nor, if the program allows it, with one that waits whenever it may.
func TestBoundAnySchedule(t *testing.T) {
	var sum bounded
	tried, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		x := execution(t, 4, 120)
		rendezvous := uint64(rapid.IntRange(rendezvousFrom, rendezvousFrom+60).Draw(t, "rendezvous"))
		g := buildCertain(t, x, causal.Options{SyncBytes: rendezvousFrom})
		if g == nil {
			return
		}
		b, err := g.BoundBuffering(rapid.IntRange(1, 4).Draw(t, "limit"))
		if _, doubtful := errors.AsType[*causal.RefusedError](err); doubtful {
			refused++
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		tried++
		sum.check(t, x, b, rendezvous, rand.New(rand.NewSource(rapid.Int64().Draw(t, "schedule"))))
		// Every cut of the graph with the control messages can be stopped at, while those are heeded.
		controlled, err := g.WithControl(b.Control)
		if err != nil {
			t.Fatal(err)
		}
		if last := g.Events(0); last > 0 && len(x.Begun) == 0 {
			cut, err := controlled.CausalCut(0, uint64(rapid.IntRange(1, int(last)).Draw(t, "event")))
			if err != nil || controlled.CheckCut(cut) != nil {
				t.Fatalf("%v: %v", cut, err)
			}
			if pred := order(x); !reaches(cut, heed(pred, b.Control)) {
				t.Fatalf("the ranks do not get to the cut %v with %+v", cut, b.Control)
			}
			if plain, err := g.CausalCut(0, cut[0]); err != nil || !within(plain, cut) {
				t.Fatalf("%v without control messages is %v: %v", cut, plain, err)
			}
		}
	})
	t.Logf("%d executions, %d refused; of them %d with an MPI that waits; the bound was exceeded %d times, and held "+
		"%d times of these", tried, refused, sum.waited, sum.exceeded, sum.held)
	if sum.held == 0 || sum.waited == 0 || refused > tried/4 {
		t.Error("the executions are too poor")
	}
}

// Executions of which it was once found out wrongly what an MPI waits for.
func TestBoundOfFoundExecutions(t *testing.T) {
	for _, c := range []struct {
		config     causaltest.Config
		seed       int64
		rendezvous uint64
	}{
		{causaltest.Config{Ranks: 4, Steps: 99, Collectives: true, Probes: true, Sync: true}, -4247376532, 1012},
		{causaltest.Config{Ranks: 3, Steps: 40, Collectives: true}, -625360351, 1003},
	} {
		x := causaltest.Run(rand.New(rand.NewSource(c.seed)), c.config)
		g := build(t, x, causal.Options{SyncBytes: rendezvousFrom})
		var sum bounded
		if sum.check(t, x, bound(t, g, 1), c.rendezvous, rand.New(rand.NewSource(0))); sum.waited == 0 {
			t.Errorf("%+v does not get to its end with an MPI that waits", c)
		}
	}
}

// rendezvousFrom is what is known of the MPI; it may send by rendezvous from more bytes on.
const rendezvousFrom = 1000

// bounded counts what became of bounds: how often an MPI that waits was tried, how often the limit was exceeded without
// control messages, and how often they held it then.
type bounded struct{ waited, exceeded, held int }

func (sum *bounded) check(t fataler, x *causaltest.Execution, b *causal.Bounding, rendezvous uint64,
	draw causaltest.Source,
) {
	without, whole := schedule(x, order(x), draw)
	if !whole {
		t.Fatal("the oracle does not get through the execution")
	}
	_, canWait := schedule(x, waits(x, rendezvous), draw)
	check := func(pred map[point][]point) {
		with, whole := schedule(x, heed(pred, b.Control), draw)
		if !whole {
			t.Fatal("no rank can continue with the control messages", b.Control)
		}
		for r := range with {
			if with[r] > b.Reached[r] {
				t.Fatal("at rank", r, with[r], "messages wait; announced were", b.Reached[r])
			}
		}
	}
	check(order(x))
	if canWait {
		sum.waited++
		check(waits(x, rendezvous))
	}
	for r := range without {
		if without[r] > b.Limit {
			sum.exceeded++
			if b.Reached[r] <= b.Limit {
				sum.held++
			}
		}
	}
}

// heed adds control messages.
func heed(pred map[point][]point, control []causal.ControlMessage) map[point][]point {
	for _, c := range control {
		if c.After.Rank == c.Before.Rank {
			panic("a control message to oneself")
		}
		pred[point{c.Before, false}] = append(pred[point{c.Before, false}], point{c.After, true})
	}
	return pred
}

// order is what any MPI has to heed. A rank that was ended within a call had begun it.
func order(x *causaltest.Execution) map[point][]point {
	pred := truth(x).pred
	for _, m := range x.Begun {
		for _, e := range append(m.Probes, m.Receive) {
			pred[point{e, true}] = append(pred[point{e, true}], point{m.Send, false})
		}
	}
	return pred
}

// reaches says whether each rank comes to the end of its part of a cut, if none goes further.
func reaches(cut causal.Cut, pred map[point][]point) bool {
	seen := map[point]bool{}
	for r := range cut {
		seen[point{id{Rank: r}, true}] = true
	}
	left := 0
	for again := true; again; {
		again, left = false, 0
		for r, last := range cut {
			for e := uint64(1); e <= last; e++ {
				for _, p := range []point{{id{Rank: r, Index: e}, false}, {id{Rank: r, Index: e}, true}} {
					switch {
					case seen[p]:
					case slices.ContainsFunc(pred[p], func(q point) bool { return !seen[q] }):
						left++
					default:
						seen[p], again = true, true
					}
				}
			}
		}
	}
	return left == 0
}

func waits(x *causaltest.Execution, rendezvous uint64) map[point][]point {
	pred := order(x)
	mayWait(x, pred, rendezvous)
	return pred
}
