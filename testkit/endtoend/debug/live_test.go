package debug

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// Ranks are threads; a second thread of the user's has its own, those of the MPI library are not shown.
func TestDAPThreads(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{Program: mpi.Build(t, "threads.c"), Ranks: 2, StopOnEntry: true})
		e.ConfigurationDone()
		e.Expect(stops("entry", 0, 1)...)
		if threads := e.threads(); len(threads) != 2 || threads["rank 0"] != protocol.ThreadID(0, 1) ||
			threads["rank 1"] != protocol.ThreadID(1, 1) {
			t.Errorf("at the entry the threads are %v", threads)
		}
		if f := e.user(1); f.Name != "main" {
			t.Errorf("at the entry rank 1 stands in %+v", f)
		}
		line := mpitest.Line(t, "threads.c", "breakpoint: second thread")
		if set := e.SetBreakpoints(mpitest.Source(t, "threads.c"), line); !set[0].Verified || set[0].Line != line {
			t.Errorf("the breakpoint is %+v", set)
		}
		e.Continue(0)
		stopped := e.stoppedBody(e.Expect(daptest.Stopped(1, "breakpoint"))[0])
		rank, thread := protocol.RankThread(stopped.ThreadId)
		name := fmt.Sprintf("rank 1 · thread %d", thread)
		if threads := e.threads(); rank != 1 || thread == 1 || len(threads) != 3 || threads[name] != stopped.ThreadId ||
			threads["rank 1"] != protocol.ThreadID(1, 1) {
			t.Errorf("thread %d of rank %d has stopped, and the threads are %v", thread, rank, threads)
		}
		var stack godap.StackTraceResponseBody
		e.Do("stackTrace", godap.StackTraceArguments{ThreadId: stopped.ThreadId}, &stack)
		if f := stack.StackFrames[0]; f.Name != "compute" || f.Line != line {
			t.Errorf("the second thread stands in %+v", f)
		}
		if got := e.evaluate("computation->rank", "watch", stack.StackFrames[0].Id); got.Result != "1" {
			t.Errorf("computation->rank is %+v", got)
		}
		if f := e.user(1); f.Name != "main" {
			t.Errorf("the first thread of rank 1 stands in %+v", f)
		}
		// A step of the second thread.
		e.Do("next", godap.NextArguments{ThreadId: stopped.ThreadId}, nil)
		stopped = e.stoppedBody(e.Expect(daptest.Stopped(1, "step"))[0])
		e.Do("stackTrace", godap.StackTraceArguments{ThreadId: stopped.ThreadId}, &stack)
		if f := stack.StackFrames[0]; f.Name != "compute" || f.Line != line+1 {
			t.Errorf("after the step it stands in %+v", f)
		}
		e.Continue(1)
		e.ends(0)
	})
}

func TestDAPBreakpoints(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	source := dapSource(t)
	line := func(mark string) int { return markLine(t, source, "mark: "+mark) }
	e := newDAPPlace(t, mpi).editor()
	e.Launch(protocol.LaunchArguments{Program: mpi.BuildFile(t, source), Ranks: 3})

	conditioned, prefixed, logged := at(line("work")), at(line("work")), at(line("work"))
	conditioned.Condition, conditioned.Ranks = "round == 2", "0"
	prefixed.Condition, prefixed.HitCondition = "[1-2] value > 0", "3"
	logged.Ranks, logged.LogMessage = "0-1", "round {round} of {rank}"
	nowhere, badRanks, badMode := at(10_000), at(line("work")), at(line("work"))
	badRanks.Ranks, badMode.Mode = "7", protocol.ModeCausal
	set := e.SetBreakpointsWith(source, conditioned, prefixed, logged, nowhere, badRanks, badMode)
	for i, why := range []string{"", "", "", "", "ank 7", "needs a replay"} {
		if !strings.Contains(set[i].Message, why) {
			t.Errorf("breakpoint %d: %+v, want %q", i, set[i], why)
		}
	}
	e.ConfigurationDone()
	got := e.Expect(append(stops("breakpoint", 0, 1, 2), refused("the line without code", set[3].Id, "10000"))...)
	for rank, id := range []int{set[0].Id, set[1].Id, set[1].Id} {
		if hit := e.stoppedBody(got[rank]); len(hit.HitBreakpointIds) != 1 || hit.HitBreakpointIds[0] != id {
			t.Errorf("rank %d has stopped by %+v, want breakpoint %d", rank, hit, id)
		}
	}
	e.says("[all] p round", 0, "[0] 2\n[1-2] 3")
	e.Continue(1) // all
	got = e.Expect(stops("breakpoint", 1, 2)...)
	if hit := e.stoppedBody(got[0]); hit.HitBreakpointIds[0] != set[1].Id {
		t.Errorf("rank 1 has stopped by %+v", hit)
	}
	// Rank 0 continues and waits in MPI for the others. All it has to say, it has said.
	e.Continue(1)
	last := line("spin")
	// Each rank's messages come by its own agent: what rank 2 prints may overtake what rank 0 has logged before.
	waiting := []daptest.Expectation{daptest.Output("stdout", "ring: rank 2")}
	for round := 1; round <= 4; round++ {
		for rank := range 2 {
			if want := fmt.Sprintf("[%d] round %d of %d\n", rank, round,
				rank); !strings.Contains(e.outputs("console"), want) {
				waiting = append(waiting, daptest.Output("console", want))
			}
		}
	}
	e.Expect(waiting...)
	if strings.Contains(e.outputs("console"), "of 2") {
		t.Errorf("rank 2 has logged:\n%s", e.outputs("console"))
	}

	e.awaitCall(0, "MPI_Recv")

	// While ranks run: the loop that waits for the debugger; all ranks stop with it.
	spin := at(last)
	spin.Mode = protocol.ModeAll
	if set = e.SetBreakpointsWith(source, spin); !set[0].Verified || set[0].Line != last {
		t.Errorf("set while the ranks run: %+v", set)
	}
	got = e.Expect(daptest.Stopped(2, "breakpoint"), daptest.Stopped(0, "pause"), daptest.Stopped(1, "pause"))
	if hit := e.stoppedBody(got[0]); hit.HitBreakpointIds[0] != set[0].Id {
		t.Errorf("rank 2 has stopped by %+v", hit)
	}
	e.stands("wait_for_release", last, 2)
	e.stands("wait_for_release", line("wait */"), 0)
	e.SetBreakpointsWith(source)
	e.says("[2] p released = 1", 0, "[2] 1")
	e.Continue(2)
	e.Expect(daptest.Output("stdout", "[0] token 42\n"))
	e.ends(0)
}

// refused expects that a breakpoint is said not to be possible.
func refused(what string, id int, why string) daptest.Expectation {
	return daptest.That(what+" is refused", func(event daptest.Event) (daptest.Verdict, string) {
		var body godap.BreakpointEventBody
		if event.Name != "breakpoint" || event.Decode(&body) != nil || body.Breakpoint.Id != id {
			return daptest.NotYet, ""
		}
		if body.Breakpoint.Verified || !strings.Contains(body.Breakpoint.Message, why) {
			return daptest.Impossible, fmt.Sprintf("it is %+v", body.Breakpoint)
		}
		return daptest.Met, ""
	})
}

func TestDAPFunctionBreakpoints(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "openmpi") // no MPI knows of what happens here
	source := dapSource(t)
	e := newDAPPlace(t, mpi).editor()
	e.Launch(protocol.LaunchArguments{Program: mpi.BuildFile(t, source), Ranks: 2})
	function := func(name, ranks string) protocol.FunctionBreakpoint {
		f := protocol.FunctionBreakpoint{FunctionBreakpoint: godap.FunctionBreakpoint{Name: name}}
		f.Ranks = ranks
		return f
	}
	var set godap.SetFunctionBreakpointsResponseBody
	e.Do("setFunctionBreakpoints",
		protocol.SetFunctionBreakpointsArguments{Breakpoints: []protocol.FunctionBreakpoint{
			function("twice", "1"), function("MPI_Barrier", ""), function("no_such_function", ""),
		}}, &set)
	e.ConfigurationDone()
	got := e.Expect(daptest.Stopped(1, "breakpoint"), daptest.Stopped(0, "breakpoint"),
		refused("the function that does not exist", set.Breakpoints[2].Id, "no_such_function"))
	if hit := e.stoppedBody(got[0]); hit.HitBreakpointIds[0] != set.Breakpoints[0].Id {
		t.Errorf("rank 1 has stopped by %+v", hit)
	}
	if hit := e.stoppedBody(got[1]); hit.HitBreakpointIds[0] != set.Breakpoints[1].Id {
		t.Errorf("rank 0 has stopped by %+v", hit)
	}
	e.stands("twice", markLine(t, source, "mark: twice"), 1)
	e.stands("ring", markLine(t, source, "mark: barrier"), 0) // not the depths of MPI or libcohort
	e.Do("terminate", struct{}{}, nil)
	e.Expect(daptest.Terminated())
	e.Disconnect()
}

func TestDAPSteps(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		source := dapSource(t)
		line := func(mark string) int { return markLine(t, source, "mark: "+mark) }
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{Program: mpi.BuildFile(t, source), Ranks: 3})
		e.SetBreakpoints(source, line("call ring"))
		e.ConfigurationDone()
		e.Expect(stops("breakpoint", 0, 1, 2)...)
		sendrecv := line("sendrecv ends") - 1

		e.step("stepIn", 0, false) // all
		e.Expect(stops("step", 0, 1, 2)...)
		e.stands("ring", sendrecv-1, 0, 1, 2)
		e.step("next", 0, false)
		e.Expect(stops("step", 0, 1, 2)...)
		e.stands("ring", sendrecv, 0, 1, 2)
		e.step("stepIn", 1, false) // an MPI call has no source, and libcohort is not the user's
		got := e.Expect(stops("step", 0, 1, 2)...)
		e.stands("ring", line("received"), 0, 1, 2)
		for _, r := range []int{0, 1, 2} {
			if frames := e.Stack(r); frames[0].Name != "ring" {
				t.Errorf("after stepping into an MPI call the stack of rank %d begins with %+v", r, frames[0])
			}
			if body := e.stoppedBody(got[r]); body.PreserveFocusHint != (r != 1) {
				t.Errorf("rank 1 was stepped; of rank %d it is said %+v", r, body)
			}
		}

		// Two of three.
		e.Do(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: "0-1"}, nil)
		e.step("next", 1, false)
		e.Expect(stops("step", 0, 1)...)
		e.stands("ring", line("call twice"), 0, 1)
		e.stands("ring", line("received"), 2)
		e.step("stepIn", 0, false)
		e.Expect(stops("step", 0, 1)...)
		e.stands("twice", line("twice"), 0, 1)
		e.step("stepOut", 0, false)
		e.Expect(stops("step", 0, 1)...)
		for _, r := range []int{0, 1} {
			if f := e.user(r); f.Name != "ring" {
				t.Errorf("after stepOut rank %d stands in %+v", r, f)
			}
		}
		// A rank that is not in the focus goes alone, and one that is, with singleThread.
		e.step("next", 2, false)
		e.Expect(stops("step", 2)...)
		e.stands("ring", line("call twice"), 2)
		e.SetBreakpoints(source, line("barrier"))
		before := len(e.Events())
		var continued godap.ContinueResponseBody
		e.Do("continue", godap.ContinueArguments{ThreadId: protocol.ThreadID(0, 1), SingleThread: true}, &continued)
		e.Expect(daptest.Stopped(0, "breakpoint"))
		if continued.AllThreadsContinued {
			t.Error("one rank of three continued, and the answer is that all did")
		}
		e.stands("ring", line("barrier"), 0)
		for _, event := range e.Seen("continued") {
			if event.Index >= before && !strings.Contains(event.String(), fmt.Sprint(protocol.ThreadID(0, 1))) {
				t.Errorf("another rank continued: %s", event)
			}
		}
		e.Do(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: "all"}, nil)
		e.step("next", 0, true) // into the barrier, where it waits for the others
		e.Continue(1)
		e.Expect(stops("breakpoint", 1, 2)...)
		e.step("stepIn", 1, false)
		e.Expect(stops("step", 0, 1, 2)...)
		e.stands("ring", line("print"), 0, 1, 2)
		e.Do("terminate", struct{}{}, nil)
		e.Expect(daptest.Terminated())
		e.Disconnect()
	})
}

// A rank that waits in MPI shows the user's call.
func TestDAPPauseInMPI(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		source := dapSource(t)
		wait := markLine(t, source, "mark: wait */")
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{Program: mpi.BuildFile(t, source), Ranks: 2})
		e.SetBreakpoints(source, wait)
		e.ConfigurationDone()
		e.Expect(daptest.Stopped(0, "breakpoint"))
		e.seesCall("MPI_Recv", "receives up to 1 × MPI_INT from rank 1, tag 2, MPI_COMM_WORLD",
			"not received yet: the call has not run): 0")
		e.opens("mpipp MPI_INT &token 2", "{0}", "0")
		// by then libcohort knows of the call
		receive := protocol.FunctionBreakpoint{FunctionBreakpoint: godap.FunctionBreakpoint{Name: "PMPI_Recv"}}
		e.Do("setFunctionBreakpoints",
			protocol.SetFunctionBreakpointsArguments{Breakpoints: []protocol.FunctionBreakpoint{receive}}, nil)
		e.Continue(0)
		e.Expect(daptest.Stopped(0, "breakpoint"))
		e.stands("wait_for_release", wait, 0)
		e.Do("setFunctionBreakpoints", protocol.SetFunctionBreakpointsArguments{}, nil)
		e.step("next", 0, true) // now it is in the call, and stays there
		e.Expect(daptest.Continued(0))
		e.Pause(0)
		got := e.Expect(daptest.Stopped(0, "pause"), daptest.Stopped(1, "pause"))
		if body := e.stoppedBody(got[0]); !strings.Contains(body.Text,
			fmt.Sprintf("wait_for_release (dape2e.c:%d), inside MPI_Recv", wait)) || body.PreserveFocusHint {
			t.Errorf("rank 0 was paused: %+v", body)
		}
		if f := e.user(0); f.Name != "wait_for_release" || f.Line != wait {
			t.Errorf("the user's frame is %+v", f)
		}
		e.seesCall("MPI_Recv", "receives up to 1 × MPI_INT from rank 1, tag 2, MPI_COMM_WORLD", "not received yet): 0")
		if got := e.Console("mpipp --call", e.user(0).Id); !strings.HasPrefix(got, "MPI_Recv is being called at ") ||
			!strings.Contains(got, "wait_for_release") && !strings.Contains(got, "dape2e.c:") {
			t.Errorf("mpipp --call answers %q", got)
		}
		frames := e.Stack(0)
		for _, f := range frames {
			if strings.Contains(f.Name, "cohort_") {
				t.Errorf("libcohort is in the stack: %+v", f)
			}
		}
		// The stack in pages.
		var all []godap.StackFrame
		for {
			var page godap.StackTraceResponseBody
			e.Do("stackTrace", godap.StackTraceArguments{
				ThreadId: protocol.ThreadID(0, 1), StartFrame: len(all),
				Levels: 1,
			}, &page)
			if len(page.StackFrames) == 0 {
				break
			}
			all = append(all, page.StackFrames...)
			if len(all) > len(frames) {
				break
			}
		}
		if fmt.Sprint(names(all)) != fmt.Sprint(names(frames)) || frames[len(frames)-1].Name != "main" {
			t.Errorf("the stack is %v, and in pages %v", names(frames), names(all))
		}
		e.says("[1] p released = 1", 0, "[1] 1")
		for _, r := range e.Ranks().Ranks {
			if want := map[int]string{0: "MPI_Recv (peer 1, tag 2)", 1: ""}[r.Rank]; r.Call != want {
				t.Errorf("rank %d is in the call %q, want %q: %+v", r.Rank, r.Call, want, r)
			}
		}
		// Rank 1 stops where it is about to send what rank 0 waits for: whether the two fit is asked without naming
		// anything.
		e.SetBreakpoints(source, markLine(t, source, "MPI_Send(&token"))
		e.Continue(0)
		e.Expect(daptest.Stopped(1, "breakpoint"))
		e.Pause(0)
		e.Expect(daptest.Stopped(0, "pause"))
		if got := e.Console("mpipp --match [1] to [0]", 0); !strings.Contains(got, "They match: all 1 entry agree.") ||
			strings.Contains(got, "This send") {
			t.Errorf("mpipp --match answers %q", got)
		}
		e.Refused("evaluate", godap.EvaluateArguments{Expression: "mpipp --match [0] to [1]", Context: "repl"},
			"[0] MPI_Recv", "sends nothing")
		e.Continue(0)
		e.Expect(daptest.Output("stdout", "[0] token 42\n"))
		e.ends(0)
	})
}

// seesCall checks that the first of rank 0's locals is an MPI call, what it does, and what its first buffer is.
func (e *editor) seesCall(name, does, buffer string) {
	e.t.Helper()
	var body godap.ScopesResponseBody
	e.Do("scopes", godap.ScopesArguments{FrameId: e.user(0).Id}, &body)
	if len(body.Scopes) == 0 || body.Scopes[0].Name != "Locals" {
		e.t.Fatalf("the scopes are %+v", body.Scopes)
	}
	locals := e.variables(godap.VariablesArguments{VariablesReference: body.Scopes[0].VariablesReference})
	if len(locals) < 2 || locals[0].Name != name || !strings.HasPrefix(locals[0].Value, does) ||
		locals[0].Type != "MPI call" {
		e.t.Fatalf("the locals are %+v", locals)
	}
	if parts := e.variables(godap.VariablesArguments{VariablesReference: locals[0].VariablesReference}); len(parts) < 4 || !strings.Contains(parts[0].Value, buffer) {
		e.t.Errorf("the call has %+v; want a buffer with %q", parts, buffer)
	}
}

// opens checks that the answer to a console line in rank 0 has that value or, opened, that value in a child.
func (e *editor) opens(line, child, value string) {
	e.t.Helper()
	got := e.evaluate(line, "repl", e.user(0).Id)
	if got.VariablesReference == 0 {
		e.t.Errorf("%s answers %+v, which does not open", line, got)
		return
	}
	if kids := e.children(got.VariablesReference); kids[child].Value != value {
		e.t.Errorf("%s has %+v; want %s = %s", line, kids, child, value)
	}
}

func names(frames []godap.StackFrame) []string {
	var list []string
	for _, f := range frames {
		list = append(list, fmt.Sprintf("%s:%d", f.Name, f.Line))
	}
	return list
}

func TestDAPVariables(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		source := dapSource(t)
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{Program: mpi.BuildFile(t, source), Ranks: 3})
		e.SetBreakpoints(source, markLine(t, source, "mark: variables"))
		e.ConfigurationDone()
		e.Expect(stops("breakpoint", 0, 1, 2)...)
		frame := e.user(2).Id
		locals, ref := e.locals(frame, "Locals")

		first := e.tree(locals["first"])
		for _, want := range []string{"id = 1\n", `name = "first`, "count = 10\n", "weight = 1.5\n"} {
			if !strings.Contains(first, want) {
				t.Errorf("the struct lacks %q:\n%s", want, first)
			}
		}
		next := e.children(e.children(e.children(locals["chosen"].VariablesReference)["next"].VariablesReference)["inner"].VariablesReference)
		if next["count"].Value != "20" {
			t.Errorf("chosen->next->inner is %+v", next)
		}
		points := locals["points"]
		if points.IndexedVariables != 250 {
			t.Errorf("the array is %+v", points)
		}
		page := e.variables(godap.VariablesArguments{
			VariablesReference: points.VariablesReference, Filter: "indexed",
			Start: 100, Count: 3,
		})
		if len(page) != 3 || page[0].Name != "[100]" && page[0].Name != "100" ||
			!strings.HasPrefix(page[0].Value, "2.1") || !strings.HasPrefix(page[2].Value, "2.10") {
			t.Errorf("elements 100 to 102 are %+v", page)
		}
		if named := e.variables(godap.VariablesArguments{
			VariablesReference: points.VariablesReference,
			Filter:             "named",
		}); len(named) != 0 {
			t.Errorf("an array has named children: %+v", named)
		}
		past := e.variables(godap.VariablesArguments{
			VariablesReference: points.VariablesReference, Filter: "indexed",
			Start: 249, Count: 10,
		})
		if len(past) != 1 {
			t.Errorf("from element 249 there are %+v", past)
		}
		if column := e.tree(locals["column"]); !strings.Contains(strings.ToLower(column), "vector") ||
			!strings.Contains(column, "MPI_DOUBLE") {
			t.Errorf("the MPI_Datatype is shown as\n%s", column)
		}
		if even := e.tree(locals["even"]); !strings.Contains(even, "parity") {
			t.Errorf("the MPI_Comm is shown as\n%s", even)
		}

		// Changing one.
		var changed godap.SetVariableResponseBody
		e.Do("setVariable", godap.SetVariableArguments{
			VariablesReference: locals["first"].VariablesReference,
			Name:               "id", Value: "3 * 25",
		}, &changed)
		if got := e.evaluate("chosen->id", "watch", frame); changed.Value != "75" || got.Result != "75" {
			t.Errorf("the value is set to %+v, and is %+v", changed, got)
		}
		e.Do("setVariable", godap.SetVariableArguments{
			VariablesReference: points.VariablesReference,
			Name:               page[1].Name, Value: "0.5",
		}, &changed)
		if got := e.evaluate("points[101]", "hover", frame); got.Result != "0.5" {
			t.Errorf("points[101] is %+v", got)
		}
		e.Refused("setVariable", godap.SetVariableArguments{VariablesReference: ref, Name: "no_such", Value: "1"},
			"no_such")

		// Asking.
		if got := e.evaluate("first.inner", "hover", frame); got.VariablesReference == 0 ||
			e.children(got.VariablesReference)["weight"].Value != "1.5" {
			t.Errorf("hovering shows %+v", got)
		}
		for _, context := range []string{"hover", "watch"} {
			e.Refused("evaluate", godap.EvaluateArguments{Expression: "total = 9", Context: context, FrameId: frame})
			e.Refused("evaluate", godap.EvaluateArguments{Expression: "work(1)", Context: context, FrameId: frame})
			e.Refused("evaluate", godap.EvaluateArguments{Expression: "no_such", Context: context, FrameId: frame},
				"no_such")
		}
		e.says("total", frame, "108")
		e.says("p total", frame, "108")
		e.says("[0,2] p rank * 0", 0, "[0,2] 0")
		e.says("[all] p rank / 2", 0, "[0-1] 0\n[2] 1")
		e.says("[0-1] p ranks", 0, "[0-1] 3")
		if got := e.Console("-exec info line", frame); !strings.Contains(got, "dape2e.c") {
			t.Errorf("gdb's own command answers %q", got)
		}
		view := e.Console("mpipp column points 1", frame)
		if !regexp.MustCompile(`2(\.0+)?\b`).MatchString(view) || !strings.Contains(view, "2.005") ||
			!strings.Contains(view, "2.01") || strings.Contains(view, "2.001") {
			t.Errorf("mpipp shows\n%s", view)
		}
		for _, line := range []string{"[7] p x", "[0", "[0,2]", "p no_such", "mpipp --type", "mpipp no_such points"} {
			e.Refused("evaluate", godap.EvaluateArguments{Expression: line, Context: "repl", FrameId: frame})
		}
		// What was read is stale as soon as the rank continues.
		e.step("next", 2, true)
		e.Expect(daptest.Stopped(2, "step"))
		e.Refused("scopes", godap.ScopesArguments{FrameId: frame}, "not valid any more")
		e.Refused("variables", godap.VariablesArguments{VariablesReference: ref}, "not valid any more")
		e.Do("disconnect", struct{}{}, nil) // ends the job that it launched
		<-e.Done()
		e.p.NothingLeft()
	})
}
