package causal

import (
	"cmp"
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

// Site is a place in the program from which MPI was called: an address in a loaded object, relative to its load bias.
// It is the same on all ranks that run the same build.
type Site struct {
	Module  string // path of the object
	BuildID string // raw bytes; may be empty
	Offset  uint64 // inside the call instruction
}

// rankLog is what the trace of one rank says.
type rankLog struct {
	ops      []mpispec.Op
	sites    []uint32 // by event: place in declared, plus 1; 0: unknown
	declared []Site
	sends    []sendRec
	takes    []takeRec // in the order in which they were posted
}

func (r *rankLog) last() uint64 { return uint64(len(r.ops)) }

// rankEvents is the events of one rank, with dependences in the order of the events.
type rankEvents struct {
	rankLog
	byDone []int32  // takes that were completed in another call than their post, by that call
	first  []uint32 // deps[first[i-1]:first[i]] are those of event i
	deps   []dep
}

func newRankEvents(log rankLog, edges []edge) rankEvents {
	r := rankEvents{rankLog: log, first: make([]uint32, len(log.ops)+1), deps: make([]dep, len(edges))}
	for i := range r.takes {
		if t := &r.takes[i]; t.done != 0 && t.done != t.post {
			r.byDone = append(r.byDone, int32(i))
		}
	}
	slices.SortFunc(r.byDone, func(a, b int32) int { return cmp.Compare(r.takes[a].done, r.takes[b].done) })
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

func (r *rankEvents) of(event uint64) []dep { return r.deps[r.first[event-1]:r.first[event]] }

// Graph is the events of a run with what happened before what. It does not change, and all methods may be called
// concurrently.
type Graph struct {
	ranks     []rankEvents
	instances []*instance
	problems  []Problem
	every     uint64
	syncBytes uint64     // Options.SyncBytes
	stored    [][]uint64 // per rank, the vector times of its events every, 2*every, ...
	scratch   sync.Pool
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

// SiteOf returns from where an event was called; false if the trace does not say.
func (g *Graph) SiteOf(e EventID) (Site, bool) {
	if g.check(e) != nil || e.Index == 0 {
		return Site{}, false
	}
	r := &g.ranks[e.Rank]
	if at := r.sites[e.Index-1]; at != 0 {
		return r.declared[at-1], true
	}
	return Site{}, false
}

// Problems returns what has no partner, or is in doubt. An empty result means that every message and collective of the
// traces is whole.
func (g *Graph) Problems() []Problem { return slices.Clone(g.problems) }

// Doubts returns the problems because of which messages may have been matched wrongly.
func (g *Graph) Doubts() []Problem {
	return slices.DeleteFunc(g.Problems(), func(p Problem) bool { return !p.Doubtful() })
}

// check accepts the events of the run, and position 0 of each rank.
func (g *Graph) check(e EventID) error {
	if e.Rank < 0 || e.Rank >= len(g.ranks) {
		return refuse("there is no event %s: the run has ranks 0 to %d", e, len(g.ranks)-1)
	}
	if last := g.Events(e.Rank); e.Index > last {
		return refuse("there is no event %s: rank %d has events 1 to %d", e, e.Rank, last)
	}
	return nil
}
