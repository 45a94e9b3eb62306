package gdb

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// Options of a Backend. The zero value will do.
type Options struct {
	Log *slog.Logger
	// Symbols are addresses of symbols that gdb may not find: in a core file whose libraries are not on this machine.
	Symbols map[string]uint64
	// Transcript, if not nil, receives all that is said to and by gdb, in the form that gdbmitest plays back.
	Transcript io.Writer
}

// Backend debugs one rank with gdb. It must be ended with Kill, and its Events must be read.
type Backend struct {
	*base.Backend
	opt        Options
	owner      *owner
	proc       atomic.Pointer[gdbmi.Process] // set once, by the owner
	evaluating atomic.Bool                   // gdb may be in a function of the program for a command of ours
}

var _ backend.Debugger = (*Backend)(nil)

// New makes a backend that has not launched anything yet.
func New(opt Options) *Backend {
	b := &Backend{opt: opt}
	b.owner = &owner{b: b, bps: newBreakpoints(), library: map[int]bool{}}
	b.Backend = base.New(b.owner, opt.Log)
	go b.owner.run()
	return b
}

// breakOff ends an evaluation that calls a function of the program; it tells whether there is one.
func (b *Backend) breakOff() (bool, error) {
	if p := b.proc.Load(); p != nil && b.evaluating.Load() {
		return true, p.Interrupt()
	}
	return false, nil
}

// Interrupt implements backend.Backend. It also breaks off an evaluation that calls a function of the
// program which does not return.
func (b *Backend) Interrupt(ctx context.Context) error {
	if evaluating, err := b.breakOff(); evaluating {
		return err
	}
	return b.Backend.Interrupt(ctx)
}

// Evaluate implements backend.Backend.
func (b *Backend) Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	defer context.AfterFunc(ctx, func() { b.breakOff() })() //nolint:errcheck // the caller is gone
	return b.Backend.Evaluate(ctx, req)
}

// Kill implements backend.Backend. It may be called again, and returns when gdb and the program are gone.
func (b *Backend) Kill(ctx context.Context) error {
	return b.KillBy(ctx, func() error {
		if p := b.proc.Load(); p != nil {
			return p.Close(ctx)
		}
		return nil
	})
}
