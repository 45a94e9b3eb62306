package pmpi_test

import (
	"strconv"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// TestRegistryAmongThreads: several threads make, use and free handles of every kind at once, and again and again the
// registry is exactly what they hold.
func TestRegistryAmongThreads(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/manythreads.c", abiFlags(t)...)
		for _, kept := range []string{"kept", "unkept"} {
			t.Run(kept, func(t *testing.T) {
				for seed := 1; seed <= 2; seed++ {
					j := newJob(t, mpi, 1, abi.ModeOff)
					if kept == "kept" {
						j.cmdEnv = []string{abi.EnvKeep + "=1"}
					}
					t.Log(j.run(prog, kept, "15", strconv.Itoa(seed)))
				}
			})
		}
	})
}
