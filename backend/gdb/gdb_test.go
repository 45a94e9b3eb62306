package gdb

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/gdbmi/gdbmitest"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

var binDir string

func TestMain(m *testing.M) {
	if status, served := gdbmitest.Serve(); served {
		os.Exit(status)
	}
	if program := os.Getenv("COHORT_GDB_TEST_RANK"); program != "" {
		os.Exit(rankMain(program))
	}
	if err := proctest.NoExitPause(); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "cohort-gdb-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binDir = dir
	before := children()
	status := m.Run()
	_ = os.RemoveAll(dir)
	if after := children(); status == 0 && after != before {
		fmt.Fprintf(os.Stderr, "processes are left behind: %d before, %d after\n", before, after)
		status = 1
	}
	if status == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// children counts this process's own.
func children() int {
	out, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return 0
	}
	return len(strings.Fields(string(out)))
}

func need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("COHORT_REQUIRE_MPI") == "1" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

var built sync.Map

// build compiles testdata/source once and returns the executable.
func build(t testing.TB, source string, flags ...string) string {
	t.Helper()
	compiler := map[string]string{".c": "gcc", ".cc": "g++", ".f90": "gfortran"}[filepath.Ext(source)]
	need(t, "gdb", compiler)
	if flags == nil {
		flags = []string{"-g", "-O0", "-pthread"}
	}
	exe := filepath.Join(binDir, strings.ReplaceAll(source+strings.Join(flags, ""), "/", "_"))
	if _, done := built.LoadOrStore(exe, true); done {
		return exe
	}
	src, err := filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(testContext(t), compiler, append(flags, "-o", exe, src)...)
	cmd.Dir = binDir // gfortran's .mod files
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	return exe
}

func sourcePath(t testing.TB, source string) string {
	t.Helper()
	src, err := filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// session is a backend under test.
type session struct {
	*Backend
	t      testing.TB
	result backend.LaunchResult
	output strings.Builder
	log    *transcript
}

// transcript is written by gdb's driver and read by the test.
type transcript struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newSession(t testing.TB, opt Options) *session {
	s := &session{t: t, log: &transcript{}}
	opt.Transcript = s.log
	s.Backend = New(opt)
	t.Cleanup(func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range s.Events() {
			}
		}()
		if err := s.Kill(testContext(t)); err != nil {
			t.Error(err)
		}
		<-ended
		if s.result.Pid != 0 {
			proctest.WaitGone(t, s.result.Pid)
		}
		if t.Failed() && os.Getenv("COHORT_TEST_MI") != "" {
			t.Logf("%s", s.log)
		}
	})
	return s
}

// canCall skips the test where gdb itself cannot call functions of a program: one before 14 on a processor with AMX.
func canCall(t testing.TB) {
	t.Helper()
	out, _ := exec.CommandContext(testContext(t), "gdb", "-nx", "-batch", "-ex", "break main", "-ex", "run", "-ex",
		"print bump(1)", build(t, "loop.c")).CombinedOutput()
	if bytes.Contains(out, []byte("Couldn't write extended state status")) {
		t.Skip("this gdb cannot call functions of a program on this processor")
	}
}

func launchWith(t testing.TB, opt Options, req backend.LaunchRequest) *session {
	t.Helper()
	s := newSession(t, opt)
	var err error
	if s.result, err = s.Launch(testContext(t), req); err != nil {
		t.Fatal(err)
	}
	return s
}

func launch(t testing.TB, program string, args ...string) *session {
	t.Helper()
	return launchWith(t, Options{}, backend.LaunchRequest{Program: program, Args: args})
}

// next returns the first event that pick wants. The rank's end makes everything else impossible.
func next[T any](s *session, pick func(backend.Event) (T, bool)) T {
	s.t.Helper()
	ctx := testContext(s.t)
	for {
		select {
		case e, ok := <-s.Events():
			if !ok {
				s.t.Fatal("the events have ended")
			}
			if e.Output != nil {
				s.output.Write(e.Output.Data)
			}
			if v, ok := pick(e); ok {
				return v
			}
			if e.Exited != nil || e.Ended != nil {
				s.t.Fatalf("the rank has ended: %+v %+v", e.Exited, e.Ended)
			}
		case <-ctx.Done():
			s.t.Fatalf("no such event came: %v", ctx.Err())
		}
	}
}

func (s *session) stop() backend.Stopped {
	s.t.Helper()
	return next(s, func(e backend.Event) (backend.Stopped, bool) {
		if e.Stopped == nil {
			return backend.Stopped{}, false
		}
		return *e.Stopped, true
	})
}

func (s *session) exit() backend.Exited {
	s.t.Helper()
	return next(s, func(e backend.Event) (backend.Exited, bool) {
		if e.Stopped != nil {
			s.t.Fatalf("stopped: %+v", e.Stopped)
		}
		if e.Exited == nil {
			return backend.Exited{}, false
		}
		return *e.Exited, true
	})
}

func (s *session) go_(kind backend.ResumeKind) {
	s.t.Helper()
	if err := s.Resume(testContext(s.t), backend.ResumeRequest{Kind: kind}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) breakAt(source string, bps ...backend.SourceBreakpoint) []backend.Breakpoint {
	s.t.Helper()
	if source != "" {
		source = sourcePath(s.t, source)
	}
	got, err := s.SetBreakpoints(testContext(s.t), backend.SetBreakpointsRequest{Source: source, Breakpoints: bps})
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *session) eval(ctx backend.EvaluateContext, expr string) (backend.EvaluateResult, error) {
	return s.Evaluate(testContext(s.t), backend.EvaluateRequest{
		Frame: backend.FrameID{Thread: 1}, Expression: expr,
		Context: ctx,
	})
}

func (s *session) want(expr, value string) {
	s.t.Helper()
	r, err := s.eval(backend.ContextWatch, expr)
	if err != nil || r.Value != value {
		s.t.Errorf("%s is %q, want %q (%v)", expr, r.Value, value, err)
	}
}

func (s *session) vars(ref backend.Ref, start, count int) []backend.Variable {
	s.t.Helper()
	r, err := s.Variables(testContext(s.t), backend.VariablesRequest{Ref: ref, Start: start, Count: count})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Variables
}

func (s *session) scope(name string) backend.Ref {
	s.t.Helper()
	scopes, err := s.Scopes(testContext(s.t), backend.FrameID{Thread: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, sc := range scopes {
		if sc.Name == name {
			return sc.Ref
		}
	}
	s.t.Fatalf("no scope %s in %+v", name, scopes)
	return 0
}

func find(t testing.TB, vs []backend.Variable, name string) backend.Variable {
	t.Helper()
	for _, v := range vs {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no variable %q in %+v", name, vs)
	return backend.Variable{}
}

func command(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(testContext(t), name, args...).CombinedOutput()
	return string(out), err
}
