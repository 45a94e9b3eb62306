// Package pump reads what a process writes to a pipe or terminal, in a way that can be drained: everything that was
// written before some moment is delivered before anything else continues. So output and other events stay in order, and
// the end of a process that left its pipe open to somebody else is no wait.
package pump

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Window is how many more bytes of output whoever reads it wants. Several pumps may share one. Its methods may be
// called from any goroutine.
type Window struct {
	mu    sync.Mutex
	room  int // negative: more was drained than there was room for
	pumps []*Pump
}

// NewWindow makes a window of some bytes.
func NewWindow(bytes int) *Window { return &Window{room: bytes} }

// Take uses up room.
func (w *Window) Take(bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room -= bytes
}

// Give makes room, and wakes the pumps that wait for it.
func (w *Window) Give(bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.room
	if w.room += bytes; was > 0 || w.room <= 0 {
		return
	}
	for _, p := range w.pumps {
		p.attend()
	}
}

func (w *Window) open() bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room > 0
}

func (w *Window) add(p *Pump) {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pumps = append(w.pumps, p)
	}
}

// Pump reads from one file. Its methods may be called from any goroutine, but not from deliver.
type Pump struct {
	fd      int
	window  *Window
	deliver func([]byte)
	wake    [2]int // a pipe: a byte asks for attention
	mu      sync.Mutex
	waiting []chan struct{} // drains asked for
	stop    bool
	ended   bool // the descriptors are closed
	gone    chan struct{}
}

const (
	pumpBuffer = 32 << 10
	// gather is how long after a delivery what comes is gathered: a process that prints line after line would else have
	// each line travel to the clients by itself. A terminal or pipe holds what is printed meanwhile.
	gather = 2 * time.Millisecond
	// mostDrained bounds what one drain reads: a terminal or pipe holds less, and others than the process that it is
	// about may still be writing.
	mostDrained = 4 << 20
)

// New takes over the file and calls deliver, from one goroutine, with what is read; the slice is deliver's to keep.
// While the window has no room nothing is read but by Drain and Close, so that the writers wait; nil: it always has.
// deliver takes from the window what it delivers.
func New(file *os.File, window *Window, deliver func([]byte)) (*Pump, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("reading output: %w", err)
	}
	file.Close() //nolint:errcheck // the duplicate lives
	p := &Pump{fd: fd, window: window, deliver: deliver, gone: make(chan struct{})}
	if err := unix.Pipe2(p.wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		unix.Close(fd) //nolint:errcheck // nothing was read
		return nil, fmt.Errorf("reading output: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("reading output: %w", err)
	}
	window.add(p)
	go p.run()
	return p, nil
}

// Drain returns when all that had been written before the call has been delivered.
func (p *Pump) Drain() { p.ask(false) }

// Close drains and ends the pump, even if somebody still holds the other end.
func (p *Pump) Close() { p.ask(true); <-p.gone }

func (p *Pump) ask(stop bool) {
	done := make(chan struct{})
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.waiting = append(p.waiting, done)
	p.stop = p.stop || stop
	p.mu.Unlock()
	p.attend()
	select {
	case <-done:
	case <-p.gone:
	}
}

// attend has run look at what is asked of it.
func (p *Pump) attend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		unix.Write(p.wake[1], []byte{0}) //nolint:errcheck // full: it is awake anyway
	}
}

func (p *Pump) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, fd := range []int{p.fd, p.wake[0], p.wake[1]} {
		unix.Close(fd) //nolint:errcheck // nothing is lost: it was read, or a wake-up
	}
	close(p.gone)
}

func (p *Pump) run() {
	defer p.finish()
	buffer := make([]byte, pumpBuffer)
	var next time.Time // until then what comes is gathered
	for {
		fds := []unix.PollFd{{Fd: int32(p.wake[0]), Events: unix.POLLIN}, {Fd: int32(p.fd), Events: unix.POLLIN}}
		timeout := -1
		if wait := time.Until(next); !p.window.open() {
			fds = fds[:1] // drains must still be answered
		} else if wait > 0 {
			fds, timeout = fds[:1], int(wait/time.Millisecond)+1
		}
		if _, err := unix.Poll(fds, timeout); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if fds[0].Revents != 0 {
			var bytes [64]byte
			unix.Read(p.wake[0], bytes[:]) //nolint:errcheck // only its coming counts
		}
		p.mu.Lock()
		waiting, stop := p.waiting, p.stop
		p.waiting = nil
		p.mu.Unlock()
		most := pumpBuffer
		switch {
		case len(waiting) > 0:
			most = mostDrained
		case len(fds) == 1:
			most = 0
		}
		got, end := p.read(buffer, most)
		if 0 < got && got < pumpBuffer { // else there may be more than is worth gathering
			next = time.Now().Add(gather)
		}
		for _, w := range waiting {
			close(w)
		}
		if stop || end {
			return
		}
	}
}

// read delivers what is there, about most bytes of it. end: there will never be more.
func (p *Pump) read(buffer []byte, most int) (got int, end bool) {
	for got < most {
		n, over := p.fill(buffer)
		if n > 0 {
			p.deliver(slices.Clone(buffer[:n]))
		}
		got += n
		if over || n < len(buffer) {
			return got, over
		}
	}
	return got, false
}

// fill reads what is there, as far as it has room for it.
func (p *Pump) fill(buffer []byte) (n int, end bool) {
	for n < len(buffer) {
		got, err := unix.Read(p.fd, buffer[n:])
		if got <= 0 { // at the end of file 0, and EIO of a terminal that nobody holds
			return n, !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
		}
		n += got
	}
	return n, false
}
