package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progressLine is one line on a terminal that is rewritten in place. On anything but a terminal it shows nothing.
type progressLine struct {
	out     io.Writer // nil: nowhere
	started time.Time
	last    time.Time
	width   int
}

// progressAfter and progressEvery: nothing for what is quick, and not more often than one can read.
const (
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
)

func newProgressLine(std streams) *progressLine {
	p := &progressLine{started: time.Now()}
	if f, ok := std.Err.(*os.File); ok && isTerminal(f) {
		p.out = f
	}
	return p
}

// show replaces the line; total 0 means that it is not known.
func (p *progressLine) show(text string, done, total int64) {
	now := time.Now()
	if p.out == nil || now.Sub(p.started) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last = now
	line := fmt.Sprintf("%s  %d s", text, int(now.Sub(p.started).Seconds()))
	if total > 0 {
		const cells = 24
		full := int(min(done, total) * cells / total)
		line = fmt.Sprintf("%s [%s%s] %d %%  %d s", text, strings.Repeat("#", full), strings.Repeat(".", cells-full),
			min(done, total)*100/total, int(now.Sub(p.started).Seconds()))
	}
	fmt.Fprintf(p.out, "\r%-*s", p.width, line) //nolint:errcheck // a decoration
	p.width = len(line)
}

// clear removes the line.
func (p *progressLine) clear() {
	if p.out != nil && p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width)) //nolint:errcheck // a decoration
		p.width = 0
	}
}
