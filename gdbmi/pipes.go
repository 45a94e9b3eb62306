package gdbmi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// drainReader reads a pipe that another process may hold open for longer than gdb lives (the program
// inherits gdb's output when it has no terminal of its own). After finish, it gives what is in the pipe
// and then io.EOF, without waiting for the other writers.
type drainReader struct {
	f        *os.File
	draining bool // of the reading goroutine
}

// finish may be called from any goroutine, once.
func (d *drainReader) finish() { _ = d.f.SetReadDeadline(time.Unix(1, 0)) }

func (d *drainReader) Read(b []byte) (int, error) {
	if !d.draining {
		n, err := d.f.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err //nolint:wrapcheck // a Reader: io.EOF as it is
		}
		d.draining = true
		if err := d.f.SetReadDeadline(time.Time{}); err != nil {
			return 0, fmt.Errorf("gdb's output cannot be drained: %w", err)
		}
	}
	raw, err := d.f.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("gdb's output cannot be drained: %w", err)
	}
	var n int
	var rerr error
	if err := raw.Read(func(fd uintptr) bool {
		for {
			if n, rerr = unix.Read(int(fd), b); !errors.Is(rerr, unix.EINTR) {
				return true
			}
		}
	}); err != nil {
		return 0, fmt.Errorf("gdb's output cannot be drained: %w", err)
	}
	if n <= 0 {
		return 0, io.EOF // at the end, or nothing more is there (EAGAIN)
	}
	return n, nil
}

// maxLine bounds the memory of one line. No record comes near it; a program that writes that much
// without a line feed is handed on in pieces.
const maxLine = 256 << 20

// readLines hands out each line without its line end, and at the end what is left without one.
func readLines(r io.Reader, emit func(string)) {
	br := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for {
		part, err := br.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(long) < maxLine:
			long = append(long, part...)
			continue
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
			line := string(part)
			if long != nil {
				line = string(append(long, part...))
				long = nil
			}
			emit(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
		default:
			if line := string(append(long, part...)); line != "" {
				emit(line)
			}
			return
		}
	}
}

const tailKept = 8 << 10

// readTail reads to the end and returns the last few KiB.
func readTail(r io.Reader) string {
	var kept []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		kept = append(kept, buf[:n]...)
		if len(kept) > tailKept {
			kept = append(kept[:0], kept[len(kept)-tailKept:]...)
		}
		if err != nil {
			return string(kept)
		}
	}
}
