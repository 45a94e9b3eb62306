package causal_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/causal/causaltest"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// byOp makes the operation of an event its place.
func byOp(_ causal.Site, _ bool, op mpispec.Op) int { return int(op) }

// Groups add up to what a visit of all races finds, whatever is selected.
func TestGroupsAgainstCounting(t *testing.T) {
	seen := 0
	for seed := range int64(300) {
		src := rand.New(rand.NewSource(seed))
		cfg := causaltest.Everything(4, 60)
		cfg.Racy = true
		g := buildCertain(t, causaltest.Run(src, cfg), causal.Options{})
		if g == nil {
			continue
		}
		filter := causal.RaceFilter{}
		switch src.Intn(4) {
		case 1:
			filter.Receiver = func(r int) bool { return r%2 == 0 }
		case 2:
			filter.Sender = func(r int) bool { return r == 1 }
		case 3:
			filter.Verdict = causal.VerdictDiffer
		}
		want := map[string]uint64{}
		receives := map[string]map[string]bool{}
		counts, err := g.EachWildcard(func(p *causal.RacePoint) bool {
			for _, other := range p.Others {
				took, o := g.Message(p.Took), g.Message(other)
				if filter.Receiver != nil && !filter.Receiver(p.Post.Rank) || filter.Sender != nil &&
					!filter.Sender(took.Send.Rank) && !filter.Sender(o.Send.Rank) ||
					filter.Verdict != "" && filter.Verdict != g.Compare(p.Took, other) {
					continue
				}
				places := []int{int(op(t, g, took.Send)), int(op(t, g, o.Send))}
				slices.Sort(places)
				key := fmt.Sprint(int(op(t, g, p.Post)), places)
				want[key]++
				if receives[key] == nil {
					receives[key] = map[string]bool{}
				}
				receives[key][fmt.Sprint(p.Post, p.Place)] = true
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		groups, groupCounts, err := g.GroupRaces(filter, byOp)
		if err != nil || counts != groupCounts {
			t.Fatal(err, counts, groupCounts)
		}
		got := map[string]uint64{}
		for _, r := range groups {
			key := fmt.Sprint(r.Receive, r.Sends[:])
			got[key] = r.Races
			seen++
			if r.Races != r.Differ+r.Equal+r.Unknown || r.Receives != uint64(len(receives[key])) {
				t.Errorf("%+v: want %d receives", r, len(receives[key]))
			}
			if !slices.Contains(r.Receivers, r.Example.Post.Rank) ||
				!slices.Contains(r.Senders, r.Example.Other.Send.Rank) || r.Example.Verdict != r.Verdict() {
				t.Errorf("the example is not of the group: %+v", r)
			}
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	}
	if seen < 100 {
		t.Error("the executions are too poor: only", seen, "groups")
	}
}

func op(t *testing.T, g *causal.Graph, e id) mpispec.Op {
	t.Helper()
	op, err := g.Op(e)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// The verdicts, and the order of groups.
func TestRaceVerdicts(t *testing.T) {
	send := func(bytes uint64, tag int32) trace.Event {
		return trace.Event{Op: mpispec.OpSend, Send: trace.SendArgs{Dest: 0, Tag: tag, Bytes: bytes}}
	}
	content := func(e trace.Event, value uint64) trace.Event { // carried in the duration
		e.Duration = value + 1
		return e
	}
	for _, c := range []struct {
		a, b trace.Event
		want causal.Verdict
	}{
		{send(8, 1), send(8, 1), causal.VerdictUnknown},
		{send(8, 1), send(9, 1), causal.VerdictDiffer},
		{send(8, 1), send(8, 2), causal.VerdictDiffer},
		{send(0, 1), send(0, 1), causal.VerdictEqual},
		{send(0, 1), send(0, 2), causal.VerdictDiffer},
		{content(send(8, 1), 7), content(send(8, 1), 7), causal.VerdictEqual},
		{content(send(8, 1), 7), content(send(8, 1), 8), causal.VerdictDiffer},
		{content(send(8, 1), 0), content(send(8, 1), 0), causal.VerdictEqual},
		{content(send(8, 1), 7), send(8, 1), causal.VerdictUnknown},
	} {
		p := newProgram(3).add(1, c.a).add(2, c.b)
		for rank, e := range []trace.Event{c.a, c.b} {
			if e.Duration > 0 {
				p.records[1+rank] = append(p.records[1+rank], &trace.Content{Value: e.Duration - 1})
			}
		}
		p = p.
			add(0, trace.Event{Op: mpispec.OpRecv, Recv: trace.RecvArgs{
				AskedSource: -1, AskedTag: -1, Source: 1,
				Tag: c.a.Send.Tag, Bytes: c.a.Send.Bytes,
			}})
		groups, _, err := p.build(t, causal.Options{}).GroupRaces(causal.RaceFilter{}, byOp)
		if err != nil || len(groups) != 1 || groups[0].Verdict() != c.want {
			t.Errorf("%+v and %+v: %+v %v, want %s", c.a.Send, c.b.Send, groups, err, c.want)
		}
	}
}

// A filter for one receive finds it by its post and by its completion.
func TestRacesAtOneReceive(t *testing.T) {
	g := newProgram(3).send(0, 1).send(2, 1).any(1, mpispec.OpIrecv, 1, 0, 0).any(1, mpispec.OpRecv, 1, 2, 1).got(1, 1,
		0,
		1).build(t, causal.Options{})
	for at, want := range map[id]int{
		{Rank: 1, Index: 1}: 1, {Rank: 1, Index: 3}: 1, {Rank: 1, Index: 2}: 0,
		{Rank: 0, Index: 1}: 0,
	} {
		groups, _, err := g.GroupRaces(causal.RaceFilter{At: at}, byOp)
		if err != nil || len(groups) != want {
			t.Errorf("at %v: %v %v, want %d", at, groups, err, want)
		}
	}
}
