package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/logfile"
	"github.com/cohort-debugger/cohort/launch/jobdir"
	"github.com/cohort-debugger/cohort/launch/leftovers"
	"github.com/cohort-debugger/cohort/launch/marked"
	"github.com/cohort-debugger/cohort/launch/pump"
	"github.com/cohort-debugger/cohort/launch/wire"
)

// Options of an agent.
type Options struct {
	JobDir     string
	Version    string // of this build; the job compares it with its own
	Program    string
	Args       []string
	NewBackend NewBackend // nil: no debugging
	Log        *slog.Logger
}

// Outcome is how the agent is to end, so that the launcher behaves as it would without it.
type Outcome struct {
	Code   int
	Signal syscall.Signal // not 0: be killed by it
	// asked: the job ended the program, or wants the agent to outlive it. Then the agent stays until the job hangs up,
	// because a launcher that sees one rank end this way kills the others, before they could say how they ended.
	asked bool
}

// engine is what carries the program.
type engine interface {
	handle(ctx context.Context, request any) (any, error)
	kill(context.Context) error // returns when it has been done; done follows
	signal(os.Signal) bool      // false: nobody will end by it
	done() <-chan Outcome
}

// rank is what both engines have: what is to be started, and the program once it has been.
type rank struct {
	setup   wire.Setup
	number  int
	program string
	args    []string
	log     *slog.Logger
	send    func(backend.Event)
	window  *pump.Window
	ended   chan Outcome // receives once, when the program has gone and its events are sent

	mu      sync.Mutex
	control *rankControl // nil: not started
}

func (r *rank) done() <-chan Outcome { return r.ended }

// started is the control of a program that has been started, or nil.
func (r *rank) started() *rankControl {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.control
}

const (
	killTimeout  = 5 * time.Second // for a debugger to end in good order
	flushTimeout = 5 * time.Second // for the job to take the last events
)

// Run is the life of an agent. It returns when the program has ended by itself (Run mode) or the job has hung up; the
// caller ends its process as the Outcome says. An error means that it never became an agent of the job.
func Run(options Options) (Outcome, error) {
	log := options.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dir, err := jobdir.Open(options.JobDir)
	if err != nil {
		return Outcome{}, err
	}
	number, size, err := Rank(os.Getenv)
	if err != nil {
		return Outcome{}, err
	}
	// cohort set this for mpirun, which turns it into a setting for the ranks; both together are refused.
	if os.Getenv(leftovers.SessionDirVar) == options.JobDir {
		if err := os.Unsetenv(leftovers.SessionDirVar); err != nil {
			return Outcome{}, fmt.Errorf("preparing the environment of the rank: %w", err)
		}
	}
	// Everything that this process starts inherits the marks.
	if err := errors.Join(os.Setenv(marked.JobVar, dir.ID),
		os.Setenv(marked.AgentVar, strconv.Itoa(os.Getpid()))); err != nil {
		return Outcome{}, err
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2)
	conn, err := dial(dir, wire.Hello{Version: options.Version, Token: dir.Token, Rank: number, Size: size})
	if err != nil {
		return Outcome{}, err
	}
	a := &agent{
		options: options, dir: dir, number: number, log: log, server: wire.NewServer(conn), ready: make(chan engine, 1),
		window: pump.NewWindow(wire.Window),
	}
	return a.live(signals), nil
}

// dial connects to the job and introduces the agent to it.
func dial(dir *jobdir.Dir, hello wire.Hello) (net.Conn, error) {
	conn, err := net.Dial("unix", dir.Socket()) //nolint:noctx // a local socket answers at once
	if err != nil {
		return nil, fmt.Errorf("the agent of rank %d cannot reach its job (has it ended?): %w", hello.Rank, err)
	}
	if hello.Host, err = os.Hostname(); err != nil {
		hello.Host = "unknown"
	}
	hello.Pid, hello.Namespace = os.Getpid(), os.Getenv(leftovers.NamespaceVar)
	if err := wire.Introduce(conn, hello); err != nil {
		conn.Close() //nolint:errcheck // refused
		return nil, err
	}
	return conn, nil
}

// agent connects an engine to the job.
type agent struct {
	options Options
	dir     *jobdir.Dir
	number  int // of the rank
	log     *slog.Logger
	server  *wire.Server
	ready   chan engine // receives once: what Setup made
	engine  atomic.Pointer[engine]
	window  *pump.Window
}

// Taken implements wire.Handler.
func (a *agent) Taken(bytes int) { a.window.Give(bytes) }

// send sends an event; output uses up the window.
func (a *agent) send(event backend.Event) {
	if event.Output != nil {
		a.window.Take(len(event.Output.Data))
	}
	a.server.Send(event)
}

func (a *agent) live(signals <-chan os.Signal) Outcome {
	cut := make(chan error, 1)
	go func() { cut <- a.server.Serve(a) }()
	var e engine
	var done <-chan Outcome
	for {
		select {
		case e = <-a.ready:
			done = e.done()
		case outcome := <-done:
			if outcome.asked {
				<-cut //nolint:errcheck // why the job hung up does not matter
			} else {
				a.server.Finish(flushTimeout)
			}
			a.sweep()
			return outcome
		case err := <-cut:
			select {
			case e = <-a.ready: // both at once
				done = e.done()
			default:
			}
			a.orphan(e, err)
			if e == nil {
				return Outcome{Code: 1} // nothing was started
			}
			return lastOutcome(done)
		case s := <-signals:
			if s == syscall.SIGUSR1 || s == syscall.SIGUSR2 {
				continue // launchers send these to the whole process group: the program has it
			}
			if e == nil {
				return Outcome{Code: 1} // nothing was started
			}
			if !e.signal(s) {
				go a.kill(e) // done follows
			}
		}
	}
}

// lastOutcome is how the program ended if that is known soon: the job may hang up as soon as it has heard of the end of
// the last rank, which is before the engine says so here.
func lastOutcome(done <-chan Outcome) Outcome {
	select {
	case outcome := <-done:
		return outcome
	case <-time.After(killTimeout):
		return Outcome{Code: 1}
	}
}

func (a *agent) kill(e engine) {
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	if err := e.kill(ctx); err != nil {
		a.log.Warn("ending the rank", "rank", a.number, "err", err)
	}
}

// orphan ends everything: the job has gone.
func (a *agent) orphan(e engine, why error) {
	if !errors.Is(why, io.EOF) {
		a.log.Warn("the connection to the job broke", "rank", a.number, "err", why)
	}
	if e != nil {
		// A debugger that is well ends its program in better order than a signal does.
		a.kill(e)
	}
	a.sweep()
	// The guard of the job does the same, on the host of cohort.
	if a.dir.Orphaned() {
		if err := leftovers.Remove(os.Getenv(leftovers.NamespaceVar)); err != nil {
			a.log.Warn("cleaning up after the MPI library", "err", err)
		}
	}
}

// sweep kills what the program or the debugger has left behind.
func (a *agent) sweep() {
	left, err := marked.KillOf(a.dir.ID, os.Getpid())
	if err != nil {
		a.log.Warn("ending what the rank left behind", "rank", a.number, "err", err)
	}
	for _, p := range left {
		a.log.Info("killed a process that the rank left behind", "rank", a.number, "pid", p.Pid, "command", p.Command)
	}
}

// Handle implements wire.Handler. Setup comes first, and alone: the job waits for its answer.
func (a *agent) Handle(ctx context.Context, request any) (any, error) {
	e := a.engine.Load()
	setup, first := request.(wire.Setup)
	switch {
	case first && e != nil:
		return nil, &backend.StateError{Asked: "set up", State: "set up already"}
	case first:
		a.setUp(setup)
		return nil, nil //nolint:nilnil // it has no answer
	case e == nil:
		return nil, &backend.StateError{Asked: "do this", State: "not set up"}
	case request == wire.Kill:
		return nil, (*e).kill(ctx)
	}
	return (*e).handle(ctx, request)
}

func (a *agent) setUp(setup wire.Setup) {
	log := a.log
	if setup.LogFile != "" {
		// The end of this process closes it.
		if file, _, err := logfile.Open(setup.LogFile); err != nil {
			log.Warn("the rank has no log", "rank", a.number, "err", err)
		} else {
			log = file.With("rank", a.number, "agent", os.Getpid())
		}
	}
	r := &rank{
		setup: setup, number: a.number, program: a.options.Program, args: a.options.Args, log: log, send: a.send,
		window: a.window, ended: make(chan Outcome, 2),
	}
	var e engine = &runner{rank: r}
	if setup.Debug {
		e = &debugger{rank: r, factory: a.options.NewBackend, over: make(chan struct{})}
	}
	a.engine.Store(&e)
	a.ready <- e
}
