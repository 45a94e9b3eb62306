package gdbmi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Options say how to start gdb. The zero value is usable.
type Options struct {
	// Path is gdb's executable; "" is "gdb", found in PATH.
	Path string
	// Env is gdb's environment; nil is this process's. LD_PRELOAD is always taken out of it: what is to be
	// preloaded into the program must not be loaded into gdb.
	Env []string
	// Dir is gdb's working directory, and so the program's; "" is this process's.
	Dir string
	// Log receives what is worth a developer's notice; nil discards it.
	Log *slog.Logger
	// Transcript, if not nil, receives both directions in the form that gdbmitest plays back.
	Transcript io.Writer
	// Patience bounds how long a gdb that was told to end, or has closed its output, may live on; 0 is three seconds.
	Patience time.Duration
	// Leave is for a gdb that is attached to programs of somebody else's: it has no parent-death signal, but ends when
	// its input does, and lets them go in good order. One that is killed cannot: it leaves its breakpoints in them.
	Leave bool
}

// Process is one running gdb. Its methods may be called from any goroutine. The descriptors
// above 2 that this process inherited stay open, under their numbers, in gdb and in the program.
//
// **Invariant:** gdb, its group and every program that it launched are gone when Close has returned, and (without
// Options.Leave) when this process dies in any way: the thread that started gdb lives as long as gdb and carries its
// parent-death signal, and gdb asks the kernel to end its programs with it (PTRACE_O_EXITKILL).
type Process struct {
	pid      int
	proc     *os.Process
	patience time.Duration
	leave    bool
	log      *slog.Logger

	told     chan func(*owner)
	lines    chan string     // stdout, by line
	reaped   chan *DeadError // State and Stderr
	writes   chan string
	events   chan Event
	ready    chan struct{} // closed at the first prompt
	ended    chan struct{} // closed when gdb is reaped and every Send answered
	dead     *DeadError    // valid once ended is closed
	helpers  sync.WaitGroup
	shut     sync.Once
	closing  chan struct{} // closed when nobody wants events any more
	finished chan struct{} // closed when no goroutine of this Process is left
}

// Event is one thing that gdb said of its own accord.
type Event struct {
	// Record is an async, stream or Text record, or a result that no Send waits for: gdb answers some
	// commands twice (^running and later ^error), and a Send whose context has ended no longer listens.
	Record Record
	// Exit is not nil in the last event and says that gdb is gone. Record is then empty.
	Exit *DeadError
	// Mark says that this is what [Process.Mark] asked for. Record is then empty.
	Mark bool
}

// Start starts gdb and waits for its first prompt, until ctx ends; ctx has no part in gdb's life after that.
// Every Process must be closed.
func Start(ctx context.Context, opt Options) (*Process, error) {
	path := opt.Path
	if path == "" {
		path = "gdb"
	}
	p := &Process{
		patience: opt.Patience,
		leave:    opt.Leave,
		log:      opt.Log,
		told:     make(chan func(*owner)),
		lines:    make(chan string),
		reaped:   make(chan *DeadError, 1),
		writes:   make(chan string),
		events:   make(chan Event),
		ready:    make(chan struct{}),
		ended:    make(chan struct{}),
		closing:  make(chan struct{}),
		finished: make(chan struct{}),
	}
	if p.patience == 0 {
		p.patience = 3 * time.Second
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	err := p.launch(path, opt)
	if err == nil {
		select {
		case <-p.ready:
			return p, nil
		case <-p.ended:
			err = p.dead
		case <-ctx.Done():
			p.kill()
			err = fmt.Errorf("no prompt came: %w", context.Cause(ctx))
		}
		p.finish()
	}
	return nil, fmt.Errorf("could not start gdb (%s): %w", path, err)
}

// launch makes the pipes, starts gdb and the goroutines.
func (p *Process) launch(path string, opt Options) error {
	var files []*os.File
	closeAll := func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll()
			return fmt.Errorf("no pipe to gdb: %w", err)
		}
		files = append(files, r, w)
	}
	inR, inW, outR, outW, errR, errW := files[0], files[1], files[2], files[3], files[4], files[5]

	//nolint:noctx // gdb's life is not that of a request
	cmd := exec.Command(path, "--interpreter=mi3", "-nx", "-q")
	cmd.Dir = opt.Dir
	cmd.Env = withoutPreload(opt.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	// Not ExtraFiles: it puts files at 3 and up, over the descriptors that MPI's launcher left there.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if opt.Leave {
		cmd.SysProcAttr.Pdeathsig = 0
	}

	stdout, stderr := &drainReader{f: outR}, &drainReader{f: errR}
	tail := make(chan string, 1)
	started := make(chan error, 1)
	p.helpers.Go(func() {
		// The kernel sends the parent-death signal when the thread that forked ends, so it must not
		// end before gdb does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		state := waitWithGroup(cmd)
		stdout.finish()
		stderr.finish()
		_ = inW.SetWriteDeadline(time.Unix(1, 0))
		p.reaped <- &DeadError{State: state, Stderr: <-tail}
	})
	if err := <-started; err != nil {
		closeAll()
		return err
	}
	for _, f := range []*os.File{inR, outW, errW} {
		_ = f.Close()
	}
	p.pid, p.proc = cmd.Process.Pid, cmd.Process

	p.helpers.Go(func() {
		defer func() { _ = errR.Close() }()
		tail <- readTail(stderr)
	})
	p.helpers.Go(func() {
		defer func() { _ = outR.Close() }()
		defer close(p.lines)
		readLines(stdout, func(line string) { p.lines <- line })
	})
	p.helpers.Go(func() {
		defer func() { _ = inW.Close() }()
		for s := range p.writes {
			if _, err := inW.WriteString(s); err != nil {
				// gdb's end is noticed where it is waited for; here it only ends the writing.
				p.log.Debug("gdb no longer reads", "pid", p.pid, "error", err)
			}
		}
	})
	go (&owner{p: p, transcript: opt.Transcript}).run()
	return nil
}

// waitWithGroup waits for gdb's end, ends what is left of its process group, and reaps gdb. In between, gdb is a
// zombie, so that no other group can have its number.
func waitWithGroup(cmd *exec.Cmd) string {
	pid := cmd.Process.Pid
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
	_ = cmd.Wait() // its error is the state
	return cmd.ProcessState.String()
}

func withoutPreload(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "LD_PRELOAD=") })
}

// PID returns gdb's process id.
func (p *Process) PID() int { return p.pid }

// Events returns the channel of all that gdb says of its own accord, in the order in which it was said. It is
// closed after the event with Exit, or by Close. What is not read is kept in memory; it holds up nothing.
func (p *Process) Events() <-chan Event { return p.events }

// Ended is closed when gdb is gone and reaped.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Interrupt sends SIGINT to gdb itself. That breaks off what gdb is doing for a command, such as a call of a
// function of the program that does not return; a program that runs is stopped with -exec-interrupt.
func (p *Process) Interrupt() error {
	if err := p.proc.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("gdb (process %d) cannot be interrupted: %w", p.pid, err)
	}
	return nil
}

func (p *Process) kill() { _ = p.proc.Kill() }

// finish waits for the goroutines, which end when gdb has.
func (p *Process) finish() {
	p.shut.Do(func() { close(p.closing) })
	<-p.finished
}

// killTime bounds how long a gdb that was killed may take to be gone. On a busy machine that can be seconds.
const killTime = time.Minute

// Close ends gdb and every program that it launched: it asks, waits Options.Patience or until ctx ends, whichever is
// first (with Options.Leave, Patience alone counts), and then kills. It returns when gdb is reaped and no goroutine of
// the Process is left, or with an error if the kernel does not give gdb up. It may be called again and from several
// goroutines.
func (p *Process) Close(ctx context.Context) error {
	_ = p.tell(context.Background(), func(o *owner) { o.asked = true }) // or it has ended
	if p.leave {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	if _, err := p.Send(ctx, Cmd("gdb-exit")); err == nil {
		select {
		case <-p.ended:
		case <-ctx.Done():
		}
	}
	p.kill()
	last := time.NewTimer(killTime)
	defer last.Stop()
	select {
	case <-p.ended:
	case <-last.C:
		return fmt.Errorf("gdb (process %d) was killed and did not end within %v", p.pid, killTime)
	}
	p.finish()
	return nil
}
