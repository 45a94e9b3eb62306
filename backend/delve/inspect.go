package delve

import (
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
)

// environ is this process's environment, which a program inherits. Delve would ask the network for debug information if
// it were told to by it, so this process loses that variable.
func environ() []string {
	env := os.Environ()
	os.Unsetenv("DEBUGINFOD_URLS") //nolint:errcheck // it fails for names that are none
	return slices.Clone(env)
}

func (o *owner) Resolve(_ context.Context, frame backend.FrameID, expr string) (backend.Value, error) {
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
}

// AliasOf: the debug information of Go has no aliases.
func (o *owner) AliasOf(context.Context, backend.FrameID, string) (string, error) { return "", nil }

// LineAt does not tell where a line begins.
func (o *owner) LineAt(_ context.Context, pc uint64) (backend.SourceLine, error) {
	file, line, fn := o.target().BinInfo().PCToLine(pc)
	at := backend.SourceLine{File: file, Line: line}
	if fn != nil {
		at.Function = cgoStub.ReplaceAllString(fn.Name, "C.")
	}
	return at, nil
}

// KernelThread is the thread that a goroutine is on, if it is on one.
func (o *owner) KernelThread(_ context.Context, frame backend.FrameID) (int32, error) {
	k, g, err := o.goroutine(frame.Thread)
	if err != nil || k.goroutine == 0 {
		return int32(k.thread), err
	}
	if g == nil || g.Thread == nil {
		return 0, nil
	}
	return int32(g.Thread.ThreadID()), nil
}

func (o *owner) Target(context.Context) (backend.Target, error) {
	return backend.Target{Machine: machine(), Living: true}, nil
}

func (o *owner) FrameAt(_ context.Context, id backend.FrameID) (backend.Frame, error) {
	raw, err := o.stackFrom(id)
	if err != nil {
		return backend.Frame{}, err
	}
	return o.frame(max(id.Thread, 1), id.Level, raw[0]), nil
}

func (o *owner) Disassemble(context.Context, backend.DisassembleRequest) ([]backend.Instruction, error) {
	return nil, &backend.UnsupportedError{What: "Disassembling"}
}

func (o *owner) WriteMemory(_ context.Context, req backend.WriteMemoryRequest) error {
	n, err := o.target().Memory().WriteMemory(req.Addr, req.Data)
	if err == nil && n < len(req.Data) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("%d bytes cannot be written at %#x: %w", len(req.Data), req.Addr, err)
	}
	return nil
}

func (o *owner) ReadMemory(_ context.Context, addr uint64, n int) ([]byte, error) {
	if o.b.State != base.Stopped && o.b.State != base.Running {
		return nil, &backend.StateError{Asked: "read memory", State: o.b.State.String()}
	}
	if err := base.CheckRead(addr, n); err != nil || n == 0 {
		return []byte{}, err
	}
	data, _, err := base.ReadProcess(o.rank.pid, addr, n)
	return data, err
}
