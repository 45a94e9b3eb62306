package causal_test

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/causal"
)

func TestMatching(t *testing.T) {
	run := func(ranks, steps int) func(t *rapid.T) {
		return func(t *rapid.T) {
			x := execution(t, ranks, steps)
			g := buildCertain(t, x, causal.Options{})
			if g == nil {
				return
			}
			type msg struct{ Send, Post, Receive id }
			var want, got []msg
			for _, m := range x.Messages {
				w := msg{m.Send, m.Post, m.Receive}
				if m.Receive.IsZero() && m.Start.IsZero() && !m.Post.IsZero() && len(m.Probes) == 0 {
					w.Post = id{}
				}
				want = append(want, w)
			}
			for m := range g.Messages() {
				got = append(got, msg{m.Send, m.Post, m.Receive})
			}
			order := func(a, b msg) int {
				return cmp.Or(cmp.Compare(a.Send.Rank, b.Send.Rank), cmp.Compare(a.Send.Index, b.Send.Index),
					cmp.Compare(a.Receive.Rank, b.Receive.Rank), cmp.Compare(a.Receive.Index, b.Receive.Index),
					cmp.Compare(a.Post.Rank, b.Post.Rank), cmp.Compare(a.Post.Index, b.Post.Index))
			}
			slices.SortFunc(want, order)
			slices.SortFunc(got, order)
			if d := gocmp.Diff(want, got); d != "" {
				t.Fatal(d)
			}
			for _, p := range g.Problems() {
				switch p.Kind {
				case causal.ProblemSize, causal.ProblemRequest:
					t.Fatal(p)
				}
			}
		}
	}
	t.Run("small", func(t *testing.T) { rapid.Check(t, run(3, 30)) })
	t.Run("large", func(t *testing.T) { rapid.Check(t, run(6, 400)) })
}

func TestVectorTimeAgainstSearch(t *testing.T) {
	run := func(ranks, steps int) func(t *rapid.T) {
		return func(t *rapid.T) {
			x := execution(t, ranks, steps)
			g := buildCertain(t, x, causal.Options{Every: rapid.IntRange(1, 20).Draw(t, "every")})
			if g == nil {
				return
			}
			p := truth(x)
			all := eventsOf(p.last)
			for _, e := range all {
				got, err := g.VectorTime(e.Rank, e.Index)
				if err != nil {
					t.Fatal(err)
				}
				want := p.vector(e)
				if d := gocmp.Diff(want, got); d != "" {
					t.Fatalf("vector time of %s: %s", e, d)
				}
			}
		}
	}
	t.Run("small", func(t *testing.T) { rapid.Check(t, run(4, 30)) })
	t.Run("large", func(t *testing.T) {
		if testing.Short() {
			t.Skip("slow")
		}
		rapid.Check(t, run(6, 200))
	})
}

// tiny bounds the number of cuts.
func tiny(last []uint64) bool {
	n := uint64(1)
	for _, l := range last {
		n *= l + 1
	}
	return n <= 3000
}

func TestCutsAgainstAllCuts(t *testing.T) {
	checked := 0
	rapid.Check(t, func(t *rapid.T) {
		x := execution(t, 4, 18)
		g := buildCertain(t, x, causal.Options{})
		p := truth(x)
		if g == nil || !tiny(p.last) {
			return
		}
		checked++
		all := needs(x)
		var consistent []causal.Cut
		everyCut(p.last, func(cut causal.Cut) {
			if closed(cut, all) {
				consistent = append(consistent, slices.Clone(cut))
			}
		})
		for _, e := range eventsOf(p.last) {
			cut, err := g.CausalCut(e.Rank, e.Index)
			if err != nil {
				t.Fatal(err)
			}
			if !closed(cut, all) || cut[e.Rank] < e.Index {
				t.Fatalf("the cut %v of %s is not consistent", cut, e)
			}
			for _, other := range consistent {
				if holds(other, e) && !within(cut, other) {
					t.Fatalf("the cut of %s is %v, but %v is consistent", e, cut, other)
				}
			}
			v, err := g.VectorTime(e.Rank, e.Index)
			if err != nil || !within(v, cut) {
				t.Fatalf("the cut of %s is %v, less than its vector time %v (%v)", e, cut, v, err)
			}
		}
		everyCut(p.last, func(cut causal.Cut) { checkOneCut(t, g, cut, all, consistent) })
	})
	enough := 30
	if testing.Short() {
		enough = 5 // of far fewer executions
	}
	if checked < enough {
		t.Errorf("only %d executions were small enough", checked)
	}
}

func checkOneCut(t *rapid.T, g *causal.Graph, cut causal.Cut, all []need, consistent []causal.Cut) {
	err := g.CheckCut(cut)
	if (err == nil) != closed(cut, all) {
		t.Fatalf("%v: %v", cut, err)
	}
	if err != nil {
		bad, ok := err.(*causal.InconsistentCutError) //nolint:errorlint // CheckCut returns exactly that
		if !ok || !holds(cut, bad.Receive) || holds(cut, bad.Send) ||
			!slices.Contains(all, need{bad.Receive, bad.Send}) {
			t.Fatalf("%v: %v", cut, err)
		}
	}
	below, above, err := g.NearestConsistent(cut)
	if err != nil || !closed(below, all) || !closed(above, all) || !within(below, cut) || !within(cut, above) {
		t.Fatalf("%v: below %v, above %v, %v", cut, below, above, err)
	}
	for _, other := range consistent {
		if within(other, cut) && !within(other, below) {
			t.Fatalf("%v: below is %v, but %v is consistent", cut, below, other)
		}
		if within(cut, other) && !within(above, other) {
			t.Fatalf("%v: above is %v, but %v is consistent", cut, above, other)
		}
	}
}

// Where an execution really was at some moment is a cut without a message from the future.
func TestMomentsOfAnExecutionAreConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := execution(t, 5, 200)
		g := buildCertain(t, x, causal.Options{})
		if g == nil {
			return
		}
		cut := make(causal.Cut, g.Ranks())
		for i, e := range x.Order {
			cut[e.Rank] = e.Index
			if i%7 != 0 {
				continue
			}
			err := g.CheckCut(cut)
			// A blocking call may be between its entry and its exit just then.
			if bad, ok := err.(*causal.InconsistentCutError); ok { //nolint:errorlint // CheckCut returns exactly that
				if bad.Send.Index > cut[bad.Send.Rank]+1 && bad.Relation != "collective" {
					t.Fatalf("at %v: %v", cut, err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}
