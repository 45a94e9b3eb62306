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

// Find lists the live processes (no zombies) of this user that belong to a job by the environment they were started
// with. The caller itself is left out.
func Find(job string) ([]Process, error) { return each(0, nil, JobVar+"="+job) }

// KillOf sends SIGKILL to the processes of a job that an agent has started, and returns those.
func KillOf(job string, agent int) ([]Process, error) {
	return each(unix.SIGKILL, nil, JobVar+"="+job, AgentVar+"="+strconv.Itoa(agent))
}

// KillAll kills until Find finds nothing, and waits for the killed to be gone. It returns whom it killed. When ctx ends
// first, the error names one that still lives.
func KillAll(ctx context.Context, job string) ([]Process, error) {
	return until(ctx, unix.SIGKILL, job)
}

// Wait returns when Find finds nothing any more, or with the reason for which ctx has ended.
func Wait(ctx context.Context, job string) error {
	_, err := until(ctx, 0, job)
	return err
}

// until signals the processes of a job and waits for their ends, until there are none.
func until(ctx context.Context, signal unix.Signal, job string) (all []Process, err error) {
	for {
		found, err := each(signal, func(pidfd int) error { return Ended(ctx, pidfd) }, JobVar+"="+job)
		all = append(all, found...)
		if err != nil || len(found) == 0 {
			return all, err
		}
	}
}

// Ended waits for the end of a process (a zombie has ended). The error is the reason for which ctx has ended before.
func Ended(ctx context.Context, pidfd int) error {
	const slice = 100 // milliseconds between looks at ctx
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, slice)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// each sends a signal (0: none) to the processes that have all the marks ("NAME=value"), and then waits for each.
func each(signal unix.Signal, wait func(pidfd int) error, marks ...string) (found []Process, failed error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("looking for processes of a job: %w", err)
	}
	var pidfds []int
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has gone
		}
		if !has(pid, marks) {
			unix.Close(fd) //nolint:errcheck // nothing was written
			continue
		}
		found, pidfds = append(found, Process{pid, command(pid)}), append(pidfds, fd)
		if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			failed = errors.Join(failed, fmt.Errorf("killing process %d: %w", pid, err))
		}
	}
	for i, fd := range pidfds {
		if wait != nil {
			if err := wait(fd); err != nil {
				wait, failed = nil, errors.Join(failed, fmt.Errorf("waiting for %d processes to end (%d, %s, "+
					"lives): %w",
					len(found), found[i].Pid, found[i].Command, err))
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
