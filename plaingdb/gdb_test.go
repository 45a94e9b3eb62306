package plaingdb_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb"
	"github.com/cohort-debugger/cohort/handles"
	"github.com/cohort-debugger/cohort/plaingdb"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// script installs the script for this test binary.
func script(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs gdb")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path, err := plaingdb.Install(filepath.Join(t.TempDir(), "a place"), self)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// plain is a gdb that loads a script and then carries out commands.
type plain struct {
	t      *testing.T
	script string
	env    []string
	args   []string // of gdb, such as the program
}

// run returns what each command prints.
func (p plain) run(commands ...string) []string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	args := []string{
		"-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set width 0", "-ex",
		"set startup-with-shell off", "-x", p.script,
	}
	for i, c := range commands {
		args = append(args, "-ex", fmt.Sprintf("echo \\n=%d=\\n", i), "-ex", c)
	}
	cmd := exec.CommandContext(ctx, "gdb", append(args, p.args...)...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && ctx.Err() != nil {
		p.t.Fatalf("%v after\n%s", err, out.String())
	}
	answers := make([]string, len(commands))
	parts := regexp.MustCompile(`(?m)^=(\d+)=\n`).Split(out.String(), -1)
	for i := range answers {
		if i+1 < len(parts) {
			answers[i] = strings.TrimRight(parts[i+1], "\n")
		}
	}
	return answers
}

// subject is a program that stands at its line "breakpoint: handles", and its core file.
type subject struct {
	mpi           mpitest.MPI
	program, core string
	answers       []string // of plain gdb on the live program, to lines
}

// taken runs lines in plain gdb on a live program and takes its core into dir.
func taken(t *testing.T, mpi mpitest.MPI, script, dir, source string, lines []string, args ...string) subject {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "handles", "testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	library, err := pmpi.Build(t.Context(), pmpi.Options{Mpicc: mpi.Mpicc})
	if err != nil {
		t.Fatal(err)
	}
	s := subject{mpi: mpi, program: mpi.BuildFile(t, path), core: filepath.Join(dir, "core of "+mpi.Name+source)}
	commands := []string{
		"set environment LD_PRELOAD " + library.Path,
		fmt.Sprintf("break %s:%d", source, mpitest.LineOfFile(t, path, "breakpoint: handles")), "run",
		"generate-core-file " + s.core, "set print pretty off",
	}
	all := plain{t, script, mpi.Env(), append([]string{"--args", s.program}, args...)}.run(append(commands,
		lines...)...)
	if _, err := os.Stat(s.core); err != nil {
		t.Fatalf("%v after\n%s", err, strings.Join(all, "\n"))
	}
	s.answers = all[len(commands):]
	return s
}

// opened opens the core in Cohort's own gdb.
func opened(t *testing.T, s subject) *handles.Backend {
	t.Helper()
	g := gdb.New(gdb.Options{})
	b := handles.Around(g, handles.New(g), nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range b.Events() {
		}
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := b.Kill(ctx); err != nil {
			t.Error(err)
		}
		<-ended
	})
	if _, err := b.Launch(t.Context(), backend.LaunchRequest{Program: s.program, Core: s.core}); err != nil {
		t.Fatal(err)
	}
	return b
}

// linesC, linesFortran and linesInteger are what is asked in C, mpi_f08 and mpif.h.
var (
	linesC = []string{
		"mpipp", "mpipp column", "mpipp column matrix", "mpipp column[2] &matrix[0][9]", "mpipp particle &p",
		"mpipp --tree particle", "mpipp --layout column 2",
		"mpipp --match column 2 to MPI_DOUBLE 8", "mpipp copy", "mpipp MPI_COMM_SELF", "mpipp MPI_INT nowhere 2",
		"mpipp row matrix", "mpipp --help",
		"mpipp freed", "mpipp null", "mpipp never", "mpipp column[4]", "mpipp p", "mpipp nosuch", "mpipp --nosuch",
		"mpipp column matrix[0]++", "mpipp column puts(\"x\")",
	}
	linesFortran = []string{
		"mpipp", "mpipp column", "mpipp parts", "mpipp column matrix", "mpipp column matrix(4,1)",
		"mpipp MPI_LOGICAL flags 3", `mpipp MPI_CHARACTER word 6`,
		"mpipp MPI_COMPLEX z 2", "mpipp copy", "mpipp --layout parts", "mpipp --match parts to MPI_DOUBLE 8",
		"mpipp null", "mpipp ierr",
	}
	linesInteger = []string{
		"mpipp", "mpipp --type column", "mpipp column matrix(4,1)", "mpipp --comm copy",
		"mpipp MPI_CHARACTER word 6", "mpipp --type null", "mpipp --type ierr",
	}
)

// TestSameAnswers compares plain gdb, on a live program and on its core, with the answers of Cohort's own session on
// that core.
func TestSameAnswers(t *testing.T) {
	path := script(t)
	var subjects []subject
	dir := t.TempDir()
	for _, name := range mpitest.Names() {
		t.Run(name, func(t *testing.T) {
			mpi := mpitest.Need(t, name)
			s := taken(t, mpi, path, dir, "handles.c", append(linesC, printed...))
			sameAnswers(t, path, s, linesC)
			checkPrinted(t, s.answers[len(linesC):])
			subjects = append(subjects, s)
			if name == mpitest.Names()[1] && len(subjects) == 2 {
				switching(t, path, subjects[0], subjects[1])
			}
			if mpi.Mpifort == "" {
				mpitest.Missing(t, "there is no Fortran compiler")
			}
			source, lines := "handles_f08.f90", linesFortran
			if name == "mpich" { // an INTEGER does not tell what it is
				source, lines = "handles_mpif.f90", linesInteger
			}
			sameAnswers(t, path, taken(t, mpi, path, dir, source, lines), lines)
		})
	}
}

// ago is what is said of time, which a core file does not tell.
var ago = regexp.MustCompile(`, [0-9.]+[mµ]?s ago`)

// sameAnswers compares what was said live with what is said of the core.
func sameAnswers(t *testing.T, path string, s subject, lines []string) {
	t.Helper()
	core := plain{t, path, nil, []string{s.program, s.core}}.run(lines...)
	b := opened(t, s)
	for i, line := range lines {
		got, err := b.Evaluate(t.Context(), backend.EvaluateRequest{
			Frame: backend.FrameID{Thread: 1}, Expression: line,
			Context: backend.ContextREPL,
		})
		want := strings.TrimRight(got.Text, "\n")
		if err != nil {
			want = err.Error()
		}
		want = ago.ReplaceAllString(strings.TrimSuffix(want, "."), "")
		if want == "" {
			t.Errorf("%s: Cohort's own session says nothing", line)
		}
		for where, said := range map[string]string{"live": s.answers[i], "the core": core[i]} {
			if ago.ReplaceAllString(strings.TrimSuffix(said, "."), "") != want {
				t.Errorf("%s in plain gdb, %s, says\n%s\nand in Cohort's session\n%s", line, where, said, want)
			}
		}
	}
}

// has checks an answer against a regular expression.
func has(t *testing.T, answer, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(answer) {
		t.Errorf("%q is not in\n%s", pattern, answer)
	}
}

// printed shows variables.
var printed = []string{
	"info locals", "print/r column", "print types", "show may-call-functions",
	"show may-write-memory", "cd /tmp", "mpipp --svg nosuch/picture.svg column",
}

func checkPrinted(t *testing.T, answers []string) {
	t.Helper()
	for _, want := range []string{
		`column = VECTOR "column": 4 MPI_DOUBLE, size 32, extent 248`,
		"copy = intracommunicator copy of 1 rank", `types = \{MPI_INT, MPI_CHAR, MPI_DOUBLE\}`, `matrix = \{\{0, 1, 2`,
	} {
		has(t, answers[0], want)
	}
	has(t, answers[1], `= (-?\d+|\(MPI_Datatype\) 0x[0-9a-f]+)`)
	has(t, answers[2], `\{MPI_INT, MPI_CHAR, MPI_DOUBLE\}`)
	has(t, answers[3], "is on")
	has(t, answers[4], "is on")
	has(t, answers[6], "/tmp/nosuch/picture.svg")
}

// switching goes from one inferior to another of another MPI and back, and shows variables to a graphical front end.
func switching(t *testing.T, path string, a, b subject) {
	t.Helper()
	got := plain{t, path, nil, []string{a.program, a.core}}.run("print column", "add-inferior -no-connection",
		"inferior 2", "file "+b.program, "core-file "+b.core, "mpipp copy", "inferior 1", "print copy", "mpipp copy",
		"detach", "mpipp copy")
	has(t, got[0], `VECTOR "column"`)
	for _, i := range []int{5, 7, 8} {
		has(t, got[i], "intracommunicator copy of 1 rank")
	}
	if handle := regexp.MustCompile(`handle = \S+`); handle.FindString(got[5]) == handle.FindString(got[8]) {
		t.Errorf("the inferiors have the same handle:\n%s\n%s", got[5], got[8])
	}
	has(t, got[10], "There is no process")
	cmd := exec.CommandContext(t.Context(), "gdb", "-nx", "-q", "-i=mi", "-x", path, b.program, b.core)
	cmd.Stdin = strings.NewReader("-enable-pretty-printing\n-var-create v * column\n-var-list-children --all-values " +
		"v\n-gdb-exit\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	has(t, string(out), `exp="size",[^}]*value="32"`)
	has(t, string(out), `exp="constructor",[^}]*value="VECTOR`)
}

// TestBacktrace: one frame for an MPI call, whatever it goes through in Cohort's library, and with the numbers that
// gdb's other commands know.
func TestBacktrace(t *testing.T) {
	path := script(t)
	source, err := filepath.Abs("../handles/testdata/handles.c")
	if err != nil {
		t.Fatal(err)
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		library, err := pmpi.Build(t.Context(), pmpi.Options{Mpicc: mpi.Mpicc})
		if err != nil {
			t.Fatal(err)
		}
		got := plain{
			t, path, mpi.Env(),
			[]string{mpi.BuildFile(t, source)},
		}.run("set environment LD_PRELOAD "+library.Path, "break main", "run",
			"break PMPI_Comm_dup",
			"continue", "bt", "bt -no-filters", "frame function main", "bt 2")
		has(t, got[5], `(?s)^#0 [^\n]*PMPI_Comm_dup \(\)[^\n]*\n#(\d) [^\n]* MPI_Comm_dup \(\)[^\n]*\n#\d+ [^\n]* main [^\n]*$`)
		if strings.Count(got[6], "libcohort") < 2 {
			t.Errorf("the call went through one function only, so nothing was tested:\n%s", got[6])
		}
		number := regexp.MustCompile(`#(\d+) [^\n]* main `)
		if a, b, c := number.FindString(got[5]), number.FindString(got[6]), number.FindString(got[7]); a != b ||
			a != c {
			t.Errorf("main is %q in a backtrace, %q in a whole one and %q for the command frame", a, b, c)
		}
		if n := strings.Count(got[8], "\n#"); n != 1 {
			t.Errorf("bt 2 shows\n%s", got[8])
		}
	})
}

// TestCalls: the call of the selected frame's line, before it is made; and from within it, also where the registry does
// not keep calls.
func TestCalls(t *testing.T) {
	path := script(t)
	for source, keep := range map[string]string{"calls.c": "0", "calls_f08.f90": "1"} {
		t.Run(source, func(t *testing.T) {
			file, err := filepath.Abs(filepath.Join("..", "handles", "testdata", source))
			if err != nil {
				t.Fatal(err)
			}
			mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
				library, err := pmpi.Build(t.Context(), pmpi.Options{Mpicc: mpi.Mpicc})
				if err != nil {
					t.Fatal(err)
				}
				at := mpitest.LineOfFile(t, file, "breakpoint: sendrecv")
				const particle = `2 × particle \(STRUCT: MPI_INT, 4 MPI_CHAR, MPI_DOUBLE\)`
				want := `receives up to ` + particle + ` from any rank, tag 1 and any tag, MPI_COMM_WORLD`
				if source != "calls.c" {
					at += 2 // gfortran gives a statement the last of its lines
					want = `receives up to 4 × MPI_DOUBLE_PRECISION from rank 0, tag 5, MPI_COMM_WORLD`
				}
				got := plain{
					t, path, mpi.Env(),
					[]string{mpi.BuildFile(t, file)},
				}.run("set environment LD_PRELOAD "+library.Path,
					"set environment COHORT_KEEP "+keep,
					fmt.Sprintf("break %s:%d", source, at), "run", "mpipp --call", "break PMPI_Sendrecv", "continue",
					"mpipp --call", "up 99", "mpipp --call")
				where := fmt.Sprintf(`at %s:%d`, source, at)
				has(t, got[4], `^MPI_Sendrecv is about to be called `+where+`: sends .* to rank 0, `+want)
				has(t, got[4], `(?m)^receives .*not received yet: the call has not run`)
				if keep == "1" {
					has(t, got[7], `^MPI_Sendrecv is being called `+where+`( in \w+)?: sends .* to rank 0, `+want)
				} else {
					has(t, got[7], `^The line has no MPI call .*COHORT_KEEP=0`)
				}
				if source == "calls.c" { // of Fortran the outermost frame is that of a main of the compiler's
					has(t, got[9], `^MPI_Sendrecv is being called `+where+`( in \w+)?: sends `+particle+` to rank 0, `+want)
				}
			})
		})
	}
}

// TestWithoutLibrary says how to get it.
func TestWithoutLibrary(t *testing.T) {
	path := script(t)
	mpi := mpitest.Need(t, "mpich")
	source, err := filepath.Abs("../handles/testdata/handles.c")
	if err != nil {
		t.Fatal(err)
	}
	line := mpitest.LineOfFile(t, source, "breakpoint: handles")
	got := plain{t, path, mpi.Env(), []string{mpi.BuildFile(t, source)}}.run("mpipp",
		fmt.Sprintf("break handles.c:%d", line), "run", "mpipp", "mpipp column", "print column")
	has(t, got[0], "There is no process")
	has(t, got[3], "cohort library PROGRAM.*LD_PRELOAD")
	has(t, got[4], "cohort library PROGRAM.*LD_PRELOAD")
	has(t, got[5], `^\$1 = -?\d+$`)
}

// TestDecoderFails has a decoder that is missing, is something else, says nothing, or dies. gdb continues each time,
// with a sentence.
func TestDecoderFails(t *testing.T) {
	path := script(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	impatient := filepath.Join(dir, "impatient.py")
	if err := os.WriteFile(impatient, bytes.Replace(text, []byte("20.0"), []byte("0.5"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	program := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for cohort, want := range map[string]string{
		"/nowhere/cohort": "cannot be started",
		program("old", `echo "cohort: There is no command \"gdb-decoder\"." >&2; exit 2`): "too old.*There is no " +
			"command",
		program("silent", "exec sleep 1000"):                                          "said nothing for",
		program("deaf", `echo '{"protocol": 2}'; exec sleep 1000`):                    "said nothing for",
		program("other", `echo '{"protocol": 99, "version": "v9"}'; exec sleep 1000`): "cohort v9, whose decoder speaks another protocol",
		program("dying", `echo '{"protocol": 2}'; exit 1`):                            "decoder has ended",
	} {
		t.Run(filepath.Base(cohort), func(t *testing.T) {
			use := path
			if want == "said nothing for" {
				use = impatient
			}
			got := plain{t, use, []string{"COHORT=" + cohort}, nil}.run("mpipp --help", "print 6 * 7",
				"python print(decoder.process)")
			has(t, got[0], want)
			has(t, got[1], "= 42")
			has(t, got[2], "None")
		})
	}
	t.Run("killed", func(t *testing.T) {
		got := plain{t, path, nil, nil}.run("mpipp --help",
			"python import signal; decoder.process.send_signal(signal.SIGKILL)", "mpipp --help", "mpipp --help")
		// whether its end is seen before it is asked
		if !strings.Contains(got[2], "mpipp --layout TYPE") && !strings.Contains(got[2], "decoder has ended") {
			t.Errorf("%s", got[2])
		}
		has(t, got[3], "mpipp --layout TYPE")
	})
	t.Run("not installed", func(t *testing.T) {
		lost := filepath.Join(dir, "lost.py")
		if err := os.WriteFile(lost, regexp.MustCompile(`COHORT, PROTOCOL, PATIENCE = "[^"]*"`).ReplaceAll(text,
			[]byte(`COHORT, PROTOCOL, PATIENCE = "/no/such/cohort"`)), 0o600); err != nil {
			t.Fatal(err)
		}
		gdbPath, err := exec.LookPath("gdb")
		if err != nil {
			t.Fatal(err)
		}
		got := plain{t, lost, []string{"PATH=" + filepath.Dir(gdbPath), "COHORT="}, nil}.run("mpipp --help")
		if !strings.Contains(got[0], "cohort was not found: neither /no/such/cohort") {
			t.Skipf("a cohort is installed beside gdb: %s", got[0])
		}
	})
}

// TestNothingLeft kills gdb: its decoder goes too. And it ends gdb in good order.
func TestNothingLeft(t *testing.T) {
	path := script(t)
	for _, kill := range []bool{true, false} {
		cmd := exec.CommandContext(t.Context(), "gdb", "-nx", "-q", "-x", path, "-ex", "mpipp --help", "-ex",
			"python print('pid', decoder.process.pid, flush=True)")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := awaitPid(t, out)
		if kill {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		} else if _, err := in.Write([]byte("quit\n")); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // killed
		proctest.WaitGone(t, pid)
	}
}

// awaitPid reads gdb's output up to the line with the process id.
func awaitPid(t *testing.T, out interface{ Read([]byte) (int, error) }) int {
	t.Helper()
	var text []byte
	buf := make([]byte, 4096)
	for {
		n, err := out.Read(buf)
		text = append(text, buf[:n]...)
		if m := regexp.MustCompile(`(?m)^pid (\d+)\n`).FindSubmatch(text); m != nil {
			pid, err := strconv.Atoi(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		if err != nil {
			t.Fatalf("%v after\n%s", err, text)
		}
	}
}
