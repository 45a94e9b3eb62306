package gdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/backend"
)

func TestLaunchStopsAtMain(t *testing.T) {
	for source, want := range map[string]struct {
		function string
		line     int
	}{
		"loop.c":   {"main", 20},
		"box.cc":   {"main", 17},
		"prog.f90": {"prog", 9},
	} {
		t.Run(source, func(t *testing.T) {
			s := launch(t, build(t, source))
			st := s.result.Stop
			if st.Reason != backend.ReasonEntry || len(st.Frames) == 0 {
				t.Fatalf("got %+v", st)
			}
			f := st.Frames[0]
			if f.Function != want.function || f.File != sourcePath(t, source) || f.Line < want.line ||
				f.Line > want.line+8 {
				t.Errorf("stopped in %s at %s:%d", f.Function, f.File, f.Line)
			}
			if s.result.Pid <= 0 || !strings.Contains(s.result.Can.Debugger, "gdb") || len(s.result.Notes) != 0 ||
				len(st.Threads) != 1 {
				t.Errorf("got %+v", s.result)
			}
		})
	}
}

func TestProgramsThatCannotBeLaunched(t *testing.T) {
	need(t, "gdb", "gcc")
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	elf, err := os.ReadFile(build(t, "exits.c"))
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(elf)
	other[18] = 243 // e_machine: RISC-V
	object := build(t, "crash.c", "-c")
	if err := os.Chmod(object, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, program, want string }{
		{"missing", filepath.Join(dir, "nosuch"), "does not exist"},
		{"missing in PATH", "no-such-program-anywhere", "does not exist"},
		{"directory", dir, "is a directory"},
		{"mode", write("plain", string(elf), 0o644), "chmod +x"},
		{"script", write("run.sh", "#!/bin/sh\ntrue\nexit 3\n", 0o755), "(exit code 3) and never became another program"},
		{"garbage", write("garbage", "hello", 0o755), "not an ELF executable"},
		{"empty", write("empty", "", 0o755), "not an ELF executable"},
		{"object file", object, "not an executable"},
		{"other machine", write("riscv", string(other), 0o755), "EM_RISCV"},
		{"nothing", "", "No program was given"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(t, Options{})
			_, err := s.Launch(testContext(t), backend.LaunchRequest{Program: tt.program})
			var le *backend.LaunchError
			if !errors.As(err, &le) || !strings.Contains(le.Reason, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("library missing", func(t *testing.T) {
		lib := filepath.Join(dir, "libgone.so")
		build := func(args ...string) {
			t.Helper()
			if out, err := command(t, "gcc", args...); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		build("-shared", "-o", lib, "-x", "c", write("lib.c", "int gone(void){return 1;}", 0o644))
		build("-o", filepath.Join(dir, "uses"), write("uses.c", "int gone(void); int main(void){return gone();}",
			0o644), lib)
		if err := os.Remove(lib); err != nil {
			t.Fatal(err)
		}
		s := newSession(t, Options{})
		_, err := s.Launch(testContext(t), backend.LaunchRequest{Program: filepath.Join(dir, "uses")})
		var le *backend.LaunchError
		if !errors.As(err, &le) || !strings.Contains(le.Reason, "exit code 127") ||
			!strings.Contains(le.Reason, "ldd ") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no gdb", func(t *testing.T) {
		s := newSession(t, Options{})
		_, err := s.Launch(testContext(t),
			backend.LaunchRequest{Program: "/bin/true", DebuggerPath: "/nonexistent/gdb"})
		var le *backend.LaunchError
		if !errors.As(err, &le) || !strings.Contains(le.Reason, "apt install gdb") {
			t.Errorf("got %v", err)
		}
	})
}

// What the program is given arrives byte for byte, whatever it holds, and gdb adds nothing of its own.
func TestArgumentsAndEnvironmentArrive(t *testing.T) {
	exe := build(t, "exits.c")
	t.Setenv("COHORT_TEST_BASE", "  base with blanks ")
	t.Setenv("COHORT_TEST_GONE", "x")
	t.Setenv("SHELL", "/bin/csh")
	for name, args := range map[string][]string{
		"plain":  {"a", `"b`, "c'd", "*", "$HOME", "--", "-x=1", "é"},
		"blanks": {"a b", "", `it's "quoted"`, "*", "$HOME", "`id`", "\\", "new\nline", "tab\t", "é"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			changes := []string{
				"LD_PRELOAD=libm.so.6", "COHORT_X=a b=c", "COHORT_TEST_GONE", "COHORT_LEAD= lead",
				"COHORT_EMPTY=", "COHORT_QUOTE='a\"\\n$x",
			}
			s := launchWith(t, Options{}, backend.LaunchRequest{
				Program: exe, Args: append([]string{out}, args...),
				Env: changes,
			})
			s.go_(backend.Continue)
			if e := s.exit(); e.Code != 30 || e.Signal != "" {
				t.Errorf("got %+v", e)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, a := range args {
				want = append(want, "arg="+a)
			}
			for _, e := range os.Environ() {
				if !strings.HasPrefix(e, "COHORT_TEST_GONE=") {
					want = append(want, "env="+e)
				}
			}
			for _, e := range changes {
				if strings.Contains(e, "=") {
					want = append(want, "env="+e)
				}
			}
			got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			// A shell in between sets these three when they are not there.
			got = slices.DeleteFunc(got, func(s string) bool {
				return (strings.HasPrefix(s, "env=PWD=") || strings.HasPrefix(s, "env=OLDPWD=") ||
					strings.HasPrefix(s, "env=_=")) && !slices.Contains(want, s)
			})
			want = strings.Split(strings.Join(want, "\n"), "\n")
			sort.Strings(got)
			sort.Strings(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestPreloadedLibraryIsNotInGdb(t *testing.T) {
	s := launchWith(t, Options{},
		backend.LaunchRequest{Program: build(t, "loop.c"), Env: []string{"LD_PRELOAD=libm.so.6"}})
	maps := func(pid int) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if !strings.Contains(maps(s.result.Pid), "libm.so") {
		t.Error("the program has not loaded it")
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.proc.Load().PID()))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(env), "LD_PRELOAD") {
		t.Error("gdb has LD_PRELOAD")
	}
}

func TestProgramWithoutDebugInformation(t *testing.T) {
	for name, flags := range map[string][]string{"no -g": {"-O1"}, "stripped": {"-O1", "-s"}} {
		t.Run(name, func(t *testing.T) {
			s := launch(t, build(t, "exits.c", flags...), os.DevNull)
			if len(s.result.Notes) != 1 || !strings.Contains(s.result.Notes[0], "-g") ||
				s.result.Stop.Reason != backend.ReasonEntry {
				t.Errorf("got %+v", s.result)
			}
			if _, err := s.StackTrace(testContext(t), backend.StackTraceRequest{Thread: 1}); err != nil {
				t.Error(err)
			}
			s.go_(backend.Continue)
			if e := s.exit(); e.Code != 30 {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// A wrapper is left behind: the entry is that of the program which it becomes.
func TestLaunchThroughWrappers(t *testing.T) {
	script := filepath.Join(t.TempDir(), "wrapper.sh")
	text := "#!/bin/sh\nX=$(uname)\nexec nice env A=1 " + build(t, "loop.c") + " \"$@\"\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, Options{})
	var err error
	if s.result, err = s.Launch(testContext(t), backend.LaunchRequest{Program: script}); err != nil {
		t.Fatal(err)
	}
	stop := s.result.Stop
	if stop.Reason != backend.ReasonEntry || stop.Text != "" || len(stop.Frames) == 0 ||
		stop.Frames[0].Function != "main" || stop.Frames[0].File != sourcePath(t, "loop.c") {
		t.Errorf("got %+v", stop)
	}
}
