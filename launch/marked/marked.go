// Package marked finds processes by a variable in their environment. Every process of a job inherits COHORT_JOB_ID, so
// what a job has left behind can be found and ended even if nobody knows its parents any more.
//
// **Invariant:** a process is only ever signalled through a pidfd that was opened before its environment was read, so a
// reused pid is not hit.
package marked

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// JobVar is the environment variable that marks the processes of a job.
const JobVar = "COHORT_JOB_ID"

// AgentVar is the environment variable that marks what one agent has started: its process id.
const AgentVar = "COHORT_AGENT_PID"

// Process is a live process with the marks.
type Process struct {
	Pid     int
	Command string // its arguments, separated by spaces
}

// Find lists the live processes (no zombies) of this user that have all the marks ("NAME=value") in the environment
// they were started with. The caller itself is left out.
func Find(marks ...string) ([]Process, error) {
	return each(marks, nil)
}

// Kill sends SIGKILL to every process that Find would list and returns those.
func Kill(marks ...string) ([]Process, error) {
	return each(marks, func(fd int) error { return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) })
}

// KillAll kills until Find finds nothing, and waits for the killed to be gone. It returns whom it killed. When ctx ends
// first, the error names those that still live.
func KillAll(ctx context.Context, marks ...string) ([]Process, error) {
	var all []Process
	for {
		pidfds := []int{}
		found, err := each(marks, func(fd int) error {
			if kept, dupErr := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); dupErr == nil {
				pidfds = append(pidfds, kept)
			}
			return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		})
		all = append(all, found...)
		alive := waitGone(ctx, pidfds)
		if err != nil || len(found) == 0 {
			return all, err
		}
		if alive {
			return all, fmt.Errorf("waiting for %d killed processes to end (first %d, %s): %w", len(found),
				found[0].Pid, found[0].Command, context.Cause(ctx))
		}
	}
}

// Wait returns when Find finds nothing any more, or with the reason for which ctx has ended.
func Wait(ctx context.Context, marks ...string) error {
	for {
		pidfds := []int{}
		found, err := each(marks, func(fd int) error {
			if kept, dupErr := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); dupErr == nil {
				pidfds = append(pidfds, kept)
			}
			return nil
		})
		alive := waitGone(ctx, pidfds)
		if err != nil || len(found) == 0 {
			return err
		}
		if alive {
			return fmt.Errorf("waiting for %d processes to end: %w", len(found), context.Cause(ctx))
		}
	}
}

// waitGone waits for all the processes to end (a zombie has ended), closes the descriptors, and tells whether one still
// lives.
func waitGone(ctx context.Context, pidfds []int) bool {
	const slice = 100 // milliseconds between looks at ctx
	alive := false
	for _, fd := range pidfds {
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, slice)
			if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
				break
			}
			if ctx.Err() != nil {
				alive = true
				break
			}
		}
		unix.Close(fd) //nolint:errcheck // nothing was written
	}
	return alive
}

func each(marks []string, act func(pidfd int) error) ([]Process, error) {
	if len(marks) == 0 {
		return nil, errors.New("looking for processes of a job: no mark was given")
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("looking for processes of a job: %w", err)
	}
	var found []Process
	var failed error
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has gone
		}
		if has(pid, marks) {
			found = append(found, Process{Pid: pid, Command: command(pid)})
			if act != nil {
				if err := act(fd); err != nil && !errors.Is(err, unix.ESRCH) {
					failed = errors.Join(failed, fmt.Errorf("killing process %d: %w", pid, err))
				}
			}
		}
		unix.Close(fd) //nolint:errcheck // nothing was written
	}
	return found, failed
}

// has is false for processes that have gone, zombies (whose environment is empty) and those of other users.
func has(pid int, marks []string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	environ = append([]byte{0}, environ...)
	for _, mark := range marks {
		if !bytes.Contains(environ, []byte("\x00"+mark+"\x00")) {
			return false
		}
	}
	return true
}

func command(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "?"
	}
	return string(bytes.TrimRight(bytes.ReplaceAll(line, []byte{0}, []byte{' '}), " "))
}
