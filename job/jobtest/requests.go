package jobtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Launch implements backend.Backend.
func (f *Fake) Launch(ctx context.Context, req backend.LaunchRequest) (res backend.LaunchResult, err error) {
	err = f.request(ctx, Launch, req, true, func() error {
		if f.launched {
			return &backend.StateError{Asked: "launch", State: "launched already"}
		}
		f.launched = true
		f.stop(backend.Stopped{Reason: backend.ReasonEntry})
		stop := *f.queue[len(f.queue)-1].Stopped
		if !f.EntryEvent {
			f.queue = f.queue[:len(f.queue)-1]
		}
		res = backend.LaunchResult{Pid: 1000 + f.Rank, Stop: stop, Can: backend.Capabilities{Debugger: "jobtest"}}
		f.w.wg.Add(1)
		go f.interpret()
		return nil
	})
	return res, err
}

// SetBreakpoints implements backend.Backend.
func (f *Fake) SetBreakpoints(ctx context.Context, req backend.SetBreakpointsRequest) (out []backend.Breakpoint,
	err error,
) {
	err = f.request(ctx, SetBreakpoints, req, true, func() error {
		if !f.launched {
			return &backend.StateError{Asked: "set breakpoints", State: "not launched"}
		}
		out = f.setBreakpoints(req)
		return nil
	})
	return out, err
}

// state is a *StateError unless the program is stopped.
func (f *Fake) mustStand(asked string) error {
	switch {
	case !f.launched:
		return &backend.StateError{Asked: asked, State: "not launched"}
	case f.dead:
		return &backend.StateError{Asked: asked, State: "exited"}
	case !f.stopped:
		return &backend.StateError{Asked: asked, State: "running"}
	}
	return nil
}

// Resume implements backend.Backend.
func (f *Fake) Resume(ctx context.Context, req backend.ResumeRequest) error {
	return f.request(ctx, Resume, req, true, func() error {
		if err := f.mustStand("resume"); err != nil {
			return err
		}
		f.stopped = false
		f.stepping = req.Kind
		f.w.changed.Broadcast()
		return nil
	})
}

// Interrupt implements backend.Backend.
func (f *Fake) Interrupt(ctx context.Context) error {
	return f.request(ctx, Interrupt, nil, false, func() error {
		if f.launched && !f.stopped && !f.dead && !f.DeafToInterrupt {
			f.pausing = true
			f.w.changed.Broadcast()
		}
		return nil
	})
}

// Threads implements backend.Backend.
func (f *Fake) Threads(ctx context.Context) (out []backend.Thread, err error) {
	err = f.request(ctx, Threads, nil, true, func() (err error) {
		if err = f.mustStand("list threads"); err == nil {
			out = []backend.Thread{{ID: 1, Name: "main"}}
			if f.OnThreads != nil {
				out, err = f.OnThreads()
			}
		}
		return err
	})
	return out, err
}

// StackTrace implements backend.Backend.
func (f *Fake) StackTrace(ctx context.Context, req backend.StackTraceRequest) (res backend.StackTraceResult,
	err error,
) {
	err = f.request(ctx, StackTrace, req, true, func() error {
		if err := f.mustStand("show the stack"); err != nil {
			return err
		}
		if f.OnStackTrace != nil {
			res, err = f.OnStackTrace(req)
			return err
		}
		all := f.frames(f.ctl.state == abi.StateStopped)
		res = backend.StackTraceResult{Total: len(all)}
		if req.Start < len(all) {
			res.Frames = all[req.Start:]
			if req.Count > 0 && req.Count < len(res.Frames) {
				res.Frames = res.Frames[:req.Count]
			}
		}
		return nil
	})
	return res, err
}

// Scopes implements backend.Backend.
func (f *Fake) Scopes(ctx context.Context, frame backend.FrameID) (out []backend.Scope, err error) {
	err = f.request(ctx, Scopes, frame, true, func() error {
		if err := f.mustStand("list scopes"); err != nil {
			return err
		}
		if f.OnScopes != nil {
			out, err = f.OnScopes(frame)
			return err
		}
		out = []backend.Scope{{Name: "Locals", Kind: "locals", Ref: 1, Named: len(f.Values)}}
		return nil
	})
	return out, err
}

// Variables implements backend.Backend.
func (f *Fake) Variables(ctx context.Context, req backend.VariablesRequest) (res backend.VariablesResult, err error) {
	err = f.request(ctx, Variables, req, true, func() error {
		if err := f.mustStand("list variables"); err != nil {
			return err
		}
		if f.OnVariables != nil {
			res, err = f.OnVariables(req)
			return err
		}
		var names []string
		for name := range f.Values {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			res.Variables = append(res.Variables, backend.Variable{
				Name: name, Value: f.Values[name], Type: "int",
				EvaluateName: name,
			})
		}
		return nil
	})
	return res, err
}

// SetVariable implements backend.Backend.
func (f *Fake) SetVariable(ctx context.Context, req backend.SetVariableRequest) (v backend.Variable, err error) {
	err = f.request(ctx, SetVariable, req, true, func() error {
		if err := f.mustStand("set a variable"); err != nil {
			return err
		}
		if f.OnSetVariable != nil {
			v, err = f.OnSetVariable(req)
			return err
		}
		if _, ok := f.Values[req.Name]; !ok {
			return fmt.Errorf("no symbol %q in current context", req.Name)
		}
		f.Values[req.Name] = req.Value
		v = backend.Variable{Name: req.Name, Value: req.Value, Type: "int", EvaluateName: req.Name}
		return nil
	})
	return v, err
}

// Evaluate implements backend.Backend.
func (f *Fake) Evaluate(ctx context.Context, req backend.EvaluateRequest) (res backend.EvaluateResult, err error) {
	err = f.request(ctx, Evaluate, req, true, func() error {
		if err := f.mustStand("evaluate " + req.Expression); err != nil {
			return err
		}
		if f.OnEvaluate != nil {
			res, err = f.OnEvaluate(req)
			return err
		}
		expr := strings.TrimPrefix(strings.TrimPrefix(req.Expression, "print "), "p ")
		v, ok := f.Values[expr]
		if !ok {
			return fmt.Errorf("no symbol %q in current context", expr)
		}
		res.Name, res.Value, res.Text, res.Type, res.EvaluateName = expr, v, v, "int", expr
		return nil
	})
	return res, err
}

// ReadMemory implements backend.Backend.
func (f *Fake) ReadMemory(ctx context.Context, addr uint64, n int) (out []byte, err error) {
	err = f.request(ctx, ReadMemory, [2]uint64{addr, uint64(n)}, true, func() error {
		if err := f.mustStand("read memory"); err != nil {
			return err
		}
		if f.OnReadMemory == nil {
			return fmt.Errorf("cannot access memory at address %#x", addr)
		}
		out, err = f.OnReadMemory(addr, n)
		return err
	})
	return out, err
}

// WriteMemory implements backend.Backend.
func (f *Fake) WriteMemory(ctx context.Context, req backend.WriteMemoryRequest) error {
	return f.request(ctx, WriteMemory, req, true, func() error {
		if err := f.mustStand("write memory"); err != nil {
			return err
		}
		if f.OnWriteMemory == nil {
			return fmt.Errorf("cannot access memory at address %#x", req.Addr)
		}
		return f.OnWriteMemory(req)
	})
}

// Disassemble implements backend.Backend.
func (f *Fake) Disassemble(context.Context, backend.DisassembleRequest) ([]backend.Instruction, error) {
	return nil, &backend.UnsupportedError{What: "Disassembling"}
}

// Control implements backend.Backend.
func (f *Fake) Control(ctx context.Context, req backend.ControlRequest) (s backend.ControlState, err error) {
	err = f.request(ctx, Control, req, false, func() error {
		f.control(req)
		if req.Wait {
			err := f.w.wait(ctx, func() bool { return f.dead || f.ended || f.ctl.settled() })
			if err != nil {
				return err
			}
		}
		if f.ended {
			return &backend.EndedError{Why: f.endedWhy}
		}
		s = f.snapshot()
		return nil
	})
	return s, err
}

// Input implements backend.Backend.
func (f *Fake) Input(ctx context.Context, data []byte, eof bool) error {
	return f.request(ctx, Input, string(data), true, func() error {
		f.input = append(f.input, data...)
		f.inputEOF = f.inputEOF || eof
		return nil
	})
}

// Kill implements backend.Backend.
func (f *Fake) Kill(ctx context.Context) error {
	return f.request(ctx, Kill, nil, false, func() error {
		f.exit(0, "SIGKILL")
		f.endLocked("")
		return nil
	})
}
