package call

import (
	"fmt"
	"math"
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

// operation is the function that an action is of.
func operation(a *abi.Action) string {
	if name := registry.Text(a.Name[:]); strings.HasPrefix(name, "MPI") {
		return name
	}
	if f, ok := mpispec.Lookup(mpispec.Op(a.Op).Call()); ok {
		return f.Name
	}
	return fmt.Sprintf("a call of MPI (operation %d)", a.Op)
}

// recordCall is a call as the registry has it. source is the same call in the source text, for the names of things, or
// nil.
func recordCall(r *handle.Rank, a *abi.Action, state State, source *mpicall.Call) *Call {
	name := operation(a)
	fn, known := mpispec.Lookup(name)
	if !known {
		fn = &mpispec.Function{Name: name}
		if a.Comm != 0 || a.CommHandle != 0 {
			fn.Params = []mpispec.Param{{Name: "comm", Type: "MPI_Comm", Role: mpispec.RoleComm}}
		}
	}
	given := &recordArguments{r: r, a: a, fn: fn, source: source}
	c := &Call{fn: fn, name: name, state: state, given: given, r: r}
	if p := fn.WithRole(mpispec.RoleComm); p != nil {
		if m, err := given.comm(p.Name); err == nil {
			c.comm = m
		}
	}
	c.root = c.rootRole()
	inPlace := a.Send.Flags&abi.SideInPlace != 0 || a.Receive.Flags&abi.SideInPlace != 0
	for _, s := range []struct {
		abi       *abi.Side
		direction mpispec.BufferDirection
	}{{&a.Send, mpispec.Sends}, {&a.Receive, mpispec.Receives}} {
		if s.abi.Flags&abi.SidePresent == 0 {
			continue
		}
		side := c.recordSide(s.abi, s.direction)
		if inPlace && !side.none && s.direction == mpispec.Receives {
			side.verb = fn.Verb(mpispec.Both)
		}
		c.sides = append(c.sides, side)
	}
	return c
}

func (c *Call) recordSide(a *abi.Side, direction mpispec.BufferDirection) callSide {
	spec := mpispec.Buffer{Address: "buffer", Direction: direction}
	for _, b := range c.fn.Buffers {
		if b.Direction == direction || b.Direction == mpispec.Both || b.Direction == mpispec.BcastBuf {
			spec = b
			break
		}
	}
	spec.Direction = direction
	s := callSide{spec: spec, verb: c.fn.Verb(direction)}
	if s.verb == "" {
		s.verb = map[mpispec.BufferDirection]string{mpispec.Sends: "sends", mpispec.Receives: "receives"}[direction]
	}
	switch {
	case a.Flags&abi.SideInPlace != 0 && direction == mpispec.Receives:
		s.none, s.note = true, "in place: what it receives stays in the send buffer"
	case a.Flags&abi.SideInPlace != 0:
		s.none, s.note = true, noteInPlace
	case a.Flags&abi.SideNotHere != 0:
		s.none, s.note = true, "means nothing here: this rank is not the root"
	case a.Flags&abi.SideArraysGone != 0:
		s.err = fault.Errorf(fault.NotDecoded, 0,
			"The arrays of counts and displacements that the call was given are no more; the buffer is at 0x%x.",
			a.Buffer)
	default:
		if s.parts, s.err = c.recordParts(a, spec); s.err == nil {
			c.receiveNote(&s)
		}
	}
	return s
}

func (c *Call) recordParts(a *abi.Side, spec mpispec.Buffer) ([]callPart, error) {
	n := int(min(a.N, registry.MaxParts+1))
	if n > registry.MaxParts {
		return nil, fault.Errorf(fault.TooLarge, 0, "The buffer has parts of %d ranks; those of at most %d are shown.", a.N,
			registry.MaxParts)
	}
	var types []datatype.Part
	if a.Types != 0 {
		var err error
		if types, err = c.r.DatatypeArray("types", a.Types, n, false); err != nil {
			return nil, err
		}
	} else {
		t, err := c.r.DatatypeIfAny(a.Datatype)
		switch {
		case err != nil:
			return nil, err
		case t == nil:
			return nil, fault.Errorf(fault.NotFound, 0,
				"The datatype of the buffer at 0x%x, with the handle 0x%x, is not known.", a.Buffer, a.Handle)
		case t.Problem() != nil:
			return nil, t.Problem()
		}
		types = []datatype.Part{{Name: c.typeName(spec, t), Type: t}}
	}
	if a.Flags&abi.SideVector == 0 {
		if len(types) == 0 {
			return nil, fault.Corruptf(0, "a call's buffer at 0x%x has one part, and an array of no datatypes", a.Buffer)
		}
		count := a.Count
		if count < 0 {
			return nil, fault.Corruptf(0, "a call's buffer at 0x%x has the count %d", a.Buffer, count)
		}
		part := callPart{name: types[0].Name, t: types[0].Type, count: count, addr: a.Buffer}
		if a.Flags&abi.SidePerPeer != 0 {
			part.count, part.peers = datatype.SatMul(count, int64(n)), int64(n)
		}
		return []callPart{part}, nil
	}
	counts, err := c.r.Integers("counts", a.Counts, n, a.Flags&abi.SideCounts64 != 0)
	if err != nil {
		return nil, err
	}
	displs := make([]int64, n)
	if a.Displs != 0 {
		if displs, err = c.r.Integers("displacements", a.Displs, n, a.Flags&abi.SideDispls64 != 0); err != nil {
			return nil, err
		}
	}
	return placeParts(types, counts, displs, a.Buffer, a.Flags&abi.SideDisplsBytes != 0)
}

// typeName is how the program calls a type: in this call, or by its name.
func (c *Call) typeName(spec mpispec.Buffer, t *datatype.Type) string {
	if text := c.given.text(spec.Type); simpleName(text) && spec.Type != "" {
		return text
	}
	if t.Name() != "" {
		return t.Name()
	}
	return t.Combiner().String()
}

// recordArguments are arguments from the registry.
type recordArguments struct {
	r      *handle.Rank
	a      *abi.Action
	fn     *mpispec.Function
	source *mpicall.Call
	array  *requestArray // of the requests that the call is given, or nil
}

func (g *recordArguments) text(parameter string) string {
	if g.source == nil {
		return ""
	}
	s, _ := g.source.Argument(parameter)
	return s
}

// noneInt32 is in a record where a number is not known.
const noneInt32 = math.MinInt32

// number gives what the record has, in the library's numbers.
func (g *recordArguments) number(parameter string) (int64, error) {
	value := int64(noneInt32)
	rank := func(v int32) int64 {
		switch v {
		case -1:
			return g.r.AnySource()
		case -2:
			return g.r.ProcNull()
		}
		return int64(v)
	}
	switch parameter {
	case "dest":
		value = rank(g.a.Send.Peer)
	case "source":
		value = rank(g.a.Receive.Peer)
	case "target_rank":
		value = rank(g.a.Target.Peer)
	case "sendtag":
		value = int64(g.a.Send.Tag)
	case "recvtag":
		value = int64(g.a.Receive.Tag)
	case "tag":
		value = int64(g.a.Send.Tag)
		if g.a.Receive.Flags&abi.SidePresent != 0 {
			value = int64(g.a.Receive.Tag)
		}
	case "root":
		value = int64(g.a.Root)
	case "offset", "target_disp":
		if g.a.Offset != math.MinInt64 {
			return g.a.Offset, nil
		}
	}
	if value == noneInt32 {
		return 0, fault.Errorf(fault.NotFound, 0, "The argument %s is not recorded.", parameter)
	}
	return value, nil
}

func (g *recordArguments) comm(string) (*handle.Comm, error) {
	c, err := g.r.CommIfAny(g.a.Comm)
	if err == nil && c == nil {
		err = fault.Errorf(fault.NotFound, 0, "The communicator of the call, with the handle 0x%x, is not known.",
			g.a.CommHandle)
	}
	return c, err
}

func (g *recordArguments) node(parameter string) (view.Node, bool) {
	object := func(kind registry.Kind, rec uint64) (view.Node, bool) {
		if rec == 0 {
			return view.Node{}, false
		}
		o, err := g.r.ObjectAt(registry.ClassOf(kind), rec)
		if err != nil {
			return view.Leaf(parameter, err.Error()), true
		}
		return o.Node(parameter), true
	}
	switch parameter {
	case "op":
		return object(registry.KindOp, g.a.Reduction)
	case "win":
		return object(registry.KindWindow, g.a.Object)
	case "fh":
		return object(registry.KindFile, g.a.Object)
	case "target_datatype":
		t, err := g.r.DatatypeIfAny(g.a.Target.Datatype)
		if err != nil || t == nil {
			return view.Node{}, false
		}
		return view.Leaf("target", fmt.Sprintf("%s × %s", view.Grouped(g.a.Target.Count), t.Title())), true
	case "request", "array_of_requests":
		if g.array != nil {
			return requestList(g.r, *g.array), true
		}
	case "offset", "target_disp", "tag", "sendtag", "recvtag":
		if n, err := g.number(parameter); err == nil {
			return view.Number(parameter, n), true
		}
	}
	return view.Node{}, false
}

func (g *recordArguments) requestArray() (*requestArray, error) { return g.array, nil } //nolint:unparam // as that of sourceArguments

// These are not asked of a record: its sides are made by recordSide.
func (g *recordArguments) place(string) (place, error) { return place{}, errNotAsked }

func (g *recordArguments) numbers(string, int, bool) ([]int64, error) {
	return nil, errNotAsked
}

func (g *recordArguments) datatype(string) (datatype.Part, error) {
	return datatype.Part{}, errNotAsked
}

func (g *recordArguments) datatypes(string, int) ([]datatype.Part, error) { return nil, errNotAsked }

var errNotAsked = fault.Errorf(fault.NotFound, 0, "The argument is not recorded.")

// ThreadCall is a call that a thread is in.
type ThreadCall struct {
	*Call
	Thread int32  // the kernel's id
	Site   uint64 // return address in the program
	Event  uint64 // events completed before it
	Since  int64  // CLOCK_MONOTONIC
}

// maxThreads bounds the records of calls that are read.
const maxThreads = 1 << 14

// InProgress returns the calls that the threads of the rank are in. sources may give the same call in the source
// text, by its return address.
func InProgress(r *handle.Rank, source func(site uint64, name string) *mpicall.Call) ([]ThreadCall, error) {
	if err := r.Lacks(abi.FeatureCalls, "Calls in progress"); err != nil {
		return nil, err
	}
	var out []ThreadCall
	seen := map[uint64]bool{}
	for at := r.Header.Calls; at != 0; {
		if seen[at] || len(seen) > maxThreads {
			return out, fault.Corruptf(at, "the records of calls go round in a circle, or are more than %d", maxThreads)
		}
		seen[at] = true
		b, err := r.ReadFull(at, int64(abi.Size[abi.Call]()), "The record of a call")
		if err != nil {
			return out, err
		}
		k := abi.Read[abi.Call](b)
		at = k.Next
		if k.Active == 0 {
			continue
		}
		var in *mpicall.Call
		if source != nil {
			in = source(k.CallSite, operation(&k.A))
		}
		c := recordCall(r, &k.A, Running, in)
		if g, ok := c.given.(*recordArguments); ok && k.NRequests > 0 {
			g.array = &requestArray{addr: k.Requests, n: k.NRequests}
		}
		out = append(out, ThreadCall{Call: c, Thread: k.Tid, Site: k.CallSite, Event: k.Event, Since: k.SinceNS})
	}
	return out, nil
}

// Line is a call in a list.
func (t *ThreadCall) Line() string {
	env := &t.r.Env
	s := t.name
	if what := t.Call.line(); what != "" {
		s += ": " + what
	}
	s += "; called " + t.r.CreatedText(t.Site, t.Event)
	if since := env.Since(t.Since); since != "" {
		s += ", " + since + " ago"
	}
	return s
}
