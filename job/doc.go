// Package job is the model of one job: its ranks and what state each is in, the rank set that commands act on (focus),
// breakpoints and which ranks have them, stops, merged output and merged answers. It knows nothing of recordings: what
// package replayctl steers a replay with are its commands for sets of ranks.
//
// It drives each rank through backend.Backend and imports nothing else of ours. Package launch makes the backends,
// packages dap and replayctl are its users.
//
// # Concurrency
//
// One goroutine owns a Job. Methods may be called from any goroutine: they send it messages. Requests to ranks run in
// goroutines of their own, concurrently over ranks and in order within one rank, and report back by message, so a slow,
// hanging or dead rank never holds up the others or the Job. A method's context bounds the caller's wait, not the
// command: a command that changes a rank's state stays in flight until the rank's backend has answered or ended,
// because what became of it is unknown until then. Reads (Evaluate outside the console, Control, StackTrace) end with
// the context.
//
// # Idle
//
// A job is idle when no command is in flight and no stop is pending. Commands are Launch, SetBreakpoints, Resume,
// Interrupt, Kill and console evaluation: everything that may change a rank's state; what its caller calls Busy counts
// as one. A stop is pending on a rank that is Starting (its entry stop), that was asked to stop (Interrupt, or a
// breakpoint of ModeAll or ModeFocus hit elsewhere), and on one that steps, until it stops, exits or is lost. Each
// change from not idle to idle is published as one Event with Idle set; if no rank runs, after all output that had
// arrived by then.
//
// **Invariant:** all fields of Job and rank below the line "owned" are touched only by the owner goroutine (methods in
// this package that run on it are marked "owner").
//
// **Invariant:** the owner never blocks: it calls no backend, and pushing to its subscribers' queues does not wait
// (package internal/queue says how they are bounded).
//
// **Invariant:** every subscriber sees the same events in the same order (Event.Seq), but for what overtakes output
// that it holds back.
//
// **Invariant:** no byte of a rank's output is lost or reordered against that rank's other output.
package job
