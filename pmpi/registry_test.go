package pmpi_test

import (
	"path/filepath"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// TestRegistry: the program walks its own registry by the ABI and compares it with what MPI says.
func TestRegistry(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/registry.c", "-I"+filepath.Join(mpitest.Root(t), "pmpi", "include"))
		j := newJob(t, mpi, 2, abi.ModeOff)
		j.start.Flags = abi.FlagYield
		t.Log(j.run(prog))
	})
}

// TestRefusedMessages: in racing mode a message that MPI refuses leaves nothing behind.
func TestRefusedMessages(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/refusedmessages.c", "-I"+filepath.Join(mpitest.Root(t), "pmpi", "include"))
		out := newJob(t, mpi, 2, abi.ModeRacing).run(prog)
		if line := "refusedmessages: 0 MiB more\n"; out != line+line {
			t.Errorf("%s", out)
		}
	})
}
