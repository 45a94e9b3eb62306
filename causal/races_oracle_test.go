package causal_test

import (
	"fmt"
	"math/rand"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/causal/causaltest"
	"github.com/cohort-debugger/cohort/trace"
)

// found is what EachWildcard reports, as causaltest names it.
func found(t fataler, g *causal.Graph) (causaltest.Alternatives, causal.RaceCounts) {
	all := causaltest.Alternatives{}
	name := func(m causal.Message) causaltest.Choice {
		place := 0
		for other := range g.Messages() {
			if other.Send == m.Send {
				if other == m {
					break
				}
				place++
			}
		}
		return causaltest.Choice{Post: m.Send, Place: place}
	}
	counts, err := g.EachWildcard(func(p *causal.RacePoint) bool {
		at := causaltest.Choice{Post: p.Post, Place: p.Place}
		if all[at] != nil {
			t.Fatal("two points have one name")
		}
		took := g.Message(p.Took)
		all[at] = map[causaltest.Choice]bool{name(took): true}
		for _, ref := range p.Others {
			m := g.Message(ref)
			if m.Send.Rank == took.Send.Rank {
				t.Fatal("a message races with one of its own sender")
			}
			all[at][name(m)] = true
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, counts
}

// loose says whether an execution has what EachWildcard takes the careful way: a synchronous message received by a
// nonblocking receive with a wildcard.
func loose(x *causaltest.Execution) bool {
	for _, m := range x.Messages {
		if m.Sync && m.Post != m.Receive {
			return true
		}
	}
	return false
}

func compareRaces(t fataler, x *causaltest.Execution, states int) (exact bool, races int) {
	want, ok := x.Explore(states)
	if !ok || x.Unknown > 0 {
		return false, 0
	}
	got, _ := found(t, build(t, x, causal.Options{}))
	for at, messages := range want {
		races += len(messages) - 1
		for m := range messages {
			if !got[at][m] {
				t.Fatal(fmt.Sprintf("%v could have taken the message of %v: %v", at, m, dump(x)))
			}
		}
		if loose(x) {
			continue
		}
		for m := range got[at] {
			if !messages[m] {
				t.Fatal(fmt.Sprintf("%v could not have taken the message of %v: %v", at, m, dump(x)))
			}
		}
	}
	if len(got) != len(want) {
		t.Fatal(fmt.Sprintf("%d receives and probes with any source, want %d", len(got), len(want)))
	}
	return !loose(x), races
}

func dump(x *causaltest.Execution) string {
	text := ""
	for r, records := range x.Records {
		for _, rec := range records {
			if e, ok := rec.(*trace.Event); ok {
				text += fmt.Sprintf("\n%d:%d %v send %+v recv %+v inits %v completed %+v", r, e.Index, e.Op, e.Send,
					e.Recv, e.Inits, e.Completed)
			}
		}
	}
	return text
}

// A race is reported if and only if some schedule of the same calls has it.
func TestRacesAgainstAllSchedules(t *testing.T) {
	runs, exact, races := 2500, 0, 0
	for seed := range int64(runs) {
		src := rand.New(rand.NewSource(seed))
		cfg := causaltest.Config{
			Ranks: 2 + src.Intn(3), Steps: 8 + src.Intn(14), Collectives: src.Intn(3) == 0, Requests: src.Intn(2) == 0,
			Probes: src.Intn(2) == 0, Sync: src.Intn(3) == 0, Racy: src.Intn(4) > 0,
		}
		ok, n := compareRaces(t, causaltest.Run(src, cfg), 20000)
		if ok {
			exact++
		}
		races += n
	}
	t.Logf("%d of %d executions were compared exactly; %d races", exact, runs, races)
	if exact < runs/4 || races < runs/5 {
		t.Error("the executions are too poor")
	}
}

func TestRacesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { compareRaces(t, execution(t, 4, 20), 20000) })
}
