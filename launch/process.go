package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/internal/executable"
	"github.com/cohort-debugger/cohort/launch/pump"
)

// launcherProcess is the running mpiexec.
type launcherProcess struct {
	cmd    *exec.Cmd
	gone   chan struct{} // closed when it has ended; then code and signal are set
	code   int
	signal string
	pumps  []*pump.Pump
	said   *said
	stdin  io.Closer // our end of its standard input, or nil
}

// tailBytes is how much of what the launcher said is kept for messages.
const tailBytes = 16 << 10

// said keeps the end of what the launcher said. Until the job has come up it holds back what was meant for standard
// error: if the job fails to, that text is part of the error, and need not be seen twice.
type said struct {
	mu   sync.Mutex
	tail []byte
	held []byte
	open bool // no longer held back
	to   io.Writer
}

func (s *said) write(data []byte, visible bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, data...)
	if n := len(s.tail) - tailBytes; n > 0 {
		s.tail = append([]byte(nil), s.tail[n:]...)
	}
	switch {
	case s.to == nil || !visible:
	case s.open:
		s.to.Write(data) //nolint:errcheck // the user closed standard error
	default:
		s.held = append(s.held, data...)
	}
}

func (s *said) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	if s.to != nil && len(s.held) > 0 {
		s.to.Write(s.held) //nolint:errcheck // the user closed standard error
	}
	s.held = nil
}

// drop forgets what is held back, and what comes yet.
func (s *said) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.to = nil, nil
}

func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ToValidUTF8(string(s.tail), "?")
}

// startLauncher starts it in a process group of its own, so that Ctrl-C reaches cohort first, and so that it is killed
// should cohort die. Asking it to end (SIGTERM) would let it clean up, but mpirun of Open MPI 4.1 with PMIx 4.2 was
// seen to lock up on the way (pmix_rte_finalize waits for a mutex for ever), and then there would be nobody left to
// notice. The agents clean up instead.
func startLauncher(line command, agent []string, s *Session) (*launcherProcess, error) {
	o := s.options
	l := &launcherProcess{gone: make(chan struct{}), said: &said{}}
	args := append(append([]string{}, line.args...), agent...)
	l.cmd = exec.Command(line.path, args...) //nolint:noctx // Stop ends it in good order
	l.cmd.Dir = o.Cwd
	l.cmd.Env = launcherEnv(s.dir.ID, s.dir.Path)
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var ours []*os.File // the launcher's ends, which we close once it has them
	defer func() {
		for _, f := range ours {
			f.Close() //nolint:errcheck // the launcher has its own
		}
	}()
	var err error
	if l.cmd.Stdout, err = l.stream(s, "stdout", o.Stdout, os.Stdout, &ours); err != nil {
		return nil, err
	}
	if l.cmd.Stderr, err = l.stream(s, "stderr", o.Stderr, os.Stderr, &ours); err != nil {
		return nil, err
	}
	if l.cmd.Stdin, err = l.input(o.Stdin, o.Mode, &ours); err != nil {
		return nil, err
	}
	err = executable.Start(l.cmd, func() {
		err := l.cmd.Wait()
		l.code = l.cmd.ProcessState.ExitCode()
		if status, ok := l.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			l.signal = unix.SignalName(status.Signal())
		}
		if err != nil && !errors.As(err, new(*exec.ExitError)) {
			s.log.Warn("waiting for the launcher", "err", err)
		}
		if l.stdin != nil {
			l.stdin.Close() //nolint:errcheck // nobody reads it any more
		}
		close(l.gone)
	})
	if err != nil {
		for _, p := range l.pumps {
			p.Close()
		}
		return nil, refuse(err, "The launcher %s cannot be started: %v.", line.path, err)
	}
	return l, nil
}

// stream decides where one of the launcher's output streams goes.
func (l *launcherProcess) stream(s *Session, category string, asked io.Writer, standard *os.File,
	ours *[]*os.File,
) (*os.File, error) {
	if asked == nil {
		asked = standard
	}
	// Standard output goes straight where it is wanted: it is the ranks', and may be large. Standard error is also
	// where launchers explain themselves.
	if file, ok := asked.(*os.File); ok && s.options.Output == nil && category == "stdout" {
		return file, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe for the launcher: %w", err)
	}
	*ours = append(*ours, write)
	deliver := func(data []byte) {
		l.said.write(data, false)
		s.output(OutputChunk{Rank: -1, Category: category, Data: data})
	}
	switch {
	case s.options.Output != nil:
	case category == "stderr":
		l.said.to = asked
		deliver = func(data []byte) { l.said.write(data, true) }
	default:
		deliver = func(data []byte) { asked.Write(data) } //nolint:errcheck // the user closed standard output
	}
	p, err := pump.New(read, nil, deliver)
	if err != nil {
		return nil, err
	}
	l.pumps = append(l.pumps, p)
	return write, nil
}

// input decides what the launcher, and so rank 0, reads. A terminal is read by us: the launcher is not in its
// foreground process group.
func (l *launcherProcess) input(stdin io.Reader, mode Mode, ours *[]*os.File) (io.Reader, error) {
	file, isFile := stdin.(*os.File)
	if stdin == nil || mode == Debug || isFile && inBackground(file) {
		return nil, nil //nolint:nilnil // /dev/null
	}
	if isFile && !isTerminal(file) {
		return file, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe for the launcher: %w", err)
	}
	*ours = append(*ours, read)
	l.stdin = write
	go func() {
		io.Copy(write, stdin) //nolint:errcheck // the ranks stopped reading, or there is no more
		write.Close()         //nolint:errcheck // that is the end of file
	}()
	return read, nil
}

func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// inBackground tells whether reading from the terminal would stop this process.
func inBackground(file *os.File) bool {
	group, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// kill sends a signal to the launcher's process group.
func (l *launcherProcess) kill(signal syscall.Signal) {
	select {
	case <-l.gone:
	default:
		syscall.Kill(-l.cmd.Process.Pid, signal) //nolint:errcheck // it may just have ended
	}
}
