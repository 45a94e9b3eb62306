package gdb

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// maxRead bounds one ReadMemory.
const maxRead = 64 << 20

// readMemory reads from /proc/PID/mem, which costs gdb nothing and works while the rank runs, and
// through gdb where that is not allowed.
func (o *owner) readMemory(ctx context.Context, addr uint64, n int) ([]byte, error) {
	if o.core == nil && o.pid == 0 || o.state == exited || o.state == idle {
		return nil, &backend.StateError{Asked: "read memory", State: o.state.String()}
	}
	if n < 0 || n > maxRead {
		return nil, fmt.Errorf("%d bytes were asked for at %#x; at most %d can be read at once", n, addr, maxRead)
	}
	if n == 0 {
		return []byte{}, nil
	}
	unreadable := func(err error) error {
		return fmt.Errorf("no memory can be read at %#x of process %d: %w", addr, o.pid, err)
	}
	if o.core != nil {
		return o.readCore(ctx, addr, n)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", o.pid))
	if err == nil {
		defer func() { _ = f.Close() }()
		if addr > 1<<63-1 {
			return nil, unreadable(os.ErrInvalid)
		}
		buf := make([]byte, n)
		got := 0
		for got < n {
			var k int
			k, err = f.ReadAt(buf[got:], int64(addr)+int64(got))
			got += k
			if err != nil || k == 0 {
				break
			}
		}
		if got == 0 {
			return nil, unreadable(err)
		}
		return buf[:got], nil
	}
	if serr := o.needStopped("read memory"); serr != nil {
		return nil, serr
	}
	return o.readMemoryByGdb(ctx, addr, n, unreadable)
}

func (o *owner) readMemoryByGdb(ctx context.Context, addr uint64, n int, unreadable func(error) error) ([]byte, error) {
	r, err := o.send(ctx, gdbmi.Cmd("data-read-memory-bytes", fmt.Sprintf("%#x", addr), fmt.Sprint(n)))
	if err != nil {
		return nil, unreadable(err)
	}
	rf := r.Fields()
	for block := range rf.Tuples("memory") {
		if begin, _ := block.OptAddr("begin"); begin != addr {
			break // gdb leaves out what it cannot read; only what begins at addr is asked for
		}
		b, err := hex.DecodeString(block.String("contents"))
		if err != nil {
			return nil, unreadable(err)
		}
		return b, nil
	}
	if err := rf.Err(); err != nil {
		return nil, unreadable(err)
	}
	return nil, unreadable(os.ErrNotExist)
}
