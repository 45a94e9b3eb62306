package causal

import (
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

func (in *ingest) collective(e *trace.Event) error {
	v, err := in.view(e, e.Coll.Comm)
	if err != nil {
		return err
	}
	if e.Op.Function().Among {
		return in.create(e)
	}
	n := in.calls[v.comm]
	in.calls[v.comm]++
	blocking := !e.Op.MakesRequest()
	inst := v.comm.at(n)
	if !blocking {
		in.requests.Post(e.Index, request{kind: requestCollective, index: none, coll: inst})
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
	me := inst.comm.member[in.rank]
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
	if inst.parts[me].entry != 0 {
		return in.fault(e, "%s is the second call of one rank in one collective", op.Call())
	}
	inst.parts[me].entry = e.Index
	if blocking {
		inst.parts[me].exit = e.Index
	}
	return nil
}

func (in *ingest) mismatch(e *trace.Event, op mpispec.Op, inst *instance, root int32) error {
	err := &CollectiveMismatchError{
		Comm: inst.comm.id, Place: inst.place, B: EventID{in.rank, e.Index}, CallA: inst.op, CallB: op,
		RootA: inst.root, RootB: root,
		IsRoot: inst.op == op,
	}
	for j := range inst.parts {
		if inst.parts[j].entry != 0 {
			err.A = EventID{inst.comm.world[j], inst.parts[j].entry}
			break
		}
	}
	return err
}
