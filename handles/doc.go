// Package handles joins package prettyprint, which decodes the interposer's registry from bytes, to the debugger of a
// rank, which reads the bytes and evaluates expressions: it is the backend.HandleDecoder that an agent gives its
// backend.
//
// It reads the rank's memory and evaluates without side effects; it never calls into the program nor writes to it.
package handles
