package pmpi_test

import (
	"debug/elf"
	"regexp"
	"testing"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// TestWrapped compares the functions that the library has with those that the table says it has.
func TestWrapped(t *testing.T) {
	inC := regexp.MustCompile(`^MPI_(T_)?[A-Z]?[a-z]`)
	inFortran := regexp.MustCompile(`_f(08)?$`)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		file, err := elf.Open(library(t, mpi))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		symbols, err := file.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for _, s := range symbols {
			if s.Section == elf.SHN_UNDEF || !inC.MatchString(s.Name) || inFortran.MatchString(s.Name) {
				continue
			}
			there[s.Name] = true
			if f, ok := mpispec.Lookup(s.Name); !ok || f.Coverage == mpispec.Unneeded {
				t.Errorf("%s is wrapped, and the table does not say so", s.Name)
			}
		}
		for _, f := range mpispec.Functions() {
			if mpi.Name == "openmpi" && f.Since >= 40 || f.Until != 0 || mpi.Name == "mpich" &&
				f.Name == "MPI_Type_c2f" {
				continue // not in this MPI, or not in each, or a macro
			}
			if f.Coverage != mpispec.Unneeded && !there[f.Name] {
				t.Errorf("%s has no wrapper", f.Name)
			}
		}
	})
}
