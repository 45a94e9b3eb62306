package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/runner"
)

// defaultRanks is how many ranks a live run has if nobody says.
const defaultRanks = 4

// A Starter starts jobs for the DAP server. The zero value works.
type Starter struct {
	Log     *slog.Logger
	LogFile string // of the ranks' agents; see launch.Options
	// Self and SelfArgs say how to run `cohort agent`; see launch.Options. Tests need them.
	Self     string
	SelfArgs []string
}

var _ dap.Starter = (*Starter)(nil)

// refuse says in whole sentences why what was asked cannot work.
func refuse(format string, args ...any) error {
	return &launch.RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// Start implements dap.Starter.
func (s *Starter) Start(ctx context.Context, args protocol.LaunchArguments, report dap.Progress) (dap.Started, error) {
	err := check(args)
	var started dap.Started
	switch {
	case err != nil:
	case args.Attach != nil:
		started, err = s.attach(ctx, args, report)
	case len(args.Cores) > 0:
		started, err = s.cores(ctx, args, report)
	case args.Recording != "":
		started, err = s.replay(ctx, args, report)
	default:
		started, err = s.live(ctx, args, report)
	}
	return started, marked(err)
}

func check(args protocol.LaunchArguments) error {
	if args.Attach != nil {
		return checkAttach(args)
	}
	if len(args.Cores) > 0 {
		return checkCores(args)
	}
	switch {
	case args.Program == "" && args.Recording == "":
		return refuse("Neither \"program\" nor \"recording\" is given: name the MPI program to start, or a recording " +
			"(NAME.cohort) to replay.")
	case args.Recording != "" && args.Ranks != 0:
		return refuse("\"ranks\" (%d) cannot be given with \"recording\": a replay has as many ranks as were "+
			"recorded. Leave \"ranks\" out.", args.Ranks)
	case args.Recording != "" && len(args.Args) > 0:
		return refuse("\"args\" cannot be given with \"recording\": a replay gets the recorded arguments. Leave " +
			"\"args\" out.")
	case args.Recording != "" && args.NoInterpose:
		return refuse("\"noInterpose\" cannot be given with \"recording\": it is the library in the ranks that " +
			"replays.")
	case args.Recording == "" && args.BoundBuffering != 0:
		return refuse("\"boundBuffering\" is for replays: it needs a \"recording\", of which it is known who " +
			"receives what.")
	case args.BoundBuffering < 0:
		return refuse("\"boundBuffering\" is %d; it must be at least 1 message.", args.BoundBuffering)
	case args.Ranks < 0 || args.Ranks > launch.MaxRanks:
		return refuse("\"ranks\" is %d; it must be from 1 to %d.", args.Ranks, launch.MaxRanks)
	}
	switch args.Yield {
	case "", "auto", "on", "off":
		return nil
	}
	return refuse("\"yield\" is %q; it must be \"auto\", \"on\" or \"off\".", args.Yield)
}

func environment(env map[string]string) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// notes collects what is to be said to the user.
type notes struct {
	list   []string
	report dap.Progress
}

func (n *notes) add(text string) {
	n.list = append(n.list, text)
	n.report(text, 0, 0)
}

func (s *Starter) common(args protocol.LaunchArguments, n *notes, output func(launch.OutputChunk)) runner.Common {
	return runner.Common{
		MPI: args.MPI, LauncherArgs: args.LauncherArgs, Yield: runner.Yield(args.Yield), Output: output, Note: n.add,
		Self: s.Self, SelfArgs: s.SelfArgs,
		Log: s.Log, LogFile: s.LogFile,
	}
}

func (s *Starter) live(ctx context.Context, args protocol.LaunchArguments, report dap.Progress) (dap.Started, error) {
	n := &notes{report: report}
	ranks := args.Ranks
	if ranks == 0 {
		ranks = defaultRanks
	}
	options := launch.Options{
		Ranks: ranks, Program: args.Program, Args: args.Args, Cwd: args.Cwd, Env: environment(args.Env), MPI: args.MPI,
		LauncherArgs: args.LauncherArgs,
		Mode:         launch.Debug, Gdb: args.Gdb, Debugger: args.Debugger, Self: s.Self, SelfArgs: s.SelfArgs,
		Log: s.Log, LogFile: s.LogFile,
	}
	if args.NoDebug {
		options.Mode = launch.Run
	}
	if err := launch.Check(&options); err != nil {
		return dap.Started{}, err
	}
	tools, err := runner.Tools(ctx, options.Program, args.Args, args.MPI, n.add)
	if err != nil {
		return dap.Started{}, err
	}
	if !args.NoInterpose {
		yield, err := runner.Yield(args.Yield).Decide(tools.Program.MPI, ranks)
		if err != nil {
			return dap.Started{}, err
		}
		flags := abi.Flag(0)
		if yield {
			flags |= abi.FlagYield
			n.add("Waiting ranks yield their cores, as there are more ranks than cores; \"yield\": \"off\" turns " +
				"that off.")
		}
		options.Interpose = tools.Interpose(abi.ModeOff, flags)
	}
	return s.launch(ctx, options, args, n)
}

// launch starts the launcher and makes the job.
func (s *Starter) launch(ctx context.Context, options launch.Options, args protocol.LaunchArguments,
	n *notes,
) (dap.Started, error) {
	out := &launcherOutput{}
	options.Output = out.write
	n.report(fmt.Sprintf("starting %d ranks", options.Ranks), 0, int64(options.Ranks))
	running, err := launch.Start(ctx, options)
	if err != nil {
		return dap.Started{}, err
	}
	j := job.New(job.Options{Ranks: options.Ranks, Log: s.Log})
	for i, rank := range running.Ranks() {
		info := rank.Info()
		if err := j.Attach(i, rank.Backend(),
			job.Info{
				Host: info.Host, Pid: info.Pid, HoldOutput: rank.HoldOutput,
			}); err != nil {
			running.Stop(context.WithoutCancel(ctx))
			j.Close()
			return dap.Started{}, err
		}
	}
	out.attach(j)
	return dap.Started{
		Job:     j,
		Running: options.Mode == launch.Run,
		Notes:   append(n.list, running.Notes()...),
		Launch: backend.LaunchRequest{
			Program: options.Program, Cwd: options.Cwd, Env: options.Env, DebuggerPath: args.Gdb,
			HasControl: options.Interpose != nil,
		},
		Stop: func(ctx context.Context) error {
			running.Stop(ctx)
			return nil
		},
		Wait: func() error { return launcherEnd(running.Wait()) },
	}, nil
}

// launcherEnd says how the launcher ended if that tells more than the ends of the ranks.
func launcherEnd(r launch.Result) error {
	if r.Stopped || r.First() >= 0 || (r.Code == 0 && r.Signal == "") {
		return nil
	}
	text := fmt.Sprintf("The launcher ended with status %d", r.Code)
	if r.Signal != "" {
		text = "The launcher was ended by " + r.Signal
	}
	if said := strings.TrimSpace(r.Said); said != "" {
		text += ", having said:\n" + said
	}
	return errors.New(text)
}

// stopTimeout bounds the end of a scout; what is left then is killed by its agents.
const stopTimeout = 15 * time.Second
