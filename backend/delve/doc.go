// Package delve is a backend.Backend for Go programs, with Delve as a library in this process.
//
// It uses Delve's pkg/proc and pkg/proc/native, not service/debugger or the RPC server: those put a second lock, a
// second set of types and a second numbering between the rank and the one goroutine that owns it here, and start
// programs in their own way. The program is started by this package, stopped, with the environment, terminal and
// parent-death signal that a rank has (start.go), and Delve attaches to it. ptrace calls are made by Delve's own locked
// thread.
//
// Threads are goroutines. Their numbers are this package's: 1 is the main goroutine, the others are counted as they are
// first seen; so is a thread of the kernel's that stops without a goroutine on it, such as one of the MPI library's.
//
// **Invariant:** one process at a time: Delve waits for any child of this process, so a process that has a Backend
// with a program starts no other children.
package delve
