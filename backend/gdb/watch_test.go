package gdb

import (
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
)

func (s *session) watch(ws ...backend.SourceBreakpoint) []backend.Breakpoint {
	s.t.Helper()
	got, err := s.SetBreakpoints(testContext(s.t),
		backend.SetBreakpointsRequest{Source: backend.DataBreakpoints, Breakpoints: ws})
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func watched(id int, expr string, access backend.Access) backend.SourceBreakpoint {
	return backend.SourceBreakpoint{
		ID: id, Watch: backend.Watch{Key: expr, Expression: expr, Access: access, Frame: backend.FrameID{Thread: 1}},
	}
}

func TestDataBreakpoints(t *testing.T) {
	t.Parallel()
	s := launch(t, build(t, "loop.c"))
	s.breakAt("loop.c", backend.SourceBreakpoint{ID: 1, Line: 13})
	s.go_(backend.Continue)
	s.stop()
	s.breakAt("loop.c")
	hits := watched(2, "calls", backend.Write)
	hits.HitCondition = "2"
	conditioned := watched(3, "calls", backend.Write)
	conditioned.Condition = "calls == 4"
	for i, b := range s.watch(hits, conditioned, watched(4, "twice", backend.ReadWrite)) {
		if !b.Verified || b.Message != "" || b.Source != "" || b.ID != i+2 {
			t.Errorf("%+v", b)
		}
	}
	want := func(ids []int, texts ...string) {
		t.Helper()
		s.go_(backend.Continue)
		st := s.stop()
		if st.Reason != backend.ReasonData || !slices.Equal(st.Breakpoints, ids) ||
			!slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(st.Text, text) }) {
			t.Errorf("%s %v %q, want %v %q", st.Reason, st.Breakpoints, st.Text, ids, texts)
		}
	}
	want([]int{4}, "twice was accessed, and is 0.")
	want([]int{4}, "The function of twice has returned")
	gone := next(s, func(e backend.Event) (backend.Breakpoint, bool) {
		if e.Changed == nil {
			return backend.Breakpoint{}, false
		}
		return *e.Changed, true
	})
	if gone.ID != 4 || gone.Verified || !strings.Contains(gone.Message, "has ended") {
		t.Errorf("%+v", gone)
	}
	want([]int{2}, "calls was 1 and is 2.")
	want([]int{2}, "calls was 2 and is 3.")
	want([]int{2, 3}, "calls was 3 and is 4.")

	// What has ended is not set again, in another frame.
	if got := s.watch(watched(4, "twice", backend.ReadWrite)); got[0].Verified {
		t.Errorf("%+v", got)
	}
	// The processor has four places.
	got := s.watch(watched(5, "big[0]", backend.Write), watched(6, "big[2]", backend.Write),
		watched(7, "big[4]", backend.Write), watched(8, "big[6]", backend.Write), watched(9, "big[8]", backend.Write),
		watched(10, "big", backend.Write), watched(11, "nosuch", backend.Write), watched(12, "17", backend.Write))
	for i, why := range []string{
		"", "", "", "", "no room to watch big[8]", "cannot be watched by the processor",
		`No symbol "nosuch"`, "Cannot watch constant value",
	} {
		if got[i].Verified != (why == "") || !strings.Contains(got[i].Message, why) {
			t.Errorf("%+v, want %q", got[i], why)
		}
	}
	s.go_(backend.Continue) // nothing of what was refused is left
	if got := s.watch(watched(13, "calls", backend.Write)); got[0].Verified ||
		!strings.Contains(got[0].Message, "it is running") {
		t.Errorf("%+v", got)
	}
	if err := s.Interrupt(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if st := s.stop(); st.Reason != backend.ReasonPause {
		t.Errorf("%+v", st)
	}
}
