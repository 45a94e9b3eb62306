// Package mpicall knows what the arguments of MPI functions are, and finds calls of them in source text.
//
// It is what lets a debugger show a buffer as the MPI call near the current position sees it (Protze et al., "Holistic
// Debugging of MPI Derived Datatypes", section X.D). [Lookup] says which argument is a buffer that is sent from or
// received into, and which are its count, displacements and datatype; [Find] finds the calls that cover a line of C,
// C++ or Fortran. It evaluates nothing: arguments are text.
//
// **Invariant:** what is not surely a call that the line makes is not found: prototypes, definitions, comments,
// strings, directives, and calls whose arguments a preprocessor directive interrupts.
package mpicall
