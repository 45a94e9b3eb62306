package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/agent"
)

// testBackend stands in for a debugger: it starts the program on the terminal that the agent made, and stops nowhere.
// What it does to the connection (order, blocking, errors of each type) is what the tests of the agent need; gdb itself
// is tested in backend/gdb.
type testBackend struct {
	backend.Backend // the rest is not called
	mu              sync.Mutex
	process         *os.Process
	events          chan backend.Event
	release         chan struct{}
	once            sync.Once
}

func newTestBackend(agent.BackendOptions) (backend.Backend, error) {
	return &testBackend{events: make(chan backend.Event, 100), release: make(chan struct{})}, nil
}

func (b *testBackend) Launch(_ context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	if slices.Contains(req.Args, "refused") {
		return backend.LaunchResult{}, &backend.LaunchError{Program: req.Program, Reason: "no such program"}
	}
	tty, err := os.OpenFile(req.InferiorTTY, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return backend.LaunchResult{}, err
	}
	defer tty.Close()
	cmd := exec.Command(req.Program, req.Args...)
	cmd.Env = append(os.Environ(), req.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		unlock := lockThread()
		defer unlock()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		exited := &backend.Exited{Code: status.ExitStatus()}
		if status.Signaled() {
			exited = &backend.Exited{Signal: unix.SignalName(status.Signal())}
		}
		b.events <- backend.Event{Exited: exited}
	}()
	if err := <-started; err != nil {
		return backend.LaunchResult{}, err
	}
	b.mu.Lock()
	b.process = cmd.Process
	b.mu.Unlock()
	return backend.LaunchResult{
		Pid: cmd.Process.Pid, Can: backend.Capabilities{Debugger: "test"},
		Stop: backend.Stopped{Reason: backend.ReasonEntry},
	}, nil
}

// Evaluate does as the expression says.
func (b *testBackend) Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	switch req.Expression {
	case "block":
		select {
		case <-b.release:
		case <-ctx.Done():
			return backend.EvaluateResult{}, ctx.Err()
		}
		return backend.EvaluateResult{Text: "released"}, nil
	case "state":
		return backend.EvaluateResult{}, &backend.StateError{Asked: "evaluate", State: "running"}
	case "unsupported":
		return backend.EvaluateResult{}, &backend.UnsupportedError{What: "This"}
	case "plain":
		return backend.EvaluateResult{}, errors.New("plain")
	case "die":
		b.events <- backend.Event{Ended: &backend.Ended{Err: "the debugger crashed"}}
		close(b.events)
		return backend.EvaluateResult{}, nil
	}
	return backend.EvaluateResult{Text: req.Expression}, nil
}

// Interrupt releases what blocks: it must overtake it.
func (b *testBackend) Interrupt(context.Context) error {
	b.once.Do(func() { close(b.release) })
	return nil
}

// Resume is what the agent does when the program has gone; this backend has noticed by itself.
func (b *testBackend) Resume(context.Context, backend.ResumeRequest) error {
	return &backend.StateError{Asked: "resume", State: "gone"}
}

func (b *testBackend) Kill(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.process != nil {
		_ = b.process.Kill()
	}
	defer func() { _ = recover() }() // closed by "die"
	b.events <- backend.Event{Ended: &backend.Ended{}}
	close(b.events)
	return nil
}

func (b *testBackend) Events() <-chan backend.Event { return b.events }
