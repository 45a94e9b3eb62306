package gdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
)

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

// What gdb reads to know the arguments of a function of the C library may take it a second, so it is not asked. (Where
// the library has no debug information there are none in any case.)
func TestArgumentsOfLibrariesAreNotRead(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	s.breakAt("", backend.SourceBreakpoint{ID: 1, Function: "usleep"})
	s.go_(backend.Continue)
	s.stop()
	r, err := s.StackTrace(testContext(t), backend.StackTraceRequest{Thread: 1})
	if err != nil {
		t.Fatal(err)
	}
	var own, named bool
	for _, f := range r.Frames {
		if !f.User && !own && len(f.Args) > 0 {
			t.Errorf("%s, of %s, has arguments: %+v", f.Function, f.Module, f.Args)
		}
		own = own || f.User
		named = named || f.User && len(f.Args) > 0
	}
	if !named || len(r.Frames) == 0 || r.Frames[0].User {
		t.Errorf("the program's frames have no arguments, or it has not stopped in a library: %+v", r.Frames)
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
	if st.Reason != backend.ReasonSignal || st.Signal != "SIGSEGV" || st.SignalText != "Segmentation fault" ||
		st.FaultAddr != 16 || st.Text != "" || st.Frames[0].Function != "deref" {
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
	if r := page(10, 5); len(r.Frames) != 5 || r.Total != -1 || r.Frames[0].ID.Level != 10 ||
		r.Frames[0].Args[0].Value != "10" {
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
		if err := f.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
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
