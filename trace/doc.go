// Package trace owns the recording: its format on disk (docs/trace-format.md), reading and writing one rank's file, its
// text twin, the directory NAME.cohort, and the decisions that a replay must enforce (struct cohort_decisions of
// pmpi/include/cohort_abi.h).
//
// A trace file is written by the C interposer inside a rank, which may be killed at any instruction, so everything that
// is read here is input from outside: parsed with bounds, and every fault is a typed error that says where it is and
// what was expected there.
//
// **Invariant:** trace imports nothing else of this module. It has its own mirror of the C structs that it needs; tests
// compare the mirror with cohort_abi.h.
//
// **Invariant:** op numbers and record kinds are part of the format: append, never renumber.
//
// **Invariant:** a reader's memory is bounded by the largest chunk plus the tables of communicators, modules and call
// sites, never by the length of the file.
//
// **Invariant:** nothing in a directory is ever deleted unless the directory is a recording and the file is one that
// this package wrote or made a rank write.
package trace
