package delve

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/cohort-debugger/cohort/backend"
)

// environ is this process's environment, which a program inherits. Delve would ask the network for debug information if
// it were told to by it, so this process loses that variable.
func environ() []string {
	env := os.Environ()
	os.Unsetenv("DEBUGINFOD_URLS") //nolint:errcheck // it fails for names that are none
	return slices.Clone(env)
}

// Resolve implements backend.Inspector.
func (b *Backend) Resolve(ctx context.Context, frame backend.FrameID, expr string) (backend.Value, error) {
	return do(ctx, b, func(o *owner) (backend.Value, error) {
		if err := o.needStopped("evaluate " + expr); err != nil {
			return backend.Value{}, err
		}
		v, err := o.value(frame, expr)
		if err != nil {
			return backend.Value{}, err
		}
		out := backend.Value{Type: v.TypeString(), Language: backend.Go, Address: address(v)}
		if !strings.HasPrefix(out.Type, "*") { // the debuggers of C write it behind
			out.Type = strings.TrimPrefix(out.Type, "struct ")
		}
		out.HasAddr = out.Address != 0
		out.Number, out.HasNumber = number(v)
		switch v.Kind { //nolint:exhaustive // the others are plain
		case reflect.Ptr, reflect.UnsafePointer:
			out.Pointer = true
		case reflect.Array:
			out.Array = true
		case reflect.Slice, reflect.String:
			out.Array, out.Address, out.HasAddr = true, v.Base, v.Base != 0
		case reflect.Struct:
			out.Struct = true
		}
		return out, nil
	})
}

// AliasOf implements backend.Inspector. The debug information of Go has no aliases.
func (b *Backend) AliasOf(context.Context, backend.FrameID, string) (string, error) { return "", nil }

// LineAt implements backend.Inspector. Where a line begins is not told.
func (b *Backend) LineAt(ctx context.Context, pc uint64) (backend.SourceLine, error) {
	return do(ctx, b, func(o *owner) (backend.SourceLine, error) {
		if err := o.needStopped("look up a line"); err != nil {
			return backend.SourceLine{}, err
		}
		file, line, fn := o.target().BinInfo().PCToLine(pc)
		at := backend.SourceLine{File: file, Line: line}
		if fn != nil {
			at.Function = cgoStub.ReplaceAllString(fn.Name, "C.")
		}
		return at, nil
	})
}

// SymbolAddress implements backend.Inspector.
func (b *Backend) SymbolAddress(ctx context.Context, name string) (uint64, error) {
	return do(ctx, b, func(o *owner) (uint64, error) {
		if err := o.needStopped("look up " + name); err != nil {
			return 0, err
		}
		return o.symbolAddress(name)
	})
}

// KernelThread implements backend.Inspector: the thread that a goroutine is on, if it is on one.
func (b *Backend) KernelThread(ctx context.Context, frame backend.FrameID) (int32, error) {
	return do(ctx, b, func(o *owner) (int32, error) {
		if err := o.needStopped("look up a thread"); err != nil {
			return 0, err
		}
		k, err := o.numbers.key(max(frame.Thread, 1))
		if err != nil || k.goroutine == 0 {
			return int32(k.thread), err
		}
		g, err := proc.FindGoroutine(o.target(), k.goroutine)
		if err != nil || g == nil || g.Thread == nil {
			return 0, err //nolint:wrapcheck // Delve's words
		}
		return int32(g.Thread.ThreadID()), nil
	})
}

// Target implements backend.Inspector.
func (b *Backend) Target(context.Context) (backend.Target, error) {
	return backend.Target{Machine: machine(), Living: b.pid.Load() != 0}, nil
}

// FrameAt implements backend.Inspector.
func (b *Backend) FrameAt(ctx context.Context, frame backend.FrameID) (backend.Frame, error) {
	return do(ctx, b, func(o *owner) (backend.Frame, error) {
		if err := o.needStopped("read the stack"); err != nil {
			return backend.Frame{}, err
		}
		raw, err := o.stack(max(frame.Thread, 1))
		if err != nil {
			return backend.Frame{}, err
		}
		if frame.Level < 0 || frame.Level >= len(raw) {
			return backend.Frame{}, fmt.Errorf("there is no frame %d; the stack has %d", frame.Level, len(raw))
		}
		return o.frame(max(frame.Thread, 1), frame.Level, raw[frame.Level]), nil
	})
}
