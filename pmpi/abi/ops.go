package abi

import "strconv"

// Op is what an event did: enum cohort_op. The numbers are part of the trace format.
type Op uint32

// The operations. Names follow the MPI calls.
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
	OpFinalize                Op = 120
	OpAbort                   Op = 121
	OpOther                   Op = 127
)

var opNames = [...]string{ //nolint:gosec // names of MPI calls
	OpNone:                    "none",
	OpSend:                    "MPI_Send",
	OpBsend:                   "MPI_Bsend",
	OpSsend:                   "MPI_Ssend",
	OpRsend:                   "MPI_Rsend",
	OpIsend:                   "MPI_Isend",
	OpIbsend:                  "MPI_Ibsend",
	OpIssend:                  "MPI_Issend",
	OpIrsend:                  "MPI_Irsend",
	OpRecv:                    "MPI_Recv",
	OpIrecv:                   "MPI_Irecv",
	OpSendrecv:                "MPI_Sendrecv",
	OpSendrecvReplace:         "MPI_Sendrecv_replace",
	OpProbe:                   "MPI_Probe",
	OpIprobe:                  "MPI_Iprobe",
	OpMprobe:                  "MPI_Mprobe",
	OpImprobe:                 "MPI_Improbe",
	OpMrecv:                   "MPI_Mrecv",
	OpImrecv:                  "MPI_Imrecv",
	OpSendInit:                "MPI_Send_init",
	OpBsendInit:               "MPI_Bsend_init",
	OpSsendInit:               "MPI_Ssend_init",
	OpRsendInit:               "MPI_Rsend_init",
	OpRecvInit:                "MPI_Recv_init",
	OpStart:                   "MPI_Start",
	OpStartall:                "MPI_Startall",
	OpWait:                    "MPI_Wait",
	OpWaitall:                 "MPI_Waitall",
	OpWaitany:                 "MPI_Waitany",
	OpWaitsome:                "MPI_Waitsome",
	OpTest:                    "MPI_Test",
	OpTestall:                 "MPI_Testall",
	OpTestany:                 "MPI_Testany",
	OpTestsome:                "MPI_Testsome",
	OpRequestGetStatus:        "MPI_Request_get_status",
	OpCancel:                  "MPI_Cancel",
	OpRequestFree:             "MPI_Request_free",
	OpTestCancelled:           "MPI_Test_cancelled",
	OpBarrier:                 "MPI_Barrier",
	OpBcast:                   "MPI_Bcast",
	OpGather:                  "MPI_Gather",
	OpGatherv:                 "MPI_Gatherv",
	OpScatter:                 "MPI_Scatter",
	OpScatterv:                "MPI_Scatterv",
	OpAllgather:               "MPI_Allgather",
	OpAllgatherv:              "MPI_Allgatherv",
	OpAlltoall:                "MPI_Alltoall",
	OpAlltoallv:               "MPI_Alltoallv",
	OpAlltoallw:               "MPI_Alltoallw",
	OpReduce:                  "MPI_Reduce",
	OpAllreduce:               "MPI_Allreduce",
	OpReduceScatter:           "MPI_Reduce_scatter",
	OpReduceScatterBlock:      "MPI_Reduce_scatter_block",
	OpScan:                    "MPI_Scan",
	OpExscan:                  "MPI_Exscan",
	OpNeighborAllgather:       "MPI_Neighbor_allgather",
	OpNeighborAllgatherv:      "MPI_Neighbor_allgatherv",
	OpNeighborAlltoall:        "MPI_Neighbor_alltoall",
	OpNeighborAlltoallv:       "MPI_Neighbor_alltoallv",
	OpNeighborAlltoallw:       "MPI_Neighbor_alltoallw",
	OpIbarrier:                "MPI_Ibarrier",
	OpIbcast:                  "MPI_Ibcast",
	OpIgather:                 "MPI_Igather",
	OpIgatherv:                "MPI_Igatherv",
	OpIscatter:                "MPI_Iscatter",
	OpIscatterv:               "MPI_Iscatterv",
	OpIallgather:              "MPI_Iallgather",
	OpIallgatherv:             "MPI_Iallgatherv",
	OpIalltoall:               "MPI_Ialltoall",
	OpIalltoallv:              "MPI_Ialltoallv",
	OpIalltoallw:              "MPI_Ialltoallw",
	OpIreduce:                 "MPI_Ireduce",
	OpIallreduce:              "MPI_Iallreduce",
	OpIreduceScatter:          "MPI_Ireduce_scatter",
	OpIreduceScatterBlock:     "MPI_Ireduce_scatter_block",
	OpIscan:                   "MPI_Iscan",
	OpIexscan:                 "MPI_Iexscan",
	OpIneighborAllgather:      "MPI_Ineighbor_allgather",
	OpIneighborAllgatherv:     "MPI_Ineighbor_allgatherv",
	OpIneighborAlltoall:       "MPI_Ineighbor_alltoall",
	OpIneighborAlltoallv:      "MPI_Ineighbor_alltoallv",
	OpIneighborAlltoallw:      "MPI_Ineighbor_alltoallw",
	OpCommDup:                 "MPI_Comm_dup",
	OpCommSplit:               "MPI_Comm_split",
	OpCommCreate:              "MPI_Comm_create",
	OpCommSplitType:           "MPI_Comm_split_type",
	OpCartCreate:              "MPI_Cart_create",
	OpGraphCreate:             "MPI_Graph_create",
	OpDistGraphCreate:         "MPI_Dist_graph_create",
	OpDistGraphCreateAdjacent: "MPI_Dist_graph_create_adjacent",
	OpCartSub:                 "MPI_Cart_sub",
	OpCommFree:                "MPI_Comm_free",
	OpCommDupWithInfo:         "MPI_Comm_dup_with_info",
	OpCommIdup:                "MPI_Comm_idup",
	OpCommCreateGroup:         "MPI_Comm_create_group",
	OpIntercommCreate:         "MPI_Intercomm_create",
	OpIntercommMerge:          "MPI_Intercomm_merge",
	OpFinalize:                "MPI_Finalize",
	OpAbort:                   "MPI_Abort",
	OpOther:                   "uncovered call",
}

// OpName returns the MPI call that op stands for ("MPI_Recv"), "none" for 0, "uncovered call" for OpOther (the NOTE
// record says which), and "op N" for a number that this version does not know.
func OpName(op Op) string {
	if int(op) < len(opNames) && opNames[op] != "" {
		return opNames[op]
	}
	return "op " + strconv.FormatUint(uint64(op), 10)
}

// String is OpName.
func (op Op) String() string { return OpName(op) }
