package replayctl

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
)

func TestNext(t *testing.T) {
	hits := []hit{{event: 3}, {event: 5}, {event: 5}, {event: 5}, {event: 9}}
	for _, c := range []struct {
		at   progress
		want int
	}{
		{progress{}, 0},
		{progress{event: 3}, 0},
		{progress{event: 3, hits: 1}, 1},
		{progress{event: 4}, 1},
		{progress{event: 5}, 1},
		{progress{event: 5, hits: 2}, 3},
		{progress{event: 5, hits: 3}, 4},
		{progress{event: 9, hits: 1}, -1},
		{progress{event: 10}, -1},
	} {
		if got := next(hits, c.at); got != c.want {
			t.Errorf("next(%+v) = %d, want %d", c.at, got, c.want)
		}
	}
}

// TestEveryHitIsVisitedOnce: going from hit to hit by next, as Continue does, visits each hit of the list once and in
// order.
func TestEveryHitIsVisitedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hits []hit
		event := uint64(0)
		for range rapid.IntRange(0, 20).Draw(t, "hits") {
			event += rapid.Uint64Range(0, 2).Draw(t, "gap")
			hits = append(hits, hit{event: event})
		}
		at := progress{}
		for want := range hits {
			i := next(hits, at)
			if i != want {
				t.Fatalf("visited hit %d, want %d of %v", i, want, hits)
			}
			if at.event != hits[i].event {
				at = progress{event: hits[i].event}
			}
			at.hits++ // as job.RankStatus counts
		}
		if i := next(hits, at); i != -1 {
			t.Fatalf("hit %d after the last", i)
		}
	})
}

// TestFirstIsPrecededByNone: whatever the cuts, as long as precedence is acyclic (made so here from a linear order), a
// candidate is found that no other precedes.
func TestFirstIsPrecededByNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "ranks")
		var list []candidate
		for r := range n {
			// Candidate of rank r is the r-th in a linear order: its cut may pass the hits of lower ranks only.
			cut := make([]uint64, n)
			for q := range n {
				limit := uint64(10)
				if q < r {
					limit = 20
				}
				cut[q] = rapid.Uint64Range(0, limit).Draw(t, "cut")
			}
			cut[r] = 10
			list = append(list, candidate{key: key{1, r}, hit: hit{event: 10}, cut: cut})
		}
		perm := rapid.Permutation(list).Draw(t, "order")
		got := first(perm)
		if got == nil {
			t.Fatal("none found")
		}
		for _, d := range list {
			if d.rank != got.rank && got.cut[d.rank] > d.hit.event {
				t.Fatalf("rank %d would run through its own hit on the way to that of rank %d", d.rank, got.rank)
			}
		}
	})
}

func TestFirstOfNothing(t *testing.T) {
	if first(nil) != nil {
		t.Error("found something in nothing")
	}
}

func TestCovers(t *testing.T) {
	f := &found{from: 4, hits: []hit{{event: 5}}}
	for _, c := range []struct {
		name     string
		at       progress
		complete bool
		want     bool
	}{
		{"a hit ahead", progress{event: 4}, false, true},
		{"before what was explored", progress{event: 3}, false, false},
		{"used up", progress{event: 5, hits: 1}, false, false},
		{"used up, and the rank ended", progress{event: 5, hits: 1}, true, true},
	} {
		f.complete = c.complete
		if got := f.covers(c.at); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if (*found)(nil).covers(progress{}) {
		t.Error("nothing covers something")
	}
}

// TestReachable: no rank goes backwards, none goes further than it must, and the leader's position is its hit's.
func TestReachable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "ranks")
		target := &candidate{key: key{rank: rapid.IntRange(0, n-1).Draw(t, "leader")}, cut: make([]uint64, n)}
		var status []job.RankStatus
		for r := range n {
			target.cut[r] = rapid.Uint64Range(0, 5).Draw(t, "cut")
			at := rapid.Uint64Range(0, 5).Draw(t, "at")
			if r == target.rank {
				at = min(at, target.cut[r])
			}
			status = append(status, job.RankStatus{Rank: r, Control: backend.ControlState{Events: at}})
		}
		got, beyond := reachable(target, status)
		for r := range n {
			if got[r] != max(target.cut[r], status[r].Control.Events) ||
				beyond.Contains(r) != (got[r] > target.cut[r]) {
				t.Fatalf("rank %d at %d, cut %d: goes to %d, beyond %v", r, status[r].Control.Events, target.cut[r],
					got[r], beyond)
			}
		}
	})
}
