package handles_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb"
	"github.com/cohort-debugger/cohort/handles"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// rank is a program under gdb that stands at its line "breakpoint: handles": a job of one rank, without a launcher.
type rank struct {
	*handles.Backend
	t      testing.TB
	source string
}

func ctxOf(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// stopped builds a program of testdata, and runs it to its breakpoint, with or without the interposer.
func stopped(t testing.TB, mpi mpitest.MPI, source string, interposed bool) *rank {
	t.Helper()
	r := started(t, mpi, source, interposed)
	r.goTo("breakpoint: handles")
	return r
}

// started builds a program of testdata and stands at its entry.
func started(t testing.TB, mpi mpitest.MPI, source string, interposed bool) *rank {
	t.Helper()
	if testing.Short() {
		t.Skip("builds an MPI program and runs it under gdb")
	}
	path, err := filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	ctx := ctxOf(t)
	req := backend.LaunchRequest{Program: mpi.BuildFile(t, path), Env: mpi.Env()}
	if interposed {
		lib, err := pmpi.Build(ctx, pmpi.Options{Mpicc: mpi.Mpicc})
		if err != nil {
			t.Fatal(err)
		}
		req.Env = append(req.Env, "LD_PRELOAD="+lib.Path)
	}
	g := gdb.New(gdb.Options{})
	r := &rank{handles.Around(g, handles.New(g), nil), t, path}
	pid := 0
	t.Cleanup(func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range r.Events() {
			}
		}()
		if err := r.Kill(ctxOf(t)); err != nil {
			t.Error(err)
		}
		<-ended
		if pid != 0 {
			proctest.WaitGone(t, pid)
		}
	})
	result, err := r.Launch(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	pid = result.Pid
	return r
}

// goTo lets the rank run to the line with that text.
func (r *rank) goTo(mark string) {
	r.t.Helper()
	ctx := ctxOf(r.t)
	line := mpitest.LineOfFile(r.t, r.source, mark)
	if _, err := r.SetBreakpoints(ctx,
		backend.SetBreakpointsRequest{
			Source:      r.source,
			Breakpoints: []backend.SourceBreakpoint{{ID: 1, Line: line}},
		}); err != nil {
		r.t.Fatal(err)
	}
	r.resume(backend.Continue)
}

// resume lets the rank run until it stops again.
func (r *rank) resume(kind backend.ResumeKind) *backend.Stopped {
	r.t.Helper()
	if err := r.Resume(ctxOf(r.t), backend.ResumeRequest{Kind: kind}); err != nil {
		r.t.Fatal(err)
	}
	for e := range r.Events() {
		switch {
		case e.Stopped != nil:
			return e.Stopped
		case e.Exited != nil || e.Ended != nil:
			r.t.Fatalf("the program ended before its breakpoint: %+v %+v", e.Exited, e.Ended)
		}
	}
	r.t.Fatal("the events ended")
	return nil
}

func (r *rank) console(line string) (string, error) {
	got, err := r.Evaluate(ctxOf(r.t), backend.EvaluateRequest{
		Frame: backend.FrameID{Thread: 1}, Expression: line,
		Context: backend.ContextREPL,
	})
	return got.Text, err
}

func (r *rank) locals() map[string]backend.Variable {
	r.t.Helper()
	scopes, err := r.Scopes(ctxOf(r.t), backend.FrameID{Thread: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]backend.Variable{}
	for _, s := range scopes {
		if s.Name != "Locals" {
			continue
		}
		got, err := r.Variables(ctxOf(r.t), backend.VariablesRequest{Ref: s.Ref})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, v := range got.Variables {
			out[v.Name] = v
		}
	}
	return out
}

// variable is an argument or a local of the innermost frame.
func (r *rank) variable(name string) backend.Variable {
	r.t.Helper()
	scopes, err := r.Scopes(ctxOf(r.t), backend.FrameID{Thread: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range scopes {
		if s.Kind == "registers" {
			continue
		}
		got, err := r.Variables(ctxOf(r.t), backend.VariablesRequest{Ref: s.Ref})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, v := range got.Variables {
			if v.Name == name {
				return v
			}
		}
	}
	r.t.Fatalf("there is no variable %s", name)
	return backend.Variable{}
}

// shows checks that a variable that is a handle has its meaning for its value, and opens, in a watch and among the
// locals.
func (r *rank) shows(name, text string) {
	r.t.Helper()
	got, err := r.Evaluate(ctxOf(r.t), backend.EvaluateRequest{
		Frame: backend.FrameID{Thread: 1}, Expression: name,
		Context: backend.ContextWatch,
	})
	if err != nil || !strings.Contains(got.Value, text) {
		r.t.Errorf("%s is %+v, %v; want %q", name, got, err, text)
	}
	if v := r.locals()[name]; !strings.Contains(v.Value, text) || v.Named == 0 {
		r.t.Errorf("%s among the locals is %+v; want %q and what is in it", name, v, text)
	}
}

// says checks that the line's answer has all the parts, each a regular expression.
func (r *rank) says(line string, parts ...string) {
	r.t.Helper()
	got, err := r.console(line)
	if err != nil {
		r.t.Errorf("%s: %v", line, err)
		return
	}
	for _, p := range parts {
		if !regexp.MustCompile("(?s)" + p).MatchString(got) {
			r.t.Errorf("%s answers, without %q,\n%s", line, p, got)
		}
	}
}

// gives checks that the line makes a file of that name with all the parts, and writes none itself.
func (r *rank) gives(line, name string, parts ...string) {
	r.t.Helper()
	got, err := r.Evaluate(ctxOf(r.t), backend.EvaluateRequest{
		Frame: backend.FrameID{Thread: 1}, Expression: line,
		Context: backend.ContextREPL,
	})
	if err != nil || got.File == nil || got.File.Name != name {
		r.t.Errorf("%s gives %+v, %v", line, got.File, err)
		return
	}
	for _, p := range parts {
		if !strings.Contains(string(got.File.Data), p) {
			r.t.Errorf("%s gives, without %q, %.100s", line, p, got.File.Data)
		}
	}
	if _, err := os.Stat(name); err == nil {
		r.t.Errorf("%s has written %s", line, name)
	}
}

// refuses checks that the line is an error with that text.
func (r *rank) refuses(line, text string) {
	r.t.Helper()
	got, err := r.console(line)
	if err == nil || !strings.Contains(err.Error(), text) {
		r.t.Errorf("%s answers %q, %v; want an error with %q", line, got, err, text)
	}
}

func TestC(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		r := stopped(t, mpi, "handles.c", true)
		r.says("mpipp column", "kind = VECTOR", "count = 4,", "stride = 10,", `type = "MPI_DOUBLE"`,
			"size 32, extent 248", "signature: 4 MPI_DOUBLE", `created at handles\.c:14 in main`)
		r.says("mpipp column matrix", `column\(VECTOR\)\[3\]\[0\]\(DOUBLE\) +0x[0-9a-f]+  30\n`)
		r.says("mpipp column[2] &matrix[0][9]", `\[2\]\[0\]\(DOUBLE\) .* 29\n`)
		r.says("mpipp particle &p", `\[0\]\[1\]\(INT\) .* -8\n`, `\[1\]\[0\.\.7\]\(CHAR\) .* "cohort\\0\\0"\n`,
			`\[2\]\[1\]\(DOUBLE\) .* -2\.25\n`)
		r.says("mpipp particle(STRUCT)[1][3](CHAR) &p", ` 'o'\n`)
		r.says("mpipp --tree particle", `particle\(STRUCT\)\[1\]\[0\.\.7\]\(CHAR\) +MPI_CHAR at offset 8, 1 byte apart`)
		r.says("mpipp --layout particle", "Ii MPI_INT, 8 bytes", "     0 IiiiIiii C{8}( Dddddddd){2}\n")
		r.says("mpipp --layout column 2", "2 × VECTOR")
		r.says("mpipp --match column 2 to MPI_DOUBLE 8", "They match: all 8 entries agree")
		r.says("mpipp --match particle to column", "They do not match", `particle\(STRUCT\)\[0\]\[0\]\(INT\)`,
			`column\(VECTOR\)\[0\]\[0\]\(DOUBLE\)`)
		r.says("mpipp copy", "copy: intracommunicator copy of 1", "parent = MPI_COMM_WORLD")
		r.says("mpipp MPI_COMM_SELF", "intracommunicator")
		r.says("mpipp", "3 datatypes made by the program", `VECTOR "column": 4 MPI_DOUBLE`, "not committed",
			"3 communicators", `handles\.c:14 in main`)
		r.says("mpipp --help", "mpipp --layout TYPE")
		r.shows("column", `VECTOR "column": 4 MPI_DOUBLE, size 32, extent 248`)
		r.shows("copy", "intracommunicator copy of 1 rank")
		r.says("mpipp MPI_INT nowhere 2", `unmapped at 0x10\n`, `unmapped at 0x14\n`)
		r.says("mpipp row matrix", "warning: The datatype is not committed")
		r.refuses("mpipp freed", "was freed")
		r.refuses("mpipp null", "MPI_DATATYPE_NULL")
		r.refuses("mpipp never", "may not be initialised")
		r.refuses("mpipp column[4]", "indices there run from 0 to 3")
		r.refuses("mpipp --svg picture.png column", "names end in .svg")
		r.refuses("mpipp p", "the handle of a datatype is expected")
		r.gives(`mpipp --svg "a picture.svg" particle`, "a picture.svg", "<svg", "MPI_CHAR")
	})
}

func TestCxx(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		r := stopped(t, mpi, "handles.cc", true)
		column := "VECTOR: 4 MPI_DOUBLE, size 32, extent 80"
		for _, name := range []string{"type", "moved"} { // references
			if v := r.variable(name); !strings.Contains(v.Value, column) || v.Named == 0 {
				t.Errorf("%s is %+v", name, v)
			}
			r.says("mpipp "+name, "kind = VECTOR", `created at handles\.cc:15 in Column::Column\(int\)`)
		}
		r.says("mpipp type &v[0]", `\(VECTOR\)\[3\]\[0\]\(DOUBLE\) +0x[0-9a-f]+  9\n`)
		r.says("mpipp halo.column.type_", "kind = VECTOR")
		r.shows("world", "intracommunicator MPI_COMM_WORLD of 1 rank,")
		r.refuses("mpipp first", "is of type MPI_Request *, a pointer to a handle. Write *first.")
		r.refuses("mpipp *first", "MPI_REQUEST_NULL")
		r.refuses("mpipp first[1]", "first[1] is MPI_REQUEST_NULL")
		r.refuses("mpipp halo.requests", "the handle of a")
		r.refuses("mpipp halo", "is of type Halo &; the handle of a")
	})
}

func TestFortran(t *testing.T) {
	for _, source := range []string{"handles_mpif.f90", "handles_mpi.f90", "handles_f08.f90"} {
		t.Run(source, func(t *testing.T) {
			mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
				r := stopped(t, mpi, source, true)
				kind := ""
				if source != "handles_f08.f90" {
					kind = "--type " // an INTEGER does not tell what it is
				}
				r.says("mpipp "+kind+"column", "kind = VECTOR", "count = 4,", "stride = 10,",
					`type = "MPI_DOUBLE_PRECISION"`, "size 32, extent 248")
				r.says("mpipp "+kind+"parts", "kind = CONTIGUOUS", "count = 2", "kind = VECTOR")
				r.says("mpipp column matrix", `column\(VECTOR\)\[0\]\[0\]\(DOUBLE_PRECISION\) .* 101\n`,
					`\[3\]\[0\]\(DOUBLE_PRECISION\) .* 104\n`)
				r.says("mpipp column matrix(4,1)", `\[0\]\[0\]\(DOUBLE_PRECISION\) .* 401\n`,
					`\[3\]\[0\]\(DOUBLE_PRECISION\) .* 404\n`)
				r.says("mpipp column[2] matrix(4,1)", ` 403\n`)
				r.says("mpipp MPI_DOUBLE_PRECISION matrix 40", `\{39\}\(DOUBLE_PRECISION\) .* 1004\n`)
				r.says("mpipp MPI_LOGICAL flags 3", `\{0\}\(LOGICAL\) .* \.TRUE\.\n`, `\{1\}\(LOGICAL\) .* \.FALSE\.\n`)
				r.says("mpipp MPI_CHARACTER word 6", `"cohort"`)
				r.says("mpipp MPI_COMPLEX z 2", `\{0\}\(COMPLEX\) .* 1 \+ 2i\n`,
					`\{1\}\(COMPLEX\) .* -3\.5 \+ 0\.25i\n`)
				comm := "--comm "
				if kind == "" {
					comm = ""
					r.shows("column", "VECTOR: 4 MPI_DOUBLE_PRECISION, size 32, extent 248")
					r.shows("copy", "intracommunicator of 1 rank")
				}
				r.says("mpipp "+comm+"copy", "intracommunicator of 1 rank", "parent = MPI_COMM_WORLD")
				r.says("mpipp --layout parts", "2 × VECTOR|CONTIGUOUS, 64 bytes of data")
				r.says("mpipp --match parts to MPI_DOUBLE_PRECISION 8", "They match: all 8 entries agree")
				r.says("mpipp --match parts to MPI_DOUBLE 8", "stored alike")
				r.says("mpipp", "2 datatypes made by the program", "3 communicators")
				r.refuses("mpipp "+kind+"null", "MPI_DATATYPE_NULL")
				r.refuses("mpipp --type ierr", "")
			})
		})
	}
}

// TestWithoutInterposer says what is missing.
func TestWithoutInterposer(t *testing.T) {
	r := stopped(t, mpitest.Need(t, "mpich"), "handles.c", false)
	for _, line := range []string{"mpipp", "mpipp column", "mpipp column matrix", "mpipp --layout column"} {
		r.refuses(line, "runs without Cohort's library libcohort.so")
	}
}
