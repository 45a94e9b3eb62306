package delve

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/queue"
)

// Options are what the agent supplies. The zero value makes a backend without a control block or input.
type Options struct {
	Log *slog.Logger
	// Control serves Backend.Control from the rank's control block; nil: there is none. It may be called from any
	// goroutine.
	Control func(context.Context, backend.ControlRequest) (backend.ControlState, error)
	// Input serves Backend.Input, which is the other end of LaunchRequest.InferiorTTY; nil: input is refused.
	Input func(ctx context.Context, data []byte, eof bool) error
}

// Backend debugs one rank with Delve. It must be ended with Kill, and its Events must be read.
type Backend struct {
	opt Options
	log *slog.Logger

	calls  chan func(*owner)
	urgent chan func(*owner)
	queue  *queue.Queue[backend.Event]
	events <-chan backend.Event

	life context.Context // ends when Kill is called
	kill context.CancelFunc

	pid   atomic.Int64 // of the program; 0: none
	ended chan struct{}
	why   string // valid once ended is closed
}

var _ backend.Debugger = (*Backend)(nil)

// mostEvents bounds the events that wait to be read. Only log messages that nobody reads come near it.
const mostEvents = 1 << 18

// New makes a backend that has not launched anything yet.
func New(opt Options) *Backend {
	b := &Backend{
		opt: opt, log: opt.Log, calls: make(chan func(*owner)), urgent: make(chan func(*owner)),
		queue: queue.New[backend.Event](mostEvents, nil), ended: make(chan struct{}),
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

func (b *Backend) publish(e backend.Event) {
	if err := b.queue.Push(e); err != nil {
		b.log.Error("an event of the rank is lost", "error", err)
	}
	if e.Ended != nil {
		b.queue.Close()
	}
}

type outcome[T any] struct {
	value T
	err   error
}

// do has the owner carry out f, after the calls before it. When ctx ends first, f goes on and its outcome is dropped.
func do[T any](ctx context.Context, b *Backend, f func(*owner) (T, error)) (T, error) {
	return ask(ctx, b, b.calls, f)
}

func ask[T any](ctx context.Context, b *Backend, to chan<- func(*owner), f func(*owner) (T, error)) (T, error) {
	var none T
	done := make(chan outcome[T], 1)
	call := func(o *owner) {
		if ctx.Err() != nil {
			done <- outcome[T]{err: notServed(ctx)}
			return
		}
		v, err := f(o)
		done <- outcome[T]{v, err}
	}
	select {
	case to <- call:
	case <-ctx.Done():
		return none, notServed(ctx)
	case <-b.ended:
		return none, &backend.EndedError{Why: b.why}
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, notServed(ctx)
	}
}

// notServed is the error of a request whose context has ended; it wraps ctx.Err().
func notServed(ctx context.Context) error {
	return fmt.Errorf("the rank's debugger has not answered: %w", ctx.Err())
}

type nothing = struct{}

// Launch implements backend.Backend.
func (b *Backend) Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	return do(ctx, b, func(o *owner) (backend.LaunchResult, error) { return o.launch(req) })
}

// SetBreakpoints implements backend.Backend.
func (b *Backend) SetBreakpoints(ctx context.Context, req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error) {
	return do(ctx, b, func(o *owner) ([]backend.Breakpoint, error) { return o.setBreakpoints(req) })
}

// Resume implements backend.Backend.
func (b *Backend) Resume(ctx context.Context, req backend.ResumeRequest) error {
	_, err := do(ctx, b, func(o *owner) (nothing, error) { return nothing{}, o.resume(req) })
	return err
}

// Interrupt implements backend.Backend.
func (b *Backend) Interrupt(ctx context.Context) error {
	_, err := ask(ctx, b, b.urgent, func(o *owner) (nothing, error) {
		o.interrupt()
		return nothing{}, nil
	})
	return err
}

// Threads implements backend.Backend.
func (b *Backend) Threads(ctx context.Context) ([]backend.Thread, error) {
	return do(ctx, b, func(o *owner) ([]backend.Thread, error) {
		if err := o.needStopped("list the goroutines"); err != nil {
			return nil, err
		}
		return o.threads()
	})
}

// StackTrace implements backend.Backend.
func (b *Backend) StackTrace(ctx context.Context, req backend.StackTraceRequest) (backend.StackTraceResult, error) {
	return do(ctx, b, func(o *owner) (backend.StackTraceResult, error) { return o.stackTrace(req) })
}

// Scopes implements backend.Backend.
func (b *Backend) Scopes(ctx context.Context, frame backend.FrameID) ([]backend.Scope, error) {
	return do(ctx, b, func(o *owner) ([]backend.Scope, error) { return o.scopes(frame) })
}

// Variables implements backend.Backend.
func (b *Backend) Variables(ctx context.Context, req backend.VariablesRequest) (backend.VariablesResult, error) {
	return do(ctx, b, func(o *owner) (backend.VariablesResult, error) {
		vs, err := o.variables(req)
		return backend.VariablesResult{Variables: vs}, err
	})
}

// SetVariable implements backend.Backend.
func (b *Backend) SetVariable(ctx context.Context, req backend.SetVariableRequest) (backend.Variable, error) {
	return do(ctx, b, func(o *owner) (backend.Variable, error) { return o.setVariable(req) })
}

// Evaluate implements backend.Backend.
func (b *Backend) Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	return do(ctx, b, func(o *owner) (backend.EvaluateResult, error) { return o.evaluate(req) })
}

// maxRead bounds one ReadMemory.
const maxRead = 64 << 20

// ReadMemory implements backend.Backend, from /proc/PID/mem, which the owner is not asked for and works while the rank
// runs. Where Delve has planted a breakpoint, the trap is read.
func (b *Backend) ReadMemory(_ context.Context, addr uint64, n int) ([]byte, error) {
	pid := b.pid.Load()
	select {
	case <-b.ended:
		return nil, &backend.EndedError{Why: b.why}
	default:
	}
	if pid == 0 {
		return nil, &backend.StateError{Asked: "read memory", State: idle.String()}
	}
	if n < 0 || n > maxRead {
		return nil, fmt.Errorf("%d bytes were asked for at %#x; at most %d can be read at once", n, addr, maxRead)
	}
	buf := make([]byte, n)
	if n == 0 {
		return buf, nil
	}
	unreadable := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("no memory can be read at %#x of process %d: %w", addr, pid, err)
	}
	if addr > 1<<63-1 {
		return unreadable(os.ErrInvalid)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return unreadable(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	got, err := f.ReadAt(buf, int64(addr))
	if got == 0 {
		return unreadable(err)
	}
	return buf[:got], nil
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

// Kill implements backend.Backend. It may be called again, and returns when the program is gone.
func (b *Backend) Kill(ctx context.Context) error {
	b.kill()
	if pid := b.pid.Load(); pid != 0 {
		unix.Kill(int(pid), unix.SIGKILL) //nolint:errcheck // it has ended by itself
	}
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return notServed(ctx)
	}
}

// alone is held while a program is debugged: see the package's invariant.
var alone sync.Mutex
