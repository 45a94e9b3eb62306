// Package causal owns the pure algorithms on the events of a run: which send each receive took, which calls form one
// collective, what happened before what, vector time, and cuts. It knows traces (package trace) and nothing else of
// Cohort: no processes, no rank sets, no screens.
//
// # Events, entry and exit
//
// An event is one MPI call of one rank, written rank:index, and it takes time: it has an entry and an exit. Lamport's
// happened-before is taken over these points. Within a rank they follow each other. Across ranks a point precedes an
// exit only:
//
//   - the entry of a send precedes the exit of the call that completes its receive (the Recv itself, or the Wait, Test,
//     ... of an Irecv), and the exit of every probe that saw the message;
//   - the entry of the call that posted a receive precedes the exit of the call that completes a synchronous send
//     (Ssend, or the Wait of an Issend) to it;
//   - the entry of a collective call precedes the exits of those calls of the same collective whose data may depend on
//     it: after a Bcast or Scatter every other rank has the root's data, after a Gather or Reduce the root has
//     everyone's, after a Scan rank i that of ranks up to i, after an Exscan of ranks below i, and after all others
//     (Barrier, Allreduce, Alltoall, the making of a communicator, ...) all have everyone's. The exit of a nonblocking
//     collective, and of a start of a persistent one, is the call that completes it. For neighborhood collectives and
//     collectives over an intercommunicator, of which the trace does not tell the topology or the root group, all are
//     taken to depend on all.
//
// Event a happened before event b when a's entry precedes b's exit. So two Sendrecv calls that exchange messages
// happened before each other: each had begun before the other ended. The vector time of an event says, of each rank,
// the last event that happened before its exit.
//
// # Causal past and causal cut
//
// A cut is a number of whole events per rank, because a rank can be stopped between its MPI calls but not within one.
// So the causal cut of an event can hold more than its vector time says, for two reasons:
//
//   - an event of the past may itself have needed others in order to end. In a ring of Sendrecv calls the exit of 0:1
//     needs the entry of 3:1 only, but for 3:1 to be in a cut it must have ended, and that needs 2:1, and so on around
//     the ring;
//   - a blocking collective is taken whole: if one rank's call is in the cut, so are those of all members, because MPI
//     may need any of them for the others to get through, data or not. A nonblocking one needs the posts of all
//     members, whose ranks give it progress wherever they are stopped after that. MPI_Finalize counts as a blocking
//     collective of all ranks, without data.
//
// The causal cut is the least cut that is closed in this sense. It is never smaller than the vector time.
//
// # Races
//
// The definition is Netzer & Miller's ("Optimal Tracing and Replay for Debugging Message-Passing Parallel Programs",
// section 3, Definition 3.2), put in terms of MPI. A receive or probe r that asked for any source took (or saw) message
// M. Another message M' races with M at r when an execution exists that is the recorded one up to r, and in which r
// takes M'. That is so when all of this holds:
//
//   - M' goes to the same process, fits r's communicator and tag, and is of another sender;
//   - of its sender it is the first such message that no receive posted before r took: messages that fit one receive do
//     not overtake each other (MPI-3.1 section 3.5), so that each sender has at most one message that r could have
//     taken;
//   - it does not depend on r's outcome: its send is not after the exit of the event at which r was *decided*. That is
//     the event that completed r or, if that comes first, the completion of another receive or probe, posted later, of
//     a message that fits r as well: since r had a prior claim to it, r had a message by then. Nor is its send after
//     the end of a synchronous send of M, if r blocks;
//   - no receive posted before r, and still waiting, takes M' away: one that fits M' and whose own message is sent only
//     after r was decided would.
//
// Two messages of one sender never race, so receives with a wildcard tag only are not asked about.
//
// Where the trace does not settle a case, a race is reported rather than kept silent: a receive posted before r that
// was cancelled, or whose message the trace does not tell, is taken not to have been there, and the end of a
// synchronous send to a nonblocking receive is not taken to tell that it matched. A send is taken to end without its
// receive, as MPI allows, whatever its size.
//
// Failed polls, and the sets of indices that Waitany and its kin return, are nondeterministic too, but no message
// races: they are decisions that replay always needs (Clemencon et al., "An Implementation of Race Detection and
// Deterministic Replay with MPI", section 4.2).
//
// **Invariant:** causal imports trace only.
//
// **Invariant:** a Graph does not change once built; all its methods may be called by several goroutines at once.
//
// **Invariant:** whatever has no partner is reported by Graph.Problems; nothing is dropped in silence, and what
// contradicts itself is an error of Build.
package causal
