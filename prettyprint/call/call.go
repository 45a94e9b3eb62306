// Package call shows MPI calls and requests with their arguments: from the registry, which knows the calls that threads
// are in and the requests that are pending, and from the source text of a line, whose arguments a [Resolver] evaluates.
package call

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// State says how far a call has come.
type State int

// The states of a call.
const (
	Near     State = iota + 1 // the line holds it; whether it has run is not known
	Ahead                     // it has not run yet
	Running                   // the rank is in it
	Pending                   // it has returned, and its request is not complete
	Returned                  // it has returned
)

// Call is an MPI call with its arguments, as a line of the source holds it or as a thread is in it: its buffers with
// count and type, as the call sees them (paper, X.D). It reads the rank's memory when its nodes are opened, and is
// valid as long as its Registry.
type Call struct {
	Name   string // as the program calls it
	State  State
	fn     *mpispec.Function
	given  arguments
	r      *handle.Rank
	source string // where it stands, or ""

	sides   []callSide
	comm    *handle.Comm
	commErr error // why comm is not known
	root    rootRole
}

// arguments are what a call is given, by the names of its parameters.
type arguments interface {
	// text is how the program writes an argument, or "".
	text(parameter string) string
	number(parameter string) (int64, error)
	comm(parameter string) (*handle.Comm, error)
	// op says what the operation of a reduction is.
	op() (string, error)
	// sides are the buffers of the call, whose communicator and root are known.
	sides(c *Call) []callSide
	// requests are those that the call completes or starts; nil: none.
	requests() (*requestArray, error)
	// node shows any other argument.
	node(parameter string) (view.Node, bool)
}

// callSide is one buffer of a call.
type callSide struct {
	spec  mpispec.Buffer
	verb  string
	none  bool   // it means nothing here; note says why
	note  string // what must be known of it: "not received yet", "in place"
	err   error  // why it is not known
	parts []callPart
}

// Notes of sides that mean nothing.
const (
	inPlace          = "in place: what it sends is in the receive buffer"
	inPlaceReceiving = "in place: what it receives stays in the send buffer"
	notRoot          = "means nothing here: this rank is not the root"
	rootElsewhere    = "means nothing here: the root is another rank of this group"
)

func (s *callSide) nothing(note string) { s.none, s.note = true, note }

func (s *callSide) inPlace() {
	if s.nothing(inPlace); s.spec.Direction == mpispec.Receives {
		s.note = inPlaceReceiving
	}
}

func (s *callSide) receives() bool {
	return s.spec.Direction != mpispec.Sends && s.verb != "sends"
}

// callPart is what a side has for one rank, or for all of them.
type callPart struct {
	label string // whose part it is: "[3]", or ""
	datatype.Part
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

// newCall is a call of a function under a name, with what it is given.
func newCall(r *handle.Rank, fn *mpispec.Function, name string, given arguments, state State) *Call {
	c := &Call{fn: fn, Name: name, State: state, given: given, r: r}
	if p := fn.WithRole(mpispec.RoleComm); p != nil {
		c.comm, c.commErr = given.comm(p.Name)
	}
	c.root = c.rootRole()
	c.sides = given.sides(c)
	replaces := slices.ContainsFunc(c.sides, func(s callSide) bool { return s.note == inPlace })
	for i := range c.sides {
		s := &c.sides[i]
		if replaces && s.note != inPlace && s.spec.Direction == mpispec.Receives {
			s.verb = fn.Verb(mpispec.Both)
		}
		if !s.none && s.err == nil && s.receives() {
			s.note = c.notYet()
		}
	}
	return c
}

// notYet says of what is received into that what is there is not what will be; "" if that is not known.
func (c *Call) notYet() string {
	note := map[State]string{
		Ahead: "not received yet: the call has not run", Running: "not received yet", Pending: "not complete yet",
	}[c.State]
	if done, ok := map[string]string{
		"reads": "read", "gets": "fetched", "packs into": "written", "unpacks into": "written",
	}[c.fn.Verb(mpispec.Receives)]; ok {
		note = strings.Replace(note, "received", done, 1)
	}
	return note
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
			offset = k.Mul(offset, p.Type.Figures.Extent)
		}
		if k.Bad {
			return nil, fault.Errorf(fault.TooLarge, 0, "Displacement %d of part %d is more than 2^62 bytes.",
				displs[i], i)
		}
		parts[i] = callPart{label: fmt.Sprintf("[%d]", i), Part: p, count: counts[i], addr: addr + uint64(offset)}
	}
	return parts, nil
}

func (c *Call) rootRole() rootRole {
	if !c.fn.Has("root") || c.comm == nil {
		return rootUnknown
	}
	root, err := c.given.number("root")
	inter := c.comm.Kind == abi.CommInter
	switch {
	case err != nil:
		return rootUnknown
	case inter && root == c.r.RootConst(), !inter && root == int64(c.comm.Rank):
		return rootSelf
	case inter && root == c.r.ProcNull():
		return rootNobody
	}
	return rootOther
}

// group is the ranks in MPI_COMM_WORLD of those that the call communicates with.
func (c *Call) group() []int64 {
	if c.comm.Kind == abi.CommInter {
		return c.comm.Remote
	}
	return c.comm.Members
}

// nameOf is how an argument is written, or else what it is called.
func (c *Call) nameOf(parameter string) string {
	if t := c.given.text(parameter); t != "" {
		return t
	}
	return parameter
}
