package causal

import "github.com/cohort-debugger/cohort/mpispec"

// Knowledge is vector time of a few ranks only, of all events: which event of rank p was entered before a point in the
// run, for each p that receives with wildcards. It is counted in half steps: 2*i means that the entry of p:i precedes
// the point, 2*i+1 that p:i, a blocking receive, has even found its message, as the end of a synchronous send to it
// tells. A scalar per event and rank p is all that the race check needs (Netzer & Miller, section 5.1: "The value of
// the pth slot of the sender's timestamp"), so whole vectors are neither computed nor kept.

// knowledgeBudget is how many bytes may be used for knowledge at a time; at least one rank is done at a time.
const knowledgeBudget = 128 << 20

const maxKnowledgeWidth = 16

// sweep is the knowledge of `width` ranks, of all events.
type sweep struct {
	g     *Graph
	width int
	slot  []int      // by rank: its place in a row, or none
	exit  [][]uint32 // by rank: rows of the exits of its events, from event 0 on
	insts []uint32   // rows of collectives that depend on all
	known []bool     // by instance: its row is computed
}

// run is some events of one rank, one after another.
type eventRun struct {
	rank uint32
	last uint32
}

// knowledge calls f for each of ranks in turn, with what an event's entry knows of the rank; that function is good
// during the call only. f returns false to stop.
func (g *Graph) knowledge(ranks []int, f func(rank int, knows func(src int, event uint64) uint32) bool) {
	events := uint64(len(g.ranks))
	var runs []eventRun
	g.walk(func(r int, e uint64) {
		if n := len(runs); n > 0 && runs[n-1].rank == uint32(r) {
			runs[n-1].last = uint32(e)
			return
		}
		runs = append(runs, eventRun{uint32(r), uint32(e)})
	}).run()
	for r := range g.ranks {
		events += g.ranks[r].last()
	}
	width := int(max(1, min(maxKnowledgeWidth, knowledgeBudget/4/(events+uint64(len(g.instances))),
		uint64(len(ranks)))))
	s := &sweep{
		g: g, width: width, slot: make([]int, len(g.ranks)), exit: make([][]uint32, len(g.ranks)),
		insts: make([]uint32, len(g.instances)*width), known: make([]bool, len(g.instances)),
	}
	for r := range g.ranks {
		s.exit[r] = make([]uint32, int(g.ranks[r].last()+1)*width)
	}
	for len(ranks) > 0 {
		batch := ranks[:min(width, len(ranks))]
		ranks = ranks[len(batch):]
		s.fill(batch, runs)
		for place, rank := range batch {
			knows := func(src int, event uint64) uint32 {
				if src == rank {
					return uint32(2 * event)
				}
				return s.exit[src][int(event-1)*width+place]
			}
			if !f(rank, knows) {
				return
			}
		}
	}
}

func (s *sweep) fill(ranks []int, runs []eventRun) {
	for r := range s.slot {
		s.slot[r] = none
	}
	for place, r := range ranks {
		s.slot[r] = place
	}
	clear(s.known)
	done := make([]uint32, len(s.g.ranks))
	for _, run := range runs {
		r := int(run.rank)
		for e := done[r] + 1; e <= run.last; e++ {
			s.event(r, uint64(e))
		}
		done[r] = run.last
	}
}

// event computes the row of an exit from that of the exit before, and the entries that it follows.
func (s *sweep) event(r int, e uint64) {
	w := s.width
	row := s.exit[r][int(e)*w : int(e+1)*w]
	copy(row, s.exit[r][int(e-1)*w:])
	if place := s.slot[r]; place != none {
		row[place] = uint32(2 * e)
	}
	for _, d := range s.g.ranks[r].of(e) {
		switch d.kind() {
		case depMessage, depProbe:
			s.entry(row, d.rank(), d.index(), 0)
		case depSync:
			matched := uint32(0)
			if c := s.g.ranks[d.rank()].ops[d.index()-1].Class(); c == mpispec.ClassRecv || c == mpispec.ClassSendrecv {
				matched = 1
			}
			s.entry(row, d.rank(), d.index(), matched)
		case depCollective:
			s.collective(row, r, d.index())
		case depLarge, depControl:
		}
	}
}

// entry takes in what the entry of q:i knows, which is what the exit before it knows, and itself.
func (s *sweep) entry(row []uint32, q int, i uint64, matched uint32) {
	w := s.width
	for place, v := range s.exit[q][int(i-1)*w : int(i)*w] {
		row[place] = max(row[place], v)
	}
	if place := s.slot[q]; place != none {
		row[place] = max(row[place], uint32(2*i)+matched)
	}
}

func (s *sweep) collective(row []uint32, r int, id uint64) {
	in := s.g.instances[id]
	if in.dep != mpispec.AfterAll {
		in.eachDependence(in.comm.member[r], func(q int, entry uint64) { s.entry(row, q, entry, 0) })
		return
	}
	// All members' exits follow the same entries: that the own one is among them makes no difference.
	all := s.insts[int(id)*s.width : int(id+1)*s.width]
	if !s.known[id] {
		s.known[id] = true
		clear(all)
		for j := range in.parts {
			if in.parts[j].entry != 0 {
				s.entry(all, in.comm.world[j], in.parts[j].entry, 0)
			}
		}
	}
	for place, v := range all {
		row[place] = max(row[place], v)
	}
}
