package faults

import (
	"syscall"
	"testing"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// Whatever part of a debugged job is killed: the client is told, the other ranks stay usable or the session ends, and
// nothing is left.
func TestKillWhileDebugging(t *testing.T) {
	cohorttest.Slow(t)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := cohorttest.Steps(t, mpi)
		for role, told := range map[string]daptest.Expectation{
			"rank":     daptest.RankIs(1, "exited"),
			"gdb":      daptest.RankIs(1, "lost"),
			"agent":    daptest.Terminated(),
			"launcher": daptest.Terminated(),
		} {
			t.Run(role, func(t *testing.T) {
				t.Parallel()
				w := cohorttest.New(t, mpi)
				conn, cmd := w.DAP()
				c := daptest.New(t, conn)
				c.Launch(protocol.LaunchArguments{Program: program, Ranks: 3, Env: map[string]string{"WAIT": "1"}})
				c.ConfigurationDone()
				c.Expect(daptest.Output("", cohorttest.StepsWaiting))
				w.Kill(cmd.Process.Pid, role, 1)
				c.Expect(told)
				if role == "rank" || role == "gdb" {
					c.Pause(0) // the focus is all ranks
					c.Expect(daptest.Stopped(0, "pause"), daptest.Stopped(2, "pause"))
					for _, rank := range []int{0, 2} { // the others can be looked at as before
						if frames := c.Stack(rank); len(frames) == 0 {
							t.Errorf("rank %d has no stack", rank)
						}
					}
				}
				c.Disconnect()
			})
		}
		t.Run("cohort", func(t *testing.T) {
			t.Parallel()
			w := cohorttest.New(t, mpi)
			conn, cmd := w.DAP()
			c := daptest.New(t, conn)
			c.Launch(protocol.LaunchArguments{Program: program, Ranks: 3, Env: map[string]string{"WAIT": "1"}})
			c.ConfigurationDone()
			c.Expect(daptest.Output("", cohorttest.StepsWaiting))
			w.Kill(cmd.Process.Pid, "cohort", 0)
			c.AwaitClosed(w.Ctx)
		})
	})
}

// Go ranks, which have no process of a debugger's between them and their agents, end with cohort as well.
func TestKillCohortWithGoRanks(t *testing.T) {
	cohorttest.Slow(t)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		w := cohorttest.New(t, mpi)
		conn, cmd := w.DAP()
		c := daptest.New(t, conn)
		c.Launch(protocol.LaunchArguments{Program: mpi.BuildGo(t, "gompi"), Ranks: 2, StopOnEntry: true})
		c.ConfigurationDone()
		c.Expect(daptest.Stopped(0, "entry"), daptest.Stopped(1, "entry"))
		w.Kill(cmd.Process.Pid, "cohort", 0)
		c.AwaitClosed(w.Ctx)
	})
}

// A client that goes away without a word takes its job with it.
func TestClientVanishes(t *testing.T) {
	cohorttest.Slow(t)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		w := cohorttest.New(t, mpi)
		conn, cmd := w.DAP()
		c := daptest.New(t, conn)
		c.Launch(protocol.LaunchArguments{Program: cohorttest.Steps(t, mpi), Ranks: 2, Env: map[string]string{"WAIT": "1"}})
		c.ConfigurationDone()
		c.Expect(daptest.Output("", cohorttest.StepsWaiting))
		c.Close() // waits for cohort
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signaled() {
			t.Errorf("cohort ended with %v", cmd.ProcessState)
		}
	})
}
