package gdb

import (
	"context"
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb/cli"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/effect"
)

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
	text, _, err := named(q.ctx, q.o, q.frame, expr, func(expr string) (string, error) {
		return q.o.value(q.ctx, q.frame, expr)
	})
	if err != nil {
		return "", fmt.Errorf("cannot evaluate %s: %s", expr, message(err))
	}
	return text, nil
}

// lockProgram keeps gdb from writing to the program and from running any of it, until unlock.
func (o *owner) lockProgram(ctx context.Context) (unlock func(), err error) {
	locks := []string{"may-write-memory", "may-call-functions"}
	unlock = func() {
		for _, s := range locks {
			if _, err := o.send(ctx, gdbmi.Cmd("gdb-set", s, "on")); err != nil {
				o.b.Log.Error("gdb does not lift a restriction again", "setting", s, "error", err)
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

func (o *owner) Resolve(ctx context.Context, frame backend.FrameID, expr string) (backend.Value, error) {
	unlock, err := o.lockProgram(ctx)
	defer unlock()
	if err != nil {
		return backend.Value{}, err
	}
	o.b.evaluating.Store(true)
	defer o.b.evaluating.Store(false)
	return cli.Resolve(quiet{ctx, o, frame, o.isFortran(ctx, frame)}, expr)
}

func (o *owner) AliasOf(ctx context.Context, frame backend.FrameID, name string) (string, error) {
	return cli.AliasOf(quiet{ctx: ctx, o: o, frame: frame}, name), nil
}

func (o *owner) LineAt(ctx context.Context, pc uint64) (backend.SourceLine, error) {
	return cli.LineAt(quiet{ctx: ctx, o: o}, pc)
}

func (o *owner) KernelThread(ctx context.Context, frame backend.FrameID) (int32, error) {
	return cli.KernelThread(quiet{ctx: ctx, o: o, frame: frame}), nil
}

func (o *owner) Target(ctx context.Context) (backend.Target, error) {
	return backend.Target{Machine: cli.Machine(quiet{ctx: ctx, o: o}), Living: o.core == nil && o.pid != 0}, nil
}
