// Package agent is what `cohort agent` does: one process per rank, started by the user's launcher in front of the
// program. It owns its rank's debugger (Debug) or its program (Run), dials back to the job, and carries out what
// package wire brings.
//
// **Invariant:** when the connection to the job breaks, the agent ends what it has started, and then itself.
//
// **Invariant:** what the agent starts dies with it (parent-death signal), so that a SIGKILL of the agent leaves
// nothing running.
//
// **Invariant:** no descriptor that the launcher passed on is closed or replaced: PMI_FD is one of them. So never
// exec.Cmd.ExtraFiles.
//
// **Invariant:** LD_PRELOAD and the COHORT_ variables reach the program only, never the debugger.
package agent
