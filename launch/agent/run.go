package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/executable"
	"github.com/cohort-debugger/cohort/launch/pump"
	"github.com/cohort-debugger/cohort/launch/wire"
)

// runner is an engine without a debugger: the program is a child of the agent and has the launcher's descriptors.
type runner struct {
	*rank

	// With rank.control, under rank.mu:
	process *os.Process // nil: not started, or gone
	asked   bool        // Kill was called
}

func (r *runner) launch(req backend.LaunchRequest) (backend.LaunchResult, error) {
	var none backend.LaunchResult
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.control != nil {
		return none, &backend.StateError{Asked: "start the program", State: "started already"}
	}
	if r.asked {
		return none, &backend.EndedError{Why: "it was killed before its program started"}
	}
	block, err := createControl(r.setup, r.number)
	if err != nil {
		return none, err
	}
	cmd := exec.Command(r.program, r.args...) //nolint:noctx // it ends by itself, or by kill
	cmd.Dir = r.setup.Cwd
	cmd.Env = executable.Environment(os.Environ(), programEnv(r.setup, req.Env))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var pumps []*pump.Pump
	if r.setup.Capture {
		if pumps, err = r.capture(cmd); err != nil {
			return none, err
		}
	}
	gone, cancel := context.WithCancel(context.Background())
	err = executable.Start(cmd, func() {
		err := cmd.Wait()
		cancel()
		r.finish(cmd.ProcessState, err, pumps)
	})
	for _, f := range []any{cmd.Stdout, cmd.Stderr} {
		if file, ok := f.(*os.File); ok && r.setup.Capture {
			file.Close() //nolint:errcheck // the program has its own
		}
	}
	if err != nil {
		cancel()
		for _, p := range pumps {
			p.Close()
		}
		return none, &backend.LaunchError{Program: r.program, Reason: startFailure(r.program, r.setup.Cwd, err)}
	}
	r.process = cmd.Process
	r.control = &rankControl{block: block, gone: gone}
	r.control.pid.Store(int64(cmd.Process.Pid))
	go r.control.watch(r.send)
	return backend.LaunchResult{Pid: cmd.Process.Pid}, nil
}

func startFailure(program, cwd string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("The program %s does not exist on this host (started in %q): %v.", program, cwd, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("The program %s cannot be executed: %v.", program, err)
	default:
		return fmt.Sprintf("The program %s could not be started: %v.", program, err)
	}
}

// capture gives the program pipes as its standard output and error.
func (r *runner) capture(cmd *exec.Cmd) ([]*pump.Pump, error) {
	var pumps []*pump.Pump
	for _, category := range []string{"stdout", "stderr"} {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("making a pipe for the program's output: %w", err)
		}
		p, err := pump.New(read, r.window, func(data []byte) {
			r.send(backend.Event{Output: &backend.Output{Category: category, Data: data}})
		})
		if err != nil {
			return nil, err
		}
		pumps = append(pumps, p)
		if category == "stdout" {
			cmd.Stdout = write
		} else {
			cmd.Stderr = write
		}
	}
	return pumps, nil
}

// finish reports how the program ended, after all its output.
func (r *runner) finish(state *os.ProcessState, waitErr error, pumps []*pump.Pump) {
	for _, p := range pumps {
		p.Close()
	}
	r.mu.Lock()
	r.process = nil
	last, asked := r.control.snapshot(), r.asked
	r.mu.Unlock()
	if last.Present {
		r.send(backend.Event{Control: &last})
	}
	var outcome Outcome
	ended := &backend.Ended{}
	if state == nil {
		ended.Err = fmt.Sprintf("the end of the program could not be learnt: %v", waitErr)
		outcome.Code = 1
	} else {
		status := state.Sys().(syscall.WaitStatus) //nolint:errcheck,forcetypeassert // it is that on Linux
		exited := backend.Exited{Code: status.ExitStatus()}
		outcome.Code = status.ExitStatus()
		if status.Signaled() {
			exited = backend.Exited{Signal: signalName(status.Signal())}
			outcome = Outcome{Signal: status.Signal()}
		}
		r.send(backend.Event{Exited: &exited})
	}
	r.send(backend.Event{Ended: ended})
	if asked || r.setup.Hold {
		outcome = Outcome{asked: true} // the launcher need not complain about what was asked for
	}
	r.ended <- outcome
}

func (r *runner) handle(ctx context.Context, request any) (any, error) {
	switch req := request.(type) {
	case backend.LaunchRequest:
		return r.launch(req)
	case wire.Control:
		return r.started().control(ctx, req.ControlRequest)
	}
	return nil, &backend.UnsupportedError{What: "A request other than Control and Kill, for a rank that runs " +
		"without a debugger,"}
}

func (r *runner) kill(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked {
		return nil
	}
	r.asked = true
	if r.process == nil {
		if r.control == nil {
			r.send(backend.Event{Ended: &backend.Ended{}})
			r.ended <- Outcome{asked: true} // never started; else finish says it
		}
		return nil
	}
	if err := r.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the program: %w", err)
	}
	return nil
}

// signal passes on what the launcher sent to the agent. It tells whether there is a program to end by it.
func (r *runner) signal(s os.Signal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return r.control != nil // gone already: its end is being reported
	}
	r.process.Signal(s) //nolint:errcheck // it may just have ended
	return true
}
