package dap

import (
	"cmp"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/internal/effect"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

// evaluateRead is evaluate without side effects: hover, watch and the like, in the rank of the frame.
func evaluateRead(k *call, a godap.EvaluateArguments) (any, error) {
	c := k.c
	if strings.TrimSpace(a.Expression) == "" {
		return nil, refuse("evaluate was given no expression")
	}
	context := backend.ContextWatch
	switch a.Context {
	case "hover":
		context = backend.ContextHover
	case "clipboard":
		context = backend.ContextClipboard
	}
	if a.FrameId == 0 {
		return nil, quietly("evaluate needs `frameId`, which says in which rank: take one from stackTrace")
	}
	frame, err := c.view.frame(a.FrameId)
	if err != nil {
		return nil, err
	}
	result, err := onRank(k, frame.rank, func(b backend.Backend) (backend.EvaluateResult, error) {
		return b.Evaluate(k.ctx, backend.EvaluateRequest{
			Frame: frame.frame, Expression: a.Expression, Context: context, Hex: a.Format != nil && a.Format.Hex,
		})
	})
	if err != nil {
		return nil, quietly("%v", err)
	}
	return c.result(frame, result), nil
}

// result is a result in a frame as DAP has it.
func (c *client) result(at handle, r backend.EvaluateResult) godap.EvaluateResponseBody {
	v := c.variable(at, r.Variable)
	return godap.EvaluateResponseBody{
		Result: cmp.Or(r.Text, v.Value), Type: v.Type, VariablesReference: v.VariablesReference,
		NamedVariables:   v.NamedVariables,
		IndexedVariables: v.IndexedVariables, MemoryReference: v.MemoryReference, PresentationHint: v.PresentationHint,
	}
}

// evaluateConsole is a line of the console: one of our commands, or something to evaluate on a rank set or in the rank
// of the frame.
func evaluateConsole(k *call, a godap.EvaluateArguments) (any, error) {
	d := k.d
	line := strings.TrimSpace(a.Expression)
	if line == "" {
		return godap.EvaluateResponseBody{}, nil
	}
	if got, ours, err := k.runCommand(a); ours {
		body := protocol.ConsoleBody{
			EvaluateResponseBody: godap.EvaluateResponseBody{Result: got.text}, Confirms: got.confirms,
			Stacks: got.stacks,
		}
		if !got.ranks.Empty() {
			body.Ranks = got.ranks.String()
		}
		return body, err
	}
	if text, ours, err := k.consoleMatch(line); ours {
		return godap.EvaluateResponseBody{Result: text}, err
	}
	ranks, expression, given, err := splitRanks(line, d.Job.Ranks())
	if err != nil {
		return nil, err
	}
	hex := a.Format != nil && a.Format.Hex
	req := backend.EvaluateRequest{Expression: expression, Context: backend.ContextREPL, Hex: hex}
	if given {
		if expression == "" {
			return nil, refuse("the console line %s names ranks but says nothing to evaluate: write it as in `[0,2] "+
				"p x`",
				quoteShort(line))
		}
		return k.evaluateOn(ranks, req)
	}
	if a.FrameId != 0 {
		frame, err := k.c.view.frame(a.FrameId)
		if err != nil {
			return nil, err
		}
		if req.Frame, err = k.relative(frame); err != nil {
			return nil, err
		}
		result, err := k.evaluateOne(frame.rank, req)
		if err != nil {
			return nil, notEvaluated(line, err)
		}
		return k.c.result(frame, result), nil
	}
	rank, err := k.consoleRank()
	if err != nil {
		return nil, err
	}
	at := k.userFrame(rank)
	result, err := k.evaluateOne(rank, req)
	if err != nil {
		return nil, notEvaluated(line, aboutRank(rank, err))
	}
	body := k.c.result(at, result)
	// No frame was given, so which rank answered must be said.
	body.Result = job.MergedResult{Ranks: rankset.New(rank), Text: body.Result}.String()
	return body, nil
}

// userFrame is the frame of a rank in which the console evaluates if none was chosen.
func (k *call) userFrame(rank int) handle {
	at := handle{moment: k.c.view.now(rank)}
	if s, err := k.stopped(rank); err == nil {
		at.frame = backend.FrameID{Thread: s.Stop.Thread, Level: job.UserFrame(s.Stop.Frames) + s.Hidden}
	}
	return at
}

func (k *call) evaluateOne(rank int, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	results, err := k.d.Job.Evaluate(k.ctx, rankset.New(rank), req)
	result, err := oneAnswer(rank, results, err)
	k.assigned(rankset.New(rank), req)
	if err == nil {
		err = k.keepFile(&result, rankset.Set{})
	}
	return result, err
}

// assigned tells the other clients of what the console may have changed: an expression that assigns has, and a command
// of the debugger's may have.
func (k *call) assigned(ranks rankset.Set, req backend.EvaluateRequest) {
	word, _, _ := strings.Cut(req.Expression, " ")
	if word == "mpipp" || word != "-exec" && effect.Of(req.Expression, false) == "" {
		return
	}
	for rank := range ranks.Each {
		k.c.changed(rank, 0, 0, k.c)
	}
}

// evaluateOn evaluates on a rank set. The answer of a single rank can be opened.
func (k *call) evaluateOn(ranks rankset.Set, req backend.EvaluateRequest) (any, error) {
	at := k.userFrame(max(ranks.Min(), 0))
	results, err := k.d.Job.Evaluate(k.ctx, ranks, req)
	if err != nil {
		return nil, err
	}
	k.assigned(ranks, req)
	files := 0
	for _, r := range results {
		if r.Result.File != nil {
			files++
		}
	}
	for i := range results {
		r := &results[i]
		var of rankset.Set
		if files > 1 {
			of = r.Ranks
		}
		if err := k.keepFile(&r.Result, of); err != nil {
			return nil, err
		}
		r.Text = cmp.Or(r.Result.Text, r.Text)
	}
	body, err := mergedAnswer(results)
	if err != nil || ranks.Len() != 1 {
		return body, err
	}
	out := k.c.result(at, results[0].Result)
	out.Result = body.Result
	return out, nil
}

// consoleRank is the rank that a console line without a frame is about: the one whose stop was shown last, else the
// lowest stopped rank of the focus, else the lowest stopped one.
func (k *call) consoleRank() (int, error) {
	d := k.d
	status, err := d.Job.Status()
	focus, focusErr := d.Job.Focus()
	if err := cmp.Or(err, focusErr); err != nil {
		return 0, err
	}
	if r := k.c.view.current().shown; r >= 0 && r < len(status) && status[r].State == job.Stopped {
		return r, nil
	}
	lowest := -1
	for _, s := range status {
		if s.State != job.Stopped {
			continue
		}
		if focus.Contains(s.Rank) {
			return s.Rank, nil
		}
		if lowest < 0 {
			lowest = s.Rank
		}
	}
	if lowest < 0 {
		return 0, notStopped("this needs a stopped rank, and none is stopped: pause first")
	}
	return lowest, nil
}

// mergedAnswer joins the answers of a rank set; it is an error if no rank had one.
func mergedAnswer(results []job.MergedResult) (godap.EvaluateResponseBody, error) {
	lines := make([]string, len(results))
	failed := 0
	for i, r := range results {
		text := r.Text
		if r.Err != "" {
			failed++
			text = "error: " + r.Err
		}
		text = strings.TrimSuffix(text, "\n")
		separator := " "
		if strings.Contains(text, "\n") {
			separator = "\n"
		}
		lines[i] = "[" + r.Ranks.String() + "]" + separator + text
	}
	all := strings.Join(lines, "\n")
	if failed == len(results) {
		return godap.EvaluateResponseBody{}, quietly("%s", all)
	}
	return godap.EvaluateResponseBody{Result: all}, nil
}
