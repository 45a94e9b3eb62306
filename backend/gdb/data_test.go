package gdb

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
)

func TestBreakpoints(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	got := s.breakAt("loop.c",
		backend.SourceBreakpoint{ID: 1, Line: 13, Condition: "i == 5"},
		backend.SourceBreakpoint{ID: 2, Line: 13, HitCondition: "3"},
		backend.SourceBreakpoint{ID: 3, Line: 30},
		backend.SourceBreakpoint{ID: 4, Line: 999},
		backend.SourceBreakpoint{ID: 5, Line: 13, Condition: "nosuch > 1"},
		backend.SourceBreakpoint{ID: 6, Line: 13, HitCondition: "often"},
		backend.SourceBreakpoint{ID: 7},
	)
	src := sourcePath(t, "loop.c")
	for i, want := range []backend.Breakpoint{
		{ID: 1, Verified: true, Line: 13, Source: src},
		{ID: 2, Verified: true, Line: 13, Source: src},
		{ID: 3, Verified: true, Line: 31, Source: src, Message: "Line 30 holds no code; the breakpoint is at line 31"},
		{ID: 4, Line: 999, Source: src, Message: "No code for loop.c:999 is loaded: No line 999"},
		{ID: 5, Line: 13, Source: src, Message: `with the condition "nosuch > 1" is refused: No symbol "nosuch"`},
		{ID: 6, Line: 13, Source: src, Message: `"often" cannot be used`},
		{ID: 7, Source: src, Message: "needs a file and a line"},
	} {
		g := got[i]
		if !strings.Contains(g.Message, want.Message) || want.Message == "" && g.Message != "" {
			t.Errorf("message %q, want %q", g.Message, want.Message)
		}
		g.Message = want.Message
		if diff := cmp.Diff(want, g); diff != "" {
			t.Error(diff)
		}
	}
	// 3 goes, 1 and 2 stay and continue counting.
	s.breakAt("loop.c", backend.SourceBreakpoint{ID: 11, Line: 13, Condition: "i == 5"},
		backend.SourceBreakpoint{ID: 12, Line: 13, HitCondition: "3"},
		backend.SourceBreakpoint{ID: 13, Line: 13, HitCondition: "% 2"},
		backend.SourceBreakpoint{ID: 14, Line: 13, HitCondition: "== 4"},
		backend.SourceBreakpoint{ID: 15, Line: 13, HitCondition: "%3", LogMessage: "i is {i}"})
	hits := func() (ids []int, i string) {
		s.go_(backend.Continue)
		st := s.stop()
		return st.Breakpoints, st.Frames[0].Args[0].Value
	}
	type hit struct {
		IDs []int
		I   string
	}
	var all []hit
	for range 6 {
		ids, i := hits()
		all = append(all, hit{ids, i})
	}
	want := []hit{
		{[]int{13}, "1"},
		{[]int{12}, "2"},
		{[]int{12, 13, 14}, "3"},
		{[]int{12}, "4"},
		{[]int{11, 12, 13}, "5"},
		{[]int{12}, "6"},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := s.output.String(); got != "i is 2\ni is 5\n" {
		t.Errorf("logged %q", got)
	}
}

func TestBreakpointsWhileRunning(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	s.go_(backend.Continue)
	for i := 1; i < 4; i++ {
		if got := s.breakAt("loop.c", backend.SourceBreakpoint{ID: i, Line: 13}); !got[0].Verified {
			t.Fatalf("got %+v", got)
		}
		if st := s.stop(); st.Reason != backend.ReasonBreakpoint || len(st.Breakpoints) != 1 || st.Breakpoints[0] != i {
			t.Errorf("got %+v", st)
		}
		s.go_(backend.Continue)
		s.breakAt("loop.c")
		// One more hit may have been on its way.
		if err := s.Interrupt(testContext(t)); err != nil {
			t.Fatal(err)
		}
		s.stop()
		s.go_(backend.Continue)
	}
}

func TestBreakpointWithSeveralLocations(t *testing.T) {
	s := launch(t, build(t, "box.cc"))
	got := s.breakAt("box.cc", backend.SourceBreakpoint{ID: 1, Line: 6})
	if !got[0].Verified || got[0].Line != 6 || got[0].Message != "" {
		t.Errorf("got %+v", got)
	}
	var seen []string
	for range 3 {
		s.go_(backend.Continue)
		st := s.stop()
		seen = append(seen, st.Frames[0].Function)
		if len(st.Breakpoints) != 1 || st.Breakpoints[0] != 1 {
			t.Errorf("got %v", st.Breakpoints)
		}
	}
	if diff := cmp.Diff([]string{"twice<int>", "twice<double>", "twice<long>"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestPendingBreakpointIsVerifiedLater(t *testing.T) {
	dir := t.TempDir()
	lib, src := dir+"/libplug.so", dir+"/plug.c"
	if err := os.WriteFile(src, []byte("int plugged(int x)\n{\n  return x + 1;\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := dir + "/host.c"
	if err := os.WriteFile(host, []byte(`#include <dlfcn.h>
int main(int argc, char **argv) { void *h = dlopen(argv[1], RTLD_NOW); int (*f)(int) = (int (*)(int))dlsym(h, "plugged"); return f(6); }`), 0o600); err != nil {
		t.Fatal(err)
	}
	need(t, "gdb", "gcc")
	for _, args := range [][]string{
		{"-g", "-shared", "-fPIC", "-o", lib, src},
		{"-g", "-o", dir + "/host", host, "-ldl"},
	} {
		if out, err := command(t, "gcc", args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	s := launch(t, dir+"/host", lib)
	got, err := s.SetBreakpoints(testContext(t),
		backend.SetBreakpointsRequest{Source: src, Breakpoints: []backend.SourceBreakpoint{{ID: 4, Line: 3}}})
	if err != nil || got[0].Verified || !strings.Contains(got[0].Message, "No source file named") {
		t.Fatalf("got %+v, %v", got, err)
	}
	s.go_(backend.Continue)
	b := next(s, func(e backend.Event) (backend.Breakpoint, bool) {
		if e.Changed == nil {
			return backend.Breakpoint{}, false
		}
		return *e.Changed, true
	})
	if want := (backend.Breakpoint{ID: 4, Verified: true, Line: 3, Source: src}); b != want {
		t.Errorf("got %+v", b)
	}
	if st := s.stop(); st.Frames[0].Function != "plugged" || st.Frames[0].Module != lib || len(st.Breakpoints) != 1 ||
		st.Breakpoints[0] != 4 {
		t.Errorf("got %+v", st)
	}
}

func TestLogMessages(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	s.breakAt("loop.c",
		backend.SourceBreakpoint{ID: 1, Line: 13, LogMessage: `i={i} twice={twice} {nosuch} "q"\`, Condition: "i < 3"},
		backend.SourceBreakpoint{ID: 2, Line: 33, Condition: "i == 5"})
	// A step over a function with a log message in it ends where a step ends.
	s.breakAt("", backend.SourceBreakpoint{ID: 3, Function: "work"})
	s.go_(backend.Continue)
	s.stop()
	s.breakAt("")
	s.go_(backend.StepOut)
	if st := s.stop(); st.Reason != backend.ReasonStep || st.Frames[0].Function != "main" {
		t.Errorf("got %+v", st)
	}
	s.go_(backend.Continue)
	s.stop()
	var want strings.Builder
	for _, line := range []string{"i=0 twice=0", "i=1 twice=2", "i=2 twice=4"} {
		want.WriteString(line + ` <No symbol "nosuch" in current context.> "q"\` + "\n")
	}
	if diff := cmp.Diff(want.String(), s.output.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got := s.breakAt("loop.c", backend.SourceBreakpoint{ID: 1, Line: 13, LogMessage: "{i"},
		backend.SourceBreakpoint{ID: 2, Line: 13, LogMessage: "{}"})
	if got[0].Verified || !strings.Contains(got[0].Message, "without its }") || got[1].Verified {
		t.Errorf("got %+v", got)
	}
}

func TestVariablesOfC(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	s.breakAt("loop.c", backend.SourceBreakpoint{ID: 1, Line: 27})
	s.go_(backend.Continue)
	s.stop()
	args := s.vars(s.scope("Arguments"), 0, 0)
	if len(args) != 2 || args[0].Name != "argc" || args[0].Value != "1" || args[0].Type != "int" {
		t.Errorf("got %+v", args)
	}
	ref := s.scope("Locals")
	vs := s.vars(ref, 0, 0)
	if v := find(t, vs, "shadow"); v.Value != "2" {
		t.Errorf("the inner variable is %+v", v)
	}
	if v := find(t, vs, "shadow (shadowed)"); v.Value != "1" {
		t.Errorf("the outer variable is %+v", v)
	}
	p := find(t, vs, "p")
	if p.Type != "struct point" || p.Named != 5 || p.Ref == 0 {
		t.Errorf("got %+v", p)
	}
	members := s.vars(p.Ref, 0, 0)
	for name, value := range map[string]string{"x": "1", "y": "2.5", "name": `"abc\000\000\000\000"`} {
		if v := find(t, members, name); v.Value != value {
			t.Errorf("%s is %q", name, v.Value)
		}
	}
	tags := find(t, members, "tags")
	if el := s.vars(tags.Ref, 1, 1); tags.Indexed != 3 || len(el) != 1 || el[0].Name != "1" || el[0].Value != "8" ||
		el[0].EvaluateName == "" {
		t.Errorf("got %+v of %+v", el, tags)
	} else {
		s.want(el[0].EvaluateName, "8")
	}
	through := find(t, s.vars(find(t, members, "next").Ref, 0, 0), "y")
	s.want(through.EvaluateName, "2.5")

	v, err := s.SetVariable(testContext(t), backend.SetVariableRequest{Ref: p.Ref, Name: "y", Value: "7.25"})
	if err != nil || v.Value != "7.25" {
		t.Errorf("got %+v, %v", v, err)
	}
	if v := find(t, s.vars(p.Ref, 0, 0), "y"); v.Value != "7.25" {
		t.Errorf("after it was set: %+v", v)
	}
	s.want("p.next->y", "7.25")
	if _, err := s.SetVariable(testContext(t),
		backend.SetVariableRequest{Ref: p.Ref, Name: "y", Value: "nonsense here"}); err == nil {
		t.Error("nonsense was assigned")
	}
	if _, err := s.SetVariable(testContext(t),
		backend.SetVariableRequest{Ref: p.Ref, Name: "nosuch", Value: "1"}); err == nil ||
		!strings.Contains(err.Error(), "nosuch") {
		t.Errorf("got %v", err)
	}
	hex, err := s.Variables(testContext(t), backend.VariablesRequest{Ref: tags.Ref, Hex: true})
	if err != nil || hex.Variables[2].Value != "0x9" {
		t.Errorf("got %+v, %v", hex, err)
	}
	regs := s.vars(s.scope("Registers"), 0, 0)
	if len(regs) < 8 || len(regs) > 60 {
		t.Errorf("%d registers", len(regs))
	}

	s.go_(backend.Next)
	s.stop()
	if _, err := s.Variables(testContext(t), backend.VariablesRequest{Ref: p.Ref}); err == nil ||
		!strings.Contains(err.Error(), "before the rank resumed") {
		t.Errorf("a stale reference gives %v", err)
	}
	if !strings.Contains(s.log.String(), "-var-delete") {
		t.Error("gdb's variable objects were not deleted")
	}
}

// A page far out in a long array makes no object for each element before it.
func TestLongArrays(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	s.breakAt("loop.c", backend.SourceBreakpoint{ID: 1, Line: 27})
	s.go_(backend.Continue)
	s.stop()
	r, err := s.eval(backend.ContextWatch, "big")
	if err != nil || r.Indexed != 200000 || r.Ref == 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	vs := s.vars(r.Ref, 199998, 10)
	if len(vs) != 2 || vs[1].Name != "199999" || vs[1].Value != "599997" {
		t.Errorf("got %+v", vs)
	}
	s.want(vs[0].EvaluateName, "599994")
	if n := strings.Count(s.log.String(), "var-list-children"); n != 0 {
		t.Errorf("%d listings", n)
	}
	all := s.vars(r.Ref, 0, 0)
	if len(all) != mostListed+1 || !strings.Contains(all[mostListed].Value, "195000 more") {
		t.Errorf("%d elements, the last %+v", len(all), all[len(all)-1])
	}
}

func TestVariablesOfCxx(t *testing.T) {
	s := launch(t, build(t, "box.cc"))
	s.breakAt("box.cc", backend.SourceBreakpoint{ID: 1, Line: 20})
	s.go_(backend.Continue)
	s.stop()
	box := find(t, s.vars(s.scope("Locals"), 0, 0), "box")
	members := s.vars(box.Ref, 0, 0)
	var names []string
	for _, m := range members {
		names = append(names, m.Name)
	}
	if diff := cmp.Diff([]string{"Base", "sizes", "names", "label"}, names); diff != "" {
		t.Errorf("members: %s", diff)
	}
	if v := find(t, members, "label"); v.Value != `"box"` {
		t.Errorf("label is %q", v.Value)
	}
	sizes := find(t, members, "sizes")
	if !strings.Contains(sizes.Value, "length 3") || sizes.Indexed != 3 {
		t.Errorf("got %+v", sizes)
	}
	if el := s.vars(sizes.Ref, 1, 2); len(el) != 2 || el[0].Name != "1" || el[0].Value != "20" || el[1].Value != "30" {
		t.Errorf("got %+v", el)
	}
	m := s.vars(find(t, members, "names").Ref, 0, 0)
	if len(m) != 2 || m[1].Name != `["b"]` || m[1].Value != "2" {
		t.Errorf("got %+v", m)
	}
	base := s.vars(find(t, members, "Base").Ref, 0, 0)
	if id := find(t, base, "id"); id.Value != "5" {
		t.Errorf("got %+v", base)
	}
	// Overloaded operators and methods are functions of the program.
	if _, err := s.eval(backend.ContextHover, "box.area()"); err == nil ||
		!strings.Contains(err.Error(), "may-call-functions") {
		t.Errorf("a hover called a function: %v", err)
	}
	canCall(t)
	if r, err := s.eval(backend.ContextREPL, "box.area()"); err != nil || r.Text != "200" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestVariablesOfFortran(t *testing.T) {
	s := launch(t, build(t, "prog.f90"))
	s.breakAt("prog.f90", backend.SourceBreakpoint{ID: 1, Line: 31},
		backend.SourceBreakpoint{ID: 2, Line: 37, LogMessage: "n is {n}", Condition: "n > 3"})
	s.go_(backend.Continue)
	s.stop()
	if got := s.output.String(); got != "n is 4\nn is 5\n" {
		t.Errorf("logged %q", got)
	}
	vs := s.vars(s.scope("Locals"), 0, 0)
	for name, value := range map[string]string{
		"word": "'hello'", "flag": ".TRUE.", "i": "6", "rank": "3",
		"size": "4",
	} {
		if v := find(t, vs, name); v.Value != value {
			t.Errorf("%s is %q", name, v.Value)
		}
	}
	// For gdb these are functions first.
	s.want("rank", "3")
	s.want(find(t, vs, "size").EvaluateName, "4")
	if r, err := s.eval(backend.ContextHover, "rank"); err != nil || r.Value != "3" {
		t.Errorf("got %+v, %v", r, err)
	}
	a := s.vars(find(t, vs, "a").Ref, 0, 0)
	if len(a) != 5 || a[0].Name != "1" || a[4].Value != "26" {
		t.Errorf("got %+v", a)
	}
	s.want(a[4].EvaluateName, "26")
	b := s.vars(find(t, vs, "b").Ref, 0, 0)
	column := s.vars(b[1].Ref, 0, 0)
	if len(b) != 2 || b[1].Name != "1" || len(column) != 3 || column[1].Name != "3" || column[1].Value != "31" {
		t.Errorf("got %+v, %+v", b, column)
	}
	s.want(column[1].EvaluateName, "31")
	field := find(t, vs, "field")
	el := s.vars(field.Ref, 4000, 1)
	if field.Indexed != 5000 || len(el) != 1 || el[0].Name != "4000" || el[0].Value != "4000" {
		t.Errorf("got %+v of %+v", el, field)
	}
	s.want(el[0].EvaluateName, "4000")
	h := s.vars(find(t, vs, "huge2").Ref, 49, 1)
	row := s.vars(h[0].Ref, 6, 1)
	if row[0].Value != "750" {
		t.Errorf("got %+v of %+v", row, h)
	}
	s.want(row[0].EvaluateName, "750")
	p := s.vars(find(t, vs, "p").Ref, 0, 0)
	s.want(find(t, p, "y").EvaluateName, "2")
	s.want("total", "7")
	s.want("a(2) /= 4", ".TRUE.")
	if _, err := s.eval(backend.ContextWatch, "total = 1"); err == nil {
		t.Error("a watch assigned")
	}
}

func TestEvaluate(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	s.breakAt("loop.c", backend.SourceBreakpoint{ID: 1, Line: 27})
	s.go_(backend.Continue)
	s.stop()
	for _, expr := range []string{"calls = 5", "calls++", "--calls", "p.x += 1", "calls <<= 2", "bump(3)", "$x = 1"} {
		for _, c := range []backend.EvaluateContext{backend.ContextWatch, backend.ContextHover} {
			if r, err := s.eval(c, expr); err == nil {
				t.Errorf("%s in %s gave %q", expr, c, r.Value)
			}
		}
	}
	s.want("calls", "0")
	s.want("calls == 0 && p.x <= 3 && p.x >= 1 && p.x != 7", "1")
	s.want(`sizeof("a=b")`, "4")
	r, err := s.eval(backend.ContextWatch, "p.tags")
	if err != nil || r.Address == 0 || r.Indexed != 3 {
		t.Errorf("got %+v, %v", r, err)
	}
	mem, err := s.ReadMemory(testContext(t), r.Address, 12)
	if err != nil || cmp.Diff([]byte{7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0}, mem) != "" {
		t.Errorf("got %v, %v", mem, err)
	}
	for _, tt := range [][2]string{
		{"p calls", "0"},
		{"print/x 255", "0xff"},
		{"calls = 9", "9"},
		{"-exec print calls + 1", "= 10"},
		{"`echo hi\\n", "hi"},
	} {
		r, err := s.eval(backend.ContextREPL, tt[0])
		if err != nil || !strings.HasSuffix(r.Text, tt[1]) {
			t.Errorf("%s gave %q, want %q (%v)", tt[0], r.Text, tt[1], err)
		}
	}
	r, err = s.eval(backend.ContextREPL, "p")
	if err != nil || r.Named != 5 || r.Ref == 0 {
		t.Errorf("a variable called p: %+v, %v", r, err)
	}
	if v := find(t, s.vars(r.Ref, 0, 0), "y"); v.Value != "2.5" {
		t.Errorf("got %+v", v)
	}
	for _, bad := range []string{"nosuch", "1 +", "", "-exec nosuchcommand", "mpipp x"} {
		if r, err := s.eval(backend.ContextREPL, bad); err == nil {
			t.Errorf("%q gave %+v", bad, r)
		}
	}
	if r, err := s.Evaluate(testContext(t), backend.EvaluateRequest{
		Frame:      backend.FrameID{Thread: 1},
		Expression: "255", Context: backend.ContextREPL, Hex: true,
	}); err != nil || r.Text != "0xff" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestCallInTheConsole(t *testing.T) {
	canCall(t)
	s := launch(t, build(t, "loop.c"))
	for _, tt := range [][2]string{{"bump(3)", "3"}, {"p calls", "3"}} {
		if r, err := s.eval(backend.ContextREPL, tt[0]); err != nil || !strings.HasSuffix(r.Text, tt[1]) {
			t.Errorf("%s gave %q, want %q (%v)", tt[0], r.Text, tt[1], err)
		}
	}
}

func TestConsoleCommandThatResumes(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	if _, err := s.eval(backend.ContextREPL, "-exec next"); err != nil {
		t.Fatal(err)
	}
	next(s, func(e backend.Event) (bool, bool) { return true, e.Resumed })
	if st := s.stop(); st.Reason != backend.ReasonStep {
		t.Errorf("got %+v", st)
	}
	if _, err := s.eval(backend.ContextREPL, "-exec watch calls"); err != nil {
		t.Fatal(err)
	}
	s.go_(backend.Continue)
	if st := s.stop(); !strings.Contains(st.Text, "watchpoint on calls, which was 0 and is 1") {
		t.Errorf("got %q", st.Text)
	}
}

func TestInterruptOfACall(t *testing.T) {
	canCall(t)
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	s := launch(t, build(t, "loop.c"), path)
	done := make(chan error, 1)
	go func() {
		_, err := s.eval(backend.ContextREPL, "forever(argv[1])")
		done <- err
	}()
	if err := fifo.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := fifo.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Interrupt(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("a call that does not return has returned")
	}
	if f := s.frames1(); f[0].Function != "main" {
		t.Errorf("the stack is %+v", f)
	}
}

func TestReadMemory(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	a, err := s.SymbolAddress(testContext(t), "big")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SymbolAddress(testContext(t), "nosuch"); err == nil {
		t.Error("a symbol that is not there has an address")
	}
	if b, err := s.ReadMemory(testContext(t), a, 64); err != nil || len(b) != 64 {
		t.Errorf("got %d bytes, %v", len(b), err)
	}
	if _, err := s.ReadMemory(testContext(t), 8, 4); err == nil {
		t.Error("page zero was read")
	}
	if _, err := s.ReadMemory(testContext(t), ^uint64(0)-4, 4); err == nil {
		t.Error("the end of the address space was read")
	}
	if _, err := s.ReadMemory(testContext(t), a, -1); err == nil {
		t.Error("a negative number of bytes was read")
	}
	if b, err := s.ReadMemory(testContext(t), a, base.MaxRead); err != nil || len(b) < 800000 ||
		len(b) >= base.MaxRead {
		t.Errorf("past the end of a mapping: %d bytes, %v", len(b), err)
	}
	// Also while it runs, and the way without /proc.
	s.go_(backend.Continue)
	if b, err := s.ReadMemory(testContext(t), a, 8); err != nil || len(b) != 8 {
		t.Errorf("got %v, %v", b, err)
	}
	if err := s.Interrupt(testContext(t)); err != nil {
		t.Fatal(err)
	}
	s.stop()
	b, err := base.Do(testContext(t), s.Backend.Backend, s.Calls, func(ctx context.Context) ([]byte, error) {
		return s.owner.readMemoryByGdb(ctx, a, 8)
	})
	if err != nil || len(b) != 8 {
		t.Errorf("through gdb: %v, %v", b, err)
	}
}

// What points nowhere has no members: gdb would list those of what it should point to, and theirs, without end.
func TestPointersToNothing(t *testing.T) {
	s := launch(t, build(t, "loop.c"))
	s.breakAt("loop.c", backend.SourceBreakpoint{ID: 1, Line: 31})
	s.go_(backend.Continue)
	s.stop()
	if r, err := s.eval(backend.ContextWatch, "(struct point *)0"); err != nil || r.Ref != 0 || r.Value != "0x0" {
		t.Errorf("a null pointer: %+v, %v", r, err)
	}
	r, err := s.eval(backend.ContextWatch, "(struct point *)16")
	if err != nil || r.Ref == 0 {
		t.Fatalf("a pointer to nowhere: %+v, %v", r, err)
	}
	for _, v := range s.vars(r.Ref, 0, 0) {
		if v.Name == "next" && (v.Ref != 0 || !strings.Contains(v.Value, "annot access memory")) {
			t.Errorf("a pointer that cannot be read: %+v", v)
		}
	}
	if r, err := s.eval(backend.ContextWatch, "p.next"); err != nil || r.Ref == 0 {
		t.Errorf("a pointer to something: %+v, %v", r, err)
	}
}
