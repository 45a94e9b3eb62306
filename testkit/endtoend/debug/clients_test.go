package debug

import (
	"fmt"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// unixClients starts `cohort dap --listen` on a Unix socket; each call of the result is another client.
func (p *dapPlace) unixClients() func() *editor {
	p.T.Helper()
	path := p.Path("c.sock")
	server := p.Listen(path)
	if !strings.HasPrefix(server.Said, "cohort dap listens on ") || !strings.Contains(server.Said, path) ||
		strings.Contains(server.Said, "token") {
		p.T.Fatalf("cohort dap said %q", server.Said)
	}
	return func() *editor {
		p.T.Helper()
		return &editor{Client: daptest.New(p.T, server.Dial("unix", path)), t: p.T, p: p}
	}
}

// Two clients on one job: both see what happens, the focus is shared, breakpoints are each one's own.
func TestDAPTwoClients(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	source := dapSource(t)
	line := func(mark string) int { return markLine(t, source, "mark: "+mark) }
	program := mpi.BuildFile(t, source)
	p := newDAPPlace(t, mpi)
	connect := p.unixClients()
	first := connect()
	first.Launch(protocol.LaunchArguments{Program: program, Ranks: 2})
	first.SetBreakpoints(source, line("call ring"))
	first.ConfigurationDone()
	first.Expect(stops("breakpoint", 0, 1)...)

	second := connect()
	second.Initialize()
	second.Refused("launch", protocol.LaunchArguments{Program: program, Ranks: 2}, "attach")
	second.Do("attach", protocol.AttachArguments{}, nil)
	second.Expect(daptest.Initialized())
	second.SetBreakpoints(source, line("call twice"))
	second.ConfigurationDone()
	second.Expect(stops("breakpoint", 0, 1)...) // it is told how the ranks stand
	second.stands("main", line("call ring"), 0, 1)

	second.Do(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: "1"}, nil)
	got := first.Expect(daptest.Named(protocol.EventFocus))
	if !strings.Contains(got[0].String(), `"1"`) {
		t.Errorf("the first client is told of the focus %s", got[0])
	}
	first.step("stepIn", 1, false)
	for _, e := range []*editor{first, second} {
		e.Expect(daptest.Continued(1), daptest.Stopped(1, "step"))
		if f := e.user(1); f.Name != "ring" {
			t.Errorf("rank 1 stands in %+v", f)
		}
		e.stands("main", line("call ring"), 0)
	}
	second.Do(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: "all"}, nil)
	first.SetBreakpoints(source) // its own only
	second.Continue(0)
	for _, e := range []*editor{first, second} {
		e.Expect(stops("breakpoint", 0, 1)...)
		e.stands("ring", line("call twice"), 0, 1)
	}
	// What one changes, the other is told to read anew.
	locals, ref := second.locals(second.user(0).Id, "Locals")
	if _, ok := locals["in"]; !ok {
		t.Errorf("the variables are %v", locals)
	}
	second.Do("setVariable", godap.SetVariableArguments{VariablesReference: ref, Name: "in", Value: "77"}, nil)
	first.Expect(daptest.Named("invalidated"))
	if got := first.evaluate("in", "watch", first.user(0).Id).Result; got != "77" {
		t.Errorf("the first client reads %s", got)
	}
	// The second leaves, with its breakpoints; the job stays until the first goes.
	second.Disconnect()
	first.Continue(0)
	first.Expect(daptest.Output("stdout", fmt.Sprintf("[0] ring: rank 0 %d\n", 2)))
	third := connect()
	third.Attach("")
	third.ConfigurationDone()
	first.Disconnect()
	third.Expect(daptest.Terminated())
	third.Disconnect()
	// All have gone, so the next can launch.
	fourth := connect()
	fourth.Launch(protocol.LaunchArguments{Program: program, Ranks: 2})
	fourth.Disconnect()
}
