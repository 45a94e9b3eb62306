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

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/modules"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// interposed launches testdata/user.c between a library that stands for MPI and one that stands for the interposer.
func interposed(t *testing.T) *session {
	t.Helper()
	need(t, "gdb", "gcc")
	dir := t.TempDir()
	mpi, cohort, exe := filepath.Join(dir, "libmpi.so.40"), filepath.Join(dir, "libcohort-1234.so"),
		filepath.Join(dir, "user")
	for _, args := range [][]string{
		{"-O1", "-shared", "-fPIC", "-o", mpi, sourcePath(t, "libmpi.c")},
		{"-g", "-O1", "-shared", "-fPIC", "-o", cohort, sourcePath(t, "libcohort.c"), "-ldl"},
		{"-g", "-O0", "-o", exe, sourcePath(t, "user.c"), mpi},
	} {
		if out, err := command(t, "gcc", args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return launchWith(t, Options{},
		backend.LaunchRequest{Program: exe, Env: []string{"LD_PRELOAD=" + cohort}, HasControl: true})
}

// userFrame is the first frame that the job would show.
func userFrame(t *testing.T, st backend.Stopped) backend.Frame {
	t.Helper()
	for _, f := range st.Frames {
		if !f.Internal {
			return f
		}
	}
	t.Fatalf("no frame of the user's in %+v", st.Frames)
	return backend.Frame{}
}

func TestStopPoint(t *testing.T) {
	for kind, want := range map[backend.ResumeKind]struct {
		function string
		line     int
	}{
		backend.Next:    {"exchange", 6},
		backend.StepIn:  {"exchange", 6},
		backend.StepOut: {"main", 10},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			s := interposed(t)
			s.go_(backend.Continue)
			st := s.stop()
			if st.Reason != backend.ReasonStopPoint || !st.Frames[0].Internal || len(st.Breakpoints) != 0 {
				t.Fatalf("got %+v", st)
			}
			if f := userFrame(t, st); f.Function != "exchange" || f.Line != 5 {
				t.Errorf("the user sees %+v", f)
			}
			s.go_(kind)
			st = s.stop()
			if f := st.Frames[0]; st.Reason != backend.ReasonStep || f.Function != want.function ||
				f.Line != want.line {
				t.Errorf("after %s: %s in %s:%d", kind, st.Reason, f.Function, f.Line)
			}
		})
	}
}

// A call whose result nobody wants returns to the next line, which is then where a step ends.
func TestStepFromAStopPointToTheNextLine(t *testing.T) {
	for _, kind := range []backend.ResumeKind{backend.Next, backend.StepIn} {
		t.Run(kind.String(), func(t *testing.T) {
			s := interposed(t)
			var st backend.Stopped
			for range 3 {
				s.go_(backend.Continue)
				st = s.stop()
			}
			if f := userFrame(t, st); f.Function != "main" || f.Line != 12 {
				t.Fatalf("the user sees %+v", f)
			}
			for line := 13; line <= 14; line++ {
				s.go_(kind)
				if st = s.stop(); st.Reason != backend.ReasonStep || st.Frames[0].Function != "main" ||
					st.Frames[0].Line != line || st.Text != "" {
					t.Errorf("after %s to line %d: %s in %s:%d, %q", kind, line, st.Reason, st.Frames[0].Function,
						st.Frames[0].Line, st.Text)
				}
			}
		})
	}
}

// A call of an MPI function is one stop at a breakpoint on it, where the program has called it.
func TestBreakpointOnAnMPIFunction(t *testing.T) {
	s := interposed(t)
	s.breakAt("", backend.SourceBreakpoint{ID: 1, Function: "MPI_Barrier"})
	for range 3 { // calls
		for _, reason := range []backend.Reason{backend.ReasonBreakpoint, backend.ReasonStopPoint} {
			s.go_(backend.Continue)
			st := s.stop()
			if st.Reason != reason || !st.Frames[0].Internal {
				t.Fatalf("want %s in the interposer: %+v", reason, st)
			}
		}
	}
}

// A step out from a breakpoint in an MPI function, also one that only gdb knows, leaves the MPI call, in the
// interposer's function and in MPI's.
func TestFinishLeavesTheMPICall(t *testing.T) {
	s := interposed(t)
	if _, err := s.Evaluate(testContext(t), backend.EvaluateRequest{
		Expression: "-exec break MPI_Barrier", Context: backend.ContextREPL,
	}); err != nil {
		t.Fatal(err)
	}
	after := func(kind backend.ResumeKind, reason backend.Reason) backend.Frame {
		t.Helper()
		s.go_(kind)
		st := s.stop()
		if st.Reason != reason {
			t.Fatalf("after %s: %+v", kind, st)
		}
		return st.Frames[0]
	}
	for _, caller := range []struct {
		function string
		line     int
	}{{"exchange", 5}, {"exchange", 5}, {"main", 13}} { // to the next line, as nobody wants the result
		if f := after(backend.Continue, backend.ReasonBreakpoint); !f.Internal {
			t.Fatalf("the interposer is not the first: %+v", f)
		}
		after(backend.StepOut, backend.ReasonStopPoint) // which is within the call
		if f := after(backend.Continue, backend.ReasonBreakpoint); f.Internal || f.User {
			t.Fatalf("MPI is not the second: %+v", f)
		}
		if f := after(backend.StepOut, backend.ReasonStep); f.Function != caller.function || f.Line != caller.line {
			t.Errorf("after finish it is in %s:%d, not %s:%d", f.Function, f.Line, caller.function, caller.line)
		}
	}
}

func TestStepsStayOutOfTheInterposer(t *testing.T) {
	s := interposed(t)
	s.breakAt("user.c", backend.SourceBreakpoint{ID: 1, Line: 4})
	s.go_(backend.Continue)
	s.stop()
	s.go_(backend.StepIn)
	s.stop()
	s.go_(backend.StepIn) // over MPI_Barrier, were it not for the stop point inside
	if st := s.stop(); st.Reason != backend.ReasonStopPoint {
		t.Errorf("got %+v", st)
	}
	s.go_(backend.StepIn)
	if st := s.stop(); st.Frames[0].Function != "exchange" || st.Frames[0].Line != 6 {
		t.Errorf("got %+v", st.Frames[0])
	}
}

func TestThreadsOfTheLibraryAreMarked(t *testing.T) {
	s := interposed(t)
	s.breakAt("user.c", backend.SourceBreakpoint{ID: 1, Line: 10})
	s.go_(backend.Continue)
	first := s.stop()
	// The library's thread may only have begun at the first stop; at its own call it is in the library's code.
	threads := first.Threads
	if len(threads) != 2 || threads[0].Library {
		t.Fatalf("got %+v", threads)
	}
	s.go_(backend.Next)
	if st := s.stop(); st.Reason == backend.ReasonStopPoint && len(st.Threads) == 2 && !st.Threads[1].Library {
		r, err := s.StackTrace(testContext(t), backend.StackTraceRequest{Thread: 2})
		t.Errorf("thread 2 is not the library's: %+v, %v", r, err)
	}
}

// A real MPI program, alone: MPI_Init works without a launcher.
func TestRealMPI(t *testing.T) {
	if testing.Short() {
		t.Skip("starts MPI")
	}
	for _, name := range mpitest.Names() {
		t.Run(name, func(t *testing.T) {
			need(t, "gdb")
			mpi := mpitest.Need(t, name)
			env := mpi.Env()
			var changes []string
			for _, e := range env {
				if !slices.Contains(os.Environ(), e) {
					changes = append(changes, e)
				}
			}
			exe := mpi.Build(t, "datatypes.c")
			s := launchWith(t, Options{}, backend.LaunchRequest{Program: exe, Env: changes})
			if _, err := s.SetBreakpoints(testContext(t),
				backend.SetBreakpointsRequest{Breakpoints: []backend.SourceBreakpoint{{
					ID:       1,
					Function: "MPI_Type_commit",
				}}}); err != nil {
				t.Fatal(err)
			}
			s.go_(backend.Continue)
			st := s.stop()
			f := st.Frames[0]
			if st.Reason != backend.ReasonBreakpoint || modules.OwnerOf(f.Module, exe) != modules.MPI {
				t.Fatalf("got %+v", st)
			}
			user := 0
			for _, th := range st.Threads {
				if !th.Library {
					user++
				}
			}
			t.Logf("%d threads, of them %d the user's", len(st.Threads), user)
			if user != 1 {
				for _, th := range st.Threads {
					r, _ := s.StackTrace(testContext(t), backend.StackTraceRequest{Thread: th.ID})
					t.Errorf("thread %+v: %+v", th, r.Frames)
				}
			}
			s.breakAt("", backend.SourceBreakpoint{ID: 2, Function: "check_ints"})
			s.go_(backend.Continue)
			s.stop()
			found := false
			for _, v := range s.vars(s.scope("Arguments"), 0, 0) {
				if v.Type == "MPI_Datatype" {
					found = true
					if !v.HasNumber || v.Number == 0 {
						t.Errorf("got %+v", v)
					}
				}
			}
			if !found {
				t.Error("no variable of type MPI_Datatype")
			}
			s.breakAt("")
			s.go_(backend.Continue)
			if e := s.exit(); e.Code != 0 || e.Signal != "" {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestRealMPIFortran(t *testing.T) {
	if testing.Short() {
		t.Skip("starts MPI")
	}
	for _, name := range mpitest.Names() {
		t.Run(name, func(t *testing.T) {
			need(t, "gdb")
			mpi := mpitest.Need(t, name)
			s := launchWith(t, Options{}, backend.LaunchRequest{
				Program: mpi.Build(t, "fintegrate.f90"),
				Env:     mpi.Env(),
			})
			if f := s.result.Stop.Frames[0]; filepath.Base(f.File) != "fintegrate.f90" || len(s.result.Notes) != 0 {
				t.Errorf("stopped at %+v with %q", f, s.result.Notes)
			}
			s.go_(backend.Continue)
			// It initialises MPI, sees that it is alone, and says that it wants two ranks.
			if e := s.exit(); e.Code != 2 || e.Signal != "" {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// rankMain is what an agent does, at its least: it debugs one rank under the user's launcher.
func rankMain(program string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	b := New(Options{})
	status := 97
	_, err := b.Launch(ctx, backend.LaunchRequest{Program: program})
	if err == nil {
		err = b.Resume(ctx, backend.ResumeRequest{})
	}
	for err == nil && status == 97 {
		e, ok := <-b.Events()
		switch {
		case !ok:
			err = errors.New("the events have ended")
		case e.Output != nil:
			_, _ = os.Stdout.Write(e.Output.Data)
		case e.Stopped != nil:
			err = fmt.Errorf("stopped: %+v", e.Stopped)
		case e.Exited != nil:
			status = e.Exited.Code
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	go func() {
		for range b.Events() {
		}
	}()
	if err := b.Kill(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	return status
}

// The launcher's descriptors and variables reach the program through gdb: two ranks find each other.
func TestTwoRanksUnderTheirLauncher(t *testing.T) {
	if testing.Short() {
		t.Skip("starts MPI")
	}
	for _, name := range mpitest.Names() {
		t.Run(name, func(t *testing.T) {
			need(t, "gdb")
			mpi := mpitest.Need(t, name)
			t.Setenv("COHORT_GDB_TEST_RANK", mpi.Build(t, "hello.c"))
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := mpi.Command(testContext(t), 2, exe)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), "of 2") != 2 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
