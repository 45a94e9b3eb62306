package dap_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

// awaited is a client of two ranks that have stopped at their entry, with a breakpoint on line 10. The time is
// synctest's.
func awaited(t *testing.T, first, second func(src string) []jobtest.Step, do func(b *bench, c *daptest.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2, first, nil)
		b.world.Rank(1).Program = second(b.src)
		c := b.client()
		c.Launch(protocol.LaunchArguments{Program: "/bin/prog", StopOnEntry: true})
		c.SetBreakpoints(b.src, 10)
		c.ConfigurationDone()
		c.Expect(append(all(2, "entry"), daptest.Idle())...)
		do(b, c)
		c.Disconnect()
	})
}

// computes never comes to an end.
func computes(string) []jobtest.Step { return []jobtest.Step{jobtest.Block("", nil)} }

// receives waits for a message of rank 0.
func receives(string) []jobtest.Step { return []jobtest.Step{jobtest.Receive(0, 1)} }

// waitBoth waits for both ranks, and tells what they are in then.
func waitBoth(c *daptest.Client) (states string, body protocol.RanksBody) {
	c.Do(protocol.RequestWaitIdle, protocol.WaitArguments{Ranks: "0-1"}, &body)
	for _, r := range body.Ranks {
		states += r.State + " "
	}
	return strings.TrimSpace(states), body
}

// Who waits for ranks waits for the last of them, however long the others have stopped.
func TestWaitForRanksThatCompute(t *testing.T) {
	var late chan struct{}
	awaited(t, loop, func(src string) []jobtest.Step {
		late = make(chan struct{})
		return []jobtest.Step{jobtest.Block("", late), jobtest.Line(src, 10)}
	}, func(_ *bench, c *daptest.Client) {
		if got := c.Console("continue", 0); got != "continue: ranks [0-1]." {
			t.Errorf("continue says %q", got)
		}
		time.AfterFunc(time.Minute, func() { close(late) })
		if states, _ := waitBoth(c); states != "stopped stopped" {
			t.Errorf("the ranks are %s", states)
		}
	})
}

// A rank that is in an MPI call for which a rank that has stopped is missing is not waited for, and it is said where it
// is.
func TestWaitForRanksThatCannotGetOn(t *testing.T) {
	awaited(t, loop, receives,
		func(_ *bench, c *daptest.Client) {
			c.Console("continue", 0)
			if states, body := waitBoth(c); states != "stopped running" || body.Ranks[1].Call == "" {
				t.Errorf("the ranks are %s: %+v", states, body.Ranks)
			}
			if got := c.Console("ranks", 0); !strings.Contains(got, "[1] running calling MPI call") {
				t.Errorf("ranks says:\n%s", got)
			}
		})
}

// What a rank does that is too busy to say where it is is not known: it is waited for.
func TestWaitForRanksThatAnswerLate(t *testing.T) {
	var late chan struct{}
	awaited(t, loop, func(src string) []jobtest.Step {
		late = make(chan struct{})
		return []jobtest.Step{jobtest.Block("", late), jobtest.Line(src, 10)}
	}, func(b *bench, c *daptest.Client) {
		f := b.world.Rank(1)
		f.On(jobtest.Control, f.NeverAnswer())
		c.Console("continue", 0)
		time.AfterFunc(time.Minute, func() { close(late) })
		if states, _ := waitBoth(c); states != "stopped stopped" {
			t.Errorf("the ranks are %s", states)
		}
	})
}

// Ranks that have ended have been waited for when the client knows that the job has.
func TestWaitForRanksThatEnd(t *testing.T) {
	ends := func(string) []jobtest.Step { return []jobtest.Step{jobtest.Exit(0)} }
	awaited(t, ends, ends, func(_ *bench, c *daptest.Client) {
		c.Console("continue", 0)
		if states, _ := waitBoth(c); states != "exited exited" || len(c.Seen("terminated")) != 1 {
			t.Errorf("the ranks are %s, and the client was told %v", states, c.Seen("terminated"))
		}
	})
}

// A deadline: the ranks that still run when it is over are paused.
func TestContinueWithADeadline(t *testing.T) {
	awaited(t, loop, computes,
		func(_ *bench, c *daptest.Client) {
			if got := c.Console("continue 10s", 0); !strings.Contains(got, "10s are over: paused ranks [1].") {
				t.Errorf("it says %q", got)
			}
			c.Expect(daptest.Stopped(0, "breakpoint"), daptest.Stopped(1, "pause"))
			for _, line := range []string{"continue 10", "continue soon", "continue -3s", "wait soon"} {
				c.Refused("evaluate", godap.EvaluateArguments{Expression: line, Context: "repl"}, "which is no time to wait")
			}
		})
}

// wait has an end, and leaves the ranks as they are.
func TestWaitForSeconds(t *testing.T) {
	awaited(t, loop, receives,
		func(_ *bench, c *daptest.Client) {
			c.Console("continue", 0)
			for _, line := range []string{"wait 3", "wait 3s"} {
				if got := c.Console(line, 0); !strings.Contains(got, "[0] stopped") ||
					!strings.Contains(got, "[1] running calling MPI call") {
					t.Errorf("%s says:\n%s", line, got)
				}
			}
		})
}

// A pause overtakes run and wait, and ends them.
func TestPauseEndsRun(t *testing.T) {
	for line, says := range map[string]string{"run": "The run was paused.", "wait": "[0-1] stopped (pause)"} {
		t.Run(line, func(t *testing.T) {
			awaited(t, computes, computes,
				func(b *bench, c *daptest.Client) {
					if line == "wait" {
						c.Console("continue", 0)
					}
					call, err := c.Send("evaluate", godap.EvaluateArguments{Expression: line, Context: "repl"})
					if err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					c.Pause(0)
					var body godap.EvaluateResponseBody
					if err := call.Wait(b.ctx, &body); err != nil || !strings.Contains(body.Result, says) {
						t.Errorf("%s says %q (%v)", line, body.Result, err)
					}
				})
		})
	}
}

// A breakpoint at the place where ranks have stopped: continue leaves that place, which the answer says.
func TestBreakWhereRanksAre(t *testing.T) {
	b := newBench(t, 2, loop, nil)
	c := b.atLine()
	if got := c.Console("break "+b.src+":10 ranks 1", 0); !strings.Contains(got, "Ranks [1] are there already") {
		t.Errorf("it says %q", got)
	}
	if got := c.Console("break "+b.src+":11", 0); strings.Contains(got, "already") {
		t.Errorf("it says %q", got)
	}
	c.Disconnect()
}
