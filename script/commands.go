package script

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// Help lists the commands, for `cohort help debug` and the README.
const Help = `break FILE:LINE|FUNCTION [ranks SET] [mode rank|all|causal] [if CONDITION]
continue, next, step, finish   act on the focus and wait until a rank has stopped and the job is idle
wait                           until no rank runs any more
run                            continue to the end of the job, whatever stops on the way but signals
pause                          stop the focused ranks
focus SET                      which ranks step, continue and pause
rank N                         whose stack, variables and expressions are shown
ranks                          where every rank stands
bt                             the stack of the rank
locals                         the local variables of the rank
input TEXT                     a line for rank 0's standard input
anything else                  goes to the console: [0,2] p x, mpipp TYPE BUFFER [COUNT], cut R:E, runto R:E`

func (r *runner) command(ctx context.Context, line string) error {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "break", "b":
		return r.setBreak(ctx, rest)
	case "continue", "c":
		return r.resume(ctx, "continue")
	case "next", "n":
		return r.resume(ctx, "next")
	case "step", "s":
		return r.resume(ctx, "stepIn")
	case "finish":
		return r.resume(ctx, "stepOut")
	case "run":
		return r.run(ctx)
	case "wait":
		return r.waitStopped(ctx)
	case "pause":
		return r.pause(ctx)
	case "focus":
		return r.request(ctx, protocol.RequestSetFocus, protocol.FocusArguments{Ranks: rest}, nil)
	case "rank":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a rank", rest)
		}
		r.rank = n
		return nil
	case "ranks":
		return r.showRanks(ctx)
	case "bt":
		return r.backtrace(ctx)
	case "locals":
		return r.locals(ctx)
	case "input":
		return r.request(ctx, protocol.RequestInput, protocol.InputArguments{Data: rest + "\n"}, nil)
	}
	return r.evaluate(ctx, line)
}

func (r *runner) thread() map[string]any {
	return map[string]any{"threadId": protocol.ThreadID(r.rank, 1)}
}

type sourceBreakpoint struct {
	dap.SourceBreakpoint
	protocol.BreakpointExtra
}

type functionBreakpoint struct {
	dap.FunctionBreakpoint
	protocol.BreakpointExtra
}

func (r *runner) setBreak(ctx context.Context, text string) error {
	b, err := parseBreak(text, r.o.Cwd)
	if err != nil {
		return err
	}
	list := slices.Concat(r.breakpoints[b.path], []breakpoint{b})
	var got []dap.Breakpoint
	if b.path == "" {
		var args []functionBreakpoint
		for _, f := range list {
			args = append(args, functionBreakpoint{
				dap.FunctionBreakpoint{Name: f.function, Condition: f.condition},
				f.extra,
			})
		}
		var body dap.SetFunctionBreakpointsResponseBody
		err = r.request(ctx, "setFunctionBreakpoints", map[string]any{"breakpoints": args}, &body)
		got = body.Breakpoints
	} else {
		var args []sourceBreakpoint
		for _, f := range list {
			args = append(args, sourceBreakpoint{dap.SourceBreakpoint{Line: f.line, Condition: f.condition}, f.extra})
		}
		var body dap.SetBreakpointsResponseBody
		err = r.request(ctx, "setBreakpoints",
			map[string]any{"source": dap.Source{Path: b.path, Name: filepath.Base(b.path)}, "breakpoints": args}, &body)
		got = body.Breakpoints
	}
	if err != nil {
		return err
	}
	if len(got) != len(list) {
		return fmt.Errorf("the server answered %d of %d breakpoints", len(got), len(list))
	}
	if last := got[len(got)-1]; !last.Verified {
		return fmt.Errorf("the breakpoint cannot be set: %s", last.Message)
	} else if last.Message != "" {
		r.printf("%s\n", last.Message)
	}
	r.breakpoints[b.path] = list
	return nil
}

// resume goes on and waits until at least one rank has stopped, and then until the job is idle, so that a stop that
// concerns several ranks is complete.
func (r *runner) resume(ctx context.Context, command string) error {
	before := r.stops
	if err := r.request(ctx, command, r.thread(), nil); err != nil {
		return err
	}
	for {
		if err := r.await(ctx, "a stop", func() bool { return r.stops > before || r.ended }); err != nil {
			return err
		}
		if r.ended {
			r.printf("The job has ended.\n")
			return nil
		}
		body, err := r.settled(ctx)
		if err != nil {
			return err
		}
		// News of an earlier stop may come late: then all of them run.
		if slices.ContainsFunc(body.Ranks, func(s protocol.RankStatus) bool { return s.State != "running" }) {
			r.show(body)
			return nil
		}
		before = r.stops
	}
}

func (r *runner) run(ctx context.Context) error {
	for !r.ended {
		before := r.stops
		if err := r.request(ctx, "continue", r.thread(), nil); err != nil {
			if r.ended {
				return nil
			}
			return err
		}
		if err := r.await(ctx, "the end of the job", func() bool { return r.stops > before || r.ended }); err != nil {
			return err
		}
		if r.ended {
			return nil
		}
		body, err := r.settled(ctx)
		if err != nil {
			return err
		}
		for _, s := range body.Ranks {
			if s.State == "stopped" && s.Reason == "exception" {
				return fmt.Errorf("rank %d: %s", s.Rank, s.Text)
			}
		}
	}
	return nil
}

// waitStopped waits until no rank runs.
func (r *runner) waitStopped(ctx context.Context) error {
	for {
		body, err := r.settled(ctx)
		if err != nil || r.ended {
			return err
		}
		running := 0
		for _, s := range body.Ranks {
			if s.State == "running" {
				running++
			}
		}
		if running == 0 {
			return r.showRanks(ctx)
		}
		before := r.stops
		if err := r.await(ctx, "a stop", func() bool { return r.stops > before || r.ended }); err != nil {
			return err
		}
	}
}

func (r *runner) pause(ctx context.Context) error {
	if err := r.request(ctx, "pause", r.thread(), nil); err != nil {
		return err
	}
	return r.showRanks(ctx)
}

func (r *runner) showRanks(ctx context.Context) error {
	body, err := r.settled(ctx)
	if err != nil {
		return err
	}
	r.show(body)
	return nil
}

func (r *runner) show(body protocol.RanksBody) {
	for _, s := range body.Ranks {
		place := s.State
		if s.File != "" {
			place = fmt.Sprintf("%s at %s:%d", s.Function, filepath.Base(s.File), s.Line)
		} else if s.Function != "" {
			place = "in " + s.Function
		}
		event := strconv.FormatUint(s.Event, 10)
		if s.Event == 0 && len(r.o.Launch.Cores) > 0 {
			event = "-" // a core file seldom tells
		}
		r.printf("rank %-3d %-8s event %-6s %s", s.Rank, s.State, event, place)
		if s.Text != "" {
			r.printf("  (%s)", s.Text)
		}
		r.printf("\n")
	}
}

func (r *runner) frames(ctx context.Context) ([]dap.StackFrame, error) {
	var body dap.StackTraceResponseBody
	err := r.request(ctx, "stackTrace", r.thread(), &body)
	return body.StackFrames, err
}

func (r *runner) backtrace(ctx context.Context) error {
	frames, err := r.frames(ctx)
	for i, f := range frames {
		where := ""
		if f.Source != nil {
			where = fmt.Sprintf(" at %s:%d", f.Source.Name, f.Line)
		}
		r.printf("#%-2d %s%s\n", i, f.Name, where)
	}
	return err
}

// userFrame is the innermost frame with source, else the innermost; 0 if the rank runs.
func (r *runner) userFrame(ctx context.Context) (int, error) {
	frames, err := r.frames(ctx)
	if err != nil || len(frames) == 0 {
		return 0, err
	}
	for _, f := range frames {
		if f.Source != nil && f.Source.Path != "" && f.PresentationHint != "subtle" {
			return f.Id, nil
		}
	}
	return frames[0].Id, nil
}

func (r *runner) locals(ctx context.Context) error {
	frame, err := r.userFrame(ctx)
	if err != nil {
		return err
	}
	var scopes dap.ScopesResponseBody
	if err := r.request(ctx, "scopes", dap.ScopesArguments{FrameId: frame}, &scopes); err != nil {
		return err
	}
	for _, s := range scopes.Scopes {
		if s.Expensive || s.VariablesReference == 0 {
			continue
		}
		var vars dap.VariablesResponseBody
		if err := r.request(ctx, "variables", dap.VariablesArguments{
			VariablesReference: s.VariablesReference,
			Count:              100,
		}, &vars); err != nil {
			return err
		}
		r.printf("%s:\n", s.Name)
		for _, v := range vars.Variables {
			r.printf("  %s = %s\n", v.Name, v.Value)
		}
	}
	return nil
}

func (r *runner) evaluate(ctx context.Context, expression string) error {
	args := dap.EvaluateArguments{Expression: expression, Context: "repl"}
	// a running rank has none; the console knows commands that need none
	if frame, err := r.userFrame(ctx); err == nil {
		args.FrameId = frame
	}
	var body dap.EvaluateResponseBody
	if err := r.request(ctx, "evaluate", args, &body); err != nil {
		return err
	}
	r.printf("%s\n", strings.TrimRight(body.Result, "\n"))
	return nil
}
