package abi

import "strconv"

// Mode is what the interposer does: enum cohort_mode.
type Mode uint32

// The modes.
const (
	ModeOff    Mode = 0 // registry and counters only
	ModeOrder  Mode = 1 // record a decision for every nondeterministic outcome
	ModeRacing Mode = 2 // record what could have been otherwise; all ranks are in this mode or none
	ModeFull   Mode = 3 // record every event
	ModeReplay Mode = 4 // obey the decisions file; with EnvTrace, write a full trace too
)

func (m Mode) String() string {
	return enumName("mode", uint32(m), "off", "order", "racing", "full", "replay")
}

// Flags are enum cohort_flag.
type Flags uint32

// The flags.
const (
	FlagYield        Flags = 1 << 0 // waits become test + sched_yield
	FlagDebugged     Flags = 1 << 1 // a debugger has a breakpoint on cohort_stop_here: call it at stops
	FlagIncompleteOK Flags = 1 << 2 // replay goes on past calls that are not covered
	FlagRecordTime   Flags = 1 << 3 // clock_gettime, getrandom and their kin are recorded, and in replay given what was
	FlagKeep         Flags = 1 << 4 // requests, calls in progress and creation stacks are kept in the registry
)

// State is what the rank is doing: enum cohort_state.
type State uint32

// The states.
const (
	StateNew       State = 0
	StateRunning   State = 1
	StateParked    State = 2
	StateStopped   State = 3
	StateDiverged  State = 4
	StateEnd       State = 5
	StateFinalized State = 6
	StateRefused   State = 7
)

func (s State) String() string {
	return enumName("state", uint32(s), "new", "running", "parked", "stopped", "diverged", "end", "finalized",
		"refused")
}

// StopReason is why the rank called cohort_stop_here: enum cohort_stop_reason.
type StopReason uint32

// The reasons.
const (
	StopParked     StopReason = 1
	StopGuard      StopReason = 2
	StopDivergence StopReason = 3
	StopEnd        StopReason = 4
)

func (r StopReason) String() string {
	return enumName("reason", uint32(r), "none", "parked", "guard", "divergence", "end of recording")
}

// DivergenceKind is enum cohort_divergence_kind.
type DivergenceKind uint32

// The kinds.
const (
	DivergenceCall  DivergenceKind = 0 // the call is not the recorded one
	DivergenceCheck DivergenceKind = 1 // one of the calls since the last check is not
)

// Release is how a parked rank goes on: enum cohort_release.
type Release uint32

// The releases.
const (
	ReleaseStop Release = 1 // call cohort_stop_here (if debugged), then go on
	ReleaseGo   Release = 2 // go on without stopping
)

// The MPI libraries as the registry and the trace header number them.
const (
	MPICH   = 1
	OpenMPI = 2
)

// Combiner is how a datatype was made: enum cohort_combiner.
type Combiner uint32

// The combiners.
const (
	CombinerNamed Combiner = iota + 1
	CombinerDup
	CombinerContiguous
	CombinerVector
	CombinerHvector
	CombinerIndexed
	CombinerHindexed
	CombinerIndexedBlock
	CombinerHindexedBlock
	CombinerStruct
	CombinerSubarray
	CombinerDarray
	CombinerResized
	CombinerF90Real
	CombinerF90Complex
	CombinerF90Integer
	CombinerUnknown Combiner = 99
)

// Basic is what a predefined datatype holds: enum cohort_basic.
type Basic uint32

// The basic kinds.
const (
	BasicNone Basic = iota
	BasicChar
	BasicInt
	BasicUint
	BasicFloat
	BasicComplex
	BasicBool
	BasicLogical
	BasicByte
	BasicPacked
	BasicPair
	BasicLB
	BasicUB
	BasicWchar
	BasicAddress
	BasicNull
)

// Type states: enum cohort_type_state.
const (
	TypeCommitted = 1 << 0
	TypeFreed     = 1 << 1
	TypeLongName  = 1 << 2
)

// Feature is enum cohort_feature: what the registry keeps in a process, and why.
type Feature uint32

// The features.
const (
	FeatureDatatypes Feature = 1 << iota
	FeatureComms
	FeatureRequests
	FeatureCalls
	FeatureGroups
	FeatureWindows
	FeatureFiles
	FeatureOps
	FeatureErrhandlers
	FeatureInfos
	FeatureStacks
	FeatureRequestStacks

	FeatureControl Feature = 1 << 16 // the process has a control block
	FeatureAsked   Feature = 1 << 17 // the environment decided
)

// ObjectState is enum cohort_object_state.
type ObjectState uint32

// The states of objects, and of requests.
const (
	ObjectPredefined  ObjectState = 1 << 0
	ObjectFreed       ObjectState = 1 << 1
	ObjectTruncated   ObjectState = 1 << 2
	ObjectFortran     ObjectState = 1 << 3
	ObjectUnseen      ObjectState = 1 << 4
	ObjectAddressOnly ObjectState = 1 << 5

	RequestActive     ObjectState = 1 << 8
	RequestPersistent ObjectState = 1 << 9
	RequestCancelled  ObjectState = 1 << 10
	RequestComplete   ObjectState = 1 << 11
	RequestShared     ObjectState = 1 << 12
	RequestUnsure     ObjectState = 1 << 13
)

// WindowKind is enum cohort_window_kind.
type WindowKind uint32

// The kinds of windows.
const (
	WindowCreate WindowKind = iota + 1
	WindowAllocate
	WindowDynamic
	WindowShared
)

// Epoch is enum cohort_epoch.
type Epoch uint32

// The epochs.
const (
	EpochFence Epoch = 1 << iota
	EpochStart
	EpochPost
	EpochLockAll
)

// FunctionKind is enum cohort_function_kind: of MPI_Ops and error handlers.
type FunctionKind uint32

// The kinds.
const (
	FunctionPredefined FunctionKind = iota + 1
	FunctionUser
	FunctionComm
	FunctionWindow
	FunctionFile
	FunctionSession
)

// SideFlag is enum cohort_side_flag.
type SideFlag uint32

// The flags of a side.
const (
	SidePresent SideFlag = 1 << iota
	SideInPlace
	SideVector
	SideCounts64
	SideDispls64
	SideDisplsBytes
	SideNotHere
	SideArraysGone
	SidePerPeer
)

// CommKind is enum cohort_comm_kind.
type CommKind uint32

// The communicator kinds.
const (
	CommIntra CommKind = iota + 1
	CommInter
	CommCart
	CommGraph
	CommNull
	CommDistGraph
)

// DecisionNever is COHORT_DECISION_NEVER.
const DecisionNever = 1 << 0

func enumName(what string, v uint32, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return what + " " + strconv.FormatUint(uint64(v), 10)
}
