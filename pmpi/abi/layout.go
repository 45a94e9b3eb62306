package abi

// Version is COHORT_ABI_VERSION: the version of everything in this package.
const Version = 3

// The magics: the first eight bytes of each of the four structures, little endian.
const (
	ControlMagic   = 0x004c5443484f43
	RegistryMagic  = 0x00474552484f43
	TraceMagic     = 0x00435254484f43
	DecisionsMagic = 0x00434544484f43
	ChunkMagic     = 0x4b4e4843
)

// Sizes of the trace file's fixed parts, in bytes.
const (
	TraceHeaderSize = 4096
	ChunkMax        = 65536
)

// Environment variables that the agent sets for the program, and for nothing else.
const (
	// path of the rank's control block; absent: the library is inert apart from the registry
	EnvControl   = "COHORT_CONTROL"
	EnvTrace     = "COHORT_TRACE"     // path of the trace file to create; absent: none is written
	EnvDecisions = "COHORT_DECISIONS" // path of the decisions file; required in replay
)

// Environment variables that a user may set.
const (
	// 1: requests and calls in progress are kept in the registry without a debugger too; 0: never
	EnvKeep   = "COHORT_KEEP"
	EnvStacks = "COHORT_STACKS" // 1: creation stacks are kept, of requests too; 0: never
)

// Symbols that a debugger looks for in libcohort.so.
const (
	SymbolStop     = "cohort_stop_here"     // function(reason): the debugger has a breakpoint here
	SymbolRegistry = "cohort_registry"      // struct cohort_registry
	SymbolControl  = "cohort_control_block" // struct cohort_control *
)

// Never is a position that is never reached (COHORT_NEVER).
const Never = ^uint64(0)

// Recent is COHORT_RECENT: how many calls a rank keeps in its control block.
const Recent = 16

// NoRank is INT32_MIN: "not applicable" in a Divergence.
const NoRank = -1 << 31

// ControlBlock is struct cohort_control. Use Control to read and write one that is shared with a rank.
type ControlBlock struct {
	Magic           uint64
	Version         uint32
	Size            uint32
	Mode            uint32
	Flags           uint32
	Rank            uint32
	WorldSize       uint32
	ParkAt          uint64
	GuardAt         uint64
	Release         uint32
	Pad0            uint32
	State           uint32
	StopReason      uint32
	Events          uint64
	Current         uint64
	Polls           uint64
	Messages        uint64
	Bytes           uint64
	Decisions       uint64
	TraceBytes      uint64
	CurrentOp       uint32
	Incomplete      uint32
	IncompleteCall  [48]byte
	IncompleteEvent uint64
	Divergence      Divergence
	Message         [160]byte
	Recent          [Recent]RecentCall
	Calls           [128]uint64
}

// Divergence is struct cohort_divergence: in replay, the call that is not the recorded one.
type Divergence struct {
	Event          uint64
	RecordedOp     uint32 // an operation (package trace names them); 0: the recording holds no further decision
	ActualOp       uint32
	RecordedSource int32 // NoRank: not applicable; likewise below
	RecordedTag    int32
	ActualSource   int32
	ActualTag      int32
	RecordedEvent  uint64
	CallSite       uint64 // return address in the program
	Kind           uint32 // DivergenceCall or DivergenceCheck
	Pad0           uint32
}

// RecentCall is struct cohort_recent: one of the last calls that a rank began.
type RecentCall struct {
	Event uint64 // 0: none
	Site  uint64 // return address in the program
	Op    uint32
	Peer  int32 // NoRank: not known, or none; likewise Tag
	Tag   int32
	Got   int32 // of a call with a wildcard: the source of the message
}

// Decisions is struct cohort_decisions: the header of a decisions file.
type Decisions struct {
	Magic      uint64
	Version    uint32
	Size       uint32
	Rank       uint32
	WorldSize  uint32
	NMatches   uint64
	NPolls     uint64
	NSets      uint64
	OffMatches uint64
	OffPolls   uint64
	OffSets    uint64
	LenSets    uint64
	LastEvent  uint64
	Finalized  uint32
	CurrentOp  uint16
	Sparse     uint16
	NChecks    uint64
	OffChecks  uint64
	NStreams   uint64
	OffStreams uint64
	NTurns     uint64
	OffTurns   uint64
	NWaits     uint64
	OffWaits   uint64
	NGrants    uint64
	OffGrants  uint64
	Control    uint32
	Hold       uint32
}

// Order is struct cohort_order: one side of a control message that bounds buffering in a replay.
type Order struct {
	Event uint64
	Peer  uint32
	Pad0  uint32
}

// Stream is struct cohort_stream: where the values are that one thread is given.
type Stream struct {
	Thread uint64
	Count  uint64
	Offset uint64
	Bytes  uint64
}

// Value is struct cohort_value: Length bytes follow, padded to 8.
type Value struct {
	Kind   uint32
	Length uint32
}

// Turn is struct cohort_turn.
type Turn struct {
	Steps  uint64
	Thread uint64
}

// Check is struct cohort_check.
type Check struct {
	Event uint64
	Hash  uint64
}

// Match is struct cohort_match.
type Match struct {
	Event  uint64
	Source int32
	Tag    int32
	Op     uint32
	Flags  uint32
}

// Poll is struct cohort_poll.
type Poll struct {
	Event    uint64
	Failures uint64
	Op       uint32
	Flags    uint32
}

// Set is struct cohort_set; Count uint32 indices follow, padded to 8 bytes.
type Set struct {
	Event uint64
	Op    uint32
	Count uint32
}

// TraceHeader is struct cohort_trace_header.
type TraceHeader struct {
	Magic           uint64
	Version         uint32
	Size            uint32
	Mode            uint32
	Flags           uint32
	Rank            uint32
	WorldSize       uint32
	Mpi             uint32
	Closed          uint32
	StartNs         uint64
	Committed       uint64
	Events          uint64
	Polls           uint64
	Incomplete      uint32
	Ended           uint32
	IncompleteCall  [48]byte
	IncompleteEvent uint64
	CurrentOp       uint32
	Pad0            uint32
}

// Chunk is struct cohort_chunk.
type Chunk struct {
	Magic      uint32
	Length     uint32
	Crc32c     uint32
	Flags      uint32
	FirstEvent uint64
}
