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

// call sends a request that needs a debugger.
func (r *remote) call(ctx context.Context, what string, req *wire.Request) (*wire.Response, error) {
	if !r.debug {
		return nil, &backend.UnsupportedError{What: what + " a rank that runs without a debugger"}
	}
	return r.client.Call(ctx, req)
}

// pick takes one part of a response; a response without it is as bad as none.
func pick[T any](response *wire.Response, err error, part func(*wire.Response) *T) (T, error) {
	var zero T
	if err != nil {
		return zero, err
	}
	value := part(response)
	if value == nil {
		return zero, errors.New("the agent's answer lacks what was asked for")
	}
	return *value, nil
}

func (r *remote) Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	response, err := r.call(ctx, "Launching", &wire.Request{Launch: &req})
	result, err := pick(response, err, func(r *wire.Response) *backend.LaunchResult { return r.Launch })
	if err == nil {
		r.pid.Store(int64(result.Pid))
	}
	return result, err
}

func (r *remote) SetBreakpoints(ctx context.Context, req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error) {
	response, err := r.call(ctx, "Setting breakpoints in", &wire.Request{SetBreakpoints: &req})
	if err != nil {
		return nil, err
	}
	return response.Breakpoints, nil
}

func (r *remote) Resume(ctx context.Context, req backend.ResumeRequest) error {
	_, err := r.call(ctx, "Resuming", &wire.Request{Resume: &req})
	return err
}

func (r *remote) Interrupt(ctx context.Context) error {
	_, err := r.call(ctx, "Interrupting", &wire.Request{Interrupt: true})
	return err
}

func (r *remote) Threads(ctx context.Context) ([]backend.Thread, error) {
	response, err := r.call(ctx, "Listing the threads of", &wire.Request{Threads: true})
	if err != nil {
		return nil, err
	}
	return response.Threads, nil
}

func (r *remote) StackTrace(ctx context.Context, req backend.StackTraceRequest) (backend.StackTraceResult, error) {
	response, err := r.call(ctx, "Reading the stack of", &wire.Request{StackTrace: &req})
	return pick(response, err, func(r *wire.Response) *backend.StackTraceResult { return r.StackTrace })
}

func (r *remote) Scopes(ctx context.Context, frame backend.FrameID) ([]backend.Scope, error) {
	response, err := r.call(ctx, "Reading the scopes of", &wire.Request{Scopes: &frame})
	if err != nil {
		return nil, err
	}
	return response.Scopes, nil
}

func (r *remote) Variables(ctx context.Context, req backend.VariablesRequest) (backend.VariablesResult, error) {
	response, err := r.call(ctx, "Reading the variables of", &wire.Request{Variables: &req})
	return pick(response, err, func(r *wire.Response) *backend.VariablesResult { return r.Variables })
}

func (r *remote) SetVariable(ctx context.Context, req backend.SetVariableRequest) (backend.Variable, error) {
	response, err := r.call(ctx, "Changing a variable of", &wire.Request{SetVariable: &req})
	return pick(response, err, func(r *wire.Response) *backend.Variable { return r.Variable })
}

func (r *remote) Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	response, err := r.call(ctx, "Evaluating in", &wire.Request{Evaluate: &req})
	return pick(response, err, func(r *wire.Response) *backend.EvaluateResult { return r.Evaluate })
}

func (r *remote) ReadMemory(ctx context.Context, addr uint64, n int) ([]byte, error) {
	response, err := r.call(ctx, "Reading the memory of", &wire.Request{ReadMemory: &wire.ReadMemory{Addr: addr, N: n}})
	if err != nil {
		return nil, err
	}
	return response.Memory, nil
}

func (r *remote) Control(ctx context.Context, req backend.ControlRequest) (backend.ControlState, error) {
	response, err := r.client.Call(ctx, &wire.Request{Control: wire.ControlOf(req)})
	return pick(response, err, func(r *wire.Response) *backend.ControlState { return r.Control })
}

func (r *remote) Input(ctx context.Context, data []byte, eof bool) error {
	_, err := r.call(ctx, "Writing to the standard input of", &wire.Request{Input: &wire.Input{Data: data, EOF: eof}})
	return err
}

// Kill returns nil if the rank has gone, whoever did it.
func (r *remote) Kill(ctx context.Context) error {
	_, err := r.client.Call(ctx, &wire.Request{Kill: true})
	if _, ended := errors.AsType[*backend.EndedError](err); ended {
		return nil
	}
	return err
}

func (r *remote) Events() <-chan backend.Event { return r.client.Events() }
