// Package launch starts a job: the user's own launcher (mpiexec) with `cohort agent` in front of the program, one agent
// per rank. The agents dial back to a unix socket in the job's directory, and are then controlled through package wire.
// A Session is a job that has been started; it hands out one backend.Backend per rank.
//
// What is in the subpackages: wire, the connection; agent, the other end of it; jobdir, the directory that the two
// share; marked, how processes of a job are found.
//
// **Invariant:** when Wait or Stop returns, nothing of the job is left: no process, no socket, no directory. That holds
// whoever dies first; if cohort itself is killed, its agents see the connection break and do the same.
//
// **Invariant:** the launcher decides where ranks run. Nothing here starts a rank.
//
// **Invariant:** a rank that is slow, absent or dead holds up no other rank.
package launch
