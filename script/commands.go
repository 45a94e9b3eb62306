package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

// ownCommands are those that scripts have besides the console's.
var ownCommands = []struct {
	name, arguments, help string
	run                   func(r *runner, ctx context.Context, arguments string) error
}{
	{
		"expect", "[SET] EXPRESSION [at FILE:LINE]",
		"expect that it is true, now or whenever a rank comes there; at the end it is met, unmet or unmeetable",
		(*runner).expect,
	},
	{
		"report", "[TITLE]", "look at all ranks: where they are, stacks, MPI calls; into the report, if one is written",
		func(r *runner, ctx context.Context, title string) error {
			return r.lookAt(ctx, cmp.Or(title, "report"))
		},
	},
}

// Help lists the commands that scripts have besides the console's.
func Help() string {
	var b strings.Builder
	for _, c := range ownCommands {
		fmt.Fprintf(&b, "  %s %s\n%30s %s\n", c.name, c.arguments, "", c.help)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// errOver ends a script that has come to a command which would resume ranks after an incident.
var errOver = errors.New("no rank is resumed any more")

// command carries out a line. All commands are the console's; a script only waits for what they begin, and shows ranks
// in its own way.
func (r *runner) command(ctx context.Context, line string) error {
	word, rest, _ := strings.Cut(line, " ")
	for _, own := range ownCommands {
		if word == own.name && (rest == "" || !strings.HasPrefix(strings.TrimSpace(rest), "=")) {
			return own.run(r, ctx, strings.TrimSpace(rest))
		}
	}
	var c protocol.Command
	for _, known := range r.commands {
		if word == known.Name || word == known.Short && word != "" {
			c = known
			line = strings.TrimSpace(c.Name + " " + rest)
			break
		}
	}
	if r.incident != nil && (c.Resumes || c.Name == "run") {
		r.printf("no rank is resumed any more, so the script ends here\n")
		return errOver
	}
	answer, err := r.evaluate(ctx, line)
	if err != nil {
		return err
	}
	if !answer.Confirms && !c.AllRanks {
		r.printf("%s\n", strings.TrimRight(answer.Result, "\n"))
	}
	var body protocol.RanksBody
	switch {
	case c.Resumes:
		err = r.request(ctx, protocol.RequestWaitIdle, protocol.WaitArguments{Ranks: answer.Ranks}, &body)
	case c.AllRanks:
		err = r.request(ctx, protocol.RequestRanks, struct{}{}, &body)
	default:
		return nil
	}
	switch {
	case r.ended:
		r.printf("The job has ended.\n")
		if _, refused := errors.AsType[*client.RequestError](err); !refused {
			return nil
		}
	case err == nil:
		r.show(body)
	}
	return err
}

func (r *runner) show(body protocol.RanksBody) {
	for _, s := range body.Ranks {
		location := s.State
		if s.File != "" {
			location = fmt.Sprintf("%s at %s:%d", s.Function, filepath.Base(s.File), s.Line)
		} else if in := cmp.Or(s.Function, s.Call); in != "" {
			location = "in " + in
		}
		event := strconv.FormatUint(s.Event, 10)
		if s.Event == 0 && len(r.o.Launch.Cores) > 0 {
			event = "-" // a core file seldom tells
		}
		r.printf("rank %-3d %-8s event %-6s %s", s.Rank, s.State, event, location)
		if s.Text != "" {
			r.printf("  (%s)", s.Text)
		}
		r.printf("\n")
	}
}

// evaluate has the server carry out a line, in the frame of the rank at which people look first.
func (r *runner) evaluate(ctx context.Context, line string) (protocol.ConsoleBody, error) {
	args := dap.EvaluateArguments{Expression: line, Context: "repl"}
	var stack dap.StackTraceResponseBody
	of := map[string]any{"threadId": protocol.ThreadID(r.rank, 1)}
	if r.request(ctx, "stackTrace", of, &stack) == nil && len(stack.StackFrames) > 0 { // else the rank runs
		args.FrameId = stack.StackFrames[protocol.UserFrame(stack.StackFrames)].Id
	}
	var body protocol.ConsoleBody
	err := r.request(ctx, "evaluate", args, &body)
	return body, err
}
