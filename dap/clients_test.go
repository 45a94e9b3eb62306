package dap_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

func TestSeveralClients(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	owner := b.atLine()
	guest := b.client()
	guest.Initialize()
	guest.Refused("launch", protocol.LaunchArguments{Program: "/bin/other"}, "has a job already", "attach")
	guest.Do("attach", map[string]any{}, nil)
	guest.Expect(daptest.Initialized())
	if got := guest.SetBreakpoints(b.src, 11); !got[0].Verified {
		t.Errorf("the guest's breakpoint: %+v", got)
	}
	guest.ConfigurationDone()
	guest.Expect(all(2, "breakpoint")...) // what stood still already is told
	guest.Refused("launch", protocol.LaunchArguments{Program: "/bin/other"}, "has a job already")
	guest.Refused("attach", map[string]any{}, "has a job already")

	// Both have their breakpoints; each is told of every stop.
	owner.Continue(0)
	owner.Expect(all(2, "breakpoint")...)
	guest.Expect(daptest.Continued(0), daptest.Continued(1), daptest.Stopped(0, "breakpoint"),
		daptest.Stopped(1, "breakpoint"))
	if line := owner.Stack(0)[0].Line; line != 11 {
		t.Errorf("rank 0 stands at line %d, want that of the guest's breakpoint", line)
	}
	owner.SetBreakpoints(b.src) // the owner's, not the guest's
	if ids := b.world.Rank(0).BreakpointIDs(b.src); len(ids) != 1 {
		t.Errorf("breakpoints after the owner has deleted its own: %v", ids)
	}
	guest.Do(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: "1"}, nil)
	owner.Expect(daptest.Named(protocol.EventFocus))

	// A guest leaves: the job stays, its breakpoints go.
	guest.Disconnect()
	if ids := b.world.Rank(0).BreakpointIDs(b.src); len(ids) != 0 {
		t.Errorf("breakpoints of a guest that has left: %v", ids)
	}
	if n := b.starts.stops(); n != 0 {
		t.Errorf("the job was stopped when a guest left")
	}

	// The owner leaves: the others are told that it is over.
	second := b.client()
	second.Attach("")
	second.ConfigurationDone()
	owner.Disconnect()
	second.Expect(daptest.Terminated())
	late := b.client()
	late.Initialize()
	late.Refused("attach", map[string]any{}, "has ended")
	late.Refused("launch", protocol.LaunchArguments{Program: "/bin/prog"}, "not disconnected yet")
	second.Disconnect()

	// And the next one can launch.
	b.fresh(2, endless)
	late.Do("launch", protocol.LaunchArguments{Program: "/bin/prog"}, nil)
	late.Expect(daptest.Initialized())
	late.ConfigurationDone()
	late.Disconnect()
}

func TestOwnerLeavesTheJobToOthers(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	owner := b.running()
	guest := b.client()
	guest.Attach("")
	guest.ConfigurationDone()
	owner.Do("disconnect", map[string]any{"terminateDebuggee": false}, nil)
	if n := b.starts.stops(); n != 0 {
		t.Error("the job was stopped although the owner asked not to")
	}
	guest.Pause(0)
	guest.Expect(all(2, "pause")...)
	guest.Disconnect() // nobody is left: the job ends
	if n := b.starts.stops(); n == 0 {
		t.Error("the job outlived its last client")
	}
}

func TestGuestEndsTheJob(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	owner := b.running()
	guest := b.client()
	guest.Attach("")
	guest.ConfigurationDone()
	guest.Do("disconnect", map[string]any{"terminateDebuggee": true}, nil)
	owner.Expect(daptest.Terminated())
	owner.Disconnect()
}

func TestAttachWhileLaunching(t *testing.T) {
	ready := make(chan struct{})
	b, owner, launch := launching(t, ready)
	<-b.starts.begun
	guest := b.client()
	guest.Initialize()
	attach, err := guest.Send("attach", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	guest.Refused("stepBack", map[string]any{"threadId": 1}, "stepBack") // the session answers meanwhile
	close(ready)
	if err := launch.Wait(b.ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := attach.Wait(b.ctx, nil); err != nil {
		t.Fatal(err)
	}
	guest.Do("configurationDone", nil, nil)
	guest.Refused("continue", godap.ContinueArguments{ThreadId: 1}, "the client that launched the job")
	owner.ConfigurationDone()
	guest.Expect(daptest.RankIs(0, "running"), daptest.RankIs(1, "running"))
	owner.Disconnect()
	guest.Expect(daptest.Terminated())
	guest.Disconnect()
}

func TestToken(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	for _, token := range []string{"", "secreT", "secret2", "s"} {
		for _, command := range []string{"launch", "attach"} {
			c := b.connect(true)
			c.Initialize()
			c.Refused("threads", nil, "needs a job")
			c.Refused(command, map[string]any{"program": "p", "token": token}, "`token`")
			<-c.Done() // the connection is closed
		}
	}
	if len(b.starts.asked) != 0 {
		t.Errorf("the starter was asked without the token: %+v", b.starts.asked)
	}
	c := b.connect(true)
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog", Token: "secret"})
	guest := b.connect(true)
	guest.Attach("secret")
	guest.Disconnect()
	c.Disconnect()
}

// Whoever shows no token does not keep a place.
func TestTokenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2, endless, nil)
		good := b.connect(true)
		good.Launch(protocol.LaunchArguments{Program: "/bin/prog", Token: "secret"})
		silent := b.connect(true)
		silent.Initialize()
		silent.Expect(daptest.Output("important", "no token was shown"))
		<-silent.Done()
		good.ConfigurationDone() // is served on
		good.Disconnect()
	})
}

// On TCP a server without a token serves nobody.
func TestNoTokenNoTCP(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	b.server = dap.NewServer(dap.Options{Starter: b.starts})
	c := b.connect(true)
	c.Initialize()
	c.Refused("launch", map[string]any{"program": "p", "token": ""}, "no token")
}

func TestServe(t *testing.T) {
	for _, address := range []string{"0", "unix:" + filepath.Join(t.TempDir(), "s")} {
		b := newBench(t, 2, endless, nil)
		l, err := dap.Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.ctx)
		served := make(chan error, 1)
		go func() { served <- b.server.Serve(ctx, l) }()
		dial := func() *daptest.Client {
			network, at := "tcp", l.Address()
			if path, ok := strings.CutPrefix(at, "unix:"); ok {
				network, at = "unix", path
			}
			conn, err := net.Dial(network, at)
			if err != nil {
				t.Fatal(err)
			}
			return daptest.New(t, conn)
		}
		c, guest := dial(), dial()
		c.Launch(protocol.LaunchArguments{Program: "/bin/prog", Token: "secret"})
		c.ConfigurationDone()
		guest.Attach("secret")
		guest.ConfigurationDone()
		guest.Pause(0)
		c.Expect(all(2, "pause")...)
		cancel() // SIGTERM
		if err := <-served; err != nil {
			t.Error(err)
		}
		c.Expect(daptest.Terminated())
		guest.Expect(daptest.Terminated())
		<-c.Done()
		<-guest.Done()
		if b.starts.stops() == 0 {
			t.Error("the job was not stopped")
		}
	}
}

// Two clients that do as they like at the same time: every request is answered, and the job ends cleanly.
func TestClientsAtTheSameTime(t *testing.T) {
	steps := func(src string) []jobtest.Step {
		var out []jobtest.Step
		for range 200 {
			out = append(out, jobtest.Line(src, 10))
		}
		return append(out, jobtest.Block("", nil))
	}
	b := newBench(t, 3, steps, nil)
	owner := b.atLine()
	clients := []*daptest.Client{owner}
	for range 2 {
		g := b.client()
		g.Attach("")
		g.ConfigurationDone()
		clients = append(clients, g)
	}
	done := make(chan error, len(clients))
	for i, c := range clients {
		go func() {
			for n := range 40 {
				thread := protocol.ThreadID((i+n)%3, 1)
				for _, request := range []struct {
					command string
					args    map[string]any
				}{
					{"next", map[string]any{"threadId": thread, "singleThread": n%2 == 0}},
					{"stackTrace", map[string]any{"threadId": thread}},
					{"evaluate", map[string]any{"expression": "[all] x", "context": "repl"}},
					{"pause", map[string]any{"threadId": thread}},
					{"threads", nil},
					{protocol.RequestSetFocus, map[string]any{"ranks": "all"}},
				} {
					call, err := c.Send(request.command, request.args)
					if err != nil {
						done <- err
						return
					}
					var refusal *daptest.RequestError
					if err := call.Wait(b.ctx, nil); err != nil && !asRefusal(err, &refusal) {
						done <- err
						return
					}
				}
			}
			done <- nil
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	owner.Disconnect()
	for _, c := range clients[1:] {
		c.Expect(daptest.Terminated())
		c.Disconnect()
	}
}
