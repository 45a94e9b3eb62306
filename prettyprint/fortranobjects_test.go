package prettyprint_test

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// theCopy is a communicator as a line of a request says it.
const theCopy = `intracommunicator "the copy" of ranks 0-1, id [0-9a-f]{8}$`

// fortranMade is what testdata/objects.f90 makes: by the name that it prints, its kind and what is to be said of it.
var fortranMade = map[string]struct {
	kind    registry.Kind
	summary string   // a regular expression, and so are the parts
	parts   []string // of all that is said
}{
	"commuting": {
		registry.KindOp,
		`^operation of the program's, commutative$`,
		[]string{`function = 0x[0-9a-f]+ \(Fortran\)`, `commutes = yes`},
	},
	"ordered": {
		registry.KindOp,
		`^operation of the program's, not commutative$`,
		[]string{`function = 0x[0-9a-f]+ \(Fortran\)`, `commutes = no`},
	},
	"comm-handler": {
		registry.KindErrhandler, `^error handler of the program's for communicators$`, []string{`function = 0x[0-9a-f]+ \(Fortran\)`},
	},
	"win-handler": {
		registry.KindErrhandler,
		`^error handler of the program's for windows$`,
		[]string{`function = 0x[0-9a-f]+ \(Fortran\)`},
	},
	"file-handler": {
		registry.KindErrhandler,
		`^error handler of the program's for files$`,
		[]string{`function = 0x[0-9a-f]+ \(Fortran\)`},
	},
	"got-handler": {
		registry.KindErrhandler,
		`^error handler of the program's for communicators$`,
		[]string{`function = 0x[0-9a-f]+ \(Fortran\)`},
	},
	"info":   {registry.KindInfo, `^info \{second="two"\}$`, nil},
	"copied": {registry.KindInfo, `^info \{first="1", second="two"\}$`, nil},
	"window": {
		registry.KindWindow, `^window "ghost cells" of 32 bytes at 0x[0-9a-f]+ over MPI_COMM_WORLD, open epoch: exclusive lock of rank 0$`,
		[]string{`kind = MPI_Win_create\b`, `disp_unit = 4\b`},
	},
	"dynamic": {registry.KindWindow, `^window over MPI_COMM_WORLD$`, []string{`kind = MPI_Win_create_dynamic`}},
	"file": {
		registry.KindFile,
		`^file "PATH", MPI_MODE_RDWR \| MPI_MODE_CREATE \| MPI_MODE_DELETE_ON_CLOSE, over MPI_COMM_SELF, view of VECTOR$`,
		[]string{`displacement = 16\b`, `representation = "native"`},
	},
	"world":    {registry.KindGroup, `^group of 2 ranks, this one is rank 0: 0-1$`, nil},
	"one":      {registry.KindGroup, `^group of 1 rank, this one is rank 0: 0$`, nil},
	"copy":     {registry.KindComm, `^intracommunicator the copy of 2 ranks`, nil},
	"grid":     {registry.KindComm, `^Cartesian communicator of 2 ranks`, nil},
	"etype":    {registry.KindDatatype, `^MPI_INT`, nil},
	"filetype": {registry.KindDatatype, `^(DUP|VECTOR|CONTIGUOUS): 2 MPI_INT(EGER)?, size 8, extent 12\b`, nil},
	"receive": {
		registry.KindRequest,
		`^pending MPI_Irecv: receives up to 3 × MPI_INT(EGER)? from rank 0, tag 5, ` + theCopy,
		nil,
	},
	"waiting": {
		registry.KindRequest,
		`^inactive MPI_Recv_init: receives up to 1 × VECTOR \(2 MPI_INT(EGER)?\) from any rank, any tag, ` + theCopy,
		nil,
	},
}

// described is what is said of a Fortran handle: in one line, and all.
func described(t *testing.T, r *handle.Rank, kind registry.Kind, f int32) (summary, whole string,
	err error,
) {
	t.Helper()
	head, err := r.Lookup(registry.ClassOf(kind), uint64(uint32(f)), true)
	if err != nil {
		return "", "", err
	}
	shown, err := call.Show(r, head, "x")
	if err != nil {
		return "", "", err
	}
	n := shown.Node
	summary = n.Value
	var s strings.Builder
	if err := n.Text(&s, view.Options{}); err != nil {
		t.Fatal(err)
	}
	return summary, s.String(), nil
}

// TestFortranObjects has handles of every kind made and freed by Fortran, in each binding: the records are there, have
// the Fortran handle, and say what was given.
func TestFortranObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs MPI programs")
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range []string{"MPIF_H", "USE_MPI", "USE_MPI_F08"} {
			t.Run(binding, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "a file")
				flags := []string{"-cpp", "-ffree-line-length-none", "-fallow-argument-mismatch", "-D" + binding}
				j := startProgram(t, mpi, 2, "objects.f90", flags, path)
				checkMade(t, openRank(t, j, 0), j.lines, path)
				if _, err := io.WriteString(j.stdin, "go\n"); err != nil {
					t.Fatal(err)
				}
				var lines []string
				for j.scan.Scan() && j.scan.Text() != "END" {
					lines = append(lines, j.scan.Text())
				}
				checkFreed(t, openRank(t, j, 0), lines)
				if err := j.done(); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

func checkMade(t *testing.T, r *handle.Rank, lines []string, path string) {
	t.Helper()
	seen := 0
	for _, line := range lines {
		var name string
		var f int32
		if n, err := fmt.Sscanf(line, "MADE %s %d", &name, &f); n != 2 || err != nil {
			t.Errorf("the program says %q", line)
			continue
		}
		want, known := fortranMade[name]
		if !known {
			t.Errorf("%s is not expected", name)
			continue
		}
		seen++
		summary, whole, err := described(t, r, want.kind, f)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !regexp.MustCompile(strings.Replace(want.summary, "PATH", regexp.QuoteMeta(path), 1)).MatchString(summary) {
			t.Errorf("%s is %q; want %s", name, summary, want.summary)
		}
		parts := append([]string{fmt.Sprintf(`handle = "?0x[0-9a-f]+ \(Fortran %d\)`, f)}, want.parts...)
		if want.kind != registry.KindDatatype {
			parts = append(parts, `(created|posted|opened) = "?at 0x[0-9a-f]+, after event \d+`)
		}
		for _, p := range parts {
			if !regexp.MustCompile(p).MatchString(whole) {
				t.Errorf("of %s it is said, without %s,\n%s", name, p, whole)
			}
		}
	}
	if seen != len(fortranMade) {
		t.Errorf("%d of %d handles were made:\n%s", seen, len(fortranMade), strings.Join(lines, "\n"))
	}
	if r.Header.Lost > 0 {
		t.Errorf("%d records are lost", r.Header.Lost)
	}
}

func checkFreed(t *testing.T, r *handle.Rank, lines []string) {
	t.Helper()
	for _, line := range lines {
		var name string
		var f int32
		if n, err := fmt.Sscanf(line, "FREED %s %d", &name, &f); n != 2 || err != nil {
			t.Errorf("the program says %q", line)
			continue
		}
		want := fortranMade[name]
		if name == "column" {
			want.kind = registry.KindDatatype
		}
		if said, _, err := described(t, r, want.kind, f); err == nil {
			t.Errorf("%s was freed, and is %q", name, said)
		}
	}
	if len(lines) != len(fortranMade)-3+1 {
		t.Errorf("%d handles were freed:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}
