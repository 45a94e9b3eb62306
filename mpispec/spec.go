package mpispec

import (
	"fmt"
	"slices"
	"strings"
)

// Function is a function of MPI. It is shared and must not be changed.
type Function struct {
	Name    string // "MPI_Send"
	Params  []Param
	Returns string   // C type: int, but of a few
	Buffers []Buffer // parameters that are buffers, in order

	Op        Op     // what traces call it: OpOther of a function that is not covered, OpNone of one that is no event
	Operation string // its name in the table that the function is of: "Isend"; "" of OpNone
	Class     Class  // of Op; ClassNone of a function that is no event
	Coverage  Coverage

	// Base is the blocking form of which this one is the nonblocking, persistent or request-based one; Nonblocking and
	// Persistent are its inverse. Large is the form with large counts, Small that without. Nil where there is none.
	Base, Nonblocking, Persistent, Large, Small *Function

	Mode         SendMode   // of a send
	Nonlocal     bool       // may need another rank to act before it returns
	Poll         bool       // may find nothing complete, and then is no event
	Completes    Completion // which of the requests given it completes
	After        Dependence // of a collective
	Among        bool       // of a collective: over the members of the communicator that it makes
	Orders       bool       // of a collective: racing mode takes its order of events from it
	Synchronizes bool       // orders one-sided communication of several ranks in a way that traces do not show

	Since, Until Version
	Missing      string  // "openmpi": a library of its version that does not have it
	Fortran      Fortran // how calls from Fortran are wrapped
	F08Own       bool    // mpi_f08 of MPICH passes its sentinels in a way of its own
	Always       bool    // its object is in the registry even where calls in progress are not tracked
	Hidden       bool    // a call in progress is not shown

	verbs string
	large []Param // of the form with large counts; nil: there is none
}

// Coverage says what Cohort does about a function.
type Coverage uint8

// The coverages.
const (
	Unneeded  Coverage = iota // nothing: its outcome follows from what is recorded, and it is not wrapped
	Recorded                  // an event, whose outcome replay enforces
	Uncovered                 // makes a recording incomplete, by name
	Value                     // what it returns is recorded as a value
	Lifecycle                 // starts the recorder
	Objects                   // watched for the registry of handles only
)

// SendMode is the mode of a send.
type SendMode uint8

// The modes of sends.
const (
	ModeStandard SendMode = iota
	ModeBuffered
	ModeSynchronous
	ModeReady
)

// Completion says which requests a call completes.
type Completion uint8

// The completions.
const (
	CompletesNone Completion = iota
	CompletesOne
	CompletesAll
	CompletesAny
	CompletesSome
)

// Dependence says, of a collective, whose calls must have begun for the call of a member to end; all but AfterNone of
// an intracommunicator, where nothing is said of others: there it is after all.
type Dependence uint8

// The dependences. Only with AfterExchange, AfterRoot and RootAfterAll is it data of one type that one member gives
// another.
const (
	AfterAll      Dependence = iota // all
	AfterExchange                   // all, since each gives each data
	AfterRoot                       // the root's; the root waits for nobody
	RootAfterAll                    // the root's all; others wait for nobody
	AfterLower                      // those of lower rank
	AfterNone
)

// Fortran says how calls from Fortran are wrapped.
type Fortran uint8

// How calls from Fortran are wrapped.
const (
	FortranPlain     Fortran = iota // not at all
	FortranConverted                // arguments are converted, and the C function is called
	FortranOwn                      // by hand: procedures or texts among the arguments
	FortranPassed                   // noted and passed on, for the same reason
)

// Version is a version of MPI: 31 for MPI 3.1.
type Version int

func (v Version) String() string { return fmt.Sprintf("%d.%d", v/10, v%10) }

// Direction says which way a parameter goes.
type Direction uint8

// The directions.
const (
	In Direction = iota
	Out
	InOut
)

// Role is what a parameter that is no handle means.
type Role uint8

// The roles. All handles, statuses and so on are known by their type.
const (
	RoleNone   Role = iota
	RoleBuffer      // see Buffer
	RoleCount       // of a buffer's elements
	RoleDispls      // of the parts of a buffer
	RoleDest        // rank of a receiver
	RoleSource      // rank of a sender, or MPI_ANY_SOURCE
	RoleTag
	RoleRoot
	RoleTarget // rank of a window's target
	RoleFlag   // what follows it is set if this is true
	RoleIndex  // place, or places, in an array of requests; from 1 in Fortran
	RoleComm   // the communicator that the call is over
)

// Param is a parameter of a function.
type Param struct {
	Name   string // as the standard names it
	Type   string // in C, without const, and the pointer or brackets of Direction and Array: "MPI_Comm", "int", "void"
	Const  bool   // what it refers to is const
	Array  bool
	Length string // of an array: a parameter, "n", "local", "in", "out", or "" if nothing simple (see the package)
	Direction
	Role Role
}

// Pointer reports whether it is the address of one value that the call sets or changes, and no buffer.
func (p *Param) Pointer() bool {
	return p.Direction != In && !p.Array && !strings.HasSuffix(p.Type, "*")
}

// Declaration is the parameter as C declares it: "const int recvcounts[]".
func (p *Param) Declaration() string {
	kind, suffix := p.Type, ""
	if base, brackets, ok := strings.Cut(kind, "["); ok {
		kind, suffix = base, "["+brackets
	}
	if p.Const {
		kind = "const " + kind
	}
	switch {
	case p.Type == "...":
		return p.Type
	case p.Array:
		suffix = "[]"
	case p.Pointer():
		kind += "*"
	}
	if stars := strings.TrimRight(kind, "*"); stars != kind {
		return stars + " " + kind[len(stars):] + p.Name + suffix
	}
	return kind + " " + p.Name + suffix
}

// Prototype is the function as C declares it, without a semicolon.
func (f *Function) Prototype() string {
	if len(f.Params) == 0 {
		return f.Returns + " " + f.Name + "(void)"
	}
	all := make([]string, len(f.Params))
	for i := range f.Params {
		all[i] = f.Params[i].Declaration()
	}
	return f.Returns + " " + f.Name + "(" + strings.Join(all, ", ") + ")"
}

// BufferDirection says what a call does with a buffer.
type BufferDirection uint8

// What a call does with a buffer.
const (
	Sends    BufferDirection = iota + 1 // reads it
	Receives                            // writes it
	Both                                // reads it, then writes it
	BcastBuf                            // the root reads it, the others write it
)

// Times says how often the count of a buffer applies.
type Times uint8

// How often a count applies.
const (
	Once Times = iota // count instances
	// count instances for each member of the communicator (of an intercommunicator: of its remote group)
	PerMember
	PerSource  // for each neighbour from which the rank receives, in the topology of the communicator
	PerTarget  // for each neighbour to which it sends
	OwnOf      // the entry of an array of counts that this rank has
	SumOf      // the sum of an array of counts
	Partitions // count instances in each of as many parts as another argument says
)

// Buffer is a buffer argument of a function, with the names of the parameters that describe it.
type Buffer struct {
	Address   string
	Direction BufferDirection
	Count     string // "" for 1
	Type      string // "" for MPI_PACKED
	Displs    string // "" if there are none
	Array     bool   // Count is an array with an entry for each part (Times says of what), and Displs another
	ByType    bool   // Type is an array likewise, and Displs are in bytes
	Times     Times
	AtRoot    bool   // means something at the root only
	Parts     string // with Partitions: the parameter that says how many
}

// Short is the name without "MPI_": "Send".
func (f *Function) Short() string { return strings.TrimPrefix(f.Name, "MPI_") }

// Param is the parameter of that name, or nil.
func (f *Function) Param(name string) *Param {
	if i := slices.IndexFunc(f.Params, func(p Param) bool { return p.Name == name }); i >= 0 {
		return &f.Params[i]
	}
	return nil
}

// Has reports whether it has a parameter of that name.
func (f *Function) Has(name string) bool { return f.Param(name) != nil }

// WithRole is the first parameter of a role, or nil.
func (f *Function) WithRole(r Role) *Param {
	if i := slices.IndexFunc(f.Params, func(p Param) bool { return p.Role == r }); i >= 0 {
		return &f.Params[i]
	}
	return nil
}

// OfType is the first parameter of a C type and direction, or nil: ("MPI_Request", Out) is the request that it makes.
func (f *Function) OfType(kind string, d Direction) *Param {
	if i := slices.IndexFunc(f.Params, func(p Param) bool { return p.Type == kind && p.Direction == d }); i >= 0 {
		return &f.Params[i]
	}
	return nil
}

// Verb says what a call does with its buffers of a direction: sends, receives, writes, packs.
func (f *Function) Verb(d BufferDirection) string {
	out, in, _ := strings.Cut(f.verbs, "/")
	switch d {
	case Receives:
		return in
	case Both, BcastBuf:
		return out + " and " + in
	case Sends:
	}
	return out
}

// Shown reports whether a call of it is shown to a debugger while it is in progress.
func (f *Function) Shown() bool {
	return !f.Hidden && (f.Coverage == Recorded || f.Coverage == Uncovered)
}

// Reduction reports whether it combines operands of several ranks, in an order that its library chooses.
func (f *Function) Reduction() bool { return f.Param("op") != nil && f.WithRole(RoleComm) != nil }

// OneSided reports whether it acts on a window.
func (f *Function) OneSided() bool { return f.Param("win") != nil }
