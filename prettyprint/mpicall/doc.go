// Package mpicall finds calls of MPI functions in source text.
//
// It is what lets a debugger show a buffer as the MPI call near the current position sees it (Protze et al., "Holistic
// Debugging of MPI Derived Datatypes", section X.D). [Find] finds the calls that cover a line of C, C++ or Fortran;
// which of their arguments are buffers, and which are counts, displacements and datatypes, is in package mpispec. It
// evaluates nothing: arguments are text.
//
// **Invariant:** what is not surely a call that the line makes is not found: prototypes, definitions, comments,
// strings, directives, and calls whose arguments a preprocessor directive interrupts.
package mpicall
