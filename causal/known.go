package causal

import (
	"cmp"
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
)

// known is what each rank can be sure of, at its point in an order of all points, about the others: how many of their
// events have ended. It takes in only what holds in every run that exchanges the same messages; so of collectives only
// those that no MPI can leave before all have entered them, whatever the counts. It knows less than vector time, never
// more.
type known struct {
	g       *Graph
	ended   []vector
	sent    []map[uint64]*carried // by rank and event: what its messages bring
	meets   []meeting             // by rank and event: the collectives that it enters
	entries [][]entrance
	next    []int // by rank: the first of its entries that it has not come to
}

// vector is shared with messages until it changes. Its own component is not kept.
type vector struct {
	of     []uint64
	shared bool
}

type carried struct {
	ended []uint64
	left  int // receives that have not ended
}

type entrance struct {
	event    uint64
	instance int
}

// meeting is a collective: what those know who have entered it, and how many have not left.
type meeting struct {
	ended []uint64
	left  int
}

func newKnown(g *Graph) *known {
	n := len(g.ranks)
	k := &known{
		g: g, ended: make([]vector, n), sent: make([]map[uint64]*carried, n), meets: make([]meeting, len(g.instances)),
		entries: make([][]entrance, n), next: make([]int, n),
	}
	for r := range g.ranks {
		k.ended[r].of = make([]uint64, n)
		k.sent[r] = map[uint64]*carried{}
	}
	for id, in := range g.instances {
		if !waitsForAll(in) {
			continue
		}
		for j := range in.parts {
			if p := &in.parts[j]; p.entry != 0 {
				r := in.comm.world[j]
				k.entries[r] = append(k.entries[r], entrance{p.entry, id})
				if p.exit != 0 {
					k.meets[id].left++
				}
			}
		}
	}
	for r := range k.entries {
		slices.SortFunc(k.entries[r], func(a, b entrance) int { return cmp.Compare(a.event, b.event) })
	}
	return k
}

// waitsForAll: a collective without data may end early for some members (an Allreduce of no elements does).
func waitsForAll(in *instance) bool {
	return !in.comm.inter && (in.op == mpispec.OpBarrier || in.op == mpispec.OpIbarrier)
}

// learn tells rank r that event e of rank q has ended.
func (k *known) learn(r, q int, e uint64) {
	v := &k.ended[r]
	if r == q || v.of[q] >= e {
		return
	}
	v.own()
	v.of[q] = e
}

func (v *vector) own() {
	if v.shared {
		v.of, v.shared = slices.Clone(v.of), false
	}
}

// merge tells rank r what another knew.
func (k *known) merge(r int, ended []uint64) {
	for q, e := range ended {
		k.learn(r, q, e)
	}
}

// enter is of event e of rank r, which sends so many messages that are received.
func (k *known) enter(r int, e uint64, messages int) {
	v := &k.ended[r]
	if messages > 0 {
		k.sent[r][e] = &carried{v.of, messages}
		v.shared = true
	}
	for ; k.next[r] < len(k.entries[r]) && k.entries[r][k.next[r]].event == e; k.next[r]++ {
		m := &k.meets[k.entries[r][k.next[r]].instance]
		if m.ended == nil {
			m.ended = make([]uint64, len(k.ended))
		}
		for q, n := range v.of {
			m.ended[q] = max(m.ended[q], n)
		}
		m.ended[r] = max(m.ended[r], e-1)
	}
}

func (k *known) leave(r int, e uint64) {
	for _, d := range k.g.ranks[r].of(e) {
		switch d.kind() {
		case depMessage, depProbe:
			src := d.rank()
			c := k.sent[src][d.index()]
			if c == nil {
				continue // a probe of what was received since
			}
			k.merge(r, c.ended)
			k.learn(r, src, d.index()-1)
			if d.kind() == depMessage {
				c.left--
				if c.left == 0 {
					delete(k.sent[src], d.index())
				}
			}
		case depCollective:
			in, m := k.g.instances[d.index()], &k.meets[d.index()]
			if !waitsForAll(in) {
				continue
			}
			k.merge(r, m.ended)
			m.left--
			if m.left == 0 {
				m.ended = nil
			}
		case depSync, depLarge, depControl:
		}
	}
}
