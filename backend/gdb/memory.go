package gdb

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// ReadMemory reads from /proc/PID/mem, which costs gdb nothing and works while the rank runs, and
// through gdb where that is not allowed.
func (o *owner) ReadMemory(ctx context.Context, addr uint64, n int) ([]byte, error) {
	if o.core == nil && o.pid == 0 || o.b.State == base.Exited || o.b.State == base.NotStarted {
		return nil, &backend.StateError{Asked: "read memory", State: o.b.State.String()}
	}
	if err := base.CheckRead(addr, n); err != nil || n == 0 {
		return []byte{}, err
	}
	if o.core != nil {
		return o.readCore(ctx, addr, n)
	}
	data, allowed, err := base.ReadProcess(o.pid, addr, n)
	if allowed {
		return data, err
	}
	if err := o.b.NeedStopped("read memory"); err != nil {
		return nil, err
	}
	data, err = o.readMemoryByGdb(ctx, addr, n)
	if err != nil {
		return nil, base.Unreadable(o.pid, addr, err)
	}
	return data, nil
}

// WriteMemory writes through gdb, which knows where it has put its own traps into the code.
func (o *owner) WriteMemory(ctx context.Context, req backend.WriteMemoryRequest) error {
	if err := o.notCore("write memory"); err != nil {
		return err
	}
	o.stale = true
	_, err := o.send(ctx, gdbmi.Cmd("data-write-memory-bytes", fmt.Sprintf("%#x", req.Addr),
		hex.EncodeToString(req.Data)))
	if refusedByGdb(err) {
		return fmt.Errorf("%d bytes cannot be written at %#x: %s", len(req.Data), req.Addr, message(err))
	}
	return err
}

func (o *owner) readMemoryByGdb(ctx context.Context, addr uint64, n int) ([]byte, error) {
	r, err := o.send(ctx, gdbmi.Cmd("data-read-memory-bytes", fmt.Sprintf("%#x", addr), fmt.Sprint(n)))
	if err != nil {
		return nil, err
	}
	f := r.Fields()
	for block := range f.Tuples("memory") {
		if begin, _ := block.OptAddr("begin"); begin != addr {
			break // gdb leaves out what it cannot read; only what begins at addr is asked for
		}
		return hex.DecodeString(block.String("contents"))
	}
	return nil, cmp.Or(f.Err(), os.ErrNotExist)
}
