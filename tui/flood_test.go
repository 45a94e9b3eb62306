package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"
)

// screen is a terminal that counts what is written to it: one write per frame.
type screen struct {
	*os.File
	frames atomic.Int64
}

func (s *screen) Write(p []byte) (int, error) {
	s.frames.Add(1)
	return s.File.Write(p)
}

// BenchmarkFlood is a million lines of 100 bytes in the Output pane, as fast as the server sends them.
func BenchmarkFlood(b *testing.B) {
	const lines, each = 1_000_000, 500
	var text strings.Builder
	for i := range each {
		fmt.Fprintf(&text, "[%d] line %d of the flood %s\n", i%4, i, strings.Repeat(".", 75))
	}
	for b.Loop() {
		s, conn := newFakeServer(b, "")
		master, slave, err := pty.Open()
		if err != nil {
			b.Fatal(err)
		}
		if err := pty.Setsize(master, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
			b.Fatal(err)
		}
		go io.Copy(io.Discard, master) //nolint:errcheck // what a person would look at
		terminal := &screen{File: slave}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		ended := make(chan error, 1)
		go func() { ended <- Run(ctx, Options{Conn: conn, Title: "flood", Input: slave, Output: terminal}) }()
		press := func(key, command string) {
			if _, err := master.WriteString(key); err != nil {
				b.Fatal(err)
			}
			for r := range s.requests {
				if r.Command == command {
					return
				}
			}
		}
		for r := range s.requests {
			if r.Command == "configurationDone" {
				break
			}
		}
		press("up", "pause") // the pane, and that it is there
		before, start := terminal.frames.Load(), time.Now()
		var key time.Duration
		pressed := make(chan struct{})
		for i := 0; i < lines; i += each {
			s.event("output", map[string]string{
				"category": "stdout", "output": text.String() + fmt.Sprintln("until", i), // there is something to draw
			})
			if i == lines/2 {
				go func() {
					defer close(pressed)
					from := time.Now()
					press("p", "pause")
					key = time.Since(from)
				}()
			}
		}
		took := time.Since(start)
		<-pressed
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		b.ReportMetric(lines/took.Seconds(), "lines/s")
		b.ReportMetric(float64(terminal.frames.Load()-before)/took.Seconds(), "frames/s")
		b.ReportMetric(float64(key.Milliseconds()), "ms/key")
		b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "MiB")
		cancel()
		<-ended
		_ = master.Close()
		_ = slave.Close()
	}
}
