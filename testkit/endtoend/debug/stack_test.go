package debug

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// A call goes through several functions of the interposer, and is one frame; the MPI below it is less than that to a
// user. What a frame is asked for is answered by the debugger's own frame.
func TestDAPCallIsOneFrame(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{Program: mpi.Build(t, "deadlock.c"), Ranks: 2, Yield: "off"})
		inside := protocol.FunctionBreakpoint{FunctionBreakpoint: godap.FunctionBreakpoint{Name: "PMPI_Recv"}}
		inside.Ranks = "0"
		e.Do("setFunctionBreakpoints",
			protocol.SetFunctionBreakpointsArguments{Breakpoints: []protocol.FunctionBreakpoint{inside}}, nil)
		e.ConfigurationDone()
		e.Expect(daptest.Stopped(0, "breakpoint"))
		frames := e.Stack(0)
		if len(frames) < 4 || !strings.HasPrefix(frames[0].Name, "PMPI_Recv in libmpi") ||
			frames[0].PresentationHint != "subtle" ||
			frames[1].Name != "MPI_Recv" || frames[1].PresentationHint != "" || frames[2].Name != "exchange" ||
			frames[3].Name != "main" {
			t.Fatalf("the stack is %+v", frames)
		}
		if all := e.Console("-exec bt", frames[0].Id); strings.Count(all, "libcohort") < 2 {
			t.Errorf("the call went through one function only, so nothing was tested:\n%s", all)
		}
		if got := e.evaluate("other", "hover", frames[2].Id); got.Result != "1" {
			t.Errorf("other is %q in exchange", got.Result)
		}
		for _, f := range frames[1:3] {
			if got := e.evaluate("$pc", "hover", f.Id); !strings.Contains(got.Result, pc(f)) {
				t.Errorf("%s is at %s, and its $pc is %s", f.Name, f.InstructionPointerReference, got.Result)
			}
		}
		var page godap.StackTraceResponseBody
		e.Do("stackTrace", godap.StackTraceArguments{ThreadId: protocol.ThreadID(0, 1), StartFrame: 1, Levels: 2},
			&page)
		if len(page.StackFrames) != 2 || page.StackFrames[0].Id != frames[1].Id ||
			page.StackFrames[1].Id != frames[2].Id {
			t.Errorf("two frames from the second on are %+v", page.StackFrames)
		}
		// of PMPI_Recv, which never returns
		e.Do("stepOut", map[string]any{"threadId": protocol.ThreadID(0, 1), "singleThread": true}, nil)
		e.Expect(daptest.RankIs(0, "running"))
		e.Do("terminate", struct{}{}, nil)
		e.Expect(daptest.Terminated())
		e.Disconnect()
	})
}

// pc is the address of a frame's instruction.
func pc(f godap.StackFrame) string {
	_, address, _ := strings.Cut(f.InstructionPointerReference, "@")
	return address
}
