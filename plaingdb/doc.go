// Package plaingdb gives a gdb that Cohort has not started the command mpipp and printers for MPI handles.
//
// Two parts talk over a pipe: script.py, which gdb loads (`cohort gdb-script` prints where it is), and [Serve], which
// the script starts as `cohort gdb-decoder`. All decoding is done here, by package handles, as in Cohort's own
// sessions; the script reads memory, evaluates expressions and looks up symbols for it.
//
// The protocol is JSON, one object per line. The decoder greets with its protocol and version. Then the script sends a
// request, the decoder asks as many questions as it needs, each of which the script answers, and at last gives the
// answer, which has "done". There is one request at a time.
//
// **Invariant:** whatever the decoder asks, the script neither writes to the program nor calls into it.
//
// **Invariant:** gdb never waits for a decoder that does not answer: the script gives up after its patience and ends
// it. The decoder ends when gdb does.
package plaingdb
