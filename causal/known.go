package causal

import (
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
)

// known is what each rank can be sure of, at its point in an order of all points, about the others: how many of their
// events have ended. It takes in only what holds in every run that exchanges the same messages; so of collectives only
// those that no MPI can leave before all have entered them, whatever the counts. It knows less than vector time, never
// more.
type known struct {
	g     *Graph
	ended [][]uint64
	sent  []map[uint64]*carried // by rank and event: what its messages bring
}

type carried struct {
	ended []uint64
	left  int // receives that have not ended
}

func newKnown(g *Graph) *known {
	k := &known{g: g}
	for range g.ranks {
		k.ended = append(k.ended, make([]uint64, len(g.ranks)))
		k.sent = append(k.sent, map[uint64]*carried{})
	}
	return k
}

// learn tells rank r that event e of rank q has ended.
func (k *known) learn(r, q int, e uint64) {
	if r != q {
		k.ended[r][q] = max(k.ended[r][q], e)
	}
}

// enter is of event e of rank r, which sends so many messages that are received.
func (k *known) enter(r int, e uint64, messages int) {
	if messages > 0 {
		k.sent[r][e] = &carried{slices.Clone(k.ended[r]), messages}
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
			for q, n := range c.ended {
				k.learn(r, q, n)
			}
			k.learn(r, src, d.index()-1)
			if d.kind() == depMessage {
				c.left--
				if c.left == 0 {
					delete(k.sent[src], d.index())
				}
			}
		case depCollective:
			// One without data may end early for some members: an Allreduce of no elements does.
			in := k.g.instances[d.index()]
			if in.comm.inter || in.op != mpispec.OpBarrier && in.op != mpispec.OpIbarrier {
				continue
			}
			for j, p := range in.parts {
				k.learn(r, in.comm.world[j], max(p.entry, 1)-1)
			}
		case depSync, depLarge, depControl:
		}
	}
}
