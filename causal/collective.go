package causal

import "github.com/cohort-debugger/cohort/mpispec"

// part is one member's call of a collective. Entry 0: the trace has no such call. Exit 0: it is not completed in the
// trace.
type part struct{ entry, exit uint64 }

// instance is one collective.
type instance struct {
	comm     *comm
	op       mpispec.Op
	root     int32
	place    int                // in the communicator's sequence, from 1
	blocking bool               // entry and exit are one event
	dep      mpispec.Dependence // AfterExchange is AfterAll here
	parts    []part             // by the member's place in comm.world
}

// eachDependence calls f with the entries that the exit of member i follows. Its own is left out.
func (in *instance) eachDependence(i int, f func(rank int, entry uint64)) {
	lo, hi := 0, len(in.parts)
	switch in.dep {
	case mpispec.AfterNone:
		return
	case mpispec.AfterRoot:
		lo, hi = int(in.root), int(in.root)+1
	case mpispec.RootAfterAll:
		if i != int(in.root) {
			return
		}
	case mpispec.AfterLower:
		hi = i
	case mpispec.AfterAll, mpispec.AfterExchange:
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
