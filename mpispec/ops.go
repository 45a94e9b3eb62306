package mpispec

import (
	_ "embed"
	"fmt"
	"sync"
)

//go:embed functions.txt
var text string

// Standard is the table of the functions of MPI, which is read when it is first asked for (2 ms). A mistake in it is
// one of the program, and any test finds it.
var Standard = sync.OnceValue(func() *Table {
	t, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return t
})

// Functions are those of the standard's table.
func Functions() []*Function { return Standard().functions }

// Lookup finds a function by its name in C, MPI_Send or PMPI_Send or MPI_Send_c; Fortran's may be in any case.
func Lookup(name string) (*Function, bool) { return Standard().Lookup(name) }

// Op is the number of an operation: what the traces of Cohort and its interposer call a call of MPI. Numbers are
// stable.
type Op uint32

// OpNone is no operation. The others are constants in operations.go, which is made of the table.
const OpNone Op = 0

// Class groups operations by what an event of traces holds for them.
type Class uint8

// The classes of operations.
const (
	ClassNone           Class = iota // not an operation
	ClassSend                        // Send..Rsend, Isend..Irsend
	ClassRecv                        // Recv, Mrecv: a receive that is complete when the call returns
	ClassIrecv                       // Irecv, Imrecv: a receive that completes in a later call
	ClassSendrecv                    // Sendrecv, Sendrecv_replace
	ClassProbe                       // Probe, Iprobe, Mprobe, Improbe
	ClassSendInit                    // Send_init..Rsend_init
	ClassRecvInit                    // Recv_init
	ClassStart                       // Start, Startall
	ClassCompletion                  // Wait.., Test.., Request_get_status
	ClassCollective                  // blocking collectives
	ClassIcollective                 // nonblocking collectives
	ClassCollectiveInit              // a persistent collective
	ClassComm                        // communicator management, collective over the parent
	ClassRequest                     // Cancel, Request_free: the request
	ClassOther                       // Test_cancelled, Grequest_start, Finalize, Abort, Other: no further fields
)

var classNames = [...]string{
	"none", "send", "recv", "irecv", "sendrecv", "probe", "send-init", "recv-init", "start", "completion", "collective",
	"icollective", "collective-init", "comm", "request", "other",
}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// unknown is what there is of an operation that the table has not.
var unknown = &Function{}

// Function is the function that the operation is the call of; of OpOther and OpCollectiveInit, which are calls of
// several, what they have in common; one without a name of an unknown operation.
func (op Op) Function() *Function {
	if f := Standard().Op(op); f != nil {
		return f
	}
	return unknown
}

// String returns the operation's name without "MPI_": "Isend". An unknown number prints as op(N).
func (op Op) String() string {
	if f := op.Function(); f != unknown {
		return f.Short()
	}
	return fmt.Sprintf("op(%d)", uint32(op))
}

// Call returns the name as programs write it: "MPI_Isend".
func (op Op) Call() string { return "MPI_" + op.String() }

// Known reports whether this version of the format has the operation.
func (op Op) Known() bool { return op.Function() != unknown }

// Class says what an event of this operation holds; ClassNone for an unknown one.
func (op Op) Class() Class { return op.Function().Class }

// IsPoll reports whether the operation may fail, and then is no event but only counted.
func (op Op) IsPoll() bool { return op.Function().Poll }

// HasSet reports whether the outcome of the operation is a set of indices (Waitany, Waitsome, Testany, Testsome).
func (op Op) HasSet() bool { return op.Function().Completes >= CompletesAny }

// MakesRequest reports whether a call of the operation makes a request, for later calls to complete or to start.
func (op Op) MakesRequest() bool { return op.Function().OfType("MPI_Request", Out) != nil }

// MakesComm reports whether the operation makes a communicator.
func (op Op) MakesComm() bool {
	return op.Class() == ClassComm && op.Function().OfType("MPI_Comm", Out) != nil
}

// ParseOp is the inverse of Op.String for known operations.
func ParseOp(name string) (Op, bool) {
	for _, op := range Standard().Operations() {
		if op.String() == name {
			return op, true
		}
	}
	return OpNone, false
}
