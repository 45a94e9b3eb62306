package causal_test

import (
	"math/rand"
	"testing"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/causal/causaltest"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// raceGraph is the messages and races of a run: Netzer & Miller's graph.
type raceGraph struct {
	edges  [][2]causal.MessageRef
	places map[causal.MessageRef]int
}

func racesOf(t fataler, g *causal.Graph) *raceGraph {
	r := &raceGraph{places: map[causal.MessageRef]int{}}
	if _, err := g.EachWildcard(func(p *causal.RacePoint) bool {
		for _, other := range p.Others {
			r.edges = append(r.edges, [2]causal.MessageRef{p.Took, other})
			for _, m := range []causal.MessageRef{p.Took, other} {
				if _, ok := r.places[m]; !ok {
					r.places[m] = len(r.places)
				}
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return r
}

// leastCover is the size of a minimum vertex cover, by trying all.
func (r *raceGraph) leastCover() int {
	best := len(r.places)
	var try func(edges [][2]causal.MessageRef, in map[causal.MessageRef]bool)
	try = func(edges [][2]causal.MessageRef, in map[causal.MessageRef]bool) {
		for len(edges) > 0 && (in[edges[0][0]] || in[edges[0][1]]) {
			edges = edges[1:]
		}
		if len(in) >= best {
			return
		}
		if len(edges) == 0 {
			best = len(in)
			return
		}
		for _, m := range edges[0] {
			in[m] = true
			try(edges, in)
			delete(in, m)
		}
	}
	try(r.edges, map[causal.MessageRef]bool{})
	return best
}

// The lower bound is one, and the receives that must be told are those that race.
func TestBoundAgainstAllCovers(t *testing.T) {
	compared, equal, optimal := 0, 0, 0
	for seed := range int64(1500) {
		src := rand.New(rand.NewSource(seed))
		cfg := causaltest.Everything(4, 20+src.Intn(30))
		cfg.Racy, cfg.Sync = true, false
		g := buildCertain(t, causaltest.Run(src, cfg), causal.Options{})
		if g == nil {
			continue
		}
		r := racesOf(t, g)
		if len(r.places) == 0 || len(r.places) > 18 {
			continue
		}
		visited := uint64(0)
		bound, counts, err := g.Bound(func(*causal.RacePoint) bool { visited++; return true })
		if err != nil || visited != counts.Wildcards || bound.Traced < counts.Racing {
			t.Fatal(err, visited, counts, bound)
		}
		least := uint64(r.leastCover())
		compared++
		switch {
		case bound.Least > least:
			t.Fatalf("seed %d: the bound is %d, but %d messages cover all races", seed, bound.Least, least)
		case bound.Least == least:
			equal++
		}
		if bound.Traced == bound.Least {
			optimal++
			if bound.Traced != least {
				t.Fatalf("seed %d: %+v is said to be optimal, but %d messages cover all races", seed, bound, least)
			}
		}
	}
	t.Logf("%d executions; the bound is exact in %d, the trace optimal in %d", compared, equal, optimal)
	if compared < 100 || equal < compared*8/10 || optimal < compared/4 {
		t.Error("the executions, or the bound, are too poor")
	}
}

// A replay that is told what Bound traces, and no other receive, is the recorded execution whatever the schedule; and
// it is told nothing in vain.
func TestTracedReceivesAreEnoughAndNeeded(t *testing.T) {
	const states = 20000
	compared, told, tags, needed := 0, 0, 0, 0
	for seed := range int64(900) {
		src := rand.New(rand.NewSource(seed))
		cfg := causaltest.Config{
			Ranks: 2 + src.Intn(3), Steps: 10 + src.Intn(14), Collectives: src.Intn(4) == 0, Requests: src.Intn(3) > 0,
			Probes: src.Intn(2) == 0,
			Sync:   src.Intn(4) == 0, Racy: src.Intn(4) > 0,
		}
		x := causaltest.Run(src, cfg)
		if _, ok := x.Deviates(func(causaltest.Choice) bool { return true }, states); !ok || x.Unknown > 0 {
			continue
		}
		g := build(t, x, causal.Options{})
		traced := map[causaltest.Choice]bool{}
		if _, _, err := g.Bound(func(p *causal.RacePoint) bool {
			if len(p.Others) > 0 || p.Hidden > 0 {
				traced[causaltest.Choice{Post: p.Post, Place: p.Place}] = true
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		g.EachTagWildcard(func(id, uint32) { tags++ })
		deviates, ok := x.Deviates(func(c causaltest.Choice) bool { return traced[c] }, states)
		if !ok {
			continue
		}
		compared++
		told += len(traced)
		if deviates {
			t.Fatalf("seed %d: a replay that is told %v can be another run: %s", seed, traced, dump(x))
		}
		if loose(x) {
			continue
		}
		for without := range traced {
			if deviates, ok := x.Deviates(func(c causaltest.Choice) bool {
				return traced[c] && c != without
			}, states); ok && !deviates {
				t.Fatalf("seed %d: of %v, %v is not needed: %s", seed, traced, without, dump(x))
			}
			needed++
		}
	}
	t.Logf("%d executions; %d receives told, of %d it was seen that they must be; %d with a wildcard tag only",
		compared, told, needed, tags)
	if compared < 250 || needed < 120 || tags < 20 {
		t.Error("the executions are too poor")
	}
}

// The cases that the comment of TraceBound tells.
func TestBound(t *testing.T) {
	// Three messages that all race (Netzer & Miller, figure 5a): two are traced, and no less is possible.
	p := newProgram(4).send(1, 0).send(2, 0).send(3, 0)
	for source := 1; source <= 3; source++ {
		p.any(0, mpispec.OpRecv, 1, source, 1)
	}
	wantBound(t, p, causal.TraceBound{Traced: 2, Least: 2})
	// Three messages of one sender in a row, which race with one of another: to tag that one would be enough.
	p = newProgram(3).send(1, 0).send(1, 0).send(1, 0).send(2, 0)
	for _, source := range []int{1, 1, 1, 2} {
		p.any(0, mpispec.OpRecv, 1, source, 1)
	}
	wantBound(t, p, causal.TraceBound{Traced: 3, Least: 1})
	// The messages of rounds do not race with those of the next.
	p = newProgram(3)
	for range 4 {
		p.send(1, 0).send(2, 0).any(0, mpispec.OpRecv, 1, 1, 1).any(0, mpispec.OpRecv, 1, 2, 1)
		for r := range 3 {
			p.coll(r, mpispec.OpBarrier, 0, -1)
		}
	}
	wantBound(t, p, causal.TraceBound{Traced: 4, Least: 4})
	// A receive that is shielded by an earlier one must be told, as that one is told too, and then is no shield.
	p = newProgram(4).any(0, mpispec.OpIrecv, 1, 0, 0).tagged(1, mpispec.OpSend, 0, 2).any(0, mpispec.OpRecv, anyTag, 1,
		2).send(0, 2).
		recv(2, 0).send(2, 0).send(3, 0).got(0, 1, 2, 1).any(0, mpispec.OpRecv, 1, 3, 1)
	wantBound(t, p, causal.TraceBound{Traced: 2, Least: 1})
}

func wantBound(t *testing.T, p *program, want causal.TraceBound) {
	t.Helper()
	if got, _, err := p.build(t, causal.Options{}).Bound(nil); got != want || err != nil {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
}

// A wildcard tag alone is no choice.
func TestEachTagWildcard(t *testing.T) {
	recv := trace.Event{Op: mpispec.OpRecv, Recv: trace.RecvArgs{
		AskedSource: 0, AskedTag: trace.AnyTag, Source: 0,
		Tag: 1, Bytes: 8,
	}}
	g := newProgram(2).send(0, 1).send(0, 1).send(0, 1).add(1, recv).recv(1, 0).any(1, mpispec.OpRecv, anyTag, 0,
		1).build(t, causal.Options{})
	var all []id
	g.EachTagWildcard(func(post id, _ uint32) { all = append(all, post) })
	if len(all) != 1 || all[0] != (id{Rank: 1, Index: 1}) {
		t.Error(all)
	}
}
