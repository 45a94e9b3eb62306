// Package benchdatatypes measures what the registry of datatypes costs a program, and how fast datatypes and buffers
// are decoded: `make bench-datatypes`. It writes docs/bench-datatypes.md. bench/benchdatatypes/cmd is the command.
//
// The cost for a program is measured with and without the interposer, in turn, beginning with the other one each round,
// so that what else the machine does hits both; figures are medians over the rounds. The decoder is measured in a gdb
// session as an agent has it (package backend/gdb with package handles), what it competes with in a plain gdb on the
// same program: loops that print the elements of a column one by one.
//
// **Invariant:** what is timed is checked too: the text of a column must have its elements, a loop must print the same
// values.
package benchdatatypes
