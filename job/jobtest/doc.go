// Package jobtest holds a scripted backend.Backend for tests: ranks without processes, whose programs are lists of
// steps, and which show on demand the faults that real debuggers do not: slow answers, none at all, a death in the
// middle of a request.
//
// A World holds the ranks of one job. Each Fake runs its program in a goroutine of its own, as a process would: it
// stops at breakpoints, steps and interrupts, completes MPI events, obeys a control block (park_at, guard_at, release)
// as pmpi/include/cohort_abi.h describes it, and receives messages that other ranks of the World
// must have sent, and still give progress to.
//
// It imports only package backend, so that package job's own tests can use it.
package jobtest
