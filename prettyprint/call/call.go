// Package call shows MPI calls and requests with their arguments: from the registry, which knows the calls that threads
// are in and the requests that are pending, and from the source text of a line, whose arguments a [Resolver] evaluates.
package call

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// State says how far a call has come.
type State int

// The states of a call.
const (
	Near    State = iota + 1 // the line holds it; whether it has run is not known
	Ahead                    // it has not run yet
	Running                  // the rank is in it
	Pending                  // it has returned, and its request is not complete
)

// Call is an MPI call with its arguments, as a line of the source holds it or as a thread is in it: its buffers with
// count and type, as the call sees them (paper, X.D). It reads the rank's memory when its nodes are opened, and is
// valid as long as its Registry.
type Call struct {
	fn     *mpispec.Function
	name   string
	state  State
	given  arguments
	r      *handle.Rank
	source string // where it stands, or ""

	sides []callSide
	comm  *handle.Comm
	root  rootRole
}

// arguments are what a call is given, by the names of its parameters.
type arguments interface {
	// text is how the program writes an argument, or "".
	text(parameter string) string
	place(parameter string) (place, error)
	number(parameter string) (int64, error)
	numbers(parameter string, n int, wide bool) ([]int64, error)
	datatype(parameter string) (datatype.Part, error)
	datatypes(parameter string, n int) ([]datatype.Part, error)
	comm(parameter string) (*handle.Comm, error)
	// node shows any other argument.
	node(parameter string) (view.Node, bool)
}

// place is what a buffer argument stands for.
type place struct {
	addr    uint64
	inPlace bool // MPI_IN_PLACE
}

// callSide is one buffer of a call.
type callSide struct {
	spec  mpispec.Buffer
	verb  string
	note  string // what must be known of it: "not received yet", "in place"
	err   error  // why it is not known
	none  bool   // it means nothing here; note says why
	parts []callPart
}

type callPart struct {
	label string // whose part it is: "[3]", or ""
	name  string // of the type in addresses
	t     *datatype.Type
	count int64
	peers int64 // the count is that for so many other ranks together; 0: for one
	addr  uint64
}

// rootRole says what this rank is in a call with a root.
type rootRole int

const (
	rootUnknown rootRole = iota
	rootSelf
	rootOther
	rootNobody // MPI_PROC_NULL in the root's group of an intercommunicator
)

// newCall works out the sides of a call.
func newCall(r *handle.Rank, fn *mpispec.Function, name string, given arguments, state State) *Call {
	c := &Call{fn: fn, name: name, state: state, given: given, r: r}
	var commErr error
	if p := fn.WithRole(mpispec.RoleComm); p != nil {
		c.comm, commErr = given.comm(p.Name)
	}
	c.root = c.rootRole()
	inPlace := false
	for _, spec := range fn.Buffers {
		s := c.side(spec, commErr)
		inPlace = inPlace || s.note == noteInPlace
		c.sides = append(c.sides, s)
	}
	if inPlace {
		for i := range c.sides {
			if s := &c.sides[i]; s.note != noteInPlace && s.spec.Direction == mpispec.Receives {
				s.verb = fn.Verb(mpispec.Both)
			}
		}
	}
	return c
}

const noteInPlace = "in place: what it sends is in the receive buffer"

func (c *Call) side(spec mpispec.Buffer, commErr error) callSide {
	s := callSide{spec: spec, verb: c.fn.Verb(spec.Direction)}
	if spec.AtRoot && c.root != rootSelf && c.root != rootUnknown {
		s.none, s.note = true, "means nothing here: this rank is not the root"
		return s
	}
	if c.root == rootNobody {
		s.none, s.note = true, "means nothing here: the root is another rank of this group"
		return s
	}
	if spec.Direction == mpispec.BcastBuf {
		switch c.root {
		case rootSelf:
			s.verb = c.fn.Verb(mpispec.Sends)
		case rootOther:
			s.verb = c.fn.Verb(mpispec.Receives)
		default:
			s.verb = "sends or receives"
		}
	}
	at, err := c.given.place(spec.Address)
	if err != nil {
		s.err = err
		return s
	}
	if at.inPlace {
		s.none, s.note = true, noteInPlace
		if spec.Direction == mpispec.Receives {
			s.note = "in place: what it receives stays in the send buffer"
		}
		return s
	}
	if s.parts, s.err = c.parts(spec, at.addr, commErr); s.err != nil {
		return s
	}
	c.receiveNote(&s)
	return s
}

// receiveNote says of a side that is received into that what is there is not what will be.
func (c *Call) receiveNote(s *callSide) {
	if !s.receives() || c.state == Near {
		return
	}
	s.note = "not received yet"
	if c.state == Ahead {
		s.note = "not received yet: the call has not run"
	}
	if c.state == Pending {
		s.note = "not complete yet"
	}
	switch c.fn.Verb(mpispec.Receives) {
	case "reads":
		s.note = strings.Replace(s.note, "received", "read", 1)
	case "gets":
		s.note = strings.Replace(s.note, "received", "fetched", 1)
	case "packs into", "unpacks into":
		s.note = strings.Replace(s.note, "received", "written", 1)
	}
}

func (s *callSide) receives() bool {
	return s.spec.Direction != mpispec.Sends && s.verb != "sends"
}

// parts evaluates counts, displacements and types.
func (c *Call) parts(spec mpispec.Buffer, addr uint64, commErr error) ([]callPart, error) {
	n := 1
	if spec.Array || spec.Times == mpispec.PerMember || spec.Times == mpispec.PerSource ||
		spec.Times == mpispec.PerTarget || spec.Times == mpispec.SumOf {
		if commErr != nil {
			return nil, commErr
		}
		var err error
		if n, err = c.howMany(spec.Times); err != nil {
			return nil, err
		}
	}
	if spec.Array {
		return c.partArray(spec, addr, n)
	}
	part := callPart{addr: addr, count: 1}
	p, err := c.typeOf(spec.Type)
	if err != nil {
		return nil, err
	}
	part.t, part.name = p.Type, p.Name
	if spec.Count != "" {
		if part.count, err = c.countOf(spec, n, commErr); err != nil {
			return nil, err
		}
	}
	if spec.Times == mpispec.PerMember || spec.Times == mpispec.PerSource || spec.Times == mpispec.PerTarget {
		part.peers = int64(n)
	}
	return []callPart{part}, nil
}

func (c *Call) typeOf(parameter string) (datatype.Part, error) {
	if parameter == "" {
		t, err := c.r.DatatypeByName("MPI_PACKED")
		return datatype.Part{Name: "MPI_PACKED", Type: t}, err
	}
	return c.given.datatype(parameter)
}

func (c *Call) countOf(spec mpispec.Buffer, n int, commErr error) (int64, error) {
	switch spec.Times {
	case mpispec.OwnOf:
		if commErr != nil {
			return 0, commErr
		}
		counts, err := c.given.numbers(spec.Count, c.comm.Rank()+1, c.wide(spec.Count))
		if err != nil {
			return 0, err
		}
		return counts[c.comm.Rank()], nil
	case mpispec.SumOf:
		counts, err := c.given.numbers(spec.Count, n, c.wide(spec.Count))
		if err != nil {
			return 0, err
		}
		var sum int64
		for _, k := range counts {
			sum = datatype.SatAdd(sum, max(k, 0))
		}
		return sum, nil
	case mpispec.Partitions:
		parts, err := c.given.number(spec.Parts)
		if err != nil {
			return 0, err
		}
		count, err := c.given.number(spec.Count)
		return datatype.SatMul(max(count, 0), max(parts, 0)), err
	default:
	}
	count, err := c.given.number(spec.Count)
	if err != nil {
		return 0, err
	}
	if count < 0 {
		return 0, fault.Errorf(fault.Usage, 0, "The count %s is %d; MPI takes counts from 0 on.", c.nameOf(spec.Count), count)
	}
	return datatype.SatMul(count, int64(n)), nil
}

// wide reports whether the numbers of an array are of 64 bits: MPI_Count or MPI_Aint, no int.
func (c *Call) wide(parameter string) bool { return c.fn.Param(parameter).Type != "int" }

// partArray evaluates a buffer that has a count, a displacement, and perhaps a type, for each of n parts.
func (c *Call) partArray(spec mpispec.Buffer, addr uint64, n int) ([]callPart, error) {
	counts, err := c.given.numbers(spec.Count, n, c.wide(spec.Count))
	if err != nil {
		return nil, err
	}
	displs := make([]int64, n)
	if spec.Displs != "" {
		if displs, err = c.given.numbers(spec.Displs, n, c.wide(spec.Displs)); err != nil {
			return nil, err
		}
	}
	var types []datatype.Part
	if spec.ByType {
		types, err = c.given.datatypes(spec.Type, n)
	} else {
		var one datatype.Part
		one, err = c.given.datatype(spec.Type)
		types = []datatype.Part{one}
	}
	if err != nil {
		return nil, err
	}
	return placeParts(types, counts, displs, addr, spec.ByType)
}

// placeParts are the parts of a buffer, with one type for all or one for each; displacements are in bytes, or in
// extents of the type.
func placeParts(types []datatype.Part, counts, displs []int64, addr uint64, inBytes bool) ([]callPart, error) {
	parts := make([]callPart, len(counts))
	for i := range parts {
		p := types[min(i, len(types)-1)]
		var k datatype.Calc
		offset := displs[i]
		if !inBytes {
			offset = k.Mul(offset, p.Type.Figures().Extent)
		}
		if k.Bad {
			return nil, fault.Errorf(fault.TooLarge, 0, "Displacement %d of part %d is more than 2^62 bytes.", displs[i], i)
		}
		parts[i] = callPart{label: fmt.Sprintf("[%d]", i), name: p.Name, t: p.Type, count: counts[i], addr: addr +
			uint64(offset)}
	}
	return parts, nil
}

// howMany parts a buffer has.
func (c *Call) howMany(times mpispec.Times) (int, error) {
	n := c.comm.Size()
	if c.comm.Kind() == abi.CommInter {
		n = len(c.comm.Remote())
	}
	if times == mpispec.PerSource || times == mpispec.PerTarget {
		dims, _, _ := c.comm.Cart()
		if len(dims) == 0 {
			return 0, fault.Errorf(fault.NotDecoded, 0,
				"How many neighbours this rank has in %s is not recorded; for Cartesian communicators it is.",
				c.comm.Summary())
		}
		n = 2 * len(dims)
	}
	if n > registry.MaxParts {
		return 0, fault.Errorf(fault.TooLarge, 0, "The communicator has %d members; the buffers of at most %d are shown.", n,
			registry.MaxParts)
	}
	return n, nil
}

func (c *Call) rootRole() rootRole {
	if !c.fn.Has("root") || c.comm == nil {
		return rootUnknown
	}
	root, err := c.given.number("root")
	switch {
	case err != nil:
		return rootUnknown
	case c.comm.Kind() != abi.CommInter && root == int64(c.comm.Rank()):
		return rootSelf
	case c.comm.Kind() == abi.CommInter && root == c.r.RootConst():
		return rootSelf
	case c.comm.Kind() == abi.CommInter && root == c.r.ProcNull():
		return rootNobody
	}
	return rootOther
}

// nameOf is how an argument is written, or else what it is called.
func (c *Call) nameOf(parameter string) string {
	if t := c.given.text(parameter); t != "" {
		return t
	}
	return parameter
}
