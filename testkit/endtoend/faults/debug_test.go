package faults

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// kill kills a part of a job, or of its rank 1, and expects what its client is told.
func kill(w *cohorttest.Workplace, cohort *exec.Cmd, c *daptest.Client, role string) {
	w.T.Helper()
	w.Kill(cohort.Process.Pid, role, 1)
	switch role {
	case "rank":
		c.Expect(daptest.RankIs(1, "exited"))
		if text := c.Ranks().Ranks[1].Text; !strings.Contains(text, "SIGKILL") {
			w.T.Errorf("rank 1 is said to be %q", text)
		}
	case "gdb":
		c.Expect(daptest.RankIs(1, "lost"))
		text := c.Ranks().Ranks[1].Text
		if !strings.Contains(text, "killed") || strings.ContainsAny(text, "=*^") { // as records of MI have
			w.T.Errorf("rank 1 is said to be %q", text)
		}
	case "cohort":
		c.AwaitClosed(w.Ctx)
	default:
		c.Expect(daptest.Terminated())
	}
}

// usable checks that ranks can be looked at as before.
func usable(t *testing.T, c *daptest.Client, ranks ...int) {
	t.Helper()
	for _, rank := range ranks {
		if frames := c.Stack(rank); len(frames) == 0 {
			t.Errorf("rank %d has no stack", rank)
		}
	}
}

// Whatever part of a debugged job is killed: the client is told, the other ranks stay usable or the session ends, and
// nothing is left.
func TestKillWhileDebugging(t *testing.T) {
	cohorttest.Slow(t)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := cohorttest.Steps(t, mpi)
		for _, role := range []string{"rank", "gdb", "agent", "launcher", "cohort"} {
			t.Run(role, func(t *testing.T) {
				t.Parallel()
				w := cohorttest.New(t, mpi)
				conn, cohort := w.DAP()
				c := daptest.New(t, conn)
				c.Launch(protocol.LaunchArguments{Program: program, Ranks: 3, Env: map[string]string{"WAIT": "1"}})
				c.ConfigurationDone()
				c.Expect(daptest.Output("", cohorttest.StepsWaiting))
				kill(w, cohort, c, role)
				if role == "cohort" {
					return
				}
				if role == "rank" || role == "gdb" {
					c.Pause(0) // the focus is all ranks
					c.Expect(daptest.Stopped(0, "pause"), daptest.Stopped(2, "pause"))
					usable(t, c, 0, 2)
				}
				c.Disconnect()
			})
		}
	})
}

// While a rank is stopped nobody waits for its end but those that see to it. Delve is in the agent: no process of a
// debugger's is between that and the rank.
func TestKillAtStop(t *testing.T) {
	cohorttest.Slow(t)
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // whose launcher is killed under gdb, as Open MPI's is
	for debugger, d := range map[string]struct {
		program string
		roles   []string
	}{
		"delve": {mpi.BuildGo(t, "gompi"), []string{"rank", "agent", "cohort"}},
		"gdb":   {cohorttest.Steps(t, mpi), []string{"rank", "gdb"}},
	} {
		for _, role := range d.roles {
			t.Run(debugger+"/"+role, func(t *testing.T) {
				t.Parallel()
				killAtStop(t, mpi, d.program, role)
			})
		}
	}
}

func killAtStop(t *testing.T, mpi mpitest.MPI, program, role string) {
	w := cohorttest.New(t, mpi)
	conn, cohort := w.DAP()
	c := daptest.New(t, conn)
	c.Launch(protocol.LaunchArguments{Program: program, Ranks: 2, StopOnEntry: true})
	c.ConfigurationDone()
	c.Expect(daptest.Stopped(0, "entry"), daptest.Stopped(1, "entry"))
	kill(w, cohort, c, role)
	if role == "rank" || role == "gdb" {
		usable(t, c, 0)
	}
	if role != "cohort" {
		c.Disconnect()
	}
}
