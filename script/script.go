package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

// Options of a script.
type Options struct {
	Conn     io.ReadWriteCloser // a DAP connection, owned by Run from now on
	Launch   protocol.LaunchArguments
	Commands []string
	Out      io.Writer // output of the ranks, stops and answers
	Echo     bool      // print each command before it is carried out
}

// CommandError: a command of the script failed; nothing after it was carried out.
type CommandError struct {
	Command string
	Err     error
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("the command %q failed: %v", e.Command, e.Err)
}
func (e *CommandError) Unwrap() error { return e.Err }

// Run starts the job stopped at its entry, carries out the commands in order, and ends the job. It returns nil if every
// command succeeded.
func Run(ctx context.Context, o Options) error {
	events := make(chan client.Message, 64)
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	r := &runner{o: o, events: events}
	r.conn = client.New(o.Conn, func(m client.Message) {
		select {
		case events <- m:
		case <-done:
		}
	})
	defer func() { cancel(); close(done); r.conn.Close() }()
	if err := r.start(ctx); err != nil {
		return err
	}
	var failed error
	for _, line := range o.Commands {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if o.Echo {
			r.printf("(cohort) %s\n", line)
		}
		if err := r.command(ctx, line); err != nil {
			failed = &CommandError{line, err}
			break
		}
	}
	return errors.Join(failed, r.finish(ctx, failed))
}

// runner is used by one goroutine; only it reads events, so what is printed comes in the order in which it happened.
type runner struct {
	o           Options
	conn        *client.Client
	events      chan client.Message
	commands    []protocol.Command // of the console
	rank        int                // whose frame expressions are evaluated in
	ended       bool
	stops       int // stopped events seen
	initialized bool
}

func (r *runner) printf(format string, args ...any) {
	fmt.Fprintf(r.o.Out, format, args...) //nolint:errcheck // a reader that has gone does not matter to the job
}

// request sends a request and takes the events that come until its response.
func (r *runner) request(ctx context.Context, command string, args, result any) error {
	answered := make(chan error, 1)
	go func() { answered <- r.conn.Request(ctx, command, args, result) }()
	for {
		select {
		case err := <-answered:
			r.drain()
			return err
		case m := <-r.events:
			r.take(m)
		}
	}
}

// drain takes the events that are there; those sent before a response are, as the connection keeps their order.
func (r *runner) drain() {
	for {
		select {
		case m := <-r.events:
			r.take(m)
		default:
			return
		}
	}
}

// await takes events until the condition holds, the job has ended, or ctx does.
func (r *runner) await(ctx context.Context, what string, cond func() bool) error {
	for !cond() {
		if r.ended {
			return fmt.Errorf("the job has ended; it was waited for %s", what)
		}
		select {
		case m := <-r.events:
			r.take(m)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (r *runner) take(m client.Message) {
	switch {
	case m.Type == "closed":
		r.ended = true
	case m.Event == "initialized":
		r.initialized = true
	case m.Event == "terminated":
		r.ended = true
	case m.Event == "stopped":
		r.stops++
		var b dap.StoppedEventBody
		if json.Unmarshal(m.Body, &b) == nil && !b.PreserveFocusHint && b.ThreadId > 0 {
			r.rank, _ = protocol.RankThread(b.ThreadId)
		}
	case m.Event == "output":
		var b dap.OutputEventBody
		if json.Unmarshal(m.Body, &b) == nil && b.Category != "telemetry" {
			r.printf("%s", b.Output)
		}
	case m.Event == protocol.EventCut:
		var b protocol.CutBody
		if json.Unmarshal(m.Body, &b) == nil {
			r.printf("%s\n", strings.TrimRight(b.Text, "\n"))
			var leader int
			var event uint64
			if _, err := fmt.Sscanf(b.At, "%d:%d", &leader, &event); err == nil {
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
	init := dap.InitializeRequestArguments{
		ClientID: "cohort-script", AdapterID: "cohort", LinesStartAt1: true, ColumnsStartAt1: true, PathFormat: "path",
		SupportsProgressReporting: true,
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
	launched := make(chan error, 1)
	go func() { launched <- r.conn.Request(ctx, "launch", launch, nil) }()
	var launchErr error
	answered := false
	for !r.initialized && !answered {
		select {
		case launchErr = <-launched:
			answered = true
		case m := <-r.events:
			r.take(m)
		}
	}
	r.drain()
	if launchErr != nil {
		return launchErr
	}
	if err := r.request(ctx, "configurationDone", struct{}{}, nil); err != nil {
		if !answered { // the launch request says why
			if launchErr := <-launched; launchErr != nil {
				return launchErr
			}
		}
		return err
	}
	if !answered {
		if err := <-launched; err != nil {
			return err
		}
	}
	_, err := r.settled(ctx)
	return err
}

// settled waits until the job is idle and returns its ranks.
func (r *runner) settled(ctx context.Context) (protocol.RanksBody, error) {
	var body protocol.RanksBody
	err := r.request(ctx, protocol.RequestWaitIdle, struct{}{}, &body)
	sort.Slice(body.Ranks, func(i, j int) bool { return body.Ranks[i].Rank < body.Ranks[j].Rank })
	return body, err
}

// finish ends the job. After a failed command the server may be gone, which is then no second failure.
func (r *runner) finish(ctx context.Context, failed error) error {
	err := r.request(ctx, "disconnect", map[string]any{"terminateDebuggee": true}, nil)
	if failed == nil && !errors.Is(err, client.ErrClosed) {
		return err
	}
	return nil
}
