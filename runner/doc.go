// Package runner records and replays whole runs: what `cohort record` and `cohort replay` do, for them and for others
// (a recording is replayed once in full mode to obtain its event graph). It puts together pmpi (the interposer), trace
// (the recording) and launch (the job).
//
// **Invariant:** nothing is started before everything that can be refused has been checked.
//
// **Invariant:** a recording is kept whatever happens to the run: a rank that is killed, an abort, a launcher that
// dies, Ctrl-C.
//
// **Invariant:** Replay reports success only if every rank got to the end of what was recorded of it and made no other
// call on the way.
package runner
