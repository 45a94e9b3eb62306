package scripts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// onlyOn are the scripts and the pages that one MPI is enough for: the MPI has no part in what is in them, or it is
// tested with both elsewhere.
var onlyOn = map[string]string{
	"bad-debug.txtar": "mpich", "bad-program.txtar": "mpich", "bad-recording.txtar": "mpich", "batch.txtar": "mpich",
	"core.txtar": "mpich", "faults-uncovered.txtar": "openmpi", "mpipp.txtar": "openmpi", "races.txtar": "mpich", "repair.txtar": "mpich",
	"report.txtar": "mpich", "untilfail.txtar": "mpich", "waits.md": "mpich",
	"core.md": "openmpi", "gdb.md": "openmpi", "mpipp.md": "mpich", "races.md": "openmpi", "racing.md": "mpich",
	"replay.md": "openmpi", "trace-format.md": "mpich", "tutorial.md": "mpich", "what-is-recorded.md": "openmpi",
}

func runsOn(file string, mpi mpitest.MPI) bool { return onlyOn[file] == "" || onlyOn[file] == mpi.Name }

// TestScripts runs testdata/scripts/*.txtar on each MPI, but for onlyOn. In a script $MPI is "mpich" or "openmpi", and
// $SOURCE is testprograms; cohort is the program under test; and:
//
//	build SOURCE NAME [FLAG...]   a program of testprograms, built with $MPI; "plain" as the first flag: without any MPI.
//	                              A folder is a program in Go.
//	program FILE                  copies a file of testprograms here
//	orders FILE                   the lines with order hashes of the last standard output, sorted, into FILE
//	line SOURCE MARK VAR          sets VAR to FILE:LINE of the line of the program's source that holds MARK
//	checkcut RECORDING FILE       checks the cut in FILE (JSON) against the events of the recording, without package causal
//	column FILE                   checks that the column that mpipp printed has the values that the array has
//	status N ARGUMENT...          runs cohort, which must end with that status
//	copydir FROM TO               copies a directory, over what was there
//	edit FILE OLD NEW             replaces a text that is in the file once
//	scrub FILE REGEXP NEW...      replaces what matches, by pairs
//	patch FILE OFFSET BYTE        sets one byte
//	flip FILE OFFSET              inverts one byte; from the end if the offset is negative
//	truncate FILE LENGTH          cuts a file off
//	everylength REC FILE COPY     a recording with a truncated file is refused by the file's name, whatever the length
//	nothingleft                   no process of this script is left, and no job directory
//
// Every script ends with a check like nothingleft of its own.
func TestScripts(t *testing.T) {
	cohorttest.Slow(t)
	files, err := filepath.Glob(filepath.Join(mpitest.Root(t), "testdata", "scripts", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, file := range files {
			if !runsOn(filepath.Base(file), mpi) {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				t.Parallel()
				testscript.RunT(inTest{t}, scriptParams(t, mpi, file))
			})
		}
	})
}

// inTest has testscript run a script in the test itself, so that its deadline begins when it does, and not when it is
// queued.
type inTest struct{ *testing.T }

func (inTest) Parallel()                                {} // it is
func (s inTest) Run(_ string, run func(t testscript.T)) { run(s) }
func (inTest) Verbose() bool                            { return testing.Verbose() }

func scriptParams(t *testing.T, mpi mpitest.MPI, file string) testscript.Params {
	w := cohorttest.New(t, mpi)
	return testscript.Params{
		Files:       []string{file},
		WorkdirRoot: w.Dir,
		Deadline:    time.Now().Add(2 * cohorttest.Patience),
		Setup: func(env *testscript.Env) error {
			env.Vars = slices.Concat(env.Vars, mpi.Env(), w.Variables(),
				[]string{"MPI=" + mpi.Name, "SOURCE=" + filepath.Dir(mpitest.Source(t, "hello.c"))})
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "core" {
				return coresStay(), nil
			}
			if cond == "mpich" || cond == "openmpi" {
				return cond == mpi.Name, nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"build":       func(ts *testscript.TestScript, neg bool, args []string) { buildProgram(t, ts, mpi, args) },
			"program":     func(ts *testscript.TestScript, neg bool, args []string) { copyProgram(t, ts, args) },
			"orders":      orders,
			"line":        func(ts *testscript.TestScript, neg bool, args []string) { findLine(t, ts, args) },
			"checkcut":    checkCut,
			"cutof":       cutOf,
			"column":      checkColumn,
			"status":      runWithStatus,
			"copydir":     copyDir,
			"edit":        editFile,
			"scrub":       scrubFile,
			"patch":       patchFile,
			"flip":        flipByte,
			"truncate":    truncateFile,
			"everylength": everyLength,
			"nothingleft": func(ts *testscript.TestScript, neg bool, args []string) {
				if left := w.Left(); len(left) > 0 {
					ts.Fatalf("left behind: %v", left)
				}
			},
		},
	}
}

// coresStay tells whether the kernel leaves core files where the program runs: as it does by default, and few
// distributions do.
func coresStay() bool {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	var limit unix.Rlimit
	hard := unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil && limit.Max == unix.RLIM_INFINITY
	return err == nil && hard && !bytes.ContainsAny(pattern, "|/%")
}

func buildProgram(t *testing.T, ts *testscript.TestScript, mpi mpitest.MPI, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: build SOURCE NAME [FLAG...]")
	}
	var binary string
	if flags := args[2:]; len(flags) > 0 && flags[0] == "plain" {
		binary = mpitest.BuildPlain(t, args[0], flags[1:]...)
	} else if filepath.Ext(args[0]) == "" {
		binary = mpi.BuildGo(t, args[0])
	} else {
		binary = mpi.Build(t, args[0], flags...)
	}
	data, err := os.ReadFile(binary)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o755))
}

func copyProgram(t *testing.T, ts *testscript.TestScript, args []string) {
	for _, name := range args {
		data, err := os.ReadFile(mpitest.Source(t, name))
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o644))
	}
}

var orderLine = regexp.MustCompile(`(?m)(?:^|\s)(\w+: rank \d+ order .*)$`)

func orders(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: orders FILE")
	}
	var lines []string
	for _, m := range orderLine.FindAllStringSubmatch(ts.ReadFile("stdout"), -1) {
		lines = append(lines, m[1])
	}
	if len(lines) == 0 {
		ts.Fatalf("no order hashes were printed")
	}
	sort.Strings(lines)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func scrubFile(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || len(args)%2 == 0 {
		ts.Fatalf("usage: scrub FILE REGEXP NEW...")
	}
	text := ts.ReadFile(args[0])
	for pairs := args[1:]; len(pairs) > 0; pairs = pairs[2:] {
		text = regexp.MustCompile(pairs[0]).ReplaceAllString(text, pairs[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func findLine(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: line SOURCE MARK VAR")
	}
	ts.Setenv(args[2], mpitest.Source(t, args[0])+":"+strconv.Itoa(mpitest.Line(t, args[0], args[1])))
}
