// Package replayctl steers a replay: it brings all ranks to a consistent cut, to the next hit of a causal breakpoint,
// or to the ends of calls of the recording. Nothing else makes ranks run by what a recording says.
//
// # Causal breakpoints
//
// A causal breakpoint stops one rank, the leader, at a line, and every other rank at the earliest position that holds
// all that happened before. Where that is follows from the event graph as soon as the leader's position is known, but a
// breakpoint is a location in the program and says nothing of events. So the position is found first, by a scout: a
// second replay of the same recording, unseen, in which only the ranks that have the breakpoint run under a debugger,
// and the others run free. As a replay is exact, the scout's hits are the job's hits, and they are remembered for the
// rest of the session. The positions of all ranks are then set in advance, and the job runs to them at full speed.
//
// # States
//
// What makes ranks move is a [Run]: Continue (to the next hit), RunTo (to a cut) or Visit (to the ends of calls). At
// most one is in progress, and a Run is in one of these states; [Run] and [Controller.reach] go through them.
//
//	          target found          all at positions          all stopped
//	planning ─────────────▶ moving ─────────────────▶ stopping ───────────▶ reached ──▶ planning, or over
//	   │ refused, cancelled   │   a rank failed, cancelled  │
//	   ▼                      ▼                             ▼
//	over, nothing moved     abandoning: no stop points are left, ranks paused ──▶ over, with an error
//
// What happens in each:
//
//   - planning: the graph is obtained, a scout looks ahead where needed, and a [target] is chosen. Ranks that run
//     freely are halted, for a moving rank has no certain position; each rank gets its first state below, or a reason
//     why it cannot get to its position. Then the Run ends with a *[RefusedError], and what was halted runs again.
//   - moving: ranks run to their positions. Each of them parks there, or ends.
//   - stopping: all but the leader are stopped where they are; the leader continues to its breakpoint.
//   - reached: everyone is where the target says, which was checked. The cut is reported.
//   - abandoning: a rank stopped for another reason, ended, or left the recording (*[PartialCutError]), or the Run was
//     cancelled ([ErrCancelled]). No rank is beyond its position then, so the target can still be reached.
//
// In moving and stopping each rank has a state of its own, which changes by the job's stream of events and by answers
// of the rank's debugger, and by nothing else:
//
//	moving ──▶ parked   in the interposer's parking loop at its position: runs, and gives MPI progress
//	       ──▶ past     runs at its position and cannot park: it has finished with MPI
//	       ──▶ still    stopped at its position, not by a cut: stays there, and gives no progress
//	       ──▶ ended    the program has ended at its position
//	       ──▶ failed   anything else, with the reason
//	parked, past, leader ──▶ stopping ──▶ arrived   as soon as it has stopped or ended
//
// # Who owns what
//
// One goroutine, that of the Run in progress, owns all state of the Run and of the Controller. A Run begins when the
// one before has ended, so nothing is shared. What asks a rank's debugger runs beside it and answers by message.
// Cancelling ends the Run's context: whoever waits sees it, and the Run is over when the ranks have been told to stop.
//
// # Other ways to a position
//
// A target says where the ranks are to be, not how they get there. [Controller.reach] knows one way: forward, from
// where they are. Going back is another: resume the nearest world before the target, and from there the same, moving
// and stopping. A moment between events (a hit, a count of instructions) is a target whose leader ends otherwise than
// at its breakpoint.
//
// **Invariant:** a scout never outlives the Run that started it.
//
// **Invariant:** no rank of the job moves before the whole target is known.
//
// Deliberately absent: causal breakpoints in live runs, where the future is not known.
package replayctl
