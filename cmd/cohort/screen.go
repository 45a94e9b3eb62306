package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// screen shares a terminal between the output of a program and one line of ours below it. The line is erased before
// anything is written and drawn again later, only where a line begins, so it never mixes with the output. Its methods
// may be called from any goroutine.
type screen struct {
	mu      sync.Mutex
	tty     io.Writer
	width   func() int
	shown   bool
	midLine bool // what was written last did not end its line: a prompt, perhaps
}

// newScreen returns nil if standard error is no terminal: there a line that changes is of no use.
func newScreen(std streams) *screen {
	f, ok := std.Err.(*os.File)
	if !ok || !isTerminal(f) {
		return nil
	}
	return &screen{tty: f, width: func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width < 2 {
			return 80
		}
		return width
	}}
}

// share returns the streams to use instead of std: those that are terminals go through the screen.
func (s *screen) share(std streams) streams {
	if s == nil {
		return std
	}
	std.Err = screenWriter{s, std.Err}
	if f, ok := std.Out.(*os.File); ok && isTerminal(f) {
		std.Out = screenWriter{s, std.Out}
	}
	return std
}

type screenWriter struct {
	screen *screen
	to     io.Writer
}

func (w screenWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s := w.screen
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.midLine = p[len(p)-1] != '\n'
	return w.to.Write(p) //nolint:wrapcheck // it stands for the stream
}

const eraseLine = "\r\x1b[K"

func (s *screen) erase() {
	if s.shown {
		io.WriteString(s.tty, eraseLine) //nolint:errcheck // a decoration
		s.shown = false
	}
}

// show draws the line, or not, if the cursor stands within a line of output.
func (s *screen) show(line string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.midLine {
		return
	}
	if most := s.width() - 1; len(line) > most {
		line = line[:most]
	}
	io.WriteString(s.tty, eraseLine+strings.ToValidUTF8(line, "?")) //nolint:errcheck // a decoration
	s.shown = true
}

// clear removes the line.
func (s *screen) clear() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

// progressLine is a line on the screen that says how far something is that takes long.
type progressLine struct {
	screen        *screen
	started, last time.Time
}

// progressAfter and progressEvery: nothing for what is quick, and not more often than one can read.
const (
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
)

func newProgressLine(std streams) *progressLine {
	return &progressLine{screen: newScreen(std), started: time.Now()}
}

// show replaces the line; total 0 means that it is not known.
func (p *progressLine) show(text string, done, total int64) {
	elapsed := time.Since(p.started)
	if elapsed < progressAfter || time.Since(p.last) < progressEvery {
		return
	}
	p.last = time.Now()
	if total > 0 {
		const cells = 24
		done = min(done, total)
		full := int(done * cells / total)
		text += fmt.Sprintf(" [%s%s] %d %%", strings.Repeat("#", full), strings.Repeat(".", cells-full), done*100/total)
	}
	p.screen.show(fmt.Sprintf("%s  %d s", text, int(elapsed.Seconds())))
}
