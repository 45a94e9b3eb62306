package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bare is a backend that starts a process and stops nowhere; it ends with Kill.
type bare struct {
	backend.Backend // the rest is not called
	events          chan backend.Event
	program         *exec.Cmd
}

func (b *bare) Launch(_ context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	program := exec.Command(req.Program, req.Args...)
	if err := program.Start(); err != nil {
		return backend.LaunchResult{}, err
	}
	b.program = program
	return backend.LaunchResult{Pid: program.Process.Pid, Stop: backend.Stopped{Reason: backend.ReasonEntry}}, nil
}

func (b *bare) Resume(context.Context, backend.ResumeRequest) error {
	return &backend.StateError{Asked: "resume", State: "gone"}
}

func (b *bare) Kill(context.Context) error {
	if b.program != nil {
		_ = b.program.Process.Kill()
		_ = b.program.Wait()
		b.events <- backend.Event{Exited: &backend.Exited{Signal: "SIGKILL"}}
	}
	b.events <- backend.Event{Ended: &backend.Ended{}}
	close(b.events)
	return nil
}

func (b *bare) Events() <-chan backend.Event { return b.events }

func newBare() *debugger {
	return &debugger{
		rank: &rank{log: slog.New(slog.DiscardHandler), send: func(backend.Event) {}, ended: make(chan Outcome, 1)},
		over: make(chan struct{}),
		factory: func(BackendOptions) (backend.Backend, error) {
			return &bare{events: make(chan backend.Event, 2)}, nil
		},
	}
}

func TestALaunchedRankLeavesNothingBehind(t *testing.T) {
	d := newBare()
	if _, err := d.launch(t.Context(), backend.LaunchRequest{Program: "sleep", Args: []string{"600"}}); err != nil {
		t.Fatal(err)
	}
	if err := d.kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-d.done()
	goleak.VerifyNone(t)
}

// Whatever descriptor it is that cannot be had, the launch is refused, and the rank can be ended.
func TestALaunchWithoutDescriptorsIsRefused(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for spare := range uint64(12) {
		free, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		low := unix.Rlimit{Cur: uint64(free.Fd()) + spare, Max: limit.Max}
		free.Close()
		d := newBare()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
			t.Fatal(err)
		}
		_, err = d.launch(t.Context(), backend.LaunchRequest{Program: "sleep", Args: []string{"600"}})
		if limitErr := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); limitErr != nil {
			t.Fatal(limitErr)
		}
		if errors.Is(err, unix.EMFILE) {
			refused++
		}
		if err := d.kill(t.Context()); err != nil {
			t.Error(err)
		}
		<-d.done()
		if d.terminal != nil && d.pump == nil {
			t.Errorf("with %d descriptors a terminal is left, and nobody reads it", spare)
		}
	}
	if refused == 0 {
		t.Error("no launch was refused")
	}
	goleak.VerifyNone(t)
}
