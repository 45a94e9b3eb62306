package pmpi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

func TestChoose(t *testing.T) {
	mpich, openmpi := mpitest.Need(t, "mpich"), mpitest.Need(t, "openmpi")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	nompi := mpitest.BuildPlain(t, "nompi.c")
	for _, c := range []struct {
		program  string
		args     []string
		mpi      string
		want     pmpi.MPI // unknown: refused
		indirect bool
	}{
		{openmpi.Build(t, "hello.c"), nil, "", pmpi.OpenMPI, false},
		{script, nil, "mpich", pmpi.MPICH, true},
		{nompi, nil, openmpi.Mpiexec, pmpi.OpenMPI, true},
		{"env", []string{"A=1", "--", mpich.Build(t, "hello.c"), "x"}, "", pmpi.MPICH, true},
		{"env", []string{openmpi.Build(t, "hello.c")}, "", pmpi.OpenMPI, true},
		{script, nil, "", pmpi.UnknownMPI, false}, // there are two
		{nompi, []string{"nothing", "/nowhere", nompi}, "", pmpi.UnknownMPI, false},
		{filepath.Join(t.TempDir(), "absent"), nil, "mpich", pmpi.UnknownMPI, false},
		{script, nil, "nonsense", pmpi.UnknownMPI, false},
	} {
		got, err := pmpi.Choose(c.program, c.args, c.mpi)
		if (err != nil) != (c.want == pmpi.UnknownMPI) ||
			err == nil && (got.MPI != c.want || got.Indirect != c.indirect || !filepath.IsAbs(got.Path)) {
			t.Errorf("%s %q with %q: %+v, %v", c.program, c.args, c.mpi, got, err)
		}
	}
}
