// Package trace owns the format of recordings (docs/trace-format.md): reading and writing the file of one rank. Below
// it are the directory NAME.cohort (recording), the decisions that a replay must enforce (decisions), the text form
// (tracetext), and recordings made from others, repaired or reduced (rewrite).
//
// A trace file is written by the C interposer inside a rank, which may be killed at any instruction, so everything that
// is read here is input from outside: parsed with bounds, and every fault is a typed error that says where it is and
// what was expected there.
//
// **Invariant:** op numbers and record kinds are part of the format: append, never renumber.
//
// **Invariant:** a reader's memory is bounded by the largest chunk plus the tables of communicators, modules and call
// sites, never by the length of the file.
package trace
