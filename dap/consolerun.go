package dap

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

// runCommand carries out a line that is one of the console's commands.
func (k *call) runCommand(a godap.EvaluateArguments) (got answer, ours bool, err error) {
	c, arguments, ok := findCommand(a.Expression)
	switch {
	case !ok:
		return answer{}, false, nil
	case c.Arguments == "" && arguments != "":
		err = refuse("%s takes no argument, but was given %s", c.Name, quoteShort(arguments))
	case c.needsProcess && k.d.Cores:
		err = onCores(c.Name)
	default:
		got, err = c.run(k, consoleLine{arguments, a.FrameId})
	}
	return got, true, err
}

// consoleThread is the DAP thread that a command without one acts on: of the rank that was chosen and runs, else of the
// frame, else of the rank whose stop is shown, else of the lowest of the focus.
func (k *call) consoleThread(line consoleLine) (int, error) {
	if rank := k.c.view.current().wanted; rank >= 0 {
		return protocol.ThreadID(rank, 1), nil
	}
	if line.frame != 0 {
		frame, err := k.c.view.frame(line.frame)
		return protocol.ThreadID(frame.rank, max(frame.frame.Thread, 1)), err
	}
	rank, err := k.consoleRank()
	if err == nil {
		return protocol.ThreadID(rank, 1), nil
	}
	focus, err := k.d.Job.Focus()
	return protocol.ThreadID(max(focus.Min(), 0), 1), err
}

// consoleMove is continue, next, step, finish and pause.
func consoleMove(k *call, line consoleLine) (answer, error) {
	limit, err := duration(k, line.arguments, false) // only continue takes one
	if err != nil {
		return answer{}, err
	}
	thread, err := k.consoleThread(line)
	if err != nil {
		return answer{}, err
	}
	_, _, ranks, err := k.acting(thread, false)
	if err != nil {
		return answer{}, err
	}
	switch {
	case limit > 0:
		return k.continueFor(thread, ranks, limit)
	case k.asked == "next":
		_, err = step(backend.Next)(k, stepArguments{ThreadId: thread})
	case k.asked == "step":
		_, err = step(backend.StepIn)(k, stepArguments{ThreadId: thread})
	case k.asked == "finish":
		_, err = step(backend.StepOut)(k, stepArguments{ThreadId: thread})
	case k.asked == "pause":
		_, err = pause(k, pauseArguments{ThreadId: thread})
	default:
		_, err = continueRanks(k, godap.ContinueArguments{ThreadId: thread})
	}
	got := confirm("%s: ranks [%s].", k.asked, ranks)
	if k.asked != "pause" { // whose stops the job waits for before it is idle
		got.ranks = ranks
	}
	return got, err
}

// continueFor continues ranks, and pauses those that still run when the time is over.
func (k *call) continueFor(thread int, ranks rankset.Set, limit time.Duration) (answer, error) {
	if err := k.continueNow(thread); err != nil {
		return answer{}, err
	}
	got := confirm("%s: ranks [%s].", k.asked, ranks)
	how, err := k.awaitStops(ranks, limit, true)
	if err == nil && how == tooLate {
		k.d.cancelRun()
		var halted rankset.Set
		halted, err = k.d.Job.Halt(k.ctx, ranks)
		got = answer{text: fmt.Sprintf("%v are over: paused ranks [%s].", limit, halted)}
	}
	if over, _ := k.d.ended(); over {
		return k.afterEnd()
	}
	if err == nil {
		err = k.catchUp()
	}
	got.ranks = ranks
	return got, err
}

// continueNow is the continue of a line that then waits: its stops need not wait for the line's answer.
func (k *call) continueNow(thread int) error {
	one := *k
	one.after = nil
	_, err := continueRanks(&one, godap.ContinueArguments{ThreadId: thread})
	for _, f := range slices.Backward(one.after) {
		f()
	}
	return err
}

// consoleRun continues again and again.
func consoleRun(k *call, line consoleLine) (answer, error) {
	d := k.d
	before := d.pausesAsked()
	for {
		thread, err := k.consoleThread(line)
		if err != nil {
			return answer{}, err
		}
		line.frame = 0 // it is stale once its rank has run
		err = k.continueNow(thread)
		if over, _ := d.ended(); over {
			return k.afterEnd()
		}
		if err != nil {
			return answer{}, err
		}
		status, err := k.awaitRanks(k.ctx, someRankIs(job.Stopped), func([]job.RankStatus) bool { return false })
		if err != nil {
			return answer{}, err
		}
		if status == nil {
			return k.afterEnd()
		}
		for _, r := range status {
			if r.State == job.Stopped && r.Stop.Reason == backend.ReasonSignal {
				return answer{}, fmt.Errorf("rank %d: %s", r.Rank, r.Text)
			}
		}
		if d.pausesAsked() != before {
			return answer{text: "The run was paused."}, nil
		}
	}
}

// afterEnd answers when the client has been told how the job has ended.
func (k *call) afterEnd() (answer, error) {
	select {
	case <-k.c.told:
		return confirm("The job has ended."), nil
	case <-k.ctx.Done():
		return answer{}, context.Cause(k.ctx)
	}
}

func someRankIs(s job.RankState) func([]job.RankStatus) bool {
	return func(ranks []job.RankStatus) bool {
		return slices.ContainsFunc(ranks, func(r job.RankStatus) bool { return r.State == s })
	}
}

func consoleWait(k *call, line consoleLine) (answer, error) {
	limit, err := duration(k, line.arguments, true)
	if err != nil {
		return answer{}, err
	}
	how, err := k.awaitStops(rankset.All(k.d.Job.Ranks()), limit, false)
	switch {
	case err != nil:
		return answer{}, err
	case how == jobEnded:
		return k.afterEnd()
	}
	return consoleRanks(k, consoleLine{})
}

func consoleFocus(k *call, line consoleLine) (answer, error) {
	if set := line.arguments; set != "" {
		body, err := k.focusOn(strings.TrimSuffix(strings.TrimPrefix(set, "["), "]"))
		return confirm("The focus is [%s].", body.Ranks), err
	}
	focus, err := k.d.Job.Focus()
	return answer{text: "The focus is [" + focus.String() + "]."}, err
}

// consoleSelect shows a rank's stop again, which every front end answers by selecting the rank. Of a rank that runs it
// is the next one.
func consoleSelect(k *call, line consoleLine) (answer, error) {
	rank, err := strconv.Atoi(line.arguments)
	if n := k.d.Job.Ranks(); err != nil || rank >= n {
		return answer{}, refuse("there is no rank %s: the job has the ranks 0 to %d", line.arguments, n-1)
	}
	s, err := k.stopped(rank)
	if s.State == job.Running || s.State == job.Starting {
		k.c.view.want(rank)
		return confirm("Rank %d is %s: its next stop will be shown.", rank, s.State), nil
	}
	if err != nil {
		return answer{}, err
	}
	k.c.view.attend(attention{shown: rank, wanted: -1})
	k.c.event("stopped", stoppedBody(s))
	return confirm("%s", s.Text), nil
}

// consoleRanks shows ranks that are alike on one line.
func consoleRanks(k *call, _ consoleLine) (answer, error) {
	body, err := k.ranksBody()
	if err != nil {
		return answer{}, err
	}
	texts := map[int]string{}
	for _, r := range body.Ranks {
		texts[r.Rank] = describeRank(r)
	}
	lines := append(job.MergeTexts(texts), "The focus is ["+body.Focus+"].")
	return answer{text: strings.Join(lines, "\n")}, nil
}

func describeRank(r protocol.RankStatus) string {
	parts := []string{r.State}
	if r.Reason != "" {
		parts = append(parts, "("+r.Reason+")")
	}
	if r.Function != "" {
		parts = append(parts, "in "+r.Function)
	}
	if r.File != "" {
		parts = append(parts, fmt.Sprintf("at %s:%d", r.File, r.Line))
	}
	if name, _, _ := strings.Cut(r.Call, " ("); name != "" { // ranks with other peers are alike all the same
		parts = append(parts, "calling "+name)
	}
	if r.Event > 0 {
		parts = append(parts, fmt.Sprintf("after event %d", r.Event))
	}
	return strings.Join(parts, " ")
}

func consoleStack(k *call, line consoleLine) (answer, error) {
	frames, err := k.frames(line)
	lines := make([]string, len(frames))
	for i, f := range frames {
		lines[i] = fmt.Sprintf("#%-2d %s", i, f.Name)
		if f.Source != nil {
			lines[i] += fmt.Sprintf(" at %s:%d", f.Source.Name, f.Line)
		}
	}
	return answer{text: strings.Join(lines, "\n")}, err
}

func (k *call) frames(line consoleLine) ([]godap.StackFrame, error) {
	thread, err := k.consoleThread(line)
	if err != nil {
		return nil, err
	}
	body, err := stackTrace(k, godap.StackTraceArguments{ThreadId: thread})
	if err != nil {
		return nil, err
	}
	return body.(godap.StackTraceResponseBody).StackFrames, nil //nolint:forcetypeassert // it is that
}

// consoleLocals shows what Variables shows of a frame, without what takes long to read.
func consoleLocals(k *call, line consoleLine) (answer, error) {
	if line.frame == 0 {
		frames, err := k.frames(line)
		if err != nil || len(frames) == 0 {
			return answer{}, err
		}
		line.frame = frames[protocol.UserFrame(frames)].Id
	}
	body, err := scopes(k, godap.ScopesArguments{FrameId: line.frame})
	if err != nil {
		return answer{}, err
	}
	var lines []string
	for _, s := range body.(godap.ScopesResponseBody).Scopes { //nolint:forcetypeassert // it is that
		if s.Expensive || s.VariablesReference == 0 {
			continue
		}
		const most = 100
		body, err := variables(k, godap.VariablesArguments{VariablesReference: s.VariablesReference, Count: most})
		if err != nil {
			return answer{}, err
		}
		lines = append(lines, s.Name+":")
		for _, v := range body.(godap.VariablesResponseBody).Variables { //nolint:forcetypeassert // it is that
			lines = append(lines, fmt.Sprintf("  %s = %s", v.Name, v.Value))
		}
	}
	return answer{text: strings.Join(lines, "\n")}, nil
}

func consoleInput(k *call, line consoleLine) (answer, error) {
	_, err := input(k, protocol.InputArguments{Data: line.arguments + "\n"})
	return confirm("The line was sent to rank 0."), err
}

func consoleCut(k *call, line consoleLine) (answer, error) {
	body, err := cut(k, protocol.CutArguments{At: line.arguments})
	if err != nil {
		return answer{}, err
	}
	at := body.(protocol.CutBody) //nolint:errcheck,forcetypeassert // it is that
	return answer{text: at.Text + "\n" + positions(at.Positions)}, nil
}

func consoleRunTo(k *call, line consoleLine) (answer, error) {
	_, err := runTo(k, protocol.CutArguments{At: line.arguments})
	return answer{
		text: "All ranks run to the causal cut of " + line.arguments + ".", ranks: rankset.All(k.d.Job.Ranks()),
	}, err
}
