package cohorttest

import (
	"path/filepath"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// Of Steps: what makes it wait in the environment, and what it says then.
const (
	StepsWait    = "WAIT=1"
	StepsWaiting = "steps: waiting"
)

// Steps is a program whose rank 0 takes messages of the others with wildcards and answers each. Its environment makes
// it misbehave, or wait for its standard input in the middle of that.
func Steps(t testing.TB, mpi mpitest.MPI) string {
	t.Helper()
	return mpi.BuildFile(t, StepsSource(t))
}

// StepsSource is the path of its source.
func StepsSource(t testing.TB) string {
	t.Helper()
	return filepath.Join(mpitest.Root(t), "runner", "testdata", "steps.c")
}
