package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// terminal is as much of one as output and progress lines use: it returns the lines that a user sees. Fails on anything
// else.
func terminal(t interface {
	Fatalf(format string, args ...any)
}, stream string,
) []string {
	lines := []string{""}
	column := 0
	for i := 0; i < len(stream); i++ {
		last := &lines[len(lines)-1]
		switch c := stream[i]; {
		case c == '\n':
			lines = append(lines, "")
			column = 0
		case c == '\r':
			column = 0
		case strings.HasPrefix(stream[i:], "\x1b[K"):
			*last = (*last)[:column]
			i += 2
		case c < ' ':
			t.Fatalf("the byte %#x at %d of %q", c, i, stream)
		case column < len(*last):
			b := []byte(*last)
			b[column] = c
			*last = string(b)
			column++
		default:
			*last += string(c)
			column++
		}
	}
	return lines
}

// However output and progress follow each other, the user sees the output as it was written, and the progress below it
// or not at all.
func TestScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tty bytes.Buffer
		s := &screen{tty: &tty, width: func() int { return 20 }}
		out, err := screenWriter{s, &tty}, screenWriter{s, &tty}
		var want strings.Builder
		shown := ""
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch text := rapid.StringMatching(`[a-z \n]{0,9}`).Draw(t, "text"); rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				fmt.Fprint(out, text)
				want.WriteString(text)
				if text != "" {
					shown = ""
				}
			case 1:
				fmt.Fprint(err, text)
				want.WriteString(text)
				if text != "" {
					shown = ""
				}
			case 2:
				line := rapid.StringMatching(`[A-Z]{1,30}`).Draw(t, "line")
				s.show(line)
				if w := want.String(); w == "" || strings.HasSuffix(w, "\n") {
					shown = line[:min(len(line), 19)]
				}
			default:
				s.clear()
				shown = ""
			}
			if got, want := strings.Join(terminal(t, tty.String()), "\n"), want.String()+shown; got != want {
				t.Fatalf("the user sees %q, not %q", got, want)
			}
		}
	})
}

// On a terminal a line shows how far the run is while the program waits; it is gone when the program writes, and at the
// end.
func TestProgressOnATerminal(t *testing.T) {
	cohorttest.Slow(t)
	t.Parallel()
	mpi := mpitest.Need(t, "mpich")
	for _, quiet := range []bool{false, true} {
		t.Run(fmt.Sprint("quiet ", quiet), func(t *testing.T) {
			t.Parallel()
			w := cohorttest.New(t, mpi)
			master, slave, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 100}); err != nil {
				t.Fatal(err)
			}
			args := []string{
				"record", "-n", "2", "-o", "r.cohort", "--yield", "off", "--env", cohorttest.StepsWait, "--",
				cohorttest.Steps(t, mpi),
			}
			if quiet {
				args = append([]string{"record", "-q"}, args[1:]...)
			}
			cmd := w.Command(args...)
			read, write, err := os.Pipe() // not the terminal: what the test writes would be echoed there
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin, cmd.Stdout, cmd.Stderr = read, slave, slave
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for _, f := range []io.Closer{slave, read} {
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			var all bytes.Buffer
			piece := make([]byte, 4096)
			deadline := time.AfterFunc(cohorttest.Patience, func() { cmd.Process.Kill() })
			defer deadline.Stop()
			released := false
			for {
				n, err := master.Read(piece)
				all.Write(piece[:n])
				until := "recording for"
				if quiet {
					until = cohorttest.StepsWaiting
				}
				if !released && strings.Contains(all.String(), cohorttest.StepsWaiting) && strings.Contains(all.String(), until) {
					released = true
					if _, err := write.WriteString("go on\n"); err != nil {
						t.Fatal(err)
					}
				}
				if err != nil { // EIO: nobody has the terminal open any more
					break
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%q", err, all.String())
			}
			if err := write.Close(); err != nil {
				t.Error(err)
			}
			seen := terminal(t, all.String())
			text := strings.Join(seen, "\n")
			if strings.Contains(text, "recording for") {
				t.Errorf("the progress stays on the screen:\n%s", text)
			}
			for _, want := range []string{cohorttest.StepsWaiting, "steps: hash "} {
				if n := strings.Count(text, "\n"+want) + b2i(strings.HasPrefix(text, want)); n != 1 {
					t.Errorf("%d lines begin with %q:\n%s", n, want, text)
				}
			}
			if got := strings.Contains(text, "cohort: recorded 2 ranks"); got == quiet {
				t.Errorf("quiet %v:\n%s", quiet, text)
			}
			if quiet && strings.Contains(all.String(), "\x1b") {
				t.Errorf("quiet, and yet: %q", all.String())
			}
		})
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
