package pmpi_test

import (
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// TestHandles: the program makes handles of every kind, looks at its own registry by the ABI, also from within calls of
// MPI, and compares it with what it did. Requests and calls in progress are kept where the control block or the
// environment says so.
func TestHandles(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/handles.c", abiFlags(t)...)
		for _, c := range []struct {
			name  string
			mode  abi.Mode
			flags abi.Flag
			env   string
			kept  bool
			more  []string
		}{
			{"a debugger", abi.ModeOff, abi.FlagYield | abi.FlagKeep, "", true, []string{"100000"}},
			{"no debugger", abi.ModeOff, abi.FlagYield, "", false, []string{"100000"}},
			{"recording", abi.ModeOrder, abi.FlagYield, "", false, nil},
			{"recording, asked for", abi.ModeOrder, abi.FlagYield, abi.EnvKeep + "=1", true, nil},
			{"a debugger, asked not to", abi.ModeOff, abi.FlagYield | abi.FlagKeep, abi.EnvKeep + "=0", false, nil},
			{"stacks", abi.ModeOff, abi.FlagYield | abi.FlagKeep, abi.EnvStacks + "=1", true, nil},
		} {
			t.Run(c.name, func(t *testing.T) {
				j := newJob(t, mpi, 2, c.mode)
				j.start.Flags = c.flags
				if c.env != "" {
					j.cmdEnv = []string{c.env}
				}
				kept := map[bool]string{true: "kept", false: "unkept"}[c.kept]
				t.Log(j.run(prog, append([]string{kept, t.TempDir()}, c.more...)...))
			})
		}
	})
}
