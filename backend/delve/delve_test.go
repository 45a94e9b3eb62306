package delve_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/delve"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

var binDir string // what build makes; gone at the end

func TestMain(m *testing.M) {
	var err error
	if binDir, err = os.MkdirTemp("", "cohort-delve-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if err := os.RemoveAll(binDir); err != nil {
			panic(err)
		}
		os.Exit(status)
	}))
}

var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binDir, "prog")
	out, err := exec.Command("go", "build", "-gcflags=all=-N -l", "-o", path, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

const source = "testdata/prog.go"

// rank is a program under Delve.
type rank struct {
	*delve.Backend
	t      *testing.T
	source string
	result backend.LaunchResult
	logged []string
}

func contextOf(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func launched(t *testing.T, req backend.LaunchRequest) *rank {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a Go program and runs it under Delve")
	}
	var err error
	if req.Program == "" {
		if req.Program, err = build(); err != nil {
			t.Fatal(err)
		}
	}
	r := &rank{Backend: delve.New(delve.Options{}), t: t}
	if r.source, err = filepath.Abs(source); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range r.Events() {
			}
		}()
		if err := r.Kill(contextOf(t)); err != nil {
			t.Error(err)
		}
		<-done
		proctest.WaitGone(t, r.result.Pid)
	})
	if r.result, err = r.Launch(contextOf(t), req); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rank) line(mark string) int { return mpitest.LineOfFile(r.t, r.source, mark) }

func (r *rank) breakAt(wanted ...backend.SourceBreakpoint) []backend.Breakpoint {
	r.t.Helper()
	source := r.source
	if len(wanted) > 0 && wanted[0].Function != "" {
		source = ""
	}
	got, err := r.SetBreakpoints(contextOf(r.t), backend.SetBreakpointsRequest{Source: source, Breakpoints: wanted})
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func (r *rank) resume(kind backend.ResumeKind) *backend.Stopped {
	r.t.Helper()
	r.run(kind)
	return r.stop()
}

func (r *rank) run(kind backend.ResumeKind) {
	r.t.Helper()
	if err := r.Resume(contextOf(r.t), backend.ResumeRequest{Kind: kind}); err != nil {
		r.t.Fatal(err)
	}
}

// stop waits for a stop.
func (r *rank) stop() *backend.Stopped {
	r.t.Helper()
	for e := range r.Events() {
		switch {
		case e.Stopped != nil:
			return e.Stopped
		case e.Output != nil:
			r.logged = append(r.logged, string(e.Output.Data))
		case e.Exited != nil || e.Ended != nil:
			r.t.Fatalf("the program has ended: %+v %+v", e.Exited, e.Ended)
		}
	}
	r.t.Fatal("the events have ended")
	return nil
}

func (r *rank) exit() backend.Exited {
	r.t.Helper()
	for e := range r.Events() {
		if e.Exited != nil {
			return *e.Exited
		}
		if e.Stopped != nil {
			r.t.Fatalf("the program has stopped: %+v", e.Stopped)
		}
	}
	r.t.Fatal("the events have ended")
	return backend.Exited{}
}

func (r *rank) at(s *backend.Stopped, function, mark string) {
	r.t.Helper()
	if f := s.Frames[0]; f.Function != function || mark != "" && f.Line != r.line(mark) {
		r.t.Fatalf("stopped at %s:%d, want %s, %q: %+v", f.Function, f.Line, function, mark, s)
	}
}

// scope is the variables of a scope of the innermost frame, by name.
func (r *rank) scope(name string, thread int) (backend.Ref, map[string]backend.Variable) {
	r.t.Helper()
	scopes, err := r.Scopes(contextOf(r.t), backend.FrameID{Thread: thread})
	if err != nil {
		r.t.Fatal(err)
	}
	i := slices.IndexFunc(scopes, func(s backend.Scope) bool { return s.Name == name })
	if i < 0 {
		r.t.Fatalf("there is no scope %s in %+v", name, scopes)
	}
	return scopes[i].Ref, r.children(scopes[i].Ref)
}

func (r *rank) children(ref backend.Ref) map[string]backend.Variable {
	r.t.Helper()
	got, err := r.Variables(contextOf(r.t), backend.VariablesRequest{Ref: ref})
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]backend.Variable{}
	for _, v := range got.Variables {
		out[v.Name] = v
	}
	return out
}

func (r *rank) says(expr, want string) {
	r.t.Helper()
	got, err := r.Evaluate(contextOf(r.t), backend.EvaluateRequest{
		Frame: backend.FrameID{Thread: 1}, Expression: expr, Context: backend.ContextREPL,
	})
	if err != nil || got.Text != want {
		r.t.Errorf("%s is %q, %v; want %q", expr, got.Text, err, want)
	}
}

func TestEntryAndEnd(t *testing.T) {
	r := launched(t, backend.LaunchRequest{Args: []string{"exit"}})
	if s := r.result.Stop; s.Reason != backend.ReasonEntry || s.Frames[0].Function != "main.main" || s.Thread != 1 ||
		!s.Frames[0].User || len(s.Threads) == 0 || s.Threads[0].ID != 1 {
		t.Errorf("stands at %+v", s)
	}
	r.run(backend.Continue)
	if e := r.exit(); e.Code != 3 || e.Signal != "" {
		t.Errorf("exited with %+v", e)
	}
	if err := r.Resume(contextOf(t), backend.ResumeRequest{}); !errors.As(err, new(*backend.StateError)) {
		t.Errorf("resuming what has ended: %v", err)
	}
}

func TestBreakpoints(t *testing.T) {
	r := launched(t, backend.LaunchRequest{})
	got := r.breakAt(
		backend.SourceBreakpoint{ID: 1, Line: r.line("breakpoint: loop"), Condition: `p.Name != "c"`, HitCondition: "%2"},
		backend.SourceBreakpoint{ID: 2, Line: r.line("breakpoint: square"), LogMessage: "n is {n}, {nothing}"},
		backend.SourceBreakpoint{ID: 3, Line: r.line("breakpoint: summed"), HitCondition: "x"},
		backend.SourceBreakpoint{ID: 4, Line: 100_000},
	)
	for i, verified := range []bool{true, true, false, false} {
		if got[i].Verified != verified || got[i].ID != i+1 || got[i].Verified == (got[i].Message != "") {
			t.Errorf("breakpoint %d is %+v", i+1, got[i])
		}
	}
	s := r.resume(backend.Continue)
	r.at(s, "main.sum", "breakpoint: loop")
	if !slices.Equal(s.Breakpoints, []int{1}) || s.Reason != backend.ReasonBreakpoint {
		t.Errorf("hit %+v", s)
	}
	r.says("p i", "1")
	if len(r.logged) != 1 || !strings.HasPrefix(r.logged[0], "n is 3, <") {
		t.Errorf("logged %q", r.logged)
	}
	r.breakAt(backend.SourceBreakpoint{ID: 5, Line: r.line("breakpoint: loop"), HitCondition: "== 1"})
	r.breakAt(backend.SourceBreakpoint{ID: 6, Function: "main.meet"})
	r.at(r.resume(backend.Continue), "main.sum", "breakpoint: loop")
	r.says("i", "2")
	r.breakAt()
	if s := r.resume(backend.Continue); s.Frames[0].Function != "main.meet" || !slices.Equal(s.Breakpoints, []int{6}) {
		t.Errorf("hit %+v", s)
	}
}

func TestSteps(t *testing.T) {
	r := launched(t, backend.LaunchRequest{})
	r.breakAt(backend.SourceBreakpoint{ID: 1, Line: r.line("breakpoint: values")})
	r.at(r.resume(backend.Continue), "main.main", "breakpoint: values")
	r.at(r.resume(backend.StepIn), "main.square", "")
	s := r.resume(backend.Next)
	for s.Frames[0].Line < r.line("breakpoint: square") {
		s = r.resume(backend.Next)
	}
	if s.Reason != backend.ReasonStep {
		t.Errorf("stopped for %s", s.Reason)
	}
	r.at(s, "main.square", "breakpoint: square")
	r.at(r.resume(backend.StepOut), "main.main", "breakpoint: values")
	if err := r.Resume(contextOf(t), backend.ResumeRequest{Kind: backend.Next, Instruction: true}); err != nil {
		t.Fatal(err)
	}
	r.at(r.stop(), "main.main", "")
}

func TestVariables(t *testing.T) {
	r := launched(t, backend.LaunchRequest{})
	r.breakAt(backend.SourceBreakpoint{ID: 1, Line: r.line("breakpoint: values")},
		backend.SourceBreakpoint{ID: 2, Line: r.line("breakpoint: summed")})
	r.resume(backend.Continue)
	ref, vars := r.scope("Locals", 1)
	if v := vars["points"]; v.Indexed != 3 || v.Type != "[]main.point" || v.Ref == 0 {
		t.Errorf("points is %+v", v)
	}
	second := r.children(vars["points"].Ref)["1"]
	if fields := r.children(second.Ref); fields["Name"].Value != `"b"` || fields["Y"].Value != "4" ||
		fields["Y"].EvaluateName != "points[1].Y" || !fields["Y"].HasNumber || fields["Y"].Number != 4 {
		t.Errorf("points[1] is %+v", fields)
	}
	if v := r.children(vars["kinds"].Ref)[`"one"`]; v.Value != "1" {
		t.Errorf(`kinds["one"] is %+v`, v)
	}
	if v := r.children(r.children(vars["pointer"].Ref)["*pointer"].Ref)["Name"]; v.Value != `"c"` {
		t.Errorf("pointer.Name is %+v", v)
	}
	if v := r.children(r.children(vars["any"].Ref)["data"].Ref)["X"]; v.Value != "3" {
		t.Errorf("any.X is %+v", v)
	}
	if _, globals := r.scope("Package main", 1); globals["greeting"].Value != `"hello"` {
		t.Errorf("the package has %+v", globals)
	}
	if _, regs := r.scope("Registers", 1); !strings.HasPrefix(regs["rip"].Value, "0x") {
		t.Errorf("the registers are %+v", regs)
	}
	r.says("points[2].X + len(points)", "8")
	if _, err := r.Evaluate(contextOf(t), backend.EvaluateRequest{
		Expression: "-exec info",
		Context:    "repl",
	}); !errors.As(err,
		new(*backend.UnsupportedError)) {
		t.Errorf("gdb's command gives %v", err)
	}
	if v, err := r.SetVariable(contextOf(t), backend.SetVariableRequest{
		Ref: r.children(vars["points"].Ref)["0"].Ref, Name: "X", Value: "40",
	}); err != nil || v.Value != "40" {
		t.Errorf("setting points[0].X: %+v, %v", v, err)
	}
	if _, err := r.SetVariable(contextOf(t), backend.SetVariableRequest{
		Ref: ref, Name: "none",
		Value: "1",
	}); err == nil {
		t.Error("a variable that is not there was set")
	}
	first, err := r.Resolve(contextOf(t), backend.FrameID{Thread: 1}, "points")
	if err != nil || !first.Array || first.Language != backend.Go {
		t.Errorf("points resolves to %+v, %v", first, err)
	}
	data, err := r.ReadMemory(contextOf(t), first.Address, 8)
	if err != nil || data[0] != 40 {
		t.Errorf("the memory of points is %v, %v", data, err)
	}
	r.at(r.resume(backend.Continue), "main.sum", "breakpoint: summed")
	r.says("total", "48")
	if _, err := r.Variables(contextOf(t), backend.VariablesRequest{Ref: ref}); err == nil ||
		!strings.Contains(err.Error(), "from before") {
		t.Errorf("an old reference gives %v", err)
	}
}

func TestGoroutines(t *testing.T) {
	r := launched(t, backend.LaunchRequest{})
	r.breakAt(backend.SourceBreakpoint{ID: 1, Line: r.line("breakpoint: met")})
	s := r.resume(backend.Continue)
	if s.Thread != 1 || s.Threads[0].ID != 1 {
		t.Errorf("stopped on thread %d of %+v", s.Thread, s.Threads)
	}
	waiting := 0
	for _, th := range s.Threads {
		stack, err := r.StackTrace(contextOf(t), backend.StackTraceRequest{Thread: th.ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range stack.Frames {
			if f.Function == "main.meet.func1" && f.User {
				waiting++
			}
		}
	}
	if waiting != 3 {
		t.Errorf("%d goroutines wait, of %+v", waiting, s.Threads)
	}
}

func TestPauseAndBreakpointsWhileRunning(t *testing.T) {
	r := launched(t, backend.LaunchRequest{Args: []string{"spin"}})
	r.breakAt(backend.SourceBreakpoint{ID: 1, Function: "main.spin"})
	r.at(r.resume(backend.Continue), "main.spin", "")
	r.breakAt(backend.SourceBreakpoint{ID: 1, Function: "main.none"})
	r.run(backend.Continue)
	if _, err := r.Threads(contextOf(t)); !errors.As(err, new(*backend.StateError)) {
		t.Errorf("threads of a running rank: %v", err)
	}
	for range 20 {
		if err := r.Interrupt(contextOf(t)); err != nil {
			t.Fatal(err)
		}
		s := r.stop()
		if s.Reason != backend.ReasonPause {
			t.Fatalf("paused for %+v", s)
		}
		if !slices.ContainsFunc(s.Frames, func(f backend.Frame) bool { return f.User }) {
			t.Errorf("paused without a frame of the program: %+v", s.Frames)
		}
		r.run(backend.Continue)
	}
	got := r.breakAt(backend.SourceBreakpoint{ID: 3, Line: r.line("runtime.Gosched()")})
	if !got[0].Verified {
		t.Errorf("got %+v", got)
	}
	if s := r.stop(); !slices.Equal(s.Breakpoints, []int{3}) {
		t.Errorf("got %+v", s)
	}
}

func TestPanic(t *testing.T) {
	r := launched(t, backend.LaunchRequest{Args: []string{"panic"}})
	s := r.resume(backend.Continue)
	if s.Reason != backend.ReasonSignal || s.Signal != "panic" || !strings.Contains(s.SignalText, "out of range") {
		t.Errorf("stopped for %s, %s %s", s.Reason, s.Signal, s.SignalText)
	}
	if !slices.ContainsFunc(s.Frames, func(f backend.Frame) bool { return f.User && f.Function == "main.main" }) {
		t.Errorf("the stack is %+v", s.Frames)
	}
	r.run(backend.Continue)
	if e := r.exit(); e.Code != 2 {
		t.Errorf("exited with %+v", e)
	}
}

// A program has the terminal and the environment that it is given.
func TestTerminalAndEnvironment(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close() //nolint:errcheck // read only
	defer slave.Close()  //nolint:errcheck // not written to
	r := launched(t, backend.LaunchRequest{
		Args: []string{"read"}, InferiorTTY: slave.Name(), Env: []string{"GIVEN=a b", "HOME"},
	})
	r.run(backend.Continue)
	if _, err := master.WriteString("input\n"); err != nil {
		t.Fatal(err)
	}
	if e := r.exit(); e.Code != 0 {
		t.Errorf("exited with %+v", e)
	}
	buf := make([]byte, 4096)
	n, err := master.Read(buf)
	if err != nil || !strings.Contains(string(buf[:n]), "met") && !strings.Contains(string(buf[:n]), "9 9") {
		t.Errorf("printed %q, %v", buf[:n], err)
	}
}

// A program that is killed at a stop is noticed.
func TestKilledWhileStopped(t *testing.T) {
	r := launched(t, backend.LaunchRequest{})
	p, err := os.FindProcess(r.result.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if e := r.exit(); e.Signal != "SIGKILL" {
		t.Errorf("exited with %+v", e)
	}
}

func TestRefused(t *testing.T) {
	for program, text := range map[string]string{
		"/nowhere": "does not exist", "/bin/true": "the Go tools", source: "not executable",
	} {
		b := delve.New(delve.Options{})
		_, err := b.Launch(contextOf(t), backend.LaunchRequest{Program: program})
		if !errors.As(err, new(*backend.LaunchError)) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", program, err)
		}
		go func() {
			for range b.Events() {
			}
		}()
		if err := b.Kill(contextOf(t)); err != nil {
			t.Error(err)
		}
	}
}
