package delve

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/native"
	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
)

// started is a program that is stopped at its very first instruction.
type started struct {
	group *proc.TargetGroup
	pid   int
	// over ends the thread that is the program's parent, and with it, should it be there still, the program.
	over func()
}

// start starts a program and attaches Delve to it. Delve's own way to start programs has no say in their environment,
// and would let them run on should this process be killed: the program gets a parent-death signal, which the kernel
// sends when the thread that started it ends. That thread traces it to its first instruction and then leaves it
// stopped, for Delve's thread to take over.
func start(path string, req backend.LaunchRequest, cwd string, env []string) (*started, error) {
	type result struct {
		pid int
		err error
	}
	launched, over := make(chan result, 1), make(chan nothing)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		pid, err := spawn(path, req, cwd, env)
		launched <- result{pid, err}
		<-over
	}()
	r := <-launched
	if r.err != nil {
		close(over)
		return nil, r.err
	}
	s := &started{pid: r.pid, over: func() { close(over) }}
	var err error
	s.group, err = native.Attach(s.pid, &proc.WaitFor{}, nil)
	if err == nil {
		// What is left of the stop by which it was handed over.
		err = unix.Kill(s.pid, unix.SIGCONT)
	}
	if err != nil {
		unix.Kill(s.pid, unix.SIGKILL)                      //nolint:errcheck // it has ended by itself
		unix.Wait4(s.pid, nil, unix.WALL|unix.WNOHANG, nil) //nolint:errcheck // this process is its parent
		s.over()
		return nil, err
	}
	return s, nil
}

// spawn starts the program and stops it at its first instruction. The caller is locked to its thread.
func spawn(path string, req backend.LaunchRequest, cwd string, env []string) (int, error) {
	cmd := exec.Command(path, req.Args...) //nolint:noctx // it is killed by its process id
	cmd.Args[0] = path
	cmd.Dir, cmd.Env = cwd, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if req.InferiorTTY != "" {
		tty, err := os.OpenFile(req.InferiorTTY, os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return 0, fmt.Errorf("opening the program's terminal: %w", err)
		}
		defer tty.Close() //nolint:errcheck // the program has it
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	}
	if err := cmd.Start(); err != nil {
		return 0, err //nolint:wrapcheck // it names the program
	}
	pid := cmd.Process.Pid
	failed := func(what string, err error) (int, error) {
		unix.Kill(pid, unix.SIGKILL)         //nolint:errcheck // it has ended by itself
		unix.Wait4(pid, nil, unix.WALL, nil) //nolint:errcheck // this thread is its parent
		return 0, fmt.Errorf("%s %s: %w", what, path, err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil || !status.Stopped() {
		return failed("starting", errors.Join(err, fmt.Errorf("wait status %#x", status)))
	}
	// Detached by a stop signal it stays where it is.
	if err := ptraceDetach(pid, unix.SIGSTOP); err != nil {
		return failed("handing over", err)
	}
	if _, err := unix.Wait4(pid, &status, unix.WUNTRACED|unix.WALL, nil); err != nil || !status.Stopped() {
		return failed("handing over", errors.Join(err, fmt.Errorf("wait status %#x", status)))
	}
	return pid, nil
}

func ptraceDetach(pid int, signal unix.Signal) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
