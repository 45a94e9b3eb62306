// Package causal owns the pure algorithms on the events of a run: which send each receive took, which calls form one collective,
// what happened before what, vector time, and cuts. It knows traces (package trace) and nothing else of Cohort: no processes, no
// rank sets, no screens.
//
// # Events, entry and exit
//
// An event is one MPI call of one rank, written rank:index, and it takes time: it has an entry and an exit. Lamport's
// happened-before is taken over these points. Within a rank they follow each other. Across ranks a point precedes an exit only:
//
//   - the entry of a send precedes the exit of the call that completes its receive (the Recv itself, or the Wait, Test, ... of an
//     Irecv), and the exit of every probe that saw the message;
//   - the entry of the call that posted a receive precedes the exit of the call that completes a synchronous send (Ssend, or the
//     Wait of an Issend) to it;
//   - the entry of a collective call precedes the exits of those calls of the same collective whose data may depend on it: after a
//     Bcast or Scatter every other rank has the root's data, after a Gather or Reduce the root has everyone's, after a Scan rank i
//     that of ranks up to i, after an Exscan of ranks below i, and after all others (Barrier, Allreduce, Alltoall, the making of a
//     communicator, ...) all have everyone's. The exit of a nonblocking collective is the call that completes it. For neighborhood
//     collectives and collectives over an intercommunicator, of which the trace does not tell the topology or the root group, all
//     are taken to depend on all.
//
// Event a happened before event b when a's entry precedes b's exit. So two Sendrecv calls that exchange messages happened before
// each other: each had begun before the other ended. The vector time of an event says, of each rank, the last event that happened
// before its exit.
//
// # Causal past and causal cut
//
// A cut is a number of whole events per rank, because a rank can be stopped between its MPI calls but not within one. So the
// causal cut of an event can hold more than its vector time says, for two reasons:
//
//   - an event of the past may itself have needed others in order to end. In a ring of Sendrecv calls the exit of 0:1 needs the
//     entry of 3:1 only, but for 3:1 to be in a cut it must have ended, and that needs 2:1, and so on around the ring;
//   - a blocking collective is taken whole: if one rank's call is in the cut, so are those of all members, because MPI may need
//     any of them for the others to get through, data or not. A nonblocking one needs the posts of all members, whose ranks give
//     it progress wherever they are stopped after that. MPI_Finalize counts as a blocking collective of all ranks, without data.
//
// The causal cut is the least cut that is closed in this sense. It is never smaller than the vector time.
//
// **Invariant:** causal imports trace only.
//
// **Invariant:** a Graph does not change once built; all its methods may be called by several goroutines at once.
//
// **Invariant:** whatever has no partner is reported by Graph.Problems; nothing is dropped in silence, and what contradicts
// itself is an error of Build.
package causal
