package mpicall_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/internal/mpitest"
	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
)

var (
	prototype = regexp.MustCompile(`\bint\s+(MPI_\w+)\s*\(([^;{]*?)\)\s*(?:MPICH|;|__)`)
	comment   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	name      = regexp.MustCompile(`(\w+)\s*(\[[^\]]*\])*$`)
)

// headers are the files that declare the functions of each MPI.
var headers = map[string][]string{
	"mpich": {
		"/usr/include/x86_64-linux-gnu/mpich/mpi_proto.h", "/usr/include/x86_64-linux-gnu/mpich/mpi.h",
		"/usr/include/x86_64-linux-gnu/mpich/mpio.h",
	},
	"openmpi": {"/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h"},
}

// declared are the parameters of the functions that an MPI declares.
func declared(t *testing.T, mpi string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, path := range headers[mpi] {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Skipf("the headers of %s are elsewhere: %v", mpi, err)
		}
		for _, m := range prototype.FindAllStringSubmatch(comment.ReplaceAllString(string(text), " "), -1) {
			if out[m[1]] == nil {
				out[m[1]] = strings.Split(strings.Join(strings.Fields(m[2]), " "), ",")
			}
		}
	}
	return out
}

// TestTable compares the table with what both MPIs declare: parameters by name and number, a buffer that is sent is
// const, one that is received into is not, and counts, displacements and types are of their types.
func TestTable(t *testing.T) {
	for _, mpi := range mpitest.Names() {
		t.Run(mpi, func(t *testing.T) {
			all := declared(t, mpi)
			seen := 0
			for _, f := range mpicall.Functions() {
				parameters, ok := all[f.Name]
				if !ok {
					continue // of a later MPI
				}
				seen++
				checkFunction(t, f, parameters)
			}
			if seen < 120 {
				t.Errorf("%d functions of the table are declared", seen)
			}
			// What moves data and is not in the table is shown to nobody.
			for name, parameters := range all {
				_, known := mpicall.Lookup(name)
				if !known && slices.ContainsFunc(parameters, func(p string) bool {
					return strings.Contains(p, "MPI_Datatype") && !strings.Contains(p, "*")
				}) &&
					slices.ContainsFunc(parameters, func(p string) bool {
						return strings.Contains(p, "void *") && strings.Contains(p, "buf")
					}) &&
					!strings.HasSuffix(name, "_end") {
					t.Errorf("%s is not in the table", name)
				}
			}
		})
	}
}

func checkFunction(t *testing.T, f *mpicall.Function, parameters []string) {
	t.Helper()
	if len(parameters) != len(f.Parameters) {
		t.Errorf("%s has %d parameters, and %d in the table: %v", f.Name, len(parameters), len(f.Parameters),
			parameters)
		return
	}
	at := func(parameter string) string {
		i := slices.Index(f.Parameters, parameter)
		if i < 0 {
			t.Errorf("%s: the table's buffers name %s, which is no parameter", f.Name, parameter)
			return ""
		}
		return strings.TrimSpace(parameters[i])
	}
	for i, p := range parameters {
		got := name.FindStringSubmatch(strings.TrimSpace(p))[1]
		if want := f.Parameters[i]; got != want && !synonyms[got+"="+want] {
			t.Errorf("%s: parameter %d is %q, and %s in the table", f.Name, i, p, want)
		}
	}
	for _, b := range f.Buffers {
		decl := at(b.Address)
		isConst := strings.HasPrefix(decl, "const void *")
		if !strings.Contains(decl, "void *") || isConst != (b.Direction == mpicall.Sends) {
			t.Errorf("%s: %q, and direction %d in the table", f.Name, decl, b.Direction)
		}
		for _, n := range []string{b.Count, b.Displs} {
			if n == "" {
				continue
			}
			want := "int "
			if b.Array || b.Times == mpicall.OwnOf || b.Times == mpicall.SumOf {
				want = "const int "
				if n == b.Displs && b.ByType && strings.Contains(f.Name, "eighbor") {
					want = "const MPI_Aint "
				}
			}
			if decl := at(n); !strings.HasPrefix(decl, want) && !strings.HasPrefix(decl, "MPI_Count ") &&
				!strings.HasPrefix(decl, "MPI_Aint ") {
				t.Errorf("%s: %q, and %q is expected", f.Name, decl, want)
			}
		}
		if b.Type != "" {
			want := "MPI_Datatype "
			if b.ByType {
				want = "const MPI_Datatype "
			}
			if decl := at(b.Type); !strings.HasPrefix(decl, want) {
				t.Errorf("%s: %q, and %q is expected", f.Name, decl, want)
			}
		}
	}
}

// synonyms are other names that the headers have for what the standard names so, and their slips.
var synonyms = map[string]bool{
	"rank=target_rank": true, "indx=index": true, "type=datatype": true, "target_cout=target_count": true,
	"ibuf=buf": true, "dest=source": true,
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{
		"MPI_Send": "MPI_Send", "PMPI_Send": "MPI_Send", "MPI_SEND": "MPI_Send", "mpi_ialltoallw": "MPI_Ialltoallw",
		"MPI_Send_c": "MPI_Send",
		"MPI_Rput":   "MPI_Rput", "MPI_Allreduce_init": "MPI_Allreduce_init", "MPI_Wait_c": "", "MPI_Type_commit": "",
		"Send": "", "": "", "PMPI_": "",
	} {
		f, ok := mpicall.Lookup(name)
		if ok != (want != "") || ok && f.Name != want {
			t.Errorf("%s: %+v, %v", name, f, ok)
		}
	}
}
