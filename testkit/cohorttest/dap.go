package cohorttest

import (
	"bufio"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// pipes are a connection to a `cohort dap` on standard input and output.
type pipes struct {
	io.Reader
	io.Writer
	close func() error
	dump  func() string
}

func (p pipes) Close() error { return p.close() }

// Dump is for daptest.
func (p pipes) Dump() string { return p.dump() }

// DAP starts `cohort dap` on standard input and output.
func (w *Workplace) DAP() (io.ReadWriteCloser, *exec.Cmd) {
	w.T.Helper()
	cmd := w.Command("dap")
	in, err := cmd.StdinPipe()
	if err != nil {
		w.T.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.T.Fatal(err)
	}
	stderr := w.shownIfFailed(cmd)
	if err := cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	var once sync.Once
	end := func() error {
		once.Do(func() {
			_ = in.Close()
			_ = cmd.Wait() // it ends as its input has; what it was killed by is the test's affair
		})
		return nil
	}
	return pipes{out, in, end, func() string {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // it may have ended
		_ = end()
		return stderr.String()
	}}, cmd
}

// shownIfFailed collects what a command says on standard error, which is in the test's log if that fails.
func (w *Workplace) shownIfFailed(cmd *exec.Cmd) *lockedText {
	stderr := &lockedText{}
	cmd.Stderr = stderr
	w.T.Cleanup(func() { // after the client's own, which closes
		if w.T.Failed() && stderr.String() != "" {
			w.T.Logf("%v said:\n%s", cmd.Args, stderr.String())
		}
	})
	return stderr
}

// lockedText collects what a process says.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Listening is a `cohort dap` that listens.
type Listening struct {
	w      *Workplace
	cmd    *exec.Cmd
	stderr *lockedText
	ended  func() // waits for its end
	Said   string // the line with its address
}

// Listen starts `cohort dap --listen`.
func (w *Workplace) Listen(address string) *Listening {
	w.T.Helper()
	cmd := w.Command("dap", "--listen", address)
	l := &Listening{w: w, cmd: cmd, stderr: w.shownIfFailed(cmd)}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	l.ended = sync.OnceFunc(func() { _ = cmd.Wait() }) // it says so with its status
	w.T.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		l.ended()
		if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
			w.T.Errorf("cohort dap ended with status %d after SIGTERM", code)
		}
	})
	if l.Said, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		w.T.Fatalf("cohort dap said %q: %v", l.Said, err)
	}
	return l
}

// dialed is a connection to a cohort that listens.
type dialed struct {
	net.Conn
	to *Listening
}

// Dial connects to it.
func (l *Listening) Dial(network, address string) io.ReadWriteCloser {
	l.w.T.Helper()
	var d net.Dialer
	conn, err := d.DialContext(l.w.Ctx, network, address)
	if err != nil {
		l.w.T.Fatal(err)
	}
	return dialed{conn, l}
}

// Dump is for daptest.
func (d dialed) Dump() string {
	_ = d.to.cmd.Process.Signal(syscall.SIGQUIT) // it may have ended
	d.to.ended()
	return d.to.stderr.String()
}
