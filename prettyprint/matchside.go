package prettyprint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
)

// noPeer: whose part of a side is wanted is not known.
const noPeer = -1

// matchSides are what the call sends or receives, for [Match]: one side, or one of each of the requests that it waits
// for. Of a side with a part for each member it is that for the rank peer of MPI_COMM_WORLD. The error says why there
// is none, or why it is not known.
func (c *Call) matchSides(receives bool, peer int) ([]Side, error) {
	if given, ok := c.given.(interface{ requestArray() (*requestArray, error) }); ok && len(c.sides) == 0 {
		array, err := given.requestArray()
		if err != nil {
			return nil, err
		}
		if array != nil {
			return c.requestSides(*array, receives, peer)
		}
	}
	s, err := c.matchSide(receives, peer)
	return []Side{s}, err
}

// requestSides are those of requests, in the order in which they were posted.
func (c *Call) requestSides(array requestArray, receives bool, peer int) ([]Side, error) {
	at, err := c.r.readRequests(array)
	if err != nil {
		return nil, err
	}
	var requests []*Object
	place := map[*Object]int{}
	null := 0
	for i := range int(array.n) {
		switch o, err := at(i); {
		case IsKind(err, KindNull):
			null++
		case err != nil:
			return nil, err
		default:
			if _, again := place[o]; again { // the library gives this handle to several
				if o, err = c.r.another(o, place); err != nil {
					return nil, err
				}
			}
			requests = append(requests, o)
			place[o] = i
		}
	}
	slices.SortStableFunc(requests, func(a, b *Object) int { return cmp.Compare(a.hdr.id, b.hdr.id) })
	var out []Side
	var others []string
	for _, o := range requests {
		k := o.request().call()
		s, err := k.matchSide(receives, peer)
		if err != nil {
			others = append(others, k.name+" "+k.Summary())
			continue
		}
		if array.n > 1 {
			s.Envelope.Request = fmt.Sprintf("request [%d] of %s", place[o], c.name)
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
		return nil, errorf(KindUsage, 0, "%s is given no requests.", c.name)
	case len(others) > 0:
		const few = 4
		if len(others) > few {
			others = append(others[:few], fmt.Sprintf("%d more", len(others)-few))
		}
		return nil, errorf(KindUsage, 0, "None of the requests of %s is a %s: %s.", c.name, what,
			strings.Join(others, "; "))
	}
	return nil, errorf(KindUsage, 0, "%s has ended: its %s complete, and MPI_REQUEST_NULL now.", c.name,
		map[bool]string{true: "request is", false: "requests are"}[null == 1])
}

// another is the next request with the same handle that was not met yet.
func (r *Registry) another(o *Object, met map[*Object]int) (*Object, error) {
	all, err := r.chain(o, sharedMax)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if _, again := met[o]; !again {
			return o, nil
		}
	}
	return nil, errorf(KindNotFound, 0, "The handle 0x%x is there more often than requests have it.", o.hdr.handle)
}

// matchSide is what the call sends or receives itself.
func (c *Call) matchSide(receives bool, peer int) (Side, error) {
	for i := range c.sides {
		s := &c.sides[i]
		is := s.receives() == receives || s.spec.Direction == mpicall.Both
		switch {
		case !is:
			continue
		case s.err != nil:
			return Side{}, s.err
		case strings.HasPrefix(s.note, "in place") && len(c.sides) == 2 && c.sides[1-i].err == nil &&
			!c.sides[1-i].none:
			s = &c.sides[1-i] // it is both
		case s.none:
			return Side{}, errorf(KindUsage, 0, "%s %s nothing here: %s.", c.name, s.verb, s.note)
		}
		p, err := c.partFor(s, peer)
		if err != nil {
			return Side{}, err
		}
		name := p.name
		if !simpleName(name) {
			name = p.t.Label()
		}
		count := p.count
		if p.peers > 0 {
			count /= p.peers
		}
		return Side{Name: name, Type: p.t, Count: count, Envelope: c.envelope(receives)}, nil
	}
	what := "sends"
	if receives {
		what = "receives"
	}
	if len(c.sides) == 0 {
		return Side{}, errorf(KindUsage, 0, "%s %s nothing.", c.name, what)
	}
	return Side{}, errorf(KindUsage, 0, "%s %s nothing: it %s.", c.name, what, c.Summary())
}

// partFor is the part of a side that goes to, or comes from, a rank of MPI_COMM_WORLD.
func (c *Call) partFor(s *callSide, peer int) (*callPart, error) {
	if len(s.parts) == 1 && s.parts[0].label == "" {
		return &s.parts[0], nil
	}
	if c.comm != nil && peer >= 0 {
		group := c.comm.Members()
		if c.comm.Kind() == CommInter {
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
	return nil, errorf(KindUsage, 0,
		"%s has a buffer with a part for each of %d ranks; name the type and count of one with mpipp --match.", c.name,
		len(s.parts))
}

// eventAsked is a call of this rank by the number of its event.
type eventAsked struct {
	number uint64
	call   string // MPI_Isend, MPI_Startall
	which  int    // place in the array of a Startall, else 0
}

// starts reports whether the call starts requests that were made before.
func (e *eventAsked) starts() bool { return e.call == "MPI_Start" || e.call == "MPI_Startall" }

// eventSide is what a call sends or receives. It is known while the rank is in the call, be it at its end, and as long
// as its request is pending. peer is as for matchSides.
func (r *Registry) eventSide(e eventAsked, receives bool, peer int, res Resolver) (Side, error) {
	source := func(uint64, string) *mpicall.Call { return nil }
	if text, ok := res.(SourceText); ok {
		source = text.CallAt
	}
	running, err := r.CallsInProgress(source)
	for i := range running {
		// A poll that fails is no event: the next one is another call.
		if k := &running[i]; k.Event+1 == e.number && k.name == e.call {
			return k.eventSide(&e, receives, peer)
		}
	}
	if err != nil {
		return Side{}, err
	}
	var found []Side
	requests, err := r.objectsOf(infoOf(HandleRequest))
	if err != nil {
		return Side{}, err
	}
	detached, err := r.Detached()
	if err != nil {
		return Side{}, err
	}
	for _, o := range append(requests, detached...) {
		q := o.request()
		k := q.call()
		posted := q.hdr.state&requestPersistent == 0 && q.hdr.event+1 == e.number && k.name == e.call
		started := q.hdr.state&requestPersistent != 0 && q.abi.startEvent == e.number && e.starts()
		if !posted && !started {
			continue
		}
		if s, err := k.matchSide(receives, peer); err == nil {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Side{}, errorf(KindNotFound, 0, "The rank is not in the call of its event %d, and has no request of it.",
			e.number)
	}
	return Side{}, errorf(KindNotFound, 0, "The rank is not in the call of its event %d, which started %d requests, "+
		"and which of them is meant is not known any more.",
		e.number, len(found))
}

// eventSide is the side of the call, or of the request that it starts.
func (c *Call) eventSide(e *eventAsked, receives bool, peer int) (Side, error) {
	given, ok := c.given.(*recordArguments)
	if !ok || given.array == nil || !e.starts() {
		return c.matchSide(receives, peer)
	}
	which := e.which
	at, err := c.r.readRequests(*given.array)
	if err != nil {
		return Side{}, err
	}
	if which < 0 || int64(which) >= given.array.n {
		return Side{}, errorf(KindUsage, 0, "%s is given %s, and number %d was asked for.", c.name,
			plural(given.array.n, "request"), which)
	}
	o, err := at(which)
	if err != nil {
		return Side{}, err
	}
	return o.request().call().matchSide(receives, peer)
}

// PickMatch chooses, of what a rank sends and what another receives, the two that belong together by their envelopes,
// the first if there are several (messages do not overtake each other, MPI-3.1, 3.5). note says, in a whole sentence,
// that there were others; it is empty if there were none. Neither list is empty.
func PickMatch(sends, recvs []Side) (send, recv Side, note string, err error) {
	fits, first := 0, [2]int{}
	for i := range sends {
		for j := range recvs {
			if m := (Matching{Send: sends[i], Recv: recvs[j]}); len(m.Apart()) > 0 {
				continue
			}
			if fits == 0 {
				first = [2]int{i, j}
			}
			fits++
		}
	}
	switch {
	case len(sends) == 1 && len(recvs) == 1: // whatever it is that keeps them apart is said
	case fits == 0:
		return send, recv, "", errorf(KindNotFound, 0,
			"Of %s and %s none fit each other by communicator, rank and tag: %s; %s.",
			plural(int64(len(sends)), "send"),
			plural(int64(len(recvs)), "receive"), listSides(sends, "sends"), listSides(recvs, "receives"))
	case fits > 1:
		note = fmt.Sprintf("Of %s and %s that could be meant, the first that fit each other by communicator, rank "+
			"and tag are compared; name a request to choose another.",
			plural(int64(len(sends)), "send"), plural(int64(len(recvs)), "receive"))
	}
	return sends[first[0]], recvs[first[1]], note, nil
}

func listSides(sides []Side, verb string) string {
	const few = 4
	var out []string
	for i, s := range sides {
		if i == few {
			out = append(out, fmt.Sprintf("%d more", len(sides)-few))
			break
		}
		text := s.what()
		if s.Envelope != nil {
			text = s.Envelope.Call + " " + verb + " " + text + s.Envelope.text(verb == "receives")
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// text is whom the message is for, or from: " to rank 2, tag 7".
func (e *Envelope) text(receives bool) string {
	how := " to "
	if receives {
		how = " from "
	}
	out := ""
	switch {
	case e.Peer == anyRank:
		out = how + "any rank"
	case e.Peer == nullRank:
		out = how + "MPI_PROC_NULL"
	case e.Peer >= 0:
		out = fmt.Sprintf("%srank %d", how, e.Peer)
	}
	switch {
	case e.Tag == anyRank:
		out += ", any tag"
	case e.Tag >= 0:
		out += fmt.Sprintf(", tag %d", e.Tag)
	}
	return out
}
