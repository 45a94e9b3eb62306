package scripts

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/doccheck"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// updateDocs has the answers of this run written into the pages, where they differ; look at the difference before you
// commit it.
var updateDocs = flag.Bool("update-docs", false, "write what is printed into docs/ (with -run 'TestDocs/mpich')")

// notRun are the examples of the documentation that this test cannot run, by page and beginning of the command, and
// why.
var notRun = map[string]map[string]string{
	"races.md": {"cohort races races.cohort --explain": "which ranks are drawn, and how, depends on which " +
		"message came first; testdata/scripts/races.txtar runs it"},
	"large-programs.md": {"cohort debug hpcc": "hpcc runs for minutes, and is not installed everywhere; " +
		"scripts/largeprogram.sh records and replays it"},
}

// TestDocs runs the examples of the pages in docs/ in their order, in a directory with the links testprograms and
// scripts to those of the repository, and compares what is printed with what the page says. The lines for the console
// of a session are given to cohort debug --batch, which is the client of the same debug adapter without a terminal, and
// those for gdb to gdb -batch.
func TestDocs(t *testing.T) {
	cohorttest.Slow(t)
	pages, err := filepath.Glob(filepath.Join(mpitest.Root(t), "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	used := map[string]map[string]bool{}
	texts := map[string][]doccheck.Step{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(page)
		steps, err := doccheck.Steps(string(text))
		if err != nil {
			t.Errorf("docs/%s: %v", name, err)
		}
		texts[name], used[name] = withoutNotRun(name, steps)
	}
	for page, list := range notRun {
		for command := range list {
			if !used[page][command] {
				t.Errorf("docs/%s has no command that begins with %q", page, command)
			}
		}
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for page, steps := range texts {
			if len(steps) == 0 || !runsOn(page, mpi) {
				continue
			}
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				r := newReader(t, mpi)
				r.follow(page, steps)
				r.update(page)
			})
		}
	})
}

// withoutNotRun removes what is in notRun, with what is typed in a session that begins there.
func withoutNotRun(page string, steps []doccheck.Step) (rest []doccheck.Step, used map[string]bool) {
	used = map[string]bool{}
	skip := false
	for _, s := range steps {
		if s.Prompt == doccheck.Shell {
			skip = false
			for command := range notRun[page] {
				if strings.HasPrefix(s.Command, command) {
					skip, used[command] = true, true
				}
			}
		}
		if !skip {
			rest = append(rest, s)
		}
	}
	return rest, used
}

// reader types what the documentation says.
type reader struct {
	*cohorttest.Workplace

	env     []string
	answers map[int]answer // by line of the page, what it does not have
}

type answer struct {
	from, to int // lines of the page that it replaces
	lines    []string
}

func newReader(t *testing.T, mpi mpitest.MPI) *reader {
	t.Helper()
	w := cohorttest.New(t, mpi)
	root, here := mpitest.Root(t), w.Path("work")
	if err := os.Mkdir(here, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"testprograms", "scripts"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(here, name)); err != nil {
			t.Fatal(err)
		}
	}
	commands, cache := t.TempDir(), filepath.Join(t.TempDir(), "cohort")
	for name, path := range map[string]string{"mpicc": mpi.Mpicc, "mpifort": mpi.Mpifort, "mpiexec": mpi.Mpiexec} {
		if path == "" {
			mpitest.Missing(t, "mpitest: "+mpi.Name+" has no "+name)
		}
		text := fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", path)
		if err := os.WriteFile(filepath.Join(commands, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// A cache of its own, because the path of this cohort, which will be gone, is written into gdb's script; with the
	// library that is there.
	library, err := pmpi.Build(w.Ctx, pmpi.Options{Mpicc: mpi.Mpicc})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(cache, 0o700),
		os.Symlink(filepath.Dir(library.Path),
			filepath.Join(cache, filepath.Base(filepath.Dir(library.Path))))); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{commands, filepath.Dir(w.Cohort), os.Getenv("PATH")}, ":")
	env := append(w.Command().Env, "PATH="+path, "XDG_CACHE_HOME="+filepath.Dir(cache), "NO_COLOR=1")
	return &reader{w, env, map[int]answer{}}
}

func (r *reader) follow(page string, steps []doccheck.Step) {
	for i := 0; i < len(steps); {
		s := steps[i]
		end := i + 1
		for end < len(steps) && steps[end].Prompt != doccheck.Shell {
			end++
		}
		inside := steps[i+1 : end]
		i = end
		switch {
		case s.Prompt != doccheck.Shell:
			r.T.Fatalf("docs/%s:%d: nothing was started that could read %q", page, s.Line, s.Command)
		case len(inside) > 0:
			r.session(page, s, inside)
		default:
			output, status := r.shell(s.Command)
			if status != s.Options.Status {
				r.T.Fatalf("docs/%s:%d: %s ended with status %d, not %d:\n%s", page, s.Line, s.Command, status,
					s.Options.Status, output)
			}
			r.compare(page, s, strings.Split(output, "\n"))
		}
	}
}

func (r *reader) compare(page string, s doccheck.Step, got []string) {
	if s.Options.MPI != "" && s.Options.MPI != r.MPI.Name {
		return
	}
	var kept []string
	for _, line := range got {
		if !ofThisMachine.MatchString(line) {
			kept = append(kept, line)
		}
	}
	if err := doccheck.Compare(s.Want, kept, s.Options); err != nil {
		if !slices.ContainsFunc(s.Want, func(l string) bool { return strings.HasSuffix(l, "...") }) {
			r.answers[s.Line] = answer{s.Line + s.Lines - 1, s.Line + s.Lines - 1 + len(s.Want), kept}
		}
		r.T.Errorf("docs/%s:%d: %s%s: %v", page, s.Line, s.Prompt, s.Command, err)
	}
}

// update writes the answers that differed into the page.
func (r *reader) update(page string) {
	if !*updateDocs || len(r.answers) == 0 {
		return
	}
	root := mpitest.Root(r.T)
	path := filepath.Join(root, "docs", page)
	text, err := os.ReadFile(path)
	if err != nil {
		r.T.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, at := range slices.Backward(slices.Sorted(maps.Keys(r.answers))) {
		a := r.answers[at]
		answer := strings.TrimRight(strings.Join(a.lines, "\n"), "\n ")
		answer = strings.NewReplacer(r.Dir, "/home/me", root+"/", "/home/me/work/").Replace(answer)
		lines = slices.Replace(lines, a.from, a.to, strings.Split(answer, "\n")...)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		r.T.Fatal(err)
	}
}

// ofThisMachine are lines that are printed on some machines only.
var ofThisMachine = regexp.MustCompile(`^(cohort: )?There are more ranks \(\d+\) than cores|^\[Thread debugging using libthread_db|^Using host libthread_db library`)

// shell runs a command as it stands there, with empty input.
func (r *reader) shell(command string) (output string, status int) {
	r.T.Helper()
	cmd := exec.CommandContext(r.Ctx, "bash", "-c", command)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = cohorttest.EndLimit
	cmd.Dir, cmd.Env = r.Path("work"), r.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) || r.Ctx.Err() != nil {
		r.T.Fatalf("%s: %v %v\n%s", command, err, r.Ctx.Err(), out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

var (
	cohortSession = regexp.MustCompile(`^(cohort (?:debug|core)) (.*)$`)
	gdbSession    = regexp.MustCompile(`^gdb (.*)$`)
)

// session runs what is typed into a debugger, and compares what it answers to each line.
func (r *reader) session(page string, opener doccheck.Step, typed []doccheck.Step) {
	var command strings.Builder
	var mark func(int, doccheck.Step) string // what is printed before the answer to a line
	switch of := typed[0].Prompt; {
	case of == doccheck.Cohort && cohortSession.MatchString(opener.Command):
		m := cohortSession.FindStringSubmatch(opener.Command)
		command.WriteString(m[1] + " --batch")
		for _, s := range typed {
			command.WriteString(" -x " + quoted(s.Command))
		}
		command.WriteString(" " + m[2])
		// --batch prints what it carries out
		mark = func(_ int, s doccheck.Step) string { return "(cohort) " + s.Command }
	case of == doccheck.Gdb && gdbSession.MatchString(opener.Command):
		command.WriteString("gdb -nx -q -batch -ex 'set debuginfod enabled off' " +
			gdbSession.FindStringSubmatch(opener.Command)[1])
		mark = func(i int, _ doccheck.Step) string { return fmt.Sprintf("=== %d ===", i) }
		for i, s := range typed {
			command.WriteString(" -ex " + quoted(`echo \n`+mark(i, s)+`\n`) + " -ex " + quoted(s.Command))
		}
	default:
		r.T.Fatalf("docs/%s:%d: nothing reads the line %q there", page, typed[0].Line, typed[0].Command)
	}
	output, status := r.shell(command.String())
	left := strings.Split(output, "\n")
	for i, s := range typed {
		if s.Prompt != typed[0].Prompt {
			r.T.Fatalf("docs/%s:%d: this is a session of another debugger", page, s.Line)
		}
		at := index(left, mark(i, s))
		if at < 0 {
			r.T.Fatalf("docs/%s:%d: %s was not carried out:\n%s", page, s.Line, s.Command, output)
		}
		left = left[at+1:]
		answer := left
		if i+1 < len(typed) {
			if next := index(left, mark(i+1, typed[i+1])); next >= 0 {
				answer = left[:next]
			}
		}
		r.compare(page, s, answer)
	}
	if want := typed[len(typed)-1].Options.Status; typed[0].Prompt == doccheck.Cohort && status != want {
		r.T.Errorf("docs/%s:%d: %s ended with status %d, not %d:\n%s", page, opener.Line, opener.Command, status, want,
			output)
	}
}

func index(lines []string, line string) int {
	for i, l := range lines {
		if l == line {
			return i
		}
	}
	return -1
}

// quoted is text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
