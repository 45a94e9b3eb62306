package prettyprint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"

	"github.com/cohort-debugger/cohort/prettyprint/handle"
)

// TestFortranConstructors has every constructor called from Fortran, in each binding: testdata/constructors.f90 with
// arrays distributed in every way over grids of processes, and the names of MPI-1 where there are such. Each type is
// compared with MPI's own account, as in TestLiveTypes.
func TestFortranConstructors(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs MPI programs")
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range []string{"MPIF_H", "USE_MPI", "USE_MPI_F08"} {
			t.Run(binding, func(t *testing.T) {
				flags := []string{"-cpp", "-ffree-line-length-none", "-fallow-argument-mismatch", "-D" + binding}
				if binding == "MPIF_H" {
					flags = append(flags, "-DOLD_NAMES")
				}
				j := startProgram(t, mpi, 1, "constructors.f90", flags)
				checkFortran(t, openRank(t, j, 0), j.lines)
				if err := j.done(); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

func checkFortran(t *testing.T, r *handle.Rank, lines []string) {
	t.Helper()
	kinds := map[abi.Combiner]int{}
	types := 0
	for _, line := range lines {
		var rawHandle int32
		switch {
		case strings.HasPrefix(line, "TYPE"):
			checkLiveType(t, r, line, kinds)
			types++
		case strings.HasPrefix(line, "NAMED"):
			if n, err := fmt.Sscanf(line, "NAMED %d named in Fortran", &rawHandle); n != 1 || err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if dt, err := r.DatatypeOfHandle(uint64(rawHandle), true); err != nil || dt.Name != "named in Fortran" {
				t.Errorf("MPI_Type_set_name: %v, %v", dt, err)
			}
		default:
			t.Errorf("the program says %q", line)
		}
	}
	if types < 300 || len(kinds) != 16 {
		t.Errorf("%d types of %d kinds: %v", types, len(kinds), kinds)
	}
}
