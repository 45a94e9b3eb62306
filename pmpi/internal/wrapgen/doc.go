// Package wrapgen generates the uniform wrappers of the interposer from one table of MPI functions: sends, collectives,
// the calls that record and replay do not cover, and the Fortran symbols of all of them. Package pmpi calls it when it
// builds the library; no generated C is in the repository.
//
// **Invariant:** a function that the interposer sees in C is in the table, so that Fortran sees it too: the special
// ones, written by hand in C, are there for their Fortran symbol.
package wrapgen
