package call

import (
	"cmp"
	"fmt"
	"math"
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

// recordCall is a call as the registry has it.
func recordCall(r *handle.Rank, given *recordArguments, state State) *Call {
	name := operation(given.a)
	fn, known := mpispec.Lookup(name)
	if !known {
		fn = &mpispec.Function{Name: name}
		if given.a.Comm != 0 || given.a.CommHandle != 0 {
			fn.Params = []mpispec.Param{{Name: "comm", Type: "MPI_Comm", Role: mpispec.RoleComm}}
		}
	}
	return newCall(r, fn, name, given, state)
}

// recordArguments are arguments from the registry.
type recordArguments struct {
	r      *handle.Rank
	a      *abi.Action
	source *mpicall.Call // the same call in the source text, for the names of things, or nil
	array  *requestArray // of the requests that the call is given, or nil
}

func (g *recordArguments) sides(c *Call) []callSide {
	return append(g.side(c, &g.a.Send, mpispec.Sends, "sends"), g.side(c, &g.a.Receive, mpispec.Receives,
		"receives")...)
}

// side is one side, if the call has it. verb is what it does if its function does not say.
func (g *recordArguments) side(c *Call, a *abi.Side, direction mpispec.BufferDirection, verb string) []callSide {
	if a.Flags&abi.SidePresent == 0 {
		return nil
	}
	s := callSide{spec: mpispec.Buffer{Address: "buffer"}, verb: cmp.Or(c.fn.Verb(direction), verb)}
	if i := slices.IndexFunc(c.fn.Buffers, func(b mpispec.Buffer) bool {
		return b.Direction == direction || b.Direction == mpispec.Both || b.Direction == mpispec.BcastBuf
	}); i >= 0 {
		s.spec = c.fn.Buffers[i]
	}
	s.spec.Direction = direction
	switch {
	case a.Flags&abi.SideInPlace != 0:
		s.inPlace()
	case a.Flags&abi.SideNotHere != 0:
		s.nothing(notRoot)
	case a.Flags&abi.SideArraysGone != 0:
		s.err = fault.Errorf(fault.NotDecoded, 0,
			"The arrays of counts and displacements that the call was given are no more; the buffer is at 0x%x.",
			a.Buffer)
	default:
		s.parts, s.err = g.parts(a, s.spec)
	}
	return []callSide{s}
}

func (g *recordArguments) parts(a *abi.Side, spec mpispec.Buffer) ([]callPart, error) {
	n := int(a.N)
	if n > registry.MaxParts {
		return nil, fault.Errorf(fault.TooLarge, 0, "The buffer has parts of %d ranks; those of at most %d are shown.",
			n,
			registry.MaxParts)
	}
	types, err := g.types(a, spec, n)
	if err != nil {
		return nil, err
	}
	if a.Flags&abi.SideVector == 0 {
		part := callPart{count: a.Count, addr: a.Buffer}
		switch {
		case len(types) == 0:
			return nil, fault.Corruptf(0, "a call's buffer at 0x%x has one part, and an array of no datatypes",
				a.Buffer)
		case a.Count < 0:
			return nil, fault.Corruptf(0, "a call's buffer at 0x%x has the count %d", a.Buffer, a.Count)
		case a.Flags&abi.SidePerPeer != 0:
			part.count, part.peers = datatype.SatMul(a.Count, int64(n)), int64(n)
		}
		part.Part = types[0]
		return []callPart{part}, nil
	}
	counts, err := g.r.Integers("counts", a.Counts, n, a.Flags&abi.SideCounts64 != 0)
	if err != nil {
		return nil, err
	}
	displs := make([]int64, n)
	if a.Displs != 0 {
		if displs, err = g.r.Integers("displacements", a.Displs, n, a.Flags&abi.SideDispls64 != 0); err != nil {
			return nil, err
		}
	}
	return placeParts(types, counts, displs, a.Buffer, a.Flags&abi.SideDisplsBytes != 0)
}

// types are the datatype of all parts, or that of each of n.
func (g *recordArguments) types(a *abi.Side, spec mpispec.Buffer, n int) ([]datatype.Part, error) {
	if a.Types != 0 {
		return g.r.DatatypeArray("types", a.Types, n, false)
	}
	t, err := g.r.DatatypeIfAny(a.Datatype)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, fault.Errorf(fault.NotFound, 0,
			"The datatype of the buffer at 0x%x, with the handle 0x%x, is not known.", a.Buffer, a.Handle)
	case t.Problem != nil:
		return nil, t.Problem
	}
	name := g.text(spec.Type) // how the program calls it: in this call, or by its name
	if !word.MatchString(name) {
		name = cmp.Or(t.Name, t.Combiner().String())
	}
	return []datatype.Part{{Name: name, Type: t}}, nil
}

func (g *recordArguments) text(parameter string) string {
	if g.source == nil {
		return ""
	}
	s, _ := g.source.Argument(parameter)
	return s
}

// notKnown is in a record where a number is not known.
const notKnown = math.MinInt32

// number gives what the record has, in the library's numbers.
func (g *recordArguments) number(parameter string) (int64, error) {
	value := int64(notKnown)
	rank := func(peer int32) int64 {
		switch peer {
		case -1:
			return g.r.AnySource()
		case -2:
			return g.r.ProcNull()
		}
		return int64(peer)
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
		if value = int64(g.a.Send.Tag); value == notKnown { // of a receive, and of a probe
			value = int64(g.a.Receive.Tag)
		}
	case "root":
		value = int64(g.a.Root)
	case "offset", "target_disp":
		if g.a.Offset != math.MinInt64 {
			return g.a.Offset, nil
		}
	}
	if value == notKnown {
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

func (g *recordArguments) op() (string, error) {
	if g.a.Reduction == 0 {
		return "", fault.Errorf(fault.NotFound, 0, "The operation of the call is not recorded.")
	}
	o, err := g.r.ObjectAt(registry.ClassOf(registry.KindOp), g.a.Reduction)
	if err != nil {
		return "", err
	}
	return o.Told(), nil
}

func (g *recordArguments) requests() (*requestArray, error) { return g.array, nil } //nolint:unparam // of an interface

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
		if t, err := g.r.DatatypeIfAny(g.a.Target.Datatype); err == nil && t != nil {
			return view.Leaf("target", fmt.Sprintf("%s × %s", view.Grouped(g.a.Target.Count), t.Title())), true
		}
	case "request", "array_of_requests":
		if g.array != nil {
			return g.array.node(g.r), true
		}
	}
	return view.Node{}, false
}

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

// callRecords reads the record of each thread.
func callRecords(r *handle.Rank) ([]abi.Call, error) {
	if err := r.NotTracked(abi.FeatureCalls, "Calls in progress"); err != nil {
		return nil, err
	}
	var out []abi.Call
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
		out = append(out, k)
	}
	return out, nil
}

// threadCall is the call that a record is of. source is as for InProgress.
func threadCall(r *handle.Rank, k *abi.Call, state State, source func(uint64, string) *mpicall.Call) ThreadCall {
	given := &recordArguments{r: r, a: &k.A}
	if source != nil {
		given.source = source(k.CallSite, operation(&k.A))
	}
	if k.NRequests > 0 {
		given.array = &requestArray{addr: k.Requests, n: k.NRequests}
	}
	return ThreadCall{recordCall(r, given, state), k.Tid, k.CallSite, k.Event, k.SinceNS}
}

// InProgress returns the calls that the threads of the rank are in. source may give the same call in the source text,
// by its return address; nil: none are known.
func InProgress(r *handle.Rank, source func(site uint64, name string) *mpicall.Call) ([]ThreadCall, error) {
	records, err := callRecords(r)
	var out []ThreadCall
	for i := range records {
		if records[i].Active != 0 {
			out = append(out, threadCall(r, &records[i], Running, source))
		}
	}
	return out, err
}

// LastEvent returns the call of a thread that was the rank's last event, with its buffers as they are now. The error
// says why it is not known. thread is as that of [Resolver].
func LastEvent(r *handle.Rank, thread int32, source func(site uint64, name string) *mpicall.Call) (*Call, error) {
	records, err := callRecords(r)
	if err != nil {
		return nil, err
	}
	events, known := r.Events()
	if !known {
		return nil, fault.Errorf(fault.NotFound, 0, "How many calls the rank has completed cannot be read.")
	}
	for i := range records {
		k := &records[i]
		switch of := thread == 0 || thread == k.Tid; {
		case of && k.Active != 0:
			return nil, fault.Errorf(
				fault.NotFound,
				0,
				"The rank is in a call, whose record has taken the place of that of "+
					"the call before it; mpipp --call shows it.",
			)
		// A record of another number is of an older call, or is being written for the next one.
		case of && events > 0 && k.Event+1 == events:
			stillThere(r, &k.A, k.Event)
			t := threadCall(r, k, Returned, source)
			t.source = r.Line(t.Site)
			return t.Call, nil
		}
	}
	return nil, fault.Errorf(
		fault.NotFound,
		0,
		"The rank's last event, %d, is no call of this thread whose arguments are "+
			"recorded.",
		events,
	)
}

// stillThere takes out of an action what the program has freed since, whose record may be another's by now.
func stillThere(r *handle.Rank, a *abi.Action, event uint64) {
	same := func(k registry.Kind, rec *uint64, handle uint64) {
		if h, err := r.Lookup(registry.ClassOf(k), handle, false); err != nil || h.Address != *rec || h.Event > event {
			*rec = 0
		}
	}
	for _, s := range []*abi.Side{&a.Send, &a.Receive, &a.Target} {
		same(registry.KindDatatype, &s.Datatype, s.Handle)
	}
	same(registry.KindComm, &a.Comm, a.CommHandle)
	ops, _, _, err := r.Heads(registry.ClassOf(registry.KindOp))
	if err != nil || !slices.ContainsFunc(ops, func(h registry.Head) bool {
		return h.Address == a.Reduction && h.Event <= event
	}) {
		a.Reduction = 0
	}
	a.Object = 0 // of a window or file, which may be gone
}

// Line is a call in a list.
func (t *ThreadCall) Line() string {
	s := t.Name
	if what := t.line(); what != "" {
		s += ": " + what
	}
	s += "; called " + t.r.CreatedText(t.Site, t.Event)
	if since := t.r.Env.Since(t.Since); since != "" {
		s += ", " + since + " ago"
	}
	return s
}
