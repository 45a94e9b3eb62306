package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/replayctl"
	"github.com/cohort-debugger/cohort/runner"
)

func (s *Starter) replay(ctx context.Context, args protocol.LaunchArguments, report dap.Progress) (dap.Started, error) {
	n := &notes{report: report}
	options := runner.ReplayOptions{
		Common: s.common(args, n, nil), Recording: args.Recording, Program: args.Program, Cwd: args.Cwd,
		Env: environment(args.Env), IncompleteOK: args.IncompleteOK,
	}
	var graph *causal.Graph
	if args.BoundBuffering != 0 {
		rec, _, err := runner.Open(args.Recording) // what there is to say is said when the replay is prepared
		if err != nil {
			return dap.Started{}, err
		}
		var bound *causal.Bounding
		bound, graph, err = BoundBuffering(ctx, rec, args.BoundBuffering, GraphOptions{
			Common: options.Common, Program: options.Program, IncompleteOK: options.IncompleteOK, Progress: report,
		})
		if err != nil {
			return dap.Started{}, err
		}
		n.add(announced(bound))
		options.Control = bound.Control
	}
	prepared, err := runner.PrepareReplay(ctx, options)
	if err != nil {
		return dap.Started{}, err
	}
	for _, note := range prepared.Notes {
		n.add(note)
	}
	started, err := s.launch(ctx, underDebugger(prepared, args), args, n)
	if err != nil {
		return dap.Started{}, err
	}
	j := started.Job
	steer := &controller{starter: s, args: args, options: options, prepared: prepared, job: j, graph: graph}
	steer.Controller = replayctl.New(replayctl.Options{
		Job: j, Graph: steer.loadGraph, Scout: steer.scout,
		Say: func(text string) { say(j, "console", text+"\n") }, Log: s.Log,
	})
	started.Controller = steer
	if hint := prepared.Hint(); hint != "" {
		go sayAtDivergence(j, j.Subscribe(job.WithoutOutput), hint)
	}
	return started, nil
}

// sayAtDivergence says once, when a rank has left the recording, what may be why. It ends with the job.
func sayAtDivergence(j *job.Job, sub *job.Subscription, hint string) {
	defer sub.Close()
	for e := range sub.Events() {
		if r := e.RankChanged; r != nil && r.Stop != nil && job.Diverged(r.Stop.Control) {
			say(j, "console", hint+"\n")
			return
		}
	}
}

func underDebugger(p *runner.Prepared, args protocol.LaunchArguments) launch.Options {
	o := p.Launch
	o.Mode, o.Gdb, o.Debugger, o.HoldEnds = launch.Debug, args.Gdb, args.Debugger, false
	if args.NoDebug {
		o.Mode = launch.Run
	}
	return o
}

// controller is dap.Controller for one replay: a replayctl.Controller, and what it needs of this package.
type controller struct {
	*replayctl.Controller

	starter  *Starter
	args     protocol.LaunchArguments
	options  runner.ReplayOptions
	prepared *runner.Prepared
	job      *job.Job

	mu    sync.Mutex // held while the graph is obtained, so that it is obtained once
	graph *causal.Graph
}

func (s *controller) loadGraph(ctx context.Context) (*causal.Graph, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.graph != nil {
		return s.graph, nil
	}
	const id = "graph"
	o := GraphOptions{Common: s.options.Common, Program: s.options.Program, IncompleteOK: s.options.IncompleteOK}
	o.Progress = func(text string, done, total int64) {
		s.progress(job.Progress{ID: id, Title: "Event graph", Text: text, Done: done, Total: total})
	}
	graph, err := Graph(ctx, s.prepared.Recording, o)
	s.progress(job.Progress{ID: id, Title: "Event graph", End: true})
	if err == nil {
		s.graph = graph
	}
	return graph, err
}

// progress is shown by every front end. A job that is closed has none left.
func (s *controller) progress(p job.Progress) { _ = s.job.ReportProgress(p) }

// scout starts a second replay, unseen, in which only some ranks have a debugger.
func (s *controller) scout(ctx context.Context, debugged rankset.Set) (*replayctl.Scout, error) {
	o := underDebugger(s.prepared, s.args)
	o.Mode, o.DebugRanks, o.Output = launch.Debug, debugged.Slice(), discard
	running, err := launch.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	stop := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		running.Stop(ctx)
	}
	scout := &replayctl.Scout{Ranks: map[int]backend.Backend{}, Stop: stop}
	type launched struct {
		rank int
		err  error
	}
	results := make(chan launched)
	for rank := range debugged.Each {
		b := running.Ranks()[rank].Backend()
		scout.Ranks[rank] = b
		go func() {
			_, err := b.Launch(ctx, backend.LaunchRequest{
				Program: o.Program, Cwd: o.Cwd, Env: o.Env,
				DebuggerPath: o.Gdb, HasControl: true,
			})
			results <- launched{rank, err}
		}()
	}
	var errs []error
	for range scout.Ranks {
		if r := <-results; r.err != nil {
			errs = append(errs, fmt.Errorf("rank %d: %w", r.rank, r.err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		stop()
		return nil, err
	}
	// Events of the other ranks must be read as well: whoever has a backend keeps reading.
	for rank, r := range running.Ranks() {
		if !debugged.Contains(rank) {
			go func() {
				for range r.Backend().Events() { // the reading is all
				}
			}()
		}
	}
	return scout, nil
}

// refusedCut marks the errors that mean that the recording has no such cut.
func refusedCut(err error) error {
	if errors.As(err, new(*causal.RefusedError)) {
		return refusal{err}
	}
	return err
}

// Cut implements dap.Controller.
func (s *controller) Cut(ctx context.Context, at string) (protocol.CutBody, error) {
	event, err := causal.ParseEventID(at)
	if err != nil {
		return protocol.CutBody{}, refusedCut(err)
	}
	graph, err := s.loadGraph(ctx)
	if err != nil {
		return protocol.CutBody{}, err
	}
	report, err := graph.ReportCausalCut(event)
	if err != nil {
		return protocol.CutBody{}, refusedCut(err)
	}
	return protocol.CutBody{At: at, Positions: report.Cut, Consistent: report.Consistent, Text: report.Text()}, nil
}
