package gdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/queue"
)

// Options are what the agent supplies. The zero value makes a backend without a control block, input or decoder.
type Options struct {
	Log *slog.Logger
	// Control serves Backend.Control from the rank's control block; nil: there is none. It may be
	// called from any goroutine.
	Control func(context.Context, backend.ControlRequest) (backend.ControlState, error)
	// Input serves Backend.Input, which is the other end of LaunchRequest.InferiorTTY; nil: input is refused.
	Input func(ctx context.Context, data []byte, eof bool) error
	// Symbols are addresses of symbols that gdb may not find: in a core file whose libraries are not on this machine.
	Symbols map[string]uint64
	// Transcript, if not nil, receives all that is said to and by gdb, in the form that gdbmitest plays back.
	Transcript io.Writer
}

// Backend debugs one rank with gdb. It must be ended with Kill, and its Events must be read.
type Backend struct {
	opt Options
	log *slog.Logger

	calls  chan func(*owner)
	urgent chan func(*owner)
	queue  *queue.Queue[backend.Event]
	events <-chan backend.Event

	life context.Context // ends when Kill is called
	kill context.CancelFunc
	once sync.Once

	proc       atomic.Pointer[gdbmi.Process] // set once, by the owner
	evaluating atomic.Bool                   // gdb may be in a function of the program for a command of ours
	ended      chan struct{}
	why        string // valid once ended is closed
}

// New makes a backend that has not launched anything yet.
func New(opt Options) *Backend {
	b := &Backend{
		opt:    opt,
		log:    opt.Log,
		calls:  make(chan func(*owner)),
		urgent: make(chan func(*owner)),
		queue:  queue.New(mostEvents, backend.Event.Weight),
		ended:  make(chan struct{}),
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.events = b.queue.Chan(context.Background())
	b.life, b.kill = context.WithCancel(context.Background()) //nolint:gosec // Kill calls it
	go newOwner(b).run()
	return b
}

// Events implements backend.Backend.
func (b *Backend) Events() <-chan backend.Event { return b.events }

// Publish adds an event to the one ordered stream: the program's output and changes of the control block, which
// the agent sees first. It never blocks; after the Ended event it does nothing.
func (b *Backend) Publish(e backend.Event) {
	if err := b.queue.Push(e); errors.Is(err, queue.ErrFull) {
		b.log.Error("nobody reads the rank's events")
	}
	if e.Ended != nil {
		b.queue.Close()
	}
}

// mostEvents bounds the events that wait to be read, in bytes. Only log messages that nobody reads come near it.
const mostEvents = 64 << 20

type outcome[T any] struct {
	value T
	err   error
}

// do has the owner carry out f, after the calls before it. When ctx ends first, f goes on and its outcome is dropped.
func do[T any](ctx context.Context, b *Backend, f func(context.Context, *owner) (T, error)) (T, error) {
	var none T
	done := make(chan outcome[T], 1)
	call := func(o *owner) {
		if err := ctx.Err(); err != nil {
			done <- outcome[T]{err: notServed(ctx)}
			return
		}
		// What is begun is finished: half of it done would leave the rank in a state that nobody asked for.
		v, err := f(context.WithoutCancel(ctx), o)
		done <- outcome[T]{v, err}
	}
	select {
	case b.calls <- call:
	case <-ctx.Done():
		return none, notServed(ctx)
	case <-b.ended:
		return none, &backend.EndedError{Why: b.why}
	}
	select {
	case r := <-done:
		return r.value, b.endedInstead(r.err)
	case <-ctx.Done():
		return none, notServed(ctx)
	case <-b.ended:
	}
	select {
	case r := <-done:
		return r.value, b.endedInstead(r.err)
	default:
		return none, &backend.EndedError{Why: b.why}
	}
}

// notServed is the error of a request whose context has ended; it wraps ctx.Err().
func notServed(ctx context.Context) error {
	return fmt.Errorf("the rank's debugger has not answered: %w", ctx.Err())
}

// endedInstead turns the death of gdb under a request into the type that the interface promises.
func (b *Backend) endedInstead(err error) error {
	if dead, ok := errors.AsType[*gdbmi.DeadError](err); ok {
		return &backend.EndedError{Why: dead.Error()}
	}
	return err
}

// Interrupt implements backend.Backend. It also breaks off an evaluation that calls a function of the
// program which does not return.
func (b *Backend) Interrupt(ctx context.Context) error {
	if p := b.proc.Load(); p != nil && b.evaluating.Load() {
		return p.Interrupt()
	}
	done := make(chan error, 1)
	select {
	case b.urgent <- func(o *owner) { done <- o.interrupt(ctx) }:
	case <-ctx.Done():
		return notServed(ctx)
	case <-b.ended:
		return &backend.EndedError{Why: b.why}
	}
	select {
	case err := <-done:
		return b.endedInstead(err)
	case <-b.ended:
		return &backend.EndedError{Why: b.why}
	case <-ctx.Done():
		return notServed(ctx)
	}
}

// Control implements backend.Backend.
func (b *Backend) Control(ctx context.Context, req backend.ControlRequest) (backend.ControlState, error) {
	select {
	case <-b.ended:
		return backend.ControlState{}, &backend.EndedError{Why: b.why}
	default:
	}
	if b.opt.Control == nil {
		return backend.ControlState{}, nil
	}
	return b.opt.Control(ctx, req)
}

// Input implements backend.Backend.
func (b *Backend) Input(ctx context.Context, data []byte, eof bool) error {
	select {
	case <-b.ended:
		return &backend.EndedError{Why: b.why}
	default:
	}
	if b.opt.Input == nil {
		return &backend.UnsupportedError{What: "input to the program"}
	}
	return b.opt.Input(ctx, data, eof)
}

// Kill implements backend.Backend. It may be called again, and returns when gdb and the program are gone.
func (b *Backend) Kill(ctx context.Context) error {
	b.once.Do(b.kill)
	if p := b.proc.Load(); p != nil {
		if err := p.Close(ctx); err != nil {
			return err
		}
	}
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return notServed(ctx)
	}
}

// Evaluate implements backend.Backend.
func (b *Backend) Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	stop := context.AfterFunc(ctx, func() {
		if p := b.proc.Load(); p != nil && b.evaluating.Load() {
			_ = p.Interrupt()
		}
	})
	defer stop()
	return do(ctx, b, func(ctx context.Context, o *owner) (backend.EvaluateResult, error) {
		return o.evaluate(ctx, req)
	})
}

// cutWord reports whether s begins with the word, and returns what follows it.
func cutWord(s, word string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimSpace(s), word)
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// Variables implements backend.Backend.
func (b *Backend) Variables(ctx context.Context, req backend.VariablesRequest) (backend.VariablesResult, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (backend.VariablesResult, error) {
		vs, err := o.variables(ctx, req)
		return backend.VariablesResult{Variables: vs}, err
	})
}

// SetVariable implements backend.Backend.
func (b *Backend) SetVariable(ctx context.Context, req backend.SetVariableRequest) (backend.Variable, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (backend.Variable, error) { return o.setVariable(ctx, req) })
}

// Launch implements backend.Backend.
func (b *Backend) Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (backend.LaunchResult, error) { return o.launch(ctx, req) })
}

// SetBreakpoints implements backend.Backend.
func (b *Backend) SetBreakpoints(ctx context.Context, req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) ([]backend.Breakpoint, error) {
		return o.setBreakpoints(ctx, req)
	})
}

// Resume implements backend.Backend.
func (b *Backend) Resume(ctx context.Context, req backend.ResumeRequest) error {
	_, err := do(ctx, b, func(ctx context.Context, o *owner) (struct{}, error) {
		return struct{}{}, o.resume(ctx, req)
	})
	return err
}

// Threads implements backend.Backend.
func (b *Backend) Threads(ctx context.Context) ([]backend.Thread, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) ([]backend.Thread, error) {
		if err := o.needStopped("list the threads"); err != nil {
			return nil, err
		}
		return o.threads(ctx)
	})
}

// StackTrace implements backend.Backend.
func (b *Backend) StackTrace(ctx context.Context, req backend.StackTraceRequest) (backend.StackTraceResult, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (backend.StackTraceResult, error) {
		return o.stackTrace(ctx, req)
	})
}

// Scopes implements backend.Backend.
func (b *Backend) Scopes(ctx context.Context, frame backend.FrameID) ([]backend.Scope, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) ([]backend.Scope, error) { return o.scopes(ctx, frame) })
}

// ReadMemory implements backend.Backend.
func (b *Backend) ReadMemory(ctx context.Context, addr uint64, n int) ([]byte, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) ([]byte, error) { return o.readMemory(ctx, addr, n) })
}
