package mpispec_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

var (
	attribute   = regexp.MustCompile(`__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)`)
	declaration = regexp.MustCompile(`([A-Za-z_][\w ]*?[ *]+)(MPI_\w+) ?\(((?:[^()]|\([^()]*\))*)\) ?;`)
	space       = regexp.MustCompile(`\s+`)
	parameter   = regexp.MustCompile(`^(.*?)\s*\b\w+\s*((?:\[\d*\])*)$`)
)

// declared are the C types of the parameters, and of the value last, of what an MPI's header declares.
func declared(t *testing.T, mpi mpitest.MPI) map[string][]string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "h.c")
	if err := os.WriteFile(source, []byte("#include <mpi.h>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), mpi.Mpicc, "-E", "-P", source).Output()
	if err != nil {
		t.Fatal(err)
	}
	text := space.ReplaceAllString(attribute.ReplaceAllString(string(out), ""), " ")
	all := map[string][]string{}
	for _, m := range declaration.FindAllStringSubmatch(text, -1) {
		all[m[2]] = signature(strings.TrimPrefix(strings.TrimSpace(m[1]), "extern "), m[3])
	}
	return all
}

// signature are the types of written parameters and of a result. Arrays are addresses.
func signature(result, parameters string) []string {
	var all []string
	for p := range strings.SplitSeq(parameters, ",") {
		p = strings.TrimSpace(p)
		if p == "" || p == "void" {
			continue
		}
		if m := parameter.FindStringSubmatch(p); m != nil && p != "..." {
			p = m[1]
			if m[2] != "" {
				p += "*" + strings.TrimPrefix(m[2][strings.Index(m[2], "]")+1:], "")
			}
		}
		all = append(all, strings.ReplaceAll(p, " *", "*"))
	}
	return append(all, strings.ReplaceAll(result, " *", "*"))
}

// ofTable is the signature that the table has. Open MPI defines MPI_Fint as a macro, for int.
func ofTable(f *mpispec.Function, mpi mpitest.MPI) []string {
	prototype := f.Prototype()
	if mpi.Name == "openmpi" {
		prototype = strings.ReplaceAll(prototype, "MPI_Fint", "int")
	}
	head, parameters, _ := strings.Cut(prototype, "(")
	result, _, _ := strings.Cut(head, " MPI_")
	return signature(result, strings.TrimSuffix(parameters, ")"))
}

// declaredOtherwise are the prototypes of headers that differ from the standard's.
var declaredOtherwise = map[string]string{
	"mpich MPI_Pready_list": "the array is not const, as in the first edition of MPI 4.0",
}

// macros are functions of the standard that an MPI has as macros only, which the preprocessor leaves no trace of.
var macros = map[string]string{
	"mpich": "Comm_c2f Type_c2f Group_c2f Request_c2f Op_c2f Win_c2f Info_c2f Errhandler_c2f Message_c2f Session_c2f " +
		"Comm_f2c Type_f2c Group_f2c Request_f2c Op_f2c Win_f2c Info_f2c Errhandler_f2c Message_f2c Session_f2c",
	"openmpi": "Aint_add Aint_diff",
}

// notFunctions are names that look like functions in headers.
var notFunctions = map[string]string{
	"MPI_DUP_FN": "a predefined callback",
}

// versions of MPI that the libraries have.
var versions = map[string]mpispec.Version{"mpich": 40, "openmpi": 31}

// TestHeaders compares the table with the mpi.h of both MPIs: what one declares is in the table with the same types,
// and what the table has of the MPI's version is declared.
func TestHeaders(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		all := declared(t, mpi)
		if len(all) < 400 {
			t.Fatalf("the header declares %d functions", len(all))
		}
		for name, want := range all {
			f, ok := mpispec.Lookup(name)
			switch exception := declaredOtherwise[mpi.Name+" "+name]; {
			case notFunctions[name] != "":
			case !ok:
				t.Errorf("%s is not in the table", name)
			case slices.Equal(ofTable(f, mpi), want) == (exception != ""):
				t.Errorf("%s: declared %v, in the table %v; exception: %q", name, want, ofTable(f, mpi), exception)
			}
		}
		for _, f := range mpispec.Functions() {
			_, there := all[f.Name]
			missing := f.Since > versions[mpi.Name] || f.Missing == mpi.Name ||
				slices.Contains(strings.Fields(macros[mpi.Name]), f.Short())
			if there == missing && f.Until == 0 {
				t.Errorf("%s, of MPI %s: declared is %v", f.Name, f.Since, there)
			}
		}
	})
}
