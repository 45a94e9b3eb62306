package dap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/waits"
)

// waitsBody is the answer to cohort/waits.
type waitsBody struct {
	*waits.Report
	Text string `json:"text"` // for people
	Dot  string `json:"dot"`  // for Graphviz
}

func whoWaits(k *call, _ struct{}) (any, error) {
	r, err := k.waits()
	if err != nil {
		return nil, err
	}
	return waitsBody{r, r.Text(), r.DOT()}, nil
}

func consoleWaits(k *call, line consoleLine) (answer, error) {
	if line.arguments != "" && line.arguments != "dot" {
		return answer{}, refuse("waits was given %s; it takes nothing, or dot for a graph in Graphviz's language",
			quoteShort(line.arguments))
	}
	r, err := k.waits()
	if err != nil {
		return answer{}, err
	}
	if line.arguments == "dot" {
		return answer{text: r.DOT()}, nil
	}
	return answer{text: r.Text()}, nil
}

// waits asks the ranks that are stopped whom they wait for, and puts together what they say.
func (k *call) waits() (*waits.Report, error) {
	d := k.d
	body, err := k.ranksBody()
	status, statusErr := d.Job.Status()
	if err := cmp.Or(err, statusErr); err != nil {
		return nil, err
	}
	all := make([]waits.Rank, len(status))
	for i, s := range status {
		b := body.Ranks[i]
		all[i] = waits.Rank{State: waits.Running}
		switch {
		case s.State == job.Stopped:
			all[i] = waits.Rank{State: waits.Stopped, Why: "it has resumed"}
			if b.Function != "" {
				all[i].Where = b.Function
				if b.Line > 0 {
					all[i].Where += fmt.Sprintf(" at %s:%d", filepath.Base(b.File), b.Line)
				}
			}
		case s.State.Gone():
			all[i] = waits.Rank{State: waits.Ended, Where: b.Reason}
		case b.Call != "":
			all[i].Where = "in " + b.Call
		}
	}
	stopped := inState(status, job.Stopped)
	if stopped.Empty() {
		return waits.Analyse(all), nil
	}
	results, err := d.Job.Evaluate(k.ctx, stopped, backend.EvaluateRequest{
		Expression: command.WaitsLine, Context: backend.ContextREPL,
	})
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		for rank := range r.Ranks.Each {
			known := waits.Rank{State: waits.Stopped, Why: r.Err}
			if r.Err == "" {
				if err := json.Unmarshal([]byte(r.Result.Text), &known); err != nil {
					return nil, fmt.Errorf("rank %d answered whom it waits for with what cannot be read: %w", rank, err)
				}
			}
			known.Where = all[rank].Where
			all[rank] = known
		}
	}
	return waits.Analyse(all), nil
}
