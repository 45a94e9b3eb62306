package trace

import "fmt"

// Op is the MPI operation of an event: enum cohort_op of cohort_abi.h.
type Op uint8

// The operations that the code of this module names. All others have a name and a class through the table below.
const (
	OpNone                    Op = 0
	OpSend                    Op = 1
	OpBsend                   Op = 2
	OpSsend                   Op = 3
	OpRsend                   Op = 4
	OpIsend                   Op = 5
	OpIbsend                  Op = 6
	OpIssend                  Op = 7
	OpIrsend                  Op = 8
	OpRecv                    Op = 9
	OpIrecv                   Op = 10
	OpSendrecv                Op = 11
	OpSendrecvReplace         Op = 12
	OpProbe                   Op = 13
	OpIprobe                  Op = 14
	OpMprobe                  Op = 15
	OpImprobe                 Op = 16
	OpMrecv                   Op = 17
	OpImrecv                  Op = 18
	OpSendInit                Op = 19
	OpBsendInit               Op = 20
	OpSsendInit               Op = 21
	OpRsendInit               Op = 22
	OpRecvInit                Op = 23
	OpStart                   Op = 24
	OpStartall                Op = 25
	OpWait                    Op = 26
	OpWaitall                 Op = 27
	OpWaitany                 Op = 28
	OpWaitsome                Op = 29
	OpTest                    Op = 30
	OpTestall                 Op = 31
	OpTestany                 Op = 32
	OpTestsome                Op = 33
	OpRequestGetStatus        Op = 34
	OpCancel                  Op = 35
	OpRequestFree             Op = 36
	OpTestCancelled           Op = 37
	OpGrequestStart           Op = 38
	OpCollectiveInit          Op = 39
	OpBarrier                 Op = 40
	OpBcast                   Op = 41
	OpGather                  Op = 42
	OpGatherv                 Op = 43
	OpScatter                 Op = 44
	OpScatterv                Op = 45
	OpAllgather               Op = 46
	OpAllgatherv              Op = 47
	OpAlltoall                Op = 48
	OpAlltoallv               Op = 49
	OpAlltoallw               Op = 50
	OpReduce                  Op = 51
	OpAllreduce               Op = 52
	OpReduceScatter           Op = 53
	OpReduceScatterBlock      Op = 54
	OpScan                    Op = 55
	OpExscan                  Op = 56
	OpNeighborAllgather       Op = 57
	OpNeighborAllgatherv      Op = 58
	OpNeighborAlltoall        Op = 59
	OpNeighborAlltoallv       Op = 60
	OpNeighborAlltoallw       Op = 61
	OpWinCreate               Op = 62
	OpWinAllocate             Op = 63
	OpWinFree                 Op = 64
	OpPut                     Op = 65
	OpGet                     Op = 66
	OpAccumulate              Op = 67
	OpGetAccumulate           Op = 68
	OpFetchAndOp              Op = 69
	OpIbarrier                Op = 70
	OpIbcast                  Op = 71
	OpIgather                 Op = 72
	OpIgatherv                Op = 73
	OpIscatter                Op = 74
	OpIscatterv               Op = 75
	OpIallgather              Op = 76
	OpIallgatherv             Op = 77
	OpIalltoall               Op = 78
	OpIalltoallv              Op = 79
	OpIalltoallw              Op = 80
	OpIreduce                 Op = 81
	OpIallreduce              Op = 82
	OpIreduceScatter          Op = 83
	OpIreduceScatterBlock     Op = 84
	OpIscan                   Op = 85
	OpIexscan                 Op = 86
	OpIneighborAllgather      Op = 87
	OpIneighborAllgatherv     Op = 88
	OpIneighborAlltoall       Op = 89
	OpIneighborAlltoallv      Op = 90
	OpIneighborAlltoallw      Op = 91
	OpCompareAndSwap          Op = 92
	OpWinFence                Op = 93
	OpWinStart                Op = 94
	OpWinComplete             Op = 95
	OpWinPost                 Op = 96
	OpWinWait                 Op = 97
	OpWinLock                 Op = 99
	OpCommDup                 Op = 100
	OpCommSplit               Op = 101
	OpCommCreate              Op = 102
	OpCommSplitType           Op = 103
	OpCartCreate              Op = 104
	OpGraphCreate             Op = 105
	OpDistGraphCreate         Op = 106
	OpDistGraphCreateAdjacent Op = 107
	OpCartSub                 Op = 108
	OpCommFree                Op = 109
	OpCommDupWithInfo         Op = 110
	OpCommIdup                Op = 111
	OpCommCreateGroup         Op = 112
	OpIntercommCreate         Op = 113
	OpIntercommMerge          Op = 114
	OpCommDisconnect          Op = 115
	OpWinUnlock               Op = 116
	OpWinLockAll              Op = 117
	OpWinUnlockAll            Op = 118
	OpWinFlush                Op = 119
	OpFinalize                Op = 120
	OpAbort                   Op = 121
	OpWinFlushAll             Op = 122
	OpWinFlushLocal           Op = 123
	OpWinFlushLocalAll        Op = 124
	OpWinSync                 Op = 125
	OpOther                   Op = 127
)

// Class groups operations by what an EVENT record holds for them.
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

// Classes returns all classes that an event may have, in the order of the format's table.
func Classes() []Class {
	var all []Class
	for c := ClassSend; c <= ClassOther; c++ {
		all = append(all, c)
	}
	return all
}

type opInfo struct {
	name  string
	class Class
	poll  bool // may fail, and then is no event
	set   bool // its outcome is a set of indices
	makes bool // makes a communicator
}

//nolint:gochecknoglobals // a constant table: Go has no constant arrays
var opTable = [128]opInfo{
	OpSend: {name: "Send", class: ClassSend}, OpBsend: {name: "Bsend", class: ClassSend},
	OpSsend: {name: "Ssend", class: ClassSend}, OpRsend: {name: "Rsend", class: ClassSend},
	OpIsend: {name: "Isend", class: ClassSend}, OpIbsend: {name: "Ibsend", class: ClassSend},
	OpIssend: {name: "Issend", class: ClassSend}, OpIrsend: {name: "Irsend", class: ClassSend},

	OpRecv: {name: "Recv", class: ClassRecv}, OpIrecv: {name: "Irecv", class: ClassIrecv},
	OpSendrecv:        {name: "Sendrecv", class: ClassSendrecv},
	OpSendrecvReplace: {name: "Sendrecv_replace", class: ClassSendrecv},
	OpProbe:           {name: "Probe", class: ClassProbe},
	OpIprobe:          {name: "Iprobe", class: ClassProbe, poll: true},
	OpMprobe:          {name: "Mprobe", class: ClassProbe},
	OpImprobe:         {name: "Improbe", class: ClassProbe, poll: true},
	OpMrecv:           {name: "Mrecv", class: ClassRecv}, OpImrecv: {name: "Imrecv", class: ClassIrecv},

	OpSendInit: {name: "Send_init", class: ClassSendInit}, OpBsendInit: {name: "Bsend_init", class: ClassSendInit},
	OpSsendInit: {name: "Ssend_init", class: ClassSendInit}, OpRsendInit: {name: "Rsend_init", class: ClassSendInit},
	OpRecvInit: {name: "Recv_init", class: ClassRecvInit},
	OpStart:    {name: "Start", class: ClassStart}, OpStartall: {name: "Startall", class: ClassStart},

	OpWait: {name: "Wait", class: ClassCompletion}, OpWaitall: {name: "Waitall", class: ClassCompletion},
	OpWaitany:          {name: "Waitany", class: ClassCompletion, set: true},
	OpWaitsome:         {name: "Waitsome", class: ClassCompletion, set: true},
	OpTest:             {name: "Test", class: ClassCompletion, poll: true},
	OpTestall:          {name: "Testall", class: ClassCompletion, poll: true},
	OpTestany:          {name: "Testany", class: ClassCompletion, poll: true, set: true},
	OpTestsome:         {name: "Testsome", class: ClassCompletion, poll: true, set: true},
	OpRequestGetStatus: {name: "Request_get_status", class: ClassCompletion, poll: true},
	OpCancel:           {name: "Cancel", class: ClassRequest},
	OpRequestFree:      {name: "Request_free", class: ClassRequest},
	OpTestCancelled:    {name: "Test_cancelled", class: ClassOther},
	OpGrequestStart:    {name: "Grequest_start", class: ClassOther},
	OpCollectiveInit:   {name: "Collective_init", class: ClassCollectiveInit},

	OpBarrier: {name: "Barrier", class: ClassCollective}, OpBcast: {name: "Bcast", class: ClassCollective},
	OpGather: {name: "Gather", class: ClassCollective}, OpGatherv: {name: "Gatherv", class: ClassCollective},
	OpScatter: {name: "Scatter", class: ClassCollective}, OpScatterv: {name: "Scatterv", class: ClassCollective},
	OpAllgather:  {name: "Allgather", class: ClassCollective},
	OpAllgatherv: {name: "Allgatherv", class: ClassCollective},
	OpAlltoall:   {name: "Alltoall", class: ClassCollective}, OpAlltoallv: {name: "Alltoallv", class: ClassCollective},
	OpAlltoallw: {name: "Alltoallw", class: ClassCollective}, OpReduce: {name: "Reduce", class: ClassCollective},
	OpAllreduce:          {name: "Allreduce", class: ClassCollective},
	OpReduceScatter:      {name: "Reduce_scatter", class: ClassCollective},
	OpReduceScatterBlock: {name: "Reduce_scatter_block", class: ClassCollective},
	OpScan:               {name: "Scan", class: ClassCollective}, OpExscan: {name: "Exscan", class: ClassCollective},
	OpNeighborAllgather:  {name: "Neighbor_allgather", class: ClassCollective},
	OpNeighborAllgatherv: {name: "Neighbor_allgatherv", class: ClassCollective},
	OpNeighborAlltoall:   {name: "Neighbor_alltoall", class: ClassCollective},
	OpNeighborAlltoallv:  {name: "Neighbor_alltoallv", class: ClassCollective},
	OpNeighborAlltoallw:  {name: "Neighbor_alltoallw", class: ClassCollective},

	OpIbarrier: {name: "Ibarrier", class: ClassIcollective}, OpIbcast: {name: "Ibcast", class: ClassIcollective},
	OpIgather: {name: "Igather", class: ClassIcollective}, OpIgatherv: {name: "Igatherv", class: ClassIcollective},
	OpIscatter: {name: "Iscatter", class: ClassIcollective}, OpIscatterv: {name: "Iscatterv", class: ClassIcollective},
	OpIallgather:          {name: "Iallgather", class: ClassIcollective},
	OpIallgatherv:         {name: "Iallgatherv", class: ClassIcollective},
	OpIalltoall:           {name: "Ialltoall", class: ClassIcollective},
	OpIalltoallv:          {name: "Ialltoallv", class: ClassIcollective},
	OpIalltoallw:          {name: "Ialltoallw", class: ClassIcollective},
	OpIreduce:             {name: "Ireduce", class: ClassIcollective},
	OpIallreduce:          {name: "Iallreduce", class: ClassIcollective},
	OpIreduceScatter:      {name: "Ireduce_scatter", class: ClassIcollective},
	OpIreduceScatterBlock: {name: "Ireduce_scatter_block", class: ClassIcollective},
	OpIscan:               {name: "Iscan", class: ClassIcollective},
	OpIexscan:             {name: "Iexscan", class: ClassIcollective},
	OpIneighborAllgather:  {name: "Ineighbor_allgather", class: ClassIcollective},
	OpIneighborAllgatherv: {name: "Ineighbor_allgatherv", class: ClassIcollective},
	OpIneighborAlltoall:   {name: "Ineighbor_alltoall", class: ClassIcollective},
	OpIneighborAlltoallv:  {name: "Ineighbor_alltoallv", class: ClassIcollective},
	OpIneighborAlltoallw:  {name: "Ineighbor_alltoallw", class: ClassIcollective},

	OpCommDup:                 {name: "Comm_dup", class: ClassComm, makes: true},
	OpCommSplit:               {name: "Comm_split", class: ClassComm, makes: true},
	OpCommCreate:              {name: "Comm_create", class: ClassComm, makes: true},
	OpCommSplitType:           {name: "Comm_split_type", class: ClassComm, makes: true},
	OpCartCreate:              {name: "Cart_create", class: ClassComm, makes: true},
	OpGraphCreate:             {name: "Graph_create", class: ClassComm, makes: true},
	OpDistGraphCreate:         {name: "Dist_graph_create", class: ClassComm, makes: true},
	OpDistGraphCreateAdjacent: {name: "Dist_graph_create_adjacent", class: ClassComm, makes: true},
	OpCartSub:                 {name: "Cart_sub", class: ClassComm, makes: true},
	OpCommFree:                {name: "Comm_free", class: ClassComm},
	OpCommDupWithInfo:         {name: "Comm_dup_with_info", class: ClassComm, makes: true},
	OpCommIdup:                {name: "Comm_idup", class: ClassComm, makes: true},
	OpCommCreateGroup:         {name: "Comm_create_group", class: ClassComm, makes: true},
	OpIntercommCreate:         {name: "Intercomm_create", class: ClassComm, makes: true},
	OpIntercommMerge:          {name: "Intercomm_merge", class: ClassComm, makes: true},
	OpCommDisconnect:          {name: "Comm_disconnect", class: ClassComm},

	OpWinCreate:        {name: "Win_create", class: ClassCollective},
	OpWinAllocate:      {name: "Win_allocate", class: ClassCollective},
	OpWinFree:          {name: "Win_free", class: ClassCollective},
	OpPut:              {name: "Put", class: ClassOther},
	OpGet:              {name: "Get", class: ClassOther},
	OpAccumulate:       {name: "Accumulate", class: ClassOther},
	OpGetAccumulate:    {name: "Get_accumulate", class: ClassOther},
	OpFetchAndOp:       {name: "Fetch_and_op", class: ClassOther},
	OpCompareAndSwap:   {name: "Compare_and_swap", class: ClassOther},
	OpWinFence:         {name: "Win_fence", class: ClassCollective},
	OpWinStart:         {name: "Win_start", class: ClassOther},
	OpWinComplete:      {name: "Win_complete", class: ClassOther},
	OpWinPost:          {name: "Win_post", class: ClassOther},
	OpWinWait:          {name: "Win_wait", class: ClassOther},
	OpWinLock:          {name: "Win_lock", class: ClassOther},
	OpWinUnlock:        {name: "Win_unlock", class: ClassOther},
	OpWinLockAll:       {name: "Win_lock_all", class: ClassOther},
	OpWinUnlockAll:     {name: "Win_unlock_all", class: ClassOther},
	OpWinFlush:         {name: "Win_flush", class: ClassOther},
	OpWinFlushAll:      {name: "Win_flush_all", class: ClassOther},
	OpWinFlushLocal:    {name: "Win_flush_local", class: ClassOther},
	OpWinFlushLocalAll: {name: "Win_flush_local_all", class: ClassOther},
	OpWinSync:          {name: "Win_sync", class: ClassOther},

	OpFinalize: {name: "Finalize", class: ClassOther}, OpAbort: {name: "Abort", class: ClassOther},
	OpOther: {name: "Other", class: ClassOther},
}

// String returns the operation's name without "MPI_": "Isend". An unknown number prints as op(N).
func (op Op) String() string {
	if op.Known() {
		return opTable[op].name
	}
	return fmt.Sprintf("op(%d)", uint8(op))
}

// Call returns the name as programs write it: "MPI_Isend".
func (op Op) Call() string { return "MPI_" + op.String() }

// CallName names the call of a number that a rank wrote into its control block: "MPI_Recv", "none" for 0, "uncovered
// call" for OpOther (the recording's note says which), and "op N" for a number that this version does not know.
func CallName(number uint32) string {
	if name, ok := callNameOfValue(number); ok {
		return name
	}
	switch {
	case number == uint32(OpNone):
		return "none"
	case number == uint32(OpOther):
		return "uncovered call"
	case number < uint32(len(opTable)) && opTable[number].name != "":
		return Op(number).Call()
	}
	return fmt.Sprintf("op %d", number)
}

// Known reports whether this version of the format has the operation.
func (op Op) Known() bool { return int(op) < len(opTable) && opTable[op].name != "" }

// Class says what an EVENT record of this operation holds; ClassNone for an unknown one.
func (op Op) Class() Class {
	if op.Known() {
		return opTable[op].class
	}
	return ClassNone
}

// IsPoll reports whether the operation may fail, and then is no event but only counted.
func (op Op) IsPoll() bool { return op.Known() && opTable[op].poll }

// HasSet reports whether the outcome of the operation is a set of indices (Waitany, Waitsome, Testany, Testsome).
func (op Op) HasSet() bool { return op.Known() && opTable[op].set }

// MakesComm reports whether the operation makes a communicator.
func (op Op) MakesComm() bool { return op.Known() && opTable[op].makes }

// OrdersOneSided reports whether the operation is a synchronisation of one-sided communication that is no collective:
// it makes events of one rank happen before those of another in a way that traces do not show.
func (op Op) OrdersOneSided() bool {
	switch op { //nolint:exhaustive // all others do not
	case OpWinStart, OpWinComplete, OpWinPost, OpWinWait, OpWinLock, OpWinUnlock, OpWinLockAll, OpWinUnlockAll,
		OpWinFlush, OpWinFlushAll, OpWinSync:
		return true
	}
	return false
}

// ParseOp is the inverse of Op.String for known operations.
func ParseOp(name string) (Op, bool) {
	for op := range opTable {
		if opTable[op].name == name && name != "" {
			return Op(op), true
		}
	}
	return OpNone, false
}
