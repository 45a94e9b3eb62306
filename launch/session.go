package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/controlblock"
	"github.com/cohort-debugger/cohort/launch/guard"
	"github.com/cohort-debugger/cohort/launch/jobdir"
	"github.com/cohort-debugger/cohort/launch/leftovers"
	"github.com/cohort-debugger/cohort/launch/marked"
	"github.com/cohort-debugger/cohort/launch/wire"
)

// How long the parts of an ending job get before the next harder means.
const (
	agentGrace    = 3 * time.Second  // for agents to end what they have, when asked or when the launcher has gone
	launcherGrace = 3 * time.Second  // for the launcher to follow its ranks, and then to obey SIGTERM
	killGrace     = 20 * time.Second // for what was killed to be gone
	lostGrace     = 5 * time.Second  // for the launcher to notice that an agent, its own child, has gone
)

// Session is a job that has been started. Its methods may be called from any goroutine.
type Session struct {
	options  Options
	log      *slog.Logger
	command  command
	dir      *jobdir.Dir
	listener net.Listener
	launcher *launcherProcess
	guard    *guard.Process
	ranks    []*Rank       // gather's until gathered is closed
	gathered chan struct{} // closed when no rank is waited for any more
	arrivals chan arrival
	over     chan struct{} // closed when nothing is left; then result is set
	result   Result
	ends     atomic.Int64 // ranks whose end is known
	stopped  atomic.Bool
	outputMu sync.Mutex // Output is called once at a time
	ending   sync.Once
	losing   sync.Once
	work     sync.WaitGroup // goroutines, but for life and those of the ranks' connections
}

// Result is how a job ended.
type Result struct {
	Code    int    // exit status of the launcher, -1 if a signal ended it
	Signal  string // that signal
	Ranks   []RankResult
	Stopped bool   // Stop was called
	Said    string // the last of what the launcher said
}

// First is the rank that was first to end otherwise than by exit(0); -1: none did.
func (r Result) First() int {
	first := -1
	for i, rank := range r.Ranks {
		if rank.Failed() && (first < 0 || better(rank, r.Ranks[first])) {
			first = i
		}
	}
	return first
}

// better prefers a known failure to a lost rank (which the launcher may have ended because of the failure), then the
// earlier.
func better(a, b RankResult) bool {
	if (a.Exit == nil) != (b.Exit == nil) {
		return a.Exit != nil
	}
	return a.Order < b.Order
}

// Start starts a job and returns when all its ranks have dialled in (and, in Run mode, their programs have been
// started). If it fails nothing is left behind; the error is a *RefusedError (or one of package pmpi) if nothing was
// started, a *StartError, or what ended ctx.
func Start(ctx context.Context, options Options) (*Session, error) {
	log := options.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	options.Env = slices.Clone(options.Env)
	line, err := check(&options)
	if err != nil {
		return nil, err
	}
	dir, err := jobdir.Create()
	if err != nil {
		return nil, err
	}
	s := &Session{
		options: options, log: log, command: line, dir: dir, ranks: make([]*Rank, options.Ranks),
		gathered: make(chan struct{}), arrivals: make(chan arrival), over: make(chan struct{}),
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", dir.Socket()); err != nil {
		return nil, errors.Join(fmt.Errorf("listening for the agents: %w", err), dir.Remove())
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.listener.Close(), dir.Remove())
	}
	s.work.Go(s.accept)
	if err := s.comeUp(ctx); err != nil {
		return nil, err
	}
	s.launcher.said.release()
	return s, nil
}

// start starts the guard and the launcher. What it has started when it fails has ended.
func (s *Session) start() error {
	if err := s.writeDecisions(); err != nil {
		return err
	}
	self, err := selfCommand(&s.options)
	if err != nil {
		return err
	}
	if s.guard, err = guard.Start(append(slices.Clone(self), "guard", "--job", s.dir.Path)); err != nil {
		return err
	}
	s.launcher, err = startLauncher(s.command, agentCommand(&s.options, self, s.dir.Path), s)
	if err != nil {
		return errors.Join(err, s.guard.Dismiss())
	}
	return nil
}

// Check refuses what Start would refuse before it starts anything, and completes the options (Program becomes
// absolute).
func Check(options *Options) error {
	_, err := check(options)
	return err
}

func check(options *Options) (command, error) {
	for _, r := range options.DebugRanks {
		if r < 0 || r >= options.Ranks {
			return command{}, refuse(nil, "A debugger was asked for rank %d, and the job has the ranks 0 to %d.", r,
				options.Ranks-1)
		}
	}
	if options.Cwd != "" {
		if info, err := os.Stat(options.Cwd); err != nil || !info.IsDir() {
			return command{}, refuse(err, "The working directory %s is not a directory.", options.Cwd)
		}
	}
	return chooseLauncher(options)
}

// writeDecisions lets the caller fill a directory of the job.
func (s *Session) writeDecisions() error {
	i := s.options.Interpose
	if i == nil || i.WriteDecisions == nil {
		return nil
	}
	own := *i
	own.DecisionsDir = filepath.Join(s.dir.Path, "decisions")
	s.options.Interpose = &own
	if err := os.Mkdir(own.DecisionsDir, 0o700); err != nil {
		return fmt.Errorf("making a directory for the decisions: %w", err)
	}
	return i.WriteDecisions(own.DecisionsDir)
}

func (s *Session) debugged(rank int) bool {
	return s.options.Mode == Debug && (s.options.DebugRanks == nil || slices.Contains(s.options.DebugRanks, rank))
}

// comeUp waits for the ranks and sets them up. If it fails it has ended everything.
func (s *Session) comeUp(ctx context.Context) error {
	err := s.gather(ctx)
	close(s.gathered)
	s.work.Go(s.refuseLate)
	go s.life() //nolint:gosec // cleaning up does not end with the context of starting
	if err == nil {
		err = s.setUp(ctx)
	}
	if err == nil {
		return nil
	}
	if errors.As(err, new(*StartError)) && ctx.Err() == nil {
		s.launcher.said.drop() // it is part of the error
	}
	s.endRanks()
	s.launcher.kill(syscall.SIGTERM)
	stopCtx, cancel := context.WithTimeout(context.Background(), launcherGrace)
	defer cancel()
	s.Stop(stopCtx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// gather accepts one agent per rank.
func (s *Session) gather(ctx context.Context) error {
	for missing := s.options.Ranks; missing > 0; {
		select {
		case a := <-s.arrivals:
			if s.ranks[a.hello.Rank] != nil {
				a.refuse(duplicate(a.hello.Rank))
				continue
			}
			rank, err := newRank(s, a)
			if err != nil {
				s.log.Warn("an agent left while it was being accepted", "rank", a.hello.Rank, "err", err)
				continue
			}
			s.ranks[a.hello.Rank] = rank
			missing--
		case <-s.launcher.gone:
			for _, p := range s.launcher.pumps {
				p.Drain()
			}
			return &StartError{Reason: s.command.explain(s.launcher.code, s.launcher.signal, s.launcher.said.text())}
		case <-ctx.Done():
			return fmt.Errorf("waiting for the ranks to start, with %d of %d there: %w", s.options.Ranks-missing,
				s.options.Ranks, context.Cause(ctx))
		}
	}
	return nil
}

// setUp tells the agents what they are for, and starts what needs no debugger.
func (s *Session) setUp(ctx context.Context) error {
	errs := make([]error, len(s.ranks))
	var group sync.WaitGroup
	for i, rank := range s.ranks {
		group.Go(func() {
			_, errs[i] = rank.client.Call(ctx, s.setupOf(i))
			if errs[i] != nil || rank.debug {
				return
			}
			body, err := rank.client.Call(ctx, backend.LaunchRequest{})
			result, err := wire.As[backend.LaunchResult](body, err)
			errs[i] = err
			rank.pid.Store(int64(result.Pid))
		})
	}
	group.Wait()
	text := mergeErrors(errs)
	if err := guard.NoteNamespace(s.dir, s.ranks[0].job); err != nil {
		s.log.Warn("telling the guard about the job", "err", err)
	}
	if text == "" {
		return nil
	}
	if last := lastLines(s.launcher.said.text(), 12); last != "" {
		text += "\nThe launcher's last lines were:" + last
	}
	return &StartError{Reason: text}
}

// mergeErrors says equal errors once.
func mergeErrors(errs []error) string {
	var order []string
	ranks := map[string][]string{}
	for i, err := range errs {
		if err == nil {
			continue
		}
		if ranks[err.Error()] == nil {
			order = append(order, err.Error())
		}
		ranks[err.Error()] = append(ranks[err.Error()], fmt.Sprint(i))
	}
	var lines []string
	for _, text := range order {
		lines = append(lines, fmt.Sprintf("[%s] %s", strings.Join(ranks[text], ","), text))
	}
	return strings.Join(lines, "\n")
}

func (s *Session) setupOf(rank int) wire.Setup {
	o := s.options
	setup := wire.Setup{
		Debug: s.debugged(rank), Hold: o.HoldEnds || o.Mode == Debug, Capture: o.Output != nil || o.Mode == Debug,
		Ranks: o.Ranks, Cwd: o.Cwd, Env: o.Env, Gdb: o.Gdb, Debugger: o.Debugger, LogFile: o.LogFile,
	}
	if i := o.Interpose; i != nil {
		setup.Interpose = &wire.Interpose{
			Library: i.Library, Mode: i.Mode, Flags: i.Flags, ControlPath: s.dir.Control(rank),
		}
		if i.TraceDir != "" {
			setup.Interpose.TracePath = filepath.Join(i.TraceDir, fmt.Sprintf("rank-%d.trace", rank))
		}
		if i.DecisionsDir != "" {
			setup.Interpose.DecisionsPath = filepath.Join(i.DecisionsDir, fmt.Sprintf("rank-%d.decisions", rank))
		}
	}
	return setup
}

// life waits for the end of the launcher and cleans up.
func (s *Session) life() {
	defer close(s.over)
	<-s.launcher.gone
	s.awaitAgents()
	s.listener.Close() //nolint:errcheck // it is a socket in a directory that goes away
	s.work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), killGrace)
	defer cancel()
	left, err := marked.KillAll(ctx, s.dir.ID)
	for _, p := range left {
		s.log.Info("killed a process that the job left behind", "pid", p.Pid, "command", p.Command)
	}
	if err != nil {
		s.log.Error("ending the job", "err", err)
	}
	for _, p := range s.launcher.pumps {
		p.Close()
	}
	s.launcher.said.release()
	s.result = Result{
		Code: s.launcher.code, Signal: s.launcher.signal, Stopped: s.stopped.Load(),
		Said: s.launcher.said.text(),
	}
	for i, rank := range s.ranks {
		s.result.Ranks = append(s.result.Ranks, s.rankResult(i, rank))
	}
	if err := errors.Join(s.removeLeftovers(), s.dir.Remove(), s.guard.Dismiss()); err != nil {
		s.log.Warn("cleaning up after the job", "err", err)
	}
}

// removeLeftovers is for jobs whose launcher could not do it.
func (s *Session) removeLeftovers() error {
	for _, rank := range s.ranks {
		if rank != nil && rank.job != "" {
			return leftovers.Remove(rank.job)
		}
	}
	return nil
}

// awaitAgents waits for the last words of the agents, which end with the launcher.
func (s *Session) awaitAgents() {
	grace := time.NewTimer(agentGrace)
	defer grace.Stop()
	s.endRanks()
	for _, rank := range s.ranks {
		if rank == nil {
			continue
		}
		select {
		case <-rank.client.Gone():
		case <-grace.C:
			grace.Reset(0) // for the others
			rank.client.Close()
			<-rank.client.Gone()
		}
		<-rank.watched
	}
}

func (s *Session) rankResult(i int, rank *Rank) RankResult {
	if rank == nil {
		return RankResult{Lost: "it never started"}
	}
	result := rank.result
	if result.Exit == nil && s.options.Interpose != nil {
		// Its agent could not say the last: the block itself can.
		if state, err := controlblock.Read(s.dir.Control(i)); err == nil {
			result.Control = state
		}
	}
	return result
}

// rankOver counts the ends of ranks. After the last one, the agents of debugged ranks, which outlive their programs,
// are told to go.
func (s *Session) rankOver() int {
	n := int(s.ends.Add(1))
	if n == s.options.Ranks {
		s.endRanks()
	}
	return n
}

// agentLost ends a job one of whose agents has gone without a word, unless the launcher does so itself. Open MPI's may
// miss the end of a child that was killed, one in twenty times on a busy machine, and then it waits for ever.
func (s *Session) agentLost() {
	s.losing.Do(func() {
		s.work.Go(func() {
			grace := time.NewTimer(lostGrace)
			defer grace.Stop()
			select {
			case <-s.launcher.gone:
				return
			case <-grace.C:
			}
			s.log.Warn("the launcher has not noticed that an agent has gone; the job is ended")
			s.end(context.Background())
		})
	})
}

// endRanks asks every agent to end its rank, hears what they have to say about it, and hangs up, which ends the agents.
// It begins once, does not wait, and takes agentGrace at most; life waits for its end.
func (s *Session) endRanks() {
	s.ending.Do(func() {
		s.work.Go(func() {
			<-s.gathered
			ctx, cancel := context.WithTimeout(context.Background(), agentGrace)
			defer cancel()
			var group sync.WaitGroup
			for _, rank := range s.ranks {
				if rank != nil {
					group.Go(func() { s.endRank(ctx, rank) })
				}
			}
			group.Wait()
			for _, rank := range s.ranks {
				if rank != nil {
					rank.client.Close()
				}
			}
		})
	})
}

func (s *Session) endRank(ctx context.Context, rank *Rank) {
	if err := rank.remote.Kill(ctx); err != nil {
		s.log.Debug("ending a rank", "rank", rank.number, "err", err)
	}
	select {
	case <-rank.watched:
	case <-ctx.Done():
	}
}

func (s *Session) output(chunk OutputChunk) {
	s.outputMu.Lock()
	defer s.outputMu.Unlock()
	s.options.Output(chunk)
}

// Ranks are the ranks; the index is the rank.
func (s *Session) Ranks() []*Rank { return s.ranks }

// Notes are whole sentences that the user should read, such as that Open MPI was started with --oversubscribe.
func (s *Session) Notes() []string { return s.command.notes }

// Launcher is the launcher's command line, without the program.
func (s *Session) Launcher() []string { return append([]string{s.command.path}, s.command.args...) }

// ID names the job; every process of it has it in its environment (marked.JobVar).
func (s *Session) ID() string { return s.dir.ID }

// Done is closed when the job has ended and nothing of it is left, but events that are still to be read.
func (s *Session) Done() <-chan struct{} { return s.over }

// Wait waits for Done.
func (s *Session) Wait() Result {
	<-s.over
	return s.result
}

// Stop ends the job and returns when nothing of it is left, in this process either. It asks first and kills later; when
// ctx ends it kills at once.
func (s *Session) Stop(ctx context.Context) Result {
	s.stopped.Store(true)
	s.end(ctx)
	<-s.over
	for _, rank := range s.ranks {
		if rank != nil {
			rank.client.Drop()
		}
	}
	return s.result
}

// end ends the ranks and the launcher. It asks first and kills later; when ctx ends it kills at once.
func (s *Session) end(ctx context.Context) {
	s.endRanks()
	for _, harder := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		grace := time.NewTimer(launcherGrace)
		select {
		case <-s.launcher.gone:
		case <-s.over:
		case <-grace.C:
		case <-ctx.Done():
		}
		grace.Stop()
		s.launcher.kill(harder)
	}
}
