package backend

import "context"

// An Inspector answers, about a stopped rank, what decoding its MPI objects takes: memory, expressions, types, source
// lines and symbols, typed. Unlike Backend's requests its own do not cross the connection: whoever asks sits next to
// the rank's debugger. Goroutines, contexts, order and the end are as Backend says.
//
// Nothing here changes the program or runs any of it.
type Inspector interface {
	// ReadMemory is that of Backend.
	ReadMemory(ctx context.Context, addr uint64, n int) ([]byte, error)

	// FrameAt returns one frame; its arguments may be left out.
	FrameAt(ctx context.Context, frame FrameID) (Frame, error)

	// Resolve evaluates an expression in a frame. It asks the debugger no more than the kind of expression needs. An
	// error says in the debugger's words why it could not.
	Resolve(ctx context.Context, frame FrameID, expr string) (Value, error)

	// AliasOf returns the type that a name for types stands for, one level down (typedef MPI_Comm comm_t), or "".
	AliasOf(ctx context.Context, frame FrameID, name string) (string, error)

	// LineAt returns the source line of an instruction; a zero Line is not known.
	LineAt(ctx context.Context, pc uint64) (SourceLine, error)

	// SymbolAddress returns the address of a global symbol of the program or its libraries, with or without debug
	// information for it.
	SymbolAddress(ctx context.Context, name string) (uint64, error)

	// KernelThread returns the kernel's id of the thread that a frame is on; 0: not known.
	KernelThread(ctx context.Context, frame FrameID) (int32, error)

	// Target says what the rank is.
	Target(ctx context.Context) (Target, error)
}

// Debugger is a Backend that answers an Inspector's questions as well: one that sits next to its rank.
type Debugger interface {
	Backend
	Inspector
}

// Value is an expression's.
type Value struct {
	Type      string // as declared, such as MPI_Datatype, double *, real(kind=8), mpi.Comm
	Number    uint64 // the value of an integer, an enumeration or a pointer; signed ones extended to 64 bits
	HasNumber bool
	Address   uint64 // where the object is, if it is in memory
	HasAddr   bool
	Pointer   bool // Number is a pointer's value
	Array     bool // an array, slice or string, whose elements begin at Address
	Struct    bool // a structure, union, class or derived type
	Language  Language
}

// Language is a programming language, as far as it matters for what an expression means.
type Language int

// The languages; C is C++ too.
const (
	C Language = iota + 1
	Fortran
	Go
)

// SourceLine is where an instruction is in the source.
type SourceLine struct {
	File     string // as the compiler recorded it
	Line     int    // 1-based; 0: not known
	Start    uint64 // the first instruction of the line's code there
	Function string // as its language writes it; "": not known
}

// Target is what a rank is.
type Target struct {
	Machine string // "i386:x86-64", "aarch64": BFD's name of the architecture; "": not known
	Living  bool   // there is a process, on this host; else it is what one has left
}
