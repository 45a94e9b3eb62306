package debug

import (
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// code is two ranks of testdata/code.c that have stopped at a line.
func code(t *testing.T, mark string) (e *editor, source string) {
	t.Helper()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	source = filepath.Join(mpitest.Root(t), "testkit", "endtoend", "debug", "testdata", "code.c")
	e = newDAPPlace(t, mpi).editor()
	e.Launch(protocol.LaunchArguments{Program: mpi.BuildFile(t, source), Ranks: 2})
	e.SetBreakpoints(source, markLine(t, source, "mark: "+mark))
	e.ConfigurationDone()
	e.Expect(stops("breakpoint", 0, 1)...)
	e.SetBreakpoints(source)
	return e, source
}

func TestDAPDataBreakpoints(t *testing.T) {
	t.Parallel()
	e, _ := code(t, "begin")
	info := func(a godap.DataBreakpointInfoArguments) godap.DataBreakpointInfoResponseBody {
		t.Helper()
		var body godap.DataBreakpointInfoResponseBody
		e.Do("dataBreakpointInfo", a, &body)
		return body
	}
	set := func(bps ...protocol.DataBreakpoint) []godap.Breakpoint {
		t.Helper()
		var body godap.SetDataBreakpointsResponseBody
		e.Do("setDataBreakpoints", protocol.SetDataBreakpointsArguments{Breakpoints: bps}, &body)
		return body.Breakpoints
	}
	hit := func(rank int, what, text string, id int) {
		t.Helper()
		got := e.stoppedBody(e.Expect(daptest.Stopped(rank, "data breakpoint"))[0])
		if !strings.Contains(got.Text, "in "+what+" ") || !strings.HasSuffix(got.Text, " "+text) ||
			len(got.HitBreakpointIds) != 1 || got.HitBreakpointIds[0] != id {
			t.Errorf("the stop is %+v, want %s by %d in %s", got, text, id, what)
		}
	}
	frame := e.user(1).Id
	for name, why := range map[string]string{"rank + 1": "is not in memory", "nosuch": "annot evaluate nosuch", "$rax": "not in memory"} {
		if got := info(godap.DataBreakpointInfoArguments{Name: name, FrameId: frame}); got.DataId != nil ||
			!strings.Contains(got.Description, why) {
			t.Errorf("%s: %+v, want %s", name, got, why)
		}
	}
	chosen, _ := e.locals(frame, "Locals")
	values := e.children(chosen["chosen"].VariablesReference)["values"]
	element := info(godap.DataBreakpointInfoArguments{Name: "2", VariablesReference: values.VariablesReference})
	total := info(godap.DataBreakpointInfoArguments{Name: "total", FrameId: frame})
	if element.DataId == nil || total.DataId == nil || len(total.AccessTypes) != 3 {
		t.Fatalf("%+v %+v", element, total)
	}
	watch := func(info godap.DataBreakpointInfoResponseBody, access, ranks string) protocol.DataBreakpoint {
		return protocol.DataBreakpoint{
			DataBreakpoint: godap.DataBreakpoint{
				DataId: info.DataId.(string), AccessType: godap.DataBreakpointAccessType(access),
			},
			BreakpointExtra: protocol.BreakpointExtra{Ranks: ranks},
		}
	}
	// Rank 1's alone; then both ranks'.
	got := set(watch(total, "write", ""))
	if !got[0].Verified || got[0].Source != nil {
		t.Errorf("%+v", got)
	}
	e.Continue(1)
	hit(1, "add", "total was 0 and is 2.", got[0].Id)
	frame = e.user(1).Id
	element = info(godap.DataBreakpointInfoArguments{Name: "sample.values[2]", FrameId: frame})
	both := set(watch(total, "write", ""), watch(element, "readWrite", ""))
	if both[0].Id != got[0].Id || !both[1].Verified {
		t.Errorf("%+v", both)
	}
	e.Continue(1)
	hit(1, "add", "total was 2 and is 6.", got[0].Id)
	set()
	unknown := protocol.DataBreakpoint{DataBreakpoint: godap.DataBreakpoint{DataId: "what"}}
	stale := watch(total, "read", "")
	frame = e.user(1).Id
	causal := watch(info(godap.DataBreakpointInfoArguments{Name: "total", FrameId: frame}), "write", "")
	causal.Mode = protocol.ModeCausal
	for i, b := range set(unknown, causal, stale) {
		if why := []string{"no dataId", "mode causal", "not valid any more"}[i]; b.Verified ||
			!strings.Contains(b.Message, why) {
			t.Errorf("%+v, want %s", b, why)
		}
	}
	set()
	e.says("watch total if total > 6", 0, "breakpoint 4: write of total ranks 1 if total > 6.")
	e.Continue(1)
	hit(1, "add", "total was 6 and is 12.", 4)
	e.says("delete 4", 0, "Breakpoint 4 was removed.")
	e.Continue(1)
	e.Expect(daptest.Output("stdout", "[1] rank 1: 24 69\n"))
	e.ends(0)
}
