// Package guard is what `cohort guard` does: one process per job that outlives cohort if cohort is killed, and then
// removes what the job has left: processes, shared memory, the job's directory. Launchers cannot be relied on for that:
// Hydra kills the agents before they can, and mpirun of Open MPI was seen to lock up when it is asked to end.
//
// **Invariant:** the guard has a session of its own and ignores what ends others (hang-up, Ctrl-C), and it ends as soon
// as the job does.
package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cohort-debugger/cohort/launch/jobdir"
	"github.com/cohort-debugger/cohort/launch/leftovers"
	"github.com/cohort-debugger/cohort/launch/marked"
)

// done on the guard's standard input says that the job has ended and cleaned up by itself; end of file without it, that
// cohort has died.
const done = 'd'

// How long after cohort's death the processes of the job get to end by themselves, and then to be gone when they have
// been killed.
const (
	grace     = 3 * time.Second
	killGrace = 10 * time.Second
)

// Process is a running guard.
type Process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
}

// Start starts a guard for a job: the command line is that of a cohort which calls Run.
func Start(command []string) (*Process, error) {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it must outlive every context: Dismiss ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/" // so that it keeps no file system busy
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the guard of the job: %w", err)
	}
	return &Process{cmd: cmd, input: input}, nil
}

// Pid of the guard.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Dismiss ends the guard after the job has cleaned up, and waits for it.
func (p *Process) Dismiss() error {
	// If the guard was killed there is nobody to tell.
	p.input.Write([]byte{done}) //nolint:errcheck // see above
	p.input.Close()             //nolint:errcheck // see above
	if err := p.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return fmt.Errorf("waiting for the guard of the job: %w", err)
	}
	return nil
}

// NoteNamespace keeps what a PMIx launcher calls the job for the guard.
func NoteNamespace(dir *jobdir.Dir, namespace string) error {
	if namespace == "" {
		return nil
	}
	if err := os.WriteFile(namespaceFile(dir), []byte(namespace), 0o600); err != nil {
		return fmt.Errorf("keeping the launcher's name for the job: %w", err)
	}
	return nil
}

func namespaceFile(dir *jobdir.Dir) string { return filepath.Join(dir.Path, "namespace") }

// Run is the life of a guard.
func Run(jobDir string, control io.Reader, log *slog.Logger) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGQUIT)
	dir, err := jobdir.Open(jobDir)
	if err != nil {
		return err
	}
	var word [1]byte
	if n, _ := control.Read(word[:]); n == 1 && word[0] == done { // any failure means that cohort has gone
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace+killGrace)
	defer cancel()
	soft, cancelSoft := context.WithTimeout(ctx, grace)
	err = marked.Wait(soft, dir.ID)
	cancelSoft()
	if err != nil && soft.Err() == nil {
		log.Warn("waiting for the processes of a job whose cohort has died", "err", err)
	}
	left, err := marked.KillAll(ctx, dir.ID)
	for _, p := range left {
		log.Info("killed a process of a job whose cohort has died", "pid", p.Pid, "command", p.Command)
	}
	if namespace, readErr := os.ReadFile(namespaceFile(dir)); readErr == nil {
		err = errors.Join(err, leftovers.Remove(strings.TrimSpace(string(namespace))))
	}
	return errors.Join(err, dir.Remove())
}
