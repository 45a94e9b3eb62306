// Package base is what the backends have in common: the goroutine that owns a rank and carries out requests one after
// the other, the stream of events, and what each has to know of breakpoints, references and memory.
package base

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/queue"
)

// State of a rank.
type State int

// The states.
const (
	NotStarted State = iota
	Starting         // running towards the entry
	Stopped
	Running
	Exited
)

func (s State) String() string {
	return [...]string{"not started", "starting", "stopped", "running", "gone: its program has ended"}[s]
}

// An Engine is a debugger of one rank. One goroutine, the owner of the rank, calls all its methods, which are those of
// package backend. Those from Threads on, and an Inspector's but ReadMemory, are called while the rank is stopped only.
type Engine interface {
	backend.Inspector
	Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error)
	SetBreakpoints(ctx context.Context, req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error)
	Resume(ctx context.Context, req backend.ResumeRequest) error
	Interrupt(ctx context.Context) error
	Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error)

	Threads(ctx context.Context) ([]backend.Thread, error)
	StackTrace(ctx context.Context, req backend.StackTraceRequest) (backend.StackTraceResult, error)
	Scopes(ctx context.Context, frame backend.FrameID) ([]backend.Scope, error)
	Variables(ctx context.Context, req backend.VariablesRequest) ([]backend.Variable, error)
	SetVariable(ctx context.Context, req backend.SetVariableRequest) (backend.Variable, error)
	Disassemble(ctx context.Context, req backend.DisassembleRequest) ([]backend.Instruction, error)
	WriteMemory(ctx context.Context, req backend.WriteMemoryRequest) error
}

// Backend gives an Engine its requests. A backend embeds it and adds Kill (see KillBy). The control block and the
// program's input are the agent's: of those it knows nothing.
type Backend struct {
	Log *slog.Logger
	// What the owner is to carry out. Urgent calls overtake.
	Calls, Urgent chan func()
	// Life ends when the backend is to end.
	Life  context.Context //nolint:containedctx // that of the owner
	State State           // the owner's

	engine Engine
	cancel context.CancelFunc // of Life
	queue  *queue.Queue[backend.Event]
	events <-chan backend.Event
	ended  chan struct{}
	why    string // valid once ended is closed
}

// mostEvents bounds the events that wait to be read, in bytes. Only log messages that nobody reads come near it.
const mostEvents = 64 << 20

// New makes a backend of an engine, whose owner the caller must start. A nil log discards.
func New(engine Engine, log *slog.Logger) *Backend {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Backend{
		Log: log, Calls: make(chan func()), Urgent: make(chan func()), engine: engine,
		queue: queue.New(mostEvents, backend.Event.Weight), ended: make(chan struct{}),
	}
	b.events = b.queue.Chan(context.Background())
	b.Life, b.cancel = context.WithCancel(context.Background()) //nolint:gosec // KillBy calls it
	return b
}

// Events implements backend.Backend.
func (b *Backend) Events() <-chan backend.Event { return b.events }

// Publish adds an event to the one ordered stream. It never blocks; after the Ended event it does nothing.
func (b *Backend) Publish(e backend.Event) {
	if err := b.queue.Push(e); errors.Is(err, queue.ErrFull) {
		b.Log.Error("nobody reads the rank's events")
	}
	if e.Ended != nil {
		b.queue.Close()
	}
}

// End is the owner's last act. why says why the debugger has ended if nobody asked for it; else it is empty.
func (b *Backend) End(why string) {
	b.State = Exited
	if b.why = why; why == "" {
		b.why = "it was asked to"
	}
	close(b.ended)
	b.Publish(backend.Event{Ended: &backend.Ended{Err: why}})
}

// Ended is the error of requests after the end. For the owner, or once the backend has ended.
func (b *Backend) Ended() error { return &backend.EndedError{Why: b.why} }

// KillBy ends Life, then the debugger by the function, and waits for the owner's end. It may be called again.
func (b *Backend) KillBy(ctx context.Context, end func() error) error {
	b.cancel()
	if err := end(); err != nil {
		return err
	}
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return notServed(ctx)
	}
}

// NeedStopped is the error of what needs a stopped rank. For the owner.
func (b *Backend) NeedStopped(asked string) error {
	if b.State != Stopped {
		return &backend.StateError{Asked: asked, State: b.State.String()}
	}
	return nil
}

// What happens with every debugger: the program, how it ended, and the program again; and what may be missing from a
// Launch.
const (
	EndedEarly = "%s ended before it reached its main function (%v). Often a shared library is missing: the " +
		"program's own output says which, and `ldd %s` shows them all."
	NoPtrace = " This system does not let Cohort trace programs: look at /proc/sys/kernel/yama/ptrace_scope, or in a " +
		"container add the capability SYS_PTRACE."
	MayAttach = " Debugging a process that runs needs permission: be the user it belongs to, or root; let " +
		"/proc/sys/kernel/yama/ptrace_scope be 0 (as root: echo 0 >/proc/sys/kernel/yama/ptrace_scope), as 1 allows " +
		"children only; and be in the same container, which needs the capability SYS_PTRACE."
)

// NotLaunched is the error of a Launch, in whole sentences that say what to do.
func NotLaunched(req backend.LaunchRequest, format string, args ...any) error {
	return &backend.LaunchError{Program: req.Program, Reason: fmt.Sprintf(format, args...)}
}

type outcome[T any] struct {
	value T
	err   error
}

// Do has the owner carry out f, after the calls before it. When ctx ends first, f is finished and its outcome is
// dropped.
func Do[T any](ctx context.Context, b *Backend, to chan<- func(), f func(context.Context) (T, error)) (T, error) {
	var none T
	done := make(chan outcome[T], 1)
	call := func() {
		if ctx.Err() != nil {
			done <- outcome[T]{err: notServed(ctx)}
			return
		}
		// What is begun is finished: half of it done would leave the rank in a state that nobody asked for.
		v, err := f(context.WithoutCancel(ctx))
		done <- outcome[T]{v, err}
	}
	select {
	case to <- call:
	case <-ctx.Done():
		return none, notServed(ctx)
	case <-b.ended:
		return none, b.Ended()
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, notServed(ctx)
	case <-b.ended:
	}
	select {
	case r := <-done:
		return r.value, r.err
	default:
		return none, b.Ended()
	}
}

// notServed is the error of a request whose context has ended; it wraps ctx.Err().
func notServed(ctx context.Context) error {
	return fmt.Errorf("the rank's debugger has not answered: %w", ctx.Err())
}

// call is Do of a method of the engine.
func call[Q, T any](ctx context.Context, b *Backend, f func(context.Context, Q) (T, error), req Q) (T, error) {
	return Do(ctx, b, b.Calls, func(ctx context.Context) (T, error) { return f(ctx, req) })
}

// stopped is call of one that needs a stopped rank.
func stopped[Q, T any](ctx context.Context, b *Backend, asked string, f func(context.Context, Q) (T, error),
	req Q,
) (T, error) {
	return Do(ctx, b, b.Calls, func(ctx context.Context) (none T, err error) {
		if err := b.NeedStopped(asked); err != nil {
			return none, err
		}
		return f(ctx, req)
	})
}
