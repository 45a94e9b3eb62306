package gdb

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/backend"
)

// catch sets what is caught.
func (s *session) catch(bps ...backend.SourceBreakpoint) []backend.Breakpoint {
	s.t.Helper()
	req := backend.SetBreakpointsRequest{Source: backend.ExceptionBreakpoints, Breakpoints: bps}
	got, err := s.SetBreakpoints(testContext(s.t), req)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *session) caught() backend.Caught {
	s.t.Helper()
	s.go_(backend.Continue)
	st := s.stop()
	if st.Reason != backend.ReasonSignal || st.Caught == nil || len(st.Breakpoints) != 1 {
		s.t.Fatalf("stopped by %+v", st)
	}
	return *st.Caught
}

func TestCatchExceptions(t *testing.T) {
	s := launch(t, build(t, "throws.cc"), "3")
	got := s.catch(
		backend.SourceBreakpoint{ID: 1, Catch: backend.CatchThrow},
		backend.SourceBreakpoint{ID: 2, Catch: backend.CatchCatch},
		backend.SourceBreakpoint{ID: 3, Catch: backend.CatchExit},
		backend.SourceBreakpoint{ID: 4, Catch: backend.CatchMPIErrors},
		backend.SourceBreakpoint{ID: 5, Catch: backend.CatchExit, Condition: "1"},
		backend.SourceBreakpoint{ID: 6, Catch: "sight"},
	)
	for i, why := range []string{"", "", "", "no library yet", "can be a rank set only", "nothing named sight"} {
		if g := got[i]; g.ID != i+1 || g.Verified != (why == "") || !strings.Contains(g.Message, why) || g.Source != "" {
			t.Errorf("breakpoint %d is %+v, want %q", i+1, g, why)
		}
	}
	var all []backend.Caught
	for range 4 {
		all = append(all, s.caught())
	}
	s.catch(backend.SourceBreakpoint{ID: 3, Catch: backend.CatchExit}) // the others go
	all = append(all, s.caught())
	want := []backend.Caught{
		{Name: "std::out_of_range", Text: `threw std::out_of_range ("no such cell")`},
		{Name: "C++ exception", Text: "caught a C++ exception"},
		{Name: "mine::trouble", Text: "threw mine::trouble"},
		{Name: "C++ exception", Text: "caught a C++ exception"},
		{Name: "exit status 3", Text: "is about to exit with status 3"},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s.go_(backend.Continue)
	if e := s.exit(); e.Code != 3 { // and no stop in _exit, to which exit comes
		t.Errorf("exited with %+v", e)
	}
}

func TestCatchExit(t *testing.T) {
	for _, tt := range []struct {
		args string
		want int // -1: it is not caught
	}{{"0", -1}, {"7 directly", 7}, {"0 directly", -1}} {
		s := launch(t, build(t, "throws.cc"), strings.Fields(tt.args)...)
		s.catch(backend.SourceBreakpoint{ID: 1, Catch: backend.CatchExit})
		if tt.want >= 0 {
			if got := s.caught(); got.Name != "exit status 7" {
				t.Errorf("%s: %+v", tt.args, got)
			}
		}
		s.go_(backend.Continue)
		if e := s.exit(); e.Code != max(tt.want, 0) {
			t.Errorf("%s: exited with %+v", tt.args, e)
		}
	}
}
