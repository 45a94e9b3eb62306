package wrapgen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/internal/wrapgen"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// TestOneRow adds functions to a copy of the table, by a row each, and finds all that is made of them: wrappers with
// their forms, in C and for Fortran, and operations.
func TestOneRow(t *testing.T) {
	text, err := os.ReadFile("../../../mpispec/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	table, err := mpispec.Parse(string(text) + `
[event=collective nonlocal fortran forms=I,init since=4.0]
Gossip=128/129: >sendbuf sendcount sendtype <recvbuf*n@root recvcounts[n] displs[n] recvtype root comm ; after=toroot
[uncovered since=4.0]
Whisper: >buf count datatype dest tag comm *request
`)
	if err != nil {
		t.Fatal(err)
	}
	before, after := wrapgen.Files(), wrapgen.FilesOf(table.Functions())
	for name, wants := range map[string][]string{
		"ops.h": {
			"COHORT_OP_GOSSIP = 128,", "COHORT_OP_IGOSSIP = 129,",
			"case COHORT_OP_GOSSIP: return COHORT_CLASS_COLLECTIVE;",
		},
		"gen_collectives.c": {
			"EXPORT int MPI_Gossip(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, " +
				"const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm) {",
			"cohort_enter(COHORT_OP_GOSSIP, SITE)",
			"PMPI_Igossip(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm, &request)",
			"cohort_event_collective(rc, comm, root, !cohort_gives_root(comm, root) ? 0 : sendbuf == MPI_IN_PLACE ? " +
				"cohort_bytes(recvcounts[root], recvtype) : cohort_bytes(sendcount, sendtype))",
			"EXPORT int MPI_Igossip(",
		},
		"gen_persistent_collectives.c": {"COHORT_PERSISTENT_COLLECTIVE(PMPI, Gossip_init)"},
		"gen_large.c":                  {"EXPORT int MPI_Gossip_c(const void *sendbuf, MPI_Count sendcount,"},
		"gen_uncovered.c": {
			`cohort_uncovered("MPI_Igossip_c");`, `cohort_uncovered("MPI_Whisper");`, "EXPORT int MPI_Whisper_c(",
		},
		"gen_fortran.c": {"EXPORT void mpi_gossip_f08_(", "EXPORT void mpi_igossip_f08_("},
	} {
		for _, want := range wants {
			if strings.Count(after[name], want) <= strings.Count(before[name], want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
	}
	if len(before) != len(after) {
		t.Errorf("%d files, and %d with two functions more", len(before), len(after))
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) { compile(t, mpi, after, table) })
}

// compile has the compiler look at the generated files, with the hand-written ones beside them. The MPI knows nothing
// of the functions that were added, so they are declared for it.
func compile(t *testing.T, mpi mpitest.MPI, files map[string]string, table *mpispec.Table) {
	dir := t.TempDir()
	for _, folder := range []string{"src", "include"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join("../..", folder))); err != nil {
			t.Fatal(err)
		}
	}
	declarations := "#include <mpi.h>\n"
	for _, f := range table.Functions() {
		if _, known := mpispec.Lookup(f.Name); !known && (mpi.Name == "mpich" || f.Small == nil) {
			declarations += "int P" + strings.TrimPrefix(f.Prototype(), "int ") + ";\n" + f.Prototype() + ";\n"
		}
	}
	args := []string{"-fsyntax-only", "-Wall", "-include", "added.h"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "src", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "gen_") && !strings.HasPrefix(name, "gen_persistent") { // MPIX_ in Open MPI
			args = append(args, name)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "added.h"), []byte(declarations), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), mpi.Mpicc, args...)
	cmd.Dir = filepath.Join(dir, "src")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
