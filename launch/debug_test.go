package launch

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/wire"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

func TestDebugInputOutputAndEnd(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		s := start(t, mpi, Options{
			Ranks: 2, Program: mpi.Build(t, "stdin.c"), Mode: Debug,
			Output: func(OutputChunk) {},
		})
		var out collector
		exited := make([]bool, 2)
		wait := drain(s, func(rank int, event backend.Event) {
			switch {
			case event.Output != nil:
				if exited[rank] {
					t.Errorf("rank %d: output %q after its exit", rank, event.Output.Data)
				}
				out.take(OutputChunk{Rank: rank, Data: event.Output.Data})
			case event.Exited != nil:
				exited[rank] = true
			}
		})
		launchAll(t, s)
		zero := s.Ranks()[0].Backend()
		if err := zero.Input(testContext(t), []byte("one\ntwo"), false); err != nil {
			t.Fatal(err)
		}
		if err := zero.Input(testContext(t), nil, true); err != nil {
			t.Fatal(err)
		}
		r := s.Wait() // all programs have ended, so the session ends by itself
		wait()
		if r.First() != -1 {
			t.Errorf("result %+v", r)
		}
		if want := "stdin: ready\nstdin: line 1: one\nstdin: line 2: two\nstdin: rank 0: 2 lines\n"; out.of(0) != want {
			t.Errorf("rank 0 wrote %q, want %q", out.of(0), want)
		}
	})
}

func TestDebugErrorsCross(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	s := start(t, mpi, Options{Ranks: 1, Program: mpi.Build(t, "stdin.c"), Mode: Debug, Output: func(OutputChunk) {}})
	wait := drain(s, nil)
	defer wait()
	b := s.Ranks()[0].Backend()
	evaluate := func(expression string) error {
		_, err := b.Evaluate(testContext(t), backend.EvaluateRequest{Expression: expression})
		return err
	}
	var state *backend.StateError
	if err := evaluate("1"); !errors.As(err, &state) {
		t.Errorf("before Launch: %v", err)
	}
	launchAll(t, s)
	if err := evaluate("state"); !errors.As(err, &state) || state.State != "running" {
		t.Errorf("state: %v", err)
	}
	if err := evaluate("unsupported"); !errors.As(err, new(*backend.UnsupportedError)) {
		t.Errorf("unsupported: %v", err)
	}
	if err := evaluate("plain"); err == nil || err.Error() != "plain" {
		t.Errorf("plain: %v", err)
	}
	if _, err := b.Launch(testContext(t), backend.LaunchRequest{}); !errors.As(err, &state) {
		t.Errorf("a second launch: %v", err)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	blocked := make(chan error, 1)
	go func() {
		_, err := b.Evaluate(ctx, backend.EvaluateRequest{Expression: "block"})
		blocked <- err
	}()
	cancel()
	if err := <-blocked; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := evaluate("1"); err != nil {
		t.Errorf("after a cancelled request: %v", err)
	}
	s.Stop(testContext(t))
}

func TestDebugLaunchError(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	s := start(t, mpi, Options{
		Ranks: 1, Program: mpi.Build(t, "hello.c"), Args: []string{"refused"}, Mode: Debug,
		Output: func(OutputChunk) {},
	})
	wait := drain(s, nil)
	defer wait()
	var failed *backend.LaunchError
	_, err := s.Ranks()[0].Backend().Launch(testContext(t), backend.LaunchRequest{})
	if !errors.As(err, &failed) || failed.Reason != "no such program" {
		t.Errorf("error %v", err)
	}
	s.Stop(testContext(t))
}

// A debugger that crashes is an event of its rank; the others continue.
func TestDebuggerCrash(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		s := start(t, mpi, Options{
			Ranks: 2, Program: mpi.Build(t, "stdin.c"), Mode: Debug,
			Output: func(OutputChunk) {},
		})
		lost := make(chan string, 2)
		wait := drain(s, func(rank int, event backend.Event) {
			if event.Ended != nil && rank == 1 {
				lost <- event.Ended.Err
			}
		})
		launchAll(t, s)
		if _, err := s.Ranks()[1].Backend().Evaluate(testContext(t),
			backend.EvaluateRequest{Expression: "die"}); err != nil {
			t.Errorf("die: %v", err)
		}
		if why := <-lost; why != "the debugger crashed" {
			t.Errorf("rank 1 ended with %q", why)
		}
		if r, err := s.Ranks()[0].Backend().Evaluate(testContext(t),
			backend.EvaluateRequest{Expression: "alive"}); err != nil || r.Text != "alive" {
			t.Errorf("rank 0: %+v, %v", r, err)
		}
		s.Stop(testContext(t))
		wait()
	})
}

// Some ranks without a debugger: they run at once, and wait for the others in MPI_Init.
func TestDebugSomeRanks(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		s := start(t, mpi, Options{
			Ranks: 3, Program: mpi.Build(t, "hello.c"), Mode: Debug, DebugRanks: []int{1},
			Output: func(OutputChunk) {},
		})
		var out collector
		wait := drain(s, func(rank int, event backend.Event) {
			if event.Output != nil {
				out.take(OutputChunk{Rank: rank, Data: event.Output.Data})
			}
		})
		for i, rank := range s.Ranks() {
			if rank.debug != (i == 1) {
				t.Errorf("rank %d debugged: %v", i, rank.debug)
			}
		}
		if _, err := s.Ranks()[0].Backend().Launch(testContext(t), backend.LaunchRequest{}); !errors.As(err,
			new(*backend.UnsupportedError)) {
			t.Errorf("launching a rank that runs: %v", err)
		}
		if _, err := s.Ranks()[1].Backend().Launch(testContext(t), backend.LaunchRequest{}); err != nil {
			t.Fatal(err)
		}
		r := s.Wait()
		wait()
		if r.First() != -1 {
			t.Errorf("result %+v", r)
		}
		for i := range 3 {
			if !strings.Contains(out.of(i), "of 3\n") {
				t.Errorf("rank %d wrote %q", i, out.of(i))
			}
		}
	})
}

// Strangers at the socket: without the token, with a rank that is there already, with rubbish, or silent. The job does
// not mind.
func TestStrangersAreRefused(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	s := start(t, mpi, Options{Ranks: 2, Program: mpi.Build(t, "stdin.c"), Mode: Debug, Output: func(OutputChunk) {}})
	wait := drain(s, nil)
	defer wait()
	dial := func() net.Conn {
		conn, err := net.Dial("unix", s.dir.Socket())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	hello := wire.Hello{Version: Build(), Token: s.dir.Token, Rank: 1, Size: 2}
	for name, c := range map[string]struct {
		change func(*wire.Hello)
		want   string
	}{
		"token":     {func(h *wire.Hello) { h.Token = "guess" }, "token"},
		"version":   {func(h *wire.Hello) { h.Version = "other" }, "same build"},
		"duplicate": {func(*wire.Hello) {}, "has an agent already"},
		"rank":      {func(h *wire.Hello) { h.Rank = 2 }, "ranks 0 to 1"},
	} {
		h := hello
		c.change(&h)
		err := wire.Introduce(dial(), h)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a refusal with %q", name, err, c.want)
		}
	}
	if _, err := dial().Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Error(err)
	}
	dial() // says nothing
	launchAll(t, s)
	if r, err := s.Ranks()[1].Backend().Evaluate(testContext(t),
		backend.EvaluateRequest{Expression: "fine"}); err != nil || r.Text != "fine" {
		t.Errorf("rank 1 after all that: %+v, %v", r, err)
	}
	s.Stop(testContext(t)) // although one of them is still silent
}

// Whoever stops a job need not have read all that its ranks have said.
func TestStopWithUnreadEvents(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	s := start(t, mpi, Options{Ranks: 2, Program: mpi.Build(t, "stdin.c"), Mode: Debug, Output: func(OutputChunk) {}})
	launchAll(t, s)
	s.Stop(testContext(t))
	goleak.VerifyNone(t)
}
