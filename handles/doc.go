// Package handles joins package prettyprint, which decodes the interposer's registry from bytes, to the debugger of a
// rank, which reads the bytes and evaluates expressions. A Backend is that debugger with MPI in it: mpipp in the
// console, handles with their meaning, and the calls of a line among its locals. It knows no debugger but by the
// interfaces of package backend.
//
// It reads the rank's memory and evaluates without side effects; it never calls into the program nor writes to it.
package handles
