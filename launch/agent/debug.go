package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/pump"
	"github.com/cohort-debugger/cohort/launch/wire"
)

// BackendOptions are for the factory of the debugger.
type BackendOptions struct {
	Rank     int
	Program  string // that is to be debugged, as the user named it
	Cwd      string
	Debugger string // "gdb", "delve" or "", as in launch.Options
	Log      *slog.Logger
}

// NewBackend starts a debugger. It must see to it that the debugger dies with this process.
type NewBackend func(BackendOptions) (backend.Backend, error)

// debugger is an engine with a debugger between the agent and the program. It outlives the program and the debugger, so
// that the launcher does not end the other ranks; Kill ends it.
type debugger struct {
	*rank
	factory NewBackend

	// With rank.control, under rank.mu:
	backend  backend.Backend
	terminal *terminal
	pump     *pump.Pump
	left     context.CancelFunc // the program has gone
	killed   bool
	over     chan struct{} // closed when the backend's last event has been sent
}

func (d *debugger) launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	d.mu.Lock()
	if d.killed || d.control != nil {
		d.mu.Unlock()
		return backend.LaunchResult{}, &backend.StateError{Asked: "start the program", State: "started already"}
	}
	err := d.prepare(&req)
	b := d.backend
	d.mu.Unlock()
	if err != nil {
		return backend.LaunchResult{}, err
	}
	result, err := b.Launch(ctx, req)
	if err != nil {
		return backend.LaunchResult{}, err
	}
	d.control.pid.Store(int64(result.Pid))
	go d.control.watch(d.send)
	go d.watchProgram(b, result.Pid)
	result.Stop.Control = d.control.snapshot()
	if d.number != 0 {
		// Launchers give the standard input to rank 0; the others find it at its end.
		if err := d.terminal.send(ctx, nil, true); err != nil {
			d.log.Warn("ending the standard input of a rank", "rank", d.number, "err", err)
		}
	}
	return result, nil
}

// prepare makes what must be there before the debugger starts the program, and completes the request. The caller holds
// mu.
func (d *debugger) prepare(req *backend.LaunchRequest) error {
	if d.factory == nil {
		return &backend.UnsupportedError{What: "Debugging"}
	}
	if err := d.complete(req); err != nil {
		return err
	}
	var err error
	if d.backend == nil {
		if d.backend, err = d.factory(BackendOptions{
			Rank: d.number, Program: req.Program, Cwd: req.Cwd, Debugger: d.setup.Debugger, Log: d.log,
		}); err != nil {
			return err
		}
	}
	block, err := createControl(d.setup, d.number)
	if err != nil {
		return err
	}
	terminal, err := openTerminal()
	if err != nil {
		return err
	}
	output, err := pump.New(terminal.master, d.window, func(data []byte) {
		d.send(backend.Event{Output: &backend.Output{Category: "stdout", Data: data}})
	})
	if err != nil {
		terminal.close()
		return err
	}
	d.terminal, d.pump = terminal, output
	gone, left := context.WithCancel(context.Background())
	d.control, d.left = &rankControl{block: block, gone: gone}, left
	req.Env = programEnv(d.setup, req.Env)
	req.InferiorTTY = d.terminal.name()
	req.HasControl = block != nil
	go d.forward(d.backend.Events())
	return nil
}

// complete puts into a request what this agent knows. The program is its own: the launcher may have been given several.
func (d *debugger) complete(req *backend.LaunchRequest) error {
	if d.program != "" {
		req.Program, req.Args = d.program, d.args
	}
	if req.Cwd == "" {
		req.Cwd = d.setup.Cwd
	}
	if req.Cwd == "" {
		cwd, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("finding the working directory of the rank: %w", err)
		}
		req.Cwd = cwd
	}
	if req.DebuggerPath == "" {
		req.DebuggerPath = d.setup.Gdb
	}
	return nil
}

// forward passes the backend's events on, in order with the program's output, and adds what only the agent knows.
func (d *debugger) forward(events <-chan backend.Event) {
	defer close(d.over)
	for event := range events {
		switch {
		case event.Stopped != nil:
			d.pump.Drain()
			stopped := *event.Stopped
			stopped.Control = d.control.snapshot()
			event.Stopped = &stopped
		case event.Exited != nil, event.Ended != nil:
			d.pump.Drain()
			d.leave()
		}
		d.send(event)
	}
}

// leave notes that the program has gone. Its last counters go out first. For forward only.
func (d *debugger) leave() {
	if d.control.gone.Err() != nil {
		return
	}
	d.left()
	if last := d.control.snapshot(); last.Present {
		d.send(backend.Event{Control: &last})
	}
}

func (d *debugger) handle(ctx context.Context, request any) (any, error) {
	d.mu.Lock()
	b, term, control := d.backend, d.terminal, d.control
	d.mu.Unlock()
	switch req := request.(type) {
	case backend.LaunchRequest:
		return d.launch(ctx, req)
	case wire.Control:
		return control.control(ctx, req.ControlRequest)
	case wire.Input:
		if term != nil {
			return nil, term.send(ctx, req.Data, req.EOF)
		}
	}
	if b == nil || term == nil {
		return nil, &backend.StateError{Asked: "do this", State: "not started"}
	}
	return ask(ctx, b, request)
}

// ask carries out what only the backend can.
func ask(ctx context.Context, b backend.Backend, request any) (any, error) {
	switch req := request.(type) {
	case backend.SetBreakpointsRequest:
		return b.SetBreakpoints(ctx, req)
	case backend.ResumeRequest:
		return nil, b.Resume(ctx, req)
	case backend.StackTraceRequest:
		return b.StackTrace(ctx, req)
	case backend.FrameID:
		return b.Scopes(ctx, req)
	case backend.VariablesRequest:
		return b.Variables(ctx, req)
	case backend.SetVariableRequest:
		return b.SetVariable(ctx, req)
	case backend.EvaluateRequest:
		return b.Evaluate(ctx, req)
	case backend.WriteMemoryRequest:
		return nil, b.WriteMemory(ctx, req)
	case backend.DisassembleRequest:
		return b.Disassemble(ctx, req)
	case wire.ReadMemory:
		return b.ReadMemory(ctx, req.Addr, req.N)
	case wire.Command:
		switch req {
		case wire.Interrupt:
			return nil, b.Interrupt(ctx)
		case wire.Threads:
			return b.Threads(ctx)
		case wire.Kill: // the agent's
		}
	}
	return nil, fmt.Errorf("the agent was sent a %T, which it does not know", request)
}

// kill ends the program, the debugger and this engine.
func (d *debugger) kill(ctx context.Context) error {
	d.mu.Lock()
	if d.killed {
		d.mu.Unlock()
		return nil
	}
	d.killed = true
	b, launched := d.backend, d.control != nil
	d.mu.Unlock()
	var err error
	if b != nil {
		err = b.Kill(ctx)
		if _, ended := errors.AsType[*backend.EndedError](err); ended {
			err = nil
		}
	}
	if b != nil && launched {
		select {
		case <-d.over:
		case <-ctx.Done():
			err = errors.Join(err, fmt.Errorf("the debugger did not end: %w", ctx.Err()))
		}
	} else {
		d.send(backend.Event{Ended: &backend.Ended{}})
	}
	if d.terminal != nil {
		d.pump.Close()
		d.terminal.close()
	}
	d.ended <- Outcome{asked: true}
	return err
}

// signal: the launcher ends the rank, so the debugger goes too.
func (d *debugger) signal(os.Signal) bool { return false }
