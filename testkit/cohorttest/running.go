package cohorttest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Running is a cohort that runs. Its input stays open.
type Running struct {
	w      *Workplace
	Cmd    *exec.Cmd
	Stdin  *os.File
	ended  chan struct{} // closed when it has ended and all its output was read
	mu     sync.Mutex    // guards the fields below
	output bytes.Buffer
	more   chan struct{} // closed and replaced when there is more output
}

// Start starts cohort.
func (w *Workplace) Start(args ...string) *Running {
	w.T.Helper()
	r := &Running{w: w, Cmd: w.Command(args...), ended: make(chan struct{}), more: make(chan struct{})}
	read, write, err := os.Pipe()
	if err != nil {
		w.T.Fatal(err)
	}
	r.Stdin, r.Cmd.Stdin = write, read
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		w.T.Fatal(err)
	}
	r.Cmd.Stdout, r.Cmd.Stderr = outWrite, outWrite
	err = r.Cmd.Start()
	_, _ = read.Close(), outWrite.Close() // cohort has its own
	if err != nil {
		w.T.Fatal(err)
	}
	go r.collect(outRead)
	w.T.Cleanup(func() {
		_ = write.Close()        // it may be closed already
		_ = r.Cmd.Process.Kill() // it may have ended
		<-r.ended
	})
	return r
}

func (r *Running) collect(from *os.File) {
	defer close(r.ended)
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		r.output.Write(buffer[:n])
		close(r.more)
		r.more = make(chan struct{})
		r.mu.Unlock()
		if err != nil {
			break
		}
	}
	_ = from.Close()
	_ = r.Cmd.Wait() // ProcessState tells
}

// Text is the output so far.
func (r *Running) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.output.String()
}

// Await waits until cohort has written the text.
func (r *Running) Await(text string) {
	r.w.T.Helper()
	for {
		r.mu.Lock()
		found, more := strings.Contains(r.output.String(), text), r.more
		r.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-r.ended:
			if strings.Contains(r.Text(), text) {
				return
			}
			r.w.T.Fatalf("%v has ended without saying %q:\n%s", r.Cmd.Args, text, r.Text())
		case <-r.w.Ctx.Done():
			r.w.T.Fatalf("%v does not say %q:\n%s", r.Cmd.Args, text, r.Text())
		}
	}
}

// Wait waits for the end and returns all output and the status: the exit code, or minus the signal.
func (r *Running) Wait() (string, int) {
	r.w.T.Helper()
	select {
	case <-r.ended:
	case <-r.w.Ctx.Done():
		r.w.T.Fatalf("%v does not end:\n%s", r.Cmd.Args, r.Text())
	}
	if status, ok := r.Cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return r.Text(), -int(status.Signal())
	}
	return r.Text(), r.Cmd.ProcessState.ExitCode()
}

// Kill sends SIGKILL to one process of the job, see Workplace.Kill.
func (r *Running) Kill(role string, rank int) {
	r.w.T.Helper()
	r.w.Kill(r.Cmd.Process.Pid, role, rank)
}
