package dap

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/prettyprint"
)

// consoleMatch is `mpipp --match [0] SEND [COUNT] to [3] RECV [COUNT]`: types of two ranks, each evaluated where its rank stands. A line without ranks is not
// ours: the rank that it is about answers it.
func (k *call) consoleMatch(line string) (text string, ours bool, err error) {
	rest, ok := strings.CutPrefix(line, "mpipp")
	if !ok {
		return "", false, nil
	}
	rest, ok = strings.CutPrefix(strings.TrimSpace(rest), "--match")
	if rest = strings.TrimSpace(rest); !ok || !strings.HasPrefix(rest, "[") {
		return "", false, nil
	}
	send, recv, err := prettyprint.MatchSides(rest)
	if err != nil {
		return "", true, err
	}
	sides := make([]prettyprint.Side, 2)
	for i, s := range []prettyprint.MatchSide{send, recv} {
		if sides[i], err = k.side(s); err != nil {
			return "", true, err
		}
	}
	m, err := prettyprint.Match(sides[0], sides[1])
	if err != nil {
		return "", true, err
	}
	var b strings.Builder
	if err := m.Text(&b, 0); err != nil {
		return "", true, err
	}
	return strings.TrimSuffix(b.String(), "\n"), true, nil
}

// side asks the side's rank for its type.
func (k *call) side(s prettyprint.MatchSide) (prettyprint.Side, error) {
	if n := k.c.debuggee().Job.Ranks(); s.Rank >= n {
		return prettyprint.Side{}, refuse("mpipp --match names rank %d; the job has the ranks 0 to %d", s.Rank, n-1)
	}
	results, err := k.c.debuggee().Job.Evaluate(k.ctx, job.NewRankSet(s.Rank), backend.EvaluateRequest{
		Expression: s.ExportLine(), Context: backend.ContextREPL,
	})
	result, err := oneAnswer(s.Rank, results, err)
	if err != nil {
		return prettyprint.Side{}, &requestError{text: fmt.Sprintf("[%d] %v", s.Rank, err), quiet: true}
	}
	side, err := prettyprint.Import(result.Text)
	if err != nil {
		return prettyprint.Side{}, &requestError{text: fmt.Sprintf("[%d] %v", s.Rank, err), quiet: true}
	}
	side.Where = fmt.Sprintf("rank %d", s.Rank)
	return side, nil
}
