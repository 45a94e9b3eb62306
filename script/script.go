package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/script/report"
)

// Options of a script.
type Options struct {
	Conn     io.ReadWriteCloser // a DAP connection, owned by Run from now on
	Launch   protocol.LaunchArguments
	Commands []string
	Out      io.Writer // output of the ranks, stops and answers
	Echo     bool      // print each command before it is carried out
	// KeepGoing carries out the commands after one that was refused, too.
	KeepGoing bool
	// Interrupts: while commands are carried out one value is received, which pauses all ranks that run. May be nil.
	Interrupts <-chan struct{}
	// Watch, if set, has Run fill a report, and end the script at a crash, an abort, or when the ranks do not get on.
	Watch *Watch
}

// ErrExpectation is what Run returns if all went well but for an expectation of the script.
var ErrExpectation = errors.New("an expectation is not met")

// Run starts the job stopped at its entry, carries out the commands in order, and ends the job. It returns nil if every
// command succeeded. The job has ended and nothing of Run is left when it returns.
func Run(ctx context.Context, o Options) error {
	events := make(chan client.Message, 64)
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	r := &runner{
		o: o, events: events, points: map[string][]protocol.SourceBreakpoint{}, aborts: map[int]bool{},
		incidents: make(chan incident, 2), // one of each goroutine that finds some
	}
	r.conn = client.New(o.Conn, func(m client.Message) {
		select {
		case events <- m:
		case <-done:
		}
	})
	defer func() { close(done); r.conn.Close() }()
	defer cancel()
	defer func() { cancel(); r.group.Wait() }()
	failed := r.start(ctx)
	if failed == nil {
		r.group.Go(func() { r.awaitInterrupt(ctx) })
		failed = r.commandsInOrder(ctx)
	}
	for _, e := range r.conclude(ctx, failed) {
		if o.Watch == nil {
			r.printf("%s\n", e.String())
		}
		if failed == nil && e.Verdict != report.Met {
			failed = fmt.Errorf("%w: %s is %s", ErrExpectation, e.Text, e.Verdict)
		}
	}
	if r.ranks == 0 {
		return failed
	}
	// ranks that ran before are left running
	err := r.request(ctx, "disconnect", map[string]any{"terminateDebuggee": r.o.Launch.Attach == nil}, nil)
	if failed == nil && !errors.Is(err, client.ErrClosed) { // after a failure it may be gone, which is no second one
		failed = err
	}
	return failed
}

func (r *runner) commandsInOrder(ctx context.Context) error {
	var refused []error
	for _, line := range r.o.Commands {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if r.o.Echo {
			r.printf("(cohort) %s\n", line)
		}
		err := r.command(ctx, line)
		if lookErr := r.settle(ctx); r.incident != nil && (lookErr != nil || errors.Is(err, errOver)) {
			return lookErr
		} else if err == nil || r.incident != nil && r.o.Watch != nil {
			continue
		}
		refused = append(refused, fmt.Errorf("the command %q failed: %w", line, err))
		if _, answered := errors.AsType[*client.RequestError](err); !r.o.KeepGoing || !answered {
			break
		}
		r.printf("error: %v\n", err)
	}
	if n := len(refused); n > 1 {
		return fmt.Errorf("%d commands failed; %w", n, refused[0])
	}
	return errors.Join(refused...)
}

// awaitInterrupt pauses the ranks that run when an interrupt comes. What waits for them gets its answer then.
func (r *runner) awaitInterrupt(ctx context.Context) {
	select {
	case <-r.o.Interrupts:
	case <-ctx.Done():
		return
	}
	if r.o.Watch != nil {
		r.incidents <- incident{report.Interrupted, "Interrupted by Ctrl-C."}
	}
	pauseRunning(ctx, r.conn.Request)
}

// runner is used by one goroutine, but for those of group, which send requests and incidents; only it reads events, so
// what is printed comes in the order in which it happened.
type runner struct {
	o        Options
	conn     *client.Client
	events   chan client.Message
	commands []protocol.Command // of the console
	rank     int                // whose frame expressions are evaluated in
	ranks    int                // of the job; 0: it has not started
	ended    bool
	group    sync.WaitGroup

	expectations []*expectation
	points       map[string][]protocol.SourceBreakpoint // by source: where ranks tell of expectations

	incidents chan incident
	incident  *incident    // the first
	settled   bool         // it is in the report
	aborts    map[int]bool // ids of the breakpoints at which a rank aborts
	failed    rankset.Set  // ranks that did not end with status 0
	failures  []string     // how, in that order
}

func (r *runner) printf(format string, args ...any) {
	r.print(fmt.Sprintf(format, args...))
}

func (r *runner) print(text string) {
	io.WriteString(r.o.Out, text) //nolint:errcheck // a reader that has gone does not matter to the job
	if r.o.Watch != nil {
		r.o.Watch.Report.Session.Add(text)
	}
}

// request sends a request and takes the events that come until its response.
func (r *runner) request(ctx context.Context, command string, args, result any) error {
	answered := make(chan error, 1)
	go func() { answered <- r.conn.Request(ctx, command, args, result) }()
	for {
		select {
		case err := <-answered:
			r.drain(ctx)
			return err
		case m := <-r.events:
			r.take(ctx, m)
		case found := <-r.incidents:
			r.begin(found)
		}
	}
}

// drain takes the events that are there; those sent before a response are, as the connection keeps their order.
func (r *runner) drain(ctx context.Context) {
	for {
		select {
		case m := <-r.events:
			r.take(ctx, m)
		case found := <-r.incidents:
			r.begin(found)
		default:
			return
		}
	}
}

func (r *runner) take(ctx context.Context, m client.Message) {
	switch {
	case m.Type == "closed", m.Event == "terminated":
		r.ended = true
	case m.Event == "stopped":
		var b dap.StoppedEventBody
		if json.Unmarshal(m.Body, &b) != nil {
			break
		}
		if !b.PreserveFocusHint && b.ThreadId > 0 {
			r.rank, _ = protocol.RankThread(b.ThreadId)
		}
		r.notice(ctx, b)
	case m.Event == protocol.EventRanks:
		var b protocol.RanksBody
		if json.Unmarshal(m.Body, &b) == nil {
			r.noteEnds(b.Ranks)
		}
	case m.Event == "output":
		var b dap.OutputEventBody
		if json.Unmarshal(m.Body, &b) == nil && b.Category != "telemetry" {
			r.output(b)
		}
	case m.Event == protocol.EventCut:
		var b protocol.CutBody
		if json.Unmarshal(m.Body, &b) == nil {
			r.printf("%s\n", strings.TrimRight(b.Text, "\n"))
			if leader, ok := b.Leader(); ok {
				r.rank = leader // it is the one that was asked for
			}
		}
	case m.Event == "progressStart", m.Event == "progressUpdate":
		var b struct {
			Title   string `json:"title"`
			Message string `json:"message"`
		}
		if json.Unmarshal(m.Body, &b) == nil && b.Title != "" {
			r.printf("%s\n", strings.TrimSpace(b.Title+" "+b.Message))
		}
	}
}

func (r *runner) start(ctx context.Context) error {
	init := protocol.InitializeArguments{
		InitializeRequestArguments: dap.InitializeRequestArguments{
			ClientID: "cohort-script", AdapterID: "cohort", LinesStartAt1: true, ColumnsStartAt1: true,
			PathFormat: "path", SupportsProgressReporting: true,
		},
		SupportsCohortEvents: true,
	}
	if err := r.request(ctx, "initialize", init, nil); err != nil {
		return err
	}
	var table protocol.CommandsBody
	if err := r.request(ctx, protocol.RequestCommands, struct{}{}, &table); err != nil {
		return err
	}
	r.commands = table.Commands
	launch := r.o.Launch
	launch.StopOnEntry = true
	if err := r.request(ctx, "launch", launch, nil); err != nil {
		return err
	}
	if err := r.request(ctx, "configurationDone", struct{}{}, nil); err != nil {
		return err
	}
	var body protocol.RanksBody
	if err := r.request(ctx, protocol.RequestWaitIdle, protocol.WaitArguments{}, &body); err != nil {
		return err
	}
	r.ranks = len(body.Ranks)
	if r.o.Watch == nil {
		return nil
	}
	return r.startWatch(ctx)
}
