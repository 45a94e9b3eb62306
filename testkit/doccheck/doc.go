// Package doccheck reads the examples of a page of documentation, so that a test can run them and compare what they
// print.
//
// An example is a fenced block whose language is `console`. In it a line that begins with a prompt is what the reader
// types, and the lines up to the next prompt are what is printed:
//
//	$ COMMAND          a shell command; one that ends with a backslash continues in the next line
//	(cohort) COMMAND   a line for the console of the `cohort debug` or `cohort core` that the last shell command has
//	                   started
//	(gdb) COMMAND      a line for the gdb that the last shell command has started
//
// A line of three dots stands for any lines, and three dots at the end of a line for its rest. What is different in
// every run (addresses, times, process ids, the directories of files) is masked on both sides, and blanks count as one.
// A comment `<!-- doccheck: WORD... -->` in the line above a block, or one above that is empty, says more of it:
// `status N` (the exit status of its commands), `any-order` (of output lines, where several ranks print), `numbers`
// (numbers are masked too, where they are up to the machine), `mpich` or `openmpi` (only that MPI prints this).
//
// **Invariant:** doccheck runs nothing.
package doccheck
