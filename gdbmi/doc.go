// Package gdbmi speaks GDB/MI, the machine interface of gdb.
//
// It has three layers, each usable alone:
//
//   - a pure grammar: [Parse] and [Split] turn lines of output into a [Record]
//     whose values keep order and duplicate names, and [Record.Fields] reads them with types;
//   - a writer of commands: [Command] quotes what has to be quoted;
//   - a driver of one gdb process: [Start], [Process.Send], [Process.Events], [Process.Close].
//
// The grammar is the one of gdb's manual ("GDB/MI Output Syntax"), widened by what
// gdb 13 in fact prints: results without a name inside tuples and at the top level
// (`bkpt={...},{...}`), lists that mix values and results, a record with the program's output in
// front of or behind it.
//
// **Invariant:** this package imports nothing of Cohort and knows nothing of MPI, DAP or ranks.
//
// **Invariant:** no line that gdb prints is dropped or guessed at. What is no record comes back
// as [Text]; what starts like a result and is broken comes back as [Malformed], with its token,
// so that the command that waits for it fails rather than waits for ever.
//
// **Invariant:** a consumer that does not read [Process.Events] never delays [Process.Send].
package gdbmi
