package call

import (
	"cmp"
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/waits"
)

// Waits is what the rank knows of whom it waits for.
func Waits(r *handle.Rank) (waits.Rank, error) {
	w := &waiting{r: r, out: waits.Rank{State: waits.Stopped, Comms: map[uint64]waits.Comm{}}}
	for _, step := range []func() error{w.pending, w.calls, w.traffic} {
		if err := step(); err != nil {
			return waits.Rank{}, err
		}
	}
	return w.out, nil
}

type waiting struct {
	r        *handle.Rank
	requests map[uint64]waits.Operation // by address of the record
	out      waits.Rank
}

func (w *waiting) pending() error {
	live, problems, unread, err := w.r.Heads(registry.ClassOf(registry.KindRequest))
	if err != nil {
		return err
	}
	if len(problems) > 0 || unread > 0 {
		return fault.Errorf(fault.TooLarge, 0, "Of the rank's requests %d cannot be read, or are too many.",
			len(problems)+unread)
	}
	detached, err := w.r.Detached()
	if err != nil {
		return err
	}
	w.requests = map[uint64]waits.Operation{}
	for _, h := range slices.Concat(live, detached) {
		q := RequestOf(w.r.ObjectOf(h))
		if h.State&abi.RequestActive == 0 {
			continue
		}
		ops := w.operations(q.Call().Name, &q.abi.A, q.site())
		for i := range ops { // of MPI_Isendrecv two
			ops[i].Request = q.order()
			if q.Pending() {
				w.out.Pending = append(w.out.Pending, ops[i])
			}
		}
		if len(ops) == 1 {
			w.requests[h.Address] = ops[0]
		}
	}
	slices.SortStableFunc(w.out.Pending, func(a, b waits.Operation) int { return cmp.Compare(a.Request, b.Request) })
	return nil
}

// order is a number by which requests are in the order in which they became active.
func (q *Request) order() uint64 {
	if q.abi.StartEvent != 0 {
		return q.abi.StartEvent<<20 | q.Head.ID&(1<<20-1)
	}
	return (q.Head.Event+1)<<20 | q.Head.ID&(1<<20-1)
}

func (q *Request) site() uint64 { return cmp.Or(q.abi.StartSite, q.Head.CallSite) }

func (w *waiting) calls() error {
	all, err := callRecords(w.r)
	if err != nil {
		return err
	}
	for i := range all {
		k := &all[i]
		if k.Active == 0 {
			continue
		}
		name := operation(&k.A)
		fn, known := mpispec.Lookup(name)
		c := waits.Call{Name: name, At: w.r.Line(k.CallSite), Whole: true}
		c.Polls = known && !fn.Nonlocal
		switch {
		case k.NRequests > 0 && known && fn.Completes != mpispec.CompletesNone:
			c.Any = fn.Completes == mpispec.CompletesAny || fn.Completes == mpispec.CompletesSome
			c.Ops, c.Whole = w.given(&requestArray{addr: k.Requests, n: k.NRequests})
		default:
			c.Ops = w.operations(name, &k.A, k.CallSite)
			c.Whole = len(c.Ops) > 0
		}
		w.out.Calls = append(w.out.Calls, c)
	}
	return nil
}

// given are the operations of the requests that a call waits for; whole is false if they are not known of all.
func (w *waiting) given(array *requestArray) (ops []waits.Operation, whole bool) {
	at, err := array.read(w.r)
	if err != nil {
		return nil, false
	}
	whole = true
	met := map[uint64]int{}
	for i := range int(array.n) {
		q, err := at(i)
		if fault.Is(err, fault.Null) { // or complete by now
			continue
		}
		if err == nil {
			q, err = q.notIn(met)
		}
		if err != nil {
			whole = false
			continue
		}
		met[q.Head.Address] = i
		op, known := w.requests[q.Head.Address]
		switch {
		case q.Head.State&abi.RequestActive == 0:
		case !q.Pending(), !known:
			ops = append(ops, waits.Operation{Kind: waits.Other, Call: q.Call().Name})
		default:
			ops = append(ops, op)
		}
	}
	return ops, whole
}

// operations are what a call does: of MPI_Sendrecv two.
func (w *waiting) operations(name string, a *abi.Action, site uint64) []waits.Operation {
	k := recordCall(w.r, &recordArguments{r: w.r, a: a}, Running)
	op := waits.Operation{
		Kind: waits.Other, Call: name, At: w.r.Line(site), Peer: waits.Unknown, Tag: waits.Any, Root: waits.Unknown,
		Nth: a.Nth,
	}
	if k.comm == nil || k.comm.Record.GlobalID == 0 {
		return []waits.Operation{op}
	}
	op.Comm = w.comm(k.comm)
	fn := k.fn
	if fn.WithRole(mpispec.RoleDest) == nil && fn.WithRole(mpispec.RoleSource) == nil {
		w.collective(k, a, &op)
		return []waits.Operation{op}
	}
	var ops []waits.Operation
	for _, receives := range []bool{false, true} {
		role := mpispec.RoleDest
		if receives {
			role = mpispec.RoleSource
		}
		if fn.WithRole(role) == nil {
			continue
		}
		e := k.Envelope(receives)
		one := op
		one.Kind, one.Tag, one.Peer = waits.Send, int(e.Tag), peerOf(e.Peer)
		if receives {
			one.Kind, one.Probe = waits.Receive, len(fn.Buffers) == 0 && fn.OfType("MPI_Message", mpispec.Out) == nil
		}
		switch e.Tag {
		case datatype.AnyRank:
			one.Tag = waits.Any
		case datatype.NotKnown:
			one.Kind = waits.Other
		}
		one.Mode = fn.Mode
		ops = append(ops, one)
	}
	return ops
}

func peerOf(n int64) int {
	switch n {
	case datatype.AnyRank:
		return waits.Any
	case datatype.NullRank:
		return waits.Null
	case datatype.NotKnown:
		return waits.Unknown
	}
	return int(n)
}

// collective fills in what a collective waits for.
func (w *waiting) collective(k *Call, a *abi.Action, op *waits.Operation) {
	fn := k.fn
	if base := fn.Base; base != nil {
		fn = base
	}
	if fn.Class != mpispec.ClassCollective && fn.Class != mpispec.ClassComm || fn.Among {
		return
	}
	op.Kind, op.After = waits.Collective, fn.After
	e := k.Envelope(false)
	if op.Root = peerOf(e.Root); op.Root < 0 {
		op.Root = waits.Unknown
	}
	neighbours := k.comm.Kind == abi.CommInter || fn.Param("comm") != nil && len(fn.Buffers) > 0 &&
		slices.ContainsFunc(fn.Buffers, func(b mpispec.Buffer) bool {
			return b.Times == mpispec.PerSource || b.Times == mpispec.PerTarget
		})
	if neighbours { // whom it needs is not looked into
		op.After = mpispec.AfterNone
		return
	}
	side := &a.Receive
	switch {
	case side.Flags&abi.SidePresent == 0, side.Flags&abi.SideNotHere != 0:
	case side.Flags&abi.SideVector == 0 && side.Count == 0:
		op.After = mpispec.AfterNone // nothing is received
	case side.Flags&abi.SideVector != 0 && side.Counts != 0 && int(side.N) == len(k.group()):
		counts, err := w.r.Integers("counts", side.Counts, int(side.N), side.Flags&abi.SideCounts64 != 0)
		if err != nil {
			op.After = mpispec.AfterNone
			return
		}
		op.From = []int{}
		for i, n := range counts {
			if n > 0 {
				op.From = append(op.From, int(k.group()[i]))
			}
		}
	}
}

// comm notes a communicator.
func (w *waiting) comm(c *handle.Comm) uint64 {
	id := c.Record.GlobalID
	if _, again := w.out.Comms[id]; !again {
		m := waits.Comm{Name: c.Told("")}
		if c.Name != "" {
			m.Name = c.Name
		}
		for _, r := range c.Members {
			m.Members = append(m.Members, int(r))
		}
		if c.Kind == abi.CommInter {
			for _, r := range c.Remote {
				m.Members = append(m.Members, int(r))
			}
		}
		w.out.Comms[id] = m
	}
	return id
}

func (w *waiting) traffic() error {
	all, err := w.r.Messages()
	if err != nil {
		return err
	}
	comms, _, _, err := w.r.Heads(registry.ClassOf(registry.KindComm))
	if err != nil {
		return err
	}
	byID := map[uint64]*handle.Comm{}
	for _, h := range comms {
		c, err := w.r.CommAt(h.Address)
		if err == nil && h.State&(abi.ObjectFreed|abi.ObjectGoing) == 0 {
			byID[c.Record.GlobalID] = c
			w.out.Live = append(w.out.Live, c.Record.GlobalID)
		}
	}
	for _, t := range all {
		c := byID[t.Comm]
		if c == nil {
			continue // it was freed
		}
		peer := waits.Collectives
		if t.Peer != abi.Collectives {
			if t.Peer < 0 || int(t.Peer) >= len(c.Peers) || c.Peers[t.Peer] == handle.OutsideWorld {
				continue
			}
			peer = int(c.Peers[t.Peer])
		}
		w.comm(c)
		w.out.Traffic = append(w.out.Traffic, waits.Traffic{
			Comm: t.Comm, Peer: peer, Tag: int(t.Tag), Sent: t.Sent, Received: t.Received,
		})
	}
	w.out.Uncounted = w.r.Header.Uncounted
	return nil
}
