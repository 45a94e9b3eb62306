package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
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

// A disk that gets full while the program runs: the program goes on to its good end, it is said once, and what was
// recorded replays.
func TestFullDisk(t *testing.T) {
	cohorttest.Slow(t)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := mpi.Build(t, "wildcard.c")
		for _, c := range []struct{ mode, ranks, size string }{
			{"order", "2", "64k"},
			{"racing", "3", "96k"},
			{"full", "2", "400k"},
		} {
			t.Run(c.mode, func(t *testing.T) { fullDisk(t, mpi, program, c.mode, c.ranks, c.size) })
		}
	})
}

func fullDisk(t *testing.T, mpi mpitest.MPI, program, mode, ranks, size string) {
	t.Helper()
	w := cohorttest.New(t, mpi)
	disk := w.Path("disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a full disk needs a file system of its own, and mounting one was refused: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Errorf("unmounting %s: %v", disk, err)
		}
	})
	text, status := w.Run("record", "-n", ranks, "--mode", mode, "-o", "disk/r.cohort", "--", program, "recv", "12000")
	if status != 0 || !strings.Contains(text, "] ended well") ||
		strings.Count(text, "the program continues unrecorded") != 1 ||
		!strings.Contains(text, "The disk is full") || strings.Contains(text, "cannot be replayed") {
		t.Errorf("record has status %d and says:\n%s", status, text)
	}
	if !strings.HasSuffix(strings.TrimSpace(text), "(record --strict makes that an error.)") ||
		!strings.Contains(text, "The recording is NOT COMPLETE") {
		t.Errorf("record ends with something else:\n%s", text)
	}
	summary := w.Path("summary.json")
	strict, status := w.Run("record", "--force", "--strict", "--json", summary, "-n", ranks, "--mode", mode, "-o",
		"disk/r.cohort", "--", program, "recv", "12000")
	if status != exitFailure {
		t.Errorf("record --strict has status %d and says:\n%s", status, strict)
	}
	var of struct {
		Complete bool
		Missing  []string
	}
	if content, err := os.ReadFile(summary); err != nil || json.Unmarshal(content, &of) != nil || of.Complete ||
		len(of.Missing) == 0 {
		t.Errorf("the summary as JSON: %v\n%s", err, content)
	}
	if left, err := exec.Command("ls", "-la", disk+"/r.cohort").CombinedOutput(); err != nil ||
		strings.Contains(string(left), "cohort-tmp") {
		t.Errorf("%v\n%s", err, left)
	}
	text, status = w.Run("replay", "disk/r.cohort", "--stall-timeout", "3s")
	if status != 0 || !strings.Contains(text, " was cut short after event") ||
		!strings.Contains(text, "(the disk was full)") || !strings.Contains(text, "No rank left the recording") {
		t.Errorf("replay has status %d and says:\n%s", status, text)
	}
}
