package dap

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

func initialize(k *call, a initializeArguments) (any, error) {
	c := k.c
	if a.PathFormat != "" && a.PathFormat != "path" && a.PathFormat != "uri" {
		return nil, refuse("the pathFormat %s is not known: use \"path\" or \"uri\"", quoteShort(a.PathFormat))
	}
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	if c.phase != phaseConnected {
		return nil, refuse("initialize was sent a second time: one session is initialized once")
	}
	c.phase = phaseInitialized
	c.caps = clientCaps{
		progress: a.SupportsProgressReporting, variableType: a.SupportsVariableType, paging: a.SupportsVariablePaging,
		memory: a.SupportsMemoryReferences, memoryEvents: a.SupportsMemoryEvent,
		invalidated: a.SupportsInvalidatedEvent, cohort: a.SupportsCohortEvents,
		linesFrom0:   a.LinesStartAt1 != nil && !*a.LinesStartAt1,
		columnsFrom0: a.ColumnsStartAt1 != nil && !*a.ColumnsStartAt1,
		pathsAreURIs: a.PathFormat == "uri",
	}
	return capabilities(), nil
}

// initializeArguments are DAP's, with defaults of true that can be told from false.
type initializeArguments struct {
	protocol.InitializeArguments
	LinesStartAt1   *bool `json:"linesStartAt1"`
	ColumnsStartAt1 *bool `json:"columnsStartAt1"`
}

// capabilities are what this server can do; nothing is in them that it only partly does. It also knows `singleThread`,
// which is not offered: Zed would send it with every continue and step, and so would never act on the focus.
func capabilities() protocol.Capabilities {
	return protocol.Capabilities{
		Capabilities: godap.Capabilities{
			SupportsConfigurationDoneRequest:  true,
			SupportsFunctionBreakpoints:       true,
			SupportsConditionalBreakpoints:    true,
			SupportsHitConditionalBreakpoints: true,
			SupportsEvaluateForHovers:         true,
			SupportsSetVariable:               true,
			SupportsCompletionsRequest:        true,
			SupportsValueFormattingOptions:    true,
			SupportsExceptionInfoRequest:      true,
			SupportTerminateDebuggee:          true,
			SupportsDelayedStackTraceLoading:  true,
			SupportsLogPoints:                 true,
			SupportsDataBreakpoints:           true,
			SupportsTerminateRequest:          true,
			SupportsReadMemoryRequest:         true,
			SupportsWriteMemoryRequest:        true,
			SupportsSetExpression:             true,
			SupportsDisassembleRequest:        true,
			SupportsInstructionBreakpoints:    true,
			SupportsClipboardContext:          true,
			SupportsCancelRequest:             true,
			SupportsSteppingGranularity:       true,
			SupportsExceptionFilterOptions:    true,
			ExceptionBreakpointFilters:        exceptionFilters,
		},
		BreakpointModes: []protocol.BreakpointMode{
			{
				Mode: protocol.ModeRank, Label: "Rank", AppliesTo: []string{"source", "exception"},
				Description: "Only the rank that hits the breakpoint stops.",
			},
			{
				Mode: protocol.ModeFocus, Label: "Focus", AppliesTo: []string{"source", "exception"},
				Description: "When a rank in focus hits the breakpoint, every rank in focus stops as soon as it can.",
			},
			{
				Mode: protocol.ModeAll, Label: "All ranks", AppliesTo: []string{"source", "exception"},
				Description: "When one rank hits the breakpoint, every rank stops as soon as it can.",
			},
			{
				Mode: protocol.ModeCausal, Label: "Causal cut (replay)", AppliesTo: []string{"source"},
				Description: "In a replay: the rank that hits the breakpoint stops there, and every other rank stops " +
					"right after the last " +
					"of its events that happened before.",
			},
		},
	}
}

// launchKeys are the names of launch's arguments.
var launchKeys = jsonNames(reflect.TypeFor[protocol.LaunchArguments]())

func launch(k *call, a protocol.LaunchArguments) (any, error) {
	c := k.c
	if err := k.checkToken(a.Token); err != nil {
		return nil, err
	}
	if k.d != nil {
		return nil, refuse("launch was refused: this session has a job already; start another server for another job")
	}
	if err := checkLaunch(a); err != nil {
		return nil, err
	}
	for _, key := range unknownKeys(k.req.arguments, launchKeys) {
		hint := ""
		if near := nearest(key, launchKeys); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		c.say("important", fmt.Sprintf("launch: the argument %q is not known and was ignored%s\n", key, hint))
	}
	return k.start(a)
}

// start makes the session have a job of its own.
func (k *call) start(a protocol.LaunchArguments) (any, error) {
	c := k.c
	d, err := c.srv.claim()
	if err != nil {
		return nil, err
	}
	a.Token = ""
	title := "Starting the ranks"
	if a.Attach != nil {
		title = "Finding the ranks"
	}
	if len(a.Cores) > 0 {
		title = "Looking at the core files"
	}
	bar := c.newProgress(title, k.req.seq)
	started, err := c.srv.o.Starter.Start(k.ctx, a, bar.report)
	bar.end("")
	if err == nil && k.ctx.Err() != nil { // cancelled at the last moment
		ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), stopTime)
		defer cancel()
		err = errors.Join(context.Cause(k.ctx), started.Job.Kill(ctx), started.Stop(ctx))
		started.Job.Close()
	}
	if err != nil {
		d.failed(err)
		return nil, err
	}
	d.begin(started, c, a.StopOnEntry || started.Attached)
	k.join(d, true, a.ShowLibraryThreads, a.SupportsCohortEvents)
	for _, note := range started.Notes {
		c.say("console", sentence(note)+"\n")
	}
	c.startFollowing(d)
	return nil, nil
}

// join makes d the job of the session.
func (k *call) join(d *debuggee, owner, showLibraries, cohort bool) {
	c, method := k.c, k.req.command
	c.srv.mu.Lock()
	c.caps.showLibraries, c.caps.cohort = showLibraries, c.caps.cohort || cohort
	c.job, c.owner, c.phase = d, owner, phaseJob
	c.srv.mu.Unlock()
	k.onAnswered(func() {
		c.event("process", godap.ProcessEventBody{Name: d.Launch.Program, IsLocalProcess: true, StartMethod: method})
		c.event("initialized", struct{}{})
	})
}

// errWrongToken ends a connection that has shown a wrong token.
var errWrongToken = fmt.Errorf("%w: wrong token", errGone)

// checkLaunch refuses what no Starter could carry out.
func checkLaunch(a protocol.LaunchArguments) error {
	switch {
	case a.Program == "" && a.Recording == "" && len(a.Cores) == 0 && a.Attach == nil:
		return refuse("launch needs either the argument `program`, the MPI program to debug, or `recording`, the " +
			"recording to replay; neither was given")
	case a.Ranks < 0:
		return refuse("launch cannot start %d ranks: the argument `ranks` must be 1 or more", a.Ranks)
	case a.Yield != "" && a.Yield != "auto" && a.Yield != "on" && a.Yield != "off":
		return refuse("the argument `yield` of launch cannot be %s: use \"auto\", \"on\" or \"off\"",
			quoteShort(a.Yield))
	}
	return nil
}

func attach(k *call, a protocol.AttachArguments) (any, error) {
	if err := k.checkToken(a.Token); err != nil {
		return nil, err
	}
	if k.d != nil {
		return nil, refuse("attach was refused: this session has a job already")
	}
	if a.Pid != 0 {
		a.Pids = append(a.Pids, a.Pid)
	}
	if len(a.Pids) > 0 || a.Program != "" {
		return k.start(protocol.LaunchArguments{
			Attach: &a.AttachTarget, Gdb: a.Gdb, ShowLibraryThreads: a.ShowLibraryThreads,
			SupportsCohortEvents: a.SupportsCohortEvents,
		})
	}
	d, err := k.c.srv.joinable()
	if err == nil {
		err = d.add(k.ctx, k.c)
	}
	if err != nil {
		return nil, err
	}
	k.join(d, false, a.ShowLibraryThreads, a.SupportsCohortEvents)
	return nil, nil
}

func configurationDone(k *call, _ struct{}) (any, error) {
	c, d := k.c, k.d
	c.srv.mu.Lock()
	owner, again := c.owner, c.phase >= phaseConfigured
	c.phase = phaseConfigured
	c.srv.mu.Unlock()
	if again {
		return nil, refuse("configurationDone was sent a second time: the ranks have been started")
	}
	if !owner {
		k.onAnswered(func() { c.startFollowing(d) })
		return nil, nil
	}
	title := "Starting the program on all ranks"
	switch {
	case d.Cores:
		title = "Opening the core files"
	case d.Attached:
		title = "Attaching to the ranks"
	}
	bar := c.newProgress(title, k.req.seq)
	defer bar.end("")
	if err := d.launchRanks(k); err != nil {
		// A job of which a part could not be started is of no use to anyone: MPI_Init would wait for ever.
		k.onAnswered(func() { d.end("its ranks could not be started") })
		return nil, err
	}
	return nil, nil
}

// launchRanks starts the program on every rank, with the breakpoints that are set, and lets it continue from its entry
// unless it is to stop there.
func (d *debuggee) launchRanks(k *call) error {
	if d.Running {
		return nil
	}
	if d.Cores || d.Attached {
		k.c.view.want(d.Attend)
	}
	if err := d.Job.Launch(k.ctx, d.Launch); err != nil {
		if !d.Cores || !d.anyRank(func(r job.RankStatus) bool { return r.State == job.Stopped }) {
			return err
		}
		k.c.say("important", sentence(err.Error())+"\n") // the other core files are as good as ever
	}
	d.srv.mu.Lock()
	d.launched = true
	stay := d.entryStop || d.Cores
	d.srv.mu.Unlock()
	if stay {
		return nil
	}
	all := d.Job.All()
	if d.breakpoints.causal() {
		return k.startSteered(all)
	}
	_, err := d.Job.Resume(k.ctx, all, backend.ResumeRequest{Kind: backend.Continue})
	return err
}

// startSteered is the first causal run. If it cannot be, the ranks stay at their entry, which the clients are shown,
// and the user has the session all the same.
func (k *call) startSteered(all rankset.Set) error {
	d := k.d
	err := k.continueSteered(all)
	if err == nil || errors.Is(err, errRunCancelled) || k.ctx.Err() != nil {
		return err
	}
	if over, _ := d.ended(); over {
		return err
	}
	d.say("important", "The run to the causal breakpoint could not begin: "+sentence(err.Error())+
		" The ranks are stopped at their entry.\n")
	d.srv.mu.Lock()
	d.entryStop = true
	d.srv.mu.Unlock()
	k.c.view.want(-1)
	k.onAnswered(func() { d.Job.Remind() })
	return nil
}

// anyRank tells whether a rank is as wanted.
func (d *debuggee) anyRank(wanted func(job.RankStatus) bool) bool {
	ranks, err := d.Job.Status()
	return err == nil && slices.ContainsFunc(ranks, wanted)
}

// hidesStop: the stop at entry is a step of the launch and not for people, unless they asked for it.
func (d *debuggee) hidesStop(s job.RankStatus) bool {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	return s.State == job.Stopped && s.Stop.Reason == backend.ReasonEntry && !d.entryStop
}

// startFollowing begins this client's stream of events.
func (c *client) startFollowing(d *debuggee) {
	c.sub = d.Job.Subscribe(job.Everything)
	c.pump.Go(func() {
		defer close(c.told)
		c.follow(d)
	})
}

// disconnect ignores `restart`, as does terminate: the client says with it that it will launch again, as VS Code's
// Restart does.
func disconnect(k *call, a protocol.DisconnectArguments) (any, error) {
	c := k.c
	// What is in progress, such as a launch, ends first; else it would leave something behind.
	c.dispatch.close(k)
	c.srv.mu.Lock()
	c.leaving = a.TerminateDebuggee
	d := c.job
	c.srv.mu.Unlock()
	if d != nil && a.TerminateDebuggee != nil && *a.TerminateDebuggee {
		d.terminate()
	}
	c.leave()
	k.onAnswered(func() { c.cancel(errDisconnected) })
	return nil, nil
}

func terminate(k *call, _ godap.TerminateArguments) (any, error) {
	c := k.c
	if c.dispatch.cancelWhere(func(o *call) bool { return o.req.command == "launch" }) > 0 && c.debuggee() == nil {
		k.onAnswered(func() { c.event("terminated", godap.TerminatedEventBody{}) })
		return nil, nil
	}
	d := c.debuggee()
	if d == nil {
		return nil, refuse("terminate was sent, but this session has no job to terminate")
	}
	d.terminate()
	d.end("a client terminated it")
	return nil, nil
}

func cancelRequest(k *call, a godap.CancelArguments) (any, error) {
	seq := a.RequestId
	switch {
	case seq != 0:
	case a.ProgressId == "":
		return nil, refuse("cancel needs `requestId`, the seq of the request to cancel, or `progressId`; neither " +
			"was given")
	default:
		if _, err := fmt.Sscanf(a.ProgressId, progressID, new(int), &seq); err != nil || seq == 0 {
			return nil, refuse("cancel names the progress %s, which is not shown or cannot be cancelled",
				quoteShort(a.ProgressId))
		}
	}
	// An unknown number is no error: the request has been answered meanwhile.
	k.c.dispatch.cancelWhere(func(o *call) bool { return o.req.seq == seq })
	return nil, nil
}
