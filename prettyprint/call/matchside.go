package call

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/mpicall"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// NoPeer: whose part of a side is wanted is not known.
const NoPeer = -1

// MatchSides are what the call sends or receives, for [Match]: one side, or one of each of the requests that it waits
// for. Of a side with a part for each member it is that for the rank peer of MPI_COMM_WORLD. The error says why there
// is none, or why it is not known.
func (c *Call) MatchSides(receives bool, peer int) ([]datatype.Side, error) {
	if given, ok := c.given.(interface{ requestArray() (*requestArray, error) }); ok && len(c.sides) == 0 {
		array, err := given.requestArray()
		if err != nil {
			return nil, err
		}
		if array != nil {
			return c.requestSides(*array, receives, peer)
		}
	}
	s, err := c.MatchSide(receives, peer)
	return []datatype.Side{s}, err
}

// requestSides are those of requests, in the order in which they were posted.
func (c *Call) requestSides(array requestArray, receives bool, peer int) ([]datatype.Side, error) {
	at, err := readRequests(c.r, array)
	if err != nil {
		return nil, err
	}
	var requests []*Request
	place := map[uint64]int{} // by record
	null := 0
	for i := range int(array.n) {
		switch q, err := at(i); {
		case fault.Is(err, fault.Null):
			null++
		case err != nil:
			return nil, err
		default:
			if _, again := place[q.Head.Address]; again { // the library gives this handle to several
				if q, err = q.another(place); err != nil {
					return nil, err
				}
			}
			requests = append(requests, q)
			place[q.Head.Address] = i
		}
	}
	slices.SortStableFunc(requests, func(a, b *Request) int { return cmp.Compare(a.Head.ID, b.Head.ID) })
	var out []datatype.Side
	var others []string
	for _, q := range requests {
		k := q.Call()
		s, err := k.MatchSide(receives, peer)
		if err != nil {
			others = append(others, k.name+" "+k.Summary())
			continue
		}
		if array.n > 1 {
			s.Envelope.Request = fmt.Sprintf("request [%d] of %s", place[q.Head.Address], c.name)
		}
		out = append(out, s)
	}
	if len(out) > 0 {
		return out, nil
	}
	what := "send"
	if receives {
		what = "receive"
	}
	switch {
	case array.n == 0:
		return nil, fault.Errorf(fault.Usage, 0, "%s is given no requests.", c.name)
	case len(others) > 0:
		const few = 4
		if len(others) > few {
			others = append(others[:few], fmt.Sprintf("%d more", len(others)-few))
		}
		return nil, fault.Errorf(fault.Usage, 0, "None of the requests of %s is a %s: %s.", c.name, what,
			strings.Join(others, "; "))
	}
	return nil, fault.Errorf(fault.Usage, 0, "%s has ended: its %s complete, and MPI_REQUEST_NULL now.", c.name,
		map[bool]string{true: "request is", false: "requests are"}[null == 1])
}

// another is the next request with the same handle that was not met yet.
func (q *Request) another(met map[uint64]int) (*Request, error) {
	all, err := q.Rank.Chain(q.Head.Address)
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		if _, again := met[h.Address]; !again {
			return RequestOf(q.Rank.ObjectOf(h)), nil
		}
	}
	return nil, fault.Errorf(fault.NotFound, 0, "The handle 0x%x is there more often than requests have it.", q.Head.Handle)
}

// MatchSide is what the call sends or receives itself.
func (c *Call) MatchSide(receives bool, peer int) (datatype.Side, error) {
	for i := range c.sides {
		s := &c.sides[i]
		is := s.receives() == receives || s.spec.Direction == mpispec.Both
		switch {
		case !is:
			continue
		case s.err != nil:
			return datatype.Side{}, s.err
		case strings.HasPrefix(s.note, "in place") && len(c.sides) == 2 && c.sides[1-i].err == nil &&
			!c.sides[1-i].none:
			s = &c.sides[1-i] // it is both
		case s.none:
			return datatype.Side{}, fault.Errorf(fault.Usage, 0, "%s %s nothing here: %s.", c.name, s.verb, s.note)
		}
		p, err := c.partFor(s, peer)
		if err != nil {
			return datatype.Side{}, err
		}
		name := p.name
		if !simpleName(name) {
			name = p.t.Label()
		}
		count := p.count
		if p.peers > 0 {
			count /= p.peers
		}
		return datatype.Side{Name: name, Type: p.t, Count: count, Envelope: c.envelope(receives)}, nil
	}
	what := "sends"
	if receives {
		what = "receives"
	}
	if len(c.sides) == 0 {
		return datatype.Side{}, fault.Errorf(fault.Usage, 0, "%s %s nothing.", c.name, what)
	}
	return datatype.Side{}, fault.Errorf(fault.Usage, 0, "%s %s nothing: it %s.", c.name, what, c.Summary())
}

// partFor is the part of a side that goes to, or comes from, a rank of MPI_COMM_WORLD.
func (c *Call) partFor(s *callSide, peer int) (*callPart, error) {
	if len(s.parts) == 1 && s.parts[0].label == "" {
		return &s.parts[0], nil
	}
	if c.comm != nil && peer >= 0 {
		group := c.comm.Members()
		if c.comm.Kind() == abi.CommInter {
			group = c.comm.Remote()
		}
		if len(group) == len(s.parts) { // not so for neighbours
			for i, r := range group {
				if int64(r) == int64(peer) {
					return &s.parts[i], nil
				}
			}
		}
	}
	return nil, fault.Errorf(fault.Usage, 0,
		"%s has a buffer with a part for each of %d ranks; name the type and count of one with mpipp --match.", c.name,
		len(s.parts))
}

// Event is a call of this rank by the number of its event.
type Event struct {
	Number uint64
	Call   string // MPI_Isend, MPI_Startall
	Which  int    // place in the array of a Startall, else 0
}

// starts reports whether the call starts requests that were made before.
func (e *Event) starts() bool {
	f, ok := mpispec.Lookup(e.Call)
	return ok && f.Class == mpispec.ClassStart
}

// EventSide is what a call sends or receives. It is known while the rank is in the call, be it at its end, and as long
// as its request is pending. peer is as for matchSides.
func EventSide(r *handle.Rank, e Event, receives bool, peer int, res Resolver) (datatype.Side, error) {
	source := func(uint64, string) *mpicall.Call { return nil }
	if text, ok := res.(SourceText); ok {
		source = text.CallAt
	}
	running, err := InProgress(r, source)
	for i := range running {
		// A poll that fails is no event: the next one is another call.
		if k := &running[i]; k.Event+1 == e.Number && k.name == e.Call {
			return k.eventSide(&e, receives, peer)
		}
	}
	if err != nil {
		return datatype.Side{}, err
	}
	var found []datatype.Side
	requests, _, _, err := r.Heads(registry.ClassOf(registry.KindRequest))
	if err != nil {
		return datatype.Side{}, err
	}
	detached, err := r.Detached()
	if err != nil {
		return datatype.Side{}, err
	}
	for _, h := range slices.Concat(requests, detached) {
		q := RequestOf(r.ObjectOf(h))
		k := q.Call()
		posted := q.Head.State&abi.RequestPersistent == 0 && q.Head.Event+1 == e.Number && k.name == e.Call
		started := q.Head.State&abi.RequestPersistent != 0 && q.abi.StartEvent == e.Number && e.starts()
		if !posted && !started {
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
		return datatype.Side{}, fault.Errorf(fault.NotFound, 0, "The rank is not in the call of its event %d, and has no request of it.",
			e.Number)
	}
	return datatype.Side{}, fault.Errorf(fault.NotFound, 0, "The rank is not in the call of its event %d, which started %d requests, "+
		"and which of them is meant is not known any more.",
		e.Number, len(found))
}

// eventSide is the side of the call, or of the request that it starts.
func (c *Call) eventSide(e *Event, receives bool, peer int) (datatype.Side, error) {
	given, ok := c.given.(*recordArguments)
	if !ok || given.array == nil || !e.starts() {
		return c.MatchSide(receives, peer)
	}
	which := e.Which
	at, err := readRequests(c.r, *given.array)
	if err != nil {
		return datatype.Side{}, err
	}
	if which < 0 || int64(which) >= given.array.n {
		return datatype.Side{}, fault.Errorf(fault.Usage, 0, "%s is given %s, and number %d was asked for.", c.name,
			view.Plural(given.array.n, "request"), which)
	}
	q, err := at(which)
	if err != nil {
		return datatype.Side{}, err
	}
	return q.Call().MatchSide(receives, peer)
}
