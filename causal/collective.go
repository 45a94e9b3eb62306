package causal

import "github.com/cohort-debugger/cohort/trace"

// dependence says whose entries a member's exit from a collective follows.
type dependence uint8

const (
	onAll   dependence = iota
	onRoot             // members other than the root follow the root
	rootOn             // the root follows all
	onBelow            // member i follows members below i (and itself, as always)
	onNone
)

// dependenceOf holds for intracommunicators; others are onAll.
func dependenceOf(op trace.Op) dependence {
	switch op {
	case trace.OpBcast, trace.OpIbcast, trace.OpScatter, trace.OpIscatter, trace.OpScatterv, trace.OpIscatterv:
		return onRoot
	case trace.OpGather, trace.OpIgather, trace.OpGatherv, trace.OpIgatherv, trace.OpReduce, trace.OpIreduce:
		return rootOn
	case trace.OpScan, trace.OpIscan, trace.OpExscan, trace.OpIexscan:
		return onBelow // Scan takes in a member's own data too, which it has anyway
	case trace.OpCommFree, trace.OpCommDisconnect, trace.OpFinalize:
		return onNone
	default:
		return onAll
	}
}

// part is one member's call of a collective. Entry 0: the trace has no such call. Exit 0: it is not completed in the
// trace.
type part struct{ entry, exit uint64 }

// instance is one collective.
type instance struct {
	comm     *comm
	op       trace.Op
	root     int32
	place    int  // in the communicator's sequence, from 1
	blocking bool // entry and exit are one event
	dep      dependence
	parts    []part // by the member's place in comm.world
}

// eachDependence calls f with the entries that the exit of member i follows. Its own is left out.
func (in *instance) eachDependence(i int, f func(rank int, entry uint64)) {
	lo, hi := 0, len(in.parts)
	switch in.dep {
	case onNone:
		return
	case onRoot:
		lo, hi = int(in.root), int(in.root)+1
	case rootOn:
		if i != int(in.root) {
			return
		}
	case onBelow:
		hi = i
	case onAll:
	}
	for j := lo; j < hi; j++ {
		if j != i && in.parts[j].entry != 0 {
			f(in.comm.world[j], in.parts[j].entry)
		}
	}
}

// eachWhole calls f with the events that must be in a cut that holds an exit of this collective.
func (in *instance) eachWhole(f func(rank int, event uint64)) {
	for j := range in.parts {
		p := &in.parts[j]
		switch {
		case in.blocking && p.exit != 0:
			f(in.comm.world[j], p.exit)
		case p.entry != 0:
			f(in.comm.world[j], p.entry)
		}
	}
}

// comm is a communicator as all its members see it.
type comm struct {
	id     uint64
	inter  bool
	world  []int       // world ranks; of an intercommunicator those of both groups
	member map[int]int // world rank to place in world
	seq    []*instance
	// persistent collectives: of each _init its Starts, in the order in which the members make them
	started [][]*instance
}

// start returns the k-th start of the n-th persistent collective, from 0.
func (c *comm) start(n, k int) *instance {
	for len(c.started) <= n {
		c.started = append(c.started, nil)
	}
	for len(c.started[n]) <= k {
		c.started[n] = append(c.started[n],
			&instance{comm: c, place: len(c.started[n]) + 1, parts: make([]part, len(c.world))})
	}
	return c.started[n][k]
}

// at returns the n-th collective on the communicator, from 0.
func (c *comm) at(n int) *instance {
	for len(c.seq) <= n {
		c.seq = append(c.seq, &instance{comm: c, place: len(c.seq) + 1, parts: make([]part, len(c.world))})
	}
	return c.seq[n]
}
