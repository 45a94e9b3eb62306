package call

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// NoPeer: whose part of a side is wanted is not known.
const NoPeer = -1

// MatchSides are what the call sends or receives, for [datatype.Match]: one side, or one of each of the requests that
// it waits for. Of a side with a part for each member it is that for the rank peer of MPI_COMM_WORLD. The error says
// why there is none, or why it is not known.
func (c *Call) MatchSides(receives bool, peer int) ([]datatype.Side, error) {
	if len(c.sides) == 0 {
		array, err := c.given.requests()
		if err != nil {
			return nil, err
		}
		if array != nil {
			return c.requestSides(array, receives, peer)
		}
	}
	s, err := c.MatchSide(receives, peer)
	return []datatype.Side{s}, err
}

// requestSides are those of requests, in the order in which they were posted.
func (c *Call) requestSides(array *requestArray, receives bool, peer int) ([]datatype.Side, error) {
	at, err := array.read(c.r)
	if err != nil {
		return nil, err
	}
	var requests []*Request
	place := map[uint64]int{} // by record
	null := 0
	for i := range int(array.n) {
		q, err := at(i)
		if fault.Is(err, fault.Null) {
			null++
			continue
		}
		if err == nil {
			q, err = q.notIn(place)
		}
		if err != nil {
			return nil, err
		}
		requests = append(requests, q)
		place[q.Head.Address] = i
	}
	slices.SortStableFunc(requests, func(a, b *Request) int { return cmp.Compare(a.Head.ID, b.Head.ID) })
	var out []datatype.Side
	var others []string
	for _, q := range requests {
		k := q.Call()
		s, err := k.MatchSide(receives, peer)
		if err != nil {
			others = append(others, k.Name+" "+k.Summary())
			continue
		}
		if array.n > 1 {
			s.Envelope.Request = fmt.Sprintf("request [%d] of %s", place[q.Head.Address], c.Name)
		}
		out = append(out, s)
	}
	switch {
	case len(out) > 0:
		return out, nil
	case array.n == 0:
		return nil, fault.Errorf(fault.Usage, 0, "%s is given no requests.", c.Name)
	case len(others) > 0:
		const few = 4
		if len(others) > few {
			others = append(others[:few], fmt.Sprintf("%d more", len(others)-few))
		}
		return nil, fault.Errorf(fault.Usage, 0, "None of the requests of %s is a %s: %s.", c.Name,
			strings.TrimSuffix(sends(receives), "s"), strings.Join(others, "; "))
	}
	return nil, fault.Errorf(fault.Usage, 0, "%s has ended: its %s complete, and MPI_REQUEST_NULL now.", c.Name,
		prose.Plural(null, "request is", "requests are"))
}

func sends(receives bool) string {
	if receives {
		return "receives"
	}
	return "sends"
}

// notIn is the request, or the next one with the same handle that is not among those.
func (q *Request) notIn(met map[uint64]int) (*Request, error) {
	if _, again := met[q.Head.Address]; !again {
		return q, nil
	}
	all, err := q.Rank.Chain(q.Head.Address) // the library gives a handle to several
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		if _, again := met[h.Address]; !again {
			return RequestOf(q.Rank.ObjectOf(h)), nil
		}
	}
	return nil, fault.Errorf(fault.NotFound, 0, "The handle 0x%x is there more often than requests have it.",
		q.Head.Handle)
}

// MatchSide is what the call sends or receives itself.
func (c *Call) MatchSide(receives bool, peer int) (datatype.Side, error) {
	for i := range c.sides {
		s := &c.sides[i]
		switch {
		case s.receives() != receives && s.spec.Direction != mpispec.Both:
			continue
		case s.err != nil:
			return datatype.Side{}, s.err
		case strings.HasPrefix(s.note, "in place") && len(c.sides) == 2 && c.sides[1-i].err == nil &&
			!c.sides[1-i].none:
			s = &c.sides[1-i] // it is both
		case s.none:
			return datatype.Side{}, fault.Errorf(fault.Usage, 0, "%s %s nothing here: %s.", c.Name, s.verb, s.note)
		}
		p, err := c.partFor(s, peer)
		if err != nil {
			return datatype.Side{}, err
		}
		return datatype.Side{
			Name: p.named(p.Type.Label), Type: p.Type, Count: p.count / max(p.peers, 1), Envelope: c.Envelope(receives),
		}, nil
	}
	what := ""
	if len(c.sides) > 0 {
		what = ": it " + c.Summary()
	}
	return datatype.Side{}, fault.Errorf(fault.Usage, 0, "%s %s nothing%s.", c.Name, sends(receives), what)
}

// partFor is the part of a side that goes to, or comes from, a rank of MPI_COMM_WORLD.
func (c *Call) partFor(s *callSide, peer int) (*callPart, error) {
	if s.whole() {
		return &s.parts[0], nil
	}
	if c.comm != nil && peer >= 0 {
		i := slices.Index(c.group(), int64(peer))
		if i >= 0 && len(c.group()) == len(s.parts) { // not so for neighbours
			return &s.parts[i], nil
		}
	}
	return nil, fault.Errorf(fault.Usage, 0,
		"%s has a buffer with a part for each of %d ranks; name the type and count of one with mpipp --match.", c.Name,
		len(s.parts))
}

// Envelope is that of the call's send or receive.
func (c *Call) Envelope(receives bool) *datatype.Envelope {
	e := &datatype.Envelope{
		Call: c.Name, Self: datatype.NotKnown, Peer: datatype.NotKnown, Tag: datatype.NotKnown, Root: datatype.NotKnown,
	}
	if c.comm == nil {
		return e
	}
	e.Comm, e.CommName = c.comm.Record.GlobalID, c.comm.Told("")
	inWorld := func(group []int64, n int64) int64 {
		if n < 0 || n >= int64(len(group)) || group[n] == handle.OutsideWorld {
			return datatype.NotKnown
		}
		return group[n]
	}
	e.Self = inWorld(c.comm.Members, int64(c.comm.Rank))
	peer, tags := "dest", []string{"sendtag", "tag"}
	if receives {
		peer, tags = "source", []string{"recvtag", "tag"}
	}
	if !c.fn.Has("dest") && !c.fn.Has("source") {
		e.Collective = c.fn.Op != mpispec.OpNone
		if c.root == rootSelf {
			e.Root = e.Self
		} else if n, err := c.given.number("root"); err == nil && c.root == rootOther {
			e.Root = inWorld(c.group(), n)
		}
		if op, err := c.given.op(); err == nil && c.fn.Has("op") {
			e.Op = op
		}
		return e
	}
	if n, err := c.given.number(peer); err == nil {
		switch n {
		case c.r.ProcNull():
			e.Peer = datatype.NullRank
		case c.r.AnySource():
			e.Peer = datatype.AnyRank
		default:
			e.Peer = inWorld(c.group(), n)
		}
	}
	for _, t := range tags {
		if n, err := c.given.number(t); c.fn.Has(t) && err == nil {
			if e.Tag = n; n == registry.AnyTag {
				e.Tag = datatype.AnyRank
			}
			break
		}
	}
	return e
}

// Event is a call of this rank by the number of its event.
type Event struct {
	Number uint64 // 0: none
	Call   string // MPI_Isend, MPI_Startall
	Which  int    // place in the array of a Startall, else 0
}

// starts reports whether the call starts requests that were made before.
func (e *Event) starts() bool {
	f, ok := mpispec.Lookup(e.Call)
	return ok && f.Class == mpispec.ClassStart
}

// EventSide is what a call sends or receives. It is known while the rank is in the call, be it at its end, and as long
// as its request is pending. peer is as for [Call.MatchSides].
func EventSide(r *handle.Rank, e Event, receives bool, peer int, res Resolver) (datatype.Side, error) {
	running, err := InProgress(r, res.CallAt)
	for i := range running {
		// A poll that fails is no event: the next one is another call.
		if k := &running[i]; k.Event+1 == e.Number && k.Name == e.Call {
			return k.eventSide(&e, receives, peer)
		}
	}
	if err != nil {
		return datatype.Side{}, err
	}
	requests, _, _, err := r.Heads(registry.ClassOf(registry.KindRequest))
	if err != nil {
		return datatype.Side{}, err
	}
	detached, err := r.Detached()
	if err != nil {
		return datatype.Side{}, err
	}
	var found []datatype.Side
	for _, h := range slices.Concat(requests, detached) {
		q := RequestOf(r.ObjectOf(h))
		k := q.Call()
		is := q.Head.Event+1 == e.Number && k.Name == e.Call
		if q.Head.State&abi.RequestPersistent != 0 {
			is = q.abi.StartEvent == e.Number && e.starts()
		}
		if !is {
			continue
		}
		if s, err := k.MatchSide(receives, peer); err == nil {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return datatype.Side{}, fault.Errorf(fault.NotFound, 0,
			"The rank is not in the call of its event %d, and has no request of it.", e.Number)
	}
	return datatype.Side{}, fault.Errorf(fault.NotFound, 0, "The rank is not in the call of its event %d, which "+
		"started %d requests, and which of them is meant is not known any more.", e.Number, len(found))
}

// eventSide is the side of the call, or of the request that it starts.
func (c *Call) eventSide(e *Event, receives bool, peer int) (datatype.Side, error) {
	array, err := c.given.requests()
	if err != nil || array == nil || !e.starts() {
		return c.MatchSide(receives, peer)
	}
	at, err := array.read(c.r)
	if err != nil {
		return datatype.Side{}, err
	}
	if e.Which < 0 || int64(e.Which) >= array.n {
		return datatype.Side{}, fault.Errorf(fault.Usage, 0, "%s is given %s, and number %d was asked for.", c.Name,
			view.Plural(array.n, "request"), e.Which)
	}
	q, err := at(e.Which)
	if err != nil {
		return datatype.Side{}, err
	}
	return q.Call().MatchSide(receives, peer)
}
