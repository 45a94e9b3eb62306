package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// terminal is the pseudo terminal that a debugged program has as its standard streams, so that nothing of it gets into
// the debugger's own pipes. It is as transparent as one can be: no echo, no translation, no signals from characters;
// lines are kept, because end of file needs them.
type terminal struct {
	master *os.File
	slave  *os.File // held open, so that the program closing its own does not end the terminal
	input  *os.File // the master again, for writing with deadlines
	atLine bool     // the last byte sent ended a line; owned by the one who calls send
}

const (
	ctrlD = 0x04 // end of file, and
	ctrlV = 0x16 // quotes it
	// maxLine is what the kernel keeps of one line (N_TTY_BUF_SIZE less one).
	maxLine = 4095
)

func openTerminal() (*terminal, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("opening a terminal for the program: %w", err)
	}
	t := &terminal{master: master, slave: slave, atLine: true}
	settings, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err == nil {
		settings.Iflag &^= unix.IXON | unix.IXOFF | unix.ICRNL | unix.INLCR | unix.IGNCR | unix.ISTRIP |
			unix.PARMRK | unix.BRKINT
		settings.Oflag &^= unix.OPOST
		settings.Lflag &^= unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ECHONL | unix.ECHOCTL | unix.ECHOKE | unix.ISIG
		settings.Lflag |= unix.ICANON | unix.IEXTEN
		for i := range settings.Cc {
			settings.Cc[i] = 0 // no such character
		}
		settings.Cc[unix.VEOF], settings.Cc[unix.VLNEXT] = ctrlD, ctrlV
		err = unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, settings)
	}
	if err == nil {
		t.input, err = duplicate(master)
	}
	if err != nil {
		t.close()
		return nil, fmt.Errorf("setting up a terminal for the program: %w", err)
	}
	return t, nil
}

func duplicate(file *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicating the terminal: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // the open file is shared, and the pump wants the same
		return nil, fmt.Errorf("setting up the terminal: %w", err)
	}
	return os.NewFile(uintptr(fd), "terminal"), nil
}

func (t *terminal) name() string { return t.slave.Name() }

func (t *terminal) close() {
	for _, f := range []*os.File{t.master, t.slave, t.input} {
		if f != nil {
			f.Close() //nolint:errcheck // nothing is buffered here
		}
	}
}

// send writes to the program's standard input. It blocks while the program does not read, until ctx ends.
func (t *terminal) send(ctx context.Context, data []byte, eof bool) error {
	for line := range bytes.Lines(data) {
		if len(line) > maxLine {
			return fmt.Errorf("a line of %d bytes cannot be sent to the program's standard input: under the debugger "+
				"that is a terminal, which takes at most %d per line", len(line), maxLine)
		}
	}
	stop := context.AfterFunc(ctx, func() {
		t.input.SetWriteDeadline(time.Unix(1, 0)) //nolint:errcheck // else the write ends with the terminal
	})
	defer stop()
	if ctx.Err() == nil {
		t.input.SetWriteDeadline(time.Time{}) //nolint:errcheck // as it was
	}
	// Line by line: a terminal that is full drops what does not end in a line.
	for line := range bytes.Lines(data) {
		if _, err := t.input.Write(quote(line)); err != nil {
			return t.failed(ctx, err)
		}
		t.atLine = bytes.HasSuffix(line, []byte("\n"))
	}
	if eof {
		end := []byte{ctrlD}
		if !t.atLine {
			end = []byte{ctrlD, ctrlD} // the first one only ends the unfinished line
		}
		if _, err := t.input.Write(end); err != nil {
			return t.failed(ctx, err)
		}
		t.atLine = true
	}
	return nil
}

func (t *terminal) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("writing to the program's standard input: %w", err)
}

// quote protects the two characters that mean something to the terminal.
func quote(line []byte) []byte {
	out := make([]byte, 0, len(line)+8)
	for _, b := range line {
		if b == ctrlD || b == ctrlV {
			out = append(out, ctrlV)
		}
		out = append(out, b)
	}
	return out
}
