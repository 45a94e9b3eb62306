package debug

import (
	"strings"
	"syscall"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// A rank that crashes is shown as it crashed, and the others stay usable.
func TestDAPCrash(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{Program: mpi.Build(t, "crash.c"), Args: []string{"1"}, Ranks: 3})
		e.Do("setExceptionBreakpoints", godap.SetExceptionBreakpointsArguments{Filters: []string{"signals"}}, nil)
		e.ConfigurationDone()
		stopped := e.stoppedBody(e.Expect(daptest.Stopped(1, "exception"))[0])
		line := mpitest.Line(t, "crash.c", "crash: here")
		e.stands("store", line, 1)
		var info godap.ExceptionInfoResponseBody
		e.Do("exceptionInfo", godap.ExceptionInfoArguments{ThreadId: stopped.ThreadId}, &info)
		if info.ExceptionId != "SIGSEGV" ||
			info.Description != "Rank 1 received SIGSEGV (Segmentation fault) in store (crash.c:6). The address is "+
				"0x0: a null pointer." {
			t.Errorf("exceptionInfo says %+v", info)
		}
		if stopped.Description != "SIGSEGV (Segmentation fault)" {
			t.Errorf("the stop is %+v", stopped)
		}
		if got := e.evaluate("where", "watch", e.user(1).Id); got.Result != "0x0" {
			t.Errorf("the pointer is %+v", got)
		}
		// The others wait for it in the barrier, and can be looked at.
		e.Do("pause", map[string]any{"threadId": protocol.ThreadID(0, 1)}, nil)
		e.Expect(stops("pause", 0, 2)...)
		if f := e.user(2); f.Name != "main" && f.Name != "store" {
			t.Errorf("rank 2 stands in %+v", f)
		}
		e.Refused("exceptionInfo", godap.ExceptionInfoArguments{ThreadId: protocol.ThreadID(0, 1)},
			"Rank 0 has not stopped because of a signal")
		// The signal is delivered. Both MPIs have a handler for it, which reports it and sends it once more, and that
		// is no fault at an address.
		e.Continue(1)
		stopped = e.stoppedBody(e.Expect(daptest.Stopped(1, "exception"))[0])
		if stopped.Text != "Rank 1 received SIGSEGV (Segmentation fault) in store (crash.c:6)." {
			t.Errorf("the second stop is %+v", stopped)
		}
		e.Do("terminate", struct{}{}, nil)
		e.Expect(daptest.Terminated())
		e.Disconnect()
	})
}

// What ranks print is labelled, and equal lines are merged.
func TestDAPOutput(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{Program: mpi.Build(t, "output.c"), Ranks: 4})
		e.ConfigurationDone()
		e.ends(0)
		stdout := e.outputs("stdout")
		for _, want := range []string{
			"[0] output: stdout of rank 0\n", "[3] output: stdout of rank 3\n",
			"[0] output: a last line that does not end\n",
		} {
			if strings.Count(stdout, want) != 1 {
				t.Errorf("the output lacks %q:\n%s", want, stdout)
			}
		}
		// Each rank's share of the common lines comes once, merged with those of others as far as they came together. A
		// debugger's terminal has one stream.
		for _, line := range []string{
			"output: stdout line 2, the same on every rank",
			"output: stdout of an odd rank",
		} {
			seen := map[string]int{}
			for l := range strings.SplitSeq(stdout, "\n") {
				set, text, ok := strings.Cut(strings.TrimPrefix(l, "["), "] ")
				if !ok || text != line {
					continue
				}
				for _, r := range e.ranksOf(set) {
					seen[r]++
				}
			}
			want := 4
			if strings.Contains(line, "odd") {
				want = 2
			}
			for r, n := range seen {
				if n != 1 {
					t.Errorf("rank %s has said %q %d times:\n%s", r, line, n, stdout)
				}
			}
			if len(seen) != want {
				t.Errorf("%q was said by %v:\n%s", line, seen, stdout)
			}
		}
		if all := e.outputs(""); !strings.Contains(all, "output: stderr of rank 2\n") {
			t.Errorf("the standard error is missing:\n%s", all)
		}
	})
}

// ranksOf spells out a rank set of at most ten ranks.
func (e *editor) ranksOf(set string) []string {
	e.t.Helper()
	var list []string
	for part := range strings.SplitSeq(set, ",") {
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		if len(from) != 1 || len(to) != 1 {
			e.t.Fatalf("the rank set is %q", set)
		}
		for r := from[0]; r <= to[0]; r++ {
			list = append(list, string(r))
		}
	}
	return list
}

func TestDAPInput(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "openmpi") // no MPI knows of what happens here
	e := newDAPPlace(t, mpi).editor()
	e.Launch(protocol.LaunchArguments{Program: mpi.Build(t, "stdin.c"), Ranks: 2})
	e.ConfigurationDone()
	e.Expect(daptest.Output("stdout", "stdin: ready\n"))
	e.Do(protocol.RequestInput, protocol.InputArguments{Data: "one\ntw"}, nil)
	e.Expect(daptest.Output("stdout", "[0] stdin: line 1: one\n"))
	e.Do(protocol.RequestInput, protocol.InputArguments{Data: "o\n"}, nil)
	e.Expect(daptest.Output("stdout", "[0] stdin: line 2: two\n"))
	e.Do(protocol.RequestInput, protocol.InputArguments{Data: "three\n", EOF: true}, nil)
	e.Expect(daptest.Output("stdout", "[0] stdin: line 3: three\n"),
		daptest.Output("stdout", "stdin: rank 1: 3 lines\n"))
	e.ends(0)
}

func TestDAPExitCode(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{Program: mpi.Build(t, "exitcode.c"), Args: []string{"1", "3"}, Ranks: 2})
		e.ConfigurationDone()
		e.Expect(daptest.RankIs(1, "exited"))
		e.ends(3)
		if r := e.Seen("exited"); len(r) != 1 {
			t.Errorf("%d exited events", len(r))
		}
	})
}

// Fortran: breakpoint, variables, INTEGER handles with mpipp.
func TestDAPFortran(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		source := mpitest.Source(t, "fintegrate.f90")
		line := mpitest.Line(t, "fintegrate.f90", "breakpoint: answer received")
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{
			Program: mpi.Build(t, "fintegrate.f90"), Args: []string{"20"}, Ranks: 3,
			StopOnEntry: true,
		})
		e.ConfigurationDone()
		e.Expect(stops("entry", 0, 1, 2)...)
		if f := e.user(0); f.Name != "fintegrate" && f.Name != "MAIN__" || f.Source == nil || f.Source.Path != source {
			t.Errorf("at the entry rank 0 stands in %+v", f)
		}
		b := at(line)
		b.Condition = "tasks == 4"
		set := e.SetBreakpointsWith(source, b)
		if !set[0].Verified {
			t.Errorf("the breakpoint is %+v", set[0])
		}
		e.Continue(0)
		e.Expect(daptest.Stopped(0, "breakpoint"))
		e.stands("fintegrate::receive_answer", line, 0)
		frames := e.Stack(0)
		if got := strings.Join(names(frames), " "); !strings.Contains(got, ":receive_answer:") ||
			!strings.Contains(got, ":serve:") {
			t.Errorf("the stack is %s", got)
		}
		frame := frames[0].Id
		arguments, _ := e.locals(frame, "Arguments")
		answer := arguments["answer"]
		if answer.IndexedVariables != 2 {
			t.Errorf("answer is %+v", answer)
		}
		elements := e.variables(godap.VariablesArguments{
			VariablesReference: answer.VariablesReference,
			Filter:             "indexed",
		})
		if len(elements) != 2 || elements[0].Name != "1" && elements[0].Name != "(1)" || elements[1].Value == "" {
			t.Errorf("the elements of answer are %+v", elements)
		}
		locals, _ := e.locals(frame, "Locals")
		if status := locals["status"]; status.IndexedVariables == 0 {
			t.Errorf("status is %+v", status)
		}
		if got := e.evaluate("tasks", "hover", frame); got.Result != "4" {
			t.Errorf("tasks is %+v", got)
		}
		worker := e.evaluate("worker", "watch", frame).Result
		if worker != "1" && worker != "2" {
			t.Errorf("worker is %q", worker)
		}
		e.step("next", 0, true)
		e.Expect(daptest.Stopped(0, "step"))
		frame = e.user(0).Id
		e.says("p tasks", frame, "5")
		// A Fortran handle is an INTEGER; names of the constants do as well.
		view := e.Console("mpipp MPI_DOUBLE_PRECISION answer 2", frame)
		if !strings.Contains(view, "DOUBLE") {
			t.Errorf("mpipp shows\n%s", view)
		}
		first := e.evaluate("answer(1)", "watch", frame).Result
		if number, _, _ := strings.Cut(first, "."); !strings.Contains(view, number) {
			t.Errorf("answer(1) is %s, and mpipp shows\n%s", first, view)
		}
		e.SetBreakpoints(source)
		e.Continue(0)
		e.Expect(daptest.Output("stdout", "fintegrate: integral"))
		e.ends(0)
	})
}

// terminate and disconnect end everything, whatever the ranks do, and say so.
func TestDAPEndings(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := mpi.Build(t, "deadlock.c")
		launch := func(e *editor) {
			e.Launch(protocol.LaunchArguments{Program: program, Ranks: 2})
			e.ConfigurationDone()
			e.Expect(daptest.Output("stdout", "deadlock: rank 0 waits"))
		}
		t.Run("terminate", func(t *testing.T) {
			t.Parallel()
			e := newDAPPlace(t, mpi).editor()
			launch(e)
			e.Do("terminate", struct{}{}, nil)
			e.Expect(daptest.Terminated())
			for _, process := range e.p.Processes() {
				if !strings.HasSuffix(strings.TrimSpace(process), "/cohort dap") {
					t.Errorf("after the terminated event there is %s", process)
				}
			}
			e.Disconnect()
			if out := e.outputs("important"); out != "" {
				t.Errorf("an end that was asked for is reported as\n%s", out)
			}
		})
		t.Run("disconnect", func(t *testing.T) {
			t.Parallel()
			e := newDAPPlace(t, mpi).editor()
			launch(e)
			e.Disconnect()
			e.p.NothingLeft()
		})
		t.Run("gone", func(t *testing.T) { // the editor was killed
			t.Parallel()
			p := newDAPPlace(t, mpi)
			conn, cohort := p.DAP()
			e := &editor{Client: daptest.New(t, conn), t: t, p: p}
			launch(e)
			e.Close() // waits for cohort
			if status, ok := cohort.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signaled() {
				t.Errorf("cohort ended with %v", cohort.ProcessState)
			}
			p.NothingLeft()
		})
		t.Run("launching", func(t *testing.T) {
			t.Parallel()
			e := newDAPPlace(t, mpi).editor()
			e.Initialize()
			if _, err := e.Send("launch", protocol.LaunchArguments{Program: program, Ranks: 2}); err != nil {
				t.Fatal(err)
			}
			e.Disconnect()
			e.p.NothingLeft()
		})
	})
}
