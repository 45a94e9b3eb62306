package causal

import (
	"slices"
	"sync"

	"github.com/cohort-debugger/cohort/mpispec"
)

// depKind says why an event's exit follows, or a cut that holds the event needs, another event.
type depKind uint8

const (
	depMessage    depKind = iota // the entry of a send
	depProbe                     // likewise, for a probe
	depSync                      // the entry of a receive's post
	depLarge                     // likewise, for cuts only (Options.SyncBytes)
	depCollective                // an instance: others' entries by its dependence; for cuts all of it
	depControl                   // an event that a control message comes after (WithControl), for cuts only
)

// dep is a depKind (3 bits), a rank (21 bits) and an event (40 bits); of depCollective the event is the number of the
// instance.
type dep uint64

const (
	maxRanks  = 1 << 21
	maxEvents = 1 << 40
)

func packDep(kind depKind, rank int, index uint64) dep {
	return dep(uint64(kind)<<61 | uint64(rank)<<40 | index)
}

func (d dep) kind() depKind { return depKind(d >> 61) }
func (d dep) rank() int     { return int(d >> 40 & (maxRanks - 1)) }
func (d dep) index() uint64 { return uint64(d & (maxEvents - 1)) }

type edge struct {
	at  uint64
	dep dep
}

// rankEvents is the events of one rank: operations, and dependences in the order of their events.
type rankEvents struct {
	ops      []mpispec.Op
	sites    []uint32 // by event: place in declared, plus 1; 0: unknown
	declared []Site
	first    []uint32 // deps[first[i-1]:first[i]] are those of event i
	deps     []dep
}

func newRankEvents(ops []mpispec.Op, edges []edge) rankEvents {
	r := rankEvents{ops: ops, first: make([]uint32, len(ops)+1), deps: make([]dep, len(edges))}
	for _, e := range edges {
		r.first[e.at]++
	}
	for i := 1; i < len(r.first); i++ {
		r.first[i] += r.first[i-1]
	}
	next := slices.Clone(r.first)
	for _, e := range edges {
		r.deps[next[e.at-1]] = e.dep
		next[e.at-1]++
	}
	return r
}

func (r *rankEvents) last() uint64          { return uint64(len(r.ops)) }
func (r *rankEvents) of(event uint64) []dep { return r.deps[r.first[event-1]:r.first[event]] }

// Graph is the events of a run with what happened before what. It does not change, and all methods may be called
// concurrently.
type Graph struct {
	ranks     []rankEvents
	instances []*instance
	problems  []Problem
	messages  messages
	every     uint64
	stored    [][]uint64 // per rank, the vector times of its events every, 2*every, ...
	scratch   sync.Pool

	reverseOnce sync.Once
	reversed    reverse
}

func newGraph(b *Builder, opt Options) *Graph {
	g := &Graph{
		ranks: make([]rankEvents, len(b.ranks)), instances: b.instances(), problems: b.problem,
		stored:   make([][]uint64, len(b.ranks)),
		messages: messages{ranks: make([]rankMessages, len(b.ranks))},
	}
	// With at least as many events between as there are ranks, stored vectors take no more than eight bytes per event.
	g.every = uint64(max(64, len(b.ranks)))
	if opt.Every > 0 {
		g.every = uint64(opt.Every)
	}
	for r, in := range b.ranks {
		g.messages.ranks[r] = newRankMessages(in)
	}
	g.scratch.New = func() any { return newScratch(g) }
	return g
}

func newScratch(g *Graph) *scratch {
	n := len(g.ranks)
	return &scratch{
		g: g, entry: make([]uint64, n), want: make([]uint64, n), closed: make([]uint64, n), queued: make([]bool, n),
		seen: make([]uint32, len(g.instances)),
	}
}

// Ranks returns the number of ranks.
func (g *Graph) Ranks() int { return len(g.ranks) }

// Events returns the number of events of a rank.
func (g *Graph) Events(rank int) uint64 { return g.ranks[rank].last() }

// Op returns the operation of an event.
func (g *Graph) Op(e EventID) (mpispec.Op, error) {
	if err := g.check(e); err != nil {
		return mpispec.OpNone, err
	}
	return g.op(e), nil
}

func (g *Graph) op(e EventID) mpispec.Op {
	if e.Index == 0 {
		return mpispec.OpNone
	}
	return g.ranks[e.Rank].ops[e.Index-1]
}

// Problems returns what has no partner, or is in doubt. An empty result means that every message and collective of the
// traces is whole.
func (g *Graph) Problems() []Problem { return slices.Clone(g.problems) }

// check accepts the events of the run, and position 0 of each rank.
func (g *Graph) check(e EventID) error {
	if e.Rank < 0 || e.Rank >= len(g.ranks) {
		return &NoEventError{Event: e, Ranks: len(g.ranks)}
	}
	if last := g.Events(e.Rank); e.Index > last {
		return &NoEventError{Event: e, Ranks: len(g.ranks), Last: last}
	}
	return nil
}
