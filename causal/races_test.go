package causal_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/causal/causaltest"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// tagged sends with any tag.
func (p *program) tagged(rank int, op mpispec.Op, dest, tag int) *program {
	return p.add(rank, trace.Event{Op: op, Send: trace.SendArgs{Dest: int32(dest), Tag: int32(tag), Bytes: 8}})
}

// any receives, or probes, with any source: it asks for a tag, and gets a message from source with got.
func (p *program) any(rank int, op mpispec.Op, tag, source, got int) *program {
	a := trace.RecvArgs{AskedSource: trace.AnySource, AskedTag: int32(tag)}
	if op != mpispec.OpIrecv {
		a.Source, a.Tag, a.Bytes = int32(source), int32(got), 8
	}
	return p.add(rank, trace.Event{Op: op, Recv: a})
}

// got is a Wait for the receive of an event.
func (p *program) got(rank int, post uint64, source, tag int) *program {
	return p.add(rank, trace.Event{
		Op: mpispec.OpWait, Completed: []trace.Completion{{
			Post: post, Class: trace.RequestRecv, Source: int32(source),
			Tag: int32(tag), Bytes: 8,
		}},
	})
}

// truth is the execution of the program, as far as the graph tells it: which receive takes which message is not what
// the tests of races are about.
func (p *program) truth(g *causal.Graph) *causaltest.Execution {
	x := &causaltest.Execution{Records: p.records}
	for m := range g.Messages() {
		op, err := g.Op(m.Send)
		if err != nil {
			panic(err)
		}
		x.Messages = append(x.Messages, &causaltest.Message{
			Send: m.Send, Post: m.Post, Start: m.Post,
			Receive: m.Receive, Sync: op == mpispec.OpSsend || op == mpispec.OpIssend,
		})
	}
	for c := range g.Collectives() {
		x.Collectives = append(x.Collectives,
			&causaltest.Collective{
				Op: c.Op, Root: int(c.Root), Blocking: c.Op.Class() != mpispec.ClassIcollective,
				Members: c.Members,
			})
	}
	return x
}

const anyTag = int(trace.AnyTag)

func TestRaces(t *testing.T) {
	for _, c := range []struct {
		name    string
		program *program
		want    string // receives and probes with any source, each with what else it could have taken
	}{
		{
			"netzer-miller-figure-1", newProgram(3).send(0, 1).send(2, 1).any(1, mpispec.OpRecv, 1, 0, 1).any(1,
				mpispec.OpRecv, 1, 2, 1),
			"1:1<0:1 2:1  1:2<2:1",
		},
		{
			"the second is sent after the first was received",
			newProgram(3).send(0, 1).any(1, mpispec.OpRecv, 1, 0, 1).send(1, 2).recv(2, 1).send(2, 1).any(1,
				mpispec.OpRecv, 1, 2, 1),
			"1:1<0:1  1:3<2:2",
		},
		{
			"one sender does not race with itself", newProgram(2).send(0, 1).tagged(0, mpispec.OpSend, 1, 2).any(1,
				mpispec.OpRecv, anyTag, 0, 1).any(1, mpispec.OpRecv, anyTag, 0, 2),
			"1:1<0:1  1:2<0:2",
		},
		{
			"only the first of a sender", newProgram(3).send(0, 1).send(2, 1).send(2, 1).any(1, mpispec.OpRecv, 1, 0,
				1).any(1, mpispec.OpRecv, 1, 2, 1).any(1, mpispec.OpRecv, 1, 2, 1),
			"1:1<0:1 2:1  1:2<2:1  1:3<2:2",
		},
		{
			"tags keep messages apart", newProgram(3).send(0, 1).tagged(2, mpispec.OpSend, 1, 2).any(1, mpispec.OpRecv,
				1,
				0, 1).any(1, mpispec.OpRecv, anyTag, 2, 2),
			"1:1<0:1  1:2<2:1",
		},
		{
			"the message is never received", newProgram(3).send(0, 1).send(2, 1).any(1, mpispec.OpRecv, 1, 0, 1),
			"1:1<0:1 2:1",
		},
		{
			"a barrier between", newProgram(3).send(0, 1).any(1, mpispec.OpRecv, 1, 0, 1).coll(0, mpispec.OpBarrier, 0,
				-1).coll(1, mpispec.OpBarrier, 0, -1).coll(2, mpispec.OpBarrier, 0, -1).
				send(2, 1).any(1, mpispec.OpRecv, 1, 2, 1),
			"1:1<0:1  1:3<2:2",
		},
		{
			"a message of its own", newProgram(2).sendOp(0, mpispec.OpIsend, 0).send(1, 0).any(0, mpispec.OpRecv, 1, 1,
				1).any(0, mpispec.OpRecv, 1, 0, 1),
			"0:2<1:1 0:1  0:3<0:1",
		},
		{
			"a Sendrecv's message may be answered into it", newProgram(3).send(2, 0).
				add(0, trace.Event{
					Op: mpispec.OpSendrecv, Send: trace.SendArgs{Dest: 1, Tag: 1, Bytes: 8},
					Recv: trace.RecvArgs{AskedSource: -1, AskedTag: 1, Source: 2, Tag: 1, Bytes: 8},
				}).
				recv(1, 0).send(1, 0).any(0, mpispec.OpRecv, 1, 1, 1),
			"0:1<2:1 1:2  0:2<1:2",
		},
		{
			"open from post to completion", newProgram(3).send(2, 0).any(0, mpispec.OpIrecv, 1, 0, 0).send(0, 1).recv(1,
				0).send(1, 0).got(0, 1, 2, 1).any(0, mpispec.OpRecv, 1, 1, 1),
			"0:1<2:1 1:2  0:4<1:2",
		},
		{
			"a later receive's message decides an earlier receive",
			newProgram(4).send(2, 0).send(3, 0).any(0, mpispec.OpIrecv, 1, 0, 0).any(0, mpispec.OpIrecv, 1, 0, 0).got(0,
				2, 3, 1).
				send(0, 1).recv(1, 0).send(1, 0).got(0, 1, 2, 1).any(0, mpispec.OpRecv, 1, 1, 1),
			"0:1<2:1 3:1  0:2<3:1  0:6<1:2",
		},
		{
			"an earlier receive that waits takes it away",
			newProgram(4).any(0, mpispec.OpIrecv, 1, 0, 0).tagged(1, mpispec.OpSend, 0, 2).any(0, mpispec.OpRecv,
				anyTag,
				1, 2).send(0, 2).
				recv(2, 0).send(2, 0).send(3, 0).got(0, 1, 2, 1).any(0, mpispec.OpRecv, 1, 3, 1),
			"0:1<2:2 3:1  0:2<1:1 (1 hidden)  0:5<3:1",
		},
		{
			"the same, but the earlier receive has its message",
			newProgram(4).any(0, mpispec.OpIrecv, 1, 0, 0).tagged(1, mpispec.OpSend, 0, 2).any(0, mpispec.OpRecv,
				anyTag,
				1, 2).
				send(2, 0).send(3, 0).got(0, 1, 2, 1).any(0, mpispec.OpRecv, 1, 3, 1),
			"0:1<2:1 3:1  0:2<1:1 3:1  0:4<3:1",
		},
		{
			"the end of a synchronous send tells", newProgram(3).any(0, mpispec.OpRecv, 1, 1, 1).sendOp(1,
				mpispec.OpSsend,
				0).send(1, 2).recv(2, 1).send(2, 0).any(0, mpispec.OpRecv, 1, 2, 1),
			"0:1<1:1  0:2<2:2",
		},
		{
			"that of another send does not", newProgram(3).any(0, mpispec.OpRecv, 1, 1, 1).send(1, 0).send(1, 2).recv(2,
				1).send(2, 0).any(0, mpispec.OpRecv, 1, 2, 1),
			"0:1<1:1 2:2  0:2<2:2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := c.program.build(t, causal.Options{})
			if got := listRaces(t, g); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if exact, _ := compareRaces(t, c.program.truth(g), 100000); !exact {
				t.Error("not compared")
			}
		})
	}
}

func listRaces(t fataler, g *causal.Graph) string {
	var all []string
	if _, err := g.EachWildcard(func(p *causal.RacePoint) bool {
		text := fmt.Sprintf("%v<%v", p.Post, g.Message(p.Took).Send)
		for _, m := range p.Others {
			text += " " + g.Message(m).Send.String()
		}
		if p.Hidden > 0 {
			text += fmt.Sprintf(" (%d hidden)", p.Hidden)
		}
		all = append(all, text)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "  ")
}

// Probes race as receives do, and a matched probe takes.
func TestRacesOfProbes(t *testing.T) {
	p := newProgram(3).send(0, 1).send(2, 1).any(1, mpispec.OpProbe, 1, 0, 1).recv(1, 0).any(1, mpispec.OpIprobe, 1, 2,
		1).recv(1, 2)
	if got, want := listRaces(t, p.build(t, causal.Options{})), "1:1<0:1 2:1  1:3<2:1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// What a probe has seen, its rank knows.
	p = newProgram(3).send(0, 1).any(1, mpispec.OpRecv, 1, 0, 1).send(1, 2).recvOp(2, mpispec.OpProbe, 1).send(2,
		1).recv(2,
		1).any(1, mpispec.OpRecv, 1, 2, 1)
	if got, want := listRaces(t, p.build(t, causal.Options{})), "1:1<0:1  1:3<2:2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p = newProgram(3).send(0, 1).send(2, 1).any(1, mpispec.OpMprobe, 1, 0, 1).any(1, mpispec.OpRecv, 1, 2, 1)
	if got, want := listRaces(t, p.build(t, causal.Options{})), "1:1<0:1 2:1  1:2<2:1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Receives of a Startall are told apart, and a receive that nothing completed is none.
func TestRacesOfStartall(t *testing.T) {
	init := trace.Event{Op: mpispec.OpRecvInit, Send: trace.SendArgs{Dest: trace.AnySource, Tag: 1}}
	p := newProgram(3).send(0, 1).send(2, 1).add(1, init).add(1, init).add(1, init).add(1,
		trace.Event{Op: mpispec.OpStartall, Inits: []uint64{1, 2, 3}}).
		got(1, 1, 2, 1).got(1, 2, 0, 1)
	var places []int
	counts, err := p.build(t, causal.Options{}).EachWildcard(func(p *causal.RacePoint) bool {
		places = append(places, p.Place)
		return true
	})
	if want := (causal.RaceCounts{Messages: 2, RacingMessages: 2, Wildcards: 2, Racing: 1, Races: 1}); counts != want ||
		err != nil || !slices.Equal(places, []int{0, 1}) {
		t.Errorf("%+v, places %v, %v", counts, places, err)
	}
}

// Visiting can be ended.
func TestEachWildcardStops(t *testing.T) {
	g := newProgram(3).send(0, 1).send(2, 1).any(1, mpispec.OpRecv, 1, 0, 1).any(1, mpispec.OpRecv, 1, 2, 1).build(t,
		causal.Options{})
	n := 0
	if _, err := g.EachWildcard(func(*causal.RacePoint) bool { n++; return false }); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// waves is the receive benchmark of Clemencon et al. (Fig. 1): each rank in turn takes a message of all others, with
// wildcards.
func waves(ranks int, add func(int, trace.Event)) {
	src := rand.New(rand.NewSource(1))
	for n := 0; n < 2*million; {
		for receiver := range ranks {
			for _, i := range src.Perm(ranks) {
				if i == receiver {
					continue
				}
				add(i, trace.Event{Op: mpispec.OpSend, Send: trace.SendArgs{Dest: int32(receiver), Tag: 1, Bytes: 4}})
				add(receiver, trace.Event{
					Op:   mpispec.OpRecv,
					Recv: trace.RecvArgs{AskedSource: -1, AskedTag: 1, Source: int32(i), Tag: 1, Bytes: 4},
				})
				n += 2
			}
		}
	}
}

// posted is one receiver that posts all its receives ahead, in batches.
func posted(ranks int, add func(int, trace.Event)) {
	const batch = 1000
	events := uint64(0)
	for n := 0; n < 2*million; {
		var e trace.Event
		e.Op = mpispec.OpWaitall
		for range batch {
			add(0, trace.Event{Op: mpispec.OpIrecv, Recv: trace.RecvArgs{AskedSource: -1, AskedTag: -1}})
			events++
			from := int32(1 + n%(ranks-1))
			e.Completed = append(e.Completed, trace.Completion{
				Post: events, Class: trace.RequestRecv, Source: from,
				Tag: 1, Bytes: 8,
			})
			add(int(from), trace.Event{Op: mpispec.OpSend, Send: trace.SendArgs{Tag: 1, Bytes: 8}})
			n += 2
		}
		add(0, e)
		events++
	}
}

func BenchmarkRaces(b *testing.B) {
	for _, c := range []struct {
		name string
		feed feed
	}{{"scattered", scattered}, {"masterWorker", masterWorker}, {"waves", waves}, {"posted", posted}} {
		b.Run(c.name, func(b *testing.B) {
			g := buildFeed(b, 64, c.feed)
			var counts causal.RaceCounts
			for b.Loop() {
				var err error
				if counts, err = g.CountRaces(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(counts.Wildcards), "receives")
			b.ReportMetric(float64(counts.Races), "races")
		})
	}
}
