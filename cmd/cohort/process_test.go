package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// patience bounds every wait for something that must happen; what can no longer happen fails at once. It only ends what
// hangs, however busy the machine is.
const patience = 5 * time.Minute

// endLimit is how long processes may take to end once they have been told to.
const endLimit = time.Minute

// workplace is where one test runs cohort: its own directories, and a mark on all processes.
type workplace struct {
	t      *testing.T
	mpi    mpitest.MPI
	dir    string
	mark   string
	cohort string
	ctx    context.Context //nolint:containedctx // ends with the test
}

// newWorkplace checks at the end of the test that no process and no directory of a job is left.
func newWorkplace(t *testing.T, mpi mpitest.MPI) *workplace {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cohort, err := exec.LookPath("cohort") // testscript.Main has put it in front of PATH
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("", "cohort-test-*") //nolint:usetesting // names of sockets are short, and those of test directories long
	if err != nil {
		t.Fatal(err)
	}
	w := &workplace{t: t, mpi: mpi, dir: run, mark: run, cohort: cohort, ctx: ctx}
	if err := os.Mkdir(filepath.Join(run, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.nothingLeft()
		killMarked(w.mark)
		if err := os.RemoveAll(run); err != nil {
			t.Error(err)
		}
	})
	return w
}

// nothingLeft checks that no process and no directory of a job is left.
func (w *workplace) nothingLeft() {
	w.t.Helper()
	if left := awaitNothing(w.mark, w.path("run")); len(left) > 0 {
		w.t.Errorf("left behind: %v", left)
	}
}

func (w *workplace) path(name string) string { return filepath.Join(w.dir, name) }

func (w *workplace) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.ctx, w.cohort, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // it hangs: its goroutines are printed
	cmd.WaitDelay = endLimit
	cmd.Dir = w.dir
	cmd.Env = append(w.mpi.Env(), markVar+"="+w.mark, "XDG_RUNTIME_DIR="+w.path("run"))
	return cmd
}

// run runs cohort to its end, with empty input.
func (w *workplace) run(args ...string) (output string, status int) {
	w.t.Helper()
	cmd := w.command(args...)
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		w.t.Fatalf("cohort %v: %v\n%s", args, err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// running is a cohort that runs. Its input stays open.
type running struct {
	w      *workplace
	cmd    *exec.Cmd
	stdin  *os.File
	ended  chan struct{} // closed when it has ended and all its output was read
	mu     sync.Mutex    // guards the fields below
	output bytes.Buffer
	more   chan struct{} // closed and replaced when there is more output
}

// start starts cohort.
func (w *workplace) start(args ...string) *running {
	w.t.Helper()
	r := &running{w: w, cmd: w.command(args...), ended: make(chan struct{}), more: make(chan struct{})}
	read, write, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	r.stdin, r.cmd.Stdin = write, read
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	r.cmd.Stdout, r.cmd.Stderr = outWrite, outWrite
	err = r.cmd.Start()
	_, _ = read.Close(), outWrite.Close() // cohort has its own
	if err != nil {
		w.t.Fatal(err)
	}
	go r.collect(outRead)
	w.t.Cleanup(func() {
		_ = write.Close()        // it may be closed already
		_ = r.cmd.Process.Kill() // it may have ended
		<-r.ended
	})
	return r
}

func (r *running) collect(from *os.File) {
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
	_ = r.cmd.Wait() // ProcessState tells
}

func (r *running) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.output.String()
}

// await waits until cohort has written the text.
func (r *running) await(text string) {
	r.w.t.Helper()
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
			if strings.Contains(r.text(), text) {
				return
			}
			r.w.t.Fatalf("%v has ended without saying %q:\n%s", r.cmd.Args, text, r.text())
		case <-r.w.ctx.Done():
			r.w.t.Fatalf("%v does not say %q:\n%s", r.cmd.Args, text, r.text())
		}
	}
}

// wait waits for the end and returns all output and the status: the exit code, or minus the signal.
func (r *running) wait() (string, int) {
	r.w.t.Helper()
	select {
	case <-r.ended:
	case <-r.w.ctx.Done():
		r.w.t.Fatalf("%v does not end:\n%s", r.cmd.Args, r.text())
	}
	if status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return r.text(), -int(status.Signal())
	}
	return r.text(), r.cmd.ProcessState.ExitCode()
}

// kill sends SIGKILL to one process of the job.
func (r *running) kill(role string, rank int) { killPart(r.w, r.cmd.Process.Pid, role, rank) }

// killPart ends one process of a job whose cohort is known: "cohort" itself, its "launcher", or the "agent", the "gdb"
// or the program ("rank") of a rank.
func killPart(w *workplace, cohort int, role string, rank int) {
	w.t.Helper()
	pid := cohort
	if role != "cohort" {
		pid = findPart(w, cohort, role, rank)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		w.t.Fatalf("killing the %s (process %d): %v", role, pid, err)
	}
}

func findPart(w *workplace, cohort int, role string, rank int) int {
	w.t.Helper()
	var found []int
	var seen []string
	for _, line := range marked(w.mark) {
		pidText, _, _ := strings.Cut(line, " ")
		pid, err := strconv.Atoi(pidText)
		if err != nil {
			w.t.Fatal(err)
		}
		is := roleOf(pid, cohort)
		seen = append(seen, fmt.Sprintf("%s (%s)", line, is))
		if is == role && (role == "launcher" || rankOf(pid) == rank) {
			found = append(found, pid)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d processes are the %s of rank %d: %v", len(found), role, rank, seen)
	}
	return found[0]
}

func roleOf(pid, cohort int) string {
	dir := fmt.Sprintf("/proc/%d", pid)
	cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return "gone"
	}
	args := strings.Split(string(cmdline), "\x00")
	if len(args) < 2 {
		return "?"
	}
	name := filepath.Base(args[0])
	switch {
	case pid == cohort:
		return "cohort"
	case name == "cohort" && (args[1] == "agent" || args[1] == "guard"):
		return args[1]
	case strings.HasPrefix(name, "mpiexec"), strings.HasPrefix(name, "mpirun"):
		return "launcher"
	case name == "gdb":
		return "gdb"
	case strings.HasPrefix(name, "hydra"), strings.HasPrefix(name, "orted"), strings.HasPrefix(name, "prted"):
		return "helper of the launcher"
	}
	return "rank"
}

// rankOf reads the rank that the launcher gave a process; -1: none.
func rankOf(pid int) int {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return -1
	}
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"} {
		for v := range strings.SplitSeq(string(environ), "\x00") {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				if rank, err := strconv.Atoi(value); err == nil {
					return rank
				}
			}
		}
	}
	return -1
}

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

// dap starts `cohort dap` on standard input and output.
func (w *workplace) dap() (io.ReadWriteCloser, *exec.Cmd) {
	w.t.Helper()
	cmd := w.command("dap")
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	stderr := w.shownIfFailed(cmd)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
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
func (w *workplace) shownIfFailed(cmd *exec.Cmd) *lockedText {
	stderr := &lockedText{}
	cmd.Stderr = stderr
	w.t.Cleanup(func() { // after the client's own, which closes
		if w.t.Failed() && stderr.String() != "" {
			w.t.Logf("%v said:\n%s", cmd.Args, stderr.String())
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

// listening is a `cohort dap` that listens.
type listening struct {
	w      *workplace
	cmd    *exec.Cmd
	stderr *lockedText
	ended  func() // waits for its end
	said   string // the line with its address
}

// listen starts `cohort dap --listen`.
func (w *workplace) listen(address string) *listening {
	w.t.Helper()
	cmd := w.command("dap", "--listen", address)
	l := &listening{w: w, cmd: cmd, stderr: w.shownIfFailed(cmd)}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	l.ended = sync.OnceFunc(func() { _ = cmd.Wait() }) // it says so with its status
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		l.ended()
		if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
			w.t.Errorf("cohort dap ended with status %d after SIGTERM", code)
		}
	})
	if l.said, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		w.t.Fatalf("cohort dap said %q: %v", l.said, err)
	}
	return l
}

// dialed is a connection to a cohort that listens.
type dialed struct {
	net.Conn
	to *listening
}

func (l *listening) dial(network, address string) io.ReadWriteCloser {
	l.w.t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(l.w.ctx, network, address)
	if err != nil {
		l.w.t.Fatal(err)
	}
	return dialed{conn, l}
}

// Dump is for daptest.
func (d dialed) Dump() string {
	_ = d.to.cmd.Process.Signal(syscall.SIGQUIT) // it may have ended
	d.to.ended()
	return d.to.stderr.String()
}
