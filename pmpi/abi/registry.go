package abi

// Slot is struct cohort_slot: one entry of a registry table.
type Slot struct {
	Handle uint64
	Record uint64 // address of the record; 0 empty, 1 was freed (keep probing)
}

// Registry is struct cohort_registry.
type Registry struct {
	Magic           uint64
	Version         uint32
	Size            uint32
	Mpi             uint32
	HandleSize      uint32
	Datatypes       uint64 // address of a capacity word and its slots; likewise the other tables
	Comms           uint64
	Requests        uint64
	Groups          uint64
	Windows         uint64
	Files           uint64
	Ops             uint64
	Errhandlers     uint64
	Infos           uint64
	Calls           uint64 // address of the first Call
	Detached        uint64 // address of the first Request whose handle was given up while it was active
	DetachedDropped uint64
	Lost            uint64
	Features        uint32 // Feature
	Mode            uint32
	InPlace         uint64
	CommNull        uint64
	RequestNull     uint64
	Memory          uint64 // bytes that Cohort has mapped in the process
	MemoryUsed      uint64 // of these, in records and tables
}

// Limits of what the registry keeps.
const (
	DetachedMax  = 64   // COHORT_DETACHED_MAX: requests whose handles were given up
	SharedMax    = 1024 // COHORT_SHARED_MAX: requests of one handle
	StackMax     = 16   // COHORT_STACK_MAX: frames of a stack
	LocksMax     = 8    // COHORT_LOCKS_MAX: locks of a window
	InfoKeysMax  = 64   // COHORT_INFO_KEYS_MAX
	InfoValueMax = 256  // COHORT_INFO_VALUE_MAX: with the NUL
)

// LockExclusive is COHORT_LOCK_EXCLUSIVE: set in a lock of a window that is exclusive.
const LockExclusive = 1 << 31

// Datatype is the fixed part of struct cohort_datatype; integers, addresses and types follow it.
type Datatype struct {
	Size       uint32
	Combiner   uint32
	State      uint32
	Refs       uint32
	Handle     uint64
	FHandle    int32
	Basic      uint32
	Pair       uint32
	BasicSize  uint32
	TypeSize   int64
	Lb         int64
	Extent     int64
	TrueLb     int64
	TrueExtent int64
	Id         uint64 //nolint:staticcheck // as in the C struct
	Event      uint64
	CallSite   uint64
	Name       [32]byte // with TypeLongName the last 8 bytes are the address of the whole
	Stack      uint64   // address of a Stack, 0: not kept
	NIntegers  uint32
	NAddresses uint32
	NTypes     uint32
	Holds      uint32
}

// Comm is the fixed part of struct cohort_comm; members, remote members and the cart arrays follow it.
type Comm struct {
	Size     uint32
	Kind     uint32
	Handle   uint64
	FHandle  int32
	Index    uint32
	GlobalId uint64 //nolint:staticcheck // as in the C struct
	ParentId uint64 //nolint:staticcheck // as in the C struct
	CommSize uint32
	CommRank uint32
	State    uint32
	NDims    uint32
	Id       uint64 //nolint:staticcheck // as in the C struct
	Event    uint64
	CallSite uint64
	Name     [64]byte
	Stack    uint64
	Refs     uint32
	Holds    uint32
	NMembers uint32
	NRemote  uint32
}

// Stack is the fixed part of struct cohort_stack: N return addresses follow, the innermost first.
type Stack struct {
	N    uint32
	Pad0 uint32
}

// Object is struct cohort_object, with which the records below begin.
type Object struct {
	Size     uint32
	Kind     uint32
	Handle   uint64
	FHandle  int32  // -1: not known
	State    uint32 // ObjectState
	Refs     uint32
	Holds    uint32
	Id       uint64 //nolint:staticcheck // as in the C struct
	Event    uint64
	CallSite uint64
	Name     uint64 // address of a NUL-terminated text, 0: none
	Stack    uint64 // address of a Stack, 0: not kept
}

// Group is the fixed part of struct cohort_group; the members' world ranks follow, uint32 each.
type Group struct {
	O         Object
	GroupRank uint32 // ^0: this process is not in it
	NMembers  uint32
}

// Window is struct cohort_window.
type Window struct {
	O             Object // Kind: WindowKind
	Comm          uint64 // address of a Comm
	Base          uint64
	Bytes         int64
	DispUnit      int32
	Epochs        uint32 // Epoch
	AccessGroup   uint64 // address of a Group
	ExposureGroup uint64
	NLocks        uint32
	Pad0          uint32
	Locks         [LocksMax]uint32
}

// File is struct cohort_file.
type File struct {
	O        Object
	Comm     uint64
	Amode    int32
	Pad0     uint32
	Disp     int64
	Etype    uint64 // address of a Datatype
	Filetype uint64
	Datarep  [32]byte
}

// Reduction is struct cohort_reduction: an MPI_Op.
type Reduction struct {
	O        Object // Kind: FunctionKind
	Function uint64
	Commutes uint32
	Pad0     uint32
}

// Errhandler is struct cohort_errhandler.
type Errhandler struct {
	O        Object // Kind: FunctionKind
	Function uint64
}

// Info is the fixed part of struct cohort_info; NEntries times a key and a value follow, each with a NUL.
type Info struct {
	O        Object
	NKeys    uint32
	NEntries uint32
}

// Side is struct cohort_side: what a call sends from or receives into.
type Side struct {
	Buffer   uint64
	Count    int64
	Datatype uint64 // address of a Datatype; 0: not known, or one per peer
	Handle   uint64
	Counts   uint64 // addresses of the program's arrays
	Displs   uint64
	Types    uint64
	N        uint32
	Flags    uint32 // SideFlag; 0: there is none
	Peer     int32  // NoRank: none
	Tag      int32
}

// Action is struct cohort_action: what a call asks of MPI.
type Action struct {
	Op         uint32 // package trace names them
	Root       int32  // NoRank: none
	Comm       uint64 // address of a Comm
	CommHandle uint64
	Object     uint64 // address of a Window or File
	Reduction  uint64 // address of a Reduction
	Offset     int64  // NoOffset: none
	Send       Side
	Receive    Side
	Target     Side
	Name       [40]byte // of a call that Op does not tell
}

// NoOffset is INT64_MIN: an Action without an offset.
const NoOffset = -1 << 63

// Request is struct cohort_request_record.
type Request struct {
	O          Object
	StartEvent uint64
	StartSite  uint64
	SinceNs    int64
	Next       uint64 // address of the next Request with the same handle, or of the next detached one
	Tid        int32
	Pad0       uint32
	A          Action
}

// Call is struct cohort_call: what one thread is doing in MPI.
type Call struct {
	Next      uint64
	Tid       int32
	Active    uint32
	Event     uint64
	CallSite  uint64
	SinceNs   int64
	Requests  uint64 // address of an array of handles
	NRequests int64
	A         Action
}
