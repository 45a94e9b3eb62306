package dap_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

func TestRunToTheEnd(t *testing.T) {
	b := newBench(t, 4, loop, nil)
	c := b.client()
	caps := c.Initialize()
	if len(caps.BreakpointModes) != 4 || !caps.SupportsConfigurationDoneRequest || !caps.SupportsCancelRequest {
		t.Errorf("capabilities: %+v", caps)
	}
	c.Do("launch", protocol.LaunchArguments{Program: "/bin/prog", Args: []string{"a"}, Ranks: 4, Token: "hidden"}, nil)
	c.Expect(daptest.Initialized())
	c.ConfigurationDone()
	c.Expect(daptest.Output("console", "exited with code 0"), daptest.Named("exited"), daptest.Terminated())
	for _, e := range c.Seen("exited") {
		var body godap.ExitedEventBody
		if err := e.Decode(&body); err != nil || body.ExitCode != 0 {
			t.Errorf("exited: %s %v", e, err)
		}
	}
	if len(c.Seen("stopped")) != 0 {
		t.Errorf("stops at entry were shown although nobody asked: %v", c.Seen("stopped"))
	}
	if got := b.starts.asked; len(got) != 1 || got[0].Token != "" || got[0].Ranks != 4 {
		t.Errorf("the starter was asked %+v", got)
	}
	if b.starts.stops() == 0 {
		t.Error("terminated was sent before the job was stopped")
	}
	c.Refused("continue", godap.ContinueArguments{ThreadId: 1}, "has ended", "launch again")
	if got := c.Ranks(); len(got.Ranks) != 4 || got.Ranks[2].State != "exited" || got.Ranks[2].Reason != "exit code 0" {
		t.Errorf("ranks after the end: %+v", got)
	}
	c.Disconnect()
}

func TestStopOnEntry(t *testing.T) {
	b := newBench(t, 3, loop, nil)
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog", StopOnEntry: true})
	c.ConfigurationDone()
	c.Expect(daptest.Stopped(0, "entry"), daptest.Stopped(1, "entry"), daptest.Stopped(2, "entry"))
	c.Disconnect()
	if b.starts.stops() == 0 {
		t.Error("disconnect was answered before the job was stopped")
	}
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		name string
		last jobtest.Step
		code int
		says string
	}{
		{"code", jobtest.Exit(7), 7, "code 7"},
		{"signal", jobtest.Killed("SIGKILL"), 137, "SIGKILL"},
		{"lost", jobtest.DebuggerDies("gdb was killed"), 1, "gdb was killed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, 2, loop, nil)
			b.world.Rank(1).Program = []jobtest.Step{tt.last}
			c := b.running()
			got := c.Expect(daptest.Output("console", tt.says), daptest.Named("exited"), daptest.Terminated())
			var body godap.ExitedEventBody
			if err := got[1].Decode(&body); err != nil || body.ExitCode != tt.code {
				t.Errorf("exited: %s, want code %d", got[1], tt.code)
			}
			c.Disconnect()
		})
	}
}

func TestOrder(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.client()
	c.Refused("threads", nil, "threads was sent before initialize", "send initialize first")
	c.Refused("terminate", nil, "no job to terminate")
	c.Initialize()
	c.Refused("initialize", daptest.InitializeArguments(), "second time")
	c.Refused("setBreakpoints", map[string]any{"source": map[string]any{"path": "/a.c"}}, "needs a job", "launch")
	c.Refused("configurationDone", nil, "needs a job")
	c.Refused("attach", nil, "no job yet", "launch")
	c.Do("launch", protocol.LaunchArguments{Program: "/bin/prog"}, nil)
	c.Refused("continue", godap.ContinueArguments{ThreadId: 1}, "configurationDone")
	c.Refused("launch", protocol.LaunchArguments{Program: "/bin/prog"}, "has a job already")
	c.ConfigurationDone()
	c.Refused("configurationDone", nil, "second time")
	c.Do("terminate", nil, nil)
	c.Expect(daptest.Terminated())
	c.Refused("next", godap.NextArguments{ThreadId: 1}, "a client terminated it")
	var body godap.ThreadsResponseBody
	c.Do("threads", nil, &body)
	if len(body.Threads) != 0 {
		t.Errorf("threads after the end: %v", body.Threads)
	}
	c.Disconnect()
}

func TestLaunchRefused(t *testing.T) {
	b := newBench(t, 2, endless, func(b *bench) { b.starts.fail = errTest })
	c := b.client()
	c.Initialize()
	c.Refused("launch", map[string]any{}, "`program`", "`recording`")
	c.Refused("launch", map[string]any{"program": 3}, "`program`", "a string")
	c.Refused("launch", map[string]any{"program": "p", "ranks": "four"}, "`ranks`", "a whole number")
	c.Refused("launch", map[string]any{"program": "p", "ranks": -4}, "-4 ranks")
	c.Refused("launch", map[string]any{"program": "p", "yield": "perhaps"}, "\"auto\", \"on\" or \"off\"")
	c.Refused("launch", []int{1}, "JSON object")
	if len(b.starts.asked) != 0 {
		t.Errorf("the starter was asked %+v", b.starts.asked)
	}
	c.Refused("launch", map[string]any{"program": "p", "rank": 4, "type": "cohort", "__sessionId": "x"},
		"The launcher said no.")
	c.Expect(daptest.Output("important", `the argument "rank" is not known and was ignored; did you mean "ranks"?`))
	for _, e := range c.Seen("output") {
		if strings.Contains(e.String(), "sessionId") {
			t.Errorf("an editor's own key was complained about: %s", e)
		}
	}
	// The server is as before: a launch that works follows.
	b.starts.fail = nil
	c.Do("launch", protocol.LaunchArguments{Program: "/bin/prog"}, nil)
	c.Disconnect()
}

// A part of the ranks cannot be started: everybody is told which and why, and nothing is left.
func TestRanksCannotBeStarted(t *testing.T) {
	b := newBench(t, 4, endless, nil)
	b.world.Rank(2).On(jobtest.Launch, jobtest.Fail(errors.New("./prog is not executable: chmod +x it")))
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "./prog"})
	c.Refused("configurationDone", nil, "[2]", "not executable")
	c.Expect(daptest.Terminated())
	c.Disconnect()
}

func TestDisconnectDuringLaunch(t *testing.T) {
	b, c, launch := launching(t, make(chan struct{}))
	<-b.starts.begun
	c.Disconnect()
	var refusal *daptest.RequestError
	if err := launch.Wait(b.ctx, nil); !errors.As(err, &refusal) || refusal.Message != "cancelled" {
		t.Errorf("launch: %v, want it cancelled", err)
	}
}

func TestCancelLaunch(t *testing.T) {
	b, c, launch := launching(t, make(chan struct{}))
	<-b.starts.begun
	c.Refused("cancel", map[string]any{}, "`requestId`")
	c.Refused("cancel", map[string]any{"progressId": "nonsense"}, "nonsense")
	c.Do("cancel", godap.CancelArguments{RequestId: 999}, nil)
	c.Do("cancel", godap.CancelArguments{RequestId: launch.Seq}, nil)
	var refusal *daptest.RequestError
	if err := launch.Wait(b.ctx, nil); !errors.As(err, &refusal) || refusal.Message != "cancelled" {
		t.Errorf("launch: %v, want it cancelled", err)
	}
	c.Disconnect()
}

// The stream ends without a disconnect, as when an editor crashes: the job is ended all the same.
func TestConnectionLost(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.running()
	c.Close()
	b.wg.Wait()
	if b.starts.stops() == 0 {
		t.Error("the job was not stopped")
	}
}

// The server ends, as on SIGTERM.
func TestServerEnds(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	ctx, cancel := context.WithCancel(b.ctx)
	b.ctx = ctx
	c := b.running()
	cancel()
	b.wg.Wait()
	<-c.Done()
	if b.starts.stops() == 0 {
		t.Error("the job was not stopped")
	}
}

func TestNoDebug(t *testing.T) {
	b := newBench(t, 2, endless, func(b *bench) {
		b.starts.change = func(s *dap.Started) { s.Running = true }
	})
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog", NoDebug: true})
	got := c.SetBreakpoints(b.src, 10)
	if len(got) != 1 || got[0].Verified || !strings.Contains(got[0].Message, "noDebug") {
		t.Errorf("a breakpoint without debuggers: %+v", got)
	}
	c.ConfigurationDone()
	if n := b.world.Rank(0).Called(jobtest.Launch); n != 0 {
		t.Errorf("Launch was called %d times", n)
	}
	c.Disconnect()
}

// What the user has asked for is not reported as a misfortune of each rank.
func TestTerminateIsQuiet(t *testing.T) {
	b := newBench(t, 3, endless, nil)
	c := b.running()
	c.Do("terminate", nil, nil)
	c.Expect(daptest.Output("console", "The job has ended: a client terminated it."), daptest.Terminated())
	for _, e := range c.Seen("output") {
		if strings.Contains(e.String(), "SIGKILL") {
			t.Errorf("output after terminate: %s", e)
		}
	}
	c.Disconnect()
}

// VS Code's Restart ends the session with `restart` set, and launches again.
func TestRestartOfTheEditor(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	c := b.running()
	c.Do("terminate", map[string]any{"restart": true}, nil)
	c.Expect(daptest.Terminated())
	c.Do("disconnect", map[string]any{"restart": true}, nil)
}
