package debug

import (
	"maps"
	"slices"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// A Go rank and a C rank in one job, as an editor sees them: goroutines are threads, handles show their meaning.
func TestDAPGoAndC(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{
			Program: mpi.BuildGo(t, "gompi"), Ranks: 3, StopOnEntry: true,
			Args: []string{"4", ":", "-n", "1", mpi.Build(t, "farmworker.c")},
		})
		e.ConfigurationDone()
		e.Expect(stops("entry", 0, 1, 2)...)
		if f := e.user(1); f.Name != "main.main" {
			t.Errorf("rank 1 begins in %+v", f)
		}
		if f := e.user(2); f.Name != "main" {
			t.Errorf("rank 2 begins in %+v", f)
		}
		for i, debugger := range []string{"Delve", "Delve", "gdb"} {
			if got := e.Ranks().Ranks[i].Debugger; !strings.Contains(got, debugger) {
				t.Errorf("rank %d has the debugger %q", i, got)
			}
		}
		if threads := e.threads(); !slices.ContainsFunc(slices.Collect(maps.Keys(threads)), func(name string) bool {
			return strings.HasPrefix(name, "rank 1 · goroutine ")
		}) {
			t.Errorf("at the entry the threads are %v", threads)
		}
		source := mpitest.Source(t, "gompi/main.go")
		line := mpitest.Line(t, "gompi/main.go", "breakpoint: task")
		here := at(line)
		here.Ranks = "1"
		logged := at(mpitest.Line(t, "gompi/main.go", "parts[half] += number"))
		logged.LogMessage, logged.Ranks, logged.HitCondition = "half {half}", "1", "2"
		if set := e.SetBreakpointsWith(source, here, logged); !set[0].Verified || set[0].Line != line ||
			!set[1].Verified {
			t.Errorf("the breakpoints are %+v", set)
		}
		e.Continue(0)
		stopped := e.stoppedBody(e.Expect(daptest.Stopped(1, "breakpoint"))[0])
		var stack godap.StackTraceResponseBody
		e.Do("stackTrace", godap.StackTraceArguments{ThreadId: stopped.ThreadId}, &stack)
		frame := stack.StackFrames[0]
		if frame.Name != "main.worker" || frame.Line != line {
			t.Errorf("rank 1 is in %+v", frame)
		}
		number := e.evaluate("number", "watch", frame.Id)
		if got := e.evaluate("comm", "watch", frame.Id); !strings.Contains(got.Result,
			"intracommunicator of 3 ranks") ||
			got.VariablesReference == 0 {
			t.Errorf("comm is %+v", got)
		}
		if got := e.evaluate("status", "hover", frame.Id); !strings.HasPrefix(got.Result, "from rank 0, tag 1") {
			t.Errorf("status is %+v", got)
		}
		if got := e.evaluate("mpipp MPI_INT64_T &number", "repl", frame.Id); !strings.Contains(got.Result,
			number.Result) {
			t.Errorf("mpipp of number is %+v", got)
		}
		e.Do("next", godap.NextArguments{ThreadId: stopped.ThreadId}, nil)
		e.Expect(daptest.Stopped(1, "step"))
		e.Do("stackTrace", godap.StackTraceArguments{ThreadId: stopped.ThreadId}, &stack)
		if f := stack.StackFrames[0]; f.Name != "main.worker" || f.Line != line+1 {
			t.Errorf("after the step rank 1 is in %+v", f)
		}
		e.Pause(0)
		e.Expect(stops("pause", 0, 2)...)
		if f := e.user(2); !strings.HasSuffix(f.Source.Path, "farmworker.c") {
			t.Errorf("rank 2 is paused in %+v", f)
		}
		if f := e.user(0); !strings.HasSuffix(f.Source.Path, ".go") {
			t.Errorf("rank 0 is paused in %+v", f)
		}
		e.SetBreakpointsWith(source)
		e.Continue(0)
		e.ends(0)
	})
}
