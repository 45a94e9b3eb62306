package causal

import (
	"fmt"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

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

// first is the call of the first member that made one; zero if none did.
func (in *instance) first() EventID {
	for j, p := range in.parts {
		if p.entry != 0 {
			return EventID{in.comm.world[j], p.entry}
		}
	}
	return EventID{}
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
	return c.nth(&c.started[n], k)
}

// nth returns the n-th of a sequence of collectives, from 0.
func (c *comm) nth(of *[]*instance, n int) *instance {
	for len(*of) <= n {
		*of = append(*of, &instance{comm: c, place: len(*of) + 1, parts: make([]part, len(c.world))})
	}
	return (*of)[n]
}

func (in *ingest) collective(e *trace.Event) error {
	v, err := in.view(e, e.Coll.Comm)
	if err != nil {
		return err
	}
	if e.Op.Function().Among {
		return in.create(e)
	}
	inst := v.comm.nth(&v.comm.seq, in.calls[v.comm])
	in.calls[v.comm]++
	blocking := !e.Op.MakesRequest()
	if !blocking {
		in.requests.Post(e.Index, request{class: trace.RequestCollective, index: none, coll: inst})
	}
	return in.join(e, e.Op, e.Coll.Root, inst, blocking)
}

// collectiveInit makes a persistent collective, which is local: the n-th of one member is that of the others.
func (in *ingest) collectiveInit(e *trace.Event) error {
	v, err := in.view(e, e.Coll.Comm)
	if err != nil {
		return err
	}
	in.requests.Init(e.Index, persistent{coll: v.comm, nth: in.made[v.comm], op: e.Coll.Of, root: e.Coll.Root})
	in.made[v.comm]++
	return nil
}

// create is a call that is collective over the members of the communicator that it makes.
func (in *ingest) create(e *trace.Event) error {
	if e.Coll.NewComm == 0 {
		return nil
	}
	v, err := in.view(e, e.Coll.NewComm-1)
	if err != nil {
		return err
	}
	made := in.b.created[v.comm.id]
	if made == nil {
		made = &instance{comm: v.comm, parts: make([]part, len(v.comm.world))}
		in.b.created[v.comm.id] = made
	}
	return in.join(e, e.Op, e.Coll.Root, made, true)
}

// join makes event e this rank's call of a collective.
func (in *ingest) join(e *trace.Event, op mpispec.Op, root int32, inst *instance, blocking bool) error {
	dep := op.Function().After
	switch {
	case inst.comm.inter:
		dep, root = mpispec.AfterAll, trace.NoRoot // MPI_ROOT and MPI_PROC_NULL name no rank
	case dep == mpispec.AfterExchange:
		dep = mpispec.AfterAll
	}
	if dep == mpispec.AfterRoot || dep == mpispec.RootAfterAll {
		if root < 0 || int(root) >= len(inst.comm.world) {
			return in.fault(e, "%s with root %d in a communicator of %d", op.Call(), root, len(inst.comm.world))
		}
	} else {
		root = trace.NoRoot
	}
	if inst.op == mpispec.OpNone {
		inst.op, inst.root, inst.dep, inst.blocking = op, root, dep, blocking
	}
	if inst.op != op || inst.root != root {
		return in.mismatch(e, op, inst, root)
	}
	me := &inst.parts[inst.comm.member[in.rank]]
	if me.entry != 0 {
		return in.fault(e, "%s is the second call of one rank in one collective", op.Call())
	}
	me.entry = e.Index
	if blocking {
		me.exit = e.Index
	}
	return nil
}

// mismatch is two ranks that made different calls at the same place of a communicator's sequence of collectives.
func (in *ingest) mismatch(e *trace.Event, op mpispec.Op, inst *instance, root int32) error {
	where := fmt.Sprintf("collective call number %d on communicator %#x is %s", inst.place, inst.comm.id,
		inst.op.Call())
	first, here := inst.first(), EventID{in.rank, e.Index}
	if inst.op == op {
		return fmt.Errorf("%s with root %d at %s but with root %d at %s", where, inst.root, first, root, here)
	}
	return fmt.Errorf("%s at %s but %s at %s", where, first, op.Call(), here)
}
