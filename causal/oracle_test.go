package causal_test

import (
	"math/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/causal/causaltest"
)

type id = causal.EventID

// draws lets rapid make the choices, so that it can shrink an execution.
type draws struct{ t *rapid.T }

func (d draws) Intn(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

// execution draws a configuration and an execution of at most so many ranks and steps.
func execution(t *rapid.T, ranks, steps int) *causaltest.Execution {
	cfg := causaltest.Config{
		Ranks:       rapid.IntRange(min(2, ranks), ranks).Draw(t, "ranks"),
		Steps:       rapid.IntRange(steps/3, steps).Draw(t, "steps"),
		Collectives: rapid.Bool().Draw(t, "collectives"), Requests: rapid.Bool().Draw(t, "requests"),
		Probes: rapid.Bool().Draw(t, "probes"), Sync: rapid.Bool().Draw(t, "sync"),
	}
	if steps <= 40 {
		return causaltest.Run(draws{t}, cfg)
	}
	return causaltest.Run(rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))), cfg)
}

type fataler interface{ Fatal(args ...any) }

func build(t fataler, x *causaltest.Execution, opt causal.Options) *causal.Graph {
	g, err := causal.Build(x.Records, opt)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// buildCertain returns nil for an execution of which the trace cannot tell all matches. The graph must say so, if there
// is one.
func buildCertain(t fataler, x *causaltest.Execution, opt causal.Options) *causal.Graph {
	if x.Unknown == 0 {
		return build(t, x, opt)
	}
	g, err := causal.Build(x.Records, opt)
	if err != nil {
		if !strings.Contains(err.Error(), "which message they took, so that others were matched wrongly") {
			t.Fatal(err)
		}
		return nil
	}
	unknown := 0
	for _, p := range g.Problems() {
		if p.Kind == causal.ProblemUnknown {
			unknown++
		}
	}
	if unknown < x.Unknown {
		t.Fatal("receives took an unknown message, but that is not reported")
	}
	return nil
}

// points is the truth as explicit edges between the entries and exits of events, backwards.
type points struct {
	x    *causaltest.Execution
	last []uint64
	pred map[point][]point
}

type point struct {
	id
	exit bool
}

func truth(x *causaltest.Execution) *points {
	p := &points{x: x, pred: map[point][]point{}}
	add := func(from, to id) {
		if !from.IsZero() && !to.IsZero() {
			p.pred[point{to, true}] = append(p.pred[point{to, true}], point{from, false})
		}
	}
	for r := range x.Records {
		n := x.Events(r)
		p.last = append(p.last, n)
		for i := uint64(1); i <= n; i++ {
			e := id{Rank: r, Index: i}
			p.pred[point{e, true}] = append(p.pred[point{e, true}], point{e, false})
			if i > 1 {
				p.pred[point{e, false}] = append(p.pred[point{e, false}], point{id{Rank: r, Index: i - 1}, true})
			}
		}
	}
	for _, m := range x.Messages {
		add(m.Send, m.Receive)
		for _, probe := range m.Probes {
			add(m.Send, probe)
		}
		add(m.Start, m.Done)
	}
	for _, c := range x.Collectives {
		for i := range c.Members {
			for j := range c.Members {
				if c.Follows(i, j) {
					add(c.Members[j].Entry, c.Members[i].Exit)
				}
			}
		}
	}
	return p
}

// vector is the vector time of an event by a search over all edges.
func (p *points) vector(e id) []uint64 {
	v := make([]uint64, len(p.last))
	start := point{e, true}
	seen := map[point]bool{start: true}
	for stack := []point{start}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !at.exit {
			v[at.Rank] = max(v[at.Rank], at.Index)
		}
		for _, q := range p.pred[at] {
			if !seen[q] {
				seen[q] = true
				stack = append(stack, q)
			}
		}
	}
	return v
}

// need is a pair of events: a cut that holds `in` must hold `out`.
type need struct{ in, out id }

func needs(x *causaltest.Execution) []need {
	var all []need
	add := func(in, out id) {
		if !in.IsZero() && !out.IsZero() {
			all = append(all, need{in, out})
		}
	}
	for _, m := range x.Messages {
		add(m.Receive, m.Send)
		for _, probe := range m.Probes {
			add(probe, m.Send)
		}
		add(m.Done, m.Start)
	}
	for _, c := range x.Collectives {
		for _, a := range c.Members {
			for _, b := range c.Members {
				if c.Blocking {
					add(a.Exit, b.Exit)
				} else {
					add(a.Exit, b.Entry)
				}
			}
		}
	}
	return all
}

func holds(cut causal.Cut, e id) bool { return cut[e.Rank] >= e.Index }

func closed(cut causal.Cut, all []need) bool {
	for _, n := range all {
		if holds(cut, n.in) && !holds(cut, n.out) {
			return false
		}
	}
	return true
}

func within(a, b causal.Cut) bool {
	for r := range a {
		if a[r] > b[r] {
			return false
		}
	}
	return true
}

// everyCut calls f with all cuts of an execution; f must not keep its argument.
func everyCut(last []uint64, f func(causal.Cut)) {
	cut := make(causal.Cut, len(last))
	for {
		f(cut)
		r := 0
		for ; r < len(cut) && cut[r] == last[r]; r++ {
			cut[r] = 0
		}
		if r == len(cut) {
			return
		}
		cut[r]++
	}
}

func eventsOf(last []uint64) []id {
	var all []id
	for r, n := range last {
		for i := uint64(1); i <= n; i++ {
			all = append(all, id{Rank: r, Index: i})
		}
	}
	return all
}

// The simulator must reach what it is for: otherwise the tests that use it prove nothing.
func TestExecutionsAreRich(t *testing.T) {
	var messages, received, probed, sync, collectives, nonblocking, split, finished, unknown int
	for seed := range int64(200) {
		x := causaltest.Run(rand.New(rand.NewSource(seed)), causaltest.Everything(4, 150))
		for _, m := range x.Messages {
			messages++
			if !m.Receive.IsZero() {
				received++
			}
			if len(m.Probes) > 0 {
				probed++
			}
			if !m.Done.IsZero() {
				sync++
			}
		}
		for _, c := range x.Collectives {
			if c.Blocking {
				collectives++
			} else {
				nonblocking++
			}
		}
		if x.Unknown > 0 {
			unknown++
		}
		g := buildCertain(t, x, causal.Options{})
		if g == nil {
			continue
		}
		for c := range g.Collectives() {
			if c.Op.MakesComm() {
				split++
			}
		}
		for r := range g.Ranks() {
			if op, err := g.Op(id{Rank: r, Index: g.Events(r)}); err == nil && op.String() == "Finalize" {
				finished++
			}
		}
	}
	t.Logf("messages %d, received %d, probed %d, sync %d, collectives %d+%d, splits %d, finished ranks %d of 800, "+
		"runs with unknown receives %d",
		messages, received, probed, sync, collectives, nonblocking, split, finished, unknown)
	if messages < 2000 || received < messages/3 || probed < 100 || sync < 100 || collectives < 200 ||
		nonblocking < 50 || split < 20 ||
		finished < 100 || unknown > 150 {
		t.Error("the executions are too poor")
	}
}
