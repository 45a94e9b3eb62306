package gdb

import (
	"context"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb/cli"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/effect"
)

var _ backend.Debugger = (*Backend)(nil)

// quiet asks gdb for a frame of the stopped rank, in the owner's goroutine.
type quiet struct {
	ctx     context.Context //nolint:containedctx // of the one request that it is made for
	o       *owner
	frame   backend.FrameID
	fortran bool
}

// Execute implements cli.Gdb.
func (q quiet) Execute(command string) (string, error) {
	text, err := q.o.consoleIn(q.ctx, q.frame, command)
	if err != nil {
		return "", fmt.Errorf("gdb refuses %q: %s", command, message(err))
	}
	return text, nil
}

// Value implements cli.Gdb. The caller holds the locks.
func (q quiet) Value(expr string) (string, error) {
	if what := effect.Of(expr, q.fortran); what != "" {
		return "", fmt.Errorf("%s is not evaluated here, because %s would change the program", expr, what)
	}
	text, err := q.o.value(q.ctx, q.frame, expr)
	if name := q.o.qualified(q.ctx, q.frame, expr); err != nil && name != "" {
		if second, failed := q.o.value(q.ctx, q.frame, name); failed == nil {
			return second, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("cannot evaluate %s: %s", expr, message(err))
	}
	return text, nil
}

// inspect has the owner ask gdb something that has no effect on the program.
func inspect[T any](ctx context.Context, b *Backend, frame backend.FrameID, f func(quiet) (T, error)) (T, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (T, error) {
		var none T
		if err := o.needStopped("evaluate"); err != nil {
			return none, err
		}
		unlock, err := o.lockProgram(ctx)
		defer unlock()
		if err != nil {
			return none, err
		}
		o.b.evaluating.Store(true)
		defer o.b.evaluating.Store(false)
		return f(quiet{ctx, o, frame, o.isFortran(ctx, frame)})
	})
}

// lockProgram keeps gdb from writing to the program and from running any of it, until unlock.
func (o *owner) lockProgram(ctx context.Context) (unlock func(), err error) {
	locks := []string{"may-write-memory", "may-call-functions"}
	unlock = func() {
		for _, s := range locks {
			if _, err := o.send(ctx, gdbmi.Cmd("gdb-set", s, "on")); err != nil {
				o.b.log.Error("gdb does not lift a restriction again", "setting", s, "error", err)
			}
		}
	}
	for _, s := range locks {
		if _, err := o.send(ctx, gdbmi.Cmd("gdb-set", s, "off")); err != nil {
			return unlock, fmt.Errorf("this gdb cannot evaluate without effects: %w", err)
		}
	}
	return unlock, nil
}

// Resolve implements backend.Inspector.
func (b *Backend) Resolve(ctx context.Context, frame backend.FrameID, expr string) (backend.Value, error) {
	return inspect(ctx, b, frame, func(q quiet) (backend.Value, error) { return cli.Resolve(q, expr) })
}

// AliasOf implements backend.Inspector.
func (b *Backend) AliasOf(ctx context.Context, frame backend.FrameID, name string) (string, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (string, error) {
		return cli.AliasOf(quiet{ctx: ctx, o: o, frame: frame}, name), o.needStopped("look up a type")
	})
}

// LineAt implements backend.Inspector.
func (b *Backend) LineAt(ctx context.Context, pc uint64) (backend.SourceLine, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (backend.SourceLine, error) {
		return cli.LineAt(quiet{ctx: ctx, o: o}, pc)
	})
}

// KernelThread implements backend.Inspector.
func (b *Backend) KernelThread(ctx context.Context, frame backend.FrameID) (int32, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (int32, error) {
		return cli.KernelThread(quiet{ctx: ctx, o: o, frame: frame}), nil
	})
}

// Target implements backend.Inspector.
func (b *Backend) Target(ctx context.Context) (backend.Target, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (backend.Target, error) {
		return backend.Target{Machine: cli.Machine(quiet{ctx: ctx, o: o}), Living: o.core == nil && o.pid != 0}, nil
	})
}

// FrameAt implements backend.Inspector.
func (b *Backend) FrameAt(ctx context.Context, frame backend.FrameID) (backend.Frame, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (backend.Frame, error) {
		if err := o.needStopped("read the stack"); err != nil {
			return backend.Frame{}, err
		}
		return o.frameInfo(ctx, frame), nil
	})
}

// SymbolAddress implements backend.Inspector.
func (b *Backend) SymbolAddress(ctx context.Context, name string) (uint64, error) {
	return do(ctx, b, func(ctx context.Context, o *owner) (uint64, error) { return o.symbolAddress(ctx, name) })
}
