package benchdebug

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/pmpi"
)

// BecomeGdb makes this process a gdb that speaks MI on a socket: what the launcher starts on each rank.
func BecomeGdb(socket, program string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return fmt.Errorf("reaching the benchmark: %w", err)
	}
	file, err := conn.(*net.UnixConn).File() //nolint:forcetypeassert // it is one
	if err != nil {
		return fmt.Errorf("reaching the benchmark: %w", err)
	}
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		return fmt.Errorf("finding gdb: %w", err)
	}
	for fd := range 2 {
		if err := unix.Dup2(int(file.Fd()), fd); err != nil {
			return fmt.Errorf("giving gdb the socket: %w", err)
		}
	}
	return unix.Exec(
		gdb,
		[]string{"gdb", "--interpreter=mi3", "-nx", "-q", program},
		os.Environ(),
	) //nolint:wrapcheck // the last
}

// bare is a run of bare gdb processes.
type bare struct {
	launcher *exec.Cmd
	listener net.Listener
	dir      string
	gdbs     []*mi
}

// mi is one gdb.
type mi struct {
	conn    net.Conn
	in      *bufio.Reader
	stopped int // how often it has said so
}

func startBare(ctx context.Context, mpi pmpi.Installation, ranks int, program string) (*bare, error) {
	dir, err := os.MkdirTemp("", "cohort-bench-*")
	if err != nil {
		return nil, fmt.Errorf("making a directory: %w", err)
	}
	b := &bare{dir: dir}
	if b.listener, err = net.Listen("unix", filepath.Join(dir, "s")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	args := []string{"-n", fmt.Sprint(ranks)}
	if mpi.MPI == pmpi.OpenMPI {
		args = append(args, "--oversubscribe")
	}
	b.launcher = exec.CommandContext(ctx, mpi.Mpiexec, append(args, self, "-gdb", filepath.Join(dir, "s"), program)...)
	b.launcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.launcher.Stderr = os.Stderr
	if err := b.launcher.Start(); err != nil {
		b.end()
		return nil, fmt.Errorf("starting the launcher: %w", err)
	}
	for range ranks {
		conn, err := b.listener.Accept()
		if err != nil {
			b.end()
			return nil, fmt.Errorf("waiting for gdb: %w", err)
		}
		b.gdbs = append(b.gdbs, &mi{conn: conn, in: bufio.NewReader(conn)})
	}
	return b, nil
}

// all does something with each gdb, at once.
func (b *bare) all(f func(*mi) error) error {
	errs := make([]error, len(b.gdbs))
	var group sync.WaitGroup
	for i, g := range b.gdbs {
		group.Go(func() { errs[i] = f(g) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// send has a command carried out.
func (g *mi) send(command string) error {
	if _, err := fmt.Fprintln(g.conn, command); err != nil {
		return fmt.Errorf("asking gdb: %w", err)
	}
	for {
		line, err := g.line()
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(line, "^error"):
			return fmt.Errorf("gdb refuses %s: %s", command, line)
		case strings.HasPrefix(line, "^"):
			return nil
		}
	}
}

func (g *mi) line() (string, error) {
	line, err := g.in.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("hearing of gdb: %w", err)
	}
	if strings.HasPrefix(line, "*stopped") {
		g.stopped++
	}
	return line, nil
}

// awaitStop sends commands, of which the last resumes the rank or stops it, and waits for its stop.
func (g *mi) awaitStop(commands ...string) error {
	before := g.stopped
	for _, c := range commands {
		if err := g.send(c); err != nil {
			return err
		}
	}
	for g.stopped == before {
		if _, err := g.line(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bare) do(s step) error {
	return b.all(func(g *mi) error {
		switch s {
		case launchStep:
			return g.awaitStop("-gdb-set mi-async on", "-gdb-set confirm off", "-break-insert -t main", "-exec-run")
		case initStep:
			return g.awaitStop("-break-insert work", "-exec-continue")
		case continueStep:
			return g.awaitStop("-exec-continue")
		case nextStep:
			return g.awaitStop("-exec-next")
		case evaluateStep:
			return g.send("-data-evaluate-expression i")
		case stacksStep:
			return g.send("-stack-list-frames")
		default:
			return g.awaitStop("-exec-interrupt")
		}
	})
}

func (b *bare) resume() error {
	return b.all(func(g *mi) error { return errors.Join(g.send("-break-delete"), g.send("-exec-continue")) })
}

func (b *bare) memory() (agents, gdbs uint64) { return memoryBelow(b.launcher.Process.Pid) }

// end kills the programs and their gdbs, and takes the launcher away.
func (b *bare) end() {
	_ = b.all(func(g *mi) error { // those that have gone need no telling
		_, _ = fmt.Fprintln(g.conn, "kill\n-gdb-exit")
		return g.conn.Close()
	})
	if b.launcher.Process != nil {
		_ = syscall.Kill(-b.launcher.Process.Pid, syscall.SIGTERM)
		_ = b.launcher.Wait() // it was killed
	}
	_ = b.listener.Close()
	_ = os.RemoveAll(b.dir) // a socket
}
