package base

import (
	"context"

	"github.com/cohort-debugger/cohort/backend"
)

// These are the methods of backend.Debugger.

func (b *Backend) Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	return call(ctx, b, b.engine.Launch, req)
}

func (b *Backend) SetBreakpoints(ctx context.Context, req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error) {
	return call(ctx, b, b.engine.SetBreakpoints, req)
}

func (b *Backend) Resume(ctx context.Context, req backend.ResumeRequest) error {
	_, err := stopped(ctx, b, req.Kind.String(), func(ctx context.Context, req backend.ResumeRequest) (any, error) {
		return nil, b.engine.Resume(ctx, req)
	}, req)
	return err
}

func (b *Backend) Interrupt(ctx context.Context) error {
	_, err := Do(ctx, b, b.Urgent, func(ctx context.Context) (any, error) { return nil, b.engine.Interrupt(ctx) })
	return err
}

func (b *Backend) Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	return call(ctx, b, b.engine.Evaluate, req)
}

func (b *Backend) Threads(ctx context.Context) ([]backend.Thread, error) {
	return stopped(ctx, b, "list the threads", func(ctx context.Context, _ any) ([]backend.Thread, error) {
		return b.engine.Threads(ctx)
	}, nil)
}

func (b *Backend) StackTrace(ctx context.Context, req backend.StackTraceRequest) (backend.StackTraceResult, error) {
	return stopped(ctx, b, "read the stack", b.engine.StackTrace, req)
}

func (b *Backend) Scopes(ctx context.Context, frame backend.FrameID) ([]backend.Scope, error) {
	return stopped(ctx, b, "read variables", b.engine.Scopes, frame)
}

func (b *Backend) Variables(ctx context.Context, req backend.VariablesRequest) (backend.VariablesResult, error) {
	variables, err := stopped(ctx, b, "read variables", b.engine.Variables, req)
	return backend.VariablesResult{Variables: variables}, err
}

func (b *Backend) SetVariable(ctx context.Context, req backend.SetVariableRequest) (backend.Variable, error) {
	return stopped(ctx, b, "set a variable", b.engine.SetVariable, req)
}

func (b *Backend) WriteMemory(ctx context.Context, req backend.WriteMemoryRequest) error {
	_, err := stopped(ctx, b, "write memory", func(ctx context.Context, req backend.WriteMemoryRequest) (any, error) {
		return nil, b.engine.WriteMemory(ctx, req)
	}, req)
	return err
}

func (b *Backend) Disassemble(ctx context.Context, req backend.DisassembleRequest) ([]backend.Instruction, error) {
	return stopped(ctx, b, "disassemble", b.engine.Disassemble, req)
}

func (b *Backend) ReadMemory(ctx context.Context, addr uint64, n int) ([]byte, error) {
	return call(ctx, b, func(ctx context.Context, n int) ([]byte, error) { return b.engine.ReadMemory(ctx, addr, n) },
		n)
}

// Control implements backend.Backend: there is no control block here.
func (b *Backend) Control(context.Context, backend.ControlRequest) (backend.ControlState, error) {
	return backend.ControlState{}, nil
}

// Input implements backend.Backend: the program's terminal is not known here.
func (b *Backend) Input(context.Context, []byte, bool) error {
	return &backend.UnsupportedError{What: "input to the program"}
}

func (b *Backend) FrameAt(ctx context.Context, frame backend.FrameID) (backend.Frame, error) {
	return stopped(ctx, b, "read the stack", b.engine.FrameAt, frame)
}

func (b *Backend) Resolve(ctx context.Context, frame backend.FrameID, expr string) (backend.Value, error) {
	return stopped(ctx, b, "evaluate "+expr, func(ctx context.Context, expr string) (backend.Value, error) {
		return b.engine.Resolve(ctx, frame, expr)
	}, expr)
}

func (b *Backend) AliasOf(ctx context.Context, frame backend.FrameID, name string) (string, error) {
	return stopped(ctx, b, "look up a type", func(ctx context.Context, name string) (string, error) {
		return b.engine.AliasOf(ctx, frame, name)
	}, name)
}

func (b *Backend) LineAt(ctx context.Context, pc uint64) (backend.SourceLine, error) {
	return stopped(ctx, b, "look up a line", b.engine.LineAt, pc)
}

func (b *Backend) SymbolAddress(ctx context.Context, name string) (uint64, error) {
	return stopped(ctx, b, "look up "+name, b.engine.SymbolAddress, name)
}

func (b *Backend) KernelThread(ctx context.Context, frame backend.FrameID) (int32, error) {
	return stopped(ctx, b, "look up a thread", b.engine.KernelThread, frame)
}

func (b *Backend) Target(ctx context.Context) (backend.Target, error) {
	return stopped(ctx, b, "look at the target", func(ctx context.Context, _ any) (backend.Target, error) {
		return b.engine.Target(ctx)
	}, nil)
}
