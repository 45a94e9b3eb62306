// Package replayctl steers a replay: causal distributed breakpoints, and running all ranks to a consistent cut.
//
// A causal breakpoint stops one rank, the leader, at a line and every other rank at the earliest position that holds
// all that happened before. Where that is follows from the event graph as soon as the leader's position is known, but a
// breakpoint is a place in the program and says nothing of events. So the position is found first, by a scout: a second
// replay of the same recording, unseen, in which only the leader has a debugger with that breakpoint, and the others
// run free. As a replay is exact, the scout's hits are the job's hits. The positions of all ranks are then set in
// advance, and the job runs to them at full speed (the parking protocol is job.RunToCut's).
//
// **Invariant:** a scout never outlives the call that started it.
//
// **Invariant:** no rank of the job moves before the whole cut is known.
//
// Deliberately absent: causal breakpoints in live runs, where the future is not known.
package replayctl
