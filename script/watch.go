package script

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/script/report"
)

// Watch is what a script that writes a report looks for besides what its lines say.
type Watch struct {
	Report *report.Report // filled by Run
	// Stall is how long no rank may complete an MPI call; 0: a minute in which all are within MPI calls, or poll.
	Stall time.Duration
	Show  []string // expressions that are evaluated on all ranks at each moment of the report
}

// incident is what ends a run that is watched: all ranks are stopped, looked at, and no command resumes them.
type incident struct {
	outcome report.Outcome
	text    string // a sentence
}

// abortFunctions are what a rank that gives up the job comes through: MPI_Abort, and Open MPI's after an error.
var abortFunctions = []string{"MPI_Abort", "ompi_mpi_abort"}

var hitBreakpoint = regexp.MustCompile(`hit breakpoint \d+`)

// startWatch begins to look for what Watch is for, before any rank has run.
func (r *runner) startWatch(ctx context.Context) error {
	var args protocol.SetFunctionBreakpointsArguments
	for _, name := range abortFunctions {
		bp := protocol.FunctionBreakpoint{BreakpointExtra: protocol.BreakpointExtra{Mode: protocol.ModeAll}}
		bp.Name = name
		args.Breakpoints = append(args.Breakpoints, bp)
	}
	var body dap.SetFunctionBreakpointsResponseBody
	if err := r.request(ctx, "setFunctionBreakpoints", args, &body); err != nil {
		return err
	}
	for _, bp := range body.Breakpoints { // those that an MPI does not have are never hit
		r.aborts[bp.Id] = true
	}
	r.group.Go(func() {
		var stall protocol.StallBody
		args := protocol.StallArguments{Seconds: r.o.Watch.Stall.Seconds()}
		if r.conn.Request(ctx, protocol.RequestWaitStall, args, &stall) == nil && stall.Text != "" {
			r.incidents <- incident{report.NoProgress, prose.Sentence(stall.Text)}
			pauseRunning(ctx, r.conn.Request)
		}
	})
	return nil
}

// notice looks whether a stop is an incident.
func (r *runner) notice(ctx context.Context, stop dap.StoppedEventBody) {
	if r.o.Watch == nil || r.incident != nil || stop.Text == "" {
		return
	}
	found := incident{text: stop.Text} // "Rank 3 hit breakpoint 1 in solve (heat.c:17)."
	switch {
	case stop.Reason == "exception":
		found.outcome = report.Crash
	case len(stop.HitBreakpointIds) > 0 && r.aborts[stop.HitBreakpointIds[0]]:
		found.outcome = report.Abort
		found.text = hitBreakpoint.ReplaceAllString(found.text, "gives up the job")
	case stop.Description == protocol.DescriptionDiverged:
		found.outcome = report.Diverged
	default:
		return
	}
	r.begin(found)
	r.group.Go(func() { pauseRunning(ctx, r.conn.Request) })
}

// begin notes an incident, if it is the first.
func (r *runner) begin(found incident) {
	if r.incident != nil {
		return
	}
	if found.outcome == report.NoProgress && len(r.failures) > 0 {
		found = incident{report.Failed, strings.Join(r.failures, " ") + " " + found.text}
	}
	r.incident = &found
}

// noteEnds notes how ranks have ended that did not end well.
func (r *runner) noteEnds(ranks []protocol.RankStatus) {
	for _, s := range ranks {
		failed := s.State == "lost" || s.State == "exited" && s.Reason != "exit code 0"
		if failed && !r.failed.Contains(s.Rank) {
			r.failed = r.failed.With(s.Rank)
			r.failures = append(r.failures, prose.Stop(s.Text))
		}
	}
}

// output prints what came from ranks, or from Cohort.
func (r *runner) output(b dap.OutputEventBody) {
	text := r.takeExpectations(b.Output)
	if r.o.Watch != nil && (b.Category == "stdout" || b.Category == "stderr") {
		r.o.Watch.Report.Output.Add(text)
	}
	r.print(text)
}

// requester sends a request and waits for its answer.
type requester func(ctx context.Context, command string, args, result any) error

// pauseRunning pauses the ranks that run. What waits for them gets its answer then.
func pauseRunning(ctx context.Context, request requester) {
	var body protocol.RanksBody
	if request(ctx, protocol.RequestRanks, struct{}{}, &body) != nil {
		return // the session ends
	}
	for _, s := range body.Ranks {
		if s.State == "running" {
			args := map[string]any{"threadId": s.ThreadID, "singleThread": true}
			_ = request(ctx, "pause", args, nil) // a rank that has ended meanwhile need not be paused
		}
	}
}

// lookAt adds a moment to the report, and prints it if there is no report.
func (r *runner) lookAt(ctx context.Context, title string) error {
	m := report.Moment{Title: title}
	var body protocol.RanksBody
	if err := r.request(ctx, protocol.RequestRanks, struct{}{}, &body); err != nil {
		return err
	}
	m.Ranks = body.Ranks
	var stopped, calling rankset.Set
	for _, s := range body.Ranks {
		if s.State == "stopped" {
			stopped = stopped.With(s.Rank)
			if s.Call != "" {
				calling = calling.With(s.Rank)
			}
		}
	}
	var err error
	if !stopped.Empty() {
		var stacks protocol.ConsoleBody
		if err := r.request(ctx, "evaluate", dap.EvaluateArguments{Expression: "stacks", Context: "repl"},
			&stacks); err != nil {
			return err
		}
		m.Stacks, m.Tree = stacks.Stacks, stacks.Result
		for _, expression := range r.shown() {
			v := report.Value{Expression: expression}
			if v.Text, err = r.console(ctx, "["+stopped.String()+"] p "+expression); err != nil {
				return err
			}
			m.Shown = append(m.Shown, v)
		}
	}
	if !calling.Empty() {
		if m.Waits, err = r.console(ctx, "waits"); err != nil {
			return err
		}
		if m.Calls, err = r.console(ctx, "["+calling.String()+"] mpipp --call"); err != nil {
			return err
		}
	}
	if r.o.Watch != nil {
		r.o.Watch.Report.Moments = append(r.o.Watch.Report.Moments, m)
		return nil
	}
	r.printf("%s\n", m.Text())
	return nil
}

func (r *runner) shown() []string {
	if r.o.Watch == nil {
		return nil
	}
	return r.o.Watch.Show
}

// console has a line evaluated; that it cannot be is an answer, too.
func (r *runner) console(ctx context.Context, line string) (string, error) {
	var body protocol.ConsoleBody
	err := r.request(ctx, "evaluate", dap.EvaluateArguments{Expression: line, Context: "repl"}, &body)
	if refused, ok := err.(*client.RequestError); ok { //nolint:errorlint // Request gives it as it is
		return refused.Text, nil
	}
	return body.Result, err
}

// settle looks at all ranks after an incident, once they have stopped.
func (r *runner) settle(ctx context.Context) error {
	if r.incident == nil || r.settled {
		return nil
	}
	r.settled = true
	r.printf("%s: %s\n", r.incident.outcome, r.incident.text)
	pauseRunning(ctx, r.request) // those that were about to run
	if err := r.request(ctx, protocol.RequestWaitIdle, protocol.WaitArguments{}, nil); err != nil || r.ended {
		return err
	}
	return r.lookAt(ctx, fmt.Sprintf("%s: %s", r.incident.outcome, r.incident.text))
}

// conclude judges the expectations, and says in the report how the run has ended; failed is what ended the script.
func (r *runner) conclude(ctx context.Context, failed error) (expectations []report.Expectation) {
	found := incident{report.OK, "The script is over."}
	how := ", and the script is over"
	switch {
	case r.ranks == 0:
		found = incident{report.Broken, errorText(failed)}
	case r.incident != nil:
		found = *r.incident
		how = ": " + found.text
	case context.Cause(ctx) != nil:
		found = incident{report.Interrupted, prose.Sentence(context.Cause(ctx).Error())}
		how = ": " + found.text
	case len(r.failures) > 0:
		found = incident{report.Failed, strings.Join(r.failures, " ")}
		how = ": " + found.text
	case failed != nil:
		found = incident{report.Refused, errorText(failed)}
		how = ", as the script ended before that"
	case r.ended:
		found.text, how = "All ranks ended with status 0.", ", and has ended"
	}
	unmet, unmeetable := 0, 0
	for _, e := range r.expectations {
		judged := e.judge(how)
		expectations = append(expectations, judged)
		switch judged.Verdict {
		case report.NotMet:
			unmet++
		case report.Unmeetable:
			unmeetable++
		}
	}
	if r.o.Watch == nil {
		return expectations
	}
	if found.outcome == report.OK && unmet+unmeetable > 0 {
		found.outcome = report.Unmet
		found.text = fmt.Sprintf("Of %s %d %s unmet and %d %s unmeetable.",
			prose.Count(len(expectations), "expectation"), unmet, prose.Plural(unmet, "is", "are"), unmeetable,
			prose.Plural(unmeetable, "is", "are"))
	}
	rep := r.o.Watch.Report
	rep.Outcome, rep.Summary, rep.Expectations, rep.Ranks = found.outcome, found.text, expectations, r.ranks
	return expectations
}

func errorText(err error) string {
	if err == nil {
		return "Nothing is known."
	}
	return prose.Sentence(err.Error())
}
