package gdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

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
			if f.Function != want.function || f.File != sourcePath(t, source) || f.Line < want.line || f.Line > want.line+8 {
				t.Errorf("stopped in %s at %s:%d", f.Function, f.File, f.Line)
			}
			if s.result.Pid <= 0 || !strings.Contains(s.result.Version, "gdb") || len(s.result.Notes) != 0 || len(st.Threads) != 1 {
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
		{"script", write("run.sh", "#!/bin/sh\nexit 0\n", 0o755), "is a script (for /bin/sh)"},
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
		build("-o", filepath.Join(dir, "uses"), write("uses.c", "int gone(void); int main(void){return gone();}", 0o644), lib)
		if err := os.Remove(lib); err != nil {
			t.Fatal(err)
		}
		s := newSession(t, Options{})
		_, err := s.Launch(testContext(t), backend.LaunchRequest{Program: filepath.Join(dir, "uses")})
		var le *backend.LaunchError
		if !errors.As(err, &le) || !strings.Contains(le.Reason, "exit code 127") || !strings.Contains(le.Reason, "ldd ") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no gdb", func(t *testing.T) {
		s := newSession(t, Options{})
		_, err := s.Launch(testContext(t), backend.LaunchRequest{Program: "/bin/true", DebuggerPath: "/nonexistent/gdb"})
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
			changes := []string{"LD_PRELOAD=libm.so.6", "COHORT_X=a b=c", "COHORT_TEST_GONE", "COHORT_LEAD= lead", "COHORT_EMPTY=", "COHORT_QUOTE='a\"\\n$x"}
			s := launchWith(t, Options{}, backend.LaunchRequest{Program: exe, Args: append([]string{out}, args...), Env: changes})
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
				return (strings.HasPrefix(s, "env=PWD=") || strings.HasPrefix(s, "env=OLDPWD=") || strings.HasPrefix(s, "env=_=")) && !slices.Contains(want, s)
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
	s := launchWith(t, Options{}, backend.LaunchRequest{Program: build(t, "loop.c"), Env: []string{"LD_PRELOAD=libm.so.6"}})
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
			if len(s.result.Notes) != 1 || !strings.Contains(s.result.Notes[0], "-g") || s.result.Stop.Reason != backend.ReasonEntry {
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

func TestSteps(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	if got := s.breakAt("loop.c", backend.SourceBreakpoint{ID: 1, Line: 32}); !got[0].Verified {
		t.Fatalf("got %+v", got)
	}
	s.go_(backend.Continue)
	at := func(st backend.Stopped, reason backend.Reason, function string, line int) {
		t.Helper()
		if f := st.Frames[0]; st.Reason != reason || f.Function != function || f.Line != line {
			t.Errorf("%s in %s:%d, want %s in %s:%d", st.Reason, f.Function, f.Line, reason, function, line)
		}
	}
	at(s.stop(), backend.ReasonBreakpoint, "main", 32)
	s.go_(backend.StepIn)
	at(s.stop(), backend.ReasonStep, "work", 12)
	s.go_(backend.Next)
	at(s.stop(), backend.ReasonStep, "work", 13)
	s.go_(backend.StepOut)
	st := s.stop()
	at(st, backend.ReasonStep, "main", 32)
	if !strings.Contains(st.Text, "returned 1") {
		t.Errorf("text %q", st.Text)
	}
	s.go_(backend.Next)
	at(s.stop(), backend.ReasonStep, "main", 33)
	pc := func() uint64 {
		r, err := s.StackTrace(testContext(t), backend.StackTraceRequest{Thread: 1, Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		return r.Frames[0].PC
	}
	before := pc()
	if err := s.Resume(testContext(t), backend.ResumeRequest{Kind: backend.Next, Instruction: true}); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if after := pc(); after == before || after-before > 16 {
		t.Errorf("an instruction step went from %#x to %#x", before, after)
	}
	err := s.Resume(testContext(t), backend.ResumeRequest{Kind: backend.StepOut})
	if err == nil || !strings.Contains(err.Error(), "outermost") {
		t.Errorf("stepping out of main: %v", err)
	}
	at(backend.Stopped{Reason: backend.ReasonStep, Frames: s.frames1()}, backend.ReasonStep, "main", 33)
}

func (s *session) frames1() []backend.Frame {
	r, err := s.StackTrace(testContext(s.t), backend.StackTraceRequest{Thread: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Frames
}

func TestStateErrors(t *testing.T) {
	s := newSession(t, Options{})
	var se *backend.StateError
	if _, err := s.Threads(testContext(t)); !errors.As(err, &se) || !strings.Contains(err.Error(), "not started") {
		t.Errorf("got %v", err)
	}
	var err error
	if s.result, err = s.Launch(testContext(t), backend.LaunchRequest{Program: build(t, "loop.c")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Launch(testContext(t), backend.LaunchRequest{Program: build(t, "loop.c")}); !errors.As(err, &se) {
		t.Errorf("got %v", err)
	}
	s.go_(backend.Continue)
	for what, err := range map[string]error{
		"resume":   s.Resume(testContext(t), backend.ResumeRequest{}),
		"threads":  second(s.Threads(testContext(t))),
		"scopes":   second(s.Scopes(testContext(t), backend.FrameID{Thread: 1})),
		"evaluate": second(s.eval(backend.ContextREPL, "calls")),
		"stack":    second(s.StackTrace(testContext(t), backend.StackTraceRequest{Thread: 1})),
	} {
		if !errors.As(err, &se) || se.State != "running" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestInterrupt(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	if err := s.Interrupt(testContext(t)); err != nil {
		t.Fatal(err) // stopped: no effect
	}
	for range 3 {
		s.go_(backend.Continue)
		if err := s.Interrupt(testContext(t)); err != nil {
			t.Fatal(err)
		}
		if st := s.stop(); st.Reason != backend.ReasonPause || st.Signal != "" {
			t.Errorf("got %+v", st)
		}
	}
}

// An interrupt that meets a breakpoint leaves a signal behind, which must not stop the rank once more.
func TestInterruptThatMeetsABreakpoint(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	s.breakAt("loop.c", backend.SourceBreakpoint{ID: 1, Line: 13})
	for range 60 {
		s.go_(backend.Continue)
		if err := s.Interrupt(testContext(t)); err != nil {
			t.Fatal(err)
		}
		if st := s.stop(); st.Reason != backend.ReasonPause && st.Reason != backend.ReasonBreakpoint {
			t.Fatalf("got %+v", st)
		}
	}
	s.go_(backend.Continue)
	if st := s.stop(); st.Reason != backend.ReasonBreakpoint {
		t.Errorf("nobody interrupted, and yet: %+v", st)
	}
}

func TestInterruptOfAProgramThatBlocksSignals(t *testing.T) {
	s := launch(t, build(t, "threads.c"), "block")
	s.breakAt("", backend.SourceBreakpoint{ID: 1, Function: "started"})
	s.go_(backend.Continue)
	s.stop()
	for range 2 {
		s.go_(backend.Continue)
		if err := s.Interrupt(testContext(t)); err != nil {
			t.Fatal(err)
		}
		if st := s.stop(); st.Reason != backend.ReasonPause || st.Thread != 1 || len(st.Threads) != 2 {
			t.Errorf("got %+v", st)
		}
	}
}

func TestThreads(t *testing.T) {
	s := launch(t, build(t, "threads.c"))
	s.breakAt("", backend.SourceBreakpoint{ID: 1, Function: "started"})
	s.go_(backend.Continue)
	s.stop()
	threads, err := s.Threads(testContext(t))
	if err != nil || len(threads) != 2 || threads[0].ID != 1 || threads[1].ID != 2 || threads[1].Library {
		t.Fatalf("got %+v, %v", threads, err)
	}
	r, err := s.StackTrace(testContext(t), backend.StackTraceRequest{Thread: 2})
	if err != nil || !slices.ContainsFunc(r.Frames, func(f backend.Frame) bool { return f.Function == "work" }) {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestSignal(t *testing.T) {
	s := launch(t, build(t, "crash.c"))
	s.go_(backend.Continue)
	st := s.stop()
	if st.Reason != backend.ReasonSignal || st.Signal != "SIGSEGV" || st.SignalText != "Segmentation fault" || st.FaultAddr != 16 || st.Text != "" || st.Frames[0].Function != "deref" {
		t.Errorf("got %+v", st)
	}
	if diff := cmp.Diff([]backend.Argument{{Name: "p", Value: "0x10"}}, st.Frames[0].Args); diff != "" {
		t.Error(diff)
	}
	s.go_(backend.Continue)
	if e := s.exit(); e.Signal != "SIGSEGV" {
		t.Errorf("got %+v", e)
	}
	var se *backend.StateError
	if _, err := s.Threads(testContext(t)); !errors.As(err, &se) {
		t.Errorf("got %v", err)
	}
}

func TestDeepStackInPages(t *testing.T) {
	s := launch(t, build(t, "exits.c"), os.DevNull)
	s.breakAt("", backend.SourceBreakpoint{ID: 1, Function: "depth", Condition: "n == 0"})
	s.go_(backend.Continue)
	s.stop()
	page := func(start, count int) backend.StackTraceResult {
		t.Helper()
		r, err := s.StackTrace(testContext(t), backend.StackTraceRequest{Thread: 1, Start: start, Count: count})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := page(10, 5); len(r.Frames) != 5 || r.Total != -1 || r.Frames[0].ID.Level != 10 || r.Frames[0].Args[0].Value != "10" {
		t.Errorf("got %+v", r)
	}
	if r := page(30, 50); len(r.Frames) != 2 || r.Total != 32 || r.Frames[1].Function != "main" {
		t.Errorf("got %+v", r)
	}
	if r := page(40, 5); len(r.Frames) != 0 || r.Total != 32 {
		t.Errorf("got %+v", r)
	}
}

func TestKillEndsEverything(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	s.go_(backend.Continue)
	if err := s.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
	var exited, ended bool
	for e := range s.Events() {
		if e.Exited != nil {
			exited = true
		}
		if e.Ended != nil {
			ended = e.Ended.Err == "" && exited
		}
	}
	if !ended {
		t.Error("no Exited and Ended events, in this order")
	}
	var ee *backend.EndedError
	if _, err := s.Threads(testContext(t)); !errors.As(err, &ee) {
		t.Errorf("got %v", err)
	}
	if err := s.Kill(testContext(t)); err != nil {
		t.Error(err)
	}
}

func TestGdbDies(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	if err := unix.Kill(s.proc.Load().PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var why string
	for e := range s.Events() {
		if e.Ended != nil {
			why = e.Ended.Err
		}
	}
	if !strings.Contains(why, "killed") {
		t.Errorf("ended because of %q", why)
	}
	var ee *backend.EndedError
	if err := s.Resume(testContext(t), backend.ResumeRequest{}); !errors.As(err, &ee) {
		t.Errorf("got %v", err)
	}
}

func TestKillBeforeLaunch(t *testing.T) {
	s := newSession(t, Options{})
	if err := s.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsEndWithTheirContext(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Threads(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// spinner is a program that never comes to main by itself. It tells through a pipe that it spins.
func spinner(t *testing.T) (exe string, spinning func(launched <-chan error)) {
	t.Helper()
	need(t, "gdb", "gcc")
	dir := t.TempDir()
	src, exe, fifo := filepath.Join(dir, "spin.c"), filepath.Join(dir, "spin"), filepath.Join(dir, "fifo")
	code := fmt.Sprintf(`#include <fcntl.h>
#include <unistd.h>
volatile int go;
__attribute__((constructor)) static void begin(void) { int f = open(%q, O_WRONLY); write(f, "x", 1); while (!go) ; }
int main(void) { return 0; }`, fifo)
	if err := os.WriteFile(src, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "gcc", "-g", "-o", exe, src); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return exe, func(launched <-chan error) {
		t.Helper()
		read := make(chan error, 1)
		go func() {
			_, err := f.Read(make([]byte, 1))
			read <- err
		}()
		if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-read:
			if err != nil {
				t.Fatal(err)
			}
		case err := <-launched:
			t.Fatalf("the launch has returned: %v", err)
		}
	}
}

func TestInterruptOvertakesALaunch(t *testing.T) {
	exe, spinning := spinner(t)
	s := newSession(t, Options{})
	done := make(chan error, 1)
	go func() {
		var err error
		s.result, err = s.Launch(testContext(t), backend.LaunchRequest{Program: exe})
		done <- err
	}()
	spinning(done)
	if err := s.Interrupt(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || s.result.Stop.Reason != backend.ReasonPause ||
		!slices.ContainsFunc(s.result.Stop.Frames, func(f backend.Frame) bool { return f.Function == "begin" }) {
		t.Fatalf("got %+v, %v", s.result, err)
	}
	if _, err := s.eval(backend.ContextREPL, "go = 1"); err != nil {
		t.Fatal(err)
	}
	s.go_(backend.Continue)
	if st := s.stop(); st.Reason != backend.ReasonEntry || st.Frames[0].Function != "main" {
		t.Errorf("got %+v", st)
	}
}

func TestKillOvertakesALaunch(t *testing.T) {
	exe, spinning := spinner(t)
	s := newSession(t, Options{})
	done := make(chan error, 1)
	go func() {
		_, err := s.Launch(testContext(t), backend.LaunchRequest{Program: exe})
		done <- err
	}()
	spinning(done)
	if err := s.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
	var ee *backend.EndedError
	if err := <-done; !errors.As(err, &ee) {
		t.Errorf("got %v", err)
	}
}
