package launch

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/wire"
)

// remote is a backend.Backend whose work is done by the agent at the other end of a connection.
type remote struct {
	client *wire.Client
	debug  bool
	pid    *atomic.Int64 // of the program, set by Launch
}

var _ backend.Backend = (*remote)(nil)

// do sends a request that needs a debugger; what it does is for the refusal of a rank without one.
func (r *remote) do(ctx context.Context, what string, request any) (any, error) {
	if !r.debug {
		return nil, &backend.UnsupportedError{What: what + " a rank that runs without a debugger"}
	}
	return r.client.Call(ctx, request)
}

// ask is do for a request whose answer is a T.
func ask[T any](ctx context.Context, r *remote, what string, request any) (T, error) {
	body, err := r.do(ctx, what, request)
	return wire.As[T](body, err)
}

func (r *remote) Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	result, err := ask[backend.LaunchResult](ctx, r, "Launching", req)
	if err == nil {
		r.pid.Store(int64(result.Pid))
	}
	return result, err
}

func (r *remote) SetBreakpoints(ctx context.Context, req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error) {
	return ask[[]backend.Breakpoint](ctx, r, "Setting breakpoints in", req)
}

func (r *remote) Resume(ctx context.Context, req backend.ResumeRequest) error {
	_, err := r.do(ctx, "Resuming", req)
	return err
}

func (r *remote) Interrupt(ctx context.Context) error {
	_, err := r.do(ctx, "Interrupting", wire.Interrupt)
	return err
}

func (r *remote) Threads(ctx context.Context) ([]backend.Thread, error) {
	return ask[[]backend.Thread](ctx, r, "Listing the threads of", wire.Threads)
}

func (r *remote) StackTrace(ctx context.Context, req backend.StackTraceRequest) (backend.StackTraceResult, error) {
	return ask[backend.StackTraceResult](ctx, r, "Reading the stack of", req)
}

func (r *remote) Scopes(ctx context.Context, frame backend.FrameID) ([]backend.Scope, error) {
	return ask[[]backend.Scope](ctx, r, "Reading the scopes of", frame)
}

func (r *remote) Variables(ctx context.Context, req backend.VariablesRequest) (backend.VariablesResult, error) {
	return ask[backend.VariablesResult](ctx, r, "Reading the variables of", req)
}

func (r *remote) SetVariable(ctx context.Context, req backend.SetVariableRequest) (backend.Variable, error) {
	return ask[backend.Variable](ctx, r, "Changing a variable of", req)
}

func (r *remote) Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	return ask[backend.EvaluateResult](ctx, r, "Evaluating in", req)
}

func (r *remote) ReadMemory(ctx context.Context, addr uint64, n int) ([]byte, error) {
	return ask[[]byte](ctx, r, "Reading the memory of", wire.ReadMemory{Addr: addr, N: n})
}

func (r *remote) WriteMemory(ctx context.Context, req backend.WriteMemoryRequest) error {
	_, err := r.do(ctx, "Writing to the memory of", req)
	return err
}

func (r *remote) Disassemble(ctx context.Context, req backend.DisassembleRequest) ([]backend.Instruction, error) {
	return ask[[]backend.Instruction](ctx, r, "Disassembling", req)
}

func (r *remote) Control(ctx context.Context, req backend.ControlRequest) (backend.ControlState, error) {
	body, err := r.client.Call(ctx, wire.Control{ControlRequest: req})
	return wire.As[backend.ControlState](body, err)
}

func (r *remote) Input(ctx context.Context, data []byte, eof bool) error {
	_, err := r.do(ctx, "Writing to the standard input of", wire.Input{Data: data, EOF: eof})
	return err
}

// Kill returns nil if the rank has gone, whoever did it.
func (r *remote) Kill(ctx context.Context) error {
	_, err := r.client.Call(ctx, wire.Kill)
	if _, ended := errors.AsType[*backend.EndedError](err); ended {
		return nil
	}
	return err
}

func (r *remote) Events() <-chan backend.Event { return r.client.Events() }
