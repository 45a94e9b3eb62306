package base

import (
	"fmt"
	"os"
)

// MaxRead bounds one ReadMemory.
const MaxRead = 64 << 20

// CheckRead refuses to read more than MaxRead bytes.
func CheckRead(addr uint64, n int) error {
	if n < 0 || n > MaxRead {
		return fmt.Errorf("%d bytes were asked for at %#x; at most %d can be read at once", n, addr, MaxRead)
	}
	return nil
}

// Unreadable is the error of memory of which nothing can be read.
func Unreadable(pid int, addr uint64, err error) error {
	return fmt.Errorf("no memory can be read at %#x of process %d: %w", addr, pid, err)
}

// ReadProcess reads as many of n bytes as are readable from /proc/PID/mem, also while the process runs. Where the
// debugger has planted a breakpoint, the trap is read. ok is false if the file cannot be opened.
func ReadProcess(pid int, addr uint64, n int) (data []byte, ok bool, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil, false, Unreadable(pid, addr, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if addr > 1<<63-1 {
		return nil, true, Unreadable(pid, addr, os.ErrInvalid)
	}
	data = make([]byte, n)
	got, err := f.ReadAt(data, int64(addr))
	if got == 0 && n > 0 {
		return nil, true, Unreadable(pid, addr, err)
	}
	return data[:got], true, nil
}
