package prettyprint

import (
	"fmt"
	"math"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
)

// The flags of enum cohort_side_flag.
const (
	sidePresent     = 1 << 0
	sideInPlace     = 1 << 1
	sideVector      = 1 << 2
	sideCounts64    = 1 << 3
	sideDispls64    = 1 << 4
	sideDisplsBytes = 1 << 5
	sideNotHere     = 1 << 6
	sideArraysGone  = 1 << 7
	sidePerPeer     = 1 << 8
)

// operations are the functions of enum cohort_op that are written otherwise than MPI_ and their name with one capital
// letter; the others follow from opNames.
var opNames = strings.Fields(`
	- Send Bsend Ssend Rsend Isend Ibsend Issend Irsend Recv Irecv Sendrecv Sendrecv_replace Probe Iprobe Mprobe Improbe Mrecv Imrecv Send_init Bsend_init
	Ssend_init Rsend_init Recv_init Start Startall Wait Waitall Waitany Waitsome Test Testall Testany Testsome Request_get_status Cancel Request_free Test_cancelled
	Grequest_start - Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce Allreduce Reduce_scatter
	Reduce_scatter_block Scan Exscan Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw Win_create Win_allocate
	Win_free Put Get Accumulate Get_accumulate Fetch_and_op Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv
	Ialltoallw Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall
	Ineighbor_alltoallv Ineighbor_alltoallw Compare_and_swap Win_fence Win_start Win_complete Win_post Win_wait - Win_lock Comm_dup Comm_split Comm_create
	Comm_split_type Cart_create Graph_create Dist_graph_create Dist_graph_create_adjacent Cart_sub Comm_free Comm_dup_with_info Comm_idup Comm_create_group
	Intercomm_create Intercomm_merge Comm_disconnect Win_unlock Win_lock_all Win_unlock_all Win_flush Finalize Abort Win_flush_all Win_flush_local
	Win_flush_local_all Win_sync - Other`)

// operation is the function that an action is of.
func (a *abiAction) operation() string {
	switch {
	case strings.HasPrefix(a.name, "MPI"):
		return a.name
	case a.op < uint32(len(opNames)) && opNames[a.op] != "-" && opNames[a.op] != "Other":
		return "MPI_" + opNames[a.op]
	}
	return fmt.Sprintf("a call of MPI (operation %d)", a.op)
}

// recordCall is a call as the registry has it. source is the same call in the source text, for the names of things, or
// nil.
func (r *Registry) recordCall(a *abiAction, state CallState, source *mpicall.Call) *Call {
	name := a.operation()
	fn, known := mpicall.Lookup(name)
	if !known {
		fn = &mpicall.Function{Name: name}
		if a.comm != 0 || a.commHandle != 0 {
			fn.Parameters = append(fn.Parameters, "comm")
		}
	}
	given := &recordArguments{r: r, a: a, fn: fn, source: source}
	c := &Call{fn: fn, name: name, state: state, given: given, r: r}
	if fn.Has("comm") {
		if m, err := given.comm("comm"); err == nil {
			c.comm = m
		}
	}
	c.root = c.rootRole()
	inPlace := a.send.flags&sideInPlace != 0 || a.receive.flags&sideInPlace != 0
	for _, s := range []struct {
		abi       *abiSide
		direction mpicall.Direction
	}{{&a.send, mpicall.Sends}, {&a.receive, mpicall.Receives}} {
		if s.abi.flags&sidePresent == 0 {
			continue
		}
		side := c.recordSide(s.abi, s.direction)
		if inPlace && !side.none && s.direction == mpicall.Receives {
			side.verb = fn.Verb(mpicall.Both)
		}
		c.sides = append(c.sides, side)
	}
	return c
}

func (c *Call) recordSide(a *abiSide, direction mpicall.Direction) callSide {
	spec := mpicall.Buffer{Address: "buffer", Direction: direction}
	for _, b := range c.fn.Buffers {
		if b.Direction == direction || b.Direction == mpicall.Both || b.Direction == mpicall.BcastBuf {
			spec = b
			break
		}
	}
	spec.Direction = direction
	s := callSide{spec: spec, verb: c.fn.Verb(direction)}
	if s.verb == "" {
		s.verb = map[mpicall.Direction]string{mpicall.Sends: "sends", mpicall.Receives: "receives"}[direction]
	}
	switch {
	case a.flags&sideInPlace != 0 && direction == mpicall.Receives:
		s.none, s.note = true, "in place: what it receives stays in the send buffer"
	case a.flags&sideInPlace != 0:
		s.none, s.note = true, noteInPlace
	case a.flags&sideNotHere != 0:
		s.none, s.note = true, "means nothing here: this rank is not the root"
	case a.flags&sideArraysGone != 0:
		s.err = errorf(KindNotDecoded, 0,
			"The arrays of counts and displacements that the call was given are no more; the buffer is at 0x%x.",
			a.buffer)
	default:
		if s.parts, s.err = c.recordParts(a, spec); s.err == nil {
			c.receiveNote(&s)
		}
	}
	return s
}

func (c *Call) recordParts(a *abiSide, spec mpicall.Buffer) ([]callPart, error) {
	n := int(min(a.n, maxParts+1))
	if n > maxParts {
		return nil, errorf(KindTooLarge, 0, "The buffer has parts of %d ranks; those of at most %d are shown.", a.n,
			maxParts)
	}
	var types []typePart
	if a.types != 0 {
		var err error
		if types, err = c.r.datatypeArray("types", a.types, n, false); err != nil {
			return nil, err
		}
	} else {
		t, err := c.r.typeRecord(a.datatype)
		switch {
		case err != nil:
			return nil, err
		case t == nil:
			return nil, errorf(KindNotFound, 0,
				"The datatype of the buffer at 0x%x, with the handle 0x%x, is not known.", a.buffer, a.handle)
		case t.problem != nil:
			return nil, t.problem
		}
		types = []typePart{{name: c.typeName(spec, t), t: t}}
	}
	if a.flags&sideVector == 0 {
		if len(types) == 0 {
			return nil, corrupt(0, "a call's buffer at 0x%x has one part, and an array of no datatypes", a.buffer)
		}
		count := a.count
		if count < 0 {
			return nil, corrupt(0, "a call's buffer at 0x%x has the count %d", a.buffer, count)
		}
		part := callPart{name: types[0].name, t: types[0].t, count: count, addr: a.buffer}
		if a.flags&sidePerPeer != 0 {
			part.count, part.peers = satMul(count, int64(n)), int64(n)
		}
		return []callPart{part}, nil
	}
	counts, err := c.r.integers("counts", a.counts, n, a.flags&sideCounts64 != 0)
	if err != nil {
		return nil, err
	}
	displs := make([]int64, n)
	if a.displs != 0 {
		if displs, err = c.r.integers("displacements", a.displs, n, a.flags&sideDispls64 != 0); err != nil {
			return nil, err
		}
	}
	return placeParts(types, counts, displs, a.buffer, a.flags&sideDisplsBytes != 0)
}

// typeName is how the program calls a type: in this call, or by its name.
func (c *Call) typeName(spec mpicall.Buffer, t *Datatype) string {
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
	r      *Registry
	a      *abiAction
	fn     *mpicall.Function
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

// number gives what the record has, in the library's numbers.
func (g *recordArguments) number(parameter string) (int64, error) {
	value := int64(noneInt32)
	rank := func(v int32) int64 {
		switch v {
		case -1:
			return g.r.anySource()
		case -2:
			return g.r.procNull()
		}
		return int64(v)
	}
	switch parameter {
	case "dest":
		value = rank(g.a.send.peer)
	case "source":
		value = rank(g.a.receive.peer)
	case "target_rank":
		value = rank(g.a.target.peer)
	case "sendtag":
		value = int64(g.a.send.tag)
	case "recvtag":
		value = int64(g.a.receive.tag)
	case "tag":
		value = int64(g.a.send.tag)
		if g.a.receive.flags&sidePresent != 0 {
			value = int64(g.a.receive.tag)
		}
	case "root":
		value = int64(g.a.root)
	case "offset", "target_disp":
		if g.a.offset != math.MinInt64 {
			return g.a.offset, nil
		}
	}
	if value == noneInt32 {
		return 0, errorf(KindNotFound, 0, "The argument %s is not kept.", parameter)
	}
	return value, nil
}

func (g *recordArguments) comm(string) (*Comm, error) {
	c, err := g.r.commRecord(g.a.comm)
	if err == nil && c == nil {
		err = errorf(KindNotFound, 0, "The communicator of the call, with the handle 0x%x, is not known.",
			g.a.commHandle)
	}
	return c, err
}

func (g *recordArguments) node(parameter string) (Node, bool) {
	object := func(kind HandleKind, rec uint64) (Node, bool) {
		if rec == 0 {
			return Node{}, false
		}
		o, err := g.r.object(infoOf(kind), rec)
		if err != nil {
			return leafNode(parameter, err.Error()), true
		}
		return o.Node(parameter, g.r.env), true
	}
	switch parameter {
	case "op":
		return object(HandleOp, g.a.reduction)
	case "win":
		return object(HandleWindow, g.a.object)
	case "fh":
		return object(HandleFile, g.a.object)
	case "target_datatype":
		t, err := g.r.typeRecord(g.a.target.datatype)
		if err != nil || t == nil {
			return Node{}, false
		}
		return leafNode("target", fmt.Sprintf("%s × %s", grouped(g.a.target.count), t.Title())), true
	case "request", "array_of_requests":
		if g.array != nil {
			return g.r.requestList(*g.array), true
		}
	case "offset", "target_disp", "tag", "sendtag", "recvtag":
		if n, err := g.number(parameter); err == nil {
			return numberNode(parameter, n), true
		}
	}
	return Node{}, false
}

func (g *recordArguments) requestArray() (*requestArray, error) { return g.array, nil } //nolint:unparam // as that of sourceArguments

// These are not asked of a record: its sides are made by recordSide.
func (g *recordArguments) place(string) (place, error) { return place{}, errNotAsked }

func (g *recordArguments) numbers(string, int, bool) ([]int64, error) {
	return nil, errNotAsked
}

func (g *recordArguments) datatype(string) (typePart, error)         { return typePart{}, errNotAsked }
func (g *recordArguments) datatypes(string, int) ([]typePart, error) { return nil, errNotAsked }

var errNotAsked = errorf(KindNotFound, 0, "The argument is not kept.")

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

// CallsInProgress returns the calls that the threads of the rank are in. sources may give the same call in the source
// text, by its return address.
func (r *Registry) CallsInProgress(source func(site uint64, name string) *mpicall.Call) ([]ThreadCall, error) {
	if err := r.lacks(featureCalls, "Calls in progress"); err != nil {
		return nil, err
	}
	var out []ThreadCall
	seen := map[uint64]bool{}
	for at := r.abi.calls; at != 0; {
		if seen[at] || len(seen) > maxThreads {
			return out, corrupt(at, "the records of calls go round in a circle, or are more than %d", maxThreads)
		}
		seen[at] = true
		b, err := r.readFull(at, callSize, "The record of a call")
		if err != nil {
			return out, err
		}
		k := decodeCall(b)
		at = k.next
		if k.active == 0 {
			continue
		}
		var in *mpicall.Call
		if source != nil {
			in = source(k.callSite, k.action.operation())
		}
		c := r.recordCall(&k.action, CallRunning, in)
		if g, ok := c.given.(*recordArguments); ok && k.nRequests > 0 {
			g.array = &requestArray{addr: k.requests, n: k.nRequests}
		}
		out = append(out, ThreadCall{Call: c, Thread: k.tid, Site: k.callSite, Event: k.event, Since: k.sinceNs})
	}
	return out, nil
}
